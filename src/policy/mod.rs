//! The policy file: YAML in, a resolved policy out, every error at once with file, line, column and
//! the likely fix. What the policy means is decided in `decide`.

mod address;
mod alone;
mod check;
mod choice;
pub(crate) mod file;
mod limits;
mod pinned;
mod preset;
mod resolve;
mod resolved;
mod schema;
mod stands;
mod windows;
pub mod wiring;
mod written;

#[cfg(test)]
mod tests;

use decide::{Policy, Tier};

pub use address::defined_chart;
pub use alone::signal_settings;
pub use check::{check, check_in, check_resolved, good};
pub use choice::{Choice, choose};
pub use limits::{Mode, OperatorLimits, Setting, limits_schema};
pub use pinned::{PinnedPreset, pinned_presets};
pub use preset::render;
pub use resolved::{Change, changes};
pub use schema::schema;
pub use stands::{Part, about};

use file::PolicyFile;
use parse::read::{FromNode, Spanned};
use parse::report::Report;
pub use parse::scalar::Refusal;
use parse::tree::{self, Span};
pub use parse::{Problem, Problems, SourceFile};
use pinned::Extended;
use written::{Written, main_file};

/// Files of one policy; more are refused.
const MOST_FILES: usize = 1_000;

/// A policy that can be followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// For the planner.
    pub policy: Policy,
    /// For everybody else: charts, spots, signals, inventory, people.
    pub wiring: wiring::Wiring,
    /// The ladder before the overrides of plugins.
    pub ladder: Vec<Tier>,
    /// What is allowed, and most likely not what was meant.
    pub warnings: Vec<Problem>,
}

/// Reads a policy as `load_in` does, without limits of an operator.
pub fn load(files: &[SourceFile]) -> Result<Loaded, Problems> {
    load_in(files, &Setting::default())
}

/// Reads a policy: the main file first (`coldframe.yaml` or `.github/coldframe.yaml`), then the files of `coldframe.d`,
/// which hold plugins only, and the presets of other repositories, each called as the main file names it. Fails with every
/// problem of all files.
pub fn load_in(files: &[SourceFile], setting: &Setting) -> Result<Loaded, Problems> {
    let Some((main, others)) = files.split_first() else {
        return Err(Problems(vec![missing()]));
    };
    let mut report = Report::with_homes(file::homes);
    let mut names: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let mut read = main_file(&main.text, &mut report);
    if files.len() > MOST_FILES {
        report.problem(Span::top(0), format!("there are {} files; {MOST_FILES} are read at most", files.len()), None);
    }
    for (index, other) in others.iter().enumerate().take(MOST_FILES) {
        if plugin_folder(&other.path) {
            read.add_plugins(index + 1, &other.text, &mut report);
        } else if other.path.parse::<PinnedPreset>().is_err() {
            let message = format!("there are two policy files, {} and this one", main.path);
            report.problem(Span::top(index + 1), message, Some("keep one"));
        }
    }
    read = with_presets(read, files, &mut names, &mut report);
    let resolved = resolve::resolve(read, &names, setting, &mut report);
    if resolved.policy.plugins.is_empty() && report.is_empty() {
        report.warning(Span::top(0), "no plugin is named, so that nothing is promoted", Some("add `plugins:`"));
    }
    let (problems, warnings) = report.finish(&names);
    if problems.is_empty() {
        Ok(Loaded { policy: resolved.policy, wiring: resolved.wiring, ladder: resolved.ladder, warnings })
    } else {
        Err(Problems(problems))
    }
}

/// The presets that the file extends, below it; the last one lies on top of those before.
fn with_presets(mut read: Written, files: &[SourceFile], names: &mut Vec<String>, report: &mut Report) -> Written {
    let presets = read.file.extends.take().map(|list| list.value.items).unwrap_or_default();
    for Spanned { value: preset, at, .. } in presets.into_iter().rev() {
        let (index, text) = match &preset {
            Extended::Builtin(preset) => {
                names.push(preset.title().to_string());
                (names.len() - 1, preset.text())
            }
            Extended::Pinned(preset) => {
                let title = preset.to_string();
                let Some(index) = files.iter().position(|file| file.path == title) else {
                    let help = format!("`coldframe check` asks nobody: give it a copy with `--preset {title}=FILE`");
                    report.problem(at, format!("`extends`: the preset `{title}` is not here"), Some(&help));
                    read.tiers_known = false;
                    continue;
                };
                (index, files.get(index).map_or("", |file| file.text.as_str()))
            }
        };
        let below = tree::parse(index, text, report).and_then(|node| PolicyFile::from_node(&node, report));
        let below = below.unwrap_or_default();
        let keys = [below.extends.as_ref().map(|list| list.key), below.plugins.as_ref().map(|list| list.key)];
        for (key, name) in keys.into_iter().zip(["extends", "plugins"]) {
            let Some(key) = key else { continue };
            report.problem(key, format!("a preset has no `{name}`"), Some("write that into the policy file itself"));
        }
        read.file = preset::lay_over(read.file, PolicyFile { extends: None, plugins: None, ..below }, report);
    }
    read
}

/// A stretch of time as the policy file writes it, for other places where people write one.
pub fn duration(text: &str) -> Option<jiff::SignedDuration> {
    parse::when::length(text).ok()
}

/// The names of the plugins in a policy file, as far as it can be read; no mistake is reported.
pub fn plugins_named(text: &str) -> Vec<String> {
    let mut report = Report::with_homes(file::homes);
    let Some(node) = tree::parse(0, text, &mut report) else { return Vec::new() };
    let plugins = node.get("plugins").map_or(&[][..], |entry| entry.node.items());
    plugins.iter().filter_map(|item| Some(item.get("name")?.node.text()?.to_string())).collect()
}

/// Whether a path lies in a folder `coldframe.d`.
fn plugin_folder(path: &str) -> bool {
    path.rsplit('/').nth(1) == Some("coldframe.d")
}

fn missing() -> Problem {
    Problem {
        file: "coldframe.yaml".to_string(),
        line: 1,
        column: 1,
        message: "there is no policy file".to_string(),
        help: Some("write coldframe.yaml or .github/coldframe.yaml".to_string()),
        span: 0..0,
    }
}
