//! The addresses of `coldframe serve`: the webhook endpoint, the dashboard at one of its own, with a door where people
//! sign in, and what probes ask beside it or elsewhere. What it does meanwhile is in `serve`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::serve::{Shop, keep_list};
use super::settings::Settings;
use crate::hub::Bases;
use crate::hub::sign_in::SignIn;
use crate::process;
use crate::secret::Secret;
use crate::wake::port::{self, Bounds};
use crate::wake::senders::Senders;
use crate::wake::sign_in::{Door, callback};
use crate::wake::{pages, probes, routes};

/// How long the passes that are under way may take to end once the process is asked to stop. Kubernetes kills it after
/// thirty seconds.
const LAST: Duration = Duration::from_secs(20);
/// Where probes are answered once the dashboard has a door, unless somebody says otherwise.
const PROBES: u16 = 8082;

/// A server that is bound and not yet running.
pub struct Server {
    /// For whoever rings.
    port: TcpListener,
    /// For the operators: the dashboard and what goes with it.
    dashboard: TcpListener,
    /// For machines that look after the process, where the dashboard is no place for them.
    probes: Option<TcpListener>,
    settings: Settings,
    secrets: Vec<Secret>,
    senders: Senders,
    door: Option<Door>,
}

impl Server {
    /// Binds both addresses, so that they are known before anything runs.
    ///
    /// # Errors
    /// Where one of them is taken.
    pub async fn bind(
        settings: Settings,
        listen: SocketAddr,
        dashboard: SocketAddr,
        webhook_secret: &str,
    ) -> anyhow::Result<Self> {
        let (port, dashboard) = (bind("--listen", listen).await?, bind("--dashboard", dashboard).await?);
        let secrets: Vec<Secret> =
            webhook_secret.split(',').filter(|secret| !secret.trim().is_empty()).map(Secret::new).collect();
        if secrets.is_empty() {
            bail!(
                "the webhook secret is empty, and without one nobody may ring: give the App's by --webhook-secret \
                 (environment: COLDFRAME_WEBHOOK_SECRET)"
            );
        }
        Ok(Self { port, dashboard, probes: None, settings, secrets, senders: Senders::default(), door: None })
    }

    /// Lets these senders ring, too.
    #[must_use]
    pub fn rung_by(self, senders: Senders) -> Self {
        Self { senders, ..self }
    }

    /// Shows the dashboard to those alone whom this client of the App signs in.
    ///
    /// # Errors
    /// The settings do not say where people come back to.
    pub fn open_to(self, client: Option<(String, Secret)>) -> anyhow::Result<Self> {
        let Some(client) = client else { return Ok(self) };
        let home = self.settings.public_address()?.context("people come back to --public-url")?;
        let hub = SignIn::new(Bases::from_hub(&self.settings.hub)?, client, callback(&home))?;
        tracing::info!("people sign in; GitHub sends them back to {}, a callback URL of the App", callback(&home));
        Ok(Self { door: Some(Door::new(hub, &home)), ..self })
    }

    /// Answers probes here. Without an address it is that of the dashboard, unless that has a door.
    ///
    /// # Errors
    /// The address is taken.
    pub async fn probed_at(self, address: Option<SocketAddr>) -> anyhow::Result<Self> {
        let beside = self.door.is_some().then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, PROBES)));
        let Some(address) = address.or(beside) else { return Ok(self) };
        Ok(Self { probes: Some(bind("--metrics", address).await?), ..self })
    }

    /// Where it listens to those who ring.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.port.local_addr()?)
    }

    /// Where the dashboard is.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn dashboard(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.dashboard.local_addr()?)
    }

    /// Runs until `stop` is done. Then the passes that are under way come to their end, and what waits to be written is
    /// written; `stop`, done once more, ends that, too.
    ///
    /// # Errors
    /// Where a setting is wrong.
    pub async fn run(self, stop: impl AsyncFn()) -> anyhow::Result<()> {
        let (address, dashboard) = (self.address()?, self.dashboard()?);
        let (ending, ended) = watch::channel(false);
        let shop = Arc::new(Shop::open(self.settings, ended)?);
        let mut kept = std::pin::pin!(keep_list(Arc::clone(&shop)));
        let routes = routes::router(shop.bell.clone(), &self.secrets, &self.senders, shop.pages.metrics());
        let descriptors = process::descriptors();
        let (outside, inside) = (Bounds::within(descriptors), Bounds::within(descriptors / 2));
        let known = shop.settings.public_address()?.and_then(|url| url.host_str().map(str::to_string));
        let pages = pages::router(shop.pages.clone(), self.door.as_ref(), self.probes.is_none(), known.clone(), inside);
        let probed = probes::router(shop.pages.clone(), known);
        tracing::info!("listening: webhooks at http://{address}/webhook, the dashboard at http://{dashboard}/");
        if let Some(at) = self.probes.as_ref().map(TcpListener::local_addr).transpose()? {
            tracing::info!("listening: metrics at http://{at}/metrics");
        }
        tokio::select! {
            never = port::serve(self.port, routes, outside) => match never {},
            never = port::serve(self.dashboard, pages, inside) => match never {},
            never = serve_some(self.probes, probed, inside) => match never {},
            kept = &mut kept => return kept,
            () = stop() => {}
        }
        tracing::info!("stopping: what is under way comes to its end");
        ending.send_replace(true);
        tokio::select! {
            kept = &mut kept => kept,
            () = tokio::time::sleep(LAST) => {
                tracing::warn!("stopped in the middle of a pass; the next start looks at everything anew");
                Ok(())
            }
            () = stop() => Ok(()),
        }
    }
}

async fn bind(flag: &'static str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}; give another by {flag}"))
}

/// Answers at a port that may not be there.
async fn serve_some(listener: Option<TcpListener>, app: Router, bounds: Bounds) -> Infallible {
    match listener {
        Some(listener) => port::serve(listener, app, bounds).await,
        None => std::future::pending().await,
    }
}
