//! What an inventory of a hub is: which of its objects are the clusters, what each says of its cluster, and
//! which Secret has credentials for it. How they are listed is in `list`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use kubeconfig::Secret;
use kubeconfig::{Connection, Refused};

/// One kind of inventory.
pub struct Kind {
    /// Its word in the policy file.
    pub name: &'static str,
    /// What it is, for the schema.
    pub about: &'static str,
    /// Where its objects lie.
    pub scope: Scope,
    /// The group of its API; empty for the core.
    pub group: &'static str,
    /// The versions of its API that are understood, the best first: a hub serves one or several of them.
    pub versions: &'static [&'static str],
    /// The kind of its objects.
    pub kind: &'static str,
    /// Their plural in the API's path.
    pub plural: &'static str,
    /// The label that all of them have, and its value.
    pub label: Option<(&'static str, &'static str)>,
    /// Whether nothing but `select` says which objects are clusters.
    pub selected: bool,
    /// Whether metadata says all that is asked of them; the rest is not asked for then.
    pub metadata: bool,
    /// What an object says of its cluster; none where it is no member of the fleet.
    pub member: fn(&Value) -> Result<Option<Member>, String>,
    /// Where credentials for the clusters themselves lie; none where the hub has none.
    pub credentials: Option<Credentials>,
}

/// Where the objects of an inventory lie, and what their clusters are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In no namespace; by their names.
    Cluster,
    /// In one namespace, this one unless the file names another; by their names.
    One(&'static str),
    /// In one namespace, by their names; or in all, by `namespace/name`.
    Any,
    /// In one namespace or all, each of which is an organization; by `organization/name` either way.
    Organizations,
}

/// Where a hub has credentials for its clusters.
#[derive(Clone, Copy)]
pub struct Credentials {
    /// The name of the Secret of an object, in the object's namespace.
    pub secret: fn(&str) -> String,
    /// The connection that a Secret's data is. Hosts are those that may be reached over plain http.
    pub open: fn(&Data<'_>, &[String]) -> Result<Connection, Refused>,
}

/// What an object says of its cluster beside its labels.
#[derive(Default)]
pub struct Member {
    /// What it is called; none = as the object.
    pub name: Option<String>,
    /// Why nothing that the hub says of it is of today.
    pub stale: Option<&'static str>,
}

/// An object that is a cluster by its name.
#[allow(clippy::unnecessary_wraps)] // as other kinds have it
pub(super) fn by_name(_: &Value) -> Result<Option<Member>, String> {
    Ok(Some(Member::default()))
}

/// The data of a Secret, as the API gives it: values in base64. Nothing of it is ever shown.
pub struct Data<'a>(Option<&'a Map<String, Value>>);

impl<'a> Data<'a> {
    /// That of a Secret.
    pub fn of(secret: &'a Value) -> Self {
        Self(secret.get("data").and_then(Value::as_object))
    }

    /// A value as text; none where there is no such key, or nothing under it.
    ///
    /// # Errors
    /// Where it is no text in base64; the error has nothing of it.
    pub fn text(&self, key: &str) -> Result<Option<Secret>, Refused> {
        let Some(value) = self.0.and_then(|data| data.get(key)).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| Refused::new(format!("`{key}` is not text in base64")))?;
        Ok(Some(text).filter(|text| !text.trim().is_empty()).map(|text| Secret::new(&text)))
    }
}

/// The kubeconfig under the first of these keys that is there.
pub(super) fn kubeconfig(data: &Data<'_>, keys: &[&str], insecure_http: &[String]) -> Result<Connection, Refused> {
    for key in keys {
        if let Some(text) = data.text(key)? {
            let read = Connection::read(text.reveal().as_bytes(), insecure_http);
            return read.map_err(|refused| Refused::new(format!("`{key}`: {refused}")));
        }
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Err(Refused::new(format!("it has no {}", keys.join(" or "))))
}

impl Kind {
    /// Its objects as people and roles name them: `secrets`, `clusters.greenhouse.sap`.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_string() } else { format!("{}.{}", self.plural, self.group) }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// There is one of each name.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(other.name)
    }
}
