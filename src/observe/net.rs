//! The way out to hosts that a repository's file names: https and public addresses only, unless the
//! operator allows a host by name. Answers are bounded in bytes and time. What is fetched is judged
//! by who asks; the hub and the clusters have connections of their own.

mod given;
mod logins;
mod reach;
mod rules;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

pub use self::given::{Given, SHARED};
pub use self::logins::{Found, Login, Logins};
#[cfg(test)]
pub(crate) use self::logins::{net_to, written};
use crate::proxies::Proxies;
use rules::{Named, Rules, is_public};

/// Redirects that are followed, each checked like the first address.
const MAX_REDIRECTS: usize = 3;
const CONNECT: Duration = Duration::from_secs(10);
/// Without a byte for so long, an answer is given up.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest that one answer may take in all.
const WHOLE: Duration = Duration::from_secs(120);

/// What the operator says about the way out.
#[derive(Clone, Debug, Default)]
pub struct NetSettings {
    /// Hosts (`host` or `host:port`) that are allowed though their addresses are private, and that
    /// may be asked over plain http.
    pub allow: Vec<String>,
    /// Credentials by host. They go to that host and nowhere else.
    pub logins: Logins,
    /// Forward proxies. They, not we, then resolve names, so they must refuse private addresses.
    pub proxies: Proxies,
}

/// The way out; cheap to clone, connections are shared.
#[derive(Clone, Debug)]
pub struct Net {
    rules: Arc<Rules>,
    logins: Logins,
    client: reqwest::Client,
    /// Follows no redirect.
    straight: reqwest::Client,
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

    /// A way out by the operator's settings.
    ///
    /// # Errors
    /// As [`Net::new`].
    pub fn open(settings: NetSettings) -> Result<Self, NetError> {
        let NetSettings { allow, logins, proxies } = settings;
        let allow = allow.iter().map(|entry| Named::parse(entry)).collect::<Result<_, _>>()?;
        let rules = Arc::new(Rules { allow, proxies });
        let redirects = Arc::clone(&rules);
        let followed = reqwest::redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > MAX_REDIRECTS {
                return attempt.error("too many redirects");
            }
            match redirects.check(attempt.url()) {
                Ok(()) => attempt.follow(),
                Err(error) => attempt.error(error),
            }
        });
        let client = client(&rules, followed)?;
        let straight = self::client(&rules, reqwest::redirect::Policy::none())?;
        Ok(Self { rules, logins, client, straight })
    }

    /// Whether this address may be asked at all; a name's addresses are looked at when connecting.
    ///
    /// # Errors
    /// Says why not, and what the operator can do.
    pub fn check(&self, url: &Url) -> Result<(), NetError> {
        self.rules.check(url)
    }

    /// A client that asks what may be asked and nothing else, for who speaks another protocol over it: it follows no
    /// redirect. The address itself has to pass [`Net::check`].
    ///
    /// # Errors
    /// Where the system has no root certificates.
    pub fn guarded(&self) -> Result<reqwest::Client, NetError> {
        client(&self.rules, reqwest::redirect::Policy::none())
    }

    /// The credentials for the host of this address.
    ///
    /// # Errors
    /// The operator's file with them is not what it was at the start.
    pub fn login(&self, url: &Url) -> Result<Option<Found>, NetError> {
        self.logins.of(url)
    }

    /// The files that logins come from.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Gets an address. Redirects to another host lose the credentials among the headers.
    ///
    /// # Errors
    /// Where the address is refused, does not answer in time, or answers with more than `most`
    /// bytes. A status that is no success is an answer.
    pub async fn get(&self, url: &Url, headers: HeaderMap, most: usize) -> Result<Fetched, NetError> {
        self.send(url, self.client.get(url.clone()).headers(headers), most).await
    }

    /// Gets an address and follows no redirect, so that headers of any name reach this host alone.
    ///
    /// # Errors
    /// As [`Net::get`].
    pub async fn ask(&self, url: &Url, headers: HeaderMap, most: usize) -> Result<Fetched, NetError> {
        self.send(url, self.straight.get(url.clone()).headers(headers), most).await
    }

    /// Posts a form and follows no redirect: what stands in it is for this host alone.
    ///
    /// # Errors
    /// As [`Net::get`].
    pub async fn submit(&self, url: &Url, form: &[(&str, &str)], most: usize) -> Result<Fetched, NetError> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.straight.post(url.clone());
        let request = request.header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
        self.send(url, request, most).await
    }

    /// Posts to an address that is a secret as a whole: errors name its host alone.
    ///
    /// # Errors
    /// As [`Net::get`].
    pub async fn post(&self, url: &Url, headers: HeaderMap, body: String, most: usize) -> Result<Fetched, NetError> {
        let request = self.client.post(url.clone()).headers(headers).body(body);
        let host = || url.host_str().unwrap_or_default().to_string();
        self.send(url, request, most).await.map_err(|error| match error {
            NetError::Refused { why, .. } => NetError::Refused { url: host(), why },
            NetError::Failed { why, .. } => NetError::Failed { url: host(), why },
            NetError::TooLarge { most, .. } => NetError::TooLarge { url: host(), most },
            error @ NetError::Settings { .. } => error,
        })
    }

    async fn send(&self, url: &Url, request: reqwest::RequestBuilder, most: usize) -> Result<Fetched, NetError> {
        self.check(url)?;
        let failed = |error: reqwest::Error| match refusal(&error) {
            Some(refused) => refused,
            None => {
                NetError::Failed { url: plain(url), why: self.rules.proxies.blamed(url, causes(&error.without_url())) }
            }
        };
        let too_large = || NetError::TooLarge { url: plain(url), most };
        let mut answer = request.send().await.map_err(failed)?;
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
        if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Err(NetError::Failed {
                url: plain(url),
                why: self.rules.proxies.blamed(url, answer.status().to_string()),
            });
        }
        Ok(Fetched { status: answer.status(), headers: answer.headers().clone(), body: body.freeze() })
    }
}

fn client(rules: &Arc<Rules>, redirects: reqwest::redirect::Policy) -> Result<reqwest::Client, NetError> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("coldframe/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .timeout(WHOLE)
        .referer(false)
        .dns_resolver(Arc::new(Guard(Arc::clone(rules))))
        .redirect(redirects);
    rules.proxies.on(builder).build().map_err(|error| NetError::Settings { entry: "TLS".into(), why: causes(&error) })
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

/// Resolves a name once, looks at every address, and connects to what it looked at.
struct Guard(Arc<Rules>);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = Arc::clone(&self.0);
        Box::pin(async move {
            let found = looked_at(&rules, name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The addresses of a name, if each of them may be reached.
async fn looked_at(
    rules: &Rules,
    name: &str,
    port: u16,
) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, port)).await?.collect();
    if !rules.may_be_private(name) && !found.iter().all(|address| is_public(address.ip())) {
        let why = "it resolves to a private address; let the operator allow it if it is meant";
        return Err(NetError::Refused { url: name.to_string(), why: why.to_string() }.into());
    }
    Ok(found)
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
mod tests;
