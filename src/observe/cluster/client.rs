//! The client of a connection, built from its fields alone. What a kubeconfig may say is in `kubeconfig`.

use std::time::Duration;

use futures_util::FutureExt;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::kubeconfig::{Connection, Refused};
use crate::observe::net::causes;
use crate::secret::Secret;

/// Its configuration.
///
/// # Errors
/// Where a certificate or a key is none.
pub fn config(connection: &Connection, timeout: Duration) -> Result<Config, Refused> {
    let mut cluster = json!({"server": connection.server.as_str()});
    let mut user = json!({});
    let put = |into: &mut Value, key: &str, text: Option<&str>| {
        if let (Some(map), Some(text)) = (into.as_object_mut(), text) {
            map.insert(key.to_string(), json!(text));
        }
    };
    put(&mut cluster, "certificate-authority-data", connection.authority.as_deref());
    put(&mut cluster, "tls-server-name", connection.server_name.as_deref());
    put(&mut user, "client-certificate-data", connection.certificate.as_deref());
    put(&mut user, "client-key-data", connection.key.as_ref().map(Secret::reveal));
    put(&mut user, "token", connection.token.as_ref().map(Secret::reveal));
    let rebuilt = json!({
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(rebuilt).map_err(|error| Refused::new(error.to_string()))?;
    let options = KubeConfigOptions::default();
    // Nothing in it waits: there is no file left to be read.
    let loaded = Config::from_custom_kubeconfig(kubeconfig, &options).now_or_never();
    let mut config = match loaded {
        Some(Ok(config)) => config,
        Some(Err(error)) => return Err(Refused::new(causes(&error))),
        None => return Err(Refused::new("it would read another file")),
    };
    // The loader looks for proxies in the environment.
    config.proxy_url = None;
    config.accept_invalid_certs = connection.unverified;
    config.default_retry = false;
    config.connect_timeout = Some(timeout);
    // A watch is silent for minutes; every question has a time of its own.
    config.read_timeout = None;
    config.write_timeout = Some(timeout);
    config.reset_reader_on_write = true;
    Ok(config)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn read(cluster: &str) -> Connection {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n\
             contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
        );
        Connection::read(text.as_bytes(), &["sandbox:8080".to_string()]).unwrap()
    }

    fn made(cluster: &str) -> Result<Config, Refused> {
        config(&read(cluster), Duration::from_secs(1))
    }

    #[test]
    fn a28_nothing_but_the_fields_of_the_connection_is_used() {
        let config = made("server: 'https://k.example:6443'").unwrap();
        assert_eq!((config.proxy_url, config.default_retry, config.accept_invalid_certs), (None, false, false));
        let timeouts = (config.connect_timeout, config.read_timeout);
        assert_eq!(timeouts, (Some(Duration::from_secs(1)), None), "a watch may be silent");
        assert!(config.auth_info.exec.is_none() && config.auth_info.token.is_some());
        let config = made("server: 'https://sandbox:8080', insecure-skip-tls-verify: true").unwrap();
        assert!(config.accept_invalid_certs);
        let named = Connection { server_name: Some("eu-1.example".to_string()), ..read("server: 'https://10.0.0.1'") };
        let config = super::config(&named, Duration::from_secs(1)).unwrap();
        assert_eq!(config.tls_server_name.as_deref(), Some("eu-1.example"));
    }

    #[test]
    fn a_certificate_that_is_none_is_refused_when_the_connection_is_made() {
        let broken = STANDARD.encode("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
        let error =
            made(&format!("server: 'https://k.example:6443', certificate-authority-data: {broken}")).unwrap_err();
        assert!(error.to_string().contains("certificates"), "{error}");
    }
}
