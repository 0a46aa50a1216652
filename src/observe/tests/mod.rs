//! Objects of every kind, each in every state, from `tests/signals/<kind>.yaml`: a kind without all of them, or
//! one whose proof holds although a part of it is blanked, fails here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use decide::Version;
use decide::snapshot::{Health, Reading};
use decide::{ClusterName, TierName};
use jiff::SignedDuration;
use jiff::Timestamp;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use signal::{Answer, KINDS, Kind, Make, Signal, SignalError, Verdict, answer, checks, http};

use self::others::{noon, spec};

#[cfg(feature = "demo")] // against its registry
mod compared;
pub mod others;

/// The states that every kind has to be judged in.
const STATES: [&str; 7] = ["healthy", "oldVersion", "progressing", "degraded", "suspended", "stale", "missing"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Kit {
    settings: Value,
    #[serde(default = "eu_1")]
    cluster: String,
    /// The release that is wanted.
    wanted: String,
    /// What stands in the config repo at commits.
    #[serde(default)]
    commits: BTreeMap<String, String>,
    /// A healthy object, and those beside it.
    object: Value,
    #[serde(default)]
    more: Vec<Value>,
    /// Places without each of which nothing is proved.
    proof: Vec<String>,
    states: BTreeMap<String, Case>,
    /// What has misled others.
    #[serde(default)]
    pitfalls: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    /// Why a kind never is in that state.
    #[serde(default)]
    never: Option<String>,
    /// Places and what stands there instead; null takes the place out. `1:/x` is a place in the first object
    /// beside, `1:` the whole of it.
    #[serde(default)]
    change: BTreeMap<String, Value>,
    #[serde(default)]
    settings: Option<Value>,
    #[serde(default)]
    health: Option<Health>,
    /// The version that it says to run.
    #[serde(default)]
    running: Option<String>,
    /// A part of the evidence.
    #[serde(default)]
    says: Option<String>,
}

fn eu_1() -> String {
    "eu-1".to_string()
}

/// The signal of a kind on a cluster of gold.
fn on(name: &str, settings: &Value, cluster: &str) -> Result<Box<dyn Signal>, SignalError> {
    signal::signal(&spec(name, settings), &ClusterName::from(cluster), &TierName::from("gold"))
}

/// When the wanted release landed.
fn landed() -> Timestamp {
    "2026-11-21T09:00:00Z".parse().unwrap()
}

impl Kit {
    /// That of a kind; read once.
    fn of(kind: &Kind) -> &'static Self {
        static KITS: LazyLock<BTreeMap<&str, Kit>> =
            LazyLock::new(|| KINDS.into_iter().map(|kind| (kind.name, Kit::read(kind))).collect());
        &KITS[kind.name]
    }

    fn read(kind: &Kind) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/signals/{}.yaml", kind.name));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The objects with changes.
    fn with(&self, change: &BTreeMap<String, Value>) -> (Value, Vec<Option<Value>>) {
        let mut all: Vec<Value> = [&self.object].into_iter().chain(&self.more).cloned().collect();
        for (at, value) in change {
            let (index, pointer) =
                at.split_once(':').map_or((0, at.as_str()), |(index, pointer)| (index.parse().unwrap(), pointer));
            put(&mut all[index], pointer, value.clone());
        }
        let mut all = all.into_iter();
        let object = all.next().unwrap();
        (object, all.map(|one| Some(one).filter(|one| !one.is_null())).collect())
    }

    /// What the planner would be told.
    fn reading(&self, kind: &Kind, settings: &Value, object: &Value, more: &[Option<Value>]) -> Reading {
        if object.is_null() {
            let evidence = "it is not there";
            return Verdict::new(Health::NotFound, evidence).read(kind.name, noon());
        }
        match kind.make {
            Make::Object(_) => {}
            Make::Metrics(_) => return others::measured(settings, &self.cluster, object),
            Make::Page(_) => {
                let told = http::Told { ok: true, page: object, age: SignedDuration::ZERO };
                return others::page(settings, &self.cluster).unwrap().judge(told, noon());
            }
            Make::Checks(_) => {
                let mut reading = self.resolved(others::stated(settings, &self.cluster, object));
                checks::after(&mut reading, Some(landed()));
                return reading;
            }
        }
        let signal = on(kind.name, settings, &self.cluster).unwrap();
        let asked = signal.more(object).len();
        assert!(asked <= more.len(), "{} asks for {asked} beside it", kind.name);
        self.resolved(answer(signal.as_ref(), object, &more[..asked], noon()))
    }

    /// With the version in place of the commit.
    fn resolved(&self, Answer { mut reading, revision }: Answer) -> Reading {
        if let Some(commit) = revision {
            let found = self.commits.get(commit.as_str()).map(|version| version.parse().unwrap());
            if found.is_none() && reading.health == Health::Healthy {
                reading.health = Health::Unknown;
            }
            reading.running = found;
        }
        reading
    }

    /// The health as to the release that landed at the hour: what is older is about another.
    fn health(&self, reading: &Reading) -> Health {
        match health_for(&self.wanted, reading) {
            Health::Healthy if reading.observed_at < landed() => Health::Progressing,
            health => health,
        }
    }

    fn holds(&self, kind: &Kind, name: &str, case: &Case) {
        let what = format!("{}, {name}", kind.name);
        if let Some(why) = &case.never {
            assert!(why.len() > 20 && case.change.is_empty(), "{what}: say why");
            return;
        }
        let (object, more) = self.with(&case.change);
        let settings = case.settings.as_ref().unwrap_or(&self.settings);
        let reading = self.reading(kind, settings, &object, &more);
        let said = format!("{what}: {}", reading.evidence);
        assert_eq!(Some(self.health(&reading)), case.health, "{said}");
        if let Some(running) = &case.running {
            assert_eq!(reading.running, Some(running.parse().unwrap()), "{said}");
        }
        if let Some(words) = &case.says {
            assert!(reading.evidence.contains(words.as_str()), "{said}");
        }
    }
}

/// The health as to the wanted release: who runs another one has not got there.
fn health_for(wanted: &str, reading: &Reading) -> Health {
    let wanted: Version = wanted.parse().unwrap();
    match reading.health {
        Health::Healthy if reading.running.as_ref() != Some(&wanted) => Health::Progressing,
        health => health,
    }
}

/// Sets a place; null takes it out.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        *object = value;
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}")) {
        Value::Object(map) if value.is_null() => {
            map.remove(&key);
        }
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(list) if value.is_null() => {
            list.remove(key.parse().unwrap());
        }
        Value::Array(list) => {
            let at: usize = key.parse().unwrap();
            if at == list.len() { list.push(value) } else { list[at] = value }
        }
        other => panic!("{parent} is {other}"),
    }
}

#[test]
fn every_kind_is_judged_rightly_in_every_state() {
    for kind in KINDS {
        let kit = Kit::of(kind);
        for state in STATES {
            let case = kit.states.get(state).unwrap_or_else(|| panic!("{} has no state {state}", kind.name));
            kit.holds(kind, state, case);
            let health = case.health;
            match state {
                "healthy" => assert_eq!(health, Some(Health::Healthy), "{}", kind.name),
                "oldVersion" | "stale" if case.never.is_none() => {
                    assert_eq!(health, Some(Health::Progressing), "{}, {state}", kind.name);
                }
                _ => assert_ne!(health, Some(Health::Healthy), "{}, {state}", kind.name),
            }
        }
        assert_eq!(kit.states.len(), STATES.len(), "{}", kind.name);
        for (name, case) in &kit.pitfalls {
            kit.holds(kind, name, case);
        }
    }
}

#[test]
fn every_part_of_a_proof_is_needed() {
    for kind in KINDS {
        let kit = Kit::of(kind);
        assert!(kit.proof.len() >= 3, "{}", kind.name);
        for place in &kit.proof {
            for blank in [Value::Null, json!("")] {
                let (object, more) = kit.with(&[(place.clone(), blank)].into());
                let reading = kit.reading(kind, &kit.settings, &object, &more);
                let health = kit.health(&reading);
                assert_ne!(health, Health::Healthy, "{} without {place}: {}", kind.name, reading.evidence);
            }
        }
    }
}

/// The page of a kind in the manual: its text, and its first example.
fn manual(kind: &Kind) -> (String, String) {
    let letters = kind.name.chars();
    let kebab: String = letters
        .flat_map(|letter| {
            let dash = letter.is_ascii_uppercase().then_some('-');
            dash.into_iter().chain([letter.to_ascii_lowercase()])
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/signals/{kebab}.md"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let example = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    (text.clone(), example.to_string())
}

#[test]
fn every_kind_has_a_page_whose_example_is_right_and_whose_rights_are_enough() {
    for kind in KINDS {
        let (text, example) = manual(kind);
        let indented: String = example.lines().map(|line| format!("    {line}\n")).collect();
        let policy = format!(
            "tiers: [{{name: gold}}]\nplugins:\n  - name: loki\n    chart: {{oci: oci://registry.example/loki}}\n    \
             write: [{{file: loki.yaml, path: $.version}}]\n{indented}"
        );
        let file = policy::SourceFile { path: "coldframe.yaml".to_string(), text: policy };
        let loaded = policy::load(&[file]).unwrap_or_else(|problems| panic!("{}: {problems:?}", kind.name));
        let asked = &loaded.wiring.plugins.values().next().unwrap().signals;
        assert!(asked.iter().any(|spec| spec.kind.name == kind.name), "{} is not its example", kind.name);
        assert!(loaded.warnings.is_empty(), "{}: {:?}", kind.name, loaded.warnings);
        if kind.name == "resource" || !kind.asks_clusters() {
            continue;
        }
        let kit = Kit::of(kind);
        let signal = on(kind.name, &kit.settings, &kit.cluster).unwrap();
        for target in [signal.target()].into_iter().chain(signal.more(&kit.object)) {
            // A run that ends gets or lists; a process that stays lists and watches.
            let granted = text.lines().any(|line| {
                line.contains(&format!("apiGroups: [\"{}\"]", target.group))
                    && line.contains(target.plural.as_ref())
                    && line.contains("verbs: [get, list, watch]")
            });
            assert!(granted, "{}: nothing gives get, list and watch of {}", kind.name, target.plural);
        }
    }
}

/// Whoever gives rights knows where to give them.
#[test]
fn what_lies_beside_an_object_is_where_its_kind_says() {
    for kind in KINDS.iter().filter(|kind| kind.asks_clusters()) {
        let kit = Kit::of(kind);
        let signal = on(kind.name, &kit.settings, &kit.cluster).unwrap();
        let around = signal.around();
        let more = signal.more(&kit.object);
        assert_eq!(around.is_empty(), more.is_empty() && kind.name != "application", "{}", kind.name);
        for target in more {
            let same = |one: &&signal::Target| {
                (&one.group, &one.plural, &one.namespace) == (&target.group, &target.plural, &target.namespace)
            };
            let any = |one: &signal::Target| matches!(&one.which, signal::Which::Labelled { selector, .. } if selector.is_empty());
            let found = around.iter().filter(same).any(|one| one.which == target.which || any(one));
            assert!(found, "{}: {target:?} is in none of {around:?}", kind.name);
        }
    }
}

/// Every scalar of a value, as JSON pointers.
fn scalars(value: &Value, at: &str, found: &mut Vec<String>) {
    let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| scalars(inner, &format!("{at}/{}", escaped(key)), found))
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, inner)| scalars(inner, &format!("{at}/{index}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(at.to_string()),
    }
}

/// What may stand at a place of a broken or hostile object.
fn junk(version: String) -> impl Strategy<Value = Value> {
    let words = ["True", "False", "Unknown", "deployed", "Healthy", "Synced", "Succeeded", "", "6", "sha256:"];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_i64..9).prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(Value::from(version)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Whatever stands in the other places of an object that runs one version, it never is healthy for another:
    /// places are overwritten with anything, the wanted version among it, and only the proof of the old version is
    /// left as it is.
    #[test]
    fn no_object_of_one_version_is_healthy_for_another(
        index in 0..KINDS.len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), junk("7.7.7".to_string())), 0..12),
    ) {
        let kind = KINDS[index];
        let kit = Kit::of(kind);
        let (mut object, mut more) = kit.with(&kit.states["oldVersion"].change);
        for (at, value) in changes {
            let mut places = Vec::new();
            scalars(&object, "0:", &mut places);
            for (index, one) in more.iter().enumerate() {
                one.iter().for_each(|one| scalars(one, &format!("{}:", index + 1), &mut places));
            }
            places.retain(|place| !proves(kind, place.trim_start_matches("0:")));
            if places.is_empty() {
                break;
            }
            let place = &places[at.index(places.len())];
            let (index, pointer) = place.split_once(':').unwrap();
            match index.parse::<usize>().unwrap() {
                0 => put(&mut object, pointer, value),
                index => put(more[index - 1].as_mut().unwrap(), pointer, value),
            }
        }
        if !kind.asks_clusters() {
            let reading = kit.reading(kind, &kit.settings, &object, &more);
            prop_assert_ne!(health_for("7.7.7", &reading), Health::Healthy, "{}: {}", kind.name, reading.evidence);
            return Ok(());
        }
        let signal = on(kind.name, &kit.settings, &kit.cluster).unwrap();
        let asked = signal.more(&object).len().min(more.len());
        let Answer { reading, revision } = answer(signal.as_ref(), &object, &more[..asked], noon());
        prop_assert!(revision.is_none_or(|commit| commit.as_str() != "7".repeat(40)));
        prop_assert_ne!(health_for("7.7.7", &reading), Health::Healthy, "{}: {}", kind.name, reading.evidence);
    }
}

/// The places by which a kind tells the version.
fn proves(kind: &Kind, place: &str) -> bool {
    let places: &[&str] = match kind.name {
        "helmRelease" => &["/status/history/0/chartVersion"],
        "kustomization" => &["/status/lastAppliedRevision"],
        "ociRepository" => &["/status/artifact/revision"],
        "helmSecret" => &["1:/data/release"],
        "application" => &["/status/sync/revision", "/status/history/1/revision"],
        "applicationSet" => &["1:/status/sync/revision"],
        "rollout" | "workload" | "resource" => &["/metadata/labels/helm.sh~1chart"],
        "canary" => &["1:/metadata/labels/helm.sh~1chart"],
        // Both have to say it.
        "plugin" => &["/status/version"],
        "pluginPreset" => &["1:/status/version"],
        "prometheus" => &["/others/0/running"],
        "http" => &["/build/version"],
        "checks" => &["/nodes/0/oid", "/nodes/1/oid"],
        other => panic!("by what does {other} tell the version?"),
    };
    places.contains(&place)
}
