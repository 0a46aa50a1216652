//! Asks the hub how the checks of a release stand on the commit that released it: where that commit is,
//! and how often to ask. Whether the release may climb with them is decided in `decide`.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{CheckState, Read, RequiredCheck};
use decide::{PluginPolicy, Sha, Version};
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::chart::{Found, Origin};
use crate::hub::RepoHub;
use crate::policy::wiring::{Chart, PluginWiring, Released};

/// Releases of one plugin that are asked about at one look, the newest first.
const MOST: usize = 10;

/// What was found out about the releases of one plugin. A release that is green stays so: it is not asked
/// about again.
#[derive(Default)]
pub struct Checked {
    /// The checks and the place that were asked about.
    about: (Vec<String>, Released),
    /// By the version as it is written.
    answers: BTreeMap<String, Answer>,
}

struct Answer {
    said: Read<Vec<RequiredCheck>>,
    asked: Timestamp,
    /// How long it holds; twice as long each time.
    holds: SignedDuration,
}

impl Checked {
    /// What is known of a release.
    pub fn of(&self, version: &Version) -> Read<Vec<RequiredCheck>> {
        match self.answers.get(version.as_str()) {
            Some(answer) => answer.said.clone(),
            None => Read::Unread("nobody asked for them".to_string()),
        }
    }

    fn is_due(&self, version: &Version, now: Timestamp) -> bool {
        let Some(answer) = self.answers.get(version.as_str()) else { return true };
        !self.is_green(&answer.said) && answer.asked.saturating_add(answer.holds).is_ok_and(|at| at <= now)
    }

    fn is_green(&self, said: &Read<Vec<RequiredCheck>>) -> bool {
        let green = |name: &String| {
            let stands = |check: &RequiredCheck| check.name == *name && check.state == CheckState::Success;
            said.known().is_some_and(|checks| checks.iter().any(stands))
        };
        self.about.0.iter().all(green)
    }

    fn note(&mut self, version: &Version, said: Read<Vec<RequiredCheck>>, pace: Pace, now: Timestamp) {
        let before = self.answers.get(version.as_str()).map(|answer| answer.holds * 2);
        let holds = before.unwrap_or(pace.first).clamp(pace.first, pace.last.max(pace.first));
        self.answers.insert(version.to_string(), Answer { said, asked: now, holds });
    }
}

/// How long an answer that is not green holds.
#[derive(Clone, Copy)]
pub struct Pace {
    /// At first.
    pub first: SignedDuration,
    /// At most.
    pub last: SignedDuration,
}

/// Asks about the releases of a plugin that are on their way: newer than the oldest that runs, and those
/// of `also`.
pub async fn ask(
    mut checked: Checked,
    hub: &RepoHub,
    (policy, wiring): (&PluginPolicy, &PluginWiring),
    found: &BTreeMap<Version, Found>,
    (lowest, also): (Option<&Version>, &BTreeSet<Version>),
    pace: Pace,
    now: Timestamp,
) -> Checked {
    let about = (policy.checks.clone(), wiring.released.clone());
    if checked.about != about {
        checked = Checked { about, answers: BTreeMap::new() };
    }
    if policy.checks.is_empty() {
        return checked;
    }
    checked.answers.retain(|version, _| found.keys().any(|known| known.as_str() == version));
    let coming = |version: &&Version| lowest.is_none_or(|lowest| *version > lowest) || also.contains(*version);
    let wanted = found.keys().filter(coming).filter(|version| may_come(policy, version));
    let due: Vec<&Version> = wanted.rev().filter(|version| checked.is_due(version, now)).take(MOST).collect();
    let asks = due.into_iter().filter_map(|version| Some((version, found.get(version)?)));
    let asks = asks.map(|(version, release)| async move { (version, of_release(hub, policy, wiring, release).await) });
    for (version, said) in futures_util::future::join_all(asks).await {
        let said = said.map_or_else(Read::Unread, Read::Known);
        checked.note(version, said, pace, now);
    }
    checked
}

/// Whether the plugin's own constraint may accept a version; a tier may still refuse it.
pub(super) fn may_come(policy: &PluginPolicy, version: &Version) -> bool {
    policy.constraint.as_ref().is_none_or(|constraint| constraint.allows_with_prereleases(version))
}

/// How the checks of one release stand, or why that is not known.
async fn of_release(
    hub: &RepoHub,
    policy: &PluginPolicy,
    wiring: &PluginWiring,
    release: &Found,
) -> Result<Vec<RequiredCheck>, String> {
    // A new release can wait for the next hour.
    let hub = &hub.leisurely();
    let repository = match &wiring.released.from {
        Some(from) => from.clone(),
        None => named(hub, &release.origin)?,
    };
    let unread = |error: crate::hub::HubError| format!("{repository}: {error}");
    let revision = release.origin.revision.as_deref().filter(|text| is_commit(text));
    let commit = match (revision, &wiring.released.tag) {
        (Some(revision), None) => Sha::new(revision.to_ascii_lowercase()),
        (_, _) => tagged(hub, &repository, &tags(policy, wiring, &release.version)).await?,
    };
    hub.checks_on(&repository, &commit, &policy.checks).await.map_err(unread)
}

/// The commit at the one tag of these that is there. Two that name different commits are none.
async fn tagged(hub: &RepoHub, repository: &str, tags: &[String]) -> Result<Sha, String> {
    let unread = |error: crate::hub::HubError| format!("{repository}: {error}");
    let mut found: Option<(&String, Sha)> = None;
    for tag in tags {
        if !hub.has_tag(repository, tag).await.map_err(unread)? {
            continue;
        }
        let commit = hub.commit_at(repository, tag).await.map_err(unread)?;
        match &found {
            Some((other, before)) if *before != commit => {
                return Err(format!(
                    "{repository} has the tags {other} and {tag} at different commits; say which in `checks: {{tag: …}}`"
                ));
            }
            Some(_) => {}
            None => found = Some((tag, commit)),
        }
    }
    match found {
        Some((_, commit)) => Ok(commit),
        None => Err(format!(
            "{repository} has no tag {}, and the chart names no commit; say where it is in `checks: {{from: …, tag: …}}`",
            tags.join(" or ")
        )),
    }
}

/// The repository that a chart names, if it lies on this hub.
pub(super) fn named(hub: &RepoHub, origin: &Origin) -> Result<String, String> {
    let here = origin.sources.iter().find_map(|source| {
        let url = Url::parse(source.strip_prefix("git+").unwrap_or(source)).ok()?;
        if hub.is_at(&url) { repository_in(&url) } else { None }
    });
    let help = "say which repository of this hub released it in `checks: {from: owner/name}`";
    here.ok_or_else(|| match origin.sources.first() {
        Some(source) => format!("the chart names {}, which is not on this hub; {help}", shown(source)),
        None => format!("the chart names no repository; {help}"),
    })
}

/// `owner/name` at the beginning of an address's path.
pub fn repository_in(url: &Url) -> Option<String> {
    let mut parts = url.path_segments()?.filter(|part| !part.is_empty());
    let (owner, name) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)))
}

/// A full id of a commit. A branch or a short id may be another commit tomorrow.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The tags by which a version may be released: that of the policy, else those that it usually has.
pub(super) fn tags(policy: &PluginPolicy, wiring: &PluginWiring, version: &Version) -> Vec<String> {
    match &wiring.released.tag {
        Some(pattern) => vec![filled(pattern, policy, version)],
        None => usual(policy, wiring, version),
    }
}

/// The tags that a version usually has.
fn usual(policy: &PluginPolicy, wiring: &PluginWiring, version: &Version) -> Vec<String> {
    let chart = match &wiring.chart {
        Chart::Http { name, .. } => name.as_str(),
        Chart::Oci { reference, .. } => reference.rsplit('/').next().unwrap_or(reference),
        Chart::Git { tag, .. } => return vec![filled(tag, policy, version)],
        Chart::Catalog { .. } => return vec![format!("{}/{}", wiring.chart.name(), version.as_str())],
    };
    let number = number(version);
    let mut tags = vec![format!("v{number}"), number.to_string(), format!("{chart}-{number}")];
    if chart != policy.name.as_str() {
        tags.push(format!("{}-{number}", policy.name));
    }
    tags
}

fn filled(pattern: &str, policy: &PluginPolicy, version: &Version) -> String {
    pattern.replace("{version}", number(version)).replace("{plugin}", policy.name.as_str())
}

/// A version without the `v` that it may be written with.
fn number(version: &Version) -> &str {
    version.as_str().strip_prefix('v').unwrap_or(version.as_str())
}

/// Foreign text in one line of bounded length.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
