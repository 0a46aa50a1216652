//! The two cookies of the sign-in: which session a browser has, and what an attempt to sign in needs when it comes back
//! from the hub. What they stand for is in the modules beside.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::AppendHeaders;

/// How long an attempt may take, in seconds: a code of the hub is good for as long.
const ATTEMPT: i64 = 600;

/// A cookie to be set.
pub(super) type Set = AppendHeaders<Option<(header::HeaderName, HeaderValue)>>;

/// Their names, and how they are set.
pub(super) struct Cookies {
    session: &'static str,
    attempt: &'static str,
    secure: &'static str,
}

impl Cookies {
    /// Over HTTPS their names keep any other host from setting them (`__Host-`, RFC 6265bis).
    pub(super) fn new(https: bool) -> Self {
        if https {
            return Self { session: "__Host-coldframe", attempt: "__Host-coldframe-attempt", secure: "; Secure" };
        }
        Self { session: "coldframe", attempt: "coldframe-attempt", secure: "" }
    }

    /// The session that a browser has.
    pub(super) fn session<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        the_one(headers, self.session)
    }

    /// The attempt that it comes back from.
    pub(super) fn attempt<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        the_one(headers, self.attempt)
    }

    pub(super) fn attempted(&self, value: &str) -> Set {
        self.set(self.attempt, value, ATTEMPT)
    }

    pub(super) fn attempt_over(&self) -> Set {
        self.set(self.attempt, "", 0)
    }

    pub(super) fn begun(&self, value: &str, seconds: i64) -> Set {
        self.set(self.session, value, seconds)
    }

    pub(super) fn over(&self) -> Set {
        self.set(self.session, "", 0)
    }

    fn set(&self, name: &str, value: &str, seconds: i64) -> Set {
        let secure = self.secure;
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        AppendHeaders(HeaderValue::from_str(&text).ok().map(|value| (header::SET_COOKIE, value)))
    }
}

/// The value of a cookie. Of two with one name, one was set by somebody else, so that neither counts.
fn the_one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    values.next().filter(|value| !value.is_empty() && values.next().is_none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn a46_a_cookie_is_for_this_host_alone_and_for_no_script() {
        let set = |https: bool| {
            let response = (Cookies::new(https).begun("x", 60), "").into_response();
            response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned()
        };
        assert_eq!(set(true), "__Host-coldframe=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(set(false), "coldframe=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn a46_of_two_cookies_with_one_name_neither_counts() {
        let read = |texts: &[&str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(header::COOKIE, text.parse().unwrap());
            }
            Cookies::new(false).session(&headers).map(str::to_owned)
        };
        assert_eq!(read(&["a=b; coldframe=x; coldframe-attempt=y"]), Some("x".to_owned()));
        for none in [&["coldframe=x; coldframe=y"][..], &["coldframe=x", "coldframe=x"], &["coldframe="], &["a=b"], &[]]
        {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
