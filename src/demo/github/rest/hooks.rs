//! The webhook of an App, and its deliveries, as the App may look at them.

use axum::http::Method;
use serde_json::{Value, json};

use super::apps::app;
use super::call::{Call, Route};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Delivered, World, stamp};

pub fn routes() -> Vec<Route> {
    vec![(Method::GET, "/app/hook/config", config), (Method::GET, "/app/hook/deliveries", deliveries)]
}

fn config(world: &mut World, call: &Call<'_>) -> Outcome {
    let app = app(world, call)?;
    let mut config = json!({"content_type": "json", "insecure_ssl": "0"});
    if let Some(hook) = &app.hook {
        config["url"] = hook.url.clone().into();
        config["secret"] = "********".into();
    }
    Ok(Answer::ok(config))
}

/// Newest first. The hub pages them by a cursor; a world has too few for that to matter.
fn deliveries(world: &mut World, call: &Call<'_>) -> Outcome {
    let app = app(world, call)?.id;
    let (most, _) = call.request.paging();
    let sent = world.delivered.iter().enumerate().filter(|(_, one)| one.app == app);
    let items: Vec<Value> = sent.rev().take(most).map(|(index, one)| delivery(index, one)).collect();
    Ok(Answer::ok(items.into()))
}

fn delivery(index: usize, one: &Delivered) -> Value {
    let status = match one.status {
        None => "Failed to connect to host".to_owned(),
        Some(code @ 200..300) => axum::http::StatusCode::from_u16(code).map_or("OK".to_owned(), reason),
        Some(code) => format!("Invalid HTTP Response: {code}"),
    };
    json!({
        "id": index + 1, "guid": one.guid, "delivered_at": stamp(one.at), "redelivery": false, "duration": 0.1,
        "status": status, "status_code": one.status.unwrap_or(0), "event": one.event, "action": one.action,
        "installation_id": one.installation, "repository_id": null, "throttled_at": null,
    })
}

fn reason(status: axum::http::StatusCode) -> String {
    status.canonical_reason().unwrap_or("OK").to_owned()
}
