//! The keys of signals: the questions to a cluster. Which kinds there are, and what each is told, is listed in
//! `signal`.

use std::borrow::Cow;
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use parse::read::{Form, FromNode, Key, Shape, Spanned};
use parse::report::Report;
use parse::settings::{self, Values};
use parse::tree::Node;
use signal::SignalSpec;
use signal::{KINDS, Kind};

/// The key beside the kind.
const CONNECTION: Key = Key {
    name: "connection",
    required: false,
    about: &[
        "The operator's connection that it is asked through, such as that of a hub where the engine reports.",
        "Default the cluster's own.",
    ],
    form: Form::Credential,
};

/// A question to a cluster, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct SignalFile {
    /// The kinds that stand there, with what each is told; none of a value where that is wrong.
    pub kinds: Vec<Spanned<Option<SignalSpec>>>,
    /// A key stands there that is not known.
    pub strange: bool,
}

impl SignalFile {
    /// The keys of an entry: one for each kind, and those beside them.
    pub fn shape() -> &'static Shape {
        static SHAPE: OnceLock<Shape> = OnceLock::new();
        SHAPE.get_or_init(|| {
            let of = |kind: &&'static Kind| Key {
                name: kind.name,
                required: false,
                about: kind.shape.about,
                form: Form::Map(&kind.shape),
            };
            let keys: Vec<Key> = KINDS.iter().map(of).chain([CONNECTION]).collect();
            Shape {
                what: "signal",
                keys: keys.leak(),
                unsupported: &[],
                about: &["A question to a cluster: one of the kinds below."],
            }
        })
    }

    /// The mappings of all kinds.
    pub fn shapes() -> impl Iterator<Item = &'static Shape> {
        KINDS.iter().flat_map(|kind| all(&kind.shape)).chain([Self::shape()])
    }
}

/// A mapping and those within.
fn all(shape: &'static Shape) -> Vec<&'static Shape> {
    let within =
        shape.keys.iter().filter_map(|key| if let Form::Map(shape) = key.form { Some(all(shape)) } else { None });
    let mut found: Vec<&'static Shape> = within.flatten().collect();
    found.push(shape);
    found
}

impl FromNode for SignalFile {
    fn from_node(node: &Node, report: &mut Report) -> Option<Self> {
        let shape = Self::shape();
        shape.read(node, report, |report| {
            let connection = report.field::<parse::scalar::Credential>(node, CONNECTION.name);
            let through = node.get(CONNECTION.name).map(|entry| entry.at);
            let connection = connection.map(|name| name.value.0);
            let mut file = Self { kinds: Vec::new(), strange: shape.strange(node) };
            for kind in KINDS {
                let Some(entry) = node.get(kind.name) else { continue };
                let value = told(kind, &entry.node, report).map(|values| SignalSpec {
                    kind,
                    values,
                    connection: connection.clone(),
                });
                if let Some(at) = through.filter(|_| !kind.asks_clusters()) {
                    let why = format!("`{}` asks no cluster, so that no connection leads there", kind.name);
                    report.wrong(at, &why, Some("take it out; its own keys say where it is asked"));
                }
                file.kinds.push(Spanned { value, at: entry.node.span, key: entry.at });
            }
            file
        })
    }
}

/// What a kind is told; none when something in it is wrong, which is reported.
pub fn told(kind: &'static Kind, node: &Node, report: &mut Report) -> Option<Values> {
    report.within_key(kind.name, |report| {
        let values = settings::read(&kind.shape, node, report)?;
        match (kind.refuse)(&values) {
            Ok(()) => Some(values),
            Err(refused) => {
                report.wrong(settings::place(node, refused.at), &refused.why, Some(&refused.help));
                None
            }
        }
    })
}

impl JsonSchema for SignalFile {
    fn schema_name() -> Cow<'static, str> {
        "Signal".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties: Vec<Schema> =
            KINDS.iter().map(|kind| settings::reference(&title(kind), &kind.shape, generator)).collect();
        properties.push(generator.subschema_for::<parse::scalar::Credential>());
        Self::shape().schema(properties)
    }
}

/// What the schema calls the settings of a kind: `HelmReleaseSignal`. A strategy is called `canary`, too.
pub fn title(kind: &Kind) -> String {
    format!("{}Signal", settings::pascal(kind.name))
}
