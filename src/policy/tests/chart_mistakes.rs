//! Each mistake in where a chart's releases are.

/// The key of a plugin, its value, and how what is said about it begins (after line and column).
pub(super) const MISTAKES: &[(&str, &str, &str)] = &[
    ("chart", "{}", "`chart` of plugin `loki`: no address"),
    (
        "chart",
        "oci://registry.example/loki",
        "`chart` of plugin `loki`: expected a mapping of `oci`, `repository`, `name`, `catalog`, `path`, `git`, `tag`, `folder`, found a text",
    ),
    (
        "chart",
        "{catalog: 'https://git.example/acme/x'}",
        "`chart` of plugin `loki`: `path` is missing: a catalog holds many definitions (add `path:`",
    ),
    (
        "chart",
        "{path: loki/plugindefinition.yaml}",
        "`chart` of plugin `loki`: `catalog` is missing: a path alone is in no repository",
    ),
    (
        "chart",
        "{catalog: 'https://git.example/acme/x', path: loki/plugindefinition.yaml, oci: oci://registry.example/loki}",
        "`chart` of plugin `loki`: a chart comes from one place (keep `catalog` with `path`, or take both out",
    ),
    (
        "chart",
        "{catalog: 'https://git.example/acme/x', path: plugindefinition.yaml}",
        "`path` of `chart` of plugin `loki`: `plugindefinition.yaml` is not the file of a definition (write its path",
    ),
    (
        "chart",
        "{catalog: 'https://git.example/acme/x', path: ../loki/plugindefinition.yaml}",
        "`path` of `chart` of plugin `loki`: `../loki/plugindefinition.yaml` is not the file of a definition",
    ),
    (
        "chart",
        "{catalog: 'http://git.example/acme/x', path: loki/plugindefinition.yaml}",
        "`catalog` of `chart` of plugin `loki`: `http://git.example/acme/x`: plain HTTP is for loopback only",
    ),
    (
        "chart",
        "{git: 'https://git.example/acme/x'}",
        "`chart` of plugin `loki`: `tag` is missing: which tags are its versions? (add `tag:`",
    ),
    ("chart", "{tag: 'v{version}'}", "`chart` of plugin `loki`: `git` is missing: a tag alone is in no repository"),
    ("chart", "{folder: charts/loki}", "`chart` of plugin `loki`: `git` is missing: a tag alone is in no repository"),
    (
        "chart",
        "{git: 'https://git.example/acme/x', tag: 'v{version}', oci: oci://registry.example/loki}",
        "`chart` of plugin `loki`: a chart comes from one place (keep `git` with `tag`, or take both out",
    ),
    (
        "chart",
        "{git: 'https://git.example/acme/x', tag: v1.0.0}",
        "`tag` of `chart` of plugin `loki`: `v1.0.0` names one tag for all versions (put `{version}` in it",
    ),
    (
        "chart",
        "{git: 'https://git.example/acme/x', tag: 'v{version}', folder: ../x}",
        "`folder` of `chart` of plugin `loki`: `../x` is not a folder of a repository",
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
];
