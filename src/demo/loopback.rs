//! What the sandbox's servers share: a loopback listener that ends with its owner, digests, locks.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// No system hands one of these to whoever asks for any free port: Linux begins at 32768
/// (`net.ipv4.ip_local_port_range`), the others at 49152.
const BY_NUMBER: Range<u16> = 20_000..32_000;

/// A port of 127.0.0.1 for a process that listens there later. It is free now, and each is given once, so that only
/// somebody who asks for it by number can take it meanwhile.
///
/// # Errors
/// Where none is free.
pub fn free_port() -> anyhow::Result<u16> {
    static LEFT: Mutex<Option<Vec<u16>>> = Mutex::new(None);
    let mut left = locked(&LEFT);
    if left.is_none() {
        let mut ports: Vec<u16> = BY_NUMBER.collect();
        // Another process that starts now begins elsewhere.
        let mut bytes = [0; 2];
        aws_lc_rs::rand::fill(&mut bytes).context("this machine gives no random bytes")?;
        ports.rotate_left(usize::from(u16::from_ne_bytes(bytes)) % BY_NUMBER.len());
        *left = Some(ports);
    }
    let free = |port: &u16| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    std::iter::from_fn(|| left.as_mut()?.pop()).find(free).context("no loopback port is free")
}

/// A server on a loopback port. It stops when this is dropped.
pub(super) struct Loopback {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Loopback {
    /// Serves `router` on a free port of 127.0.0.1.
    pub(super) async fn serve(router: Router) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no loopback port is free")?;
        let address = listener.local_addr().context("a loopback listener has no address")?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%address, %error, "a server of the sandbox ended");
            }
        });
        Ok(Self { address, _task: task })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a slash at the end.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// `sha256:<hex>` of these bytes.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex_sha256(bytes))
}

/// The same without the algorithm's name, as `index.yaml` writes it.
pub(super) fn hex_sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lock, also after a thread that held it panicked: the sandbox goes on with what is there.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a file that only its owner may read.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// A secret that nobody guesses: forty hexadecimal digits.
pub(super) fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0; 20];
    aws_lc_rs::rand::fill(&mut bytes).context("this machine gives no random bytes")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_free_port_is_given_once_and_to_nobody_who_asks_for_any() {
        let ports: Vec<u16> = (0..50).map(|_| free_port().unwrap()).collect();
        let mut once = ports.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ports.len());
        assert!(ports.iter().all(|port| *port < 32_768), "{ports:?}");
    }
}
