//! A chart, and differences that are planted in it: each with what has to be found, and nothing else. The tests of this
//! package read them as they stand here, `tests/peers` as Helm packages them.

use std::collections::BTreeMap;

use super::What;

const CHART: &str = "apiVersion: v2\nname: loki\nversion: 1.0.0\nappVersion: \"3.0\"\nkubeVersion: \">=1.25.0-0\"\n\
    dependencies:\n- {name: minio, version: 5.0.0, repository: https://charts.example, condition: minio.enabled}\n";
const VALUES: &str = "replicas: 2\nname: loki\nextra: {}\nservice: {port: 80, type: ClusterIP}\nhosts: [a, b]\n\
    image: {repository: acme/loki, tag: \"3.0\"}\nsidecarImage: acme/rules:1.0\nlicense: null\n\
    annotations: {\"acme.example/team\": logs}\n";
const SCHEMA: &str = r##"{"type": "object", "required": ["replicas"], "properties": {
    "replicas": {"type": "integer", "minimum": 1, "maximum": 9}, "name": {"type": "string", "maxLength": 20},
    "service": {"$ref": "#/definitions/service"}, "license": {"type": ["string", "null"]},
    "hosts": {"type": "array", "items": {"type": "string"}},
    "volumes": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}}},
    "definitions": {"service": {"type": "object", "properties": {"port": {"type": "integer"},
        "type": {"enum": ["ClusterIP", "NodePort"]}}}}}"##;
const TEMPLATE: &str =
    "kind: Deployment\nspec:\n  replicas: {{ .Values.replicas }}\n  containers:\n  - image: acme/init:1.0\n";
pub const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rules.acme.example}\n\
    spec:\n  group: acme.example\n  scope: Namespaced\n  versions:\n  - {name: v1alpha1, served: true, storage: false}\n  \
    - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
    properties:\n          spec:\n            type: object\n            properties:\n              text: {type: string}\n              \
    every: {type: integer}\n";

/// Files by their path.
pub type Text = BTreeMap<&'static str, String>;

/// A part of a file that is replaced: the file, the part (empty = its end), what comes there.
pub type Edit = (&'static str, &'static str, &'static str);

/// What is planted, and what has to be found.
pub type Planted = (&'static [Edit], &'static [(What, &'static str)]);

/// The chart.
pub fn text() -> Text {
    let minio = "apiVersion: v2\nname: minio\nversion: 5.0.0\nappVersion: \"2026\"\n";
    let files = [
        ("Chart.yaml", CHART),
        ("values.yaml", VALUES),
        ("values.schema.json", SCHEMA),
        ("templates/deployment.yaml", TEMPLATE),
        ("crds/rules.yaml", CRD),
        ("charts/minio/Chart.yaml", minio),
        ("charts/minio/values.yaml", "size: 1Gi\nmode: single\n"),
    ];
    files.map(|(path, text)| (path, text.to_owned())).into()
}

/// The chart with other parts.
pub fn edited(edits: &[Edit]) -> Text {
    let mut files = text();
    for (file, before, after) in edits {
        let text = files.entry(file).or_default();
        assert!(before.is_empty() || text.matches(before).count() == 1, "{before:?} in {file}");
        *text = if before.is_empty() { format!("{text}{after}") } else { text.replacen(before, after, 1) };
        if text.is_empty() {
            files.remove(file);
        }
    }
    files
}

const META: &str = "Chart.yaml";
const SETS: &str = "values.yaml";
const ASKS: &str = "values.schema.json";
const MADE: &str = "templates/deployment.yaml";
const KIND: &str = "crds/rules.yaml";
const PART: &str = "charts/minio/values.yaml";

/// Everything that is planted.
pub const PLANTED: &[Planted] = &[
    (&[(META, "version: 1.0.0", "version: 1.1.0")], &[]),
    (&[(SETS, "replicas: 2", "# two are enough\nreplicas: 2")], &[]),
    (&[(SETS, "replicas: 2", "replicas: 3")], &[(What::DefaultChanged, "replicas")]),
    (&[(SETS, "replicas: 2", "replicas: two")], &[(What::ValueRetyped, "replicas")]),
    (&[(SETS, ", type: ClusterIP", "")], &[(What::ValueRemoved, "service.type")]),
    (&[(SETS, "service: {port", "service: {nodePort: 1, port")], &[(What::ValueAdded, "service.nodePort")]),
    (&[(SETS, "extra: {}", "extra: {a: 1}")], &[(What::DefaultChanged, "extra")]),
    (&[(SETS, "[a, b]", "[a]")], &[(What::DefaultChanged, "hosts")]),
    (
        &[(SETS, "team\": logs", "unit\": logs")],
        &[
            (What::ValueRemoved, "annotations[\"acme.example/team\"]"),
            (What::ValueAdded, "annotations[\"acme.example/unit\"]"),
        ],
    ),
    (&[(SETS, "tag: \"3.0\"", "tag: \"3.1\"")], &[(What::Image, "image")]),
    (&[(SETS, "repository: acme/loki", "repository: other/loki")], &[(What::Image, "image")]),
    (&[(SETS, "rules:1.0", "rules:2.0")], &[(What::Image, "sidecarImage")]),
    (&[(SETS, "sidecarImage: acme/rules:1.0\n", "")], &[(What::ImageRemoved, "sidecarImage")]),
    (&[(SETS, "", "proxyImage: acme/proxy:1.0\n")], &[(What::ImageAdded, "proxyImage")]),
    (
        &[(ASKS, "\"required\": [\"replicas\"]", "\"required\": [\"license\", \"replicas\"]")],
        &[(What::OptionRequired, "license")],
    ),
    (
        &[(ASKS, "\"required\": [\"replicas\"]", "\"required\": [\"replicas\", \"name\"]")],
        &[(What::OptionRequiredWithDefault, "name")],
    ),
    (&[(ASKS, "\"required\": [\"replicas\"], ", "")], &[(What::OptionOptional, "replicas")]),
    (&[(ASKS, "\"license\": {\"type\": [\"string\", \"null\"]},", "")], &[(What::OptionRemoved, "license")]),
    (&[(ASKS, "\"license\":", "\"token\": {}, \"license\":")], &[(What::OptionAdded, "token")]),
    (
        &[(ASKS, "{\"port\": {\"type\": \"integer\"}", "{\"port\": {\"type\": \"string\"}")],
        &[(What::OptionRetyped, "service.port")],
    ),
    (&[(ASKS, "[\"string\", \"null\"]", "\"string\"")], &[(What::OptionNarrowed, "license")]),
    (&[(ASKS, "[\"ClusterIP\", \"NodePort\"]", "[\"ClusterIP\"]")], &[(What::OptionNarrowed, "service.type")]),
    (
        &[(ASKS, "[\"ClusterIP\", \"NodePort\"]", "[\"ClusterIP\", \"NodePort\", \"None\"]")],
        &[(What::OptionWidened, "service.type")],
    ),
    (&[(ASKS, "\"maximum\": 9", "\"maximum\": 5")], &[(What::OptionNarrowed, "replicas")]),
    (&[(ASKS, "\"maxLength\": 20", "\"maxLength\": 30")], &[(What::OptionWidened, "name")]),
    (
        &[(ASKS, "{\"type\": \"string\", \"maxLength\"", "{\"type\": \"string\", \"pattern\": \"^a\", \"maxLength\"")],
        &[(What::OptionNarrowed, "name")],
    ),
    (
        &[(
            ASKS,
            "{\"type\": \"object\", \"required\"",
            "{\"type\": \"object\", \"additionalProperties\": false, \"required\"",
        )],
        &[(What::OptionsClosed, "values")],
    ),
    (
        &[(ASKS, "\"properties\": {\"path\"", "\"required\": [\"path\"], \"properties\": {\"path\"")],
        &[(What::OptionNarrowed, "volumes[].path")],
    ),
    (&[(MADE, "kind: Deployment\n", "kind: StatefulSet\n")], &[(What::TemplateChanged, "templates/deployment.yaml")]),
    (
        &[(MADE, "init:1.0", "init:2.0")],
        &[(What::Image, "templates/deployment.yaml 1"), (What::TemplateChanged, "templates/deployment.yaml")],
    ),
    (
        &[(MADE, "{{ .Values.replicas }}", "{{ required \"say \\\"how\\\" many\" .Values.license | int }}")],
        &[(What::OptionRequired, "license"), (What::TemplateChanged, "templates/deployment.yaml")],
    ),
    (
        &[(MADE, "{{ .Values.replicas }}", "{{ $.Values.service.port | required `which` }}")],
        &[(What::TemplateChanged, "templates/deployment.yaml")],
    ),
    (&[("templates/service.yaml", "", "kind: Service\n")], &[(What::TemplateAdded, "templates/service.yaml")]),
    (
        &[(MADE, TEMPLATE, "")],
        &[(What::ImageRemoved, "templates/deployment.yaml 1"), (What::TemplateRemoved, "templates/deployment.yaml")],
    ),
    (&[(KIND, CRD, "")], &[(What::CrdRemoved, "rules.acme.example")]),
    (&[(KIND, "Namespaced", "Cluster")], &[(What::CrdScope, "rules.acme.example")]),
    (
        &[(KIND, "{name: v1alpha1, served: true", "{name: v1alpha1, served: false")],
        &[(What::CrdVersionGone, "rules.acme.example v1alpha1")],
    ),
    (
        &[(KIND, "  - {name: v1alpha1, served: true, storage: false}\n", "")],
        &[(What::CrdVersionGone, "rules.acme.example v1alpha1")],
    ),
    (
        &[(KIND, "  - {name: v1alpha1", "  - {name: v2, served: true, storage: false}\n  - {name: v1alpha1")],
        &[(What::CrdVersionAdded, "rules.acme.example v2")],
    ),
    (
        &[(KIND, "text: {type: string}", "text: {type: boolean}")],
        &[(What::CrdFieldRetyped, "spec.text of rules.acme.example v1")],
    ),
    (
        &[(KIND, "text: {type: string}", "text: {type: string, enum: [a]}")],
        &[(What::CrdFieldNarrowed, "spec.text of rules.acme.example v1")],
    ),
    (
        &[(KIND, "              every: {type: integer}\n", "")],
        &[(What::CrdFieldRemoved, "spec.every of rules.acme.example v1")],
    ),
    (
        &[(KIND, "every: {", "later: {type: string}\n              every: {")],
        &[(What::CrdFieldAdded, "spec.later of rules.acme.example v1")],
    ),
    (
        &[(KIND, "          spec:\n", "          spec:\n            required: [text]\n")],
        &[(What::CrdFieldRequired, "spec.text of rules.acme.example v1")],
    ),
    (&[(META, "name: loki", "name: loki-stack")], &[(What::ChartRenamed, "Chart.yaml")]),
    (&[(META, "1.25.0", "1.29.0")], &[(What::KubeVersion, "Chart.yaml")]),
    (&[(META, "", "type: library\n")], &[(What::ChartType, "Chart.yaml")]),
    (&[(META, "", "type: application\n")], &[]),
    (&[(META, "", "deprecated: true\n")], &[(What::Deprecated, "Chart.yaml")]),
    (&[(META, "5.0.0", "5.1.0")], &[(What::DependencyVersion, "minio")]),
    (&[(META, "https://charts.example", "oci://charts.example")], &[(What::DependencyRepository, "minio")]),
    (&[(META, "minio.enabled", "store.enabled")], &[(What::DependencyCondition, "minio")]),
    (
        &[
            (META, "dependencies:\n", "dependencies:\n- {name: redis, version: 1.0.0}\n"),
            ("charts/redis/Chart.yaml", "", "apiVersion: v2\nname: redis\nversion: 1.0.0\n"),
        ],
        &[(What::DependencyAdded, "redis")],
    ),
    (&[(PART, "size: 1Gi", "size: 2Gi")], &[(What::DefaultChanged, "minio.size")]),
    (&[(PART, "mode: single\n", "")], &[(What::ValueRemoved, "minio.mode")]),
];
