//! Where each page of the dashboard is, seen from the page that leads there: the dashboard may stand behind any prefix.
//! The routes are in `wake/pages`.

use decide::{PluginName, TierName, Version};

use super::super::View;
use crate::hub::segment;

/// The ways from one page to the others.
pub(crate) struct Paths(String);

impl Paths {
    /// Those of a page so many folders below the ladder of all repositories.
    pub(crate) fn below(folders: usize) -> Self {
        Self(if folders == 0 { "./".to_string() } else { "../".repeat(folders) })
    }

    /// The ladder of all repositories; what the pages share lies beside it.
    pub(crate) fn root(&self) -> &str {
        &self.0
    }

    /// The ladder of one repository.
    pub(crate) fn repository(&self, view: &View) -> String {
        self.to(view, &[])
    }

    /// A plugin.
    pub(crate) fn plugin(&self, view: &View, plugin: &PluginName) -> String {
        self.to(view, &["plugins", plugin.as_str()])
    }

    /// The present wave of a plugin on a tier.
    pub(crate) fn wave(&self, view: &View, plugin: &PluginName, tier: &TierName) -> String {
        self.to(view, &["plugins", plugin.as_str(), "tiers", tier.as_str()])
    }

    /// A release of a plugin.
    pub(crate) fn release(&self, view: &View, plugin: &PluginName, version: &Version) -> String {
        self.to(view, &["plugins", plugin.as_str(), "releases", version.as_str()])
    }

    /// A tier.
    pub(crate) fn tier(&self, view: &View, tier: &TierName) -> String {
        self.to(view, &["tiers", tier.as_str()])
    }

    fn to(&self, view: &View, parts: &[&str]) -> String {
        let parts: Vec<String> = view.name.split('/').chain(parts.iter().copied()).map(segment).collect();
        format!("{}{}", self.0, parts.join("/"))
    }
}
