//! A registry behind TLS and a login, which only a forward proxy can reach.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::Stage;

/// A name that only the proxy knows.
pub const HOST: &str = "charts.private.example";
/// What the registry lets in, as `gardener`.
pub const PASSWORD: &str = "the-good-one";

/// A docker `config.json` with a login for one host.
pub fn login(host: &str, password: &str) -> String {
    let auth = STANDARD.encode(format!("gardener:{password}"));
    format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"{auth}\"}}}}}}")
}

/// A forward proxy that knows one name, and what it was asked for.
pub struct Tunnel {
    pub address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// Leads to `target`; with `login` it wants one.
    pub async fn dig(target: String, login: Option<&'static str>) -> Self {
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

    /// What it was asked for since the last time.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The sandbox's registry behind TLS and a login; where it listens, and the certificate to trust.
pub async fn locked_registry(stage: &Stage) -> (String, String) {
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
