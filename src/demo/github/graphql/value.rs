//! What a resolved field is: a scalar, an object that resolves on, or a list.

use std::collections::BTreeMap;

use serde_json::Value;

use super::query::{Arguments, Fault};

/// A resolved field.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A scalar, or null.
    Leaf(Value),
    /// An object.
    Object(Object),
    /// A list.
    List(Vec<Resolved>),
}

/// An object of the graph. The large ones resolve their fields when asked; the small ones carry them.
#[derive(Clone, Debug)]
pub enum Object {
    /// The root.
    Query,
    /// The root of writes.
    Mutation,
    /// A repository by id.
    Repository(u64),
    /// A pull request by repository and number.
    Pull(u64, u64),
    /// A commit by repository and id.
    Commit(u64, String),
    /// A ref by repository and full name.
    Ref(u64, String),
    /// A check suite: all check runs of one App on one commit.
    Suite(u64, String, u64),
    /// All checks and statuses of a commit as one.
    Rollup(u64, String),
    /// A team by organization and slug.
    Team(String, String),
    /// A type's name with all its fields.
    Ready(&'static str, BTreeMap<&'static str, Resolved>),
}

impl Object {
    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Mutation => "Mutation",
            Self::Repository(_) => "Repository",
            Self::Pull(_, _) => "PullRequest",
            Self::Commit(_, _) => "Commit",
            Self::Ref(_, _) => "Ref",
            Self::Suite(_, _, _) => "CheckSuite",
            Self::Rollup(_, _) => "StatusCheckRollup",
            Self::Team(_, _) => "Team",
            Self::Ready(name, _) => name,
        }
    }
}

impl<T: Into<Value>> From<T> for Resolved {
    fn from(value: T) -> Self {
        Self::Leaf(value.into())
    }
}

/// No value.
pub fn null() -> Resolved {
    Resolved::Leaf(Value::Null)
}

/// An object that carries its fields.
pub fn ready(name: &'static str, fields: impl IntoIterator<Item = (&'static str, Resolved)>) -> Resolved {
    Resolved::Object(Object::Ready(name, fields.into_iter().collect()))
}

/// One page of a connection. Each item has a key of its own, so that a cursor still fits when items
/// before it came or went.
pub fn connection(
    name: &'static str,
    arguments: &Arguments,
    items: Vec<(String, Resolved)>,
) -> Result<Resolved, Fault> {
    connection_with(name, arguments, items, &[], |_| BTreeMap::new())
}

/// The same with fields of its own and of each edge.
pub fn connection_with(
    name: &'static str,
    arguments: &Arguments,
    items: Vec<(String, Resolved)>,
    own: &[(&'static str, Resolved)],
    edge: impl Fn(&str) -> BTreeMap<&'static str, Resolved>,
) -> Result<Resolved, Fault> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let field = &arguments.field;
    let number = |key: &str| arguments.get(key).and_then(Value::as_i64);
    let (first, last) = (number("first"), number("last"));
    let Some(size) = first.or(last).or(arguments.counts_only.then_some(0)) else {
        return Err(Fault::new(
            "MISSING_PAGINATION_BOUNDARIES",
            format!("You must provide a `first` or `last` value to properly paginate the `{field}` connection."),
        ));
    };
    if !(0..=100).contains(&size) {
        return Err(Fault::new(
            "EXCESSIVE_PAGINATION",
            format!("Requesting {size} records on the `{field}` connection exceeds the `first` limit of 100 records."),
        ));
    }
    let cursor = |index: usize, key: &str| STANDARD.encode(format!("{index}:{key}"));
    let position = |key: &str| -> Result<Option<usize>, Fault> {
        let Some(text) = arguments.get(key).and_then(Value::as_str) else { return Ok(None) };
        let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let invalid =
            || Fault::new("INVALID_CURSOR_ARGUMENTS", format!("`{text}` does not appear to be a valid cursor."));
        let decoded = decoded.ok_or_else(invalid)?;
        let (index, key) = decoded.split_once(':').ok_or_else(invalid)?;
        let index = index.parse::<usize>().map_err(|_| invalid())?;
        Ok(Some(items.iter().position(|(have, _)| have == key).unwrap_or(index)))
    };
    let total = items.len();
    let mut start = position("after")?.map_or(0, |at| (at + 1).min(total));
    let mut end = position("before")?.unwrap_or(total).clamp(start, total);
    let size = size as usize;
    if first.is_some() {
        end = end.min(start + size);
    } else {
        start = start.max(end.saturating_sub(size));
    }
    let page: Vec<(usize, &(String, Resolved))> = items.iter().enumerate().skip(start).take(end - start).collect();
    let at = |entry: Option<&(usize, &(String, Resolved))>| match entry {
        Some((index, (key, _))) => Resolved::from(cursor(*index, key)),
        None => null(),
    };
    let info = ready(
        "PageInfo",
        [
            ("hasNextPage", (end < total).into()),
            ("hasPreviousPage", (start > 0).into()),
            ("startCursor", at(page.first())),
            ("endCursor", at(page.last())),
        ],
    );
    let edges = page.iter().map(|(index, (key, item))| {
        let mut fields = edge(key);
        fields.insert("cursor", cursor(*index, key).into());
        fields.insert("node", item.clone());
        Resolved::Object(Object::Ready("Edge", fields))
    });
    let edges = Resolved::List(edges.collect());
    let nodes = Resolved::List(page.iter().map(|(_, (_, item))| item.clone()).collect());
    let mut fields: BTreeMap<&'static str, Resolved> = own.iter().cloned().collect();
    fields.extend([("totalCount", total.into()), ("nodes", nodes), ("edges", edges), ("pageInfo", info)]);
    Ok(Resolved::Object(Object::Ready(name, fields)))
}
