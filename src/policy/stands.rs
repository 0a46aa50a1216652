//! Where parts of a policy stand in its files, for what is found out about them when it was read long ago.

use super::{Problem, SourceFile};
use parse::report::Report;
use parse::tree::{self, Node, Span};

/// A part of a policy.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Where the clusters are listed.
    Inventory,
    /// A tier, by its name.
    Tier(&'a str),
    /// One `write` of a plugin, from 0.
    Write(&'a str, usize),
}

/// Something to say about a part of a policy that was read without a mistake. What stands in a preset is said where
/// the preset is named.
pub fn about(files: &[SourceFile], part: Part<'_>, message: String, help: &str) -> Problem {
    // Mistakes were reported when the policy was read.
    let mut report = Report::with_homes(super::file::homes);
    let nodes = files.iter().enumerate().filter_map(|(index, file)| tree::parse(index, &file.text, &mut report));
    let nodes: Vec<Node> = nodes.collect();
    let at = nodes.iter().find_map(|node| part.span(node)).or_else(|| Some(nodes.first()?.get("extends")?.at));
    let at = at.unwrap_or(Span::top(0));
    Problem {
        file: files.get(at.file).map(|file| file.path.clone()).unwrap_or_default(),
        line: at.line,
        column: at.column,
        message,
        help: Some(help.to_string()),
        span: at.start..at.end,
    }
}

impl Part<'_> {
    fn span(self, node: &Node) -> Option<Span> {
        let named = |key: &str, name: &str| {
            let is_it = |item: &&Node| item.get("name").and_then(|entry| entry.node.text()) == Some(name);
            node.get(key)?.node.items().iter().find(is_it)
        };
        match self {
            Self::Inventory => {
                let entry = node.get("clusters")?;
                Some(entry.node.get("path").map_or(entry.at, |path| path.node.span))
            }
            Self::Tier(name) => {
                let tier = named("tiers", name)?;
                tier.get("select").or_else(|| tier.get("name")).map(|entry| entry.at)
            }
            Self::Write(plugin, index) => {
                let write = named("plugins", plugin)?.get("write")?.node.items().get(index)?;
                Some(write.get("file").map_or(write.span, |file| file.node.span))
            }
        }
    }
}
