//! The way out to hosts that a repository's file names: https and public addresses only, unless the
//! operator allows a host by name. Answers are bounded in bytes and time. What is fetched is judged
//! by who asks; the hub and the clusters have connections of their own.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::secret::Secret;

/// Redirects that are followed, each checked like the first address.
const MAX_REDIRECTS: usize = 3;
const CONNECT: Duration = Duration::from_secs(10);
/// Without a byte for so long, an answer is given up.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest that one answer may take in all.
const WHOLE: Duration = Duration::from_secs(120);

/// Who we are at one host.
#[derive(Clone, Debug)]
pub enum Login {
    /// User and password.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Bearer(Secret),
}

/// What the operator says about the way out.
#[derive(Clone, Debug, Default)]
pub struct NetSettings {
    /// Hosts (`host` or `host:port`) that are allowed though their addresses are private, and that
    /// may be asked over plain http.
    pub allow: Vec<String>,
    /// Credentials by host (`host` or `host:port`). They go to that host and nowhere else.
    pub logins: BTreeMap<String, Login>,
    /// A forward proxy. It, not we, then resolves names, so it must refuse private addresses.
    pub proxy: Option<String>,
}

/// The way out; cheap to clone, connections are shared.
#[derive(Clone, Debug)]
pub struct Net {
    rules: Arc<Rules>,
    client: reqwest::Client,
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer. No variant holds a query, which may carry a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address is not one that may be asked.
    #[error("{url} is not asked: {why}")]
    Refused {
        /// The address.
        url: String,
        /// Why, and what the operator can do.
        why: String,
    },
    /// It did not answer.
    #[error("{url}: {why}")]
    Failed {
        /// The address.
        url: String,
        /// What happened.
        why: String,
    },
    /// It answered with too much.
    #[error("{url} answered with more than {most} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        most: usize,
    },
    /// The settings are wrong.
    #[error("`{entry}` in the settings: {why}")]
    Settings {
        /// The entry.
        entry: String,
        /// What is wrong.
        why: String,
    },
}

impl Net {
    /// A way out that allows these hosts beside the public ones.
    ///
    /// # Errors
    /// Where an entry is no host, or the system has no root certificates.
    pub fn new(allow: Vec<String>) -> Result<Self, NetError> {
        Self::open(NetSettings { allow, ..NetSettings::default() })
    }

    /// A way out by the operator's settings. Proxies of the environment are not looked at.
    ///
    /// # Errors
    /// As [`Net::new`].
    pub fn open(settings: NetSettings) -> Result<Self, NetError> {
        let mut rules = Rules::default();
        for entry in settings.allow {
            rules.allow.push(Named::parse(&entry)?);
        }
        for (entry, login) in settings.logins {
            rules.logins.push((Named::parse(&entry)?, login));
        }
        let proxy = settings.proxy.map(|entry| proxy(&entry, &mut rules)).transpose()?;
        let rules = Arc::new(rules);
        let (redirects, resolver) = (Arc::clone(&rules), Guard(Arc::clone(&rules)));
        let builder = reqwest::Client::builder()
            .user_agent(concat!("coldframe/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .timeout(WHOLE)
            .referer(false)
            .no_proxy()
            .dns_resolver(Arc::new(resolver))
            .redirect(reqwest::redirect::Policy::custom(move |attempt| {
                if attempt.previous().len() > MAX_REDIRECTS {
                    return attempt.error("too many redirects");
                }
                match redirects.check(attempt.url()) {
                    Ok(()) => attempt.follow(),
                    Err(error) => attempt.error(error),
                }
            }));
        let builder = match proxy {
            Some(proxy) => builder.proxy(proxy),
            None => builder,
        };
        let client =
            builder.build().map_err(|error| NetError::Settings { entry: "TLS".into(), why: causes(&error) })?;
        Ok(Self { rules, client })
    }

    /// Whether this address may be asked at all; a name's addresses are looked at when connecting.
    ///
    /// # Errors
    /// Says why not, and what the operator can do.
    pub fn check(&self, url: &Url) -> Result<(), NetError> {
        self.rules.check(url)
    }

    /// The credentials for the host of this address.
    pub fn login(&self, url: &Url) -> Option<&Login> {
        self.rules.logins.iter().find(|(host, _)| host.is(url)).map(|(_, login)| login)
    }

    /// Gets an address. Redirects to another host lose the credentials among the headers.
    ///
    /// # Errors
    /// Where the address is refused, does not answer in time, or answers with more than `most`
    /// bytes. A status that is no success is an answer.
    pub async fn get(&self, url: &Url, headers: HeaderMap, most: usize) -> Result<Fetched, NetError> {
        self.check(url)?;
        let failed = |error: reqwest::Error| match refusal(&error) {
            Some(refused) => refused,
            None => NetError::Failed { url: plain(url), why: causes(&error.without_url()) },
        };
        let too_large = || NetError::TooLarge { url: plain(url), most };
        let mut answer = self.client.get(url.clone()).headers(headers).send().await.map_err(failed)?;
        let announced = answer.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > most {
            return Err(too_large());
        }
        let mut body = BytesMut::with_capacity(announced.min(1024 * 1024));
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > most {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Fetched { status: answer.status(), headers: answer.headers().clone(), body: body.freeze() })
    }
}

/// An address without what may be secret in it.
pub fn plain(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

#[derive(Debug, Default)]
struct Rules {
    allow: Vec<Named>,
    logins: Vec<(Named, Login)>,
    /// The proxy's host, which may be private like those that are allowed.
    proxy: Option<String>,
}

/// A host that the operator named, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    host: String,
    port: Option<u16>,
}

impl Named {
    fn parse(entry: &str) -> Result<Self, NetError> {
        let wrong = |why: &str| NetError::Settings { entry: entry.to_string(), why: why.to_string() };
        let url = Url::parse(&format!("https://{entry}/")).map_err(|error| wrong(&error.to_string()))?;
        let host = url.host_str().ok_or_else(|| wrong("no host"))?.to_string();
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        if !bare {
            return Err(wrong("give `host` or `host:port` and nothing else"));
        }
        // The port of https is left out by the parser even where it was written.
        let written = entry.strip_suffix(":443").is_some().then_some(443);
        Ok(Self { host, port: url.port().or(written) })
    }

    fn is(&self, url: &Url) -> bool {
        url.host_str() == Some(self.host.as_str())
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

impl Rules {
    fn check(&self, url: &Url) -> Result<(), NetError> {
        let refused = |why: &str| NetError::Refused { url: plain(url), why: why.to_string() };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it carries credentials; the operator's settings hold those"));
        }
        let Some(host) = url.host() else { return Err(refused("it names no host")) };
        let named = self.allow.iter().any(|named| named.is(url));
        match url.scheme() {
            "https" => {}
            "http" if named => {}
            "http" => return Err(refused("plain http; use https, or let the operator allow the host")),
            _ => return Err(refused("only https is asked")),
        }
        if named {
            return Ok(());
        }
        if self.allow.iter().any(|named| Some(named.host.as_str()) == url.host_str()) {
            return Err(refused("the operator allows this host on another port only"));
        }
        let public = match host {
            Host::Ipv4(address) => is_public(IpAddr::V4(address)),
            Host::Ipv6(address) => is_public(IpAddr::V6(address)),
            Host::Domain(_) => true,
        };
        if public { Ok(()) } else { Err(refused("a private address; let the operator allow it if it is meant")) }
    }

    fn may_be_private(&self, name: &str) -> bool {
        self.proxy.as_deref() == Some(name) || self.allow.iter().any(|named| named.host == name)
    }
}

fn proxy(entry: &str, rules: &mut Rules) -> Result<reqwest::Proxy, NetError> {
    // The entry may hold a password, so it is not repeated in the error.
    let wrong = |why: String| NetError::Settings { entry: "proxy".to_string(), why };
    let url = Url::parse(entry).map_err(|error| wrong(error.to_string()))?;
    rules.proxy = url.host_str().map(ToString::to_string);
    reqwest::Proxy::all(url.as_str()).map_err(|error| wrong(causes(&error.without_url())))
}

/// Resolves a name once, looks at every address, and connects to what it looked at.
struct Guard(Arc<Rules>);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if !rules.may_be_private(name.as_str()) && !found.iter().all(|address| is_public(address.ip())) {
                let why = "it resolves to a private address; let the operator allow it if it is meant";
                return Err(NetError::Refused { url: name.as_str().to_string(), why: why.to_string() }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address belongs to the internet at large (IANA's registries of special addresses).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([p, q], [r, s]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(p, q, r, s))
    };
    match (a, b) {
        (0x64, 0xff9b) => (c, d, e, f) == (0, 0, 0, 0) && embedded(g, h),
        (0x2002, _) => embedded(b, c),
        // Teredo, ORCHID, documentation.
        (0x2001, 0x0000..=0x01ff | 0x0db8) | (0x3fff, _) => false,
        _ => (0x2000..0x4000).contains(&a),
    }
}

/// The refusal inside of a transport error.
fn refusal(error: &reqwest::Error) -> Option<NetError> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<NetError>() {
            return Some(refused.clone());
        }
        cause = inner.source();
    }
    None
}

/// An error with all its causes on one line; the outermost alone says little.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use axum::Router;
    use axum::response::Redirect;
    use axum::routing::get;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    async fn serve(router: Router) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        host
    }

    async fn fetch(net: &Net, text: &str) -> Result<Fetched, NetError> {
        net.get(&url(text), HeaderMap::new(), 1000).await
    }

    #[test]
    fn only_https_to_public_hosts() {
        let net = Net::new(vec!["charts.internal:8443".into(), "10.0.0.5".into()]).unwrap();
        for (address, allowed) in [
            ("https://charts.example/index.yaml", true),
            ("http://charts.example/", false),
            ("file:///etc/passwd", false),
            ("gopher://charts.example/", false),
            ("https://user:pw@charts.example/", false),
            ("https://127.0.0.1/", false),
            ("https://0x7f.1/", false),
            ("https://2130706433/", false),
            ("https://[::1]/", false),
            ("https://[::ffff:169.254.169.254]/", false),
            ("https://169.254.169.254/latest/meta-data", false),
            ("https://100.100.100.200/", false),
            ("https://192.168.1.1/", false),
            ("https://8.8.8.8/", true),
            ("https://[2606:4700::1111]/", true),
            ("https://10.0.0.5/", true),
            ("http://10.0.0.5:8080/", true),
            ("https://charts.internal:8443/", true),
            ("https://charts.internal/", false),
            ("http://charts.internal:8443/", true),
        ] {
            assert_eq!(net.check(&url(address)).is_ok(), allowed, "{address}");
        }
    }

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.2",
            "169.254.1.1",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "100::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::808:808", "2002:808:808::1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn settings_are_checked() {
        for entry in ["", "a/b", "user@host", "host?x", "http://host", "ho st"] {
            assert!(matches!(Net::new(vec![entry.into()]), Err(NetError::Settings { .. })), "{entry:?}");
        }
        assert_eq!(Named::parse("[::1]:5000").unwrap(), Named { host: "[::1]".into(), port: Some(5000) });
        assert_eq!(
            Named::parse("Charts.Example:443").unwrap(),
            Named { host: "charts.example".into(), port: Some(443) }
        );
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_a_private_address_is_refused() {
        let net = Net::new(Vec::new()).unwrap();
        let error = fetch(&net, "https://localhost:1/").await.unwrap_err();
        assert!(
            matches!(&error, NetError::Refused { url, why } if url == "localhost" && why.contains("private")),
            "{error}"
        );
        let net = Net::new(vec!["localhost".into()]).unwrap();
        let error = fetch(&net, "http://localhost:1/").await.unwrap_err();
        assert!(matches!(error, NetError::Failed { .. }), "allowed by name, and nobody there: {error}");
    }

    #[tokio::test]
    async fn each_redirect_is_checked() {
        let other = serve(Router::new().route("/", get(|| async { "reached" }))).await;
        let to_other = format!("http://{other}/");
        let router = Router::new()
            .route("/private", get(move || async move { Redirect::temporary(&to_other) }))
            .route("/metadata", get(|| async { Redirect::temporary("http://169.254.169.254/") }))
            .route("/loop", get(|| async { Redirect::temporary("/loop") }))
            .route("/once", get(|| async { Redirect::temporary("/end") }))
            .route("/end", get(|| async { "end" }));
        let host = serve(router).await;
        let net = Net::new(vec![host.clone()]).unwrap();
        for path in ["private", "metadata"] {
            let error = fetch(&net, &format!("http://{host}/{path}")).await.unwrap_err();
            assert!(matches!(error, NetError::Refused { .. }), "{path}: {error}");
        }
        let error = fetch(&net, &format!("http://{host}/loop")).await.unwrap_err();
        assert!(error.to_string().contains("too many redirects"), "{error}");
        assert_eq!(fetch(&net, &format!("http://{host}/once")).await.unwrap().body, "end");
    }

    #[tokio::test]
    async fn bodies_are_bounded_with_and_without_a_length() {
        let endless = || async {
            let chunks =
                futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 400])));
            axum::body::Body::from_stream(chunks)
        };
        let router = Router::new().route("/long", get(|| async { "x".repeat(1001) })).route("/endless", get(endless));
        let host = serve(router).await;
        let net = Net::new(vec![host.clone()]).unwrap();
        for path in ["long", "endless"] {
            let error = fetch(&net, &format!("http://{host}/{path}?token=secret")).await.unwrap_err();
            assert_eq!(error, NetError::TooLarge { url: format!("http://{host}/{path}"), most: 1000 });
        }
    }

    #[test]
    fn a_login_belongs_to_its_host() {
        let login = Login::Bearer(Secret::new("t"));
        let logins = BTreeMap::from([("registry.example:5000".to_string(), login)]);
        let net = Net::open(NetSettings { logins, ..NetSettings::default() }).unwrap();
        assert!(net.login(&url("https://registry.example:5000/v2/")).is_some());
        for other in
            ["https://registry.example/", "https://x.registry.example:5000/", "https://registry.example.evil:5000/"]
        {
            assert!(net.login(&url(other)).is_none(), "{other}");
        }
    }
}
