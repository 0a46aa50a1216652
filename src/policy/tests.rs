//! The policy file as people write it: what it means, and what is said about each mistake.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use decide::model::{Approvals, Force, HealthRule, Limits, Merge, MergeRule};
use decide::selector::Operator;
use decide::window::Range;
use jiff::SignedDuration;

use super::wiring::{Chart, Inventory, Right, SignalSpec, Write};
use super::*;

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
  - name: silver
    select: {matchLabels: {tier: silver}}
    soak: {min: 2d}
    health: {progressDeadline: 90m, degradedFor: 10m, maxFailures: 1, maxUnknown: 2, maxAge: 30s}
    windows: {open: ["Sat,Sun 00:00-24:00", "22:00-04:00"]}
    constraint: "<2"
    onFailure: hold
    strategy: allAtOnce
  - name: gold
    select: {matchExpressions: [{key: tier, operator: In, values: [gold, platinum]}, {key: paused, operator: DoesNotExist}]}
    approvals: {codeOwners: true, atLeast: 2}
    force: {after: 30d, notice: [1d, 14d, 3d]}
plugins:
  - name: cert-manager
    chart: {oci: oci://registry.example/charts/cert-manager}
    poll: 5m
    versions: {constraint: "^1.14"}
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
  - name: loki
    chart: {repository: https://charts.example/stable/, name: loki}
    write: [{file: "clusters/{tier}/loki.yaml", path: $.spec.chart.spec.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
people: {hold: admin, acknowledge: codeOwners}
limits: {openPulls: 10, clustersPerHour: 50}
"#;

#[test]
fn the_whole_format() {
    let loaded = of(FULL);
    assert_eq!(loaded.warnings, []);
    let policy = &loaded.policy;
    let names: Vec<&str> = loaded.ladder.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["qa", "bronze", "silver", "gold"]);
    let [qa, bronze, silver, gold] = &loaded.ladder[..] else { panic!("four tiers") };
    assert_eq!((qa.merge, qa.soak.min), (MergeRule::all(Merge::Automatic), SignedDuration::ZERO));
    assert_eq!(
        (qa.approvals, qa.health, &qa.windows, &qa.force),
        (Approvals::default(), HealthRule::default(), &None, &None)
    );
    assert_eq!(bronze.merge, MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: Merge::Manual });
    assert_eq!((bronze.soak.min, silver.soak.min), (SignedDuration::from_hours(24), SignedDuration::from_hours(48)));
    assert_eq!(
        silver.health,
        HealthRule {
            progress_deadline: SignedDuration::from_mins(90),
            degraded_for: SignedDuration::from_mins(10),
            max_failures: 1,
            max_unknown: 2,
            max_age: SignedDuration::from_secs(30),
        }
    );
    let windows = silver.windows.as_ref().unwrap();
    assert_eq!(windows.zone.iana_name(), Some("Europe/Berlin"), "the file's zone");
    assert_eq!(windows.open[0], Range { days: vec![6, 7], from: 0, to: 1440 });
    assert_eq!(windows.open[1], Range { days: vec![1, 2, 3, 4, 5, 6, 7], from: 1320, to: 240 });
    assert_eq!(silver.constraint.as_ref().unwrap().as_str(), "<2");
    assert_eq!(silver.merge, MergeRule::all(Merge::Approved), "the default");
    assert_eq!(gold.select.match_expressions[1].operator, Operator::DoesNotExist);
    let hours = SignedDuration::from_hours;
    assert_eq!(
        gold.force,
        Some(Force { after: hours(720), notice: vec![hours(336), hours(72), hours(24)] }),
        "longest first"
    );

    let file_windows = policy.windows.as_ref().unwrap();
    assert_eq!(file_windows.open, [Range { days: vec![1, 2, 3, 4], from: 480, to: 960 }]);
    assert_eq!((file_windows.room, file_windows.closed[0].why.as_str()), (hours(2), "year-end freeze"));
    let until: Vec<String> = policy.freezes.iter().map(|freeze| freeze.until.unwrap().to_string()).collect();
    assert_eq!(until, ["2027-01-10T23:00:00Z", "2027-02-01T07:00:00Z"], "a date ends with its day in Berlin");
    assert_eq!(policy.freezes[0].by.as_ref().unwrap().as_str(), "@octo");
    assert_eq!(policy.limits, Limits { open_pulls: Some(10), clusters_per_hour: Some(50) });

    let cert = &policy.plugins[0];
    assert_eq!(cert.constraint.as_ref().unwrap().as_str(), "^1.14");
    assert_eq!(cert.tiers[..3], loaded.ladder[..3]);
    assert_eq!(cert.tiers[3].soak.min, hours(72));
    assert_eq!(cert.tiers[3].approvals, Approvals { code_owners: true, at_least: 1 });
    assert_eq!(cert.tiers[3].force, gold.force, "what an override does not name stays");
    assert_eq!(policy.plugins[1].tiers, loaded.ladder);

    let wiring = &loaded.wiring;
    assert_eq!(wiring.inventory, Inventory::File { path: "inventory/clusters.yaml".into() });
    assert_eq!(
        (wiring.people.hold, wiring.people.acknowledge, wiring.people.rebuild),
        (Right::Admin, Right::CodeOwners, Right::Write)
    );
    let cert = &wiring.plugins[&"cert-manager".into()];
    assert_eq!(cert.chart, Chart::Oci { reference: "registry.example/charts/cert-manager".into(), plain: false });
    assert_eq!(cert.poll.as_secs(), 300);
    assert!(cert.write[0].per_cluster());
    let [
        SignalSpec::HelmRelease { namespace, .. },
        SignalSpec::Application { name, .. },
        SignalSpec::Resource(resource),
    ] = &cert.signals[..]
    else {
        panic!("three signals, in order: {:?}", cert.signals)
    };
    assert_eq!((namespace.as_str(), name.as_str()), ("cert-manager", "{cluster}-cert-manager"));
    assert_eq!(resource.version, "$.metadata.labels.version", "the forms of kubectl become RFC 9535");
    assert_eq!(resource.generation.as_deref(), Some("$.status.observedGeneration"));
    let loki = &wiring.plugins[&"loki".into()];
    assert_eq!(loki.chart, Chart::Http { repository: "https://charts.example/stable".into(), name: "loki".into() });
    assert_eq!(loki.poll.as_secs(), 900, "the default");
    let write =
        Write { file: "clusters/{tier}/loki.yaml".into(), document: None, path: "$.spec.chart.spec.version".into() };
    assert_eq!(loki.write, [write]);
}

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

/// One mistake in a file, and how what is said about it begins.
const MISTAKES: &[(&str, &str)] = &[
    // the file itself
    ("", "1:1: the file is empty"),
    ("# nothing", "1:1: the file is empty"),
    ("- a", "1:1: expected a mapping of `version`, `extends`"),
    ("hello", "1:1: expected a mapping of"),
    ("tiers: [", "1:8: this is not YAML"),
    ("version: 1\n---\nversion: 1", "2:1: a second document begins here"),
    ("version: 1\nversion: 1", "2:1: the key `version` stands here twice (the first is on line 1"),
    ("version: 2", "1:10: `version`: this file is of format 2"),
    ("version: ^1", "1:10: `version`: expected a whole number, found a text"),
    ("tiers:", "1:1: `tiers`: nothing stands here"),
    ("? [a]\n: b", "1:3: a key must be a text"),
    ("<<: {version: 1}", "1:1: merge keys"),
    ("version: *one", "1:10: no anchor `&one`"),
    ("version: !!int 1", "1:10: a tag"),
    // unknown, misplaced and later keys
    ("tires: []", "1:1: unknown key `tires` at the top level (did you mean `tiers`?)"),
    (
        "soak: 24h",
        "1:1: unknown key `soak` at the top level (`soak` belongs in a tier or an override; known here: `version`",
    ),
    ("xyzzy: 1", "1:1: unknown key `xyzzy` at the top level (known here: `version`, `extends`"),
    ("notify: []", "1:1: `notify` is not supported by this version of Coldframe"),
    ("group: []", "1:1: `group` is not supported by this version"),
    ("tiers: [{name: gold, announce: 24h}]", "1:22: tier `gold`: `announce` is not supported by this version"),
    ("tiers: [{name: gold, soak: {min: 1h, max: 2h}}]", "1:38: `soak` of tier `gold`: `max` is not supported"),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: 3}}}]",
        "1:33: `strategy` of tier `gold`: `rollingUpdate` is not supported",
    ),
    ("tiers: [{name: gold, strategy: canary}]", "1:32: `strategy` of tier `gold`: `canary` is not supported"),
    (
        "tiers: [{name: gold, onFailure: {rollBack: {merge: automatic}}}]",
        "1:34: `onFailure` of tier `gold`: `rollBack` is not supported",
    ),
    ("tiers: [{name: gold, merge: none}]", "1:29: `merge` of tier `gold`: `none` is not supported"),
    (
        "tiers: [{name: gold, approvals: {covers: [gold]}}]",
        "1:34: `approvals` of tier `gold`: `covers` is not supported",
    ),
    ("clusters: {from: argocd}", "1:18: `from` of `clusters`: `argocd` is not supported"),
    ("extends: [canary]", "1:11: `extends`: `canary` is not supported"),
    ("people: {force: codeOwners}", "1:10: `people`: `force` is not supported"),
    // words and types
    ("extends: [bronze]", "1:11: `extends`: `bronze` is not known"),
    ("extends: bronze-silver-gold", "1:10: `extends`: expected a list (`[…]`, also for one), found a text"),
    (
        "extends: [bronze-silver-gld]",
        "1:11: `extends`: `bronze-silver-gld` is not known (did you mean `bronze-silver-gold`?)",
    ),
    (
        "tiers: [{name: gold, merge: automatc}]",
        "1:29: `merge` of tier `gold`: `automatc` is not known (did you mean `automatic`?)",
    ),
    (
        "tiers: [{name: gold, merge: [patch]}]",
        "1:29: `merge` of tier `gold`: expected one of `automatic`, `approved`, `manual`, found a list",
    ),
    ("tiers: [{name: gold, merge: {patch: yes}}]", "1:37: `patch` of `merge` of tier `gold`: `yes` is not known"),
    (
        "tiers: [{name: gold, approvals: {codeOwners: yes}}]",
        "1:46: `codeOwners` of `approvals` of tier `gold`: `yes` is no boolean (write `true`",
    ),
    (
        "tiers: [{name: gold, approvals: {atLeast: two}}]",
        "1:43: `atLeast` of `approvals` of tier `gold`: expected a whole number, found a text",
    ),
    (
        "tiers: [{name: gold, approvals: {atLeast: -1}}]",
        "1:43: `atLeast` of `approvals` of tier `gold`: expected a whole number, found a number",
    ),
    ("limits: {openPulls: 0}", "1:21: `openPulls` of `limits`: 0 is not in 1 to 1000000"),
    ("tiers: gold", "1:8: `tiers`: expected a list (`[…]`, also for one), found a text"),
    ("tiers: [gold]", "1:9: `tiers`: expected a mapping of `name`"),
    ("tiers: []", "1:8: `tiers` is an empty list"),
    (
        "people: {hold: owner}",
        "1:16: `hold` of `people`: `owner` is not known (write one of `write`, `codeOwners`, `admin`)",
    ),
    // names
    (
        "tiers: [{name: Gold}]",
        "1:16: `name` of tier `Gold`: `Gold` is not a name: lower-case letters, digits and inner hyphens, at most 63 (`gold` would be one)",
    ),
    (
        "tiers: [{name: a_b}]",
        "1:16: `name` of tier `a_b`: `a_b` is not a name: lower-case letters, digits and inner hyphens, at most 63 (`a-b` would be one)",
    ),
    ("tiers: [{name: -a}]", "1:16: `name` of tier `-a`: `-a` is not a name"),
    ("tiers: [{soak: 1h}]", "1:9: a tier has no `name` (add `name:`)"),
    ("tiers: [{name: a}]\nfreeze: [{why: x, tiers: [b]}]", "2:27: `freeze`: there is no tier `b`"),
    ("freeze: [{why: x, plugins: [loki]}]", "1:29: `freeze`: there is no plugin `loki` (there is no plugin at all)"),
    // durations
    ("tiers: [{name: a, soak: 90}]", "1:25: `soak` of tier `a`: `90` has no unit (write `90s`, `90m`, `90h` or `90d`)"),
    ("tiers: [{name: a, soak: 1.5}]", "1:25: `soak` of tier `a`: `1.5` has no unit"),
    ("tiers: [{name: a, soak: soon}]", "1:25: `soak` of tier `a`: `soon` is not a duration"),
    ("tiers: [{name: a, soak: -1h}]", "1:25: `soak` of tier `a`: `-1h` is negative"),
    ("tiers: [{name: a, soak: 1mo}]", "1:25: `soak` of tier `a`: `1mo`: months and years have no fixed length"),
    ("tiers: [{name: a, soak: 9999d}]", "1:25: `soak` of tier `a`: `9999d` is longer than ten years"),
    ("tiers: [{name: a, soak: [1h]}]", "1:25: `soak` of tier `a`: expected a duration such as `24h`, found a list"),
    ("tiers: [{name: a, soak: {}}]", "1:25: `soak` of tier `a` has no `min`"),
    (
        "tiers: [{name: a, health: {progressDeadline: 0s}}]",
        "1:46: `progressDeadline` of `health` of tier `a`: no time at all",
    ),
    ("tiers: [{name: a, health: {maxAge: 0s}}]", "1:36: `maxAge` of `health` of tier `a`: no time at all"),
    // force
    ("tiers: [{name: a, force: {notice: [1d]}}]", "1:26: `force` of tier `a` has no `after`"),
    (
        "tiers: [{name: a, force: {after: 1d, notice: [2d]}}]",
        "1:47: `force` of tier `a`: a notice 2 d before the deadline is longer than `after` (1 d)",
    ),
    (
        "tiers: [{name: a, force: {after: 9d, notice: [1d, 24h]}}]",
        "1:51: `force` of tier `a`: the notice of 1 d stands here twice",
    ),
    ("tiers: [{name: a, force: {after: 0s, notice: [0s]}}]", "1:34: `force` of tier `a`: `after` is no time at all"),
    // windows and freezes
    ("windows: {open: [\"08:00-16:00\"]}", "1:1: `windows`: a `zone` is missing"),
    ("windows: {zone: Mars}", "1:17: `zone` of `windows`: `Mars` is not a time zone"),
    ("windows: {zone: CEST}", "1:17: `zone` of `windows`: `CEST` is not a time zone"),
    ("windows: {zone: UTC, open: [Mon]}", "1:29: `open` of `windows`: `Mon` names no hours"),
    ("windows: {zone: UTC, open: ['Mon 8:00-16:00']}", "1:29: `open` of `windows`: `8:00` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 08:00-25:00']}", "1:29: `open` of `windows`: `25:00` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 08:60-09:00']}", "1:29: `open` of `windows`: `08:60` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 24:00-09:00']}", "1:29: `open` of `windows`: a window cannot begin at `24:00`"),
    (
        "windows: {zone: UTC, open: ['Mon 09:00-09:00']}",
        "1:29: `open` of `windows`: `09:00-09:00` is empty (the whole day is `00:00-24:00`)",
    ),
    ("windows: {zone: UTC, open: ['Mo-Fr 09:00-10:00']}", "1:29: `open` of `windows`: `Mo` is not a weekday"),
    (
        "windows: {zone: UTC, open: ['Mon - Fri 09:00-10:00']}",
        "1:29: `open` of `windows`: `Mon - Fri 09:00-10:00` is not a window",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * * *', for: 8h}]}",
        "1:29: `open` of `windows`: expected a window such as",
    ),
    (
        "windows: {zone: UTC, open: ['08:00-10:00'], room: 2h}",
        "1:51: `windows`: `room` is as long as the longest window (2 h)",
    ),
    ("windows: {zone: UTC, closed: [{from: 2026-12-20}]}", "1:31: `closed` of `windows` has no `to`"),
    (
        "windows: {zone: UTC, closed: [{from: 2026-12-20, to: 2026-12-19}]}",
        "1:54: `windows`: `to` (2026-12-19) is before `from` (2026-12-20)",
    ),
    (
        "windows: {zone: UTC, closed: [{from: 20.12.2026, to: 2026-12-19}]}",
        "1:38: `from` of `closed` of `windows`: `20.12.2026` is not a date",
    ),
    ("freeze: [{until: 2026-12-20T00:00:00Z}]", "1:10: `freeze` has no `why`"),
    ("freeze: [{why: x, until: 2026-12-20}]", "1:26: `freeze`: a date needs a zone, and the file's windows name none"),
    ("freeze: [{why: x, until: tomorrow}]", "1:26: `until` of `freeze`: `tomorrow` is neither a date nor an instant"),
    ("freeze: [{why: '  '}]", "1:16: `why` of `freeze`: the text is empty"),
    // selectors
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: in, values: [x]}]}}]",
        "1:66: `operator` of `matchExpressions` of `select` of tier `a`: `in` is not known (did you mean `In`?)",
    ),
    ("tiers: [{name: a, select: {matchExpressions: [{key: t, operator: In}]}}]", "1:66: `In` compares with nothing"),
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: NotIn, values: []}]}}]",
        "1:66: `NotIn` compares with nothing",
    ),
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: Exists, values: [x]}]}}]",
        "1:82: `Exists` takes no values",
    ),
    (
        "tiers: [{name: a, select: {matchExpressions: [{operator: Exists}]}}]",
        "1:47: `matchExpressions` of `select` of tier `a` has no `key`",
    ),
    (
        "tiers: [{name: a, select: {matchLabels: {tier: [x]}}}]",
        "1:48: `tier` of `matchLabels` of `select` of tier `a`: expected a label value such as `gold`, found a list",
    ),
    (
        "tiers: [{name: a, select: {tier: gold}}]",
        "1:28: unknown key `tier` in `select` of tier `a` (known here: `matchLabels`, `matchExpressions`)",
    ),
    ("tiers: [{name: a, select: {}}, {name: b}]", "1:39: tier `b` has no `select`, and there are other tiers"),
    (
        "tiers: [{name: a, select: {}}, {name: a, select: {}}]",
        "1:39: two tiers are called `a` (the first is on line 1; keep one)",
    ),
    // versions
    (
        "tiers: [{name: a, constraint: latest}]",
        "1:31: `constraint` of tier `a`: `latest` is not a version constraint: `latest`: `latest` is neither",
    ),
];

#[test]
fn every_mistake_of_the_file_and_its_tiers() {
    for (text, expected) in MISTAKES {
        let told = problems(text);
        assert_eq!(told.len(), 1, "{text}\n{told:#?}");
        assert!(told[0].starts_with(expected), "{text}\n  told     {}\n  expected {expected}", told[0]);
    }
}

/// A key of a plugin, and how what is said about it begins (after line and column).
const PLUGIN_MISTAKES: &[(&str, &str, &str)] = &[
    ("name", "Loki", "`name` of plugin `Loki`: `Loki` is not a name"),
    ("chart", "{}", "`chart` of plugin `loki`: no address"),
    (
        "chart",
        "oci://registry.example/loki",
        "`chart` of plugin `loki`: expected a mapping of `oci`, `repository`, `name`, found a text",
    ),
    (
        "chart",
        "{oci: registry.example/loki}",
        "`oci` of `chart` of plugin `loki`: `registry.example/loki` is not an OCI address",
    ),
    (
        "chart",
        "{oci: 'oci://registry.example/loki:1.2.3'}",
        "`oci` of `chart` of plugin `loki`: the address names a version (`1.2.3`) (write `oci://registry.example/loki`",
    ),
    (
        "chart",
        "{oci: 'oci://registry.example/loki:^1'}",
        "`oci` of `chart` of plugin `loki`: the address names a version (`^1`)",
    ),
    (
        "chart",
        "{oci: oci://registry.example}",
        "`oci` of `chart` of plugin `loki`: `oci://registry.example` names no repository",
    ),
    ("chart", "{oci: oci://registry.example/a/../b}", "`oci` of `chart` of plugin `loki`: "),
    (
        "chart",
        "{oci: oci://registry.example/Loki}",
        "`oci` of `chart` of plugin `loki`: `oci://registry.example/Loki` names no repository",
    ),
    (
        "chart",
        "{oci: oci://bot:secret@registry.example/loki}",
        "`oci` of `chart` of plugin `loki`: `oci://bot:secret@registry.example/loki` carries credentials",
    ),
    (
        "chart",
        "{oci: oci+http://registry.example/loki}",
        "`oci` of `chart` of plugin `loki`: `oci+http://registry.example/loki`: plain HTTP is for loopback only",
    ),
    (
        "chart",
        "{repository: http://charts.example, name: loki}",
        "`repository` of `chart` of plugin `loki`: `http://charts.example`: plain HTTP is for loopback only",
    ),
    (
        "chart",
        "{repository: http://127.0.0.1.example, name: loki}",
        "`repository` of `chart` of plugin `loki`: `http://127.0.0.1.example`: plain HTTP is for loopback only",
    ),
    (
        "chart",
        "{repository: file:///charts, name: loki}",
        "`repository` of `chart` of plugin `loki`: `file:///charts` is not an https address",
    ),
    (
        "chart",
        "{repository: 'https://u:p@charts.example', name: loki}",
        "`repository` of `chart` of plugin `loki`: `https://u:p@charts.example` carries credentials",
    ),
    (
        "chart",
        "{repository: 'https://charts.example?token=x', name: loki}",
        "`repository` of `chart` of plugin `loki`: `https://charts.example?token=x` carries a query",
    ),
    ("chart", "{repository: https://charts.example}", "`chart` of plugin `loki`: `name` is missing"),
    (
        "chart",
        "{repository: https://charts.example, name: ../loki}",
        "`name` of `chart` of plugin `loki`: `../loki` is not the name of a chart",
    ),
    (
        "chart",
        "{oci: oci://a/b, repository: https://charts.example, name: loki}",
        "`chart` of plugin `loki`: a chart comes from one place",
    ),
    ("chart", "{oci: oci://a/b, name: loki}", "`chart` of plugin `loki`: an OCI address names the chart already"),
    ("poll", "0s", "`poll` of plugin `loki`: asking more than once a second"),
    ("versions", "^1.2", "`versions` of plugin `loki`: expected a mapping of `constraint`, found a text"),
    ("version", "1.2.3", "unknown key `version` in plugin `loki` (did you mean `versions`?)"),
    (
        "versions",
        "{constraint: '>= 1.2 <'}",
        "`constraint` of `versions` of plugin `loki`: `>= 1.2 <` is not a version constraint: `<`: a version was expected",
    ),
    ("versions", "{block: []}", "`versions` of plugin `loki`: `block` is not supported by this version"),
    ("pins", "[]", "plugin `loki`: `pins` is not supported by this version"),
    ("after", "[x]", "plugin `loki`: `after` is not supported by this version"),
    ("write", "[]", "`write` of plugin `loki`: an empty list"),
    ("write", "[{file: a.yaml}]", "`write` of plugin `loki` has no `path`"),
    (
        "write",
        "[{file: /a.yaml, path: $.x}]",
        "`file` of `write` of plugin `loki`: `/a.yaml` is not a path from the repository's root",
    ),
    (
        "write",
        "[{file: a/../../b.yaml, path: $.x}]",
        "`file` of `write` of plugin `loki`: `a/../../b.yaml` has an empty part, `.` or `..` in it",
    ),
    (
        "write",
        "[{file: .git/config, path: $.x}]",
        "`file` of `write` of plugin `loki`: `.git/config` lies in git's own folder",
    ),
    (
        "write",
        "[{file: '{teir}/a.yaml', path: $.x}]",
        "`file` of `write` of plugin `loki`: `{teir}` stands for nothing (did you mean `{tier}`?)",
    ),
    (
        "write",
        "[{file: '{plugin}/a.yaml', path: $.x}]",
        "`file` of `write` of plugin `loki`: `{plugin}` stands for nothing (known here: `{tier}` and `{cluster}`)",
    ),
    (
        "write",
        "[{file: '{tier/a.yaml', path: $.x}]",
        "`file` of `write` of plugin `loki`: `{tier/a.yaml` has a brace without its other half",
    ),
    (
        "write",
        "[{file: a.yaml, path: spec.version}]",
        "`path` of `write` of plugin `loki`: `spec.version` is not a JSONPath",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.a..b..c}]",
        "`path` of `write` of plugin `loki`: `$.a..b..c` searches deep (`..`) 2 times",
    ),
    (
        "write",
        "[{file: a.yaml, path: '$.a[?(@..b)]..c'}]",
        "`path` of `write` of plugin `loki`: `$.a[?(@..b)]..c` searches deep (`..`) 2 times",
    ),
    ("write", "[{file: a.yaml, path: '$.*.*.*.*'}]", "`path` of `write` of plugin `loki`: `$.*.*.*.*` has 4 wildcards"),
    (
        "write",
        "[{file: a.yaml, path: '$.a[?in(@.b, $.c)]'}]",
        "`path` of `write` of plugin `loki`: `in()` is not a function of RFC 9535",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, value: '{plugin}/{version}'}]",
        "`write` of plugin `loki`: `value` is not supported by this version",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x}, {file: a.yaml, path: $.x}]",
        "`write` of plugin `loki`: this spot stands here twice",
    ),
    (
        "write",
        "[{file: a.yaml, document: {name: x}, path: $.x}]",
        "`document` of `write` of plugin `loki` has no `kind`",
    ),
    (
        "write",
        "[{file: a.yaml, document: {kind: helmRelease}, path: $.x}]",
        "`kind` of `document` of `write` of plugin `loki`: `helmRelease` is not a kind",
    ),
    ("signals", "[]", "`signals` of plugin `loki`: an empty list"),
    (
        "signals",
        "[{prometheus: {url: x}}]",
        "`signals` of plugin `loki`: `prometheus` is not supported by this version",
    ),
    (
        "signals",
        "[{helmrelease: {namespace: a, name: b}}]",
        "unknown key `helmrelease` in `signals` of plugin `loki` (did you mean `helmRelease`?)",
    ),
    ("signals", "[{}]", "`signals` of plugin `loki`: an empty entry"),
    ("signals", "[{helmRelease: {namespace: a}}]", "`helmRelease` of `signals` of plugin `loki` has no `name`"),
    (
        "signals",
        "[{helmRelease: {namespace: a, name: 'B{cluster}'}}]",
        "`name` of `helmRelease` of `signals` of plugin `loki`: `B{cluster}` cannot be a name in a cluster",
    ),
    (
        "signals",
        "[{helmRelease: {namespace: a, name: '{clustr}'}}]",
        "`name` of `helmRelease` of `signals` of plugin `loki`: `{clustr}` stands for nothing (did you mean `{cluster}`?)",
    ),
    (
        "signals",
        "[{helmRelease: {namespace: a, name: b}, application: {namespace: a, name: b}}]",
        "`signals` of plugin `loki`: one kind of signal per entry",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: X, name: x, version: '>=1', state: {path: $.a, healthy: [a]}}}]",
        "`version` of `resource` of `signals` of plugin `loki`: `>=1` is not a JSONPath",
    ),
    (
        "signals",
        "[{resource: {apiVersion: 1/2, kind: X, name: x, version: $.v, state: {path: $.a, healthy: [a]}}}]",
        "`apiVersion` of `resource` of `signals` of plugin `loki`: `1/2` is not an API version",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: X, name: x, version: $.v, state: {path: $.a, healthy: [a], degraded: [b, a]}}}]",
        "`resource` of `signals` of plugin `loki`: the value `a` stands here twice",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: X, name: x, version: $.v, state: {path: $.a, healthy: []}}}]",
        "`resource` of `signals` of plugin `loki`: no value would mean healthy",
    ),
    ("tiers", "{golf: {soak: 1h}}", "`tiers` of plugin `loki`: there is no tier `golf` (did you mean `gold`?)"),
    (
        "tiers",
        "{gold: {health: {}}}",
        "unknown key `health` in `gold` of `tiers` of plugin `loki` (`health` belongs in a tier",
    ),
    ("tiers", "{gold: {force: {after: 1d, notice: [2d]}}}", "`force` of tier `gold`: a notice 2 d before"),
];

#[test]
fn every_mistake_of_a_plugin() {
    for (key, value, expected) in PLUGIN_MISTAKES {
        let mut keys = vec![
            ("name", "loki"),
            ("chart", "{oci: oci://registry.example/loki}"),
            ("write", "[{file: loki.yaml, path: $.version}]"),
            ("signals", "[{helmRelease: {namespace: loki, name: loki}}]"),
        ];
        keys.retain(|(known, _)| known != key);
        keys.push((*key, *value));
        keys.sort_by_key(|(key, _)| *key != "name");
        let body = keys.iter().map(|(key, value)| format!("    {key}: {value}\n")).collect::<String>();
        let text = format!("tiers: [{{name: gold}}]\nplugins:\n  -\n{body}");
        let told = problems(&text);
        assert_eq!(told.len(), 1, "{text}\n{told:#?}");
        let message = told[0].splitn(3, ':').nth(2).unwrap().trim_start();
        assert!(message.starts_with(expected), "{text}\n  told     {message}\n  expected {expected}");
    }
    for missing in ["chart", "write", "signals"] {
        let text: String = PLUGIN
            .lines()
            .filter(|line| !line.contains(&format!(" {missing}:")))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(problems(&text), [format!("3:5: plugin `loki` has no `{missing}` (add `{missing}:`)")]);
    }
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
fn spots_belong_to_one_tier_and_one_plugin() {
    let two_tiers = "tiers: [{name: a, select: {matchLabels: {t: a}}}, {name: b, select: {matchLabels: {t: b}}}]";
    let told = problems(&format!("{two_tiers}{PLUGIN}"));
    assert!(told.len() == 1 && told[0].contains("every tier would share this spot"), "{told:?}");
    of(&format!("{two_tiers}{}", PLUGIN.replace("loki.yaml", "\"{cluster}.yaml\"")));
    let second = PLUGIN.replace("name: loki\n    chart", "name: other\n    chart").replace("plugins:\n", "");
    let told = problems(&format!("{PLUGIN}{second}"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("plugin `other` writes the same spot as plugin `loki`"), "{told:?}");
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
fn presets_lie_below_the_file() {
    let names = |loaded: &Loaded| loaded.ladder.iter().map(|tier| tier.name.as_str().to_string()).collect::<Vec<_>>();
    let plain = of("extends: [bronze-silver-gold]");
    assert_eq!(names(&plain), ["bronze", "silver", "gold"]);
    assert_eq!(
        plain.ladder[0].merge,
        MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: Merge::Approved }
    );
    assert!(plain.ladder.iter().all(|tier| !tier.soak.min.is_zero() && tier.force.is_none()));
    assert_eq!(names(&of("extends: [all-at-once]")), ["all"]);

    let text = "
extends: [bronze-silver-gold]
tiers:
  - {name: qa, select: {matchLabels: {tier: qa}}, merge: automatic}
  - name: bronze
    select: {matchLabels: {stage: bronze}}
  - {name: gold, force: {after: 30d, notice: [1d]}}
";
    let own = of(text);
    assert_eq!(names(&own), ["qa", "bronze", "silver", "gold"]);
    let labels: Vec<&str> = own.ladder[1].select.match_labels.keys().map(String::as_str).collect();
    assert_eq!(labels, ["stage"], "a key replaces the preset's as a whole");
    assert_eq!(own.ladder[1].soak, plain.ladder[0].soak);
    assert_eq!(own.ladder[2], plain.ladder[1]);
    assert!(own.ladder[3].force.is_some() && own.ladder[3].soak == plain.ladder[2].soak);
}

#[test]
fn a_new_tier_stands_beside_its_neighbours() {
    let ladder = |names: &str| {
        let tiers: String = names
            .split(' ')
            .map(|name| format!("  - {{name: {name}, select: {{matchLabels: {{t: {name}}}}}}}\n"))
            .collect();
        load(&[file("", &format!("extends: [bronze-silver-gold]\ntiers:\n{tiers}"))])
            .map(|loaded| loaded.ladder.iter().map(|tier| tier.name.as_str().to_string()).collect::<Vec<_>>().join(" "))
            .map_err(|problems| problems[0].message.clone())
    };
    for (own, expected) in [
        ("gold", Ok("bronze silver gold")),
        ("qa bronze", Ok("qa bronze silver gold")),
        ("dev qa bronze", Ok("dev qa bronze silver gold")),
        ("gold platinum", Ok("bronze silver gold platinum")),
        ("bronze tin silver", Ok("bronze tin silver gold")),
        ("qa", Err("where tier `qa` stands on the ladder is not clear")),
        ("bronze platinum", Err("where tier `platinum` stands on the ladder is not clear")),
        ("qa silver", Err("where tier `qa` stands on the ladder is not clear")),
        ("gold bronze", Err("tier `bronze` stands after `gold` here, and before it in the preset")),
    ] {
        assert_eq!(ladder(own), expected.map(str::to_string).map_err(str::to_string), "{own}");
    }
}

#[test]
fn what_is_allowed_and_seldom_meant_is_a_warning() {
    for (text, expected) in [
        ("tiers: [{name: a, force: {after: 1d}}]", "nobody is told before"),
        ("tiers: [{name: a, merge: automatic, force: {after: 1d, notice: [1h]}}]", "force has nothing to waive"),
        ("tiers: [{name: a, approvals: {codeOwners: false, atLeast: 0}}]", "nobody's are needed"),
    ] {
        let loaded = of(&format!("{text}{PLUGIN}"));
        assert!(loaded.warnings.len() == 1 && loaded.warnings[0].message.contains(expected), "{:?}", loaded.warnings);
        assert!(check(&[file("x", &format!("{text}{PLUGIN}"))]).1, "a warning is no error");
    }
}

#[test]
fn anchors_serve_and_bombs_do_not_go_off() {
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
  cert-manager  oci://registry.example/charts/cert-manager; versions ^1.14; 1 spot; 3 signals; rules of its own on gold
  loki          loki of https://charts.example/stable; every release; 1 spot; 1 signal

Freezes: 2.
";
    assert_eq!(told, expected);
}
