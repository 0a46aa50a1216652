//! Runs a checked query: merges selections, follows fragments, resolves field by field.

use std::collections::BTreeMap;

use graphql_parser::query::{Directive, Field, Selection, SelectionSet, TypeCondition};
use serde_json::{Map, Value, json};

use super::query::{Arguments, Fault, Fragments, literal};
use super::schema::SCHEMA;
use super::value::{Object, Resolved, null};
use crate::github::standing::Standing;
use crate::github::state::{Actor, World};

type Set = SelectionSet<'static, String>;

/// One query at work.
pub struct Executor<'a> {
    /// The world.
    pub world: &'a mut World,
    /// Who asks.
    pub actor: &'a Actor,
    /// What could not be resolved.
    pub errors: Vec<Value>,
    variables: BTreeMap<String, Value>,
    fragments: Fragments<'a>,
    standings: BTreeMap<(u64, u64), Standing>,
}

/// One step on the way to a field.
pub type Path = Vec<Value>;

impl<'a> Executor<'a> {
    /// A query that starts.
    pub fn new(
        world: &'a mut World,
        actor: &'a Actor,
        variables: BTreeMap<String, Value>,
        fragments: Fragments<'a>,
    ) -> Self {
        Self { world, actor, errors: Vec::new(), variables, fragments, standings: BTreeMap::new() }
    }

    /// How a pull request stands; read once a query, so that all its fields agree.
    pub fn standing(&mut self, id: u64, number: u64) -> Result<Standing, Fault> {
        if let Some(known) = self.standings.get(&(id, number)) {
            return Ok(known.clone());
        }
        let standing = self.world.standing_read(id, number)?;
        self.standings.insert((id, number), standing.clone());
        Ok(standing)
    }

    /// Resolves the selections on an object.
    pub fn select(&mut self, object: &Object, sets: &[&Set], path: &mut Path) -> Value {
        let mut groups: Vec<(String, Vec<Field<'static, String>>)> = Vec::new();
        for set in sets {
            self.collect(object.type_name(), set, &mut groups);
        }
        let mut map = Map::new();
        for (key, fields) in groups {
            let Some(field) = fields.first() else { continue };
            path.push(key.clone().into());
            let value = if field.name == "__typename" {
                object.type_name().into()
            } else {
                let resolved = self.resolve(object, field).unwrap_or_else(|fault| {
                    self.errors.push(json!({
                        "type": fault.kind, "path": path, "message": fault.message,
                        "locations": [{"line": field.position.line, "column": field.position.column}],
                    }));
                    null()
                });
                let sets: Vec<&Set> = fields.iter().map(|field| &field.selection_set).collect();
                self.complete(resolved, &sets, path)
            };
            path.pop();
            map.insert(key, value);
        }
        Value::Object(map)
    }

    fn complete(&mut self, resolved: Resolved, sets: &[&Set], path: &mut Path) -> Value {
        match resolved {
            Resolved::Leaf(value) => value,
            Resolved::Object(object) => self.select(&object, sets, path),
            Resolved::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    path.push(index.into());
                    values.push(self.complete(item, sets, path));
                    path.pop();
                }
                Value::Array(values)
            }
        }
    }

    /// Fields by the key they answer under; the same key twice is one field with both selections.
    fn collect(&self, on: &str, set: &Set, groups: &mut Vec<(String, Vec<Field<'static, String>>)>) {
        for selection in &set.items {
            match selection {
                Selection::Field(field) => {
                    if !self.wanted(&field.directives) {
                        continue;
                    }
                    let key = field.alias.as_ref().unwrap_or(&field.name);
                    match groups.iter_mut().find(|(have, _)| have == key) {
                        Some((_, fields)) => fields.push(field.clone()),
                        None => groups.push((key.clone(), vec![field.clone()])),
                    }
                }
                Selection::InlineFragment(inline) => {
                    let fits = match &inline.type_condition {
                        Some(TypeCondition::On(name)) => SCHEMA.is(on, name),
                        None => true,
                    };
                    if fits && self.wanted(&inline.directives) {
                        self.collect(on, &inline.selection_set, groups);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.fragments.get(spread.fragment_name.as_str()) else { continue };
                    let TypeCondition::On(name) = &fragment.type_condition;
                    if SCHEMA.is(on, name) && self.wanted(&spread.directives) {
                        self.collect(on, &fragment.selection_set, groups);
                    }
                }
            }
        }
    }

    /// `@include` and `@skip`.
    fn wanted(&self, directives: &[Directive<'static, String>]) -> bool {
        directives.iter().all(|directive| {
            let condition = directive.arguments.iter().find(|(name, _)| name == "if");
            let holds = condition.is_some_and(|(_, value)| literal(value, &self.variables) == Value::Bool(true));
            match directive.name.as_str() {
                "include" => holds,
                "skip" => !holds,
                _ => true,
            }
        })
    }

    fn resolve(&mut self, object: &Object, field: &Field<'static, String>) -> Result<Resolved, Fault> {
        let values =
            field.arguments.iter().map(|(name, value)| (name.clone(), literal(value, &self.variables))).collect();
        let counts_only = field.selection_set.items.iter().all(|selection| match selection {
            Selection::Field(field) => !matches!(field.name.as_str(), "nodes" | "edges" | "pageInfo"),
            Selection::InlineFragment(_) | Selection::FragmentSpread(_) => false,
        });
        let arguments = Arguments { field: field.name.clone(), counts_only, values };
        let name = field.name.as_str();
        match object {
            Object::Query => self.root(name, &arguments),
            Object::Mutation => self.mutation(name, &arguments),
            Object::Repository(id) => self.repository(*id, name, &arguments),
            Object::Pull(id, number) => self.pull(*id, *number, name, &arguments),
            Object::Commit(id, sha) => self.commit(*id, sha, name, &arguments),
            Object::Ref(id, full) => self.git_ref(*id, full, name, &arguments),
            Object::Suite(id, sha, app) => self.suite(*id, sha, *app, name, &arguments),
            Object::Rollup(id, sha) => self.rollup(*id, sha, name, &arguments),
            Object::Team(org, slug) => self.team(org, slug, name, &arguments),
            Object::Ready(_, fields) => self.ready(fields, name, &arguments),
        }
    }

    /// A field that an object carries; what it does not carry is empty or null.
    fn ready(
        &mut self,
        fields: &BTreeMap<&'static str, Resolved>,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Resolved, Fault> {
        match (fields.get(name), name) {
            (None, "reactionGroups" | "entries" | "errors") => Ok(Resolved::List(Vec::new())),
            (None, "comments") => super::value::connection("PullRequestReviewCommentConnection", arguments, Vec::new()),
            (None, "isRequired") => Ok(self.required(fields, arguments)),
            (None, "team") => match fields.get("__org") {
                Some(Resolved::Leaf(Value::String(org))) => {
                    Ok(self.team_of(&org.clone(), arguments.text("slug").unwrap_or_default()))
                }
                Some(_) | None => Ok(null()),
            },
            // Of a commit status: one context by name.
            (None, "context") => Ok(one_context(fields, arguments.text("name").unwrap_or_default())),
            (None, _) => Ok(null()),
            (Some(found), _) => Ok(found.clone()),
        }
    }
}

fn one_context(fields: &BTreeMap<&'static str, Resolved>, wanted: &str) -> Resolved {
    let Some(Resolved::List(items)) = fields.get("contexts") else { return null() };
    let named = |item: &&Resolved| match item {
        Resolved::Object(Object::Ready(_, fields)) => {
            matches!(fields.get("context"), Some(Resolved::Leaf(Value::String(name))) if name == wanted)
        }
        Resolved::Object(_) | Resolved::Leaf(_) | Resolved::List(_) => false,
    };
    items.iter().find(named).cloned().unwrap_or_else(null)
}
