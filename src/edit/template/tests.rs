//! What templates make of names, and what makes no file.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::place::Scalar;

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: loki, labels: {cluster: {cluster}, tier: '{tier}'}} # {cluster} of {tier}
spec:
  chart: {spec: {chart: loki, version: {version}}}
  values:
    title: '{{cluster}} on ${cluster} of {region}'
    url: https://{plugin}.{cluster}.example/{version}
";

fn written(file: &str, path: Option<&str>, value: Option<&str>) -> Write {
    let scalar = |path: &str| Scalar { document: None, path: path.to_string(), value: value.map(str::to_string) };
    Write { file: file.to_string(), format: None, scalar: path.map(scalar), template: Some("t".to_string()) }
}

fn made(write: &Write, cluster: Option<&str>, template: &str, version: &str) -> Result<String, String> {
    let (tier, cluster) = ("gold".into(), cluster.map(ClusterName::from));
    let names = Names::of(write, &tier, cluster.as_ref(), "loki", version);
    let wanted = Wanted { chart: "loki", plugin: "loki", address: None };
    rendered(write, &write.file, template, &names, wanted).map_err(|bad| bad.to_string())
}

#[test]
fn words_become_names_and_all_else_stays() {
    let write = written("clusters/{tier}/{cluster}/loki.yaml", None, None);
    let expected = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: loki, labels: {cluster: eu-7, tier: 'gold'}} # eu-7 of gold
spec:
  chart: {spec: {chart: loki, version: 6.7.0}}
  values:
    title: '{{cluster}} on ${cluster} of {region}'
    url: https://loki.eu-7.example/6.7.0
";
    assert_eq!(made(&write, Some("eu-7"), RELEASE, "6.7.0").unwrap(), expected);
    let unlike = RELEASE.replace('\n', "\r\n");
    assert_eq!(made(&write, Some("eu-7"), &unlike, "6.7.0").unwrap(), expected.replace('\n', "\r\n"));
}

#[test]
fn organizations_are_what_they_are_in_the_name_of_the_file() {
    let template = "version: {version}\nof: {organization} and {cluster}\n";
    let parts = written("{organization}/{cluster}.yaml", Some("$.version"), None);
    assert_eq!(made(&parts, Some("acme/eu-7"), template, "1.0.0").unwrap(), "version: 1.0.0\nof: acme and eu-7\n");
    let whole = written("{cluster}.yaml", Some("$.version"), None);
    assert_eq!(made(&whole, Some("acme/eu-7"), template, "1.0.0").unwrap(), "version: 1.0.0\nof: acme and acme/eu-7\n");
}

#[test]
fn every_format_has_first_files() {
    let cases = [
        ("{tier}.json", "$.version", "{\"tier\": \"{tier}\", \"version\": \"{version}\"}\n"),
        ("{tier}.toml", "$.loki.version", "[loki]\ntier = \"{tier}\"\nversion = \"{version}\"\n"),
        ("{tier}.tfvars", "$.version", "tier    = \"{tier}\"\nversion = \"{version}\"\n"),
    ];
    for (file, path, template) in cases {
        let text = made(&written(file, Some(path), None), None, template, "1.2.0").unwrap();
        assert_eq!(text, template.replace("{tier}", "gold").replace("{version}", "1.2.0"));
    }
    let text = Write { format: Some(FileFormat::Text), ..written("{tier}.txt", None, None) };
    let line = "loki {version} # coldframe: loki\n";
    assert_eq!(made(&text, None, line, "1.2.0").unwrap(), "loki 1.2.0 # coldframe: loki\n");
}

#[test]
fn what_stands_around_a_version_is_the_templates() {
    let tag = written("{tier}.yaml", Some("$.tag"), Some("loki/{version}"));
    assert_eq!(made(&tag, None, "tag: {plugin}/{version}\n", "1.2.0").unwrap(), "tag: loki/1.2.0\n");
    let v = written("{tier}.yaml", Some("$.tag"), Some("v{version}"));
    for version in ["1.2.0", "v1.2.0"] {
        assert_eq!(made(&v, None, "tag: v{version}\n", version).unwrap(), "tag: v1.2.0\n");
    }
    let plain = written("{tier}.yaml", Some("$.tag"), None);
    assert_eq!(made(&plain, None, "tag: {version}\n", "v1.2.0").unwrap(), "tag: v1.2.0\n");
}

#[test]
fn what_is_no_file_with_one_version_is_refused() {
    let own = || written("{cluster}.yaml", Some("$.version"), None);
    let of_tier = || written("{tier}.yaml", Some("$.version"), None);
    let found = || written("{cluster}.yaml", None, None);
    let cases: [(Write, &str, &str, &str); 18] = [
        (own(), "eu-7", "version: {version}\nname: [{cluster}\n", "not YAML"),
        (own(), "eu-7", "name: {cluster}\n", "`$.version` names nothing here"),
        (own(), "eu-7", "version: {version}\n---\nversion: {version}\n", "in several documents"),
        (own(), "eu-7", "version: 1.0.0\n", "line 1: `1.0.0` stands where `1.2.0` has to; write `{version}` there"),
        (own(), "eu-7", "version: v{version}\n", "`v1.2.0` stands where `1.2.0` has to"),
        (own(), "eu-7", "version: ^{version}\n", "is the range"),
        (own(), "eu-7", "a: {{ .x }\nversion: {version}\n", "line 1: `{{` has no `}}`; close it"),
        (own(), "eu-7", "a: ${x\nversion: {version}\n", "line 2: `$.version` is a mapping"),
        (own(), "eu-7", "version: {version}\nof: {organization}\n", "line 2: `{organization}` stands for nothing"),
        (of_tier(), "", "version: {version}\nof: {cluster}\n", "line 2: `{cluster}` stands for nothing"),
        (own(), "7", "version: {version}\nof: {cluster}\n", "line 2: `7` would be read as a number"),
        (own(), "no", "version: {version}\nof: {cluster}\n", "line 2: `no` would be read as"),
        (own(), "2026-11", "version: {version}\nof: {cluster}\n", "line 2: `2026-11` would be read as"),
        (own(), "x", "version: {version}\n{cluster}: 1\nx: 2\n", "the key `x` stands on line 2 already"),
        (own(), "a: b", "version: {version}\nof: {cluster}\n", "`a: b`, which is to stand for `{cluster}`, has"),
        (found(), "eu-7", "version: {version}\n", "no version of the chart `loki` is found here"),
        (own(), "eu-7", "version: {version}\na: ${x\n", "line 2: `${` has no `}`; close it"),
        (own(), "eu-7", "version: &a {version}\nb: *a\nc: {version\n", "not YAML"),
    ];
    for (write, cluster, template, why) in cases {
        let cluster = Some(cluster).filter(|name| !name.is_empty());
        let told = made(&write, cluster, template, "1.2.0").expect_err(template);
        assert!(told.contains(why), "{template}: {told}");
    }
    let quoted = "version: {version}\nof: '{cluster}'\n";
    assert_eq!(made(&own(), Some("7"), quoted, "1.2.0").unwrap(), "version: 1.2.0\nof: '7'\n");
}

/// Whatever the names are, the file is the same but for them, or there is none.
#[test]
fn names_change_nothing_but_themselves() {
    let write = written("clusters/{tier}/{cluster}/loki.yaml", None, None);
    let harmless = made(&write, Some("eu-7"), RELEASE, "6.7.0").unwrap();
    for name in
        ["eu-8", "a", "x-1-y", "acme/eu-7", "null-x", "on", "1e3", "0x1", "true", "12", "1-2", "a b", "a\n", "a#"]
    {
        match made(&write, Some(name), RELEASE, "6.7.0") {
            Ok(text) => assert_eq!(text.replace(name, "eu-7"), harmless.replace(name, "eu-7"), "{name}"),
            Err(why) => assert!(why.contains("put it in quotes") || why.contains("other letters"), "{name}: {why}"),
        }
    }
}
