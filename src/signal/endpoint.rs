//! Where a signal is asked that is no object of a cluster: an address of the policy file, or one that the
//! operator keeps together with its headers. How it is reached is in `net`.

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::names::Names;
use super::settings::{Settings, SignalError, optional};
use parse::read::{Form, Key};
use parse::settings::{Refused, Values};

/// The address in the file.
pub(super) const URL: Key = optional(
    "url",
    Form::Address,
    &["Its address, without credentials: https, or what the operator allows. Required where no `secret` is", "named."],
);
/// The address that the operator keeps.
pub(super) const SECRET: Key = optional(
    "secret",
    Form::Secret,
    &[
        "The operator's secret that holds the address on its first line and a header on each further one, such as",
        "`Authorization: Bearer …`: a token goes to the host that it stands beside, and to no other. Default",
        "`url`.",
    ],
);

/// Where it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// At an address of the policy file.
    Address(Url),
    /// At the address in a secret of the operator.
    Secret {
        /// The secret's name.
        name: String,
        /// What its placeholders stand for.
        names: Names,
    },
}

/// An address, and what is sent along.
#[derive(Clone, Debug)]
pub struct Way {
    /// The address.
    pub url: Url,
    /// Headers of the operator; never shown.
    pub headers: HeaderMap,
}

/// One of the two keys has to stand there.
pub(super) fn refuse(values: &Values) -> Result<(), Refused> {
    let refused = |at, why: &str, help: &str| Err(Refused { at, why: why.to_string(), help: help.to_string() });
    match (values.contains_key("url"), values.contains_key("secret")) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => refused("secret", "the address stands here twice", "keep `url` or `secret`"),
        (false, false) => refused("", "nothing says where it is asked", "add `url: https://…` or `secret: NAME`"),
    }
}

impl Endpoint {
    /// As the file says.
    ///
    /// # Errors
    /// Where no address comes of it.
    pub(super) fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let names = settings.names();
        if let Some(name) = settings.text("secret") {
            return Ok(Self::Secret { name: name.to_string(), names });
        }
        let text = settings.text("url").ok_or(SignalError::Missing { key: "url" })?;
        names.address(text).map(Self::Address).map_err(|why| SignalError::Unusable { key: "url", why })
    }

    /// What people know it by: its host, or the name of the secret.
    pub fn title(&self) -> String {
        match self {
            Self::Address(url) => authority(url),
            Self::Secret { name, .. } => name.clone(),
        }
    }

    /// Where it leads; `secret` finds a secret of the operator.
    ///
    /// # Errors
    /// Where there is no such secret, or it holds no address. No error repeats what it holds.
    pub fn way(&self, secret: impl FnOnce(&str) -> Result<kubeconfig::Secret, String>) -> Result<Way, String> {
        match self {
            Self::Address(url) => Ok(Way { url: url.clone(), headers: HeaderMap::new() }),
            Self::Secret { name, names } => {
                let text = secret(name)?;
                let mut lines = text.reveal().lines().map(str::trim).filter(|line| !line.is_empty());
                let url = names
                    .address(lines.next().unwrap_or_default())
                    .map_err(|_| format!("the first line of the secret {name} is no address for this cluster"))?;
                let headers = lines.map(header).collect::<Option<HeaderMap>>();
                let headers = headers.ok_or_else(|| {
                    format!("the secret {name} has a line below the address that is no `Header: value`")
                })?;
                Ok(Way { url, headers })
            }
        }
    }
}

/// `host` or `host:port`.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let mut value = HeaderValue::from_str(value.trim()).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kubeconfig::Secret;

    #[test]
    fn a_token_goes_where_the_operator_wrote_it_down_and_is_in_no_error() {
        let names = Names { cluster: "eu-1".to_string(), organization: None, tier: "gold".to_string() };
        let endpoint = Endpoint::Secret { name: "PROM".to_string(), names };
        let way = |text: &str| endpoint.way(|_| Ok(Secret::new(text)));
        let found = way("https://{cluster}.prom.example\nAuthorization: Bearer hush\nX-Scope-OrgID: a\n").unwrap();
        assert_eq!(found.url.as_str(), "https://eu-1.prom.example/");
        assert_eq!(found.headers["authorization"], "Bearer hush");
        assert!(!format!("{found:?}").contains("hush"));
        for wrong in ["hush", "https://a.example\nhush", "https://a.example\nhu sh: x"] {
            assert!(!way(wrong).unwrap_err().contains("hu"), "{wrong}");
        }
        assert_eq!(endpoint.way(|name| Err(format!("no {name}"))).unwrap_err(), "no PROM");
        assert_eq!(endpoint.title(), "PROM");
    }
}
