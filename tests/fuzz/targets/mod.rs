//! What each fuzz target does with the bytes that it is given, and what must hold whatever they are: one function per
//! parser of foreign text. libFuzzer runs them by `main.rs`, and `tests/replay/fuzz` over the saved corpus.

mod editor;
mod lists;
mod paths;
mod policies;
mod releases;
mod second;
mod small;

/// What one target is called, and what it does.
pub struct Target {
    /// The name of its binary, of its folder in `corpus/` and of its file in `dict/`.
    pub name: &'static str,
    /// Panics where something does not hold that must.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 23] = [
    Target { name: "yaml", run: editor::yaml },
    Target { name: "json", run: editor::json },
    Target { name: "toml", run: editor::toml },
    Target { name: "hcl", run: editor::hcl },
    Target { name: "text", run: editor::text },
    Target { name: "find", run: lists::find },
    Target { name: "chart_lock", run: lists::chart_lock },
    Target { name: "jsonpath", run: paths::jsonpath },
    Target { name: "policy", run: policies::policy },
    Target { name: "inventory", run: policies::inventory },
    Target { name: "windows", run: policies::windows },
    Target { name: "story", run: policies::story },
    Target { name: "code_owners", run: paths::code_owners },
    Target { name: "command", run: small::command },
    Target { name: "constraint", run: small::constraint },
    Target { name: "promql", run: small::promql },
    Target { name: "chart_index", run: small::chart_index },
    Target { name: "kubeconfig", run: small::kubeconfig },
    Target { name: "ledger", run: small::ledger },
    Target { name: "chart", run: releases::chart },
    Target { name: "definition", run: releases::definition },
    Target { name: "option", run: releases::option },
    Target { name: "openpgp", run: releases::openpgp },
];

/// The first line of an input, cut at its tabs into what a target asks with, and the text that it asks. What is not
/// UTF-8 becomes a mark: files that are not UTF-8 never reach a parser.
fn asked<const N: usize>(input: &[u8]) -> ([String; N], String) {
    let whole = String::from_utf8_lossy(input);
    let (head, text) = whole.split_once('\n').unwrap_or(("", &whole));
    let mut words = head.split('\t').map(str::to_string);
    (std::array::from_fn(|_| words.next().unwrap_or_default()), text.to_string())
}
