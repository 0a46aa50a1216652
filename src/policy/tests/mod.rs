//! The policy file as people write it: what it means, and what is said about each mistake.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::model::{After, Approvals, Force, HealthRule, Limits, Merge, MergeRule, Next, OnFailure};
use decide::selector::Operator;
use decide::window::{Cron, Range};
use jiff::SignedDuration;

use super::preset::Preset;
use super::wiring::{Chart, Inventory, Released, Right, Scalar, Write};
use super::*;
use parse::forms::Words as _;

mod chart_mistakes;
mod choice;
mod clusters;
mod limits;
mod mistakes;
mod names;
mod plugin_mistakes;
mod presets;
mod strategy;
mod whole;
mod windows;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_string(), text: text.to_string() }
}

fn of(text: &str) -> Loaded {
    load(&[file("coldframe.yaml", text)]).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// The problems of a main file, one line each, without its name.
fn problems(text: &str) -> Vec<String> {
    let problems = load(&[file("", text)]).map(|_| ()).expect_err(text);
    problems.iter().map(|problem| problem.to_string().trim_start_matches(':').to_string()).collect()
}

const FULL: &str = r#"
# yaml-language-server: $schema=./policies/schema.json
version: 1
clusters: {from: file, path: inventory/clusters.yaml}
windows: {zone: Europe/Berlin, open: ["Mon-Thu 08:00-16:00"], closed: [{from: 2026-12-20, to: 2027-01-04, why: year-end freeze}], room: 2h}
maintenanceWindows: [{select: {matchLabels: {region: ap}}, windows: {zone: Asia/Tokyo, open: ["08:00-20:00"]}}]
freeze:
  - {why: migration of the registry, by: "@octo", tiers: [gold], plugins: [cert-manager], until: 2027-01-10}
  - {why: audit, until: 2027-02-01T08:00:00+01:00}
tiers:
  - name: qa
    select: {matchLabels: {tier: qa}}
    merge: automatic
  - name: bronze
    select: {matchLabels: {tier: bronze}}
    merge: {patch: automatic, minor: approved, major: manual}
    soak: 24h
    onFailure: stall
  - name: silver
    select: {matchLabels: {tier: silver}}
    soak: {min: 2d, max: 7d}
    health: {progressDeadline: 90m, degradedFor: 10m, maxFailures: 1, maxUnknown: 2, maxAge: 30s}
    windows: {open: ["Thu-Sun 00:00-24:00", "22:00-04:00", {cron: "0 8 * * MON-WED", for: 90m}]}
    constraint: "<2"
    onFailure: {rollBack: {merge: automatic}}
    watch: 6h
    strategy: allAtOnce
  - name: gold
    select: {matchExpressions: [{key: tier, operator: In, values: [gold, platinum]}, {key: paused, operator: DoesNotExist}]}
    approvals: {codeOwners: true, atLeast: 2, covers: [gold]}
    announce: 24h
    force: {after: 30d, notice: [1d, 14d, 3d]}
plugins:
  - name: cert-manager
    chart: {oci: oci://registry.example/charts/cert-manager}
    poll: 5m
    versions:
      constraint: "^1.14"
      prereleases: true
      block: [{from: "<1.15", to: 1.15.0, why: CRD migration, fixedIn: 1.15.1, above: qa}, {to: "1.16.x", why: withdrawn}]
      deprecated: "<1.12"
      checks: {all: [e2e, Upgrade test], from: acme/charts, tag: "{plugin}-v{version}"}
      expires: [{versions: "<1.11", until: 2027-03-01, why: end of support}, {versions: 1.9.x, until: "2026-12-01T12:00:00Z"}]
      maxLive: 3
    write:
      - file: clusters/{tier}/{cluster}/cert-manager.yaml
        document: {kind: HelmRelease, name: cert-manager}
        path: $.spec.chart.spec.version
    signals:
      - helmRelease: {namespace: cert-manager, name: cert-manager}
      - application: {namespace: argocd, name: "{cluster}-cert-manager"}
      - resource:
          apiVersion: apps/v1
          kind: Deployment
          namespace: cert-manager
          name: cert-manager
          version: '{.metadata.labels.version}'
          generation: .status.observedGeneration
          state: {path: '$.status.conditions[?(@.type=="Available")].status', healthy: ["True"], degraded: ["False"]}
          since: '$.status.conditions[?(@.type=="Available")].lastTransitionTime'
    tiers: {gold: {soak: 3d, approvals: {atLeast: 1}}}
    cooldown: 90m
    hotfixes: [{version: v1.14.9, why: CVE-2026-1, soak: 30m, throughWindows: true}, {version: 1.15.9, why: data loss}]
  - name: loki
    chart: {repository: https://charts.example/stable/, name: loki}
    write: [{file: "clusters/{tier}/loki.yaml", path: $.spec.chart.spec.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
    next: every
    after: [cert-manager]
people: {hold: admin, acknowledge: codeOwners, fail: codeOwners, freeze: admin}
limits: {openPulls: 10, clustersPerHour: 50}
schedule: 15m
"#;

const PLUGIN: &str = "
plugins:
  - name: loki
    chart: {oci: oci://registry.example/loki}
    write: [{file: loki.yaml, path: $.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
";

#[test]
fn the_shortest_file() {
    let loaded = of(PLUGIN);
    assert_eq!(loaded.ladder.len(), 1);
    assert_eq!(loaded.ladder[0].name.as_str(), "all");
    assert_eq!(loaded.ladder[0].merge, MergeRule::all(Merge::Approved));
    assert_eq!(loaded.wiring.inventory, Inventory::File { path: "clusters.yaml".into() });
    assert_eq!(loaded.policy.windows, None);
    let quiet = of("version: 1");
    assert!(quiet.warnings[0].message.contains("nothing is promoted"), "{:?}", quiet.warnings);
    // A plugin may override the one tier by its name.
    let loaded = of(&format!("{PLUGIN}    tiers: {{all: {{soak: 1h}}}}\n"));
    assert_eq!(loaded.policy.plugins[0].tiers[0].soak.min, SignedDuration::from_hours(1));
}

#[test]
fn five_mistakes_are_five_errors_with_their_places() {
    let text = "\
version: 1
windows: {zone: Europe/Berln, open: [\"Mon-Thu 08:00-16:00\"]}
tiers:
  - name: bronze
    select: {matchLabels: {tier: bronze}}
    soka: 24h
  - name: gold
    select: {matchLabels: {tier: gold}}
    soak: 90
    force: {after: 7d, notice: [14d]}
plugins:
  - name: loki
    chart: {oci: oci://registry.example/loki}
    versions: {constraint: \"^1.x.3\"}
    write: [{file: \"clusters/{tier}/loki.yaml\", path: $.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
";
    let (told, good) = check(&[file("coldframe.yaml", text)]);
    assert!(!good);
    let expected = "\
coldframe.yaml:2:17: `zone` of `windows`: `Europe/Berln` is not a time zone of the IANA database
  |
2 | windows: {zone: Europe/Berln, open: [\"Mon-Thu 08:00-16:00\"]}
  |                 ^^^^^^^^^^^^ did you mean `Europe/Berlin`?

coldframe.yaml:6:5: unknown key `soka` in tier `bronze`
  |
6 |     soka: 24h
  |     ^^^^ did you mean `soak`?

coldframe.yaml:9:11: `soak` of tier `gold`: `90` has no unit
  |
9 |     soak: 90
  |           ^^ write `90s`, `90m`, `90h` or `90d`

coldframe.yaml:10:33: `force` of tier `gold`: a notice 14 d before the deadline is longer than `after` (7 d)
   |
10 |     force: {after: 7d, notice: [14d]}
   |                                 ^^^ make it shorter than `after`: the clock starts when the pull request is announced

coldframe.yaml:14:28: `constraint` of `versions` of plugin `loki`: `^1.x.3` is not a version constraint: `1.x.3`: a number cannot follow a wildcard
   |
14 |     versions: {constraint: \"^1.x.3\"}
   |                            ^^^^^^^^ write it as in Helm: `^1.14`, `~1.2`, `>=1.2.0 <2.0.0`, `1.x || 2.x`

5 problems. Nothing is promoted by a policy with problems.
";
    assert_eq!(told, expected);
}

#[test]
fn loopback_may_speak_plain_http() {
    for host in ["localhost", "127.0.0.1:5000", "[::1]:5000", "127.9.9.9"] {
        let text = PLUGIN.replace("oci://registry.example", &format!("oci+http://{host}"));
        let chart = of(&text.replace("oci: oci+", "oci: \"oci+").replace("/loki}", "/loki\"}")).wiring.plugins
            [&"loki".into()]
            .chart
            .clone();
        assert_eq!(chart, Chart::Oci { reference: format!("{host}/loki"), plain: true });
        let text = PLUGIN
            .replace("{oci: oci://registry.example/loki}", &format!("{{repository: \"http://{host}/x\", name: loki}}"));
        let chart = of(&text).wiring.plugins[&"loki".into()].chart.clone();
        assert_eq!(chart, Chart::Http { repository: format!("http://{host}/x"), name: "loki".into() });
    }
}

#[test]
fn places_belong_to_one_tier_and_one_plugin() {
    let two_tiers = "tiers: [{name: a, select: {matchLabels: {t: a}}}, {name: b, select: {matchLabels: {t: b}}}]";
    let told = problems(&format!("{two_tiers}{PLUGIN}"));
    assert!(told.len() == 1 && told[0].contains("every tier would share this place"), "{told:?}");
    of(&format!("{two_tiers}{}", PLUGIN.replace("loki.yaml", "\"{cluster}.yaml\"")));
    of(&format!("{two_tiers}{}", PLUGIN.replace("path: $.version", "path: \"$['{tier}'].version\"")));
    of(&format!("{two_tiers}{}", PLUGIN.replace(", path: $.version", "")));
    let told = problems(&PLUGIN.replace("path: $.version", "path: \"$['{teir}'].version\""));
    assert!(told.len() == 1 && told[0].contains("`{teir}` stands for nothing"), "{told:?}");
    let second = PLUGIN.replace("name: loki\n    chart", "name: other\n    chart").replace("plugins:\n", "");
    let told = problems(&format!("{PLUGIN}{second}"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("plugin `other` writes the same place as plugin `loki`"), "{told:?}");
    let told = problems(&format!("{PLUGIN}{}", PLUGIN.replace("plugins:\n", "")));
    assert!(told[0].contains("two plugins are called `loki`"), "{told:?}");
}

#[test]
fn plugins_may_stand_in_files_of_their_own() {
    let main = file(".github/coldframe.yaml", "version: 1\nfreeze: [{why: x, plugins: [loki]}]\n");
    let loaded = load(&[main.clone(), file("coldframe.d/loki.yaml", PLUGIN)]).unwrap();
    assert_eq!(loaded.policy.plugins[0].name.as_str(), "loki");

    let cases = [
        (
            "coldframe.d/b.yaml",
            "plugins: []\ntiers: []",
            "coldframe.d/b.yaml:2:1: unknown key `tiers` at the top level (`tiers` belongs in the policy file's top level or `freeze` or a plugin; known here: `version`, `plugins`)",
        ),
        ("coldframe.d/b.yaml", "", "coldframe.d/b.yaml:1:1: the file is empty (begin with `plugins:`)"),
        ("coldframe.d/b.yaml", "version: 1", "coldframe.d/b.yaml:1:1: the file has no `plugins` (add `plugins:`)"),
        (
            "coldframe.d/b.yaml",
            PLUGIN,
            "coldframe.d/b.yaml:3:11: two plugins are called `loki` (the first is in coldframe.d/a.yaml on line 3; keep one)",
        ),
        (
            "coldframe.yaml",
            "version: 1",
            "coldframe.yaml:1:1: there are two policy files, .github/coldframe.yaml and this one (keep one)",
        ),
    ];
    for (path, text, expected) in cases {
        let files = [main.clone(), file("coldframe.d/a.yaml", PLUGIN), file(path, text)];
        let problems = load(&files).unwrap_err();
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
    assert!(load(&[]).unwrap_err()[0].message.contains("no policy file"));
}

#[test]
fn one_broken_file_does_not_hide_the_others() {
    let files = [
        file("coldframe.yaml", "version: 1\nfreeze: [{why: x, plugins: [later]}]\nsoka: 1\n"),
        file("coldframe.d/a.yaml", "plugins: [{name: later"),
        file("coldframe.d/b.yaml", "plugins: [{name: Loki}]"),
    ];
    let told: Vec<String> = load(&files).unwrap_err().iter().map(ToString::to_string).collect();
    let starts = [
        "coldframe.yaml:3:1: unknown key `soka`",
        "coldframe.d/a.yaml:1:11: this is not YAML",
        "coldframe.d/b.yaml:1:11:",
        "coldframe.d/b.yaml:1:11:",
        "coldframe.d/b.yaml:1:11:",
        "coldframe.d/b.yaml:1:18:",
    ];
    assert_eq!(told.len(), starts.len(), "and nothing about `later`, which the broken file names: {told:#?}");
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}\n{start}");
    }
}

#[test]
fn what_is_allowed_and_seldom_meant_is_a_warning() {
    for (text, expected) in [
        ("tiers: [{name: a, force: {after: 1d}}]", "nobody is told before"),
        ("tiers: [{name: a, merge: automatic, force: {after: 1d, notice: [1h]}}]", "force has nothing to waive"),
        ("tiers: [{name: a, approvals: {codeOwners: false, atLeast: 0}}]", "nobody's are needed"),
        ("tiers: [{name: a, merge: none, onFailure: rollBack}]", "takes nothing back there"),
    ] {
        let loaded = of(&format!("{text}{PLUGIN}"));
        assert!(loaded.warnings.len() == 1 && loaded.warnings[0].message.contains(expected), "{:?}", loaded.warnings);
        assert!(check(&[file("x", &format!("{text}{PLUGIN}"))]).1, "a warning is no error");
    }
}

#[test]
fn a25_anchors_serve_and_bombs_do_not_go_off() {
    let text = "
tiers:
  - &one {name: a, select: {matchLabels: {t: a}}, soak: &day 24h}
  - {name: b, select: {matchLabels: {t: b}}, soak: *day}
";
    assert_eq!(of(text).ladder[1].soak.min, SignedDuration::from_hours(24));
    let mut bomb = String::from("a: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let inner = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![inner; 10].join(", ")));
    }
    assert!(problems(&bomb).iter().any(|told| told.contains("more than 200000 values")));
    assert!(problems("a: &a [*a]")[0].contains("stands inside what it stands for"));
    assert!(problems(&"[".repeat(10_000))[0].contains("not YAML"));
    assert!(problems(&format!("a: {}", "- ".repeat(100))).len() == 1);
    assert!(problems(&" ".repeat(3 << 20))[0].contains("are read at most"));
    let many: String = (0..5_000).map(|number| format!("unknown-{number}: 1\n")).collect();
    assert_eq!(problems(&many).len(), 1_000, "who has that many mistakes mends the first ones");
}

#[test]
fn a_good_file_is_summed_up() {
    let (told, good) = check(&[file("coldframe.yaml", FULL)]);
    assert!(good);
    let expected = "\
The policy is in order.

Clusters are listed in inventory/clusters.yaml. A release climbs:
  1. qa      clusters tier=qa; merged by the bot; done when healthy
  2. bronze  clusters tier=bronze; patch merged by the bot, minor merged after a code owner's approval, major merged by a person; done after 1 d of health
  3. silver  clusters tier=silver; merged after a code owner's approval; done after 2 d of health; versions <2; in its own windows (Europe/Berlin)
  4. gold    clusters tier in (gold, platinum), without paused; merged after 2 approvals, code owners among them; done when healthy; by force after 30 d (notices 14 d, 3 d, 1 d before)

Plugins:
  cert-manager  oci://registry.example/charts/cert-manager; versions ^1.14; 1 place; 3 signals; rules of its own on gold
  loki          loki of https://charts.example/stable; every release; 1 place; 1 signal

Maintenance windows: clusters region=ap (Asia/Tokyo).

Freezes: 2.
";
    assert_eq!(told, expected);
}

/// Half a file, and a file with a character too few, bring problems or a policy, and every problem
/// stands inside its file.
#[test]
fn torn_files_are_no_panic() {
    let cuts: Vec<usize> = FULL.char_indices().map(|(at, _)| at).step_by(7).collect();
    for at in cuts {
        let rest = FULL[at..].chars().next().map_or(0, char::len_utf8);
        for text in [FULL[..at].to_string(), format!("{}{}", &FULL[..at], &FULL[at + rest..])] {
            let files = [file("coldframe.yaml", &text)];
            if let Err(problems) = load(&files) {
                for problem in problems.iter().filter(|problem| problem.file == "coldframe.yaml") {
                    let lines = text.lines().count() + 1;
                    assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{text}\n{problem}");
                    assert!(text.get(problem.span.clone()).is_some(), "{text}\n{problem}");
                }
                assert!(!render(&problems, &files).is_empty());
            }
        }
    }
}

#[test]
fn places_count_characters_and_marks_cover_them() {
    let text = "\u{feff}freeze: [{why: Jahresabschluß, tiers: [größe]}]\r\n";
    let (told, _) = check(&[file("a.yaml", text)]);
    let expected = "\
a.yaml:1:40: `tiers` of `freeze`: `größe` is not a name: lower-case letters, digits and inner hyphens, at most 63
  |
1 | freeze: [{why: Jahresabschluß, tiers: [größe]}]
  |                                        ^^^^^ `gr--e` would be one
";
    assert!(told.starts_with(expected), "{told}");
    let problems = load(&[file("a.yaml", text)]).unwrap_err();
    assert_eq!(&text[problems[0].span.clone()], "größe");
}

#[test]
fn the_manual_is_right() {
    let pages = ["policy", "releases", "notifications", "commands"];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut manual = pages.map(|page| std::fs::read_to_string(format!("{root}/{page}.md")).unwrap()).concat();
    for page in std::fs::read_dir(format!("{root}/how-to")).unwrap() {
        manual.push_str(&std::fs::read_to_string(page.unwrap().path()).unwrap());
    }
    let mut examples = 0;
    for block in manual.split("```yaml").skip(1) {
        let (kind, rest) = block.split_once('\n').unwrap();
        let text = rest.split_once("```").unwrap().0;
        examples += 1;
        if kind.trim() == "clusters" {
            assert_eq!(inventory::file::parse("clusters.yaml", text).unwrap().len(), 2);
        } else if kind.trim() != "workflow" {
            of(text);
        }
    }
    assert!(examples >= 14, "only {examples} examples were found");
    for key in super::file::shapes().flat_map(|shape| shape.keys) {
        assert!(manual.contains(key.name), "the manual does not name `{}`", key.name);
    }
}

#[test]
fn plugins_that_wait_for_each_other_are_named_with_the_whole_circle() {
    let plugins: String = [("a", "[b]"), ("b", "[{plugin: c, version: '>=1'}]"), ("c", "[a, d]"), ("d", "[]")]
        .map(|(name, after)| {
            let body = PLUGIN.trim_start_matches("\nplugins:\n").replace("loki", name);
            format!("{body}    after: {after}\n")
        })
        .concat();
    let expected = [
        "6:13: `after` of plugin `a`: each would wait for the next for ever: a after b after c after a (take one of them out)",
        "11:22: `after` of plugin `b`: each would wait for the next for ever: b after c after a after b (take one of them out)",
        "16:13: `after` of plugin `c`: each would wait for the next for ever: c after a after b after c (take one of them out)",
    ];
    assert_eq!(problems(&format!("plugins:\n{plugins}")), expected);
}

#[test]
fn the_first_tier_may_follow_releases_by_itself() {
    let ladder = |first: &str, second: &str| {
        format!(
            "tiers:\n  - {{name: qa, select: {{matchLabels: {{t: a}}}}, merge: {first}}}\n  - {{name: gold, select: {{matchLabels: {{t: b}}}}, merge: {second}}}\n"
        )
    };
    let of_ladder = |text: String| of(&text).ladder.iter().map(|tier| tier.follows).collect::<Vec<_>>();
    assert_eq!(of_ladder(ladder("none", "automatic")), [true, false]);
    assert_eq!(of_ladder(ladder("automatic", "automatic")), [false, false]);
    let plugin = PLUGIN.replace("loki.yaml", "\"{tier}.yaml\"");
    let told = problems(&format!("{}{plugin}    tiers: {{gold: {{merge: none}}}}\n", ladder("none", "automatic")));
    assert!(told.len() == 1 && told[0].contains("tier `gold` is not the first"), "{told:?}");
    let loaded = of(&format!("{}{plugin}    tiers: {{qa: {{merge: automatic}}}}\n", ladder("none", "automatic")));
    assert!(!loaded.policy.plugins[0].tiers[0].follows, "a plugin may be moved by the bot there");
}
