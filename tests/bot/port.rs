//! What strangers meet at the public port of the running bot, and what they do not meet there.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use axum::http::HeaderMap;
use reqwest::{Client, Method};
use serde_json::json;

use crate::support::{REPOSITORY, Stage, is_merged, memory};
use crate::wake::{at_rest, looks};

/// What GitHub writes under a delivery.
pub fn signed(stage: &Stage, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, stage.world.settings().webhook_secret.as_bytes());
    let hex: String = hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// Sends a push that GitHub would send, and says how long its answer took.
async fn push(stage: &Stage, client: &Client) -> (u16, Duration) {
    let body = json!({"repository": {"id": stage.world.github().repository_id(REPOSITORY).unwrap()}}).to_string();
    let url = format!("http://{}/webhook", stage.world.settings().listen);
    let request = client.post(url).header("X-Hub-Signature-256", signed(stage, body.as_bytes()));
    let begun = Instant::now();
    let answer = request.header("X-GitHub-Event", "push").body(body).timeout(Duration::from_secs(20)).send().await;
    (answer.map_or(0, |answer| answer.status().as_u16()), begun.elapsed())
}

/// A client with another address than the strangers': whoever shares theirs shares their places, too.
fn elsewhere() -> Client {
    Client::builder().local_address(IpAddr::from([127, 0, 0, 2])).build().unwrap()
}

pub async fn is_up(stage: &Stage, client: &Client) {
    is_up_at(stage, client, &stage.world.settings().dashboard).await;
}

/// The same of a bot that answers probes elsewhere.
pub async fn is_up_at(stage: &Stage, client: &Client, probed: &str) {
    let url = format!("http://{probed}/readyz");
    for _ in 0..600 {
        if client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it is never ready\n{}", stage.logged());
}

/// Nothing moves, so that the bot comes to rest.
fn quiet(stage: &Stage) {
    stage.edit_policy("plugins:\n", "freeze: [{why: a quiet day}]\nplugins:\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a34_the_public_port_answers_rings_and_nothing_else() {
    let stage = Stage::set().await;
    quiet(&stage);
    let _bot = stage.serve();
    let client = Client::new();
    is_up(&stage, &client).await;
    let settings = stage.world.settings();
    let ask = async |method: Method, host: &str, path: &str| {
        client.request(method, format!("http://{host}{path}")).send().await.unwrap().status().as_u16()
    };
    let wave = "/wave?repository=acme/fleet&plugin=cert-manager&tier=qa";
    let pages = ["/", wave, "/style.css", "/script.js", "/events", "/metrics", "/readyz"];
    let more = ["/healthz/", "/healthz.css", "/webhook/", "/webhook.js", "//metrics", "/wake", "/wake/", "/wake/x"];
    let verbs = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH];
    for path in pages.into_iter().chain(more) {
        for verb in &verbs {
            assert_eq!(ask(verb.clone(), &settings.listen, path).await, 404, "{verb} {path}");
        }
    }
    for (path, only) in [("/healthz", "GET"), ("/webhook", "POST"), ("/wake/flux", "POST"), ("/wake/argocd", "POST")] {
        for verb in verbs.iter().filter(|verb| verb.as_str() != only && !(only == "GET" && **verb == Method::HEAD)) {
            assert_eq!(ask(verb.clone(), &settings.listen, path).await, 405, "{verb} {path}");
        }
    }
    assert_eq!(ask(Method::GET, &settings.listen, "/healthz").await, 200);
    assert_eq!(ask(Method::POST, &settings.listen, "/webhook").await, 401, "unsigned");

    stage.until("it has looked", |stage| stage.whole_log().contains("listening").then_some(())).await;
    for path in pages.into_iter().filter(|path| *path != wave) {
        assert_eq!(ask(Method::GET, &settings.dashboard, path).await, 200, "{path}");
        for verb in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(ask(verb.clone(), &settings.dashboard, path).await, 405, "{verb} {path}");
        }
    }
    // It would be the name of a repository here.
    assert_eq!(ask(Method::POST, &settings.dashboard, "/wake/flux").await, 405);
    for path in ["/webhook", "/wake", "/readyz/", "/metrics.css"] {
        assert_eq!(ask(Method::POST, &settings.dashboard, path).await, 404, "{path}");
    }
}

/// A page of a stranger can neither read the dashboard under a name of its own nor frame it, and there is nothing to
/// press.
#[tokio::test(flavor = "multi_thread")]
async fn a35_no_other_page_reads_or_presses_the_dashboard() {
    let stage = Stage::set().await;
    quiet(&stage);
    let _bot = stage.serve_with(&[("COLDFRAME_PUBLIC_URL", "https://Coldframe.example/board")]);
    let client = Client::new();
    is_up(&stage, &client).await;
    let url = format!("http://{}", stage.world.settings().dashboard);
    for (host, expected) in [
        ("127.0.0.1", 200),
        ("[::1]:8081", 200),
        ("localhost:8081", 200),
        ("coldframe.example", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ] {
        for path in ["/", "/metrics", "/readyz"] {
            let answer = client.get(format!("{url}{path}")).header("Host", host).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), expected, "{host} {path}");
        }
    }
    let answer = client.get(&url).send().await.unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "connect-src 'self'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe-inline"), "{policy}");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert!(
        !answer.headers().contains_key("set-cookie") && !answer.headers().contains_key("access-control-allow-origin")
    );
    let page = answer.text().await.unwrap();
    let forms: Vec<&str> = page.split("<form ").skip(1).map(|form| form.split('>').next().unwrap()).collect();
    let asks = forms.iter().all(|form| form.contains("method=\"get\"") && !form.contains("action="));
    assert!(asks && forms.len() == 1, "a filter, which asks for a page: {forms:?}");
    assert!(!page.contains("onclick") && !page.contains("javascript:"), "{page}");
}

/// `coldframe serve` with few descriptors.
pub struct Poor(pub Child);

impl Poor {
    pub fn serve(stage: &Stage, descriptors: u32) -> Self {
        let given = stage.world.settings();
        let rich = stage.command(&["serve"]);
        let mut command = Command::new("/bin/sh");
        let script = format!("ulimit -n {descriptors} && exec \"$0\" serve");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_coldframe")]).env_clear().stdin(Stdio::null());
        command.envs(rich.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("COLDFRAME_LISTEN", &given.listen).env("COLDFRAME_DASHBOARD", &given.dashboard);
        command.env("COLDFRAME_WEBHOOK_SECRET", &given.webhook_secret);
        let log = std::fs::File::create(stage.folder.path().join("bot.log")).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).process_group(0).spawn().unwrap())
    }

    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).map_or(0, Iterator::count)
    }

    fn memory(&self, key: &str) -> i64 {
        memory(&self.0, key)
    }
}

impl Drop for Poor {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// 1,004 requests that never end, opened anew as they are closed: git, clusters and deliveries go on.
#[tokio::test(flavor = "multi_thread")]
async fn a02_half_open_requests_take_nothing_from_the_work() {
    let stage = Stage::set().await;
    let bot = Poor::serve(&stage, 512);
    let client = elsewhere();
    is_up(&stage, &client).await;
    let listen = stage.world.settings().listen.clone();
    let over = Arc::new(AtomicBool::new(false));
    let flood = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            let open = || {
                let mut stream = TcpStream::connect(&listen).ok()?;
                stream.write_all(b"POST /webhook HTTP/1.1\r\nhost: x\r\nx-hub-sig").ok()?;
                stream.set_nonblocking(true).ok()?;
                Some(stream)
            };
            let gone = |stream: &mut TcpStream| match stream.read(&mut [0; 64]) {
                Ok(_) => true,
                Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
            };
            let mut held: Vec<Option<TcpStream>> = (0..1004).map(|_| open()).collect();
            while !over.load(Ordering::Relaxed) {
                for place in &mut held {
                    if place.as_mut().is_none_or(gone) {
                        *place = open();
                    }
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        })
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let (status, took) = push(&stage, &client).await;
        assert_eq!(status, 202, "{}", stage.logged());
        slowest = slowest.max(took);
        assert!(bot.descriptors() < 400, "{}", bot.descriptors());
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze")).await;
    over.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    assert!(!stage.whole_log().contains("open files"), "{}", stage.logged());
    let most = bot.descriptors();
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(bot.descriptors() < 200, "they stay: {most}, then {}", bot.descriptors());
}

/// Big bodies of strangers take no memory, and no time of those that are signed.
#[tokio::test(flavor = "multi_thread")]
async fn a02_big_bodies_of_strangers_take_no_room() {
    let stage = Stage::set().await;
    quiet(&stage);
    let bot = Poor::serve(&stage, 4096);
    let client = elsewhere();
    is_up(&stage, &client).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        push(&stage, &client).await;
    }
    let before = bot.memory("VmRSS");
    let listen = stage.world.settings().listen.clone();
    let strangers: Vec<_> = (0..150)
        .map(|number| {
            let listen = listen.clone();
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(&listen).ok()?;
                let proof = if number % 2 == 0 {
                    format!("x-hub-signature-256: sha256={}\r\n", "0".repeat(64))
                } else {
                    String::new()
                };
                let head = format!("POST /webhook HTTP/1.1\r\nhost: x\r\n{proof}content-length: 26000000\r\n\r\n");
                stream.write_all(head.as_bytes()).ok()?;
                for _ in 0..8 {
                    stream.write_all(&vec![b'x'; 1 << 20]).ok()?;
                    std::thread::sleep(Duration::from_millis(200));
                }
                std::thread::sleep(Duration::from_secs(1));
                Some(())
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (status, took) = push(&stage, &client).await;
        assert_eq!(status, 202, "{}", stage.logged());
        slowest = slowest.max(took);
    }
    strangers.into_iter().for_each(|stranger| drop(stranger.join()));
    let more = bot.memory("VmHWM") - before;
    assert!(slowest < Duration::from_secs(4), "{slowest:?}");
    assert!(more < 64 << 10, "{more} KiB more than {before}");
}

/// A delivery is as big as GitHub's may be, and not a byte bigger, whoever has signed it.
#[tokio::test(flavor = "multi_thread")]
async fn a02_what_is_too_big_is_refused_though_it_is_signed() {
    const MOST: usize = 25 << 20;
    let stage = Stage::set().await;
    quiet(&stage);
    let _bot = stage.serve();
    is_up(&stage, &Client::new()).await;
    let id = stage.world.github().repository_id(REPOSITORY).unwrap();
    for (size, expected) in [(MOST, "202"), (MOST + 1, "413")] {
        let start = format!("{{\"repository\":{{\"id\":{id}}},\"more\":\"");
        let body = format!("{start}{}\"}}", "x".repeat(size - start.len() - 2));
        let signature = signed(&stage, body.as_bytes());
        let head = format!(
            "POST /webhook HTTP/1.1\r\nhost: x\r\nx-github-event: push\r\nx-hub-signature-256: {signature}\r\n"
        );
        let sent = |lines: &str, rest: &[&str]| {
            let mut stream = TcpStream::connect(&stage.world.settings().listen).unwrap();
            for text in [head.as_str(), lines].iter().chain(rest) {
                stream.write_all(text.as_bytes()).unwrap();
            }
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).unwrap();
            String::from_utf8_lossy(&answer[9..]).into_owned()
        };
        // What says that it is too big is not even read; what does not say so, until it is.
        let whole: &[&str] = if size > MOST { &[] } else { &[&body] };
        assert_eq!(sent(&format!("content-length: {size}\r\n\r\n"), whole), expected, "{size} bytes");
        let end = if size > MOST { "" } else { "\r\n0\r\n\r\n" };
        let pieces = format!("transfer-encoding: chunked\r\n\r\n{size:x}\r\n");
        assert_eq!(sent(&pieces, &[&body, end]), expected, "{size} bytes in pieces");
    }
}

/// Whoever recorded what GitHub sends may send it again as often as they like.
#[tokio::test(flavor = "multi_thread")]
async fn a04_ten_thousand_replays_wake_nobody_and_write_nothing() {
    let stage = Stage::set().await;
    let captured: Arc<Mutex<Vec<(HeaderMap, bytes::Bytes)>>> = Arc::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    stage.world.set_webhook(&format!("http://{}/webhook", listener.local_addr().unwrap())).unwrap();
    let into = Arc::clone(&captured);
    let record = move |headers: HeaderMap, body: bytes::Bytes| {
        into.lock().unwrap().push((headers, body));
        async { "kept" }
    };
    let router = axum::Router::new().route("/webhook", axum::routing::post(record));
    tokio::spawn(async move { axum::serve(listener, router).await });
    quiet(&stage);
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "1h")]);
    let client = Client::new();
    is_up(&stage, &client).await;
    let github = stage.world.github();
    let seen = || {
        (github.events(REPOSITORY).unwrap(), github.branches(REPOSITORY).unwrap(), github.pulls(REPOSITORY).unwrap())
    };
    let writes = || {
        let all = github.requests().into_iter();
        let verbs = ["POST ", "PUT ", "PATCH ", "DELETE ", "GIT git-receive-pack"];
        let write = |route: &str| verbs.iter().any(|verb| route.starts_with(verb)) && !route.contains("access_tokens");
        all.filter(|(route, _)| write(route)).collect::<Vec<_>>()
    };
    let mut before = (seen(), writes());
    loop {
        tokio::time::sleep(Duration::from_secs(15)).await;
        let now = (seen(), writes());
        if now == before {
            break;
        }
        before = now;
    }
    let captured = captured.lock().unwrap().clone();
    assert!(captured.len() >= 3, "{}", captured.len());
    let url = format!("http://{}/webhook", stage.world.settings().listen);
    let send = |client: &Client, (headers, body): &(HeaderMap, bytes::Bytes)| {
        let mut request = client.post(&url).body(body.clone());
        for name in ["x-hub-signature-256", "x-github-event", "x-github-delivery", "content-type"] {
            request = request.header(name, &headers[name]);
        }
        request.send()
    };
    // Nobody has shown these to the bot yet: each rings once.
    for delivery in &captured {
        assert!(send(&client, delivery).await.unwrap().status().is_success());
    }
    let shown = &stage.world.settings().dashboard;
    let rested = at_rest(&stage, shown, 4).await;
    before = (seen(), writes());
    let taken = futures_util::future::join_all((0..8).map(|worker| {
        let (client, url, captured) = (client.clone(), url.clone(), captured.clone());
        tokio::spawn(async move {
            let mut taken = 0;
            for (headers, body) in captured.iter().cycle().skip(worker).take(1250) {
                let mut request = client.post(&url).body(body.clone());
                for name in ["x-hub-signature-256", "x-github-event", "x-github-delivery", "content-type"] {
                    request = request.header(name, &headers[name]);
                }
                taken += usize::from(request.send().await.is_ok_and(|answer| answer.status().is_success()));
            }
            taken
        })
    }))
    .await;
    assert_eq!(taken.into_iter().map(Result::unwrap).sum::<usize>(), 10_000, "{}", stage.logged());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(looks(shown).await, rested, "a replay rang\n{}", stage.logged());
    assert_eq!((seen(), writes()), before, "{}", stage.logged());
}

/// Whoever makes the hub ring all the time uses up their own quota, and nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a40_a_flood_of_rings_by_one_account_delays_no_other() {
    let stage = Stage::set().await;
    quiet(&stage);
    stage.world.set_webhook("http://127.0.0.1:9/webhook").unwrap();
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "1h")]);
    let client = Client::new();
    is_up(&stage, &client).await;
    let shown = &stage.world.settings().dashboard;
    let rested = at_rest(&stage, shown, 7).await;
    let id = stage.world.github().repository_id(REPOSITORY).unwrap();
    let url = format!("http://{}/webhook", stage.world.settings().listen);
    let ring = async |sender: u64, number: u64| {
        let body = json!({"repository": {"id": id}, "sender": {"id": sender}, "number": number}).to_string();
        let request = client.post(&url).header("X-Hub-Signature-256", signed(&stage, body.as_bytes()));
        request.header("X-GitHub-Event", "push").body(body).send().await.unwrap().status().as_u16()
    };
    // A look takes less than this, so that each could be one of its own.
    for number in 0..60 {
        assert_eq!(ring(666, number).await, 202);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let flooded = at_rest(&stage, shown, 3).await;
    assert!((5..=25).contains(&(flooded - rested)), "{rested}, then {flooded}");
    assert_eq!(ring(7, 0).await, 202);
    let begun = Instant::now();
    while looks(shown).await <= flooded {
        assert!(begun.elapsed() < Duration::from_secs(10), "it did not look\n{}", stage.logged());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
