//! The types that this world answers, and the check of a query against them before it runs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use graphql_parser::query::{Field, Selection, SelectionSet, TypeCondition};
use serde_json::{Value, json};

use super::query::Fragments;

/// Types by name, and the members of abstract ones.
pub struct Schema {
    types: BTreeMap<&'static str, BTreeMap<&'static str, FieldType>>,
    members: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A field: the arguments it takes and the type it gives.
struct FieldType {
    arguments: Vec<&'static str>,
    gives: &'static str,
}

/// The one schema.
pub static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(include_str!("schema.txt")));

/// Fragments within fragments beyond this depth are refused: they may be endless.
const DEPTH: usize = 20;

impl Schema {
    fn parse(text: &'static str) -> Self {
        let mut schema = Self { types: BTreeMap::new(), members: BTreeMap::new() };
        let mut current = "";
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(rest) = line.strip_prefix("abstract ") {
                let (name, members) = rest.split_once(" = ").unwrap_or((rest, ""));
                schema.members.insert(name, members.split(' ').collect());
            } else if let Some(name) = line.strip_prefix("type ") {
                current = name;
                schema.types.entry(name).or_default();
            } else {
                let (head, gives) = line.trim().rsplit_once(' ').unwrap_or((line.trim(), "String"));
                let (name, arguments) = match head.split_once('(') {
                    Some((name, list)) => (name, list.trim_end_matches(')').split(' ').collect()),
                    None => (head, Vec::new()),
                };
                schema.types.entry(current).or_default().insert(name, FieldType { arguments, gives });
            }
        }
        schema
    }

    /// Whether a concrete type is what a condition names: itself, or a member of it.
    pub fn is(&self, concrete: &str, condition: &str) -> bool {
        concrete == condition || self.members.get(condition).is_some_and(|members| members.contains(&concrete))
    }

    /// The names of a type's fields, with their arguments.
    pub fn fields(&self, name: &str) -> Option<impl Iterator<Item = (&'static str, &[&'static str])>> {
        let fields = self.types.get(name)?;
        Some(fields.iter().map(|(name, field)| (*name, field.arguments.as_slice())))
    }

    /// Whether a name is an abstract type.
    pub fn is_abstract(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// All errors of a selection on a type, as GitHub words them.
    pub fn check(
        &self,
        set: &SelectionSet<'static, String>,
        on: &str,
        fragments: &Fragments<'_>,
        path: &mut Vec<String>,
        depth: usize,
        errors: &mut Vec<Value>,
    ) {
        if depth > DEPTH {
            errors.push(json!({"message": "Fragments are nested too deeply, or endlessly"}));
            return;
        }
        for selection in &set.items {
            match selection {
                Selection::Field(field) => self.check_field(field, on, fragments, path, depth, errors),
                Selection::InlineFragment(inline) => {
                    let on = match &inline.type_condition {
                        Some(TypeCondition::On(name)) => name,
                        None => on,
                    };
                    path.push(format!("... on {on}"));
                    if self.types.contains_key(on) {
                        self.check(&inline.selection_set, on, fragments, path, depth + 1, errors);
                    } else {
                        errors.push(no_such_type(on, path));
                    }
                    path.pop();
                }
                Selection::FragmentSpread(spread) => match fragments.get(spread.fragment_name.as_str()) {
                    Some(fragment) => {
                        let TypeCondition::On(on) = &fragment.type_condition;
                        path.push(format!("fragment {}", spread.fragment_name));
                        if self.types.contains_key(on.as_str()) {
                            self.check(&fragment.selection_set, on, fragments, path, depth + 1, errors);
                        } else {
                            errors.push(no_such_type(on, path));
                        }
                        path.pop();
                    }
                    None => errors.push(json!({
                        "path": path, "extensions": {"code": "useAndDefineFragment"},
                        "message": format!("Fragment {} was used, but not defined", spread.fragment_name),
                    })),
                },
            }
        }
    }

    fn check_field(
        &self,
        field: &Field<'static, String>,
        on: &str,
        fragments: &Fragments<'_>,
        path: &mut Vec<String>,
        depth: usize,
        errors: &mut Vec<Value>,
    ) {
        if field.name == "__typename" {
            return;
        }
        path.push(field.alias.clone().unwrap_or_else(|| field.name.clone()));
        let mut fail = |code: &str, message: String, path: &[String]| {
            errors.push(json!({
                "path": path, "extensions": {"code": code, "typeName": on, "fieldName": field.name},
                "locations": [{"line": field.position.line, "column": field.position.column}], "message": message,
            }));
        };
        match self.types.get(on).and_then(|fields| fields.get(field.name.as_str())) {
            None => {
                fail("undefinedField", format!("Field '{}' doesn't exist on type '{on}'", field.name), path);
            }
            Some(found) => {
                for (name, _) in &field.arguments {
                    if !found.arguments.contains(&name.as_str()) {
                        let message = format!("Field '{}' doesn't accept argument '{name}'", field.name);
                        fail("argumentNotAccepted", message, path);
                    }
                }
                let object = self.types.contains_key(found.gives);
                let selected = !field.selection_set.items.is_empty();
                match (object, selected) {
                    (true, true) => {
                        self.check(&field.selection_set, found.gives, fragments, path, depth, errors);
                    }
                    (true, false) => {
                        let (name, gives) = (&field.name, found.gives);
                        let message = format!(
                            "Field must have selections (field '{name}' returns {gives} but has no selections. Did you \
                             mean '{name} {{ ... }}'?)"
                        );
                        fail("selectionMismatch", message, path);
                    }
                    (false, true) => {
                        let message = format!(
                            "Selections can't be made on scalars (field '{}' returns {} but has selections)",
                            field.name, found.gives
                        );
                        fail("selectionMismatch", message, path);
                    }
                    (false, false) => {}
                }
            }
        }
        path.pop();
    }
}

fn no_such_type(name: &str, path: &[String]) -> Value {
    json!({
        "path": path, "extensions": {"code": "undefinedType", "typeName": name},
        "message": format!("No such type {name}, so it can't be a fragment condition"),
    })
}
