//! A checkout with everything in it, and what is said where something is missing, broken or elsewhere.
#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;
use crate::git::testing::git;

const POLICY: &str = "\
tiers:
  - {name: qa, select: {matchLabels: {tier: qa}}, merge: automatic}
  - {name: gold, select: {matchLabels: {tier: gold}}}
plugins:
  - name: loki
    chart: {oci: oci://registry.example/charts/loki}
    write: [{file: '{tier}/{cluster}/loki.yaml', path: $.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
";
const CLUSTERS: &str = "\
clusters:
  - {name: eu-1, labels: {tier: qa}}
  - {name: eu-2, labels: {tier: gold}}
  - {name: us-1, labels: {tier: gold}}
";
const OWNERS: &str = "* @acme/platform\n";

/// What is said of a checkout in which everything is as it should be but for these files.
fn checked(changes: &[(&str, Option<&str>)]) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    let sound = [
        ("coldframe.yaml", POLICY),
        ("clusters.yaml", CLUSTERS),
        ("CODEOWNERS", OWNERS),
        ("qa/eu-1/loki.yaml", "version: 1.1.0\n"),
        ("gold/eu-2/loki.yaml", "version: 1.0.0\n"),
        ("gold/us-1/loki.yaml", "version: 1.0.0\n"),
    ];
    let sound = sound.map(|(name, text)| (name, Some(text)));
    for (name, text) in sound.iter().chain(changes) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    }
    told(root, "coldframe.yaml")
}

fn told(root: &Path, policy: &str) -> (String, bool) {
    let path = root.join(policy).display().to_string();
    let files = vec![SourceFile { text: fs::read_to_string(&path).unwrap(), path }];
    let (text, good) = in_checkout(&policy::load(&files).unwrap(), files);
    (text.replace(&format!("{}/", root.display()), ""), good)
}

/// Of a preset of another repository nobody is asked: whoever has a copy names it.
#[test]
fn a_preset_of_another_repository_is_read_from_its_copy() {
    let name = "acme/presets/strict.yaml@0123456789abcdef0123456789abcdef01234567";
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("coldframe.yaml"), folder.path().join("copy.yaml"));
    fs::write(&file, format!("extends: [{name}]\n{POLICY}")).unwrap();
    fs::write(&copy, "people: {force: admin}\n").unwrap();
    let checked = |presets: Vec<(String, PathBuf)>| {
        let ended = check(&Check { file: Some(file.clone()), resolved: false, limits: None, presets }).unwrap();
        format!("{ended:?}")
    };
    assert_eq!(checked(Vec::new()), format!("{:?}", ExitCode::FAILURE));
    assert_eq!(checked(vec![(name.to_string(), copy)]), format!("{:?}", ExitCode::SUCCESS));
}

#[test]
fn a_checkout_with_everything_in_it_is_in_order() {
    let (text, good) = checked(&[]);
    assert!(good && text.starts_with("The policy is in order.\n"), "{text}");
    assert!(
        text.ends_with("\nThis checkout has 3 clusters, and 3 places with a version, each where the policy says.\n")
    );
    assert!(!text.contains("Worth a look"), "{text}");
}

#[test]
fn what_the_policy_speaks_of_and_is_not_there_is_an_error_at_its_line() {
    let renamed = CLUSTERS.replace("tier: gold", "tier: golden");
    let doubled = POLICY.replace("{matchLabels: {tier: qa}}", "{}");
    let elsewhere = format!("clusters: {{path: inventory.yaml}}\n{POLICY}");
    for (changes, expected) in [
        (
            vec![("clusters.yaml", None)],
            "coldframe.yaml:1:1: no clusters: there is no `clusters.yaml` in this checkout",
        ),
        (
            vec![("coldframe.yaml", Some(elsewhere.as_str()))],
            "coldframe.yaml:1:18: no clusters: there is no `inventory.yaml`",
        ),
        (vec![("clusters.yaml", Some("clusters: []\n"))], "coldframe.yaml:1:1: `clusters.yaml` lists no cluster"),
        (
            vec![("clusters.yaml", Some("clusters:\n  - {nmae: eu-1}\n"))],
            "clusters.yaml:2:6: unknown key `nmae` in a cluster without a name (did you mean `name`?)",
        ),
        (
            vec![("clusters.yaml", Some(renamed.as_str()))],
            "coldframe.yaml:3:18: tier `gold` selects none of the 3 clusters of `clusters.yaml`",
        ),
        (
            vec![("coldframe.yaml", Some(doubled.as_str()))],
            "coldframe.yaml:3:18: cluster `eu-2` is on tier `gold`, and on tier `qa`, too",
        ),
        (
            vec![("gold/us-1/loki.yaml", None)],
            "coldframe.yaml:7:20: `gold/us-1/loki.yaml` holds no version of plugin `loki` for cluster `us-1` of tier \
             `gold`: the file does not exist in this checkout",
        ),
        (
            vec![("gold/us-1/loki.yaml", Some("versoin: 1.0.0\n")), ("gold/eu-2/loki.yaml", None)],
            "the file does not exist in this checkout; nor does another place of it",
        ),
        (
            vec![("qa/eu-1/loki.yaml", Some("version: latest\n"))],
            "coldframe.yaml:7:20: `qa/eu-1/loki.yaml` holds no version of plugin `loki` for cluster `eu-1` of tier `qa`",
        ),
    ] {
        let (text, good) = checked(&changes);
        assert!(!good && !text.contains("in order"), "{changes:?}: {text}");
        let help = expected.split_once(" (").map_or(expected, |(message, _)| message);
        assert!(text.contains(help), "{expected}\n{text}");
        assert!(text.contains("what it speaks of is not as it says"), "{text}");
    }
}

#[test]
fn code_owners_are_worth_a_look() {
    let (text, good) = checked(&[("CODEOWNERS", None)]);
    assert!(good && text.contains(".github/CODEOWNERS:1:1: there is no such file: nobody owns"), "{text}");
    let (text, good) = checked(&[("CODEOWNERS", Some("* @acme/platform\n/gold/ acme/platform\n"))]);
    assert!(good && text.contains("CODEOWNERS:2:1: `acme/platform` is no owner; write `@acme/platform`"), "{text}");
}

#[test]
fn a_branch_that_is_not_here_is_not_looked_at() {
    let policy =
        POLICY.replace("{name: gold,", "{name: gold, branch: gold,").replace("'{tier}/{cluster}/", "'qa/{cluster}/");
    let (text, good) = checked(&[("coldframe.yaml", Some(&policy))]);
    assert!(good, "{text}");
    assert!(text.contains("coldframe.yaml:3:32: the branch `gold` of tier `gold` is not known here"), "{text}");
    assert!(text.contains("3 clusters, and 1 place with a version"), "{text}");
}

#[test]
fn outside_of_a_checkout_it_says_that_nothing_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("coldframe.yaml"), POLICY).unwrap();
    let (text, good) = told(folder.path(), "coldframe.yaml");
    assert!(good && text.contains("Not looked at, and so not known to be there"), "{text}");
    assert!(text.contains("This is no checkout of a repository"), "{text}");
    // Nor in a checkout whose policy it is not.
    git(folder.path(), &["init", "--quiet"]);
    fs::create_dir(folder.path().join("examples")).unwrap();
    fs::write(folder.path().join("examples/mine.yaml"), POLICY).unwrap();
    let (text, good) = told(folder.path(), "examples/mine.yaml");
    assert!(good && text.contains("this is another file"), "{text}");
}

#[test]
fn where_a_hub_lists_the_clusters_the_places_of_tiers_are_looked_at() {
    let policy = format!("clusters: {{from: argocd, connection: hub}}\n{}", POLICY.replace("{cluster}/", ""));
    let files = [
        ("coldframe.yaml", Some(policy.as_str())),
        ("qa/loki.yaml", Some("version: 1.1.0\n")),
        ("gold/loki.yaml", Some("version: 1.0.0\n")),
    ];
    let (text, good) = checked(&files);
    assert!(good && text.contains("This checkout has 2 places with a version; those of single clusters"), "{text}");
    let (text, good) = checked(&files[..2]);
    assert!(!good && text.contains("`gold/loki.yaml` holds no version of plugin `loki` for tier `gold`"), "{text}");
}
