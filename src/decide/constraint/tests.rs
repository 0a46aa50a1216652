//! Constraints as Masterminds/semver v3 reads them: what matches, what is refused and why.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

/// Constraint, versions inside, versions outside.
const CASES: &[(&str, &str, &str)] = &[
    // one version
    ("1.2.3", "1.2.3 v1.2.3 1.2.3+build.7", "1.2.4 1.2.2 1.2.3-rc.1"),
    ("=1.2.3", "1.2.3", "1.2.4"),
    ("v1.2.3", "1.2.3 v1.2.3", "1.2.4"),
    ("= v1.2", "1.2.0 1.2.9", "1.3.0 1.1.9"),
    ("1.2.3+other", "1.2.3 1.2.3+build", "1.2.4"),
    ("!=1.2.3", "1.2.4 1.2.2", "1.2.3 1.2.3+build 1.2.4-rc.1"),
    ("!=1.2", "1.3.0 2.2.0", "1.2.0 1.2.9"),
    ("!=1.x", "2.0.0 0.9.0", "1.0.0 1.9.9"),
    // wildcards and missing parts
    ("*", "0.0.0 1.2.3 99.0.0", "1.2.3-rc.1"),
    ("x", "0.0.1 4.5.6", "4.5.6-alpha"),
    ("1", "1.0.0 1.99.99", "0.9.9 2.0.0"),
    ("1.x", "1.0.0 1.99.99", "0.9.9 2.0.0"),
    ("1.X.x", "1.0.0 1.99.99", "0.9.9 2.0.0"),
    ("1.2", "1.2.0 1.2.99", "1.1.9 1.3.0 2.2.0"),
    ("1.2.*", "1.2.0 1.2.99", "1.1.9 1.3.0"),
    // above and below
    (">1.2.3", "1.2.4 2.0.0", "1.2.3 1.2.2"),
    (">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9 1.1.0"),
    (">1", "2.0.0", "1.0.0 1.9.9"),
    (">=1.2.3", "1.2.3 1.2.4 2.0.0", "1.2.2"),
    ("=>1.2.3", "1.2.3 2.0.0", "1.2.2"),
    (">=1.2", "1.2.0 2.0.0", "1.1.9"),
    ("<1.2.3", "1.2.2 0.0.1", "1.2.3 1.3.0"),
    ("<1.2", "1.1.9", "1.2.0 1.2.9"),
    ("<=1.2.3", "1.2.3 0.0.1", "1.2.4"),
    ("=<1.2.3", "1.2.3 0.0.1", "1.2.4"),
    ("<=1.2", "1.2.9 0.1.0", "1.3.0"),
    ("<=1", "1.9.9", "2.0.0"),
    ("<=*", "0.0.1 7.0.0", "7.0.0-rc.1"),
    (">=*", "0.0.1 7.0.0", "7.0.0-rc.1"),
    // tilde
    ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0 2.2.3"),
    ("~>1.2.3", "1.2.3 1.2.9", "1.3.0"),
    ("~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"),
    ("~1", "1.0.0 1.9.9", "2.0.0"),
    ("~0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
    ("~*", "0.0.1 9.9.9", "9.9.9-rc.1"),
    // Masterminds takes `~0.0.0` for `*`; here it means what the rule of `~` says.
    ("~0.0.0", "0.0.0 0.0.9", "0.1.0 1.0.0"),
    // caret
    ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 0.9.0"),
    ("^1.1.x", "1.1.0 1.9.0", "1.0.9 2.0.0"),
    ("^1.2", "1.2.0 1.9.0", "1.1.9 2.0.0"),
    ("^1", "1.0.0 1.9.9", "2.0.0 0.9.9"),
    ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.2.3"),
    ("^0.2", "0.2.0 0.2.9", "0.3.0"),
    ("^0.0.3", "0.0.3", "0.0.4 0.0.2 0.1.0"),
    ("^0.0", "0.0.0 0.0.9", "0.1.0"),
    ("^0", "0.0.0 0.9.9", "1.0.0"),
    ("^*", "0.0.1 9.9.9", "9.9.9-rc.1"),
    // as the documentation of Masterminds spells them out
    (">= 1.2.x", "1.2.0 2.0.0", "1.1.9"),
    ("<= 2.x", "2.9.9 0.1.0", "3.0.0"),
    ("~1.2.x", "1.2.0 1.2.9", "1.1.9 1.3.0"),
    ("~1.x", "1.0.0 1.9.9", "0.9.9 2.0.0"),
    ("^1.2.x", "1.2.0 1.9.9", "1.1.9 2.0.0"),
    ("^2.x", "2.0.0 2.9.9", "1.9.9 3.0.0"),
    ("2.3.4 - 4.5", "2.3.4 4.5.9", "2.3.3 4.6.0"),
    (">= 1.2, < 3.0.0 || >= 4.2.3", "1.2.0 2.9.9 4.2.3", "1.1.9 3.0.0 4.2.2"),
    (">=1.2.3-0", "1.2.3-alpha 1.2.3 1.3.0-rc.1", "1.2.2"),
    // joined by a space, a comma, both
    (">=1.2.0 <2.0.0", "1.2.0 1.9.9", "1.1.9 2.0.0"),
    (">=1.2.0, <2.0.0", "1.2.0 1.9.9", "1.1.9 2.0.0"),
    (">= 1.2.0 , < 2.0.0", "1.2.0 1.9.9", "1.1.9 2.0.0"),
    (">=1.2.0,<2.0.0,!=1.5.0", "1.4.9 1.5.1", "1.5.0 2.0.0"),
    ("~1.2 !=1.2.3", "1.2.2 1.2.4", "1.2.3"),
    // alternatives
    ("^1 || ^2", "1.0.0 2.9.0", "0.9.0 3.0.0"),
    ("1.2.x||>=3 <3.2", "1.2.7 3.0.0 3.1.9", "1.3.0 3.2.0"),
    // hyphen ranges; a missing part of the end is a wildcard
    ("1.2 - 1.5", "1.2.0 1.5.9", "1.1.9 1.6.0"),
    ("1.2.3 - 2.3.4", "1.2.3 2.3.4", "1.2.2 2.3.5"),
    ("1 - 2", "1.0.0 2.9.9", "0.9.9 3.0.0"),
    ("1.2 - 1.5, !=1.3.0 || 4.x", "1.2.0 1.5.0 4.1.0", "1.3.0 2.0.0"),
    ("1.0.0-alpha - 1.0.0", "1.0.0-alpha 1.0.0-rc.1 1.0.0", "1.0.1 0.9.0"),
    // pre-releases only where the alternative names one
    (">=1.2.0", "1.2.0", "1.3.0-rc.1 1.2.0-rc.1"),
    (">=1.2.0-0", "1.2.0 1.2.0-rc.1 1.3.0-alpha", "1.1.0 1.1.0-rc.1"),
    (">0.0.0-0", "1.3.0-rc.1 1.3.0", "0.0.0-0"),
    ("*-0", "1.2.3-alpha 1.2.3", ""),
    ("^1.2.0-beta.2", "1.2.0-beta.2 1.2.0-rc.1 1.2.0 1.3.0-alpha", "1.2.0-beta.1 2.0.0-alpha 2.0.0"),
    ("~1.2-0", "1.2.0-rc.1 1.2.5", "1.3.0-rc.1"),
    ("1.x-0", "1.2.0-rc.1 1.2.5 1.0.0-a", "2.0.0-rc.1"),
    ("1.2.3-rc.1", "1.2.3-rc.1", "1.2.3 1.2.3-rc.2"),
    (">=1.0.0-0 <2.0.0", "1.5.0-rc.1 1.5.0 2.0.0-rc.1", "0.9.0-rc.1 2.0.0"),
    ("^1 || ^2.0.0-0", "2.0.0-rc.1 1.2.0", "1.2.0-rc.1"),
];

#[test]
fn every_case() {
    for (text, inside, outside) in CASES {
        let constraint: Constraint = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(constraint.as_str(), *text);
        for version in inside.split_whitespace() {
            assert!(constraint.allows(&version.parse().unwrap()), "{text} should allow {version}");
        }
        for version in outside.split_whitespace() {
            assert!(!constraint.allows(&version.parse().unwrap()), "{text} should not allow {version}");
        }
    }
}

/// Where a rule forbids, a pre-release counts by its order; where pre-releases are accepted, the
/// release that it leads to has to lie inside, too.
#[test]
fn f49_pre_releases_by_their_order() {
    for (text, version, covers, allows) in [
        ("<2", "1.9.0", true, true),
        ("<2", "2.0.0-rc.1", true, false),
        ("<2", "2.0.0", false, false),
        (">=1.2", "1.2.0-rc.1", false, false),
        (">=1.2", "1.3.0-rc.1", true, true),
        ("^1", "2.0.0-rc.1", false, false),
        ("^1", "1.9.0-rc.1", true, true),
        ("1.2.3", "1.2.3-rc.1", false, false),
        (">=1.2.0-rc.1", "1.2.0-rc.2", true, true),
    ] {
        let (constraint, version): (Constraint, Version) = (text.parse().unwrap(), version.parse().unwrap());
        assert_eq!(constraint.covers(&version), covers, "{text} covers {version}");
        assert_eq!(constraint.allows_with_prereleases(&version), allows, "{text} allows {version}");
    }
}

#[test]
fn refusals_name_the_part_and_why() {
    let cases = [
        ("", "", "nothing stands here"),
        ("   ", "", "nothing stands here"),
        ("^1 ||", "", "nothing stands on one side"),
        ("|| 1.2", "", "nothing stands on one side"),
        ("latest", "latest", "neither a number nor a wildcard"),
        (">=", ">=", "a version was expected"),
        ("^^1.2", "^^1.2", "a version was expected"),
        (">=1.2.3.4", "1.2.3.4", "three parts"),
        ("1..2", "1..2", "between the dots"),
        ("1.x.3", "1.x.3", "cannot follow a wildcard"),
        ("1.02", "1.02", "leading zero"),
        ("1.99999999999999999999", "1.99999999999999999999", "too large"),
        ("1.2.3-", "1.2.3-", "nothing follows the hyphen"),
        ("1.2.3-rc..1", "1.2.3-rc..1", "pre-release part"),
        ("1.2.3+", "1.2.3+", "not build metadata"),
        (">=1.2.0<2.0.0", "<2.0.0", "a space or a comma"),
        (">=1.2.0, ", ",", "nothing follows the comma"),
        (">1 - 2", ">1 - 2", "takes no operator"),
        ("1.2 - ", "-", "on both sides"),
        ("1.2 -1.5", "-1.5", "on both sides"),
        ("!=*", "*", "every version is `*`"),
        ("<x", "x", "every version is `*`"),
        ("1.2.3 and 2", "and", "neither a number"),
    ];
    for (text, part, why) in cases {
        let error = text.parse::<Constraint>().expect_err(text);
        assert_eq!(error.part, part, "{text}");
        assert!(error.why.contains(why), "{text}: {error}");
    }
}

#[test]
fn bounds() {
    let long = alloc::vec!["1.2.3"; 33].join("||");
    assert!(long.parse::<Constraint>().unwrap_err().why.contains("more than 32"));
    let long = "1".repeat(600);
    let error = long.parse::<Constraint>().unwrap_err();
    assert!(error.why.contains("longer than 512") && error.part.len() == 64);
}

#[test]
fn a_constraint_has_bounds_and_says_which() {
    let long = |length: usize| format!("1.2.3-{}", "a".repeat(length - 6));
    let padded = |length: usize| [length - 386, 126, 126, 128].map(long).join("||").parse::<Constraint>();
    assert!(padded(512).is_ok());
    let why = padded(513).unwrap_err().to_string();
    assert!(why.ends_with(": longer than 512 characters"), "{why}");
    let parts = |count: usize| alloc::vec![">1"; count].join(" ").parse::<Constraint>();
    assert!(parts(32).is_ok());
    assert!(parts(33).unwrap_err().to_string().ends_with(": more than 32 comparisons"));
    let names = |text: &str| text.parse::<Constraint>().unwrap().names_prereleases();
    assert!(names(">=1.2.3-0") && names("1.x || 2.0.0-rc.1") && !names("^1.2"));
}
