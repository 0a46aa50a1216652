//! Presets below a file, and files as they are with everything spelled out.

use super::*;

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

const PINNED: &str = "acme/presets/strict.yaml@0123456789abcdef0123456789abcdef01234567";

#[test]
fn a_preset_of_another_repository_lies_below_the_file() {
    let main = |text: &str| file("coldframe.yaml", &format!("extends: [bronze-silver-gold, {PINNED}]\n{text}"));
    let strict = |text: &str| file(PINNED, text);
    let tiers = "tiers: [{name: gold, soak: 9d}]\npeople: {force: admin}\n";
    let read = load(&[main(""), strict(tiers)]).unwrap();
    let soaks: Vec<i64> = read.ladder.iter().map(|tier| tier.soak.min.as_hours() / 24).collect();
    assert_eq!(soaks, [1, 2, 9], "the later preset wins over the one before");
    assert_eq!(read.wiring.people.force, Right::Admin);
    let own = load(&[main("people: {force: write}\n"), strict(tiers)]).unwrap();
    assert_eq!(own.wiring.people.force, Right::Write, "the file wins over both");
    assert_eq!(pinned_presets(&main("").text).iter().map(ToString::to_string).collect::<Vec<_>>(), [PINNED]);
    let said = |files: &[SourceFile]| {
        let problems = load(files).expect_err("mistakes");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let missing = said(&[main("freeze: [{why: audit, tiers: [platinum]}]\n")]);
    assert_eq!(missing.len(), 1, "what follows from it is not said as well: {missing:?}");
    assert!(missing[0].starts_with("coldframe.yaml:1:31: `extends`: the preset `acme/"), "{missing:?}");
    let wrong = said(&[main(""), strict("people: {force: nobody}\n")]);
    assert!(wrong[0].starts_with(&format!("{PINNED}:1:17: `force` of `people`")), "{wrong:?}");
    let more = said(&[main(""), strict("extends: [canary]\nplugins: []\n")]);
    assert!(more[0].contains(":1:1: a preset has no `extends`"), "{more:?}");
    assert!(more.iter().any(|one| one.contains(":2:1: a preset has no `plugins`")), "{more:?}");
}

#[test]
fn a_preset_of_another_repository_is_pinned_at_a_commit() {
    for (name, why) in [
        ("acme/presets/strict.yaml", "names no commit"),
        ("acme/presets/strict.yaml@main", "is not at the full id of a commit"),
        ("acme/presets/strict.yaml@0123456", "is not at the full id of a commit"),
        ("acme/presets@0123456789abcdef0123456789abcdef01234567", "does not name a file"),
        ("acme/presets/../x.yaml@0123456789abcdef0123456789abcdef01234567", "does not name a file"),
        ("../presets/x.yaml@0123456789abcdef0123456789abcdef01234567", "does not name a file"),
        ("acme/a b/x.yaml@0123456789abcdef0123456789abcdef01234567", "does not name a file"),
    ] {
        let said = problems(&format!("extends: [\"{name}\"]"));
        assert!(said.len() == 1 && said[0].starts_with("1:11: `extends`: ") && said[0].contains(why), "{said:?}");
    }
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

/// What `check --resolved` prints is a policy file, and means the same.
#[test]
fn the_resolved_file_means_the_same() {
    let presets = Preset::KNOWN.iter().map(|(name, ..)| name);
    let plugin = "plugins: [{name: a, chart: {oci: oci://x.example/a}, write: [{file: '{tier}/{cluster}', path: $.v}], signals: [{helmRelease: {namespace: a, name: a}}]}]";
    let extending = presets.map(|preset| format!("extends: [{preset}]\n{plugin}\n"));
    let follows = format!("tiers: [{{name: qa, merge: none}}]\n{plugin}\n");
    for text in extending.chain([FULL.to_string(), follows]) {
        let text = &text;
        let loaded = of(text);
        let written = resolved::resolved(&loaded).unwrap();
        let again =
            load(&[file("coldframe.yaml", &written)]).unwrap_or_else(|problems| panic!("{written}\n{problems}"));
        assert_eq!(again.policy, loaded.policy, "{written}");
        assert_eq!(again.wiring, loaded.wiring, "{written}");
        assert_eq!(again.ladder, loaded.ladder, "{written}");
        assert!(!written.contains("extends") && written.contains("progressDeadline"), "{written}");
    }
}

/// What the comment of a preset tells its users to write is a policy.
#[test]
fn the_examples_of_presets_can_be_followed() {
    let plugin = "plugins: [{name: a, chart: {oci: oci://x.example/a}, write: [{file: '{tier}/{cluster}', path: $.v}], signals: [{helmRelease: {namespace: a, name: a}}]}]";
    let mut examples = 0;
    for (name, preset, about) in Preset::KNOWN {
        let head = preset.text().lines().take_while(|line| line.starts_with('#'));
        let text: String = head.map(|line| line.strip_prefix("#   ").unwrap_or("").to_string() + "\n").collect();
        assert!(text.contains(&format!("extends: [{name}]")), "{name} does not say how it is used");
        assert!(about.ends_with('.'), "{name}");
        for example in text.split("extends:").skip(1) {
            let plugins = if example.contains("plugins:") { "" } else { plugin };
            let text = format!("extends:{example}\n{plugins}\n");
            load(&[file("coldframe.yaml", &text)]).unwrap_or_else(|problems| panic!("{name}: {text}\n{problems}"));
            examples += 1;
        }
    }
    assert!(examples >= 10, "{examples}");
}
