//! The page before the dashboard, for whoever has not signed in. There is no name on it. Who serves it is
//! `wake/sign_in`.

use serde::Serialize;

use super::{TellError, render};

/// What it shows.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SignInPage<'a> {
    /// Why somebody was not signed in, where they tried.
    pub why: Option<&'a str>,
    /// Where it goes on.
    pub next: &'a str,
}

/// The page, HTML.
///
/// # Errors
/// A built-in template is broken.
pub fn sign_in_page(page: SignInPage<'_>) -> Result<String, TellError> {
    render::html("sign-in", &page)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a46_the_page_to_sign_in_says_why_and_leads_on_and_nothing_else() {
        let fresh = sign_in_page(SignInPage { why: None, next: "begin?to=%2Facme" }).unwrap();
        assert!(fresh.contains("href=\"begin?to&#x3D;%2Facme\"") && !fresh.contains("alert"), "{fresh}");
        let again = sign_in_page(SignInPage { why: Some("It was \"used\" <b>"), next: "begin\"><script>" }).unwrap();
        assert!(again.contains("It was &quot;used&quot; &lt;b&gt;") && !again.contains("<script>"), "{again}");
        assert!(again.contains("role=\"alert\""), "{again}");
    }
}
