//! Where the parts of one hub are: its pages, REST, GraphQL, git. All follow from one address.

use url::Url;

use super::HubError;

/// The four addresses of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bases {
    /// The pages that people read.
    pub web: Url,
    /// The REST API; its path, when it has one, has no slash at the end.
    pub rest: Url,
    /// The GraphQL endpoint.
    pub graphql: Url,
    /// Git over HTTP.
    pub git: Url,
}

impl Bases {
    /// The addresses of the hub at `address`: github.com, a tenant of ghe.com, or a GitHub
    /// Enterprise Server, whose layout the sandbox on loopback has too.
    ///
    /// # Errors
    /// The address is not a bare `https://host[:port]`. Plain HTTP is for loopback only: tokens
    /// travel on this line.
    pub fn from_hub(address: &str) -> Result<Self, HubError> {
        let bad = |why: &str| HubError::Setup(format!("`{address}` is no address of a hub: {why}"));
        let web = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
        let host = web.host_str().unwrap_or_default().to_owned();
        let bare = web.path() == "/" && web.query().is_none() && web.fragment().is_none();
        if host.is_empty() || !bare || !web.username().is_empty() || web.password().is_some() {
            return Err(bad("give scheme, host and port only, such as `https://github.com`"));
        }
        match web.scheme() {
            "https" => {}
            "http" if is_loopback(&web) => {}
            _ => return Err(bad("it has to be https (http is for loopback only)")),
        }
        let at = |host: &str, path: &str| -> Result<Url, HubError> {
            let mut url = web.clone();
            url.set_host(Some(host)).map_err(|error| bad(&error.to_string()))?;
            url.set_path(path);
            Ok(url)
        };
        let (rest, graphql) = match host.as_str() {
            "github.com" => (at("api.github.com", "/")?, at("api.github.com", "/graphql")?),
            tenant if tenant.ends_with(".ghe.com") => {
                let api = format!("api.{tenant}");
                (at(&api, "/")?, at(&api, "/graphql")?)
            }
            "api.github.com" | "www.github.com" => return Err(bad("use `https://github.com`")),
            own => (at(own, "/api/v3")?, at(own, "/api/graphql")?),
        };
        Ok(Self { git: web.clone(), web, rest, graphql })
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_follow_from_one() {
        for (hub, rest, graphql) in [
            ("https://github.com", "https://api.github.com/", "https://api.github.com/graphql"),
            ("https://github.com/", "https://api.github.com/", "https://api.github.com/graphql"),
            ("https://acme.ghe.com", "https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql"),
            ("https://ghe.example", "https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
            ("http://127.0.0.1:8123", "http://127.0.0.1:8123/api/v3", "http://127.0.0.1:8123/api/graphql"),
            ("http://[::1]:8123", "http://[::1]:8123/api/v3", "http://[::1]:8123/api/graphql"),
        ] {
            let bases = Bases::from_hub(hub).unwrap();
            assert_eq!((bases.rest.as_str(), bases.graphql.as_str()), (rest, graphql), "{hub}");
            assert_eq!(bases.git, bases.web);
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for hub in [
            "github.com",
            "http://ghe.example",
            "http://10.0.0.1",
            "https://user:secret@ghe.example",
            "https://ghe.example/some/path",
            "https://ghe.example?x=1",
            "https://api.github.com",
            "file:///etc/passwd",
            "http://127.0.0.1.evil.example",
        ] {
            assert!(Bases::from_hub(hub).is_err(), "{hub}");
        }
    }
}
