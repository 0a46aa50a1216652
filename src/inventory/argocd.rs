//! The clusters of an Argo CD: Secrets of its namespace with a label (argo-cd, `util/db/cluster.go`). The name
//! stands in their data, so that the API gives them whole; what is not the name is let go at once, unless the
//! cluster itself is asked.

use serde_json::{Map, Value};

use super::Kind;
use super::kind::{Credentials, Data, Member, Scope};
use kubeconfig::{Connection, Parts, Refused};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "argocd",
    about: "The clusters of an Argo CD: Secrets with the label `argocd.argoproj.io/secret-type=cluster`.",
    scope: Scope::One("argocd"),
    group: "",
    versions: &["v1"],
    kind: "Secret",
    plural: "secrets",
    label: Some(("argocd.argoproj.io/secret-type", "cluster")),
    selected: false,
    metadata: false,
    member,
    credentials: Some(Credentials { secret: str::to_string, open }),
};

/// Argo CD leaves a cluster alone by it: what it says of its applications is as old as the annotation.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";
/// What Go's `strconv.ParseBool` takes for true.
const TRUE: [&str; 6] = ["1", "t", "T", "TRUE", "true", "True"];

/// Keys of `config` that would do more than connect, and why they are refused.
const REFUSED: [(&str, &str); 5] = [
    ("username", "API servers take no passwords; use `bearerToken`"),
    ("password", "API servers take no passwords; use `bearerToken`"),
    ("execProviderConfig", "it would start a process; use `bearerToken` or a client certificate"),
    ("awsAuthConfig", "it would ask a cloud for a token; use `bearerToken` or a client certificate"),
    ("proxyUrl", "connections go straight to the server"),
];

fn member(object: &Value) -> Result<Option<Member>, String> {
    let name = Data::of(object).text("name").map_err(|refused| refused.to_string())?;
    let name = name.ok_or("its data has no `name`")?;
    let skip = object.pointer("/metadata/annotations").and_then(|all| all.get(SKIP)).and_then(Value::as_str);
    let stale = skip.filter(|skip| TRUE.contains(skip)).map(|_| {
        "Argo CD does not reconcile this cluster (annotation argocd.argoproj.io/skip-reconcile), so that what it says of it is stale"
    });
    Ok(Some(Member { name: Some(name.reveal().to_string()), stale }))
}

/// The connection of a cluster's Secret (argo-cd, `pkg/apis/application/v1alpha1`, `ClusterConfig`).
fn open(data: &Data<'_>, insecure_http: &[String]) -> Result<Connection, Refused> {
    let server = data.text("server")?;
    let config = data.text("config")?.ok_or_else(|| Refused::new("it has no `config`"))?;
    // The parser's message is not told: it may quote.
    let config: Map<String, Value> =
        serde_json::from_str(config.reveal()).map_err(|_| Refused::new("`config` is not a mapping in JSON"))?;
    known("config", &config, &["bearerToken", "tlsClientConfig", "disableCompression"])?;
    let none = Map::new();
    let tls = match config.get("tlsClientConfig") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(tls)) => tls,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return Err(Refused::new("`tlsClientConfig` of `config` is not a mapping"));
        }
    };
    known("tlsClientConfig", tls, &["insecure", "serverName", "caData", "certData", "keyData"])?;
    if tls.get("insecure").is_some_and(|insecure| !matches!(insecure, Value::Null | Value::Bool(false))) {
        return Err(Refused::new(
            "`insecure` of `tlsClientConfig` is not used: the server would not be checked; use `caData`",
        ));
    }
    let parts = Parts {
        unverified: false,
        server: server.map(|server| server.reveal().to_string()),
        server_name: text(tls, "serverName")?,
        authority: text(tls, "caData")?,
        certificate: text(tls, "certData")?,
        key: text(tls, "keyData")?,
        token: text(&config, "bearerToken")?,
    };
    Connection::of(parts, &["bearerToken", "caData", "certData", "keyData"], insecure_http)
}

/// Refuses keys that are not known, and those that would do more than connect.
fn known(what: &str, map: &Map<String, Value>, keys: &[&str]) -> Result<(), Refused> {
    let said = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) => true,
    };
    let strange = map.iter().find(|(key, value)| !keys.contains(&key.as_str()) && said(value));
    let Some((key, _)) = strange else { return Ok(()) };
    Err(match REFUSED.iter().find(|(refused, _)| refused == key) {
        Some((_, why)) => Refused::new(format!("`{key}` of `{what}` is not used: {why}")),
        // What stands in a torn file where keys belong may be a part of a credential: it is not repeated.
        None => Refused::new(format!("`{what}` has a key that is not known here; known are {}", keys.join(", "))),
    })
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, Refused> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Refused::new(format!("`{key}` of `config` is not a text")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    fn secret(config: &Value) -> Value {
        let data = [("name", "eu-1"), ("server", "https://10.0.0.1:6443"), ("config", &config.to_string())];
        let data: Map<String, Value> =
            data.into_iter().map(|(key, text)| (key.to_string(), json!(STANDARD.encode(text)))).collect();
        json!({"data": data})
    }

    #[test]
    fn the_server_is_checked_by_the_name_that_argo_cd_checks() {
        let config = json!({"bearerToken": "hunter2", "tlsClientConfig": {"serverName": "eu-1.example"}});
        let connection = open(&Data::of(&secret(&config)), &[]).unwrap();
        assert_eq!(connection.server_name.as_deref(), Some("eu-1.example"));
        assert!(!connection.unverified);
        assert!(!format!("{connection:?}").contains("hunter2"));
        let config = json!({"bearerToken": "hunter2", "tlsClientConfig": {"serverName": "a b"}});
        let refused = open(&Data::of(&secret(&config)), &[]).unwrap_err().to_string();
        assert_eq!(refused, "`serverName` is not a name");
    }

    #[test]
    fn what_is_not_known_is_refused_unless_it_says_nothing() {
        for (more, good) in [
            (json!({"disableCompression": true}), true),
            (json!({"username": "", "awsAuthConfig": null, "execProviderConfig": {}, "tlsClientConfig": null}), true),
            (json!({"unheardOf": "hunter2"}), false),
            (json!({"tlsClientConfig": {"insecure": "hunter2"}}), false),
            (json!({"tlsClientConfig": {"caFile": "/hunter2"}}), false),
            (json!({"tlsClientConfig": "hunter2"}), false),
            (json!({"bearerToken": ["hunter2"]}), false),
        ] {
            let mut config = json!({"bearerToken": "t"});
            config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let opened = open(&Data::of(&secret(&config)), &[]);
            assert_eq!(opened.is_ok(), good, "{more}");
            assert!(!format!("{opened:?}").contains("hunter2"), "{opened:?}");
        }
    }

    #[test]
    fn a_cluster_that_argo_cd_leaves_alone_is_stale() {
        for (skip, stale) in
            [("true", true), ("1", true), ("True", true), ("false", false), ("yes", false), ("", false)]
        {
            let mut object = secret(&json!({}));
            object["metadata"] = json!({"annotations": {(SKIP): skip}});
            let member = member(&object).unwrap().unwrap();
            assert_eq!((member.name.as_deref(), member.stale.is_some()), (Some("eu-1"), stale), "{skip}");
        }
    }
}
