//! What authors say of the releases of a chart: on the hub's page of a release, in an annotation of the chart, in a change
//! log that is packed with it or lies in its repository. All of it is untrusted text; who shows it makes it inert.

use std::collections::{BTreeMap, BTreeSet};

use decide::{PluginPolicy, Version};
use jiff::{SignedDuration, Timestamp};

use super::chart::Found;
use super::compared::Compared;
use super::released::{Pace, named, tags};
use crate::hub::{HubError, RepoHub};
use crate::policy::wiring::PluginWiring;

/// The longest text of one release that is kept, in bytes.
const LONGEST: usize = 32 * 1024;
/// The file in which authors keep a change log.
pub const FILE: &str = "CHANGELOG.md";

/// What repositories at the hub say of their releases, by `owner/name`.
#[derive(Default)]
pub struct Changelogs {
    pages: BTreeMap<String, Page>,
}

struct Page {
    /// Texts by their tags.
    releases: BTreeMap<String, Option<String>>,
    /// The change log on its default branch, where somebody had to look there.
    file: Option<String>,
    asked: Timestamp,
    /// How long it holds; twice as long each time.
    holds: SignedDuration,
}

/// What is said of one release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The text; none where nobody says anything.
    pub text: Option<String>,
    /// Its page at the hub.
    pub page: Option<String>,
}

/// One plugin whose releases are asked about.
pub struct About<'a> {
    /// Its policy.
    pub policy: &'a PluginPolicy,
    /// Where its chart is.
    pub wiring: &'a PluginWiring,
    /// Its releases, as its source has them.
    pub found: &'a BTreeMap<Version, Found>,
    /// What is different in them.
    pub compared: &'a Compared,
    /// The oldest that runs.
    pub lowest: Option<&'a Version>,
}

impl About<'_> {
    /// The repository at the hub that its newest release comes from.
    fn repository(&self, hub: &RepoHub) -> Option<String> {
        let newest = self.found.values().next_back()?;
        self.wiring.released.from.clone().or_else(|| named(hub, &newest.origin).ok())
    }

    /// The releases that somebody may come to read about.
    fn coming(&self) -> impl Iterator<Item = &Found> {
        self.found.values().filter(|found| self.lowest.is_none_or(|lowest| found.version > *lowest))
    }

    /// What is said elsewhere than on the hub's pages.
    fn own_words(&self, found: &Found) -> Option<String> {
        found.notes.clone().or_else(|| self.compared.changelog(&found.version).map(str::to_string))
    }

    /// Whether the change log of its repository may speak of a release: its numbers are those of what is installed, and a
    /// chart may have others.
    fn has_numbers_of_app(&self, version: &Version) -> bool {
        let app = self.compared.app_version(version);
        app.is_some_and(|app| app.trim_start_matches('v') == version.as_str().trim_start_matches('v'))
    }
}

impl Changelogs {
    /// What is said of each release of a plugin.
    pub fn told(&self, hub: &RepoHub, about: &About<'_>) -> BTreeMap<Version, Said> {
        let repository = about.repository(hub);
        let page = repository.as_ref().and_then(|repository| self.pages.get(&repository.to_lowercase()));
        let said = |found: &Found| {
            let tags = tags(about.policy, about.wiring, &found.version);
            let release = page.and_then(|page| tags.iter().find_map(|tag| page.releases.get_key_value(tag)));
            let text = release.and_then(|(_, text)| text.clone()).or_else(|| about.own_words(found)).or_else(|| {
                let file = page?.file.as_deref().filter(|_| about.has_numbers_of_app(&found.version))?;
                section(file, |version| *version == found.version)
            });
            let page = repository.as_ref().zip(release).map(|(at, (tag, _))| hub.release_page(at, tag));
            Said { text, page }
        };
        about.found.values().map(|found| (found.version.clone(), said(found))).collect()
    }

    /// Whether the hub is to be asked about a plugin, and whether for the file, too.
    fn lacks(&self, repository: &str, about: &About<'_>) -> Option<bool> {
        let page = self.pages.get(&repository.to_lowercase());
        let on_page = |found: &Found| {
            let tags = tags(about.policy, about.wiring, &found.version);
            page.is_some_and(|page| tags.iter().any(|tag| page.releases.contains_key(tag)))
        };
        let mut missing = about.coming().filter(|found| !on_page(found)).peekable();
        missing.peek()?;
        Some(missing.any(|found| about.own_words(found).is_none() && about.has_numbers_of_app(&found.version)))
    }
}

/// Asks about the releases of these plugins that are on their way, each repository once however many plugins come from
/// it, and not again before its time.
pub async fn ask(mut known: Changelogs, hub: &RepoHub, abouts: &[About<'_>], pace: Pace, now: Timestamp) -> Changelogs {
    let (mut wanted, mut used) = (BTreeMap::<String, bool>::new(), BTreeSet::new());
    for about in abouts {
        let Some(repository) = about.repository(hub) else { continue };
        used.insert(repository.to_lowercase());
        if let Some(file) = known.lacks(&repository, about) {
            *wanted.entry(repository).or_default() |= file;
        }
    }
    known.pages.retain(|repository, _| used.contains(repository));
    let is_due = |page: &Page| page.asked.saturating_add(page.holds).is_ok_and(|at| at <= now);
    wanted.retain(|repository, _| known.pages.get(&repository.to_lowercase()).is_none_or(is_due));
    let asks = wanted.into_iter().map(|(repository, file)| async move {
        let read = read(hub, &repository, file).await;
        (repository, read)
    });
    for (repository, read) in futures_util::future::join_all(asks).await {
        let before = known.pages.remove(&repository.to_lowercase());
        let holds = before.as_ref().map_or(pace.first, |page| page.holds * 2);
        let holds = holds.clamp(pace.first, pace.last.max(pace.first));
        let (releases, file) = read.unwrap_or_else(|why| {
            tracing::info!(%repository, %why, "what it says of its releases is not shown");
            before.map_or_else(Default::default, |page| (page.releases, page.file))
        });
        known.pages.insert(repository.to_lowercase(), Page { releases, file, asked: now, holds });
    }
    known
}

type Texts = (BTreeMap<String, Option<String>>, Option<String>);

async fn read(hub: &RepoHub, repository: &str, file: bool) -> Result<Texts, HubError> {
    // It may well wait for the next hour.
    let hub = &hub.leisurely();
    let releases = hub.releases(repository).await?;
    let releases = releases.into_iter().map(|one| (one.tag, one.text.map(|text| bounded(&text)))).collect();
    let file = if file { hub.public_file(repository, FILE).await? } else { None };
    Ok((releases, file))
}

/// The sections of a change log that are about some versions, in its own order; none where there is none. A section goes
/// from a heading that names a version to the next one, or to one that stands above it.
pub fn section(text: &str, wanted: impl Fn(&Version) -> bool) -> Option<String> {
    let (mut out, mut within, mut fence) = (String::new(), None, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fence = !fence;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if !fence && (1..=4).contains(&level) && line.as_bytes().get(level) == Some(&b' ') {
            match version_in(line) {
                Some(version) => within = wanted(&version).then_some(level),
                None => within = within.filter(|above| level > *above),
            }
        }
        if within.is_some() && out.len() <= LONGEST {
            out.push_str(line);
            out.push('\n');
        }
    }
    let out = bounded(&out);
    Some(out.trim().to_string()).filter(|out| !out.is_empty())
}

/// The version that a heading names: `## [1.2.3] - 2026-01-02`, `## v1.2.3`, `# loki-1.2.3`.
fn version_in(heading: &str) -> Option<Version> {
    let words = heading.split(|c: char| c.is_whitespace() || "[]()#:,`*".contains(c)).filter(|word| !word.is_empty());
    let of = |word: &str| {
        let digits = word.find(|c: char| c.is_ascii_digit())?;
        let number = word.get(digits..)?;
        // A date is none.
        (number.matches('.').count() >= 2).then(|| number.parse().ok())?
    };
    words.filter_map(of).next()
}

/// At most so many bytes, cut between lines.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_string();
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let text = text.get(..end).unwrap_or_default();
    format!("{}\n…", text.rsplit_once('\n').map_or(text, |(before, _)| before))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str, versions: &[&str]) -> Option<String> {
        section(text, |version| versions.contains(&version.as_str()))
    }

    #[test]
    fn a_section_goes_to_the_next_version() {
        let text = "# Change log\n\nAll of it.\n\n## [Unreleased]\n- later\n\n## [1.2.0] - 2026-01-02\n### Added\n- a knob\n\n\
                    ## v1.1.0 (2025-12-01)\n- one\n```\n## 9.9.9\n```\n\n## loki-1.0.0\n- first\n# Older\nelsewhere\n";
        assert_eq!(of(text, &["1.2.0"]).unwrap(), "## [1.2.0] - 2026-01-02\n### Added\n- a knob");
        assert_eq!(of(text, &["1.1.0"]).unwrap(), "## v1.1.0 (2025-12-01)\n- one\n```\n## 9.9.9\n```");
        assert_eq!(of(text, &["1.0.0"]).unwrap(), "## loki-1.0.0\n- first");
        let both = of(text, &["1.2.0", "1.1.0"]).unwrap();
        assert!(
            both.find("a knob") < both.find("- one") && !both.contains("later") && !both.contains("first"),
            "{both}"
        );
        assert_eq!(of(text, &["9.9.9"]), None, "a heading in a block of code is none");
        assert_eq!(of("", &["1.0.0"]), None);
    }

    #[test]
    fn a_section_is_bounded() {
        let text = format!("## 1.0.0\n{}", "- line\n".repeat(20_000));
        let found = of(&text, &["1.0.0"]).unwrap();
        assert!(found.len() <= LONGEST + 4 && found.ends_with("- line\n…"), "{}", found.len());
    }

    #[test]
    fn what_a_heading_names() {
        for (heading, version) in [
            ("## 1.2.3", Some("1.2.3")),
            ("## [v1.2.3-rc.1](https://x/compare/v1.2.2...v1.2.3-rc.1) (2026-01-02)", Some("1.2.3-rc.1")),
            ("## kube-prometheus-stack-61.0.0", Some("61.0.0")),
            ("## Release 2026-01-02", None),
            ("## 2026.01.02", None),
            ("## [Unreleased]", None),
        ] {
            assert_eq!(version_in(heading).map(|version| version.to_string()), version.map(String::from), "{heading}");
        }
    }
}
