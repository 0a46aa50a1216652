//! The editor as its callers use it: every layout, every refusal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use proptest::prelude::*;

use super::*;

/// Five documents with everything around the spot that an editor may trip over.
const FLEET: &str = r#"# Größe: 5 Dokumente
---
apiVersion: v1
kind: Namespace
metadata:
    name: logging # version: 0.0.0
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata:
    name: grafana
spec:
    url: https://charts.example/grafana
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
    name: loki
spec:
    chart:
        spec:
            chart: loki
            # version: 1.0.0 was the first – „stabil“
            version: '6.6.2' # renovate: depName=loki
    values:
        note: |
            version: 6.6.2
            {{ .Values.untouched }}
        quoted: "{{ loki }}"
        shell: "${LOKI:=1}"
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
    name: promtail
spec:
    chart:
        spec:
            version: "6.6.2"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last}
data: {version: 6.6.2}
"#;

fn release(name: &str) -> DocumentSelector {
    DocumentSelector { kind: "HelmRelease".to_string(), name: Some(name.to_string()) }
}

fn version_of(chart: &str) -> Option<DocumentSelector> {
    Some(release(chart))
}

const PATH: &str = "$.spec.chart.spec.version";

#[test]
fn one_scalar_of_five_documents_changes_and_nothing_else() {
    for text in [FLEET.to_string(), FLEET.replace('\n', "\r\n"), format!("\u{feff}{FLEET}")] {
        let edited = set(FileFormat::Yaml, &text, version_of("loki").as_ref(), PATH, "6.7.0").unwrap();
        assert_eq!(edited, text.replace("'6.6.2' #", "'6.7.0' #"));
        let spot = read(FileFormat::Yaml, &edited, version_of("loki").as_ref(), PATH).unwrap();
        assert_eq!((spot.value.as_str(), spot.line, spot.style), ("6.7.0", 24, Style::Single));
        assert_eq!(edited.get(spot.range).unwrap(), "'6.7.0'");
    }
}

/// What is written, where it can be: (name, before, path, to, after).
#[test]
fn edits_keep_every_other_byte() {
    #[rustfmt::skip]
    let cases = [
        ("no newline at the end", "a:\n  version: 6.10", "$.a.version", "7.0.0", "a:\n  version: 7.0.0"),
        ("reads as a number", "version: 1.9.0\n", "$.version", "1.10", "version: \"1.10\"\n"),
        ("reads as a number, single", "version: '1.9'\n", "$.version", "1.10", "version: '1.10'\n"),
        ("reads as a bool in 1.1", "branch: main\n", "$.branch", "on", "branch: \"on\"\n"),
        ("anchor on the value stays", "a: &v 1.2.3 # one\nb: *v\n", "$.a", "1.2.4", "a: &v 1.2.4 # one\nb: *v\n"),
        ("flow map", "spec: { chart: {name: x, version: 6.6.2}, other: 6.6.2 }\n", "$.spec.chart.version", "6.7.0",
         "spec: { chart: {name: x, version: 6.7.0}, other: 6.6.2 }\n"),
        ("flow map, odd sign needs quotes", "a: {v: 1.0.0, w: 2}\n", "$.a.v", "1.0.0}", "a: {v: \"1.0.0}\", w: 2}\n"),
        ("tag, quoted key, directive", "%YAML 1.2\n---\n\"ver sion\": !!str \"1.2\"\n", "$['ver sion']", "1.3",
         "%YAML 1.2\n---\n\"ver sion\": !!str \"1.3\"\n"),
        ("JSON", "{\n  \"chartVersion\": \"0.1.3\"\n}", "$.chartVersion", "0.1.4", "{\n  \"chartVersion\": \"0.1.4\"\n}"),
        ("filter by name", "deps:\n- name: a\n  version: 1.0.0\n- name: b\n  version: 1.0.0 # b\n",
         "$.deps[?(@.name==\"b\")].version", "1.0.1",
         "deps:\n- name: a\n  version: 1.0.0\n- name: b\n  version: 1.0.1 # b\n"),
        ("filter by a list's content",
         "sources:\n- resources: [a/x.yaml]\n  ref: {tag: a/1.0.0}\n- resources: [b/x.yaml]\n  ref: {tag: b/1.0.0}\n",
         "$.sources[?(@.resources[?(@=='b/x.yaml')])].ref.tag", "b/1.1.0",
         "sources:\n- resources: [a/x.yaml]\n  ref: {tag: a/1.0.0}\n- resources: [b/x.yaml]\n  ref: {tag: b/1.1.0}\n"),
        ("index", "l:\n  - 1.0.0\n  - 1.0.0\n", "$.l[1]", "v1.0.1", "l:\n  - 1.0.0\n  - v1.0.1\n"),
        ("key of two words", "https://x.example adapter: \"5.3.0\" \n", "$['https://x.example adapter']", "5.4.0",
         "https://x.example adapter: \"5.4.0\" \n"),
        ("escapes", "a: \"o\"\nb: 'y'\n", "$.a", "q\"\\", "a: \"q\\\"\\\\\"\nb: 'y'\n"),
        ("escapes, single", "a: \"o\"\nb: 'y'\n", "$.b", "it's", "a: \"o\"\nb: 'it''s'\n"),
        ("template elsewhere, quoted", "t: '{{chartVersion}}'\nv: 1.0.0\n", "$.v", "1.0.1", "t: '{{chartVersion}}'\nv: 1.0.1\n"),
        ("merge key beside it", "b: &b {x: 1}\na:\n  <<: *b\n  v: 1.0.0\n", "$.a.v", "1.0.1", "b: &b {x: 1}\na:\n  <<: *b\n  v: 1.0.1\n"),
        ("pre-release and build", "v: 1.0.0\n", "$.v", "1.0.0-rc.1+b", "v: 1.0.0-rc.1+b\n"),
        ("date-like tag", "v: 1.0.0\n", "$.v", "2026-11-21", "v: \"2026-11-21\"\n"),
        ("only one document has it", "a: 1\n---\nv: 1.0.0\n---\nb: 1\n", "$.v", "2.0.0", "a: 1\n---\nv: 2.0.0\n---\nb: 1\n"),
        ("tabs and spaces before a comment", "v:   1.0.0\t# x\n", "$.v", "2.0.0", "v:   2.0.0\t# x\n"),
    ];
    for (name, before, path, to, after) in cases {
        assert_eq!(set(FileFormat::Yaml, before, None, path, to).as_deref(), Ok(after), "{name}");
        assert_eq!(set(FileFormat::Yaml, after, None, path, to).as_deref(), Ok(after), "{name}, again");
        assert_eq!(read(FileFormat::Yaml, after, None, path).map(|spot| spot.value).as_deref(), Ok(to), "{name}, read");
    }
}

#[test]
fn refusals_say_where_and_why() {
    let path = || "$.v".to_string();
    let deep = format!("v: 1.0.0\na: {}{}\n", "[".repeat(200), "]".repeat(200));
    #[rustfmt::skip]
    let cases: Vec<(&str, &str, Refusal)> = vec![
        ("alias", "a: &x 1.0.0\nv: *x\n", Refusal::Alias { path: path(), line: 2, name: "*x".into(), anchor: 1 }),
        ("merged", "a: &x\n  v: 1.0.0\nb:\n  <<: *x\n", Refusal::Merged { path: "$.b.v".into(), line: 4 }),
        ("merged from a list", "a: &x {v: 1.0.0}\nb: {<<: [*x]}\n", Refusal::Merged { path: "$.b.v".into(), line: 2 }),
        ("inside of an alias", "a: &x {v: 1.0.0}\nb: *x\n", Refusal::Alias { path: "$.b.v".into(), line: 2, name: "*x".into(), anchor: 1 }),
        ("duplicate", "v: 1.0.0\nv: 1.0.1\n", Refusal::DuplicateKey { key: "v".into(), first: 1, second: 2 }),
        ("duplicate beside", "v: 1.0.0\n---\na: {v: 1.0.0}\na: 2\n", Refusal::DuplicateKey { key: "a".into(), first: 3, second: 4 }),
        ("duplicate above", "a: 1\nv: 1.0.0\na: 2\n", Refusal::DuplicateKey { key: "a".into(), first: 1, second: 3 }),
        ("template lines", "{{- if .Values.x }}\nv: 1.0.0\n{{- end }}\n", Refusal::Template { line: 1 }),
        ("template value", "a: 1\nv: {{ .Values.version }}\n", Refusal::Template { line: 2 }),
        ("template in quotes", "v: '{{ version }}'\n", Refusal::Template { line: 1 }),
        ("placeholder", "v: ${version}\n", Refusal::Template { line: 1 }),
        ("block scalar", "v: |\n  1.0.0\n", Refusal::BlockScalar { path: path(), line: 2 }),
        ("tag", "a: 1\nv: !env VERSION\n", Refusal::Expression { path: path(), line: 2, text: "!env VERSION".into() }),
        ("tag of a number", "v: !!float 1.0\n", Refusal::Expression { path: path(), line: 1, text: "!!float 1.0".into() }),
        ("empty", "v:\nb: 1\n", Refusal::Empty { path: path(), line: 1 }),
        ("null", "v: ~\n", Refusal::Empty { path: path(), line: 1 }),
        ("empty quotes", "v: ''\n", Refusal::Empty { path: path(), line: 1 }),
        ("mapping", "v: {a: 1}\n", Refusal::NotAScalar { path: path(), line: 1 }),
        ("none", "a: 1\n", Refusal::NotFound { path: path() }),
        ("several documents", "v: 1.0.0\n---\nv: 1.0.0\n", Refusal::AmbiguousDocument { path: path(), lines: vec![1, 2] }),
        ("several matches", "a:\n- v: 1\n- v: 1\n", Refusal::SeveralMatches { path: "$.a[*].v".into(), lines: vec![2, 3] }),
        ("too deep", &deep, Refusal::TooDeep { line: 2 }),
        ("unknown alias", "v: *nowhere\n", Refusal::NotParsed { format: "YAML", line: 1, why: String::new() }),
        ("a line end to some", "v: 1.0.0\n# a\u{85}v: 2.0.0\n", Refusal::NotParsed { format: "YAML", line: 2, why: String::new() }),
        ("an anchor to some", "a: 1\nv: &a:~ 1.0.0\n", Refusal::NotParsed { format: "YAML", line: 2, why: String::new() }),
        ("a key to some", "v: 1.0.0\na: [?b]\n", Refusal::NotParsed { format: "YAML", line: 2, why: String::new() }),
        ("a mark to some", "\u{feff}a: 1\nv: \u{feff}1.0.0\n", Refusal::NotParsed { format: "YAML", line: 2, why: String::new() }),
        ("not YAML", "v: 1.0.0\nb: ]\n", Refusal::NotParsed { format: "YAML", line: 2, why: String::new() }),
    ];
    for (name, text, expected) in cases {
        let query = match &expected {
            Refusal::Merged { path, .. } | Refusal::Alias { path, .. } | Refusal::SeveralMatches { path, .. } => {
                path.clone()
            }
            _ => path(),
        };
        let found = match set(FileFormat::Yaml, text, None, &query, "9.9.9").expect_err(name) {
            Refusal::NotParsed { format: "YAML", line, .. } => {
                Refusal::NotParsed { format: "YAML", line, why: String::new() }
            }
            other => other,
        };
        assert_eq!(found, expected, "{name}");
        assert!(!found.to_string().is_empty());
    }
}

#[test]
fn a_range_is_no_version() {
    for range in
        ["^1.2", ">=1.0.0", "~1.2.3", "1.x", "'*'", "1.2.*", "1.2 - 1.5", "^1 || ^2", "'>=1, <2'", "=1.2.3", "v1.X"]
    {
        let text = format!("v: \"{}\"\n", range.trim_matches('\''));
        assert!(
            matches!(set(FileFormat::Yaml, &text, None, "$.v", "1.2.3"), Err(Refusal::Range { line: 1, .. })),
            "{range}"
        );
        assert!(matches!(read(FileFormat::Yaml, &text, None, "$.v"), Err(Refusal::Range { .. })), "{range}");
    }
    for version in ["1.2.3", "v1.2.3-x.1", "6.10", "perses/0.13.0", "1.0.0-0.dev.git.3983.h383374de"] {
        assert!(!is_range(version), "{version}");
    }
}

#[test]
fn documents_are_chosen_by_kind_and_name() {
    let none = set(FileFormat::Yaml, FLEET, Some(&release("tempo")), PATH, "1.0.0");
    assert_eq!(none, Err(Refusal::NoSuchDocument { kind: "HelmRelease".into(), name: Some("tempo".into()) }));
    let any = DocumentSelector { kind: "HelmRelease".into(), name: None };
    let several = set(FileFormat::Yaml, FLEET, Some(&any), PATH, "1.0.0");
    assert!(matches!(several, Err(Refusal::SeveralDocuments { lines, .. }) if lines.len() == 2));
    assert!(matches!(set(FileFormat::Yaml, FLEET, None, PATH, "1.0.0"), Err(Refusal::AmbiguousDocument { .. })));
    let map = DocumentSelector { kind: "ConfigMap".into(), name: None };
    assert_eq!(read(FileFormat::Yaml, FLEET, Some(&map), "$.data.version").unwrap().value, "6.6.2");
}

#[test]
fn outside_input_is_bounded() {
    let large = format!("v: 1.0.0\n#{}\n", "x".repeat(MAX_BYTES));
    assert!(matches!(set(FileFormat::Yaml, &large, None, "$.v", "1.0.1"), Err(Refusal::TooLarge { .. })));
    let mut bomb = String::from("v: 1.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let below = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    assert!(matches!(
        set(FileFormat::Yaml, &bomb, None, "$.v", "1.0.1"),
        Err(Refusal::NotParsed { format: "YAML", .. } | Refusal::BadPath(_))
    ));
    // Each alias stands below sixty brackets: few bytes, and a tree of thousands of levels.
    let mut tower = String::from("v: 1.0.0\na0: &a0 x\n");
    for level in 1..100 {
        tower.push_str(&format!("a{level}: &a{level} {}*a{}{}\n", "[".repeat(60), level - 1, "]".repeat(60)));
    }
    let refused = set(FileFormat::Yaml, &tower, None, "$.v", "1.0.1");
    assert!(matches!(refused, Err(Refusal::TooDeep { .. })), "{refused:?}");
    assert!(matches!(set(FileFormat::Yaml, "v: 1\n", None, "$..a..b", "1"), Err(Refusal::BadPath(_))));
    for bad in ["", "1.0\n", "a\u{1b}[0m", "a\u{2028}b", "^1.2", "1 || 2", "{{ version }}", "${version}"] {
        assert!(
            matches!(set(FileFormat::Yaml, "v: 1.0.0\n", None, "$.v", bad), Err(Refusal::BadValue { .. })),
            "{bad:?}"
        );
    }
    for below in ["1.0.0\n\t\n", "v: 1.0.0\n  \t# a comment\n", "v: 1.0.0\t\r \t"] {
        let path = if below.starts_with('v') { "$.v" } else { "$" };
        let to = |to| set(FileFormat::Yaml, below, None, path, to);
        assert_eq!(to("1.1.0").unwrap(), below.replace("1.0.0", "1.1.0"));
        assert!(matches!(to("1.10"), Err(Refusal::BadValue { .. })), "quotes before a tab are read by few: {below:?}");
    }
    let documents = "a: 1\n---\n".repeat(500);
    assert_eq!(read(FileFormat::Yaml, &format!("{documents}v: 1.0.0\n"), None, "$.v").unwrap().line, 1001);
}

/// A file of mappings and lists in several layouts, and the path of one scalar in it.
fn files() -> impl Strategy<Value = (String, String, String)> {
    let quote = prop_oneof![Just(""), Just("'"), Just("\"")];
    let newline = prop_oneof![Just("\n"), Just("\r\n")];
    let old = "[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}(-[a-z]{1,3}\\.[0-9])?";
    let decoys = prop::collection::vec(("[a-zé]{1,6}", "[ -~é]{0,12}"), 0..6);
    (quote, newline, old, decoys, 0..4_usize, any::<bool>()).prop_map(|(quote, newline, old, decoys, layout, last)| {
        let mut text = String::from("# Anfang – é\n");
        for (index, (key, value)) in decoys.iter().enumerate() {
            text.push_str(&format!("{key}{index}: '{}' # {value}\n", value.replace('\'', "''")));
        }
        let scalar = format!("{quote}{old}{quote}");
        let path = match layout {
            0 => {
                text.push_str(&format!("the: {{a: {old}, spot: {scalar}, b: [1, {old}]}}\n"));
                "$.the.spot"
            }
            1 => {
                text.push_str(&format!(
                    "the:\n  - name: a\n    spot: {old}\n  - name: b\n    spot: &keep {scalar} # {old}\n"
                ));
                "$.the[?(@.name=='b')].spot"
            }
            2 => {
                text.push_str(&format!("the:\n    spot:   {scalar}\nalso: |\n  spot: {old}\n"));
                "$.the.spot"
            }
            _ => {
                text.push_str(&format!("---\nkind: A\n---\nspot: !!str {scalar}"));
                "$.spot"
            }
        };
        if last {
            text.push_str("\n# Ende\n");
        }
        (text.replace('\n', newline), path.to_string(), old)
    })
}

proptest! {
    #[test]
    fn an_edit_changes_one_span_and_goes_back((text, path, old) in files(), to in "[0-9]{1,2}\\.[0-9]{1,2}(\\.[0-9]{1,2})?([-+][a-z0-9.]{1,6}[a-z0-9])?") {
        let before = read(FileFormat::Yaml, &text, None, &path).unwrap();
        prop_assert_eq!(&before.value, &old);
        let edited = set(FileFormat::Yaml, &text, None, &path, &to).unwrap();
        let after = read(FileFormat::Yaml, &edited, None, &path).unwrap();
        prop_assert_eq!(&after.value, &to);
        prop_assert_eq!(text.get(..before.range.start), edited.get(..after.range.start));
        prop_assert_eq!(text.get(before.range.end..), edited.get(after.range.end..));
        let twice = set(FileFormat::Yaml, &edited, None, &path, &to).unwrap();
        prop_assert_eq!(&twice, &edited);
        if before.style == after.style {
            prop_assert_eq!(set(FileFormat::Yaml, &edited, None, &path, &old).unwrap(), text);
        }
    }

    #[test]
    fn any_text_is_answered_and_never_broken(text in "[ \\-a-c:{}\\[\\]&*!|>'\"#%,?\\n\\t.0-9é]{0,60}", to in "[ -~]{0,8}") {
        for path in ["$.a", "$..b", "$[0]"] {
            if let Ok(edited) = set(FileFormat::Yaml, &text, None, path, &to) {
                prop_assert_eq!(read_any(&edited, path), to.clone());
            }
        }
    }
}

fn read_any(text: &str, path: &str) -> String {
    locate_any(&Yaml, text, None, path).unwrap().1.value
}
