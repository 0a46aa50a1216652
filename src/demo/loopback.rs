//! What the sandbox's servers share: a loopback listener that ends with its owner, digests, locks.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

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
