//! What is read with places for mistakes: policy files, inventories, windows and stories.

use std::path::Path;

use coldframe::inventory::file;
use coldframe::policy::{Problem, Setting, SourceFile, check, check_resolved, load, render};
use coldframe::rehearse::story as stories;
use decide::window::Windows;
use jiff::{SignedDuration, Timestamp};

use super::asked;

/// What begins another file of the same policy.
const FILE: &str = "\n%% ";

/// One policy file, or several: each other one begins with its name.
pub fn policy(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut parts = text.split(FILE);
    let main = SourceFile { path: "coldframe.yaml".to_string(), text: parts.next().unwrap_or_default().to_string() };
    let others = parts.enumerate().map(|(index, part)| {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        SourceFile { path: format!("coldframe.d/{index}-{}", name.trim()), text: text.to_string() }
    });
    let files: Vec<SourceFile> = std::iter::once(main).chain(others).collect();
    let loaded = load(&files);
    match &loaded {
        Ok(loaded) => places(&loaded.warnings, &files),
        Err(problems) => {
            assert!(!problems.is_empty());
            places(problems, &files);
        }
    }
    assert_eq!(loaded, load(&files), "read twice, it is not the same");
    let (said, good) = check(&files);
    assert_eq!((good, said.is_empty()), (loaded.is_ok(), false));
    assert_eq!(check_resolved(&files, &Setting::default()).1, good);
}

/// The same for a list of clusters.
pub fn inventory(input: &[u8]) {
    let files = [SourceFile { path: "clusters.yaml".to_string(), text: String::from_utf8_lossy(input).into_owned() }];
    match file::parse(&files[0].path, &files[0].text) {
        Ok(clusters) => {
            let mut names: Vec<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), clusters.len(), "two clusters of one name");
            assert!(!names.contains(&""));
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            places(&problems, &files);
        }
    }
}

/// Each problem stands inside of its file, and can be shown.
fn places(problems: &[Problem], files: &[SourceFile]) {
    for problem in problems {
        assert!(!problem.message.is_empty() && problem.line > 0 && problem.column > 0, "{problem:?}");
        assert!(!format!("{problem}").contains('\u{1b}'), "{problem:?} writes to the terminal");
        let Some(file) = files.iter().find(|file| file.path == problem.file) else { continue };
        let line = file.text.lines().nth(problem.line - 1);
        assert!(line.is_some() || problem.line <= file.text.lines().count() + 1, "{problem:?} is below the file");
        let width = line.map_or(0, |line| line.chars().count());
        assert!(problem.column <= width + 2, "{problem:?} is right of its line {line:?}");
        assert!(file.text.get(problem.span.clone()).is_some(), "{problem:?} cuts the text");
    }
    let shown = render(problems, files);
    assert!(!shown.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{shown:?}");
}

/// A policy around windows.
const AROUND: &str = "version: 1
clusters: {from: file, path: clusters.yaml}
tiers: [{name: gold, select: {matchLabels: {tier: gold}}, merge: automatic}]
plugins:
- name: app
  chart: {oci: oci://registry.example/charts/app}
  write: [{file: app.yaml, path: $.version}]
  signals: [{helmRelease: {namespace: app, name: app}}]
";

/// The first line is a time in seconds since 1970; the rest stands below `windows:` in a policy file.
pub fn windows(input: &[u8]) {
    let ([seconds], text) = asked(input);
    let below: String = text.lines().map(|line| format!("  {line}\n")).collect();
    let files = [SourceFile { path: "coldframe.yaml".to_string(), text: format!("{AROUND}windows:\n{below}") }];
    let loaded = match load(&files) {
        Ok(loaded) => loaded,
        Err(problems) => return places(&problems, &files),
    };
    let Some(windows) = &loaded.policy.windows else { return };
    // From 1970 to 2106, as any clock shows.
    let second = seconds.parse::<u32>().unwrap_or(1_795_000_000);
    let Ok(at) = Timestamp::from_second(second.into()) else { return };
    opens(windows, at);
}

fn opens(windows: &Windows, at: Timestamp) {
    let a_second = SignedDuration::from_secs(1);
    assert!(windows.closed_because(at).is_none() || !windows.open_at(at), "open on a closed day");
    match (windows.open_at(at), windows.next_open(at), windows.closes(at)) {
        (true, None, Some(closes)) => {
            assert!(closes >= at, "it closed at {closes}, before {at}");
            assert!(!windows.open_at(closes), "it is open at {closes}, when it closes");
            assert!(closes == at || windows.open_at(closes - a_second), "it closes before {closes}");
        }
        (false, Some(opens), None) => {
            assert!(opens > at && windows.open_at(opens), "it does not open at {opens}");
            assert!(!windows.open_at(opens - a_second), "it opens before {opens}");
        }
        (true, None, None) | (false, None, None) => {}
        wrong => panic!("{wrong:?} at {at}"),
    }
}

/// A story is never told here, only read.
pub fn story(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    // A policy file that it names is looked for where there is none.
    if let Some(said) = stories::check(Path::new("no-such-folder/fuzzed.story"), &text) {
        assert!(said.ends_with("The story was not told.\n"), "{said}");
        assert!(!said.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{said:?}");
    }
}
