//! A message for a workflow of Microsoft Teams: an Adaptive Card of version 1.4, as *Post to a channel when a webhook request is
//! received* takes it.

use serde_json::{Value, json};

use super::{News, inert};
use crate::tell::Links;

/// Lines of one card; more are counted.
const MOST: usize = 20;

/// One card with a line for each thing that happened. All of it is runs of text, which Teams shows as they are: a text block
/// would take Markdown.
pub fn teams(news: &[&News], links: &Links) -> String {
    let mut body: Vec<Value> = news.iter().take(MOST).map(|news| line(news, links)).collect();
    if let Some(more) = news.len().checked_sub(MOST).filter(|more| *more > 0) {
        body.push(block(vec![linked(&format!("… and {more} more"), &format!("{}/pulls", links.repo))]));
    }
    let card = json!({
        "type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4",
        "body": body,
    });
    let attachment = json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": card});
    json!({"type": "message", "attachments": [attachment]}).to_string()
}

fn line(news: &News, links: &Links) -> Value {
    let subject = inert::line(&news.subject());
    let subject = match news.pull {
        Some(pull) => linked(&subject, &links.pull(pull)),
        None => run(&subject),
    };
    block(vec![subject, run(&format!(" {}", inert::line(&news.text)))])
}

fn block(inlines: Vec<Value>) -> Value {
    json!({"type": "RichTextBlock", "inlines": inlines})
}

fn run(text: &str) -> Value {
    json!({"type": "TextRun", "text": text})
}

fn linked(text: &str, url: &str) -> Value {
    json!({"type": "TextRun", "text": text, "weight": "Bolder", "selectAction": {"type": "Action.OpenUrl", "url": url}})
}
