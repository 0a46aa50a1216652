//! The message of Slack's incoming webhooks, which Mattermost takes too.

use serde_json::json;

use super::{News, inert};
use crate::tell::Links;

/// Lines of one message; more are counted.
const MOST: usize = 20;

/// One message with a line for each thing that happened. Names and reasons are data: `parse: none` keeps
/// Slack from making links of what looks like an address.
pub fn slack(news: &[&News], links: &Links) -> String {
    let mut lines: Vec<String> = news.iter().take(MOST).map(|news| line(news, links)).collect();
    if let Some(more) = news.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("… and {more} more: <{}/pulls|pull requests>", escape(&links.repo)));
    }
    json!({"text": lines.join("\n"), "unfurl_links": false, "unfurl_media": false, "parse": "none"}).to_string()
}

fn line(news: &News, links: &Links) -> String {
    let subject = escape(&inert::line(&news.subject()));
    let subject = match news.pull {
        Some(pull) => format!("<{}|{subject}>", escape(&links.pull(pull))),
        None => format!("*{subject}*"),
    };
    format!("• {subject} {}", escape(&inert::line(&news.text)))
}

/// The three characters that Slack asks to be written otherwise; without them there is neither a link
/// nor a mention (docs.slack.dev, "Formatting message text").
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
