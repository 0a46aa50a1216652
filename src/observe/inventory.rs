//! What a hub lists, as clusters. A page that cannot be read, an object that is none, a name that two clusters
//! have, a list of nothing: then nothing is known, and never that clusters have left.

use std::collections::BTreeMap;

use decide::ClusterName;
use decide::selector::{Labels, Operator, Selector};
use decide::snapshot::Read;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::inventory::{Kind, Scope};
use crate::inventory::{ListedCluster, SecretRef};
use crate::observe::cluster::{Clusters, ReadError};
use crate::parse::scalar::is_name;
use crate::policy::wiring::Listing;
use crate::signal::{Target, Which, one_line};

/// What a hub listed last: looks come with every ring, and a fleet is a long list.
#[derive(Default)]
pub struct Last(Option<(Listing, Timestamp, Vec<ListedCluster>)>);

impl Last {
    /// The clusters that a hub lists, asked `now` or less than so long before; a list that failed is asked for again.
    pub async fn list(
        &mut self,
        listing: &Listing,
        connections: &Clusters,
        (now, lasts): (Timestamp, SignedDuration),
    ) -> Read<Vec<ListedCluster>> {
        if let Some((known, at, clusters)) = &self.0 {
            let age = now.duration_since(*at);
            if known == listing && !age.is_negative() && age < lasts {
                return Read::Known(clusters.clone());
            }
        }
        let found = list(listing, connections).await;
        self.0 = found.known().map(|clusters| (listing.clone(), now, clusters.clone()));
        found
    }
}

/// The clusters that a hub lists, by name. Unread where anything about the list is in doubt.
pub async fn list(listing: &Listing, connections: &Clusters) -> Read<Vec<ListedCluster>> {
    match objects(listing, connections).await.and_then(|objects| clusters(listing, &objects)) {
        Ok(clusters) => Read::Known(clusters),
        Err(why) => Read::Unread(one_line(&format!("connection `{}`: {why}", listing.connection))),
    }
}

/// Every object of the kind that the file selects, by the first version of its API that the hub serves.
async fn objects(listing: &Listing, connections: &Clusters) -> Result<Vec<Value>, String> {
    let mut missing = String::new();
    for version in listing.kind.versions {
        match connections.list(&listing.connection, &target(listing, version)).await {
            Ok(objects) => return Ok(objects),
            Err(error @ ReadError::NotServed { .. }) => missing = error.to_string(),
            Err(
                error @ (ReadError::NoConnection { .. }
                | ReadError::Denied { .. }
                | ReadError::Unreachable { .. }
                | ReadError::Expired { .. }
                | ReadError::Malformed { .. }),
            ) => return Err(error.to_string()),
        }
    }
    Err(missing)
}

fn target(listing: &Listing, version: &str) -> Target {
    let kind = listing.kind;
    Target {
        group: kind.group.into(),
        version: version.to_string().into(),
        kind: kind.kind.into(),
        plural: kind.plural.into(),
        namespace: listing.namespace.clone(),
        which: Which::Labelled { selector: selector(kind, &listing.select), metadata: kind.metadata },
    }
}

/// What the kind and the file ask of labels, as the API server takes it.
fn selector(kind: &Kind, select: &Selector) -> String {
    let own = kind.label.iter().map(|(key, value)| format!("{key}={value}"));
    let labels = select.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
    let expressions = select.match_expressions.iter().map(|expression| {
        let (key, values) = (&expression.key, expression.values.join(","));
        match expression.operator {
            Operator::In => format!("{key} in ({values})"),
            Operator::NotIn => format!("{key} notin ({values})"),
            Operator::Exists => key.clone(),
            Operator::DoesNotExist => format!("!{key}"),
        }
    });
    own.chain(labels).chain(expressions).collect::<Vec<_>>().join(",")
}

/// What the objects say, in the order of the clusters' names.
fn clusters(listing: &Listing, objects: &[Value]) -> Result<Vec<ListedCluster>, String> {
    let mut found: BTreeMap<ClusterName, (ListedCluster, String)> = BTreeMap::new();
    for object in objects {
        let place = place(listing, object)?;
        let cluster = cluster(listing, object, &place)
            .map_err(|why| format!("{} {}: {why}", listing.kind.kind, place.title()))?;
        let Some(cluster) = cluster else { continue };
        let title = place.title();
        if let Some((other, first)) = found.insert(cluster.name.clone(), (cluster, title.clone())) {
            let (name, kind) = (other.name, listing.kind.kind);
            return Err(format!(
                "two clusters are called {name}: {kind} {first} and {title}; rename one, or leave it out by `select`"
            ));
        }
    }
    if found.is_empty() {
        return Err(nothing(listing, objects.len()));
    }
    Ok(found.into_values().map(|(cluster, _)| cluster).collect())
}

/// A hub without any cluster is not believed: a wrong namespace or label looks the same.
fn nothing(listing: &Listing, objects: usize) -> String {
    let place = listing.namespace.as_ref().map_or(String::new(), |namespace| format!(" in {namespace}"));
    let selector = selector(listing.kind, &listing.select);
    let labels = if selector.is_empty() { String::new() } else { format!(" with {selector}") };
    let what = listing.kind.resource();
    let found = if objects == 0 {
        format!("there are no {what}{place}{labels}")
    } else {
        format!("none of the {objects} {what}{place}{labels} is a member")
    };
    format!("{found}: that is taken for a mistake in `clusters`, not for a fleet without clusters")
}

/// Where an object lies.
struct Place<'a> {
    namespace: Option<&'a str>,
    name: &'a str,
}

impl Place<'_> {
    fn title(&self) -> String {
        match self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.to_string(),
        }
    }
}

/// The object is one of the kind, where it was asked for.
fn place<'a>(listing: &Listing, object: &'a Value) -> Result<Place<'a>, String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = listing.kind.kind;
    // Items of a list name their kind or leave it out.
    if let Some(other) = text("/kind").filter(|other| *other != kind && *other != "PartialObjectMetadata") {
        return Err(format!("an item of the list is a {other}, not a {kind}"));
    }
    let name = text("/metadata/name").ok_or_else(|| format!("a {kind} without a name"))?;
    let namespace = text("/metadata/namespace");
    let namespaced = listing.kind.scope != Scope::Cluster;
    let expected = listing.namespace.as_deref();
    if namespace.is_some() != namespaced || (expected.is_some() && namespace != expected) {
        let found = namespace.unwrap_or("no namespace");
        return Err(format!("{kind} {name} is of {found}, which was not asked for"));
    }
    Ok(Place { namespace, name })
}

/// The cluster that an object is; none where it is no member of the fleet.
fn cluster(listing: &Listing, object: &Value, place: &Place<'_>) -> Result<Option<ListedCluster>, String> {
    let labels = labels(object)?;
    let own = listing.kind.label.is_none_or(|(key, value)| labels.get(key).is_some_and(|found| found == value));
    if !own || !listing.select.matches(&labels) {
        return Err("its labels are not those that were asked for".to_string());
    }
    let Some(member) = (listing.kind.member)(object)? else { return Ok(None) };
    let name = member.name.as_deref().unwrap_or(place.name);
    let organization = place.namespace.filter(|_| listing.names_have_namespaces());
    if !is_name(name) || !organization.is_none_or(is_name) {
        return Err(format!(
            "`{name}` cannot be the name of a cluster: lower-case letters, digits and inner hyphens, at most 63; \
             rename it, or leave it out by `select`"
        ));
    }
    let secret_ref = listing.kind.credentials.and_then(|credentials| {
        Some(SecretRef {
            kind: listing.kind,
            connection: listing.connection.clone(),
            namespace: place.namespace?.to_string(),
            name: (credentials.secret)(place.name),
        })
    });
    // Names have no dots, so that no two clusters share a connection.
    let whole = |between: &str| organization.map_or(name.to_string(), |own| format!("{own}{between}{name}"));
    Ok(Some(ListedCluster {
        name: ClusterName::new(whole("/")),
        labels,
        credential: whole("."),
        secret_ref,
        stale: member.stale.map(str::to_string),
    }))
}

fn labels(object: &Value) -> Result<Labels, String> {
    match object.pointer("/metadata/labels") {
        None | Some(Value::Null) => Ok(Labels::new()),
        Some(Value::Object(labels)) => labels
            .iter()
            .map(|(key, value)| Some((key.clone(), value.as_str()?.to_string())))
            .collect::<Option<Labels>>()
            .ok_or_else(|| "a label of it is not a text".to_string()),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err("its labels are no mapping".to_string())
        }
    }
}
