//! The way to a host that is spoken to in another protocol than HTTP, under the same rules.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::{Net, NetError, causes, looked_at};

impl Net {
    /// The addresses at which a host may be reached, each of them looked at: whoever connects to these and resolves nothing
    /// again is where the rules let them. No proxy stands in between.
    ///
    /// # Errors
    /// Where it may not be reached, or its name is unknown. Without encryption only what the operator allows is.
    pub async fn reach(&self, host: &str, port: u16, encrypted: bool) -> Result<Vec<SocketAddr>, NetError> {
        let refused = |why: &str| NetError::Refused { url: format!("{host}:{port}"), why: why.to_string() };
        let url = Url::parse(&format!("https://{host}:{port}/")).map_err(|error| refused(&error.to_string()))?;
        let bare = url.username().is_empty() && url.path() == "/" && url.port_or_known_default() == Some(port);
        if !bare {
            return Err(refused("it is no name of a host"));
        }
        if !encrypted && !self.rules.names(&url) {
            return Err(refused("it would be spoken to without TLS; use TLS, or let the operator allow the host"));
        }
        let named = |error: NetError| match error {
            NetError::Refused { why, .. } => refused(&why),
            error @ (NetError::Failed { .. } | NetError::TooLarge { .. } | NetError::Settings { .. }) => error,
        };
        self.rules.check_host(&url).map_err(named)?;
        let name = match url.host() {
            Some(Host::Domain(name)) => name,
            Some(Host::Ipv4(address)) => return Ok(vec![SocketAddr::new(IpAddr::V4(address), port)]),
            Some(Host::Ipv6(address)) => return Ok(vec![SocketAddr::new(IpAddr::V6(address), port)]),
            None => return Err(refused("it names no host")),
        };
        looked_at(&self.rules, name, port).await.map_err(|error| match error.downcast::<NetError>() {
            Ok(error) => named(*error),
            Err(error) => NetError::Failed { url: format!("{host}:{port}"), why: causes(error.as_ref()) },
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a22_another_protocol_reaches_no_more_than_http_does() {
        let net = Net::new(vec!["127.0.0.1:2525".into(), "localhost:25".into()]).unwrap();
        for (host, port, encrypted, said) in [
            ("127.0.0.1", 465, true, "on another port only"),
            ("127.1", 465, true, "on another port only"),
            ("10.0.0.5", 465, true, "a private address"),
            ("[::1]", 465, true, "a private address"),
            ("169.254.169.254", 465, true, "a private address"),
            ("8.8.8.8", 25, false, "without TLS"),
            ("localhost", 26, true, "on another port only"),
            ("user@8.8.8.8", 25, true, "no name of a host"),
            ("8.8.8.8/", 25, true, "no name of a host"),
        ] {
            let error = net.reach(host, port, encrypted).await.unwrap_err();
            assert!(matches!(&error, NetError::Refused { why, .. } if why.contains(said)), "{host}:{port} {error}");
        }
        let strict = Net::new(Vec::new()).unwrap();
        let error = strict.reach("localhost", 25, true).await.unwrap_err();
        assert!(error.to_string().contains("it resolves to a private address"), "{error}");
        for (host, port, encrypted) in [("127.0.0.1", 2525, false), ("localhost", 25, false), ("8.8.8.8", 465, true)] {
            let there = net.reach(host, port, encrypted).await.unwrap();
            assert!(!there.is_empty() && there.iter().all(|there| there.port() == port), "{there:?}");
        }
    }
}
