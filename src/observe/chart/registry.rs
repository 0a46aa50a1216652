//! Talking to an OCI registry: authorization by challenge, one repository, pull only. Redirects,
//! addresses and sizes are bounded by the way out (`net`), which is why the transport is ours.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use oci_client::Reference;
use tokio::sync::Mutex;
use url::Url;

use super::found::{SourceError, closed, host, is_closed, status};
use crate::observe::net::{Fetched, Found, Login};
use crate::observe::net::{Net, plain};

const MANIFESTS: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json;q=0.5";
/// The largest manifest, in bytes.
const MAX_MANIFEST: usize = 1024 * 1024;
/// The largest answer to a request for a token, in bytes.
const MAX_TOKEN: usize = 64 * 1024;

/// What is shown to the registry, and the file that the login behind it comes from.
#[derive(Clone)]
struct Shown {
    header: HeaderValue,
    file: Option<PathBuf>,
}

impl Shown {
    fn of(found: Found) -> Option<Self> {
        credentials(&found.login).map(|header| Self { header, file: Some(found.file) })
    }
}

/// One repository of a registry.
pub(super) struct Registry {
    net: Net,
    base: Url,
    repository: String,
    /// What the registry wanted to see last.
    authorization: Mutex<Option<Shown>>,
}

impl Registry {
    /// `reference` is `registry.example/charts/cert-manager`, without a scheme, tag or digest.
    pub fn new(reference: &str, plain_http: bool, net: &Net) -> Result<Self, SourceError> {
        let refused = |why: &str| SourceError::Refused { url: reference.to_string(), why: why.to_string() };
        let parsed =
            Reference::from_str(reference).map_err(|error| refused(&format!("not an OCI reference ({error})")))?;
        // The parser fills in Docker's registry and the tag `latest` where none is written.
        if parsed.digest().is_some() || !reference.ends_with(parsed.repository()) || !reference.contains('/') {
            return Err(refused("give `registry/repository`, without tag and digest"));
        }
        let scheme = if plain_http { "http" } else { "https" };
        let base = format!("{scheme}://{}/v2/{}/", parsed.resolve_registry(), parsed.repository());
        let base = Url::parse(&base).map_err(|error| refused(&error.to_string()))?;
        net.check(&base)?;
        Ok(Self {
            net: net.clone(),
            base,
            repository: parsed.repository().to_string(),
            authorization: Mutex::new(None),
        })
    }

    /// An address below the repository, such as `manifests/1.2.3`.
    pub fn url(&self, below: &str) -> Result<Url, SourceError> {
        self.base
            .join(below)
            .map_err(|error| SourceError::Refused { url: plain(&self.base), why: format!("`{below}`: {error}") })
    }

    /// Gets the address of a manifest.
    pub async fn manifest(&self, url: &Url) -> Result<Fetched, SourceError> {
        self.get(url, MANIFESTS, MAX_MANIFEST).await
    }

    /// Gets an address; where the registry asks for authorization, once more with it.
    pub async fn get(&self, url: &Url, accept: &'static str, most: usize) -> Result<Fetched, SourceError> {
        let known = self.authorization.lock().await.clone();
        let shown = match known {
            Some(known) => Some(known),
            None => self.token_of_operator()?,
        };
        let first = self.ask(url, accept, most, shown.as_ref()).await?;
        let fresh = match first.status {
            StatusCode::UNAUTHORIZED => self.authorize(url, &first).await?,
            _ => None,
        };
        let (answer, shown) = match fresh {
            Some(fresh) => (self.ask(url, accept, most, Some(&fresh)).await?, Some(fresh)),
            None => (first, shown),
        };
        if is_closed(&answer) {
            return Err(self.closed(url, &answer, shown.and_then(|shown| shown.file).as_deref()));
        }
        *self.authorization.lock().await = shown;
        Ok(answer)
    }

    async fn ask(
        &self,
        url: &Url,
        accept: &'static str,
        most: usize,
        shown: Option<&Shown>,
    ) -> Result<Fetched, SourceError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(shown) = shown {
            headers.insert(AUTHORIZATION, shown.header.clone());
        }
        Ok(self.net.get(url, headers, most).await?)
    }

    /// A bearer token from the settings is shown at once.
    fn token_of_operator(&self) -> Result<Option<Shown>, SourceError> {
        let found = self.net.login(&self.base)?;
        Ok(found.filter(|found| matches!(found.login, Login::Bearer(_))).and_then(Shown::of))
    }

    /// What the challenge asks for; none where we have nothing to show.
    async fn authorize(&self, url: &Url, answer: &Fetched) -> Result<Option<Shown>, SourceError> {
        let challenges = answer.headers.get_all(WWW_AUTHENTICATE);
        let challenges: Vec<Challenge> =
            challenges.iter().filter_map(|value| Challenge::parse(value.to_str().ok()?)).collect();
        if let Some(challenge) = challenges.iter().find(|challenge| challenge.scheme == "bearer") {
            return self.token(challenge).await.map(Some);
        }
        if challenges.iter().any(|challenge| challenge.scheme == "basic") {
            return Ok(self.net.login(url)?.and_then(Shown::of));
        }
        Ok(None)
    }

    /// A token for pulling this repository. Credentials go to the realm only where the operator gave
    /// them for its host: the realm is the registry's word.
    async fn token(&self, challenge: &Challenge) -> Result<Shown, SourceError> {
        let malformed = |why: &str| SourceError::Malformed {
            url: plain(&self.base),
            expected: "a challenge for a token",
            why: why.to_string(),
        };
        let realm = challenge.parameter("realm").ok_or_else(|| malformed("it names no realm"))?;
        let realm = Url::parse(realm).map_err(|_| malformed("its realm is no URL"))?;
        let found = self.net.login(&realm)?;
        let answer = self.ask_realm(&realm, challenge.parameter("service"), found.as_ref()).await?;
        let file = found.map(|found| found.file);
        if is_closed(&answer) {
            return Err(self.closed(&realm, &answer, file.as_deref()));
        }
        if answer.status != StatusCode::OK {
            return Err(status(&realm, &answer));
        }
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token =
            ["token", "access_token"].iter().find_map(|key| body.get(key)?.as_str()).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| malformed("its realm answered without a token"))?;
        let header = secret(&format!("Bearer {token}"))
            .ok_or_else(|| malformed("its realm answered with something that is no token"))?;
        Ok(Shown { header, file })
    }

    /// Asks for a token: as who we are, or by the token that a login left (OAuth2 of the distribution's registry).
    async fn ask_realm(
        &self,
        realm: &Url,
        service: Option<&str>,
        found: Option<&Found>,
    ) -> Result<Fetched, SourceError> {
        let scope = format!("repository:{}:pull", self.repository);
        let service = service.map(|service| ("service", service));
        let asked = [("scope", scope.as_str())].into_iter().chain(service);
        if let Some(Found { login: Login::Identity(token), .. }) = found {
            let grant =
                [("grant_type", "refresh_token"), ("client_id", "coldframe"), ("refresh_token", token.reveal())];
            let form: Vec<(&str, &str)> = grant.into_iter().chain(asked).collect();
            return Ok(self.net.submit(realm, &form, MAX_TOKEN).await?);
        }
        let mut realm = realm.clone();
        realm.query_pairs_mut().extend_pairs(asked);
        let mut headers = HeaderMap::new();
        if let Some(value) = found.and_then(|found| credentials(&found.login)) {
            headers.insert(AUTHORIZATION, value);
        }
        Ok(self.net.get(&realm, headers, MAX_TOKEN).await?)
    }

    /// Why nobody was let in; a realm elsewhere wants a login of its own.
    fn closed(&self, url: &Url, answer: &Fetched, shown: Option<&Path>) -> SourceError {
        let (here, there) = (host(&self.base), host(url));
        match self.net.login(&self.base) {
            Ok(Some(found)) if shown.is_none() && here != there => SourceError::Closed {
                url: plain(&self.base),
                why: format!(
                    "it sends to {there} for a token, which answered {}; `{}` has a login for {here} and none for \
                     {there}, and a login goes to its own host alone: if that is meant, put it there for {there}, too",
                    answer.status,
                    found.file.display()
                ),
            },
            Ok(_) => closed(url, answer, shown, &self.net),
            Err(error) => error.into(),
        }
    }
}

/// One challenge of a `WWW-Authenticate` header.
#[derive(Debug, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    fn parse(header: &str) -> Option<Self> {
        let (scheme, mut rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        let mut parameters = Vec::new();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_at(after.find(',').unwrap_or(after.len())),
            };
            parameters.push((name.trim_matches([' ', ',']).to_ascii_lowercase(), value.to_string()));
            rest = after;
        }
        (!scheme.is_empty()).then(|| Self { scheme: scheme.to_ascii_lowercase(), parameters })
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The header that shows a login; none where it is shown otherwise, or holds signs that a header cannot.
pub(super) fn credentials(login: &Login) -> Option<HeaderValue> {
    match login {
        Login::Basic { user, password } => {
            secret(&format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal()))))
        }
        Login::Bearer(token) => secret(&format!("Bearer {}", token.reveal())),
        Login::Identity(_) => None,
    }
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn challenges_are_read() {
        let header = r#"Bearer realm="https://auth.example/token?x=a,b",service=registry.example, scope="repository:a:pull,push""#;
        let challenge = Challenge::parse(header).unwrap();
        assert_eq!(challenge.scheme, "bearer");
        assert_eq!(challenge.parameter("realm"), Some("https://auth.example/token?x=a,b"));
        assert_eq!(challenge.parameter("service"), Some("registry.example"));
        assert_eq!(challenge.parameter("scope"), Some("repository:a:pull,push"));
        assert_eq!(Challenge::parse("Basic").unwrap().parameters, []);
        assert_eq!(Challenge::parse(""), None);
        assert_eq!(Challenge::parse("Bearer realm=\"open"), None);
    }

    #[test]
    fn references_are_checked() {
        let net = Net::new(vec!["127.0.0.1:5000".into()]).unwrap();
        for bad in [
            "",
            "loki",
            "registry.example/charts/loki:1.0.0",
            "registry.example/Charts/loki",
            "10.0.0.1/loki",
            "oci://registry.example/loki",
            "registry.example/loki@sha256:00",
            "127.0.0.1:5001/loki",
        ] {
            assert!(matches!(Registry::new(bad, false, &net), Err(SourceError::Refused { .. })), "{bad}");
        }
        assert!(matches!(Registry::new("registry.example/loki", true, &net), Err(SourceError::Refused { .. })));
        for (reference, plain_http, base) in [
            ("registry.example/charts/loki", false, "https://registry.example/v2/charts/loki/"),
            ("127.0.0.1:5000/charts/loki", true, "http://127.0.0.1:5000/v2/charts/loki/"),
            ("docker.io/grafana/loki", false, "https://registry-1.docker.io/v2/grafana/loki/"),
        ] {
            let registry =
                Registry::new(reference, plain_http, &net).unwrap_or_else(|error| panic!("{reference}: {error}"));
            assert_eq!(registry.base.as_str(), base.replace("registry-1.docker.io", registry.base.host_str().unwrap()));
        }
    }
}
