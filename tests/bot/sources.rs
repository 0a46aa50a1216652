//! How charts are reached: a release at their repository rings, and a registry behind a login and a proxy answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{REPOSITORY, Stage, is_open};

const PLUGIN: &str = "cert-manager";
/// A name that only the proxy knows.
const HOST: &str = "charts.private.example";
const PASSWORD: &str = "the-good-one";

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_the_repository_that_a_chart_comes_from_opens_its_pull_request_at_once() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    github.add_repository("acme", "charts", &[("README.md".to_owned(), "Charts\n".to_owned())]).unwrap();
    github.set_permission("acme/charts", "vera", coldframe::demo::github::Role::Write).unwrap();
    github.install_app(given.app_id, "acme/charts").unwrap();
    let publish = |version: &str| {
        let home = format!("{}/acme/charts", given.hub);
        stage.world.charts().publish_from(PLUGIN, version, &home, &"1".repeat(40)).unwrap();
    };
    publish("1.15.1");
    stage.edit_policy("    poll: 1s\n", "    poll: 24h\n");
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "2s")]);
    let on_qa = |version: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains(version))
    };
    stage.until("1.15.1 comes to qa", on_qa("1.15.1")).await;
    publish("1.15.2");
    stage.never(8, "nobody rang, and it is asked once a day", |stage| on_qa("1.15.2")(stage).is_some()).await;
    // A branch of that repository is no release.
    github.push_file("acme/charts", "topic", "vera", "README.md", "More\n", "More").unwrap();
    stage.never(4, "a branch was pushed", |stage| on_qa("1.15.2")(stage).is_some()).await;
    github.release("acme/charts", "cert-manager-1.15.2", "vera").unwrap();
    let begun = Instant::now();
    stage.until("1.15.2 comes to qa", on_qa("1.15.2")).await;
    println!("from the release to the pull request: {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}\n{}", begun.elapsed(), stage.logged());
    // The artefact may come after the event: the bot looks a few times more.
    github.release("acme/charts", "cert-manager-1.15.3", "vera").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    publish("1.15.3");
    stage.until("1.15.3 comes to qa", on_qa("1.15.3")).await;
    assert!(stage.pull(PLUGIN, "qa").is_some_and(|pull| is_open(&pull) || pull.title.contains("1.15.3")));
}

/// A forward proxy that knows one name, and what it was asked for.
struct Tunnel {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// Leads to `target`; with `login` it wants one.
    async fn dig(target: String, login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (target, seen) = (target.clone(), Arc::clone(&seen));
                tokio::spawn(async move { Self::pass(stream, &target, login, &seen).await });
            }
        });
        Self { address, asked }
    }

    async fn pass(
        stream: TcpStream,
        target: &str,
        login: Option<&str>,
        seen: &Mutex<Vec<String>>,
    ) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut first, mut shown) = (String::new(), None);
        stream.read_line(&mut first).await?;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? <= 2 {
                break;
            }
            if let Some(value) =
                line.to_lowercase().starts_with("proxy-authorization: ").then(|| line[21..].trim().to_owned())
            {
                shown = Some(value);
            }
        }
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(first.trim().to_owned());
        let wanted = login.map(|login| format!("Basic {}", STANDARD.encode(login)));
        if wanted.is_some() && wanted != shown {
            return stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n").await;
        }
        if first.split(' ').nth(1) != Some(&format!("{HOST}:443")) {
            return stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
        }
        let mut to = TcpStream::connect(target).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        tokio::io::copy_bidirectional(&mut stream, &mut to).await.map(|_| ())
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The sandbox's registry behind TLS and a login; where it listens, and the certificate to trust.
async fn locked_registry(stage: &Stage) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec![HOST.to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let charts = format!("http://{}", stage.world.charts().host());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, charts) = (acceptor.clone(), charts.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                // One request on one connection is all that is needed here.
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { return };
                    head.push(byte);
                }
                let answer = answer(&charts, &String::from_utf8_lossy(&head)).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (address, made.cert.pem())
}

async fn answer(charts: &str, head: &str) -> Vec<u8> {
    let good = format!("authorization: basic {}", STANDARD.encode(format!("gardener:{PASSWORD}"))).to_lowercase();
    if !head.lines().any(|line| line.to_lowercase() == good) {
        return b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"shed\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
    }
    let path = head.split(' ').nth(1).unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let accept = head.lines().find_map(|line| line.strip_prefix("accept: ")).unwrap_or("*/*");
    let got = client.get(format!("{charts}{path}")).header("accept", accept).send().await.unwrap();
    let status = got.status();
    let body = got.bytes().await.unwrap();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), &body].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a23_a_private_registry_is_read_by_a_proxy_and_with_its_login_alone() {
    let stage = Stage::set().await;
    let open = format!("oci+http://{}", stage.world.charts().reference(PLUGIN));
    stage.edit_policy(&open, &format!("oci://{HOST}/charts/{PLUGIN}"));
    let (registry, certificate) = locked_registry(&stage).await;
    let at = |name: &str| stage.folder.path().join(name).display().to_string();
    std::fs::write(at("trusted.pem"), certificate).unwrap();
    let logins = |name: &str, host: &str, password: &str| {
        let auth = STANDARD.encode(format!("gardener:{password}"));
        std::fs::write(at(name), format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"{auth}\"}}}}}}")).unwrap();
        at(name)
    };
    let good = logins("good.json", HOST, PASSWORD);
    let bad = logins("bad.json", HOST, "run-out");
    let other = logins("other.json", "ghcr.io", PASSWORD);
    let (free, strict) = (Tunnel::dig(registry.clone(), None).await, Tunnel::dig(registry, Some("me:pw")).await);
    let free_url = format!("http://{}", free.address);
    let plan = |proxy: &str, more: &[(&str, &str)]| {
        let mut command = stage.command(&["plan"]);
        command.env("SSL_CERT_FILE", at("trusted.pem")).env("https_proxy", proxy).envs(more.iter().copied());
        let done = tokio::task::block_in_place(|| command.output()).unwrap();
        let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        for secret in [PASSWORD, "run-out", "me:pw", &STANDARD.encode(format!("gardener:{PASSWORD}"))] {
            assert!(!text.contains(secret), "{text}");
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = plan(&free_url, &[("COLDFRAME_REGISTRIES", &good)]);
    assert!(text.contains("cert-manager 1.15.0"), "{text}");
    let asked = free.asked();
    let wanted = format!("CONNECT {HOST}:443 HTTP/1.1");
    assert!(
        !asked.is_empty() && asked.iter().all(|line| *line == wanted),
        "the sandbox's hosts are this machine: {asked:?}"
    );

    let strict_url = format!("http://{}", strict.address);
    let with_login = format!("http://me:pw@{}", strict.address);
    let no_file = at("nowhere.json");
    for (proxy, more, said) in [
        (&free_url, &[][..], vec![HOST, "401", "--registries"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", bad.as_str())], vec![HOST, "401", bad.as_str(), "has run out"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", other.as_str())], vec![other.as_str(), "has no login for", HOST]),
        (&free_url, &[("COLDFRAME_REGISTRIES", no_file.as_str())], vec!["--registries", no_file.as_str()]),
        (
            &strict_url,
            &[("COLDFRAME_REGISTRIES", good.as_str())],
            vec![&strict.address, "https_proxy", "USER:PASSWORD"],
        ),
        (&with_login, &[("COLDFRAME_REGISTRIES", good.as_str())], vec!["cert-manager 1.15.0"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", good.as_str()), ("NO_PROXY", HOST)], vec![HOST, "dns error"]),
        (&"socks5://127.0.0.1:1".to_owned(), &[], vec!["https_proxy in the environment", "no other kind"]),
    ] {
        let text = plan(proxy, more);
        assert!(said.iter().all(|part| text.contains(part)), "{more:?} {said:?}: {text}");
    }
    assert!(
        stage.world.github().pulls(REPOSITORY).unwrap().iter().all(|pull| pull.author == "vera"),
        "a plan opens none"
    );
}
