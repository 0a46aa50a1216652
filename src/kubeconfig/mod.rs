//! A kubeconfig, read into what a connection needs and nothing else (`docs/attacks.md`, A28). Every key that is not
//! known is refused by name; values never show up in an error. The client of it is made in `observe/cluster`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

mod secret;

pub use secret::Secret;

/// What a connection is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The API server.
    pub server: Url,
    /// The name in the server's certificate, where it is not the server's.
    pub server_name: Option<String>,
    /// Its certificate is not checked.
    pub unverified: bool,
    /// Who has signed that, as a PEM in base64.
    pub authority: Option<String>,
    /// The client's own certificate, as a PEM in base64.
    pub certificate: Option<String>,
    /// Its key, as a PEM in base64.
    pub key: Option<Secret>,
    /// The bearer token.
    pub token: Option<Secret>,
}

/// The same as its source has it: PEMs in base64, the rest as it is.
pub struct Parts {
    /// The API server.
    pub server: Option<String>,
    /// The name in its certificate, where it is another one.
    pub server_name: Option<String>,
    /// Its certificate is not to be checked.
    pub unverified: bool,
    /// Who has signed that.
    pub authority: Option<String>,
    /// The client's own certificate.
    pub certificate: Option<String>,
    /// Its key.
    pub key: Option<String>,
    /// The bearer token.
    pub token: Option<String>,
}

/// What a kubeconfig takes from files that lie beside it, or those files' names.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside<T> {
    /// The token of its user (`tokenFile`).
    pub token: Option<T>,
    /// Who has signed the server's certificate (`certificate-authority`), as a PEM.
    pub authority: Option<T>,
}

impl<T> Default for Beside<T> {
    fn default() -> Self {
        Self { token: None, authority: None }
    }
}

/// Why a kubeconfig is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(String);

impl Refused {
    /// `why` holds nothing of a credential.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    clusters: Vec<Named>,
    #[serde(default)]
    users: Vec<Named>,
    #[serde(default)]
    contexts: Vec<Named>,
    #[serde(default, rename = "current-context")]
    current: Option<String>,
}

/// An entry of one of the three lists.
#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(alias = "cluster", alias = "user", alias = "context")]
    body: Option<BTreeMap<String, Value>>,
}

const SERVER: &str = "server";
const AUTHORITY: &str = "certificate-authority-data";
const UNVERIFIED: &str = "insecure-skip-tls-verify";
const TOKEN_FILE: &str = "tokenFile";
const AUTHORITY_FILE: &str = "certificate-authority";

const PROCESS: &str = "it would start a process; `coldframe access --script` makes a kubeconfig with a token, and \
                       `tokenFile` takes one that somebody renews";

/// Keys that are refused, and why.
const REFUSED: [(&str, &str); 13] = [
    ("exec", PROCESS),
    ("auth-provider", PROCESS),
    ("client-certificate", "it names another file; use `client-certificate-data`"),
    ("client-key", "it names another file; use `client-key-data`"),
    ("proxy-url", "connections go straight to the server"),
    ("username", "API servers take no passwords; use a token"),
    ("password", "API servers take no passwords; use a token"),
    ("as", "it would act as somebody else; use a credential of its own"),
    ("as-uid", "it would act as somebody else; use a credential of its own"),
    ("as-groups", "it would act as somebody else; use a credential of its own"),
    ("as-user-extra", "it would act as somebody else; use a credential of its own"),
    ("tls-server-name", "the server is checked by the name it is reached by"),
    ("impersonate", "it would act as somebody else; use a credential of its own"),
];

impl Connection {
    /// Reads the connection of the current context, or of the only one. `insecure_http` names hosts that may be
    /// reached over plain http, or without a check of their certificate.
    pub fn read(text: &[u8], insecure_http: &[String]) -> Result<Self, Refused> {
        Self::read_with(text, Beside::default(), insecure_http)
    }

    /// The same with what it names.
    pub fn read_with(text: &[u8], beside: Beside<Secret>, insecure_http: &[String]) -> Result<Self, Refused> {
        let file = parsed(text)?;
        let (cluster, user) = cluster_and_user(&file)?;
        known(
            "cluster",
            cluster,
            &[SERVER, AUTHORITY, AUTHORITY_FILE, UNVERIFIED, "extensions", "disable-compression"],
        )?;
        known("user", user, &["token", TOKEN_FILE, "client-certificate-data", "client-key-data", "extensions"])?;
        let token = one_of("user", user, "token", (TOKEN_FILE, beside.token))?;
        let pem = beside.authority.map(|pem| Secret::new(&STANDARD.encode(pem.reveal())));
        let authority = one_of("cluster", cluster, AUTHORITY, (AUTHORITY_FILE, pem))?;
        let parts = Parts {
            server: field(cluster, SERVER)?,
            server_name: None,
            unverified: unverified(cluster)?,
            authority,
            certificate: field(user, "client-certificate-data")?,
            key: field(user, "client-key-data")?,
            token,
        };
        let names = ["token", AUTHORITY, "client-certificate-data", "client-key-data"];
        Self::of(parts, &names, insecure_http)
    }

    /// The names of what is kept elsewhere; none where there is none, or the file cannot be read.
    pub fn names(text: &[u8]) -> Beside<String> {
        // Most files hold all that they need, and each is looked at with each question.
        let has = |key: &str| text.windows(key.len()).any(|part| part == key.as_bytes());
        if !has(TOKEN_FILE) && !has(AUTHORITY_FILE) {
            return Beside::default();
        }
        let Ok(file) = parsed(text) else { return Beside::default() };
        let Ok((cluster, user)) = cluster_and_user(&file) else { return Beside::default() };
        let name = |body: &Body, key: &str| field(body, key).ok().flatten();
        Beside { token: name(user, TOKEN_FILE), authority: name(cluster, AUTHORITY_FILE) }
    }

    /// The connection of these parts; `names` are what their source calls token, authority, certificate, key.
    pub fn of(parts: Parts, names: &[&str; 4], insecure_http: &[String]) -> Result<Self, Refused> {
        let [token, authority, certificate, key] = names;
        if parts.unverified && parts.authority.is_some() {
            return refuse(format!("`{UNVERIFIED}` beside `{authority}`: keep the one that is meant"));
        }
        let connection = Self {
            server: server(parts.server.as_deref(), parts.unverified, insecure_http)?,
            unverified: parts.unverified,
            server_name: parts.server_name.map(server_name).transpose()?,
            authority: base64(parts.authority, authority)?,
            certificate: base64(parts.certificate, certificate)?,
            key: base64(parts.key, key)?.map(|text| Secret::new(&text)),
            token: parts.token.map(|text| Secret::new(&text)),
        };
        match (&connection.certificate, &connection.key, &connection.token) {
            (None, None, None) => refuse(format!("its user has neither `{token}` nor `{certificate}` and `{key}`")),
            (Some(_), None, _) => refuse(format!("`{certificate}` without `{key}`")),
            (None, Some(_), _) => refuse(format!("`{key}` without `{certificate}`")),
            (Some(_), Some(_), _) | (None, None, Some(_)) => Ok(connection),
        }
    }
}

/// What stands at a key, or in the file that another key names.
fn one_of(
    what: &str,
    body: &Body,
    key: &str,
    (file, beside): (&str, Option<Secret>),
) -> Result<Option<String>, Refused> {
    match (field(body, key)?, field(body, file)?, beside) {
        (given, None, _) => Ok(given),
        (Some(_), Some(_), _) => refuse(format!("its {what} has `{key}` and `{file}`; keep one")),
        (None, Some(_), Some(beside)) => Ok(Some(beside.reveal().to_string())),
        (None, Some(_), None) => {
            refuse(format!("`{file}` of its {what} is not used: it names another file; use `{key}`"))
        }
    }
}

fn parsed(text: &[u8]) -> Result<File, Refused> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        budget: serde_saphyr::budget! { max_nodes: 10_000, max_depth: 16, max_aliases: 100 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    // The parser's message may quote the value, which may be a credential: only the place is told.
    serde_saphyr::from_slice_with_options(text, options).map_err(|error| {
        let line = error.location().map(|location| format!(", line {}", location.line())).unwrap_or_default();
        Refused(format!("it is not a kubeconfig{line}"))
    })
}

/// A part of a kubeconfig.
type Body = BTreeMap<String, Value>;

fn cluster_and_user(file: &File) -> Result<(&Body, &Body), Refused> {
    let context = chosen(file)?;
    let name = |key: &str| context.get(key).and_then(Value::as_str);
    Ok((body(&file.clusters, "cluster", name("cluster"))?, body(&file.users, "user", name("user"))?))
}

/// Whether the server is not to be checked.
fn unverified(cluster: &Body) -> Result<bool, Refused> {
    match cluster.get(UNVERIFIED) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(unverified)) => Ok(*unverified),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            refuse(format!("`{UNVERIFIED}` is neither true nor false"))
        }
    }
}

fn chosen(file: &File) -> Result<&BTreeMap<String, Value>, Refused> {
    match (file.current.as_deref().filter(|name| !name.is_empty()), file.contexts.as_slice()) {
        (Some(name), _) => body(&file.contexts, "context", Some(name)),
        (None, [only]) => body(std::slice::from_ref(only), "context", Some(&only.name)),
        (None, _) => refuse("it has no `current-context`"),
    }
}

fn body<'f>(list: &'f [Named], what: &str, name: Option<&str>) -> Result<&'f BTreeMap<String, Value>, Refused> {
    let Some(name) = name else { return refuse(format!("its context names no {what}")) };
    let mut found = list.iter().filter(|entry| entry.name == name);
    match (found.next(), found.next()) {
        (Some(Named { body: Some(body), .. }), None) => Ok(body),
        (Some(_), Some(_)) => refuse(format!("the {what} that it uses is there twice")),
        (Some(_), None) => refuse(format!("the {what} that it uses is empty")),
        (None, _) => refuse(format!("the {what} that it uses is not there")),
    }
}

fn known(what: &str, body: &BTreeMap<String, Value>, keys: &[&str]) -> Result<(), Refused> {
    for (key, value) in body {
        if keys.contains(&key.as_str()) || value.is_null() {
            continue;
        }
        return match REFUSED.iter().find(|(refused, _)| refused == key) {
            Some((_, why)) => refuse(format!("`{key}` of its {what} is not used: {why}")),
            // What stands in a torn file where keys belong may be a part of a credential: it is not repeated.
            None => refuse(format!(
                "its {what} has a key that is not known here; take it out; known are {}",
                keys.join(", ")
            )),
        };
    }
    Ok(())
}

fn field(body: &BTreeMap<String, Value>, key: &str) -> Result<Option<String>, Refused> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            refuse(format!("`{key}` is not a text; put it in quotes"))
        }
    }
}

fn base64(text: Option<String>, key: &str) -> Result<Option<String>, Refused> {
    let Some(text) = text else { return Ok(None) };
    match STANDARD.decode(text.trim()) {
        Ok(bytes) if bytes.starts_with(b"-----BEGIN ") => Ok(Some(text.trim().to_string())),
        Ok(_) => refuse(format!("`{key}` is base64, but not of a PEM")),
        Err(_) => refuse(format!("`{key}` is not base64")),
    }
}

/// A name of the DNS, and nothing else that a certificate may be asked for.
fn server_name(text: String) -> Result<String, Refused> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if text.len() <= 253 && text.bytes().all(good) { Ok(text) } else { refuse("`serverName` is not a name") }
}

fn server(text: Option<&str>, unverified: bool, insecure_http: &[String]) -> Result<Url, Refused> {
    let Some(text) = text else { return refuse("its cluster has no `server`") };
    let Ok(url) = Url::parse(text) else { return refuse("`server` is not a URL") };
    let host = match url.host() {
        Some(Host::Domain(host)) => host.to_string(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => format!("[{address}]"),
        None => return refuse("`server` names no host"),
    };
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return refuse("`server` carries more than scheme, host, port and path");
    }
    let port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
    let allowed = insecure_http.iter().any(|entry| *entry == host || Some(entry) == port.as_ref());
    match url.scheme() {
        "https" if unverified && !allowed => refuse(format!(
            "`{UNVERIFIED}` of its cluster is not used: the server would not be checked; use `{AUTHORITY}`, or let the \
             operator allow {host}"
        )),
        "https" => Ok(url),
        "http" if allowed => Ok(url),
        "http" => refuse(format!("`server` is plain http; use https, or let the operator allow {host}")),
        _ => refuse("`server` is not https"),
    }
}

#[cfg(test)]
mod tests;
