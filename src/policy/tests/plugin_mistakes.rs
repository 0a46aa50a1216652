//! Each mistake of a plugin alone in a file, and what is said about it.

use super::{PLUGIN, problems};

/// A key of a plugin, and how what is said about it begins (after line and column).
const MISTAKES: &[(&str, &str, &str)] = &[
    ("name", "Loki", "`name` of plugin `Loki`: `Loki` is not a name"),
    ("poll", "0s", "`poll` of plugin `loki`: asking more than once a second"),
    (
        "versions",
        "{signed: {cosign: cosign.pub}}",
        "`cosign` of `signed` of `versions` of plugin `loki`: this is no public key as PEM, from `-----BEGIN PUBLIC KEY-----`",
    ),
    (
        "versions",
        "{signed: {cosign: '-----BEGIN PRIVATE KEY-----'}}",
        "`cosign` of `signed` of `versions` of plugin `loki`: a private key stands here, and everybody who may read",
    ),
    (
        "versions",
        "{signed: {pgp: release@acme.example}}",
        "`pgp` of `signed` of `versions` of plugin `loki`: this is no OpenPGP key: there is no `-----BEGIN PGP PUBLIC KEY BLOCK",
    ),
    (
        "versions",
        "{signed: {pgp: '-----BEGIN PGP PRIVATE KEY BLOCK-----'}}",
        "`pgp` of `signed` of `versions` of plugin `loki`: a private key stands here, and everybody who may read this file",
    ),
    ("versions", "{signed: {}}", "`versions` of plugin `loki`: nobody is named who could have signed it"),
    (
        "versions",
        "{signed: {keyless: {identity: 'https://github.com/acme/*', issuer: 'https://x.example'}}}",
        "`identity` of `keyless` of `signed` of `versions` of plugin `loki`: `https://github.com/acme/*` is a pattern",
    ),
    (
        "versions",
        "{signed: {keyless: {identity: '{version}', issuer: 'https://x.example'}}}",
        "`identity` of `keyless` of `signed` of `versions` of plugin `loki`: `{version}` names neither a workflow nor a mail",
    ),
    (
        "versions",
        "{signed: {keyless: {identity: 'a@b.example', issuer: 'http://x.example'}}}",
        "`issuer` of `keyless` of `signed` of `versions` of plugin `loki`: `http://x.example` is no issuer",
    ),
    (
        "versions",
        "{signed: {keyless: {identity: 'a@b.example'}}}",
        "`keyless` of `signed` of `versions` of plugin `loki` has no `issuer`",
    ),
    (
        "versions",
        "^1.2",
        "`versions` of plugin `loki`: expected a mapping of `constraint`, `prereleases`, `block`, `deprecated`, `expires`, `maxLive`, `checks`, `signed`, found a text",
    ),
    ("version", "1.2.3", "unknown key `version` in plugin `loki` (did you mean `versions`?)"),
    (
        "versions",
        "{constraint: '>= 1.2 <'}",
        "`constraint` of `versions` of plugin `loki`: `>= 1.2 <` is not a version constraint: `<`: a version was expected",
    ),
    ("versions", "{checks: e2e}", "`checks` of `versions` of plugin `loki`: expected a list (`[…]`, also for one)"),
    ("versions", "{checks: []}", "`checks` of `versions` of plugin `loki`: an empty list: no check is asked for"),
    ("versions", "{checks: [e2e, e2e]}", "`checks` of `versions` of plugin `loki`: `e2e` stands here twice"),
    ("versions", "{checks: {from: acme/charts}}", "`checks` of `versions` of plugin `loki` has no `all`"),
    (
        "versions",
        "{checks: {all: [e2e], from: 'https://github.com/acme/charts'}}",
        "`from` of `checks` of `versions` of plugin `loki`: `https://github.com/acme/charts` is not `owner/name`",
    ),
    (
        "versions",
        "{checks: {all: [e2e], tag: latest}}",
        "`tag` of `checks` of `versions` of plugin `loki`: `latest` names one tag for all versions",
    ),
    (
        "versions",
        "{checks: {all: [e2e], tag: 'v{versoin}'}}",
        "`tag` of `checks` of `versions` of plugin `loki`: `{versoin}` stands for nothing (did you mean `{version}`?",
    ),
    (
        "versions",
        "{checks: {all: [e2e], tag: 'a..b{version}'}}",
        "`tag` of `checks` of `versions` of plugin `loki`: `a..b{version}` cannot be the name of a tag",
    ),
    ("versions", "{maxLive: 0}", "`maxLive` of `versions` of plugin `loki`: 0 is not in 1 to 1000000"),
    ("versions", "{deprecated: '<'}", "`deprecated` of `versions` of plugin `loki`: `<` is not a version constraint"),
    ("versions", "{expires: [{versions: <2}]}", "`expires` of `versions` of plugin `loki` has no `until`"),
    (
        "versions",
        "{expires: [{until: 2027-03-01T00:00:00Z}]}",
        "`expires` of `versions` of plugin `loki` has no `versions`",
    ),
    ("versions", "{block: [{from: '<2', why: x}]}", "`block` of `versions` of plugin `loki` has no `to`"),
    ("versions", "{block: [{to: 2.0.0}]}", "`block` of `versions` of plugin `loki` has no `why`"),
    (
        "versions",
        "{block: [{to: 2.0.x, why: x, fixedIn: 2.0}]}",
        "`fixedIn` of `block` of `versions` of plugin `loki`: `2.0` is not a SemVer 2 version",
    ),
    (
        "versions",
        "{block: [{to: 2.0.x, why: x, fixedIn: 2.0.1}]}",
        "`block` of `versions` of plugin `loki`: 2.0.1 is blocked, too, so that it mends nothing",
    ),
    (
        "versions",
        "{block: [{to: 2.0.x, why: x, above: gld}]}",
        "`block` of `versions` of plugin `loki`: there is no tier `gld` (did you mean `gold`?)",
    ),
    (
        "versions",
        "{block: [{to: 2.0.x, why: x, above: gold}]}",
        "`block` of `versions` of plugin `loki`: no tier is above `gold`, so that nothing is blocked",
    ),
    (
        "versions",
        "{prereleases: false, constraint: '>=1.0.0-0'}",
        "`versions` of plugin `loki`: no pre-releases, and the constraint `>=1.0.0-0` asks for them (take one of",
    ),
    (
        "next",
        "newest",
        "`next` of plugin `loki`: `newest` is not known (write one of `newestFinished`, `every`, `restart`)",
    ),
    ("after", "[lok]", "`after` of plugin `loki`: there is no plugin `lok` (did you mean `loki`?)"),
    ("after", "[{version: '>=1'}]", "`after` of plugin `loki` has no `plugin`"),
    ("after", "[loki]", "`after` of plugin `loki`: each would wait for the next for ever: loki after loki (take one"),
    ("cooldown", "1", "`cooldown` of plugin `loki`: `1` has no unit"),
    (
        "cooldown",
        "1h\n    next: every",
        "`cooldown` of plugin `loki`: releases are taken together, and `next: every` takes each of them (keep one",
    ),
    ("hotfixes", "[{version: 1.2.3}]", "`hotfixes` of plugin `loki` has no `why`"),
    ("hotfixes", "[{why: x}]", "`hotfixes` of plugin `loki` has no `version`"),
    ("hotfixes", "[{version: 1.2.x, why: x}]", "`version` of `hotfixes` of plugin `loki`: `1.2.x` is not a SemVer 2"),
    (
        "hotfixes",
        "[{version: 1.2.3, why: x}, {version: v1.2.3, why: y}]",
        "`hotfixes` of plugin `loki`: v1.2.3 stands here twice",
    ),
    (
        "hotfixes",
        "[{version: 2.0.0, why: x}]\n    versions: {deprecated: ^2}",
        "`hotfixes` of plugin `loki`: 2.0.0 is never accepted: it is deprecated (`^2`)",
    ),
    (
        "hotfixes",
        "[{version: 2.0.0, why: x}]\n    versions: {constraint: ^1}",
        "`hotfixes` of plugin `loki`: 2.0.0 is never accepted: it is outside the constraint `^1`",
    ),
    ("write", "[]", "`write` of plugin `loki`: an empty list"),
    ("write", "[{file: a.yaml, value: 'x{version}'}]", "`write` of plugin `loki`: `value` goes with a `path`"),
    ("write", "[{file: a.yaml, document: {kind: A}}]", "`write` of plugin `loki`: `document` goes with a `path`"),
    ("write", "[{file: a.yaml, format: xml}]", "`format` of `write` of plugin `loki`:"),
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
        "`file` of `write` of plugin `loki`: `{plugin}` stands for nothing (known here: `{tier}`, `{cluster}`, `{organization}`)",
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
        "`path` of `write` of plugin `loki`: `$.a..b..c` could take too long",
    ),
    (
        "write",
        "[{file: a.yaml, path: '$.a[?(@..b)]..c'}]",
        "`path` of `write` of plugin `loki`: `$.a[?(@..b)]..c` could take too long",
    ),
    (
        "write",
        "[{file: a.yaml, path: '$.*.*.*.*'}]",
        "`path` of `write` of plugin `loki`: `$.*.*.*.*` could take too long",
    ),
    (
        "write",
        "[{file: a.yaml, path: '$.a[?in(@.b, $.c)]'}]",
        "`path` of `write` of plugin `loki`: `in()` is not a function of RFC 9535",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, value: '{plugin}/latest'}]",
        "`value` of `write` of plugin `loki`: `{plugin}/latest` has no place for the version",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, value: '{version}-{version}'}]",
        "`value` of `write` of plugin `loki`: `{version}-{version}` names the version twice",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, value: '{chart}/{version}'}]",
        "`value` of `write` of plugin `loki`: `{chart}` stands for nothing",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, repository: acme/other}]",
        "`write` of plugin `loki`: `repository` is not supported by this version",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x}, {file: a.yaml, path: $.x}]",
        "`write` of plugin `loki`: this place stands here twice",
    ),
    (
        "write",
        "[{file: a.yaml, path: $.x, template: t.yaml}]",
        "`write` of plugin `loki`: a template is for files of which each cluster or tier has its own (put `{tier}`",
    ),
    (
        "write",
        "[{file: '{cluster}.yaml', path: $.x, template: t.yaml}, {file: '{cluster}.yaml', path: $.y}]",
        "`write` of plugin `loki`: a file is made of one template (give all places of the file the same `template`)",
    ),
    (
        "write",
        "[{file: '{cluster}.yaml', path: $.x, template: '{tier}.yaml'}]",
        "`template` of `write` of plugin `loki`: `{tier}` stands for nothing",
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
        "[{checks: {by: flux, status: x, run: y}}]",
        "`checks` of `signals` of plugin `loki`: two things are looked for (keep one;",
    ),
    (
        "signals",
        "[{prometheus: {query: up, expect: '>= 1'}}]",
        "`prometheus` of `signals` of plugin `loki`: nothing says where it is asked",
    ),
    (
        "signals",
        "[{prometheus: {url: https://prom.example, query: 'up{c={{cluster}}}', expect: '>= 1'}}]",
        "`prometheus` of `signals` of plugin `loki`: names stand between quotes",
    ),
    (
        "signals",
        "[{prometheus: {url: https://prom.example, query: up, expect: '>= 1'}, connection: hub}]",
        "`signals` of plugin `loki`: `prometheus` asks no cluster",
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
        "[{resource: {apiVersion: v1, kind: Secret, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: SECRET, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{resource: {apiVersion: example.com/v1, kind: SECRET, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: SecretList, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: Widget, plural: secrets, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{resource: {apiVersion: v1, kind: Secrets, namespace: a, name: b, version: $.data.v, state: {path: $.data.s, healthy: [x]}}}]",
        "`resource` of `signals` of plugin `loki`: a Secret is not read",
    ),
    (
        "signals",
        "[{workload: {kind: CustomResourceDefinition, namespace: a, name: b}}]",
        "`workload` of `signals` of plugin `loki`: a CustomResourceDefinition has no namespace",
    ),
    (
        "signals",
        "[{plugin: {namespace: \"{organisation}\", name: b}}]",
        "`namespace` of `plugin` of `signals` of plugin `loki`: `{organisation}` stands for nothing (did you mean `{organization}`?)",
    ),
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
    for (key, value, expected) in MISTAKES.iter().chain(super::chart_mistakes::MISTAKES) {
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

/// Signatures lie where the chart does, and each kind of signature in some places.
#[test]
fn a_signature_that_lies_nowhere_is_refused() {
    let said = |chart: &str, versions: &str| {
        let chart = format!("chart: {{{chart}}}");
        let text = PLUGIN.replacen("chart: {oci: oci://registry.example/loki}", &chart, 1);
        assert_ne!(text, PLUGIN, "the chart of the plugin is another one");
        problems(&format!("{text}    versions: {{signed: {{{versions}}}}}\n"))
    };
    let cosign = "cosign: \"-----BEGIN PUBLIC KEY-----\\nMFkw\\n-----END PUBLIC KEY-----\"";
    let http = said("repository: https://charts.example, name: loki", cosign);
    let why = "`versions` of plugin `loki`: signatures of cosign are read in OCI registries alone (write `pgp:`, or";
    assert!(http.len() == 1 && http[0].contains(why), "{http:?}");
    let tags = said("git: https://git.example/acme/x, tag: \"v{version}\"", cosign);
    let why = "`versions` of plugin `loki`: no signatures of tags are read (take `signed` out)";
    assert!(tags.len() == 1 && tags[0].contains(why), "{tags:?}");
}
