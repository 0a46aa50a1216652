//! Whom a value of a document moves, as far as the document says so: by a selector over clusters, by their names or
//! by labels of its own. Which clusters these are is for whoever knows the fleet.

use decide::selector::{Labels, Selector};
use serde_json::Value;

use super::{at, list, text};
use jsonpath::Step;

/// Whom a value moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// The document does not say.
    Unsaid,
    /// All clusters that whoever reads the document knows.
    Everyone,
    /// Clusters with such labels.
    Selected(Selector),
    /// Clusters or tiers of these names; some of them may name neither.
    Named(Vec<String>),
    /// Tiers that such labels belong to.
    Labelled(Labels),
    /// Whom all of them move.
    Both(Vec<Reach>),
    /// Whom one of them moves.
    Either(Vec<Reach>),
    /// Whom the first moves and none of the others, which win over it.
    Without(Box<Reach>, Vec<Reach>),
}

/// Whom the value at a place moves.
pub fn reach(tree: &Value, steps: &[Step]) -> Reach {
    let named = |keys: &[&str]| text(tree, keys).map_or(Reach::Unsaid, |name| Reach::Named(vec![name.to_string()]));
    let group = text(tree, &["apiVersion"]).unwrap_or_default().split('/').next().unwrap_or_default();
    match (group, text(tree, &["kind"])) {
        ("argoproj.io", Some("ApplicationSet")) => application_set(tree, steps),
        ("argoproj.io", Some("Application")) => named(&["spec", "destination", "name"]),
        ("greenhouse.sap", Some("PluginPreset")) => selected(at(tree, &["spec", "clusterSelector"])),
        ("greenhouse.sap", Some("Plugin")) => named(&["spec", "clusterName"]),
        _ => labelled(tree),
    }
}

fn labelled(tree: &Value) -> Reach {
    let Some(labels) = at(tree, &["metadata", "labels"]).and_then(Value::as_object) else { return Reach::Unsaid };
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_string()));
    Reach::Labelled(labels.iter().filter_map(text).collect())
}

/// None and `{}` select all, as Kubernetes has it; what is no selector says nothing.
fn selected(selector: Option<&Value>) -> Reach {
    match selector.map(|value| serde_json::from_value::<Selector>(value.clone())) {
        None => Reach::Everyone,
        Some(Ok(selector)) if selector == Selector::default() => Reach::Everyone,
        Some(Ok(selector)) => Reach::Selected(selector),
        Some(Err(_)) => Reach::Unsaid,
    }
}

/// A value of the template moves whatever the generators make; one of a generator what that makes with it.
fn application_set(tree: &Value, steps: &[Step]) -> Reach {
    let generators = at(tree, &["spec", "generators"]);
    match steps {
        [Step::Key(spec), Step::Key(generators_), rest @ ..] if spec == "spec" && generators_ == "generators" => {
            given(generators, rest)
        }
        _ => Reach::Either(list(tree, &["spec", "generators"]).map(|(_, generator)| all_of(generator)).collect()),
    }
}

/// Whom a whole generator makes applications for.
fn all_of(generator: &Value) -> Reach {
    let below = |kind: &str| list(generator, &[kind, "generators"]).map(|(_, one)| all_of(one)).collect::<Vec<_>>();
    if let Some(clusters) = generator.get("clusters") {
        return selected(clusters.get("selector"));
    }
    if generator.get("matrix").is_some() {
        return Reach::Both(below("matrix"));
    }
    if generator.get("merge").is_some() {
        return below("merge").into_iter().next().unwrap_or(Reach::Unsaid);
    }
    let elements: Vec<Reach> = list(generator, &["list", "elements"]).map(|(_, element)| element_of(element)).collect();
    if elements.is_empty() { Reach::Unsaid } else { Reach::Either(elements) }
}

/// An element of a list goes by whatever names stand in it.
fn element_of(element: &Value) -> Reach {
    let values = element.as_object().into_iter().flatten();
    Reach::Named(values.filter_map(|(_, value)| Some(value.as_str()?.to_string())).collect())
}

/// Whom a value within generators moves.
fn given(generators: Option<&Value>, steps: &[Step]) -> Reach {
    let [Step::Index(index), Step::Key(kind), rest @ ..] = steps else { return Reach::Unsaid };
    let Some(generator) = generators.and_then(|all| all.get(index)) else { return Reach::Unsaid };
    match (kind.as_str(), rest) {
        ("list", [Step::Key(elements), Step::Index(element), ..]) if elements == "elements" => {
            let element = at(generator, &["list", "elements"]).and_then(|all| all.get(element));
            element.map_or(Reach::Unsaid, element_of)
        }
        ("matrix", [Step::Key(key), below @ ..]) if key == "generators" => {
            let others = beside(generator, "matrix", below).into_iter().map(|(_, one)| all_of(one));
            Reach::Both([given(at(generator, &["matrix", "generators"]), below)].into_iter().chain(others).collect())
        }
        ("merge", [Step::Key(key), below @ ..]) if key == "generators" => merged(generator, below),
        _ => all_of(generator),
    }
}

/// The first generator of a merge says which applications there are, later ones win where they give the same key
/// (Argo CD, merge generator).
fn merged(generator: &Value, below: &[Step]) -> Reach {
    let own = given(at(generator, &["merge", "generators"]), below);
    let (Some(Step::Index(index)), Some(Step::Key(key))) = (below.first(), below.last()) else { return Reach::Unsaid };
    let others = beside(generator, "merge", below);
    let base = others.iter().find(|(place, _)| *place == 0).map(|(_, base)| all_of(base));
    let winners = others.iter().filter(|(place, one)| place > index && gives(one, key)).map(|(_, one)| all_of(one));
    let own = Reach::Both([Some(own), base].into_iter().flatten().collect());
    Reach::Without(Box::new(own), winners.collect())
}

fn beside<'a>(generator: &'a Value, kind: &str, below: &[Step]) -> Vec<(usize, &'a Value)> {
    let own = below.first();
    list(generator, &[kind, "generators"]).filter(|(index, _)| own != Some(&Step::Index(*index))).collect()
}

/// Whether a generator gives a value of this name.
fn gives(generator: &Value, key: &str) -> bool {
    let values = generator.as_object().into_iter().flatten().filter_map(|(_, kind)| kind.get("values"));
    values.into_iter().any(|values| values.get(key).is_some())
        || list(generator, &["list", "elements"]).any(|(_, element)| element.get(key).is_some())
}
