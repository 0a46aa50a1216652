//! JSONPath, and the paths of CODEOWNERS.

use coldframe::hub::code_owners::CodeOwners;
use coldframe::jsonpath::{BadPath, Path, node_at, place_of};
use serde_json::Value;

use super::asked;
use super::editor::spelled;

/// The first line is a path, the rest a document in JSON.
pub fn jsonpath(input: &[u8]) {
    let ([text], document) = asked(input);
    let tree: Value = serde_json::from_str(&document).unwrap_or_else(|_| serde_json::json!({"a": [document]}));
    for path in [Path::parse(&text), Path::parse_lenient(&text)] {
        let path = match path {
            Ok(path) => path,
            Err(bad) => {
                assert!(!bad.to_string().is_empty());
                if let BadPath::Syntax { column: Some(column), .. } = bad {
                    assert!(column <= text.chars().count() * 6 + 2, "column {column} of {text:?}");
                }
                continue;
            }
        };
        assert_eq!(Path::parse(path.as_str()).as_ref(), Ok(&path), "its own text means something else");
        let Ok(found) = path.find(&tree) else { continue };
        for node in found {
            let steps = place_of(&tree, node).unwrap_or_else(|| panic!("{text:?} finds what is not there"));
            assert!(node_at(&tree, &steps).is_some_and(|other| std::ptr::eq(other, node)));
            let Ok(straight) = Path::parse(&spelled(&steps)) else { continue };
            let only = straight.find(&tree);
            let same = only.as_ref().is_ok_and(|only| matches!(only[..], [one] if std::ptr::eq(one, node)));
            assert!(same, "{} leads elsewhere", straight.as_str());
        }
    }
}

/// The first line is the path of a file, the rest a CODEOWNERS.
pub fn code_owners(input: &[u8]) {
    let ([path], text) = asked(input);
    let Ok(parsed) = CodeOwners::parse(&text) else { return };
    let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().count();
    assert!(parsed.problems().iter().all(|problem| (1..=lines).contains(&problem.line) && !problem.why.is_empty()));
    let owners = parsed.owners_of(&path);
    assert!(owners.iter().all(|owner| owner.contains('@') && !owner.contains(char::is_whitespace)), "{owners:?}");
    if text.lines().all(|line| !line.contains('@')) {
        assert_eq!(owners, [] as [&str; 0], "nobody is named");
    }
    let same = |other: String, why: &str| {
        let again = CodeOwners::parse(&other);
        assert_eq!(again.as_ref().map(|again| again.owners_of(&path)), Ok(owners), "{why}");
    };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    same(format!("{text}{end}# a comment\n\n"), "a comment at the end");
    same(format!("{text}{end}!{path} @somebody\n"), "a line that GitHub passes over");
    if !text.starts_with('\u{feff}') {
        same(format!("\u{feff}{text}"), "a byte order mark");
    }
    if path.chars().any(|c| c != '/') {
        let last = CodeOwners::parse(&format!("{text}{end}* @last\n"));
        assert_eq!(last.map(|last| last.owners_of(&path).to_vec()), Ok(vec!["@last".to_string()]), "the last line");
    }
}
