//! What the files of a policy say, each read by itself. What it comes to is worked out in `resolve`.

use parse::read::{FromNode, Spanned};
use parse::report::Report;
use parse::tree::{self, Node, Span};

use super::file::{PluginFile, PluginsFile, PolicyFile};

/// What the files say, before anything is compared with anything else.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The main file without its plugins.
    pub(crate) file: PolicyFile,
    /// The plugins of all files.
    pub(crate) plugins: Vec<Spanned<PluginFile>>,
    /// The name of every tier could be read, so that an unknown one is a mistake of its own and
    /// does not follow from another.
    pub(crate) tiers_known: bool,
    /// The same for the plugins.
    pub(crate) plugins_known: bool,
}

pub(crate) fn main_file(text: &str, report: &mut Report) -> Written {
    let Some(node) = tree::parse(0, text, report) else {
        if report.is_empty() {
            report.problem(Span::top(0), "the file is empty", Some("begin with `version: 1` and `plugins:`"));
        }
        return Written::default();
    };
    let Some(mut file) = PolicyFile::from_node(&node, report) else { return Written::default() };
    let presets_known = file.extends.as_ref().map_or(node.get("extends").is_none(), |list| !list.value.refused);
    let plugins = file.plugins.take().map(|list| list.value.items).unwrap_or_default();
    Written {
        file,
        plugins,
        tiers_known: presets_known && all_named(&node, "tiers"),
        plugins_known: all_named(&node, "plugins"),
    }
}

impl Written {
    /// Adds the plugins of a file of `coldframe.d`.
    pub(crate) fn add_plugins(&mut self, index: usize, text: &str, report: &mut Report) {
        let Some(node) = tree::parse(index, text, report) else {
            if text.trim().is_empty() {
                report.problem(Span::top(index), "the file is empty", Some("begin with `plugins:`"));
            }
            self.plugins_known = false;
            return;
        };
        self.plugins_known &= all_named(&node, "plugins");
        let Some(file) = PluginsFile::from_node(&node, report) else { return };
        if let Some(version) = &file.version {
            format_known(version.value.0, version.at, report);
        }
        self.plugins.extend(file.plugins.into_iter().flat_map(|list| list.value.items));
    }
}

/// Whether every item of a list has a name that can be one.
fn all_named(node: &Node, key: &str) -> bool {
    let named = |item: &Node| item.get("name").and_then(|entry| entry.node.text()).is_some_and(parse::scalar::is_name);
    node.get(key).is_none_or(|entry| !entry.node.items().is_empty() && entry.node.items().iter().all(named))
}

/// Refuses formats that are newer than this Coldframe.
pub(crate) fn format_known(version: u32, at: Span, report: &mut Report) {
    if version != 1 {
        let message = format!("`version`: this file is of format {version}, and this Coldframe reads format 1");
        report.problem(at, message, Some("update Coldframe; nothing is promoted by a file that it cannot read"));
    }
}
