//! A port that strangers may reach: how many connections there are, how long each may take, and that one address
//! has not all of them. What is answered is the router's.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// Bytes of a head, and of a body that nobody has taken yet.
const MOST_BUFFERED: usize = 16 << 10;
/// How long to wait after a connection could not be taken, as without descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The bounds of a port.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at once.
    pub all: usize,
    /// Of these, the most of one address.
    pub each: usize,
    /// The longest that a head may take.
    pub head: Duration,
    /// The longest that a connection may take: one request, one answer.
    pub whole: Duration,
}

impl Bounds {
    /// Those of a process that may have so many descriptors: most of them are for its work.
    #[must_use]
    pub fn within(descriptors: usize) -> Self {
        let all = (descriptors / 4).clamp(8, 256);
        Self { all, each: all / 4, head: Duration::from_secs(5), whole: Duration::from_secs(30) }
    }
}

/// Answers at a port for as long as it is polled. Where all places are taken, the oldest connection of the address that
/// has most of them gives way: whoever sends a delivery needs its place for a moment only.
pub async fn serve(listener: TcpListener, app: Router, bounds: Bounds) -> Infallible {
    let free = Arc::new(Semaphore::new(bounds.all));
    let places = Arc::new(Places::default());
    let mut lines = JoinSet::new();
    loop {
        while lines.try_join_next().is_some() {}
        let (stream, from) = match listener.accept().await {
            Ok((stream, from)) => (stream, network(from.ip())),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        if places.count(from) >= bounds.each {
            places.give_way(from);
        } else if free.available_permits() == 0
            && let Some(most) = places.most()
        {
            places.give_way(most);
        }
        // Who gave way is gone in a moment.
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { continue };
        let place = places.take(from);
        let app = app.clone();
        lines.spawn(async move {
            tokio::select! {
                () = line(stream, app, bounds.head) => {}
                () = place.asked.notified() => {}
                () = tokio::time::sleep(bounds.whole) => {}
            }
            drop((place, permit));
        });
    }
}

/// One request and its answer.
async fn line(stream: TcpStream, app: Router, head: Duration) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(false).max_buf_size(MOST_BUFFERED);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app)).await {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Who an address is of: a host, or with IPv6 the network that one host has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The connections that there are, the oldest first.
#[derive(Default)]
struct Places(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    next: u64,
    by: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
}

/// The place of one connection; it is free again when this is dropped.
struct Place {
    number: u64,
    asked: Arc<Notify>,
    of: Arc<Places>,
}

impl Places {
    fn take(self: &Arc<Self>, from: IpAddr) -> Place {
        let mut taken = self.taken();
        let (number, asked) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.by.insert(number, (from, Arc::clone(&asked)));
        Place { number, asked, of: Arc::clone(self) }
    }

    fn count(&self, from: IpAddr) -> usize {
        self.taken().by.values().filter(|(of, _)| *of == from).count()
    }

    /// The address that has most of them; of several, the one with the oldest.
    fn most(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, (usize, Reverse<u64>)> = BTreeMap::new();
        for (number, (from, _)) in &self.taken().by {
            counts.entry(*from).or_insert((0, Reverse(*number))).0 += 1;
        }
        counts.into_iter().max_by_key(|(_, most)| *most).map(|(from, _)| from)
    }

    /// Ends the oldest connection of an address.
    fn give_way(&self, from: IpAddr) {
        let mut taken = self.taken();
        let oldest = taken.by.iter().find(|(_, (of, _))| *of == from).map(|(number, _)| *number);
        if let Some((_, asked)) = oldest.and_then(|number| taken.by.remove(&number)) {
            asked.notify_one();
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.taken().by.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
