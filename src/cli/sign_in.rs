//! The settings of the sign-in before the dashboard: both halves of it or none, and an address that nobody else reads
//! along at. Who is signed in is `wake/sign_in`.

use anyhow::bail;
use clap::Args;

use super::settings::Settings;
use crate::secret::Secret;

/// What it takes to sign people in before the dashboard.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "A sign-in before the dashboard")]
pub struct SignIn {
    /// Client id of the App: people sign in with GitHub, and each sees the repositories that they can read there
    #[arg(long, env = "COLDFRAME_CLIENT_ID", value_name = "ID")]
    pub client_id: Option<String>,
    /// Client secret of the App
    #[arg(long, env = "COLDFRAME_CLIENT_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub client_secret: Option<String>,
}

impl SignIn {
    /// The id and the secret; none where nobody signs in.
    ///
    /// # Errors
    /// A part is missing: half of a sign-in is none, and the operator meant one.
    pub fn client(&self, settings: &Settings) -> anyhow::Result<Option<(String, Secret)>> {
        let given =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, secret) = match (given(&self.client_id), given(&self.client_secret)) {
            (None, None) => return Ok(None),
            (Some(id), Some(secret)) => (id, Secret::new(&secret)),
            (Some(_), None) => bail!(
                "--client-id is given, and no client secret: nobody could sign in; give it by --client-secret \
                 (environment: COLDFRAME_CLIENT_SECRET), or take the id away"
            ),
            (None, Some(_)) => bail!(
                "a client secret is given, and no --client-id (environment: COLDFRAME_CLIENT_ID): nobody could sign in"
            ),
        };
        if settings.app_id.is_none() {
            bail!("people sign in by the App: give --app-id and --app-key; a token signs nobody in");
        }
        let Some(home) = settings.public_address()? else {
            bail!(
                "GitHub sends whoever signs in back to the dashboard: say by --public-url where it is found from outside \
                 (environment: COLDFRAME_PUBLIC_URL)"
            );
        };
        if home.scheme() != "https" && !is_loopback(&home) {
            bail!(
                "people sign in over https alone: `{home}` of --public-url is http, where anybody on the way reads along"
            );
        }
        Ok(Some((id, secret)))
    }
}

fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
