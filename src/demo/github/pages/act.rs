//! The forms: choosing who one is, and the buttons of a pull request. A form counts only when it comes
//! from a page of this server: `SameSite=Strict` cookie, and the `Origin` and `Sec-Fetch-Site` headers
//! that browsers send with it.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode};

use super::page::{Page, Visit, remember, show, visible, words};
use super::{app, consent, pull};
use crate::github::acts::{Act, IssueAct};
use crate::github::answer::Answer;
use crate::github::incoming::{Incoming, plain};
use crate::github::state::World;

/// Answers a form.
pub fn post(world: &mut World, visit: &Visit<'_>) -> Response<Body> {
    let form: std::collections::BTreeMap<String, String> =
        url::form_urlencoded::parse(&visit.incoming.body).into_owned().collect();
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let parts: Vec<&str> = visit.path.iter().map(String::as_str).collect();
    // No browser asks for it.
    if parts == ["login", "oauth", "access_token"] {
        return world.exchange(visit.incoming);
    }
    if let Some(owner) = app::Owner::of(&parts)
        && field("create").is_empty()
    {
        let page = app::propose(world, visit, &owner, field("manifest")).unwrap_or_else(|page| page);
        return show(world, visit, page);
    }
    if !same_site(visit.incoming) {
        return plain(StatusCode::FORBIDDEN, "This form was sent from another site.");
    }
    if let Some(owner) = app::Owner::of(&parts) {
        return match app::make(world, visit, &owner, (field("manifest"), field("name"), field("state"))) {
            Ok(back) => away(&back),
            Err(page) => show(world, visit, page),
        };
    }
    match parts.as_slice() {
        ["apps", slug, "installations", "new"] => {
            let page = app::install(world, visit, slug, field("repository")).unwrap_or_else(|page| page);
            show(world, visit, page)
        }
        ["login", "oauth", "authorize"] => {
            match consent::answer(world, visit, (field("query"), field("consent") == "yes")) {
                Ok(back) => away(&back),
                Err(page) => show(world, visit, page),
            }
        }
        ["who"] => choose(field("login"), field("next")),
        [owner, name, "pull", number, "act"] => {
            let done = visible(world, visit, owner, name)
                .and_then(|id| Ok((id, number.parse().map_err(|_| Page::not_found())?)))
                .and_then(|(id, number)| act(world, visit, id, number, &field));
            match done {
                Ok(()) => to(&format!("/{owner}/{name}/pull/{number}")),
                Err(page) => show(world, visit, page),
            }
        }
        [owner, name, "issues", number, "act"] => {
            let done = visible(world, visit, owner, name)
                .and_then(|id| Ok((id, number.parse().map_err(|_| Page::not_found())?)))
                .and_then(|(id, number)| of_issue(world, visit, (id, number), field("act"), field("tick")));
            match done {
                Ok(()) => to(&format!("/{owner}/{name}/issues/{number}")),
                Err(page) => show(world, visit, page),
            }
        }
        _ => show(world, visit, Page::not_found()),
    }
}

/// Ticks a box of an issue by its place, or closes the issue or opens it again.
fn of_issue(world: &mut World, visit: &Visit<'_>, at: (u64, u64), act: &str, tick: &str) -> Result<(), Page> {
    let Some(who) = visit.who.clone() else {
        return Err(Answer::error(401, "Choose who you are first.").into());
    };
    let act = match (act, tick.parse()) {
        ("close", _) => IssueAct::Close,
        ("reopen", _) => IssueAct::Reopen,
        (_, Ok(place)) => IssueAct::Tick(place),
        _ => return Err(Answer::error(400, "There is no such button.").into()),
    };
    Ok(world.act_on_issue(at.0, at.1, &who, &act)?)
}

/// Whether a form comes from a page of this very server. What is no browser sends neither header; it
/// has no cookie that somebody else could use either.
fn same_site(incoming: &Incoming) -> bool {
    let host = incoming.header("host").unwrap_or_default();
    // Another name that leads here (DNS rebinding) would make a stranger's page the same origin.
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    if name != "localhost" && name.parse::<std::net::IpAddr>().is_err() {
        return false;
    }
    let origin = incoming.header("origin").is_none_or(|origin| origin == format!("http://{host}"));
    origin && incoming.header("sec-fetch-site").is_none_or(|site| site == "same-origin")
}

fn to(path: &str) -> Response<Body> {
    // Only a path of this server: `//elsewhere` would leave it.
    let safe = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    let mut response = plain(StatusCode::SEE_OTHER, "");
    let target = HeaderValue::from_str(if safe { path } else { "/" });
    response.headers_mut().insert("location", target.unwrap_or(HeaderValue::from_static("/")));
    response
}

/// To where an App was proposed. By a page, because the policy of content lets no form lead elsewhere.
fn away(back: &url::Url) -> Response<Body> {
    let address = handlebars::html_escape(back.as_str());
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={address}\"><title>Created</title>\
         <a href=\"{address}\">Go on</a>"
    );
    let mut response = plain(StatusCode::OK, &text);
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn choose(login: &str, next: &str) -> Response<Body> {
    let mut response = to(next);
    remember(&mut response, login);
    response
}

fn act<'f>(
    world: &mut World,
    visit: &Visit<'_>,
    id: u64,
    number: u64,
    field: &impl Fn(&str) -> &'f str,
) -> Result<(), Page> {
    let Some(who) = visit.who.clone() else {
        return Err(Answer::error(401, "Choose who you are first.").into());
    };
    let text = field("text").replace("\r\n", "\n");
    let act = match field("act") {
        "" if field("tick").parse::<usize>().is_ok() => Act::Tick(field("tick").parse().unwrap_or_default()),
        "approve" => Act::Approve(text),
        "request_changes" => Act::RequestChanges(text),
        "comment" => Act::Comment(text),
        "close" => Act::Close,
        "reopen" => Act::Reopen,
        "merge" => Act::Merge,
        "delete_branch" => Act::DeleteBranch,
        _ => return Err(Answer::error(400, "There is no such button.").into()),
    };
    // What was seen is what is approved or merged, nothing newer.
    let (seen, head) = (field("head"), world.pull_of(id, number)?.head_sha.clone());
    let done = if matches!(act, Act::Approve(_) | Act::Merge) && !seen.is_empty() && seen != head {
        Err(Answer::error(409, "The head moved while you looked. Look again, then decide."))
    } else {
        world.act(id, number, &who, act)
    };
    done.or_else(|refused| {
        let mut page = pull::show(world, id, number, visit)?;
        page.status = refused.status;
        page.data["problem"] = words(&refused).into();
        Err(page)
    })
}
