//! Which addresses may be asked: what the operator named, else https to the internet at large.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::{NetError, plain};
use crate::proxies::Proxies;

#[derive(Debug, Default)]
pub(super) struct Rules {
    pub allow: Vec<Named>,
    /// Their hosts may be private like those that are allowed.
    pub proxies: Proxies,
}

/// A host that the operator named, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub host: String,
    pub port: Option<u16>,
}

impl Named {
    pub fn parse(entry: &str) -> Result<Self, NetError> {
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

    pub fn is(&self, url: &Url) -> bool {
        url.host_str() == Some(self.host.as_str())
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

impl Rules {
    pub fn check(&self, url: &Url) -> Result<(), NetError> {
        let refused = |why: &str| NetError::Refused { url: plain(url), why: why.to_string() };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it carries credentials; the operator's settings hold those"));
        }
        match url.scheme() {
            "https" => {}
            "http" if self.names(url) => {}
            "http" => return Err(refused("plain http; use https, or let the operator allow the host")),
            _ => return Err(refused("only https is asked")),
        }
        self.check_host(url)
    }

    /// Whether the operator named the host of this address, at its port.
    pub fn names(&self, url: &Url) -> bool {
        self.allow.iter().any(|named| named.is(url))
    }

    /// Whether its host may be reached at its port, by whatever protocol.
    pub fn check_host(&self, url: &Url) -> Result<(), NetError> {
        let refused = |why: &str| NetError::Refused { url: plain(url), why: why.to_string() };
        let Some(host) = url.host() else { return Err(refused("it names no host")) };
        if self.names(url) {
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

    pub fn may_be_private(&self, name: &str) -> bool {
        self.proxies.has_host(name) || self.allow.iter().any(|named| named.host == name)
    }
}

/// Whether an address belongs to the internet at large (IANA's registries of special addresses).
pub(super) fn is_public(address: IpAddr) -> bool {
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
