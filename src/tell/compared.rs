//! What is different between two releases, in a terminal. On a pull request the same is said by `page/differences`.

use compare::Report;

use super::{inert, words};

/// The report as lines of text; with the lines of templates where they are asked for.
pub fn compared(report: &Report, with_lines: bool) -> String {
    let Report { old, new, changes, more, diffs } = report;
    let app = |text: &str| if text.is_empty() { String::new() } else { format!(" ({})", inert::line(text)) };
    let mut out = format!(
        "{} {}{} → {}{}\n",
        inert::line(&new.name),
        inert::line(&old.version),
        app(&old.app_version),
        inert::line(&new.version),
        app(&new.app_version)
    );
    if changes.is_empty() {
        return out + "\nNothing is different but the version.\n";
    }
    let (breaking, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.what.is_breaking());
    for (mark, title, list) in [("✗", "breaking", breaking), ("·", "other", others)] {
        if list.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", words::count(list.len(), &format!("{title} difference"))));
        for change in list {
            out.push_str(&format!("  {mark} {}\n", inert::line(&change.to_string())));
        }
    }
    if *more > 0 {
        out.push_str(&format!("  … and {more} more\n"));
    }
    if !with_lines && !diffs.is_empty() {
        out.push_str(&format!("\n--diff shows the lines of {}.\n", words::count(diffs.len(), "template")));
    }
    for diff in diffs.iter().filter(|_| with_lines) {
        out.push('\n');
        for line in diff.text.lines() {
            out.push_str(&format!("{}\n", inert::spaced(line)));
        }
        if diff.cut {
            out.push_str("…\n");
        }
    }
    out
}
