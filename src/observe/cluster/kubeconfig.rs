//! A kubeconfig, read into what a connection needs and nothing else (design: security, A28). Every
//! key that is not known is refused by name; values never show up in an error.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url};

use crate::observe::net::causes;
use crate::secret::Secret;

/// What a connection is made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Connection {
    server: Url,
    /// The name in the server's certificate, where it is not the server's.
    server_name: Option<String>,
    authority: Option<String>,
    certificate: Option<String>,
    key: Option<Secret>,
    token: Option<Secret>,
}

/// The same as its source has it: PEMs in base64, the rest as it is.
pub(crate) struct Parts {
    pub server: Option<String>,
    pub server_name: Option<String>,
    pub authority: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
    pub token: Option<String>,
}

/// Why a kubeconfig is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(String);

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

/// Keys that are refused, and why.
const REFUSED: [(&str, &str); 16] = [
    ("exec", "it would start a process; use a token or a client certificate"),
    ("auth-provider", "it would start a process; use a token or a client certificate"),
    ("tokenFile", "it names another file; write the token into `token`"),
    ("certificate-authority", "it names another file; use `certificate-authority-data`"),
    ("client-certificate", "it names another file; use `client-certificate-data`"),
    ("client-key", "it names another file; use `client-key-data`"),
    ("proxy-url", "connections go straight to the server"),
    ("insecure-skip-tls-verify", "the server would not be checked; use `certificate-authority-data`"),
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
    /// Reads the connection of the current context, or of the only one.
    pub fn read(text: &[u8], insecure_http: &[String]) -> Result<Self, Refused> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            budget: serde_saphyr::budget! { max_nodes: 10_000, max_depth: 16, max_aliases: 100 },
            alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
        };
        // The parser's message may quote the value, which may be a credential: only the place is told.
        let file: File = serde_saphyr::from_slice_with_options(text, options).map_err(|error| {
            let line = error.location().map(|location| format!(", line {}", location.line())).unwrap_or_default();
            Refused(format!("it is not a kubeconfig{line}"))
        })?;
        let context = chosen(&file)?;
        let name = |key: &str| context.get(key).and_then(Value::as_str);
        let cluster = body(&file.clusters, "cluster", name("cluster"))?;
        let user = body(&file.users, "user", name("user"))?;
        known("cluster", cluster, &["server", "certificate-authority-data", "extensions", "disable-compression"])?;
        known("user", user, &["token", "client-certificate-data", "client-key-data", "extensions"])?;
        let parts = Parts {
            server: field(cluster, "server")?,
            server_name: None,
            authority: field(cluster, "certificate-authority-data")?,
            certificate: field(user, "client-certificate-data")?,
            key: field(user, "client-key-data")?,
            token: field(user, "token")?,
        };
        let names = ["token", "certificate-authority-data", "client-certificate-data", "client-key-data"];
        Self::of(parts, &names, insecure_http)
    }

    /// The connection of these parts; `names` are what their source calls token, authority, certificate, key.
    pub fn of(parts: Parts, names: &[&str; 4], insecure_http: &[String]) -> Result<Self, Refused> {
        let [token, authority, certificate, key] = names;
        let connection = Self {
            server: server(parts.server.as_deref(), insecure_http)?,
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

    /// The configuration of a client, built from these fields alone.
    pub fn config(&self, timeout: Duration) -> Result<Config, Refused> {
        let mut cluster = json!({"server": self.server.as_str()});
        let mut user = json!({});
        let put = |into: &mut Value, key: &str, text: Option<&str>| {
            if let (Some(map), Some(text)) = (into.as_object_mut(), text) {
                map.insert(key.to_string(), json!(text));
            }
        };
        put(&mut cluster, "certificate-authority-data", self.authority.as_deref());
        put(&mut cluster, "tls-server-name", self.server_name.as_deref());
        put(&mut user, "client-certificate-data", self.certificate.as_deref());
        put(&mut user, "client-key-data", self.key.as_ref().map(Secret::reveal));
        put(&mut user, "token", self.token.as_ref().map(Secret::reveal));
        let rebuilt = json!({
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        });
        let kubeconfig: Kubeconfig = serde_json::from_value(rebuilt).map_err(|error| Refused(error.to_string()))?;
        let options = KubeConfigOptions::default();
        // Nothing in it waits: there is no file left to be read.
        let loaded = Config::from_custom_kubeconfig(kubeconfig, &options).now_or_never();
        let mut config = match loaded {
            Some(Ok(config)) => config,
            Some(Err(error)) => return refuse(causes(&error)),
            None => return refuse("it would read another file"),
        };
        // The loader looks for proxies in the environment.
        config.proxy_url = None;
        config.default_retry = false;
        config.connect_timeout = Some(timeout);
        // A watch is silent for minutes; every question has a time of its own.
        config.read_timeout = None;
        config.write_timeout = Some(timeout);
        config.reset_reader_on_write = true;
        Ok(config)
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
            // Spelled out as it is by default: nothing is asked for.
            Some(("insecure-skip-tls-verify", _)) if *value == Value::Bool(false) => continue,
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

fn server(text: Option<&str>, insecure_http: &[String]) -> Result<Url, Refused> {
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
        "https" => Ok(url),
        "http" if allowed => Ok(url),
        "http" => refuse(format!("`server` is plain http; use https, or let the operator allow {host}")),
        _ => refuse("`server` is not https"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const PEM: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==";

    fn file(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\npreferences: {{}}\nclusters:\n- name: k\n  cluster: {{{cluster}}}\n\
             users:\n- name: u\n  user: {{{user}}}\ncontexts:\n- name: c\n  context: {{cluster: k, user: u, namespace: x}}\n"
        )
    }

    fn read(text: &str) -> Result<Connection, Refused> {
        Connection::read(text.as_bytes(), &["127.0.0.1".into(), "sandbox:8080".into()])
    }

    fn why(cluster: &str, user: &str) -> String {
        read(&file(cluster, user)).unwrap_err().to_string()
    }

    const SERVER: &str = "server: 'https://k.example:6443'";

    #[test]
    fn the_fields_of_a_connection_are_taken_over() {
        let cluster =
            format!("{SERVER}, certificate-authority-data: {PEM}, insecure-skip-tls-verify: false, extensions: [x]");
        let user = format!("token: ' secret-token ', client-certificate-data: {PEM}, client-key-data: {PEM}");
        let connection = read(&file(&cluster, &user)).unwrap();
        assert_eq!(connection.server.as_str(), "https://k.example:6443/");
        assert_eq!(connection.authority.as_deref(), Some(PEM));
        assert_eq!(connection.token.as_ref().map(Secret::reveal), Some("secret-token"));
        assert!(!format!("{connection:?}").contains("secret-token"));
        let config = read(&file(SERVER, "token: t")).unwrap().config(Duration::from_secs(1)).unwrap();
        assert_eq!((config.proxy_url, config.default_retry, config.accept_invalid_certs), (None, false, false));
        let timeouts = (config.connect_timeout, config.read_timeout);
        assert_eq!(timeouts, (Some(Duration::from_secs(1)), None), "a watch may be silent");
        assert!(config.auth_info.exec.is_none() && config.auth_info.token.is_some());
    }

    #[test]
    fn whatever_starts_reads_or_goes_elsewhere_is_refused_by_name() {
        for (key, value) in [
            ("exec", "{command: sh, apiVersion: client.authentication.k8s.io/v1}"),
            ("auth-provider", "{name: gcp}"),
            ("tokenFile", "/var/run/token"),
            ("client-certificate", "/x.pem"),
            ("client-key", "/x.key"),
            ("username", "u"),
            ("password", "hunter2"),
            ("as", "system:admin"),
            ("as-uid", "x"),
            ("as-groups", "[x]"),
            ("as-user-extra", "{a: [b]}"),
            ("impersonate", "x"),
        ] {
            let why = why(SERVER, &format!("token: t, {key}: {value}"));
            assert!(why.starts_with(&format!("`{key}` of its user is not ")), "{why}");
            assert!(!why.contains("hunter2"));
        }
        // What is torn may have a part of a credential where a key belongs.
        let strange = why(SERVER, "token: t, hunter2: x");
        assert!(strange.starts_with("its user has a key that is not known here"), "{strange}");
        assert!(!strange.contains("hunter2"));
        for (key, value) in [
            ("certificate-authority", "/ca.pem"),
            ("proxy-url", "http://proxy"),
            ("insecure-skip-tls-verify", "true"),
            ("tls-server-name", "x"),
        ] {
            let why = why(&format!("{SERVER}, {key}: {value}"), "token: t");
            assert!(why.starts_with(&format!("`{key}` of its cluster is not ")), "{why}");
        }
    }

    #[test]
    fn plain_http_only_where_the_operator_allows_it() {
        for (server, allowed) in [
            ("http://127.0.0.1:1234", true),
            ("http://sandbox:8080/k/eu-1", true),
            ("http://sandbox:8081", false),
            ("http://k.example", false),
            ("https://10.0.0.1", true),
            ("ftp://k.example", false),
            ("k.example", false),
            ("https://u:p@k.example", false),
            ("https://k.example?x=y", false),
        ] {
            let found = read(&file(&format!("server: '{server}'"), "token: t"));
            assert_eq!(found.is_ok(), allowed, "{server}: {found:?}");
        }
    }

    #[test]
    fn what_is_missing_or_broken_is_named_without_its_value() {
        for (cluster, user, part) in [
            ("", "token: t", "no `server`"),
            (SERVER, "", "neither `token`"),
            (SERVER, "token: ''", "neither `token`"),
            (SERVER, "token: 7", "`token` is not a text"),
            (SERVER, &format!("client-certificate-data: {PEM}"), "without `client-key-data`"),
            (SERVER, &format!("client-key-data: {PEM}"), "without `client-certificate-data`"),
            (SERVER, "client-key-data: hunter2!", "`client-key-data` is not base64"),
            (SERVER, "client-key-data: aHVudGVyMg==", "not of a PEM"),
        ] {
            let why = why(cluster, user);
            assert!(why.contains(part) && !why.contains("hunter2"), "{why}");
        }
        let whole = file(SERVER, "token: t");
        for (text, part) in [
            (whole.replace("current-context: c", "current-context: d"), "the context that it uses is not there"),
            (whole.replace("user: u,", "user: w,"), "the user that it uses is not there"),
            (whole.replace("cluster: k,", ""), "names no cluster"),
            (whole.replace("users:\n", "users:\n- {name: u, user: {token: x}}\n"), "twice"),
            ("token: hunter2: [".to_string(), "not a kubeconfig"),
            ("- hunter2".to_string(), "not a kubeconfig"),
            (String::new(), "current-context"),
            (format!("{whole}---\n{whole}"), "not a kubeconfig"),
        ] {
            let why = read(&text).unwrap_err().to_string();
            assert!(why.contains(part) && !why.contains("hunter2"), "{part}: {why}");
        }
        assert!(read(&whole.replace("current-context: c\n", "")).is_ok(), "one context needs no choice");
    }

    #[test]
    fn a_certificate_that_is_none_is_refused_when_the_connection_is_made() {
        let broken = STANDARD.encode("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
        let connection = read(&file(&format!("{SERVER}, certificate-authority-data: {broken}"), "token: t")).unwrap();
        let error = connection.config(Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("certificates"), "{error}");
    }
}
