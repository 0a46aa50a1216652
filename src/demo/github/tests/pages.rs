//! The pages, as a browser asks for them.
use super::*;

async fn page(town: &Town, path: &str, who: &str) -> (u16, String) {
    let request = town.http.get(format!("{}{path}", town.hub.url())).header("cookie", format!("sandbox_who={who}"));
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn press(town: &Town, number: u64, who: &str, form: &str, origin: Option<&str>) -> (u16, String) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut request = client
        .post(format!("{}/{REPO}/pull/{number}/act", town.hub.url()))
        .header("cookie", format!("sandbox_who={who}"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form.to_owned());
    if let Some(origin) = origin {
        request = request.header("origin", origin.to_owned());
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_what_it_is_about() {
    let town = town().await;
    let head = town.branch("coldframe/app/silver", "clusters/silver/app.yaml", "1.1.0");
    let body = "| a | b |\n|---|---|\n| **1** | `x` |\n\n<details><summary>More</summary>\n\n- item\n\n</details>\n<script>alert(1)</script>";
    let open = json!({"title": "app 1.1.0 → <silver>", "head": "coldframe/app/silver", "base": "main", "body": body});
    town.post("/repos/acme/config/pulls", open).await;
    let output = json!({"title": "Waiting: 2 of 9", "summary": "| gate |\n|--|\n| approvals |"});
    let check = json!({"name": "coldframe", "head_sha": head, "conclusion": "action_required", "output": output});
    let run = town.post("/repos/acme/config/check-runs", check).await.1["id"].clone();
    town.hub.comment(REPO, 1, "bob", "looks **good**").unwrap();
    for (path, has) in [
        ("/".to_owned(), "acme/config"),
        ("/acme/config".to_owned(), "<h1>Config</h1>"),
        (
            "/acme/config/tree/coldframe/app/silver/clusters".to_owned(),
            "/acme/config/tree/coldframe/app/silver/clusters/silver",
        ),
        ("/acme/config/blob/coldframe/app/silver/clusters/silver/app.yaml".to_owned(), "version: 1.1.0"),
        ("/acme/config/commits/coldframe/app/silver".to_owned(), "Initial commit"),
        (format!("/acme/config/commit/{head}"), "version: 1.0.0"),
        ("/acme/config/branches".to_owned(), "protected"),
        ("/acme/config/pulls".to_owned(), "review required"),
        ("/acme/config/pulls?state=closed".to_owned(), "None."),
        ("/acme/config/pull/1".to_owned(), "<strong>good</strong>"),
        (format!("/acme/config/runs/{run}"), "<td>approvals</td>"),
        ("/style.css".to_owned(), "--ink"),
    ] {
        let (status, html) = page(&town, &path, "alice").await;
        assert_eq!(status, 200, "{path}");
        assert!(html.contains(has), "{path}: {html}");
        assert!(!html.contains("<script"), "{path}");
    }
    let html = page(&town, "/acme/config/pull/1", "alice").await.1;
    for has in [
        "app 1.1.0 → &lt;silver&gt;",
        "<details><summary>More</summary>",
        "<td><strong>1</strong></td>",
        "Waiting: 2 of 9",
        "<td>approvals</td>",
        "Waiting on code owner review from acme/platform.",
        "value=\"approve\"",
        "value=\"merge\"",
        "class=\"added\"",
    ] {
        assert!(html.contains(has), "{has}: {html}");
    }
    assert!(!page(&town, "/acme/config/pull/1", "eve").await.1.contains("value=\"merge\""));
    assert!(page(&town, "/acme/config/pull/1", "").await.1.contains("Choose above who you are"));
    for path in ["/acme/config/pull/9", "/acme/none", "/acme", "/acme/config/blob/main/none", "/acme/config/runs/x"] {
        assert_eq!(page(&town, path, "alice").await.0, 404, "{path}");
    }
    town.hub.set_private(REPO, true).unwrap();
    assert_eq!(page(&town, "/acme/config/pull/1", "mallory").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn buttons_do_what_they_say_and_only_from_here() {
    let town = town().await;
    let head = town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    let here = town.hub.url().to_owned();
    let merge = format!("act=merge&head={head}");
    for (who, form, origin, status) in [
        ("alice", "act=approve", Some("http://evil.example"), 403),
        ("alice", "act=approve", Some("null"), 403),
        ("nobody", "act=approve", Some(here.as_str()), 401),
        ("bob", merge.as_str(), Some(here.as_str()), 405),
        ("eve", merge.as_str(), Some(here.as_str()), 403),
        ("alice", "act=approve&head=0000", Some(here.as_str()), 409),
        ("alice", "act=request_changes&text=", Some(here.as_str()), 422),
        ("alice", "act=dance", Some(here.as_str()), 400),
        ("alice", "act=comment&text=fine", None, 303),
        ("alice", &format!("act=approve&head={head}"), Some(here.as_str()), 303),
        ("bob", merge.as_str(), Some(here.as_str()), 303),
    ] {
        let (seen, text) = press(&town, number, who, form, origin).await;
        assert_eq!(seen, status, "{who} {form} {text}");
    }
    let view = town.hub.pull(REPO, number).unwrap();
    assert!(matches!(&view.standing, PullStanding::Merged { by, .. } if by == "bob"));
    assert_eq!(view.comments.len(), 1);
    let rebound = town.http.post(format!("{here}/who")).header("host", "evil.example").body("login=alice");
    assert_eq!(rebound.send().await.unwrap().status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn choosing_who_one_is_stays_here() {
    let town = town().await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (next, location) in [("/acme/config", "/acme/config"), ("//evil.example", "/"), ("https://evil.example", "/")] {
        let form =
            format!("login=alice&next={}", url::form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>());
        let answer = client.post(format!("{}/who", town.hub.url())).body(form).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (303, &location.parse().unwrap()));
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert_eq!(cookie, "sandbox_who=alice; Path=/; HttpOnly; SameSite=Strict");
    }
}
