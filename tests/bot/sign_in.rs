//! The dashboard behind a sign-in with GitHub: whoever has none sees nothing, everybody else what they may read. The
//! browsers are played by HTTP.

use std::net::TcpListener;
use std::time::Instant;

use demo::github::Role;
use jiff::SignedDuration;
use reqwest::Client;

use crate::browser::Browser;
use crate::port::is_up_at;
use crate::support::{Bot, REPOSITORY, Stage};
use crate::tenants::{connections, copy, hosts};

const OTHER: &str = "acme/other";

/// A bot whose dashboard has a door.
pub struct House<'s> {
    pub stage: &'s Stage,
    pub bot: Bot,
    pub home: String,
    metrics: String,
    secret: String,
}

impl<'s> House<'s> {
    pub async fn open(stage: &'s Stage, more: &[(&str, &str)]) -> Self {
        let home = format!("http://{}", stage.world.settings().dashboard);
        let app = stage.world.settings().app_id;
        let (id, secret) = stage.world.github().sign_in_at(app, &format!("{home}/signed-in")).unwrap();
        let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut environment = vec![
            ("COLDFRAME_PUBLIC_URL", home.as_str()),
            ("COLDFRAME_CLIENT_ID", id.as_str()),
            ("COLDFRAME_CLIENT_SECRET", secret.as_str()),
            ("COLDFRAME_METRICS", metrics.as_str()),
            ("COLDFRAME_LOG", "coldframe=debug"),
        ];
        environment.extend(more);
        let bot = stage.serve_with(&environment);
        is_up_at(stage, &Client::new(), &metrics).await;
        Self { stage, bot, home, metrics, secret }
    }

    pub fn browser(&self) -> Browser {
        let hub = &self.stage.world.settings().hub;
        Browser::new(&self.home, hub, hub)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_each_person_sees_what_they_may_read_and_nothing_else() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    copy(&stage, "acme", "other");
    github.install_app(stage.world.settings().app_id, OTHER).unwrap();
    github.set_private(REPOSITORY, true).unwrap();
    github.add_user("eve");
    let (connections, hosts) = (connections(&stage, &["shared"]), hosts(&stage));
    let both = format!("{REPOSITORY},{OTHER}");
    let house = House::open(
        &stage,
        &[("COLDFRAME_REPOSITORY", &both), ("COLDFRAME_CLUSTERS", &connections), ("COLDFRAME_ALLOW_HOSTS", &hosts)],
    )
    .await;
    let mut maria = house.browser();
    for path in ["/", "/acme/fleet", "/acme/nothing", "/nothing", "/metrics", "/readyz", "/acme/fleet/tiers/qa"] {
        let answer = maria.get(path).await;
        let to = url::form_urlencoded::byte_serialize(path.as_bytes()).collect::<String>();
        assert_eq!(answer.status(), 303, "{path}");
        assert_eq!(answer.headers()["location"].to_str().unwrap(), format!("{}/sign-in?to={to}", house.home));
    }
    for path in ["/events", "/versions/cert-manager/qa.json", "/versions/cert-manager/qa.json?repository=acme/fleet"] {
        assert_eq!(maria.get(path).await.status(), 401, "{path}");
    }
    let (status, page) = maria.says("/sign-in").await;
    assert!(status == 200 && !page.contains("acme") && !page.contains("cert"), "{page}");
    assert_eq!(maria.get("/style.css").await.status(), 200);
    let forged = Client::new().get(&house.home).header("cookie", "coldframe=AAAA").send().await.unwrap();
    assert!(forged.url().path() == "/sign-in", "a session that nobody began");

    maria.signs_in("maria").await;
    let begun = Instant::now();
    let all = |page: &str| page.contains("acme/fleet\">") && page.contains("acme/other\">");
    while !all(&maria.says("/").await.1) {
        assert!(begun.elapsed().as_secs() < 120, "{}", stage.logged());
        // What is new to the pages is asked about anew; that an answer is kept is no news.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    let (_, page) = maria.says("/").await;
    assert!(page.contains("Signed in as maria") && page.contains("action=\"sign-out\""), "{page}");
    assert_eq!(maria.get("/acme/fleet/plugins/cert-manager").await.status(), 200);
    assert_eq!(maria.get("/versions/cert-manager/qa.json").await.status(), 400, "she reads two");
    assert_eq!(maria.get("/events").await.status(), 200);
    for path in ["/metrics", "/readyz"] {
        assert_eq!(maria.get(path).await.status(), 404, "{path} is elsewhere");
        let answer = reqwest::get(format!("http://{}{path}", house.metrics)).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
    for (path, status) in
        [("/", 404), ("/acme/fleet", 404), ("/versions/cert-manager/qa.json?repository=acme/fleet", 200)]
    {
        assert_eq!(reqwest::get(format!("http://{}{path}", house.metrics)).await.unwrap().status(), status, "{path}");
    }

    let mut eve = house.browser();
    eve.signs_in("eve").await;
    let (status, page) = eve.says("/").await;
    assert!(status == 200 && page.contains("acme/other\">") && !page.contains("acme/fleet"), "{page}");
    assert_eq!(eve.get("/acme/other/plugins/cert-manager").await.status(), 200);
    let nothing = eve.says("/acme/nothing").await;
    assert_eq!(nothing.0, 404);
    for rest in ["", "/plugins/cert-manager", "/tiers/qa", "/plugins/cert-manager/tiers/qa"] {
        assert_eq!(eve.says(&format!("/acme/fleet{rest}")).await, nothing, "{rest}");
        assert_eq!(eve.says(&format!("/acme/nothing{rest}")).await, nothing, "{rest}");
    }
    for (of, status) in [("acme/fleet", 404), ("acme/nothing", 404), ("acme/other", 308)] {
        let wave = format!("/wave?repository={of}&plugin=cert-manager&tier=qa");
        assert_eq!(eve.get(&wave).await.status(), status, "{of}");
    }
    let feed =
        async |browser: &mut Browser, of: &str| browser.says(&format!("/versions/cert-manager/qa.json{of}")).await;
    assert_eq!(feed(&mut eve, "").await.0, 200, "she reads one");
    assert_eq!(feed(&mut eve, "?repository=acme/fleet").await, feed(&mut eve, "?repository=acme/nothing").await);

    // Who is taken out reads nothing of it from the next sign-in on; an open session believes GitHub for five minutes.
    github.leave_team("acme", "platform", "maria");
    github.set_permission(REPOSITORY, "maria", Role::None).unwrap();
    let mut again = house.browser();
    again.signs_in("maria").await;
    assert_eq!(again.says("/acme/fleet").await, nothing);

    let out = async |browser: &Browser, origin: Option<&str>| {
        let request = browser.client.post(format!("{}/sign-out", house.home)).header("cookie", browser.cookies());
        let request = origin.iter().fold(request, |request, origin| request.header("origin", *origin));
        request.send().await.unwrap().status().as_u16()
    };
    for other in [None, Some("null"), Some("http://evil.example"), Some(stage.world.settings().hub.as_str())] {
        assert_eq!(out(&maria, other).await, 403, "{other:?}");
    }
    assert_eq!(maria.get("/").await.status(), 200);
    assert_eq!(out(&maria, Some(&house.home)).await, 303);
    assert_eq!(maria.get("/").await.status(), 303, "its cookie opens nothing any more");
    assert_eq!(eve.get("/").await.status(), 200, "others stay");
    let log = stage.whole_log();
    assert!(!log.contains("ghu_") && !log.contains(&house.secret), "no token is told");
    assert!(house.bot.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_a_sign_in_counts_once_in_the_browser_that_began_it() {
    let stage = Stage::set().await;
    let house = House::open(&stage, &[]).await;
    let refused = async |browser: &mut Browser, back: &str, status: u16, why: &str| {
        let said = browser.says(back).await;
        assert!(
            said.0 == status && said.1.contains("You are not signed in.") && said.1.contains(why),
            "{back}: {said:?}"
        );
        assert!(browser.jar.is_empty(), "{:?}", browser.jar);
    };
    const NOT_OURS: &str = "not the answer to a sign-in that began in this browser";
    const STALE: &str = "it was used, or is older than ten minutes";
    let mut browser = house.browser();
    refused(&mut browser, "/signed-in", 400, NOT_OURS).await;

    let back = browser.agrees("%2F", "maria", true).await;
    refused(&mut house.browser(), &back, 400, NOT_OURS).await;
    let tampered = format!("{}&state=x", back.split("&state=").next().unwrap());
    refused(&mut browser, &tampered, 400, NOT_OURS).await;
    refused(&mut browser, &back, 400, NOT_OURS).await;

    let back = browser.agrees("%2F", "maria", false).await;
    refused(&mut browser, &back, 403, "You did not agree on GitHub").await;

    // Somebody puts their own code, or the attempt of theirs, into the browser of another.
    let back = browser.agrees("%2F", "maria", true).await;
    let attempt = browser.jar["coldframe-attempt"].clone();
    let state = attempt.split('.').next().unwrap();
    browser.jar.insert("coldframe-attempt".to_owned(), format!("{state}.another.Lw"));
    refused(&mut browser, &back, 400, STALE).await;

    let back = browser.agrees("%2F", "maria", true).await;
    let attempt = browser.jar["coldframe-attempt"].clone();
    let mut second = house.browser();
    assert_eq!(browser.get(&back).await.status(), 303);
    assert_eq!(browser.get("/").await.status(), 200);
    second.jar.insert("coldframe-attempt".to_owned(), attempt);
    refused(&mut second, &back, 400, STALE).await;
    assert_eq!(browser.get("/").await.status(), 200, "who is signed in stays so");

    for away in ["//evil.example", "https://evil.example/", "/\\evil.example", "@evil.example", ""] {
        let to = url::form_urlencoded::byte_serialize(away.as_bytes()).collect::<String>();
        let back = browser.agrees(&to, "maria", true).await;
        let answer = browser.get(&back).await;
        let location = answer.headers()["location"].to_str().unwrap();
        assert!(answer.status() == 303 && location.starts_with(&format!("{}/", house.home)), "{away}: {location}");
    }

    let back = second.agrees("%2F", "maria", true).await;
    stage.world.github().shift_clock(SignedDuration::from_mins(11));
    refused(&mut second, &back, 400, STALE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_a_sign_in_is_refused_at_the_start() {
    let stage = Stage::set().await;
    let says = |set: &[(&str, &str)], without: &[&str]| {
        let mut command = stage.command(&["serve", "--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"]);
        command.env("COLDFRAME_WEBHOOK_SECRET", "known").envs(set.iter().copied());
        for name in without {
            command.env_remove(name);
        }
        let output = tokio::task::block_in_place(|| command.output()).unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let (id, secret) = (("COLDFRAME_CLIENT_ID", "Iv1.7"), ("COLDFRAME_CLIENT_SECRET", "known to few"));
    let home = ("COLDFRAME_PUBLIC_URL", "https://coldframe.example");
    let app = ["COLDFRAME_APP_ID", "COLDFRAME_APP_KEY", "COLDFRAME_BYPASS_APP_ID", "COLDFRAME_BYPASS_APP_KEY"];
    let token = ("COLDFRAME_TOKEN", "ghp_x");
    for (set, without, why) in [
        (vec![id, home], &[][..], "give it by --client-secret"),
        (vec![secret, home], &[], "no --client-id"),
        (vec![id, secret], &[], "say by --public-url where"),
        (vec![id, secret, ("COLDFRAME_PUBLIC_URL", "http://coldframe.example")], &[], "over https alone"),
        (vec![id, secret, home, token], &app, "a token signs nobody in"),
    ] {
        let said = says(&set, without);
        assert!(said.contains(why) && !said.contains("known to few"), "{why}: {said}");
    }
}
