//! CODEOWNERS as GitHub reads it.
#![allow(clippy::unwrap_used)]
use super::*;

/// The rules of GitHub's documented example, in its order, with the paths that it speaks of.
const DOCUMENTED: &str = "\
# a comment

*       @global-owner1 @global-owner2
*.js    @js-owner #an inline comment
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
";

fn owners(text: &str, path: &str) -> String {
    CodeOwners::parse(text).unwrap().owners_of(path).join(" ")
}

#[test]
fn a14_the_documented_example() {
    assert!(CodeOwners::parse(DOCUMENTED).unwrap().problems().is_empty());
    for (path, expected) in [
        ("README.md", "@global-owner1 @global-owner2"),
        ("src/app.js", "@js-owner"),
        ("cmd/main.go", "docs@example.com"),
        ("notes.txt", "@octo-org/octocats"),
        // `**/logs` stands after `/build/logs/`.
        ("build/logs/a/b", "@octocat"),
        ("deeply/nested/logs/x", "@octocat"),
        // `/docs/` stands after `docs/*`.
        ("docs/getting-started.md", "@doctocat"),
        ("docs/build-app/troubleshooting.md", "@doctocat"),
        ("other/apps/x", "@octocat"),
        ("scripts/run.sh", "@doctocat @octocat"),
        ("apps/x/y", "@octocat"),
        ("apps/github", ""),
        ("apps/github/x/y", ""),
        ("apps/github2", "@octocat"),
    ] {
        assert_eq!(owners(DOCUMENTED, path), expected, "{path}");
    }
}

#[test]
fn patterns() {
    let yes = true;
    let no = false;
    for (pattern, path, fits) in [
        ("*", "a/b/c", yes),
        ("/*", "a", yes),
        ("/*", "a/b", no),
        ("docs/*", "docs/a", yes),
        ("docs/*", "docs/a/b", no),
        ("docs/*", "x/docs/a", no),
        ("docs/**", "docs/a/b", yes),
        ("docs/**", "docs", no),
        ("**/docs", "a/b/docs/c", yes),
        ("/a/**/z", "a/z", yes),
        ("/a/**/z", "a/b/c/z", yes),
        ("/a/**/z", "b/a/z", no),
        ("**", "a/b", yes),
        ("apps/", "apps", no),
        ("apps/", "x/apps/y", yes),
        ("/apps/", "x/apps/y", no),
        ("apps", "x/apps/y", yes),
        ("x/apps", "x/apps/y", yes),
        ("x/apps", "y/x/apps", no),
        ("clusters/*/cert.yaml", "clusters/gold/cert.yaml", yes),
        ("clusters/*/cert.yaml", "clusters/gold/eu/cert.yaml", no),
        ("*.yaml", "clusters/gold/a.yaml", yes),
        ("*.yaml", "a.yml", no),
        ("a?c", "abc", yes),
        ("a?c", "a/c", no),
        ("/a*b*c", "aXbYbZc", yes),
        ("/a*b*c", "aXbY", no),
        ("README.md", "readme.md", no),
        ("a.b", "axb", no),
        (r"path\ with\ spaces/", "path with spaces/x", yes),
        (r"a\#b", "a#b", yes),
        (r"a\*b", "a*b", yes),
        (r"a\*b", "aXb", no),
        ("docs/*/", "docs/a/b", yes),
        ("docs/*/", "docs/a", no),
    ] {
        let text = format!("{pattern} @owner");
        assert_eq!(owners(&text, path) == "@owner", fits, "{pattern} {path}");
    }
}

#[test]
fn a14_broken_lines_are_passed_over_and_named() {
    let text = "* @all\n!/a @x\n/[ab] @x\n\\#a @x\n/b nobody\n/ @x\n/d a\\ b@example.com\n\
                    /c @org/team @user x.y+z@example.com\n";
    let parsed = CodeOwners::parse(text).unwrap();
    let lines: Vec<usize> = parsed.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7]);
    assert_eq!(parsed.owners_of("b"), ["@all"]);
    assert_eq!(parsed.owners_of("c"), ["@org/team", "@user", "x.y+z@example.com"]);
}

#[test]
fn a14_a_broken_line_that_no_later_one_overrules_leaves_it_open() {
    let line = |text: &str, path: &str, reported: &[usize]| {
        let reported: Vec<Problem> =
            reported.iter().map(|line| Problem { line: *line, why: "Unknown owner".into() }).collect();
        let parsed = CodeOwners::parse(text).unwrap();
        parsed.known_owners_of(path, &reported).map(|owners| owners.join(" ")).map_err(|problem| problem.line)
    };
    let typo = "* @all\n/gold/ acme/platform\n";
    assert_eq!(line(typo, "gold/x", &[]), Err(2));
    assert_eq!(line(typo, "qa/x", &[]), Ok("@all".into()));
    assert_eq!(line(&format!("{typo}/gold/ @me\n"), "gold/x", &[]), Ok("@me".into()), "a later line counts");
    // A pattern that cannot be read may be about anything above it.
    let blind = "* @all\n/[ab]/ @x\n/qa/ @qa\n";
    assert_eq!((line(blind, "gold/x", &[]), line(blind, "qa/x", &[])), (Err(2), Ok("@qa".into())));
    // What the hub alone sees: an owner that is nobody, and a line that is none to us.
    let sound = "* @all\n# a comment\n/gold/ @gone\n";
    assert_eq!((line(sound, "gold/x", &[3]), line(sound, "qa/x", &[3])), (Err(3), Ok("@all".into())));
    assert_eq!((line(sound, "qa/x", &[2]), line(sound, "gold/x", &[2])), (Err(2), Ok("@gone".into())));
    assert_eq!((line("", "x", &[]), line("", "x", &[1])), (Ok(String::new()), Err(1)));
    let why = CodeOwners::parse(typo).unwrap().problems()[0].to_string();
    assert_eq!(why, "line 2: `acme/platform` is no owner; write `@acme/platform`");
}

#[test]
fn bounds() {
    assert_eq!(CodeOwners::parse(&"#".repeat(MOST_BYTES + 1)), Err(TooBig));
    let bom = "\u{feff}* @a\r\n/b @b\r\n";
    assert_eq!((owners(bom, "x"), owners(bom, "b")), ("@a".to_owned(), "@b".to_owned()));
    assert_eq!(owners("", "x"), "");
    // Many stars cannot make it slow.
    let stars = format!("/{} @a", "a*".repeat(2000));
    assert_eq!(owners(&stars, &"a".repeat(4000)), "@a");
    assert_eq!(owners(&format!("/{}b @a", "a*".repeat(2000)), &"a".repeat(4000)), "");
}
