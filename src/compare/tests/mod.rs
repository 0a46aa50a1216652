//! Charts with one difference each: it is named, and nothing else. The same with packages of Helm itself is in
//! `tests/peers`.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod archives;
mod definitions;

use std::collections::BTreeMap;

use super::What;
use super::chart::Chart;
use super::package::Bounds;

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
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rules.acme.example}\n\
    spec:\n  group: acme.example\n  scope: Namespaced\n  versions:\n  - {name: v1alpha1, served: true, storage: false}\n  \
    - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
    properties:\n          spec:\n            type: object\n            properties:\n              text: {type: string}\n              \
    every: {type: integer}\n";

pub(super) type Text = BTreeMap<&'static str, String>;

pub(super) fn text() -> Text {
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

pub(super) fn chart(files: &Text) -> Chart {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes())).collect();
    Chart::of(files, &mut Bounds::new()).unwrap()
}

/// What is found where these texts are replaced: `file`, `before`, `after`.
fn found(edits: &[(&'static str, &str, &str)]) -> Vec<(What, String)> {
    let old = text();
    let mut new = old.clone();
    for (file, before, after) in edits {
        let text = new.entry(file).or_default();
        assert!(before.is_empty() || text.matches(before).count() == 1, "{before:?} in {file}");
        *text = if before.is_empty() { format!("{text}{after}") } else { text.replacen(before, after, 1) };
        if text.is_empty() {
            new.remove(file);
        }
    }
    let report = super::compare(&chart(&old), &chart(&new));
    report.changes.into_iter().map(|change| (change.what, change.at)).collect()
}

#[test]
fn each_difference_is_named_and_nothing_else() {
    let (chart, values, schema) = ("Chart.yaml", "values.yaml", "values.schema.json");
    let (template, crd, minio) = ("templates/deployment.yaml", "crds/rules.yaml", "charts/minio/values.yaml");
    let cases: &[((&'static str, &str, &str), &[(What, &str)])] = &[
        ((chart, "version: 1.0.0", "version: 1.1.0"), &[]),
        ((values, "replicas: 2", "# two are enough\nreplicas: 2"), &[]),
        ((values, "replicas: 2", "replicas: 3"), &[(What::DefaultChanged, "replicas")]),
        ((values, "replicas: 2", "replicas: two"), &[(What::ValueRetyped, "replicas")]),
        ((values, ", type: ClusterIP", ""), &[(What::ValueRemoved, "service.type")]),
        ((values, "service: {port", "service: {nodePort: 1, port"), &[(What::ValueAdded, "service.nodePort")]),
        ((values, "extra: {}", "extra: {a: 1}"), &[(What::DefaultChanged, "extra")]),
        ((values, "[a, b]", "[a]"), &[(What::DefaultChanged, "hosts")]),
        (
            (values, "team\": logs", "unit\": logs"),
            &[
                (What::ValueRemoved, "annotations[\"acme.example/team\"]"),
                (What::ValueAdded, "annotations[\"acme.example/unit\"]"),
            ],
        ),
        ((values, "tag: \"3.0\"", "tag: \"3.1\""), &[(What::Image, "image")]),
        ((values, "repository: acme/loki", "repository: other/loki"), &[(What::Image, "image")]),
        ((values, "rules:1.0", "rules:2.0"), &[(What::Image, "sidecarImage")]),
        ((values, "sidecarImage: acme/rules:1.0\n", ""), &[(What::ImageRemoved, "sidecarImage")]),
        ((values, "", "proxyImage: acme/proxy:1.0\n"), &[(What::ImageAdded, "proxyImage")]),
        (
            (schema, "\"required\": [\"replicas\"]", "\"required\": [\"license\", \"replicas\"]"),
            &[(What::OptionRequired, "license")],
        ),
        (
            (schema, "\"required\": [\"replicas\"]", "\"required\": [\"replicas\", \"name\"]"),
            &[(What::OptionRequiredWithDefault, "name")],
        ),
        ((schema, "\"required\": [\"replicas\"], ", ""), &[(What::OptionOptional, "replicas")]),
        ((schema, "\"license\": {\"type\": [\"string\", \"null\"]},", ""), &[(What::OptionRemoved, "license")]),
        ((schema, "\"license\":", "\"token\": {}, \"license\":"), &[(What::OptionAdded, "token")]),
        (
            (schema, "{\"port\": {\"type\": \"integer\"}", "{\"port\": {\"type\": \"string\"}"),
            &[(What::OptionRetyped, "service.port")],
        ),
        ((schema, "[\"string\", \"null\"]", "\"string\""), &[(What::OptionNarrowed, "license")]),
        ((schema, "[\"ClusterIP\", \"NodePort\"]", "[\"ClusterIP\"]"), &[(What::OptionNarrowed, "service.type")]),
        (
            (schema, "[\"ClusterIP\", \"NodePort\"]", "[\"ClusterIP\", \"NodePort\", \"None\"]"),
            &[(What::OptionWidened, "service.type")],
        ),
        ((schema, "\"maximum\": 9", "\"maximum\": 5"), &[(What::OptionNarrowed, "replicas")]),
        ((schema, "\"maxLength\": 20", "\"maxLength\": 30"), &[(What::OptionWidened, "name")]),
        (
            (
                schema,
                "{\"type\": \"string\", \"maxLength\"",
                "{\"type\": \"string\", \"pattern\": \"^a\", \"maxLength\"",
            ),
            &[(What::OptionNarrowed, "name")],
        ),
        (
            (
                schema,
                "{\"type\": \"object\", \"required\"",
                "{\"type\": \"object\", \"additionalProperties\": false, \"required\"",
            ),
            &[(What::OptionsClosed, "values")],
        ),
        (
            (schema, "\"properties\": {\"path\"", "\"required\": [\"path\"], \"properties\": {\"path\""),
            &[(What::OptionNarrowed, "volumes[].path")],
        ),
        (
            (template, "kind: Deployment\n", "kind: StatefulSet\n"),
            &[(What::TemplateChanged, "templates/deployment.yaml")],
        ),
        (
            (template, "init:1.0", "init:2.0"),
            &[(What::Image, "templates/deployment.yaml 1"), (What::TemplateChanged, "templates/deployment.yaml")],
        ),
        (
            (template, "{{ .Values.replicas }}", "{{ required \"say \\\"how\\\" many\" .Values.license | int }}"),
            &[(What::OptionRequired, "license"), (What::TemplateChanged, "templates/deployment.yaml")],
        ),
        (
            (template, "{{ .Values.replicas }}", "{{ $.Values.service.port | required `which` }}"),
            &[(What::TemplateChanged, "templates/deployment.yaml")],
        ),
        (("templates/service.yaml", "", "kind: Service\n"), &[(What::TemplateAdded, "templates/service.yaml")]),
        (
            (template, TEMPLATE, ""),
            &[
                (What::ImageRemoved, "templates/deployment.yaml 1"),
                (What::TemplateRemoved, "templates/deployment.yaml"),
            ],
        ),
        ((crd, CRD, ""), &[(What::CrdRemoved, "rules.acme.example")]),
        ((crd, "Namespaced", "Cluster"), &[(What::CrdScope, "rules.acme.example")]),
        (
            (crd, "{name: v1alpha1, served: true", "{name: v1alpha1, served: false"),
            &[(What::CrdVersionGone, "rules.acme.example v1alpha1")],
        ),
        (
            (crd, "  - {name: v1alpha1, served: true, storage: false}\n", ""),
            &[(What::CrdVersionGone, "rules.acme.example v1alpha1")],
        ),
        (
            (crd, "  - {name: v1alpha1", "  - {name: v2, served: true, storage: false}\n  - {name: v1alpha1"),
            &[(What::CrdVersionAdded, "rules.acme.example v2")],
        ),
        (
            (crd, "text: {type: string}", "text: {type: boolean}"),
            &[(What::CrdFieldRetyped, "spec.text of rules.acme.example v1")],
        ),
        (
            (crd, "text: {type: string}", "text: {type: string, enum: [a]}"),
            &[(What::CrdFieldNarrowed, "spec.text of rules.acme.example v1")],
        ),
        (
            (crd, "              every: {type: integer}\n", ""),
            &[(What::CrdFieldRemoved, "spec.every of rules.acme.example v1")],
        ),
        (
            (crd, "every: {", "later: {type: string}\n              every: {"),
            &[(What::CrdFieldAdded, "spec.later of rules.acme.example v1")],
        ),
        (
            (crd, "          spec:\n", "          spec:\n            required: [text]\n"),
            &[(What::CrdFieldRequired, "spec.text of rules.acme.example v1")],
        ),
        ((chart, "name: loki", "name: loki-stack"), &[(What::ChartRenamed, "Chart.yaml")]),
        ((chart, "1.25.0", "1.29.0"), &[(What::KubeVersion, "Chart.yaml")]),
        ((chart, "", "type: library\n"), &[(What::ChartType, "Chart.yaml")]),
        ((chart, "", "type: application\n"), &[]),
        ((chart, "", "deprecated: true\n"), &[(What::Deprecated, "Chart.yaml")]),
        ((chart, "5.0.0", "5.1.0"), &[(What::DependencyVersion, "minio")]),
        ((chart, "https://charts.example", "oci://charts.example"), &[(What::DependencyRepository, "minio")]),
        ((chart, "minio.enabled", "store.enabled"), &[(What::DependencyCondition, "minio")]),
        (
            (chart, "dependencies:\n", "dependencies:\n- {name: redis, version: 1.0.0}\n"),
            &[(What::DependencyAdded, "redis")],
        ),
        ((minio, "size: 1Gi", "size: 2Gi"), &[(What::DefaultChanged, "minio.size")]),
        ((minio, "mode: single\n", ""), &[(What::ValueRemoved, "minio.mode")]),
    ];
    for (edit, wanted) in cases {
        let wanted: Vec<(What, String)> = wanted.iter().map(|(what, at)| (*what, (*at).to_owned())).collect();
        assert_eq!(found(&[*edit]), wanted, "{edit:?}");
    }
}

#[test]
fn a_version_that_objects_may_be_stored_in_must_be_served() {
    let moved = ("crds/rules.yaml", "served: true, storage: false", "served: true, storage: true");
    let gone = (
        "crds/rules.yaml",
        "  - name: v1\n    served: true\n    storage: true",
        "  - name: v1\n    served: false\n    storage: false",
    );
    let kept = ("crds/rules.yaml", "    storage: true", "    storage: false");
    let name = "rules.acme.example".to_owned();
    assert_eq!(found(&[moved, kept]), [(What::CrdStorage, name.clone())]);
    let found = found(&[moved, gone]);
    assert_eq!(found, [(What::CrdStoredVersionGone, format!("{name} v1")), (What::CrdStorage, name)]);
    assert!(found[0].0.is_breaking());
}

#[test]
fn a_custom_resource_in_a_template_is_read_as_far_as_it_goes() {
    let (head, rest) = CRD.split_once("spec:\n").unwrap();
    let template = format!(
        "{{{{- if .Values.crds }}}}\n{head}  # x\n  {{{{- with .Values.labels\n    | toYaml }}}}\n  labels: {{{{ . }}}}\n  \
         {{{{- end }}}}\nspec:\n{rest}{{{{- end }}}}\n"
    );
    let mut old = text();
    old.remove("crds/rules.yaml");
    old.insert("templates/crd.yaml", template.clone());
    let mut new = old.clone();
    new.insert("templates/crd.yaml", template.replace("text: {type: string}", "text: {type: boolean}"));
    let report = super::compare(&chart(&old), &chart(&new));
    let found: Vec<What> = report.changes.iter().map(|change| change.what).collect();
    assert_eq!(found, [What::CrdFieldRetyped, What::TemplateChanged]);
    assert!(
        report.diffs[0].text.contains("-              text: {type: string}\n+              text: {type: boolean}\n")
    );
    // What cannot be read is said.
    new.insert("templates/crd.yaml", format!("{template}: [\n"));
    let report = super::compare(&chart(&old), &chart(&new));
    assert_eq!(report.changes[0].what, What::CrdRemoved);
    assert_eq!(report.changes[1].what, What::Unread, "{:?}", report.changes);
}

#[test]
fn what_would_take_for_ever_is_said_and_left() {
    // A schema that refers to itself twice.
    let twice = |most: usize| {
        format!("{{\"maxLength\": {most}, \"properties\": {{\"a\": {{\"$ref\": \"#\"}}, \"b\": {{\"$ref\": \"#\"}}}}}}")
    };
    let (mut old, mut new) = (text(), text());
    old.insert("values.schema.json", twice(2));
    new.insert("values.schema.json", twice(1));
    // And a template in which no line is what it was.
    old.insert("templates/long.yaml", (0..30_000).map(|line| format!("a{line}\n")).collect());
    new.insert("templates/long.yaml", (0..30_000).map(|line| format!("b{line}\n")).collect());
    let report = super::compare(&chart(&old), &chart(&new));
    let said: Vec<String> = report.changes.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "values.schema.json could not be compared: it is too large, or refers to itself",
            "the file templates/long.yaml has changed: in too many lines to be shown",
        ]
    );
}

#[test]
fn what_an_author_writes_stays_one_short_line() {
    let evil = "\"\\u202e\\n::set-output\\u0007\": 1\n";
    let long = format!("long: {}\n", "x".repeat(5000));
    let mut new = text();
    new.get_mut("values.yaml").unwrap().push_str(&format!("{evil}{long}"));
    let report = super::compare(&chart(&text()), &chart(&new));
    assert_eq!(report.changes.len(), 2);
    for change in &report.changes {
        let line = change.to_string();
        assert!(line.len() < 300 && !line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
