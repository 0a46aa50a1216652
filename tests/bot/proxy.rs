//! A bad line between the bots and the hub: it cuts, delays, repeats and reorders what passes, each seeded. What the
//! bots make of that is in `several`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It never arrives.
    CutBefore,
    /// It arrives, and its answer is lost.
    CutAfter,
    /// It arrives late.
    Late,
    /// Its answer is late.
    AnsweredLate,
    /// It arrives twice, and the first answer counts.
    Twice,
    /// It arrives twice, and the second answer counts: a proxy has tried again.
    Retried,
    /// Another one that came later arrives first.
    Overtaken,
}

/// Faults with the number of their cases among a thousand requests.
const RATES: [(Fault, u64); 7] = [
    (Fault::CutBefore, 5),
    (Fault::CutAfter, 5),
    (Fault::Late, 15),
    (Fault::AnsweredLate, 15),
    (Fault::Twice, 10),
    (Fault::Retried, 10),
    (Fault::Overtaken, 15),
];
/// The longest that one waits for another.
const LONGEST: Duration = Duration::from_millis(1_500);

/// A proxy in front of a hub. It is gone with the runtime.
pub struct Proxy {
    /// Where it listens.
    pub url: String,
    line: Arc<Line>,
}

struct Line {
    hub: String,
    client: reqwest::Client,
    luck: Mutex<u64>,
    passed: Notify,
    counts: Mutex<BTreeMap<Fault, u64>>,
    gate: Mutex<Option<Gate>>,
    held: Notify,
    opened: Notify,
    /// Whether faults are drawn.
    bad: bool,
}

/// Keeps one request or its answer back.
struct Gate {
    /// What the body of the request or its address holds.
    part: &'static str,
    /// Whether the hub has not seen it yet.
    unseen: bool,
    /// Such requests that pass before it.
    passes: u32,
}

impl Proxy {
    pub async fn between(hub: &str, seed: u64) -> Self {
        Self::start(hub, seed, true).await
    }

    /// A line without faults, on which an answer may be held.
    pub async fn quiet(hub: &str) -> Self {
        Self::start(hub, 1, false).await
    }

    /// Keeps the answer to a request back that has this in its body or its address, when so many of them have passed.
    /// Waits until the hub has given that answer.
    pub async fn hold(&self, part: &'static str, passes: u32) {
        self.keep(Gate { part, unseen: false, passes }).await;
    }

    /// Keeps the next request that has this in its body or its address from the hub. Waits until it is there.
    pub async fn hold_request(&self, part: &'static str) {
        self.keep(Gate { part, unseen: true, passes: 0 }).await;
    }

    async fn keep(&self, gate: Gate) {
        *self.line.gate.lock().unwrap() = Some(gate);
        let held = tokio::time::timeout(Duration::from_secs(120), self.line.held.notified());
        held.await.expect("nobody asked for what is to be held");
    }

    /// Lets it go on.
    pub fn release(&self) {
        self.line.opened.notify_one();
    }

    async fn start(hub: &str, seed: u64, bad: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let line = Arc::new(Line {
            hub: hub.trim_end_matches('/').to_owned(),
            client: client.build().unwrap(),
            luck: Mutex::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            passed: Notify::new(),
            counts: Mutex::default(),
            gate: Mutex::default(),
            held: Notify::new(),
            opened: Notify::new(),
            bad,
        });
        let shared = Arc::clone(&line);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        Self { url, line }
    }

    /// How often each fault happened.
    pub fn counts(&self) -> BTreeMap<Fault, u64> {
        self.line.counts.lock().unwrap().clone()
    }
}

async fn answer(stream: TcpStream, line: Arc<Line>) -> Result<(), Infallible> {
    let service = hyper::service::service_fn(|request| line.pass(request));
    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
    Ok(())
}

impl Line {
    /// An error ends the connection without an answer.
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Error> {
        let cut = |what: &str| Error::new(ErrorKind::ConnectionReset, what.to_owned());
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|error| cut(&error.to_string()))?.to_bytes();
        let fault = self.draw().filter(|_| self.bad);
        if let Some(fault) = fault {
            *self.counts.lock().unwrap().entry(fault).or_default() += 1;
        }
        match fault {
            Some(Fault::CutBefore) => return Err(cut("cut before")),
            Some(Fault::Late) => tokio::time::sleep(self.pause()).await,
            Some(Fault::Overtaken) => drop(tokio::time::timeout(LONGEST, self.passed.notified()).await),
            _ => {}
        }
        let gate = self.keeps_back(&head, &body);
        if gate.as_ref().is_some_and(|gate| gate.unseen) {
            self.wait().await;
        }
        let first = self.ask(&head, body.clone()).await;
        if gate.is_some_and(|gate| !gate.unseen) {
            self.wait().await;
        }
        let answer = match fault {
            Some(Fault::Twice) => self.ask(&head, body).await.and(first),
            Some(Fault::Retried) => self.ask(&head, body).await,
            _ => first,
        };
        self.passed.notify_waiters();
        match fault {
            Some(Fault::CutAfter) => return Err(cut("cut after")),
            Some(Fault::AnsweredLate) => tokio::time::sleep(self.pause()).await,
            _ => {}
        }
        answer.map_err(|error| cut(&error.to_string()))
    }

    async fn wait(&self) {
        self.held.notify_one();
        self.opened.notified().await;
    }

    /// The gate that keeps this one back.
    fn keeps_back(&self, head: &http::request::Parts, body: &Bytes) -> Option<Gate> {
        let mut gate = self.gate.lock().unwrap();
        let Gate { part, passes, .. } = gate.as_mut()?;
        if !String::from_utf8_lossy(body).contains(*part) && !head.uri.to_string().contains(*part) {
            return None;
        }
        match passes.checked_sub(1) {
            Some(left) => {
                *passes = left;
                None
            }
            None => gate.take(),
        }
    }

    async fn ask(&self, head: &http::request::Parts, body: Bytes) -> reqwest::Result<Response<Full<Bytes>>> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut headers = head.headers.clone();
        for own in ["host", "connection", "content-length", "transfer-encoding", "expect"] {
            headers.remove(own);
        }
        let request = self.client.request(head.method.clone(), format!("{}{path}", self.hub)).headers(headers);
        let answer = request.body(body).send().await?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if !["connection", "content-length", "transfer-encoding"].contains(&name.as_str()) {
                response = response.header(name, value);
            }
        }
        Ok(response.body(Full::new(answer.bytes().await?)).unwrap())
    }

    fn draw(&self) -> Option<Fault> {
        let mut at = self.next() % 1_000;
        RATES.into_iter().find_map(|(fault, rate)| {
            let hit = at < rate;
            at = at.wrapping_sub(rate);
            hit.then_some(fault)
        })
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(50 + self.next() % (LONGEST.as_millis() as u64))
    }

    fn next(&self) -> u64 {
        let mut luck = self.luck.lock().unwrap();
        *luck ^= *luck << 13;
        *luck ^= *luck >> 7;
        *luck ^= *luck << 17;
        *luck >> 11
    }
}
