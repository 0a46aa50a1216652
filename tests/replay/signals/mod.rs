//! `coldframe signal` as a process: every kind in every state from files and from a cluster on loopback, what it
//! prints, what it refuses, and its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod kit;
mod live;
mod support;

use kit::{Case, Kit, kits, renamed};
use serde_json::{Value, json};
use support::{Folder, Said, signal, with_input, words};

/// A question about a case, as far as it does not depend on where the objects come from.
pub fn question(name: &str, kit: &Kit, case: &Case) -> Vec<String> {
    let settings = case.settings.as_ref().unwrap_or(&kit.settings).to_string();
    words(&[
        name,
        "--json",
        "--version",
        &kit.wanted,
        "--settings",
        &settings,
        "--cluster",
        &kit.cluster,
        "--tier",
        "gold",
    ])
}

/// Asks, and where a commit is proved asks again with what the config repository has there.
pub fn asked(kit: &Kit, arguments: &[String]) -> Said {
    let said = signal(arguments);
    let commit = said.code < 2 && !said.json()["commit"].is_null();
    let known = kit.commits.get(said.json_or_null()["commit"].as_str().unwrap_or_default());
    match known {
        Some(version) if commit => {
            let unlooked = said.json();
            if unlooked["health"] == "healthy" {
                assert_eq!((said.code, &unlooked["countsAs"]["state"]), (1, &json!("unknown")), "{}", said.out);
            }
            let of = format!("{}={version}", &unlooked["commit"].as_str().unwrap()[..8]);
            signal(&[arguments, &words(&["--commit", &of])].concat())
        }
        Some(_) | None => said,
    }
}

impl Said {
    fn json_or_null(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_default()
    }
}

/// What the command says has to be what the case expects.
pub fn agrees(what: &str, case: &Case, said: &Said) {
    let expected = case.health.as_deref().unwrap();
    let json = said.json();
    let shown = format!("{what}: {}", said.out);
    // Who runs another version has not got there; a commit that nobody looked up proves none.
    let health = match json["health"].as_str().unwrap() {
        "healthy" if json["running"].is_null() => "unknown",
        "healthy" if json["satisfies"]["version"] == false => "progressing",
        health => health,
    };
    assert_eq!(health, expected, "{shown}");
    let converged = expected == "healthy";
    assert_eq!((said.code == 0, &json["converged"]), (converged, &json!(converged)), "{shown}");
    assert!(said.code < 2 && said.err.is_empty(), "{shown}{}", said.err);
    let state = json["countsAs"]["state"].as_str().unwrap();
    let fits: &[&str] = match expected {
        "notFound" => &["progressing"],
        // A failure of another version is one that this version may mend.
        "degraded" => &["degraded", "progressing"],
        "failed" => &["failed", "progressing"],
        other => &[other],
    };
    assert!(fits.contains(&state), "{shown}");
    if let Some(running) = &case.running {
        assert_eq!(json["running"].as_str(), Some(running.as_str()), "{shown}");
    }
    if let Some(words) = &case.says {
        assert!(json["because"].as_str().unwrap().contains(words.as_str()), "{shown}");
    }
}

#[test]
fn every_kind_is_judged_from_files_as_its_fixtures_say() {
    let mut asked_about = 0;
    for (name, kit) in kits() {
        for (title, case) in kit.states.iter().chain(&kit.pitfalls) {
            let mut objects = kit.with(&case.change);
            objects[0] = renamed(objects[0].take(), case.settings.as_ref());
            let folder = Folder::new();
            let files = folder.objects(&objects);
            let rest = words(&["--complete", "--taken", "2026-11-21T12:00:00Z"]);
            let arguments = [question(&name, &kit, case), files, rest].concat();
            let what = format!("{name}, {title}");
            if objects[0].is_null() {
                let said = signal(&arguments);
                assert!(said.code == 2 && said.err.contains("holds no object"), "{what}: {}", said.err);
            } else if case.health.is_some() {
                agrees(&what, case, &asked(&kit, &arguments));
                asked_about += 1;
            }
        }
    }
    assert!(asked_about > 100, "{asked_about}");
}

/// What the bot would read as well is never guessed: without it nothing is proved, and one is told what to give.
#[test]
fn what_nobody_gave_is_named_and_proves_nothing() {
    for (name, kit) in kits() {
        let mut without = 0;
        for left_out in 1..=kit.more.len() {
            let mut objects = kit.with(&Default::default());
            objects[left_out] = Value::Null;
            let folder = Folder::new();
            let arguments = [question(&name, &kit, &kit.states["healthy"]), folder.objects(&objects)].concat();
            let said = signal(&arguments);
            let json = said.json();
            if json["lacking"] == json!([]) {
                continue;
            }
            without += 1;
            let lacked = &kit.more[left_out - 1]["metadata"]["name"];
            assert!(json["because"].as_str().unwrap().contains("it cannot be judged without "), "{name}");
            let title = json["lacking"][0]["object"].as_str().unwrap();
            assert!(title.ends_with(lacked.as_str().unwrap()), "{name}: {title}");
            assert_eq!(
                (said.code, &json["health"], &json["countsAs"]["state"]),
                (1, &json!("unknown"), &json!("unknown"))
            );
            assert_eq!(json["running"], Value::Null, "{name}");
            let text = signal(&arguments.iter().filter(|word| *word != "--json").cloned().collect::<Vec<_>>()).out;
            assert!(text.contains("Give them with --more FILE") && text.contains("\n  kubectl get "), "{name}: {text}");
        }
        assert!(without > 0 || kit.more.is_empty(), "{name} asks for nothing else");
    }
}

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: loki, namespace: apps, generation: 4}
spec: {}
status:
  observedGeneration: 4
  conditions: [{type: Ready, status: 'True', reason: UpgradeSucceeded, observedGeneration: 4, lastTransitionTime: '2026-11-21T10:00:00Z'}]
  history: [{chartVersion: 1.2.0, status: deployed, version: 7, lastDeployed: '2026-11-21T09:58:00Z'}]
";

#[test]
fn the_text_says_what_is_proved_against_what_was_wanted() {
    let folder = Folder::new();
    let file = folder.write("loki.yaml", RELEASE);
    let ask = |more: &[&str]| {
        let said = signal(
            &[words(&["helmRelease", "--object", &file, "--taken", "2026-11-21T12:00:00Z"]), words(more)].concat(),
        );
        assert!(said.err.is_empty() && !said.out.contains('\u{1b}'), "colour is for terminals");
        (said.code, said.out)
    };
    let (code, text) = ask(&["--version", "1.2.0", "--after", "2026-11-21T09:00:00+00:00"]);
    assert_eq!(code, 0, "{text}");
    for line in [
        "HelmRelease apps/loki\n",
        "counts as ✔ healthy\n",
        "  wanted    1.2.0\n",
        "  health    healthy since Sat 21 Nov 2026, 10:00 UTC (",
        "  running   1.2.0, which proves 1.2.0\n",
        "): read after it, healthy since after it\n",
        "  evidence  status.history[0] is 1.2.0, deployed; Ready=True UpgradeSucceeded\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let (code, text) = ask(&["--version", "1.3.0"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("counts as ◔ progressing: on 1.2.0\n"), "{text}");
    assert!(text.contains("running   1.2.0, which does not prove 1.3.0\n"), "{text}");
    let (code, text) = ask(&["--version", "1.2.0", "--after", "2026-11-21T12:30:00Z"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("counts as ◔ progressing: not read since it landed\n"), "{text}");
    assert!(text.contains("read before it, which says nothing"), "{text}");
}

#[test]
fn a_commit_is_shown_and_the_config_repository_decides() {
    let kit = &kits()["kustomization"];
    let folder = Folder::new();
    let ask = |more: &[&str]| {
        let arguments =
            [words(&["kustomization", "--version", "1.2.0"]), folder.objects(&kit.with(&Default::default()))];
        signal(&[arguments.concat(), words(more)].concat())
    };
    let unlooked = ask(&[]);
    assert_eq!(unlooked.code, 1, "{}", unlooked.out);
    let commit = "2".repeat(40);
    assert!(unlooked.out.contains(&format!("commit {commit}; the config repository decides which version that is")));
    assert!(unlooked.out.contains("--commit 2222222=VERSION") && unlooked.out.contains("counts as ? unknown"));
    let looked = ask(&["--commit", "2222222=1.2.0"]);
    assert_eq!(looked.code, 0, "{}", looked.out);
    assert!(looked.out.contains("1.2.0, as the config repository has it at 2222222"), "{}", looked.out);
    assert_eq!(ask(&["--commit", "2222222=1.1.0"]).code, 1);
    assert_eq!(ask(&["--commit", "3333333=1.2.0"]).code, 1, "a version of another commit proves nothing");
}

#[test]
fn an_object_comes_from_standard_input_and_names_itself() {
    let said = with_input(&words(&["helmRelease", "--object", "-", "--version", "1.2.0", "--json"]), RELEASE);
    assert_eq!((said.code, &said.json()["signal"]), (0, &json!("HelmRelease apps/loki")), "{}", said.err);
    let json = serde_yaml::from_str::<Value>(RELEASE).unwrap().to_string();
    assert_eq!(with_input(&words(&["helmRelease", "--object", "-", "--version", "1.2.0"]), &json).code, 0);
}

/// A kind that proves less says so.
#[test]
fn a_kind_that_proves_less_says_so() {
    let kit = &kits()["ociRepository"];
    let folder = Folder::new();
    let arguments =
        [question("ociRepository", kit, &kit.states["healthy"]), folder.objects(&kit.with(&Default::default()))];
    let said = signal(&arguments.concat());
    assert!(said.json()["provesLess"].as_str().unwrap().contains("not that the cluster runs it"), "{}", said.out);
    let digest = said.json()["digest"].as_str().unwrap().to_string();
    let with = |digest: &str| signal(&[arguments.concat(), words(&["--digest", digest])].concat());
    assert_eq!((with(&digest).code, &with(&digest).json()["satisfies"]["digest"]), (0, &json!(true)));
    let other = with(&format!("sha256:{}", "0".repeat(64)));
    assert_eq!((other.code, &other.json()["satisfies"]["digest"]), (1, &json!(false)));
    assert_eq!(other.json()["countsAs"]["because"], "running other content under this version");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_fix_and_exit_code_2() {
    let folder = Folder::new();
    let file = folder.write("loki.yaml", RELEASE);
    let old = folder.write("old.yaml", &RELEASE.replace("fluxcd.io/v2", "fluxcd.io/v2beta1"));
    let broken = folder.write("broken.yaml", "a: b: c");
    let settings = folder.write("settings.yaml", "namespace: apps\nnaem: loki\n");
    let at_settings = format!("@{settings}");
    let many = "x".repeat(9);
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["helmRelaese", "--object", &file], "did you mean `helmRelease`? There are: helmRelease, kustomization"),
        (vec!["HelmRelease", "--object", &file], "did you mean `helmRelease`?"),
        (vec![&many, "--object", &file], "is no kind of signal; There are"),
        (vec!["prometheus", "--object", &file], "`prometheus` asks no object of a cluster"),
        (vec!["helmRelease"], "--object <FILE>"),
        (vec!["helmRelease", "--object", "nowhere.yaml"], "the object `nowhere.yaml`: No such file"),
        (vec!["helmRelease", "--object", &broken], "neither YAML nor JSON"),
        (
            vec!["application", "--object", &file],
            "asks for Application apps/loki of argoproj.io/v1alpha1; there is HelmRelease apps/loki in",
        ),
        (
            vec!["helmRelease", "--object", &old],
            "kubectl get helmreleases.v2.helm.toolkit.fluxcd.io -n apps loki -o yaml",
        ),
        (vec!["helmRelease", "--object", &file, "--settings", "name: web"], "asks for HelmRelease apps/web"),
        (vec!["helmRelease", "--object", &file, "--settings", "nmae: web"], "^^^^ did you mean `name`?"),
        (vec!["helmRelease", "--object", &file, "--settings", &at_settings], "settings.yaml:2:1: unknown key `naem`"),
        (vec!["helmRelease", "--object", &file, "--settings", "@nowhere.yaml"], "the settings `nowhere.yaml`"),
        (vec!["helmRelease", "--object", &file, "--settings", "name: 'loki-{cluster}'"], "give --cluster NAME"),
        (vec!["helmRelease", "--object", &file, "--settings", "name: 'loki-{tier}'"], "give --tier NAME"),
        (vec!["helmSecret", "--object", &file], "`helmSecret` has no `release`"),
        (vec!["helmRelease", "--object", &file, "--commit", "2222222=1.2.0"], "the object proves no commit"),
        (vec!["helmRelease", "--object", &file, "--commit", "22=1.2.0"], "seven to forty hexadecimal digits"),
        (vec!["helmRelease", "--object", &file, "--digest", "sha256:1"], "64 hexadecimal digits"),
        (vec!["helmRelease", "--object", &file, "--after", "yesterday"], "no time such as `2026-11-21T10:00:00Z`"),
        (vec!["helmRelease", "--object", &file, "--after", "9999-01-01T00:00:00Z"], "between the years 1970 and 2200"),
        (
            vec!["helmRelease", "--cluster", "eu-1", "--settings", "namespace: apps, name: loki"],
            "give --clusters FOLDER",
        ),
    ];
    for (arguments, expected) in cases {
        let said = signal(&[words(&arguments), words(&["--version", "1.2.0"])].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(expected) && said.out.is_empty(), "{arguments:?}: {}", said.err);
    }
    let said = signal(&words(&["helmRelease", "--object", &file, "--version", "1.2"]));
    assert!(said.code == 2 && said.err.contains("is not a SemVer 2 version"), "{}", said.err);
}
