//! The forward proxies of the environment, as everybody writes them: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in
//! upper or lower case. The hub, git and what policy files name are reached by them; clusters are not.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use url::{Host, Url};

/// Which proxy stands before which address.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    https: Option<Proxy>,
    http: Option<Proxy>,
    except: Vec<Except>,
}

/// One proxy. Its address may hold a password, so nobody prints it.
#[derive(Clone)]
struct Proxy {
    url: Url,
    variable: &'static str,
}

/// An entry of `NO_PROXY`.
#[derive(Debug, PartialEq, Eq)]
struct Except {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    All,
    /// Addresses that begin with these bits.
    Block(IpAddr, u8),
    /// A name, and every name below it.
    Name(String),
}

impl Proxies {
    /// Those of this process.
    ///
    /// # Errors
    /// Says which variable is wrong; its value may be a secret and is not repeated.
    pub fn environment() -> Result<Self, String> {
        static KNOWN: OnceLock<Result<Proxies, String>> = OnceLock::new();
        KNOWN.get_or_init(|| Self::read(|name| std::env::var(name).ok())).clone()
    }

    /// Those that these variables name.
    ///
    /// # Errors
    /// As [`Self::environment`].
    pub fn read(variable: impl Fn(&'static str) -> Option<String>) -> Result<Self, String> {
        let given = |names: [&'static str; 2]| {
            let found = |name| Some((name, variable(name).filter(|text| !text.trim().is_empty())?));
            names.into_iter().find_map(found)
        };
        let proxy = |names| given(names).map(|(name, text)| Proxy::parse(name, text.trim())).transpose();
        let (https, http) = (proxy(["HTTPS_PROXY", "https_proxy"])?, proxy(["HTTP_PROXY", "http_proxy"])?);
        let except = given(["NO_PROXY", "no_proxy"]).map(|(_, text)| text).unwrap_or_default();
        let except = except.split([',', ' ']).filter_map(Except::parse).collect();
        Ok(Self(Arc::new(Known { https, http, except })))
    }

    /// The client's way out goes by these proxies and no others.
    pub fn on(&self, builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        let proxies = self.clone();
        let builder = builder.no_proxy();
        if self.0.https.is_none() && self.0.http.is_none() {
            return builder;
        }
        builder.proxy(reqwest::Proxy::custom(move |url| proxies.of(url).map(|proxy| proxy.url.clone())))
    }

    /// What went wrong with an address, with the proxy that stands before it.
    pub fn blamed(&self, url: &Url, why: String) -> String {
        let Some(Proxy { url, variable }) = self.of(url) else { return why };
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        let wants = why.to_lowercase().contains("proxy auth");
        let help = if wants { "; give it a login as http://USER:PASSWORD@HOST:PORT" } else { "" };
        format!("by the proxy {host}:{port} ({variable}): {why}{help}")
    }

    /// Whether a proxy has this name.
    pub fn has_host(&self, name: &str) -> bool {
        [&self.0.https, &self.0.http].into_iter().flatten().any(|proxy| proxy.url.host_str() == Some(name))
    }

    fn of(&self, url: &Url) -> Option<&Proxy> {
        let proxy = match url.scheme() {
            "https" => self.0.https.as_ref()?,
            "http" => self.0.http.as_ref()?,
            _ => return None,
        };
        let host = url.host()?;
        let straight = is_loopback(&host) || self.0.except.iter().any(|except| except.is(&host, url));
        (!straight).then_some(proxy)
    }
}

impl Proxy {
    fn parse(variable: &'static str, text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{variable} in the environment {why}; it looks like http://proxy.example:3128");
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&text).map_err(|error| wrong(&format!("is no address ({error})")))?;
        match url.scheme() {
            "http" | "https" if url.has_host() => Ok(Self { url, variable }),
            "http" | "https" => Err(wrong("names no host")),
            _ => Err(wrong("is no HTTP proxy, and no other kind is spoken here")),
        }
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.variable)
    }
}

impl Except {
    /// What cannot be read excepts nothing: the list is written for many programs.
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim();
        match entry {
            "" => return None,
            "*" => return Some(Self { what: What::All, port: None }),
            _ => {}
        }
        if let Some((address, bits)) = entry.split_once('/') {
            return Some(Self { what: What::Block(address.parse().ok()?, bits.parse().ok()?), port: None });
        }
        let bare = |text: &str| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let whole = |address: IpAddr| What::Block(address, if address.is_ipv4() { 32 } else { 128 });
        if let Some(address) = bare(entry) {
            return Some(Self { what: whole(address), port: None });
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        let name = name.trim_start_matches("*.").trim_matches('.').to_lowercase();
        let what = match bare(&name) {
            Some(address) => whole(address),
            None if name.is_empty() || name.contains(['/', '*', ':']) => return None,
            None => What::Name(name),
        };
        Some(Self { what, port })
    }

    fn is(&self, host: &Host<&str>, url: &Url) -> bool {
        if self.port.is_some() && self.port != url.port_or_known_default() {
            return false;
        }
        let within = |address: IpAddr| matches!(self.what, What::Block(block, bits) if begins(address, block, bits));
        match (host, &self.what) {
            (_, What::All) => true,
            (Host::Ipv4(address), _) => within(IpAddr::V4(*address)),
            (Host::Ipv6(address), _) => within(IpAddr::V6(*address)),
            (Host::Domain(host), What::Name(name)) => {
                let host = host.trim_end_matches('.').to_lowercase();
                host.strip_suffix(name.as_str()).is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            (Host::Domain(_), What::Block(..)) => false,
        }
    }
}

/// Whether an address has the first bits of a block.
fn begins(address: IpAddr, block: IpAddr, bits: u8) -> bool {
    let same =
        |width: u32, differ: u128| u32::from(bits) <= width && differ.leading_zeros() >= 128 - width + u32::from(bits);
    match (address, block) {
        (IpAddr::V4(address), IpAddr::V4(block)) => same(32, u128::from(address.to_bits() ^ block.to_bits())),
        (IpAddr::V6(address), IpAddr::V6(block)) => same(128, address.to_bits() ^ block.to_bits()),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// This machine itself, which no proxy can reach for us.
fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn proxies(variables: &[(&'static str, &str)]) -> Result<Proxies, String> {
        let variables: Vec<(&str, String)> =
            variables.iter().map(|(name, text)| (*name, (*text).to_string())).collect();
        Proxies::read(|wanted| variables.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.clone()))
    }

    #[test]
    fn no_proxy_is_read_as_everybody_writes_it() {
        for (except, straight, proxied) in [
            ("", &[][..], &["https://a.example/", "https://10.0.0.1/"][..]),
            ("*", &["https://a.example/", "https://10.0.0.1/"], &[]),
            (
                "a.example",
                &["https://a.example/", "https://b.A.example:8443/"],
                &["https://ba.example/", "https://example/"],
            ),
            (".corp.example", &["https://x.corp.example/", "https://corp.example/"], &["https://xcorp.example/"]),
            ("*.corp.example", &["https://x.corp.example/"], &["https://x.example/"]),
            (
                "10.0.0.0/8",
                &["https://10.200.3.4/"],
                &["https://11.0.0.1/", "https://ten.example/", "https://[::a00:1]/"],
            ),
            ("fd00::/8", &["https://[fd12::1]/"], &["https://[fe12::1]/", "https://10.0.0.1/"]),
            ("192.0.2.7", &["https://192.0.2.7:5000/"], &["https://192.0.2.70/"]),
            ("2001:db8::1", &["https://[2001:db8::1]/"], &["https://[2001:db8::2]/"]),
            ("[2001:db8::1]:5000", &["https://[2001:db8::1]:5000/"], &["https://[2001:db8::1]/"]),
            ("a.example:8443", &["https://a.example:8443/"], &["https://a.example/"]),
            ("a.example:443", &["https://a.example/"], &["https://a.example:8443/"]),
            (" x.example , a.example,,", &["https://a.example/", "https://x.example/"], &["https://y.example/"]),
            ("x.example a.example", &["https://a.example/", "https://x.example/"], &["https://y.example/"]),
            ("https://a.example,a*.example,1.2.3.4/99,:80", &[], &["https://a.example/", "https://1.2.3.4/"]),
        ] {
            let proxies = proxies(&[("HTTPS_PROXY", "http://p.example:3128"), ("NO_PROXY", except)]).unwrap();
            let is = |address: &&str| proxies.of(&Url::parse(address).unwrap()).is_some();
            assert!(!straight.iter().any(is), "{except}: {straight:?}");
            assert!(proxied.iter().all(is), "{except}: {proxied:?}");
        }
    }

    #[test]
    fn each_scheme_has_its_proxy_and_this_machine_has_none() {
        let proxies =
            proxies(&[("https_proxy", "me:secret@p.example:3128"), ("HTTP_PROXY", "https://q.example")]).unwrap();
        let blamed = |address: &str, why: &str| proxies.blamed(&Url::parse(address).unwrap(), why.to_string());
        assert_eq!(blamed("https://a.example/", "x"), "by the proxy p.example:3128 (https_proxy): x", "no secret");
        assert_eq!(blamed("http://a.example/", "x"), "by the proxy q.example:443 (HTTP_PROXY): x");
        assert!(blamed("http://a.example/", "407 Proxy Authentication Required").ends_with("USER:PASSWORD@HOST:PORT"));
        for here in ["https://localhost/", "https://127.3.2.1:8443/", "http://[::1]/", "ftp://a.example/"] {
            assert_eq!(blamed(here, "x"), "x", "{here}");
        }
        assert!(!format!("{proxies:?}").contains("secret"));
        assert!(proxies.has_host("q.example") && !proxies.has_host("a.example"));
    }

    #[test]
    fn what_is_no_proxy_is_said_without_its_text() {
        for (text, why) in [("socks5://me:secret@p.example", "no other kind"), ("http://me:secret@", "is no address")] {
            let error = proxies(&[("HTTPS_PROXY", text)]).unwrap_err();
            assert!(error.contains(why) && error.starts_with("HTTPS_PROXY") && !error.contains("secret"), "{error}");
        }
        assert!(proxies(&[("HTTPS_PROXY", " "), ("https_proxy", "p:1")]).unwrap().has_host("p"), "empty is not given");
    }
}
