//! An event of the CloudEvents specification (1.0, structured JSON), for programs.

use decide::Sha;
use serde_json::json;

use super::News;
use crate::tell::Links;

/// What it is sent as.
pub const CONTENT_TYPE: &str = "application/cloudevents+json";

/// An event, and its id. What is told a second time, after a crash or because nobody answered, has the id that it had; `since`
/// tells what is so again from what is so still.
pub fn webhook(news: &News, links: &Links, since: Option<&Sha>) -> (String, String) {
    let kind = serde_json::to_value(news.event).unwrap_or_default();
    let kind = format!("dev.coldframe.{}", kind.as_str().unwrap_or_default());
    let subject = news.subject();
    let time = news.at.map(|at| at.to_string());
    let moment = time.clone().or_else(|| since.map(ToString::to_string)).unwrap_or_default();
    let seed = [links.repo.as_str(), &kind, &subject, &moment, &news.text].join("\n");
    let id = digest(&seed);
    let mut event = json!({
        "specversion": "1.0", "id": id, "source": links.repo, "type": kind, "subject": subject,
        "datacontenttype": "application/json",
        "data": {
            "plugin": news.plugin, "tier": news.tier, "version": news.version, "text": news.text,
            "pullRequest": news.pull.map(|pull| links.pull(pull)),
        },
    });
    if let (Some(time), Some(event)) = (time, event.as_object_mut()) {
        event.insert("time".to_string(), json!(time));
    }
    (event.to_string(), id)
}

fn digest(text: &str) -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
