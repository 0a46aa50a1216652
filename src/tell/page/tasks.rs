//! The tasks of a release as a checklist: the boxes are people's own, and nothing waits for them.

use std::collections::BTreeSet;

use super::super::inert;
use super::super::tasks::Task;

/// The most characters of all of it.
const CAP: usize = 16_000;

/// A line for each, with its patch in a fold.
pub(super) fn tasks(tasks: &[Task], ticked: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for task in tasks {
        let id = task.id();
        let tick = if ticked.contains(&id) { 'x' } else { ' ' };
        let words = inert::md(&task.words);
        let mut block = format!("- [{tick}] <!-- coldframe:task {id} --> {}.\n", words.trim_end_matches('.'));
        if let Some(patch) = task.patch.as_ref().filter(|patch| out.len() + block.len() + patch.len() < CAP) {
            let fenced = inert::diff(patch, CAP);
            let lines: String = fenced.lines().map(|line| format!("  {line}\n")).collect();
            block.push_str(&format!("  <details><summary>Patch for git apply</summary>\n\n{lines}\n  </details>\n"));
        }
        if out.len() + block.len() > CAP {
            out.push_str("- …\n");
            break;
        }
        out.push_str(&block);
    }
    out.trim_end().to_string()
}
