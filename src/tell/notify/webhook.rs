//! An event of the CloudEvents specification (1.0, structured JSON), for programs.

use decide::Sha;
use serde_json::json;

use super::News;
use crate::tell::Links;

/// What it is sent as.
pub const CONTENT_TYPE: &str = "application/cloudevents+json";

/// An event, and its id.
pub fn webhook(news: &News, links: &Links, since: Option<&Sha>) -> (String, String) {
    let (kind, subject, id) = (news.kind(), news.subject(), news.id(links, since));
    let mut event = json!({
        "specversion": "1.0", "id": id, "source": links.repo, "type": kind, "subject": subject,
        "datacontenttype": "application/json",
        "data": {
            "plugin": news.plugin, "tier": news.tier, "version": news.version, "text": news.text,
            "pullRequest": news.pull.map(|pull| links.pull(pull)),
        },
    });
    if let (Some(at), Some(event)) = (news.at, event.as_object_mut()) {
        event.insert("time".to_string(), json!(at.to_string()));
    }
    (event.to_string(), id)
}
