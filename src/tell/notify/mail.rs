//! A mail: a line for what happened, and where to look.

use decide::Sha;

use super::{News, digest, inert};
use crate::tell::Links;

/// The longest subject.
const SUBJECT: usize = 150;

/// A mail before it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
    /// What it is known by: the same where it is sent a second time.
    pub id: String,
    /// What mails about one plugin on one tier have in common, so that they stand together.
    pub thread: String,
}

/// A mail about one thing that happened. Nothing foreign in it is a link.
pub fn mail(news: &News, links: &Links, since: Option<&Sha>) -> Mail {
    let said = format!("{} {}", plain(&news.subject()), plain(&news.text));
    let place = match news.pull {
        Some(pull) => format!("Pull request: {}", links.pull(pull)),
        None => format!("Pull requests: {}/pulls", links.repo),
    };
    let dashboard = links.dashboard.as_ref().map(|url| format!("\nDashboard: {url}")).unwrap_or_default();
    let name = links.repo.rsplitn(3, '/').take(2).collect::<Vec<_>>();
    let name = name.into_iter().rev().collect::<Vec<_>>().join("/");
    Mail {
        subject: inert::cut(&said, SUBJECT),
        text: format!("{said}\n\n{place}{dashboard}\n\nColdframe sends this because the policy of {name} says so.\n"),
        id: news.id(links, since),
        thread: digest(&format!("{}\n{}\n{}", links.repo, news.plugin, news.tier)),
    }
}

/// Mail programs make links of what looks like an address.
fn plain(text: &str) -> String {
    inert::line(text).replace("://", ": //").replace("www.", "www .")
}
