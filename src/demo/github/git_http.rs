//! git over HTTP: the real `git http-backend` behind the hub's own answers on who may read and push.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use super::git::command;
use super::incoming::{Incoming, percent_decode, plain};
use super::state::{Access, Actor, Role, Shared, World, lock};

/// A fetch that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The service that a path belongs to, after `/owner/name.git`.
fn split(path: &str) -> Option<(String, String, &'static str)> {
    let decoded = String::from_utf8(percent_decode(path)).ok()?;
    let tail = ["/info/refs", "/git-upload-pack", "/git-receive-pack"].into_iter().find(|t| decoded.ends_with(t))?;
    let (owner, name) = decoded.strip_suffix(tail)?.strip_prefix('/')?.split_once('/')?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    (!name.contains('/')).then(|| (owner.to_owned(), name.to_owned(), tail))
}

/// Whether a path is one of git's.
pub fn is_git(path: &str) -> bool {
    split(path).is_some()
}

/// Answers git.
pub async fn serve(shared: Shared, incoming: Incoming) -> Response<Body> {
    let Some((owner, name, tail)) = split(&incoming.path) else { return plain(StatusCode::NOT_FOUND, "Not Found") };
    let service = match tail {
        "/info/refs" => incoming.parameters().get("service").cloned().unwrap_or_default(),
        other => other.trim_start_matches('/').to_owned(),
    };
    let expected = if tail == "/info/refs" { Method::GET } else { Method::POST };
    if !matches!(service.as_str(), "git-upload-pack" | "git-receive-pack") || incoming.method != expected {
        return plain(StatusCode::FORBIDDEN, "Please upgrade your git client: only the smart protocol is served here.");
    }
    let push = service == "git-receive-pack";
    let (actor, id, mut backend) = {
        let mut world = lock(&shared);
        *world
            .requests
            .entry(format!("GIT {service}{}", if tail == "/info/refs" { " refs" } else { "" }))
            .or_default() += 1;
        match admit(&world, &incoming, &owner, &name, push) {
            Ok((actor, id)) => (actor, id, backend(&world, id, tail, &incoming)),
            Err(refused) => return *refused,
        }
    };
    if push && tail != "/info/refs" {
        // The world stands still while refs move, so that every push is one step of its history.
        let pushed = tokio::task::spawn_blocking(move || receive(&shared, backend, &incoming, &actor, id));
        return pushed.await.unwrap_or_else(|_| broken());
    }
    backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match tokio::process::Command::from(backend).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, "git http-backend did not start");
            return broken();
        }
    };
    if let Some(mut pipe) = child.stdin.take() {
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            // git may have read enough; what it then answers counts.
            let _ = pipe.write_all(&incoming.body).await;
        });
    }
    match tokio::time::timeout(PATIENCE, child.wait_with_output()).await {
        Ok(Ok(output)) => cgi(&output.stdout),
        Ok(Err(_)) | Err(_) => broken(),
    }
}

/// Who asks, and for which repository; or the refusal that git understands.
fn admit(
    world: &World,
    incoming: &Incoming,
    owner: &str,
    name: &str,
    push: bool,
) -> Result<(Actor, u64), Box<Response<Body>>> {
    let actor = world.actor(incoming.header("authorization")).map_err(|_| challenge("Invalid username or token."))?;
    let missing = || match actor {
        Actor::Anonymous => challenge("Repository not found."),
        Actor::User(_) | Actor::Installation { .. } | Actor::App(_) => {
            Box::new(plain(StatusCode::NOT_FOUND, "Repository not found."))
        }
    };
    let id = world.find_following(owner, name).ok_or_else(missing)?;
    if world.need(&actor, id, "contents", Access::Read, Role::Read).is_err() {
        return Err(missing());
    }
    if push && world.need(&actor, id, "contents", Access::Write, Role::Write).is_err() {
        if actor == Actor::Anonymous {
            return Err(challenge("Authentication is needed to push."));
        }
        let text = format!("Permission to {owner}/{name}.git denied to {}.", world.login(&actor));
        return Err(Box::new(plain(StatusCode::FORBIDDEN, &text)));
    }
    Ok((actor, id))
}

fn challenge(text: &str) -> Box<Response<Body>> {
    let mut response = plain(StatusCode::UNAUTHORIZED, text);
    response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Basic realm=\"GitHub\""));
    Box::new(response)
}

fn broken() -> Response<Body> {
    plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

fn backend(world: &World, id: u64, tail: &str, incoming: &Incoming) -> Command {
    let mut backend = command(&world.dir);
    backend
        .arg("http-backend")
        .env_remove("GIT_DIR")
        .env("GIT_PROJECT_ROOT", &world.dir)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{id}.git{tail}"))
        .env("REQUEST_METHOD", incoming.method.as_str())
        .env("QUERY_STRING", &incoming.query)
        .env("CONTENT_LENGTH", incoming.body.len().to_string());
    for (variable, header) in [
        ("CONTENT_TYPE", "content-type"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ("GIT_PROTOCOL", "git-protocol"),
    ] {
        if let Some(value) = incoming.header(header) {
            backend.env(variable, value);
        }
    }
    backend
}

fn receive(shared: &Shared, mut backend: Command, incoming: &Incoming, actor: &Actor, id: u64) -> Response<Body> {
    let mut world = lock(shared);
    let names = match commands(&incoming.body) {
        Some(names) if incoming.header("content-encoding").is_none() => names,
        _ => return plain(StatusCode::BAD_REQUEST, "not a list of ref updates"),
    };
    let Some(repo) = world.repositories.get(&id) else { return broken() };
    backend.env("SANDBOX_LIMITS", world.hook_lines(repo, &names, actor));
    backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = backend.spawn().and_then(|mut child| {
        let pipe = child.stdin.take();
        std::thread::scope(|scope| {
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(&incoming.body)));
            child.wait_with_output()
        })
    });
    match (output, world.sync(id, actor)) {
        (Ok(output), Ok(())) => cgi(&output.stdout),
        (_, _) => broken(),
    }
}

/// The refs that a push wants to move: the lines `old new ref` before the pack.
fn commands(mut body: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    loop {
        let length = usize::from_str_radix(std::str::from_utf8(body.get(..4)?).ok()?, 16).ok()?;
        if length == 0 {
            return Some(names);
        }
        let line = std::str::from_utf8(body.get(4..length)?).ok()?;
        body = body.get(length..)?;
        let line = line.split('\0').next().unwrap_or_default().trim_end_matches('\n');
        if line.starts_with("shallow ") {
            continue;
        }
        names.push(line.splitn(3, ' ').nth(2)?.to_owned());
    }
}

/// Turns what a CGI printed into HTTP.
fn cgi(output: &[u8]) -> Response<Body> {
    let Some(end) = output.windows(4).position(|window| window == b"\r\n\r\n") else { return broken() };
    let (head, body) = (String::from_utf8_lossy(&output[..end]), &output[end + 4..]);
    let mut response = Response::new(Body::from(body.to_vec()));
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| code.parse().ok());
            *response.status_mut() = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        } else if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_git() {
        for (path, expected) in [
            ("/acme/config.git/info/refs", true),
            ("/acme/config/info/refs", true),
            ("/acme/config.git/git-receive-pack", true),
            ("/acme/config.git/HEAD", false),
            ("/acme/x/config.git/info/refs", false),
            ("/acme/config/pull/3", false),
        ] {
            assert_eq!(is_git(path), expected, "{path}");
        }
    }

    #[test]
    fn ref_updates_stand_before_the_pack() {
        let line = format!("{0} {0} refs/heads/a\0 report-status", "1".repeat(40));
        let body = format!("{:04x}{line}0000PACK", line.len() + 4);
        assert_eq!(commands(body.as_bytes()), Some(vec!["refs/heads/a".to_owned()]));
        assert_eq!(commands(b"00"), None);
        assert_eq!(commands(b"fffc1234"), None);
    }
}
