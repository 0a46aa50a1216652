//! Where a signal is asked that is no object of a cluster: an address of the policy file, or one that the
//! operator keeps together with its headers. How it is reached is in `net`.

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::SignalError;
use super::kind::{Settings, optional};
use parse::read::{Form, Key};
use parse::scalar::is_name;
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

/// The names that placeholders stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The cluster's own name.
    pub cluster: String,
    /// What stands before it, where clusters are called `organization/cluster`.
    pub organization: Option<String>,
    /// The tier.
    pub tier: String,
}

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

impl Names {
    /// A text with the names filled in. They are plain words, so that no part of it can become another.
    ///
    /// # Errors
    /// Where one is missing, or no plain word.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = text.to_string();
        for (placeholder, name) in [
            ("{cluster}", Some(&self.cluster)),
            ("{organization}", self.organization.as_ref()),
            ("{tier}", Some(&self.tier)),
        ] {
            if !filled.contains(placeholder) {
                continue;
            }
            let name = name.ok_or_else(|| format!("`{placeholder}`, and this cluster has none"))?;
            if !is_name(name) {
                return Err(format!("{} in the place of `{placeholder}`", parse::quoted(name)));
            }
            filled = filled.replace(placeholder, name);
        }
        Ok(filled)
    }

    /// An address with the names filled in.
    fn address(&self, text: &str) -> Result<Url, String> {
        let filled = self.fill(text)?;
        let url = Url::parse(&filled).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.fragment().is_some() {
            return Err("it is no address of a host".to_string());
        }
        Ok(url)
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

    fn names(cluster: &str) -> Names {
        Names { cluster: cluster.to_string(), organization: None, tier: "gold".to_string() }
    }

    #[test]
    fn names_stay_in_their_place() {
        let at = |text: &str, cluster: &str| names(cluster).address(text).map(|url| url.to_string());
        assert_eq!(at("https://{cluster}.example/{tier}", "eu-1").unwrap(), "https://eu-1.example/gold");
        for hostile in ["evil.example/", "a@evil", "a?x", "a#", "", "a.b", "%2f", "a:1"] {
            assert!(at("https://{cluster}.example", hostile).is_err(), "{hostile}");
        }
        assert!(at("https://{organization}.example", "eu-1").unwrap_err().contains("has none"));
        for no_address in ["ftp://a.example", "https:///", "x", "https://a.example/#x"] {
            assert!(at(no_address, "eu-1").is_err(), "{no_address}");
        }
    }

    #[test]
    fn a_token_goes_where_the_operator_wrote_it_down_and_is_in_no_error() {
        let endpoint = Endpoint::Secret { name: "PROM".to_string(), names: names("eu-1") };
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
