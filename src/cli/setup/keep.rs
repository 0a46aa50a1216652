//! What GitHub hands out for a new App, kept: as files that their owner alone can read, or as a Secret on standard
//! output.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use super::Setup;
use crate::hub::registration::Registered;
use crate::secret::Secret;

/// Files of the folder: the key, the settings for a shell, and what keeps both out of git.
const KEY: &str = "app.pem";
const ENV: &str = "env";
const IGNORE: &str = ".gitignore";

/// Where it goes.
#[derive(Debug)]
pub enum Place {
    /// Into this folder, by its whole path.
    Files(PathBuf),
    /// To standard output.
    Secret,
}

impl Place {
    /// The place, before anything is made: what is refused here costs nobody an App.
    ///
    /// # Errors
    /// The folder cannot be made, or holds a key already.
    pub fn open(arguments: &Setup) -> anyhow::Result<Self> {
        if arguments.secret {
            return Ok(Self::Secret);
        }
        let folder = std::path::absolute(&arguments.folder)?;
        let shown = arguments.folder.display();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(|| format!("the folder {shown}"))?;
        for name in [KEY, ENV] {
            if std::fs::symlink_metadata(folder.join(name)).is_ok() {
                bail!("{shown} holds {name} already; give another folder by --folder, or move it away");
            }
        }
        let ignored = folder.join(IGNORE);
        if !ignored.exists() {
            std::fs::write(&ignored, "*\n").with_context(|| format!("{shown} cannot be written"))?;
        }
        Ok(Self::Files(folder))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// It could not be written.
    pub fn keep(&self, app: &Registered, arguments: &Setup) -> anyhow::Result<()> {
        match self {
            Self::Files(folder) => {
                // The key first: it is told once.
                write(&folder.join(KEY), &format!("{}\n", app.key.reveal()))?;
                write(&folder.join(ENV), &env(app, arguments, &folder.join(KEY)))
            }
            Self::Secret => {
                let mut out = std::io::stdout().lock();
                out.write_all(secret(app, arguments)?.as_bytes()).and_then(|()| out.flush()).context("standard output")
            }
        }
    }

    /// What was done, a line each.
    pub fn told(&self, app: &Registered) -> Vec<String> {
        let registered = format!("registered the App {}, number {}", app.slug, app.id);
        let kept = match self {
            Self::Files(folder) => {
                format!("its key and its settings lie in {}, for you alone: {KEY}, {ENV}", folder.display())
            }
            Self::Secret => "its key is in the Secret on standard output".to_string(),
        };
        vec![registered, kept]
    }
}

/// A file that nobody had before, for its owner alone.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let open = || -> std::io::Result<File> { OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) };
    let mut file = open().with_context(|| path.display().to_string())?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

/// The settings as a shell reads them.
fn env(app: &Registered, arguments: &Setup, key: &Path) -> String {
    let mut lines = vec![
        ("HUB", arguments.hub.clone()),
        ("REPOSITORY", arguments.repository.clone()),
        ("APP_ID", app.id.to_string()),
        ("APP_KEY", key.display().to_string()),
    ];
    lines.extend(app.webhook_secret.iter().map(|secret| ("WEBHOOK_SECRET", secret.reveal().to_string())));
    if let Some((home, id, secret)) = signs_in(app, arguments) {
        let (home, id, secret) = (home.to_string(), id.to_string(), secret.reveal().to_string());
        lines.extend([("PUBLIC_URL", home), ("CLIENT_ID", id), ("CLIENT_SECRET", secret)]);
    }
    lines.iter().map(|(name, value)| format!("COLDFRAME_{name}={}\n", quoted(value))).collect()
}

/// By what it signs people in, and where. Without an address nobody can, and the bot would not take the rest.
fn signs_in<'a>(app: &'a Registered, arguments: &'a Setup) -> Option<(&'a str, &'a str, &'a Secret)> {
    let (id, secret) = app.client.as_ref()?;
    Some((arguments.public_url.as_deref()?, id, secret))
}

/// A word of a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The Secret that the chart takes by its name.
fn secret(app: &Registered, arguments: &Setup) -> anyhow::Result<String> {
    let mut data = json!({"app-id": app.id.to_string(), "app.pem": app.key.reveal()});
    if let Some(secret) = &app.webhook_secret {
        data["webhook-secret"] = secret.reveal().into();
    }
    if let Some((_, id, secret)) = signs_in(app, arguments) {
        data["client-id"] = id.into();
        data["client-secret"] = secret.reveal().into();
    }
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "coldframe-app"}, "type": "Opaque", "stringData": data,
    });
    Ok(serde_yaml::to_string(&secret)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn app() -> Registered {
        Registered {
            id: 7,
            slug: "coldframe-acme".into(),
            page: "https://github.com/apps/coldframe-acme".into(),
            key: Secret::new("-----BEGIN RSA PRIVATE KEY-----\nQUJD\n-----END RSA PRIVATE KEY-----\n"),
            webhook_secret: Some(Secret::new("it's secret")),
            client: Some(("Iv1.7".into(), Secret::new("known to few"))),
        }
    }

    fn arguments(folder: PathBuf) -> Setup {
        let (hub, repository) = ("https://github.com".to_string(), "acme/fleet".to_string());
        let public_url = Some("https://coldframe.example/".to_string());
        Setup { hub, repository, webhook_url: None, public_url, name: None, folder, secret: false, port: 0 }
    }

    #[test]
    fn the_key_is_for_its_owner_alone_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments(folder.path().join("a b/app"));
        let place = Place::open(&arguments).unwrap();
        place.keep(&app(), &arguments).unwrap();
        let at = |name: &str| folder.path().join("a b/app").join(name);
        for name in [KEY, ENV] {
            assert_eq!(std::fs::metadata(at(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        }
        assert_eq!(std::fs::metadata(folder.path().join("a b/app")).unwrap().permissions().mode() & 0o777, 0o700);
        let script = format!(
            ". '{}'; printf '%s|' \"$COLDFRAME_APP_ID\" \"$COLDFRAME_WEBHOOK_SECRET\" \
             \"$COLDFRAME_CLIENT_ID\" \"$COLDFRAME_CLIENT_SECRET\" \"$COLDFRAME_PUBLIC_URL\"; cat \"$COLDFRAME_APP_KEY\"",
            at(ENV).display()
        );
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&said.stdout),
            format!("7|it's secret|Iv1.7|known to few|https://coldframe.example/|{}\n", app().key.reveal())
        );
        assert_eq!(std::fs::read_to_string(at(IGNORE)).unwrap(), "*\n");
        let refused = Place::open(&arguments).unwrap_err().to_string();
        assert!(refused.contains("holds app.pem already"), "{refused}");
        assert!(place.keep(&app(), &arguments).is_err(), "nothing is written over");
    }

    #[test]
    fn the_secret_is_one_of_kubernetes() {
        let arguments = arguments(PathBuf::new());
        let text = secret(&app(), &arguments).unwrap();
        let read: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(read["metadata"]["name"], "coldframe-app");
        assert_eq!(read["stringData"]["app-id"], "7");
        assert_eq!(read["stringData"]["app.pem"], app().key.reveal());
        assert_eq!(read["stringData"]["webhook-secret"], "it's secret");
        assert_eq!(read["stringData"]["client-secret"], "known to few");
        // Where nobody signs in, nothing of it is kept.
        let nobody = Setup { public_url: None, ..arguments };
        assert!(!secret(&app(), &nobody).unwrap().contains("client"));
        assert!(!env(&app(), &nobody, Path::new("k")).contains("CLIENT"));
    }
}
