//! GraphQL over the same world: any selection of the types in `schema.txt`, not a list of known queries.

mod checks;
mod exec;
mod issues;
mod objects;
mod pulls;
mod query;
mod queue;
mod repository;
mod schema;
mod timeline;
mod value;
mod writes;

use std::collections::BTreeMap;

use graphql_parser::query::{Definition, OperationDefinition, Type, VariableDefinition};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::incoming::Incoming;
use super::state::{Actor, World};
use exec::Executor;
use schema::SCHEMA;
use value::Object;

/// A longer document is refused.
const LIMIT: usize = 1 << 20;

/// Answers a query.
pub fn serve(world: &mut World, actor: &Actor, incoming: &Incoming) -> Answer {
    if incoming.method != axum::http::Method::POST {
        return Answer::not_found();
    }
    if *actor == Actor::Anonymous {
        return Answer::error(401, "This endpoint requires you to be authenticated.");
    }
    let body: Value = match serde_json::from_slice(&incoming.body) {
        Ok(body) => body,
        Err(_) => return Answer::error(400, "Problems parsing JSON"),
    };
    let text = body.get("query").and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() || text.len() > LIMIT {
        return failed(vec![json!({"message": "A query attribute must be specified and must be a string."})]);
    }
    let wanted = body.get("operationName").and_then(Value::as_str);
    let given = body.get("variables").and_then(Value::as_object).cloned().unwrap_or_default();
    run(world, actor, text, wanted, given)
}

fn failed(errors: Vec<Value>) -> Answer {
    Answer::ok(json!({"errors": errors}))
}

fn run(world: &mut World, actor: &Actor, text: &str, wanted: Option<&str>, given: Map<String, Value>) -> Answer {
    let document = match graphql_parser::parse_query::<String>(text) {
        Ok(document) => document.into_static(),
        Err(error) => return failed(vec![json!({"message": format!("Parse error: {error}")})]),
    };
    let mut fragments = BTreeMap::new();
    let mut operation = None;
    for definition in &document.definitions {
        match definition {
            Definition::Fragment(fragment) => {
                fragments.insert(fragment.name.as_str(), fragment);
            }
            Definition::Operation(OperationDefinition::SelectionSet(set)) => {
                operation.get_or_insert((Object::Query, None, set, [].as_slice()));
            }
            Definition::Operation(OperationDefinition::Query(query)) => {
                if wanted.is_none() || query.name.as_deref() == wanted {
                    operation.get_or_insert((
                        Object::Query,
                        query.name.as_deref(),
                        &query.selection_set,
                        query.variable_definitions.as_slice(),
                    ));
                }
            }
            Definition::Operation(OperationDefinition::Mutation(mutation)) => {
                if wanted.is_none() || mutation.name.as_deref() == wanted {
                    operation.get_or_insert((
                        Object::Mutation,
                        mutation.name.as_deref(),
                        &mutation.selection_set,
                        mutation.variable_definitions.as_slice(),
                    ));
                }
            }
            Definition::Operation(OperationDefinition::Subscription(_)) => {
                return failed(vec![json!({"message": "This server has no subscriptions."})]);
            }
        }
    }
    let Some((root, name, set, definitions)) = operation else {
        return failed(vec![json!({"message": "No operation named so"})]);
    };
    *world.requests.entry(format!("GRAPHQL {}", name.unwrap_or("anonymous"))).or_default() += 1;
    let variables = match variables(definitions, given) {
        Ok(variables) => variables,
        Err(errors) => return failed(errors),
    };
    let mut errors = Vec::new();
    let kind = if matches!(root, Object::Mutation) { "mutation" } else { "query" };
    let mut path = vec![name.map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}"))];
    SCHEMA.check(set, root.type_name(), &fragments, &mut path, 0, &mut errors);
    if !errors.is_empty() {
        return failed(errors);
    }
    let mut executor = Executor::new(world, actor, variables, fragments);
    let data = executor.select(&root, &[set], &mut Vec::new());
    let errors = executor.errors;
    Answer::ok(if errors.is_empty() { json!({"data": data}) } else { json!({"data": data, "errors": errors}) })
}

/// Values of the declared variables: given, else the default, else null where null is allowed.
fn variables(
    definitions: &[VariableDefinition<'static, String>],
    mut given: Map<String, Value>,
) -> Result<BTreeMap<String, Value>, Vec<Value>> {
    let mut values = BTreeMap::new();
    let mut errors = Vec::new();
    for definition in definitions {
        let default = definition.default_value.as_ref().map(|value| query::literal(value, &BTreeMap::new()));
        let value = given.remove(&definition.name).or(default).unwrap_or(Value::Null);
        if value.is_null() && matches!(definition.var_type, Type::NonNullType(_)) {
            errors.push(json!({
                "extensions": {"value": null, "problems": [{"path": [], "explanation": "Expected value to not be null"}]},
                "locations": [{"line": definition.position.line, "column": definition.position.column}],
                "message": format!("Variable ${} of type {} was provided invalid value", definition.name, definition.var_type),
            }));
        }
        values.insert(definition.name.clone(), value);
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}
