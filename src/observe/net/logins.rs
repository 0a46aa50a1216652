//! Logins of the operator, from files as `docker login` writes them. A file is read each time that somebody needs a
//! login: tokens run out within hours, and whoever renews them need not restart anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use url::Url;

use super::rules::Named;
use super::{NetError, plain};
use crate::secret::Secret;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// What Docker calls its own registry, and the hosts that this means.
const DOCKER: (&[&str], &[&str]) = (
    &["docker.io", "index.docker.io", "registry-1.docker.io"],
    &["index.docker.io", "registry-1.docker.io", "auth.docker.io"],
);

/// Who we are at one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// User and password.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token that is shown as it is (`registrytoken`).
    Bearer(Secret),
    /// A token that the registry's realm changes into one that can be shown (`identitytoken`).
    Identity(Secret),
}

/// Files with logins. The first that knows a host counts.
#[derive(Clone, Debug, Default)]
pub struct Logins {
    files: Vec<PathBuf>,
}

/// A login and the file that it comes from.
#[derive(Clone, Debug)]
pub struct Found {
    /// The login.
    pub login: Login,
    /// The file.
    pub file: PathBuf,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default, rename = "credsStore")]
    store: String,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    identitytoken: String,
    #[serde(default)]
    registrytoken: String,
}

impl Logins {
    /// Logins of these files, each of which is read once to see that it can be.
    ///
    /// # Errors
    /// Says which file is wrong, where, and what to do; nothing of what stands there.
    pub fn open(files: Vec<PathBuf>) -> Result<Self, NetError> {
        for file in &files {
            read(file).map_err(|why| NetError::Settings { entry: format!("--registries {}", file.display()), why })?;
        }
        Ok(Self { files })
    }

    /// The login for the host of an address, as the files have it now.
    ///
    /// # Errors
    /// A file is not what it was at the start.
    pub fn of(&self, url: &Url) -> Result<Option<Found>, NetError> {
        for file in &self.files {
            let refused = |why| NetError::Refused {
                url: plain(url),
                why: format!("the logins in `{}` cannot be read: {why}", file.display()),
            };
            let known = read(file).map_err(refused)?;
            if let Some((_, login)) = known.into_iter().find(|(host, _)| is_of(host, url)) {
                return Ok(Some(Found { login, file: file.clone() }));
            }
        }
        Ok(None)
    }

    /// The files, as people are told of them.
    pub fn files(&self) -> String {
        let names: Vec<String> = self.files.iter().map(|file| format!("`{}`", file.display())).collect();
        names.join(" and ")
    }
}

/// Whether a login for this host is one for this address. Without a port it is for the scheme's own port alone.
fn is_of(host: &Named, url: &Url) -> bool {
    host.is(url) && (host.port.is_some() || url.port().is_none())
}

fn read(file: &Path) -> Result<Vec<(Named, Login)>, String> {
    let size = std::fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes; give a docker config.json"));
    }
    parse(&std::fs::read(file).map_err(|error| error.to_string())?)
}

fn parse(text: &[u8]) -> Result<Vec<(Named, Login)>, String> {
    // The parser's message may quote what stands there: only the place is told.
    let config: Config = serde_json::from_slice(text)
        .map_err(|error| format!("it is no docker config.json (line {}, column {})", error.line(), error.column()))?;
    let external = [("credsStore", !config.store.is_empty()), ("credHelpers", !config.helpers.is_empty())];
    if let Some((key, _)) = external.iter().find(|(_, given)| *given) {
        return Err(format!(
            "its `{key}` names a program that has the logins, and no other program is started here; give a file with \
             the logins themselves: `docker --config FOLDER login HOST` writes one where no `{key}` is set up, and whoever \
             renews it need not restart anything"
        ));
    }
    let mut logins = Vec::new();
    for (key, entry) in config.auths {
        let hosts = hosts(&key)?;
        let login = entry.login().map_err(|why| format!("`{key}` in it {why}"))?;
        logins.extend(hosts.into_iter().map(|host| (host, login.clone())));
    }
    Ok(logins)
}

/// The hosts of a key: `host`, `host:port`, or an address as older tools wrote it.
fn hosts(key: &str) -> Result<Vec<Named>, String> {
    let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    if !matches!(path.trim_matches('/'), "" | "v1" | "v2") {
        return Err(format!("`{key}` in it has a path; a login is for a host, give `{host}`"));
    }
    let (names, meant) = DOCKER;
    let hosts = if names.contains(&host) { meant } else { &[host] };
    hosts.iter().map(|host| Named::parse(host).map_err(|_| format!("`{key}` in it is no host"))).collect()
}

impl Entry {
    fn login(self) -> Result<Login, &'static str> {
        if !self.identitytoken.is_empty() {
            return Ok(Login::Identity(Secret::new(&self.identitytoken)));
        }
        if !self.registrytoken.is_empty() {
            return Ok(Login::Bearer(Secret::new(&self.registrytoken)));
        }
        if self.auth.is_empty() && (self.username.is_empty() || self.password.is_empty()) {
            return Err("has no login: give `auth`, `username` and `password`, or `identitytoken`");
        }
        if self.auth.is_empty() {
            return Ok(Login::Basic { user: self.username, password: Secret::new(&self.password) });
        }
        let wrong = "has an `auth` that is not `USER:PASSWORD` in base64";
        let bytes = STANDARD.decode(self.auth.trim()).map_err(|_| wrong)?;
        let text = String::from_utf8(bytes).map_err(|_| wrong)?;
        let (user, password) = text.trim_end_matches('\0').split_once(':').ok_or(wrong)?;
        Ok(Login::Basic { user: user.to_string(), password: Secret::new(password) })
    }
}

/// A file with these logins, each a host and what stands there for it. It goes when it is dropped.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn written(entries: &[(&str, &str)]) -> tempfile::NamedTempFile {
    let entries: Vec<String> = entries.iter().map(|(host, entry)| format!("\"{host}\": {{{entry}}}")).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, format!("{{\"auths\": {{{}}}}}", entries.join(", "))).unwrap();
    file
}

/// The way out to a git server of tests, with its login, and to these hosts.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn net_to(server: &crate::git::testing::Server, hosts: &[String]) -> super::Net {
    let host = server.url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_string();
    let auth = STANDARD.encode(format!("{}:{}", server.user, crate::git::testing::TOKEN));
    // It is read again at each use.
    let (_, path) = written(&[(&host, &format!("\"auth\": \"{auth}\""))]).keep().unwrap();
    let allow = [&[host], hosts].concat();
    let settings =
        super::NetSettings { allow, logins: Logins::open(vec![path]).unwrap(), ..super::NetSettings::default() };
    super::Net::open(settings).unwrap()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(host: &str, entry: &str, address: &str) -> Option<Login> {
        let file = written(&[(host, entry)]);
        let logins = Logins::open(vec![file.path().to_path_buf()]).unwrap();
        logins.of(&Url::parse(address).unwrap()).unwrap().map(|found| {
            assert_eq!(found.file, file.path());
            found.login
        })
    }

    fn basic(user: &str, password: &str) -> Option<Login> {
        Some(Login::Basic { user: user.to_string(), password: Secret::new(password) })
    }

    #[test]
    fn each_form_that_docker_writes_is_read() {
        let secret = |text: &str| Secret::new(text);
        for (entry, login) in [
            (r#""auth": "bWU6cDp3""#, basic("me", "p:w")),
            (r#""username": "me", "password": "pw", "email": "me@a.example""#, basic("me", "pw")),
            (r#""auth": "bWU6", "identitytoken": "it""#, Some(Login::Identity(secret("it")))),
            (r#""registrytoken": "rt""#, Some(Login::Bearer(secret("rt")))),
        ] {
            assert_eq!(of("ghcr.io", entry, "https://ghcr.io/v2/"), login, "{entry}");
        }
    }

    #[test]
    fn a23_a_login_belongs_to_its_host() {
        let entry = r#""auth": "bWU6cHc=""#;
        for (key, its, others) in [
            ("registry.example:5000", &["https://registry.example:5000/v2/"][..], &["https://registry.example/"][..]),
            (
                "registry.example",
                &["https://registry.example/v2/", "http://registry.example/"],
                &["https://registry.example:5000/", "https://x.registry.example/", "https://registry.example.evil/"],
            ),
            ("https://registry.example/v2/", &["https://registry.example/"], &["https://evil/registry.example"]),
            (
                "https://index.docker.io/v1/",
                &["https://registry-1.docker.io/v2/", "https://auth.docker.io/token"],
                &["https://evil.docker.io/"],
            ),
        ] {
            for address in its {
                assert_eq!(of(key, entry, address), basic("me", "pw"), "{key}: {address}");
            }
            for address in others {
                assert_eq!(of(key, entry, address), None, "{key}: {address}");
            }
        }
    }

    #[test]
    fn a_file_is_read_as_it_is_now() {
        let file = written(&[("a.example", r#""auth": "bWU6b2xk""#)]);
        let logins = Logins::open(vec![file.path().to_path_buf()]).unwrap();
        let url = Url::parse("https://a.example/").unwrap();
        assert_eq!(logins.of(&url).unwrap().map(|found| found.login), basic("me", "old"));
        std::fs::copy(written(&[("a.example", r#""auth": "bWU6bmV3""#)]), &file).unwrap();
        assert_eq!(logins.of(&url).unwrap().map(|found| found.login), basic("me", "new"));
        std::fs::write(&file, "{").unwrap();
        let error = logins.of(&url).unwrap_err().to_string();
        assert!(error.contains("https://a.example/ is not asked") && error.contains("no docker config"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_its_text() {
        for (text, said) in [
            ("secret", "no docker config.json (line 1"),
            (r#"{"auths": {"a.example": "secret"}}"#, "no docker config.json (line 1"),
            (r#"{"auths": {}, "credsStore": "desktop"}"#, "`credsStore` names a program"),
            (r#"{"credHelpers": {"a.example": "ecr-login"}}"#, "`credHelpers` names a program"),
            (r#"{"auths": {"a.example": {}}}"#, "`a.example` in it has no login"),
            (r#"{"auths": {"a.example": {"auth": "c2VjcmV0"}}}"#, "not `USER:PASSWORD` in base64"),
            (r#"{"auths": {"a.example/team": {"auth": "bWU6cHc="}}}"#, "give `a.example`"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(said) && !error.contains("secret") && !error.contains("c2VjcmV0"), "{error}");
        }
        let error = Logins::open(vec!["/nowhere/config.json".into()]).unwrap_err().to_string();
        assert!(error.contains("--registries /nowhere/config.json") && error.contains("No such file"), "{error}");
    }
}
