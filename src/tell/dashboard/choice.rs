//! A version that somebody chooses for a tier: what the page of the wave offers, what the pull request says, and what the
//! person is told. Who opens it is `wake/choice`, what it changes `policy::choose`.

use decide::plan::WaveReport;
use decide::{PluginName, TierName, Version};
use serde::Serialize;

use super::super::{TellError, View, inert, render, words};
use super::ladder::runs;
use super::plugin::versions;

/// The most versions to choose from; the newest.
const MOST: usize = 30;
/// What stands for no version in the form.
const ANY: &str = "any";
/// The folders between the page of an answer and the first page.
const FOLDERS: usize = 6;

/// The form.
#[derive(Serialize)]
pub(crate) struct Form {
    action: String,
    options: Vec<Offer>,
}

#[derive(Serialize)]
struct Offer {
    value: String,
    text: String,
}

/// What somebody chose for a plugin on a tier.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// The only version that it takes there; none: every one that is accepted.
    pub version: Option<Version>,
}

/// What the form offers on the page of a wave.
pub(crate) fn form(view: &View, wave: &WaveReport) -> Form {
    let here = running(wave);
    let word = |version: &Version| match here {
        Some(running) if running == version => format!("stays on {version}"),
        Some(_) | None => format!("takes {version} and no other"),
    };
    let offered = offered(view, wave).into_iter();
    let mut options: Vec<Offer> =
        offered.map(|version| Offer { value: version.to_string(), text: word(&version) }).collect();
    options.push(Offer { value: ANY.to_string(), text: "takes every accepted version".to_string() });
    let action = [wave.tier.as_str(), "version"].map(crate::hub::segment).join("/");
    Form { action, options }
}

impl Choice {
    /// What was chosen in the form, where it is one of those that it offers.
    pub fn read(view: &View, plugin: &PluginName, tier: &TierName, chosen: &str) -> Option<Self> {
        let wave = view.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier)?;
        let version = match chosen {
            ANY => None,
            version => Some(offered(view, wave).into_iter().find(|offered| offered.as_str() == version)?),
        };
        Some(Self { plugin: plugin.clone(), tier: tier.clone(), version })
    }

    /// The branch that holds it: one for each person and choice.
    pub fn branch(&self, login: &str) -> String {
        let what = self.version.as_ref().map_or(ANY, Version::as_str);
        format!("{login}/{}-{}-{what}", self.plugin, self.tier)
    }

    /// The title of the pull request, and of its commit.
    pub fn title(&self) -> String {
        let Self { plugin, tier, version } = self;
        match version {
            Some(version) => format!("Let {plugin} take {version} alone on {tier}"),
            None => format!("Let {plugin} take every accepted version on {tier}"),
        }
    }

    /// What follows, as the end of a sentence.
    fn says(&self) -> String {
        let Self { plugin, tier, version } = self;
        match version {
            Some(version) => format!("{plugin} takes {version} and no other version on {tier}"),
            None => format!("{plugin} takes every version on {tier} that the policy accepts"),
        }
    }

    /// The text of the pull request, Markdown. `page` is where the dashboard has the wave.
    pub fn text(&self, view: &View, path: &str) -> String {
        let undo = match &self.version {
            Some(_) => "To undo it later, choose *takes every accepted version*, or take `constraint` out again.\n",
            None => "\n",
        };
        let page = view.links.on_dashboard(&self.plugin, &self.tier);
        format!(
            "Once this is merged, {}: the key `constraint` of the plugin on that tier, in {}. Gates and approvals stay \
             as they are, and nothing that runs is taken back.\n\nClose it, and nothing changes. {undo}{page}",
            inert::md(&self.says()),
            inert::code(path),
        )
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'a> {
    /// There is a pull request.
    Opened {
        /// Its number.
        number: u64,
        /// Its page.
        url: &'a str,
        /// It was there already.
        before: bool,
    },
    /// There is none.
    Refused(&'a str),
}

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    root: String,
    heading: String,
    back: String,
    says: String,
    pull: Option<String>,
    url: &'a str,
    before: bool,
    why: &'a str,
}

/// The page that says what came of it, HTML.
///
/// # Errors
/// A built-in template is broken.
pub fn choice_page(choice: &Choice, answer: Chosen<'_>) -> Result<String, TellError> {
    let (pull, url, before, why) = match answer {
        Chosen::Opened { number, url, before } => (Some(format!("pull request #{number}")), url, before, ""),
        Chosen::Refused(why) => (None, "", false, why),
    };
    let heading = choice.title();
    let page = Page {
        title: format!("{heading} · Coldframe"),
        root: "../".repeat(FOLDERS),
        heading,
        back: crate::hub::segment(choice.tier.as_str()),
        says: choice.says(),
        pull,
        url,
        before,
        why,
    };
    render::html("choice", &page)
}

/// The newest versions that are known, from what runs on.
fn offered(view: &View, wave: &WaveReport) -> Vec<Version> {
    let mut all = versions(view, &wave.plugin);
    if let Some(running) = running(wave) {
        all.retain(|version| version > running);
        all.truncate(MOST);
        all.insert(0, running.clone());
    }
    all.truncate(MOST);
    all
}

/// What the tier's clusters have on the base branch.
fn running(wave: &WaveReport) -> Option<&Version> {
    if runs(wave) { words::version(wave) } else { wave.from.as_ref() }
}
