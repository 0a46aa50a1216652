//! Comments, constraints, queries, chart indexes, kubeconfigs and pages of the ledger.

use std::collections::BTreeSet;

use coldframe::command as comments;
use coldframe::ledger::pages;
use coldframe::observe::chart::index;
use coldframe::observe::cluster;
use coldframe::signal::prometheus::promql::Query;
use decide::constraint::Constraint;
use decide::snapshot::CommandKind;
use decide::{Ledger, Version};
use jiff::Timestamp;
use serde_yaml::Value as Yaml;

use super::asked;

/// A comment of a pull request.
pub fn command(input: &[u8]) {
    let comment = String::from_utf8_lossy(input);
    let found = comments::parse(&comment);
    if !comment.starts_with("/coldframe") {
        assert_eq!(found, None, "not at the start");
    }
    let first = comment.lines().next().unwrap_or_default();
    assert_eq!(comments::parse(first), found, "only the first line counts");
    assert_eq!(comments::parse(&format!("> {comment}")), None, "a quoted command");
    let Some(command) = found else { return };
    let why = match &command {
        CommandKind::Hold { why } | CommandKind::Fail { why } | CommandKind::Freeze { why, .. } => why.as_str(),
        CommandKind::Force { why } => {
            assert!(!why.is_empty(), "force without a reason");
            why
        }
        CommandKind::Hotfix(hotfix) => {
            assert!(!hotfix.why.is_empty() && first.contains(hotfix.version.as_str()));
            &hotfix.why
        }
        CommandKind::Acknowledge { version } => {
            assert!(first.contains(version.as_str()));
            ""
        }
        CommandKind::Rebuild { cited } => {
            assert!(cited.len() >= 7 && cited.bytes().all(|byte| byte.is_ascii_hexdigit()));
            ""
        }
        CommandKind::Unfreeze | CommandKind::Resume => "",
    };
    assert!(why.chars().count() <= 200 && !why.contains('\n') && first.contains(why), "{why:?}");
    let _ = comments::is_for_every_tier(&command);
}

/// The first line is a constraint, each other one a version.
pub fn constraint(input: &[u8]) {
    let whole = String::from_utf8_lossy(input);
    let mut lines = whole.lines();
    let text = lines.next().unwrap_or_default();
    let versions: Vec<Version> = lines.take(20).filter_map(known).collect();
    ordered(&versions);
    let constraint = match text.parse::<Constraint>() {
        Ok(constraint) => constraint,
        Err(not) => return assert!(!not.to_string().is_empty()),
    };
    assert_eq!(constraint.as_str().parse::<Constraint>().as_ref(), Ok(&constraint));
    let alternatives: Option<Vec<Constraint>> = text.split("||").map(|part| part.parse().ok()).collect();
    assert!(alternatives.is_some(), "{text:?} is a constraint, and one of its alternatives is none");
    for version in &versions {
        let allows = constraint.allows(version);
        let wide = constraint.allows_with_prereleases(version);
        assert!((!allows || wide) && (!wide || constraint.covers(version)), "{text:?} of {version}");
        let any = alternatives.iter().flatten().any(|one| one.allows(version));
        assert_eq!(allows, any, "{text:?} of {version}");
        let itself: Result<Constraint, _> = format!("= {version}").parse();
        assert!(itself.is_ok_and(|itself| itself.allows(version)), "a version is itself: {version}");
    }
}

/// A version that reads back as it is written.
fn known(text: &str) -> Option<Version> {
    let version: Version = text.parse().ok()?;
    assert_eq!(version.to_string().parse::<Version>().as_ref(), Ok(&version));
    Some(version)
}

/// Any two are in one order, and any three of them.
fn ordered(versions: &[Version]) {
    for a in versions {
        for b in versions {
            assert_eq!(a.cmp(b), b.cmp(a).reverse(), "{a} and {b}");
            for c in versions.iter().filter(|c| a <= b && b <= c) {
                assert!(a <= c, "{a}, {b} and {c}");
            }
        }
    }
}

/// A query: whatever stands for a name stays inside of its string.
pub fn promql(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let query = match Query::parse(&text) {
        Ok(query) => query,
        Err(why) => return assert!(!why.is_empty()),
    };
    let from = Timestamp::from_second(1_795_000_000).ok();
    let fill = |name: &str| query.fill(|_| Some(name.to_string()), from);
    let plain = fill("eu-1");
    let Some(plain) = plain else { panic!("everything is known, and it is not filled in") };
    let again = Query::parse(&plain).unwrap_or_else(|why| panic!("{why}: {plain}"));
    assert_eq!((again.reach, again.joins), (query.reach, query.joins), "{plain}");
    for hostile in ["\"} or vector(1) #", "'} or vector(1) #", "`\\", "\\", "{{cluster}}", "[5m]", "a\nb", "\u{7f}.*"] {
        let Some(filled) = fill(hostile) else { panic!("{hostile:?} is not filled in") };
        assert_eq!(outside(&filled), outside(&plain), "{hostile:?} came out of its string: {filled}");
    }
}

/// What stands outside of string literals.
fn outside(query: &str) -> String {
    let (mut out, mut open, mut characters) = (String::new(), None, query.chars());
    while let Some(c) = characters.next() {
        match (open, c) {
            (None, '"' | '\'' | '`') => open = Some(c),
            (None, _) => out.push(c),
            (Some(quote), '\\') if quote != '`' => drop(characters.next()),
            (Some(quote), _) if c == quote => open = None,
            (Some('"' | '\''), '\n') => panic!("a string over two lines: {query}"),
            (Some(_), _) => {}
        }
    }
    out
}

/// The first line is a chart, the rest an index.
pub fn chart_index(input: &[u8]) {
    let ([chart], text) = asked(input);
    let listed = match index::read(&text, &chart) {
        Ok(Some(listed)) => listed,
        Ok(None) => return,
        Err(why) => return assert!(!why.is_empty()),
    };
    for (key, entry) in &listed.releases {
        assert_eq!(*key, entry.version.to_string());
        let found = entry.found();
        assert_eq!(found.version, entry.version);
        let digest = found.digest.as_ref().map(|digest| digest.as_str().len());
        assert!(digest.is_none_or(|length| length == "sha256:".len() + 64));
    }
    let Ok(tree) = serde_yaml::from_str::<Yaml>(&text) else { return };
    let Some(entries) = tree.get("entries").and_then(|entries| entries.get(chart.as_str())) else { return };
    let Some(entries) = entries.as_sequence() else { return };
    let version = |entry: &Yaml| entry.get("version")?.as_str()?.parse::<Version>().ok();
    let others: BTreeSet<String> = entries.iter().filter_map(version).map(|version| version.to_string()).collect();
    assert_eq!(listed.releases.keys().cloned().collect::<BTreeSet<_>>(), others, "others list other versions");
    assert_eq!(listed.left_out, entries.iter().filter(|entry| version(entry).is_none()).count());
}

/// Stands in seeds where a credential would.
const CREDENTIAL: &str = "eyJhbGciOiJ";

/// A kubeconfig: whatever is wrong with it, nothing of a credential is told.
pub fn kubeconfig(input: &[u8]) {
    let hosts = ["127.0.0.1".to_string(), "cluster.example:6443".to_string()];
    if let Some(why) = cluster::unusable(input, &hosts) {
        assert!(!why.is_empty() && !why.contains(CREDENTIAL), "{why}");
    }
}

/// A file of the ledger branch: the first line is its name.
pub fn ledger(input: &[u8]) {
    let cut = input.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let (path, bytes) = (String::from_utf8_lossy(&input[..cut]), &input[cut..]);
    let read = if path.starts_with("plugins/") {
        pages::page(&path, bytes).map(|page| Ledger { plugins: page.into_iter().collect(), ..Ledger::default() })
    } else {
        pages::root(bytes)
    };
    let ledger = match read {
        Ok(ledger) => ledger,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    // What is written reads back as what it was.
    let files = pages::changed(&Ledger::default(), &ledger, true).unwrap_or_else(|error| panic!("{error}"));
    let mut again = Ledger::default();
    for (path, bytes) in files.into_iter().filter_map(|(path, bytes)| Some((path, bytes?))) {
        match pages::page(&path, &bytes).unwrap_or_else(|error| panic!("{error}")) {
            Some(page) => again.plugins.extend([page]),
            None => {
                let root = pages::root(&bytes).unwrap_or_else(|error| panic!("{error}"));
                again = Ledger { plugins: std::mem::take(&mut again.plugins), ..root };
            }
        }
    }
    assert_eq!(again, ledger);
}
