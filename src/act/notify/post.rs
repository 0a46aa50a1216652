//! Messages by HTTP: to chats, and signed events to programs.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::Sha;
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use url::Url;

use crate::observe::Context;
use crate::policy::wiring::Recipient;
use crate::secret::Secret;
use crate::tell::Links;
use crate::tell::notify::{CONTENT_TYPE, News, slack, teams, webhook};

/// An answer is a word.
const MOST_ANSWERED: usize = 64 << 10;

/// What is sent, and its id where it has one.
struct Message {
    text: String,
    kind: &'static str,
    id: Option<String>,
}

/// Posts one message.
pub(super) async fn post(
    context: &Context,
    to: &Recipient,
    (url, key): (&Url, Option<&Secret>),
    (news, links, since): (&[&News], &Links, Option<&Sha>),
    now: Timestamp,
) -> Result<(), String> {
    let Some(message) = Message::of(to, news, links, since) else { return Ok(()) };
    let headers = message.headers(key, now)?;
    let posted = context.net.post(url, headers, message.text, MOST_ANSWERED).await;
    let answer = posted.map_err(|error| error.to_string())?;
    if answer.status.is_success() {
        return Ok(());
    }
    Err(format!("{} answered {}", url.host_str().unwrap_or_default(), answer.status))
}

impl Message {
    /// All of them for a chat, the first for a program; none where it goes by other ways.
    fn of(to: &Recipient, news: &[&News], links: &Links, since: Option<&Sha>) -> Option<Self> {
        let chat = |text: String| Some(Self { text, kind: "application/json", id: None });
        match to {
            Recipient::Slack { .. } => chat(slack(news, links)),
            Recipient::Teams { .. } => chat(teams(news, links)),
            Recipient::Webhook { .. } => {
                let (text, id) = webhook(news.first()?, links, since);
                Some(Self { text, kind: CONTENT_TYPE, id: Some(id) })
            }
            Recipient::Email { .. } | Recipient::Issue { .. } => None,
        }
    }

    /// What is said around it: of which kind it is, and who sends it.
    fn headers(&self, key: Option<&Secret>, now: Timestamp) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if let (Some(id), Some(key)) = (&self.id, key) {
            let time = now.as_second().to_string();
            let signature = signature(key, id, &time, &self.text);
            for (name, text) in [("webhook-id", id), ("webhook-timestamp", &time), ("webhook-signature", &signature)] {
                let value = HeaderValue::from_str(text).map_err(|error| format!("{name}: {error}"))?;
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }
}

/// As Standard Webhooks has it (standardwebhooks.com, "Signature scheme"): HMAC-SHA256 over id, time and body; a key may be
/// written as `whsec_` and base64.
fn signature(key: &Secret, id: &str, time: &str, text: &str) -> String {
    let plain = key.reveal();
    let decoded = plain.strip_prefix("whsec_").and_then(|base64| STANDARD.decode(base64).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, decoded.as_deref().unwrap_or(plain.as_bytes()));
    let tag = hmac::sign(&key, format!("{id}.{time}.{text}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag))
}
