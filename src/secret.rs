//! Where the operator keeps the texts that must not be seen, and that a policy file calls by name.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
pub use kubeconfig::Secret;

/// The longest secret that is read from a file.
const LONGEST: u64 = 64 << 10;

/// What stands before the names of secrets in the environment.
const PREFIX: &str = "COLDFRAME_SECRET_";

/// The secrets that the operator gives to repositories. A repository's file says names; which of them it
/// may use says the operator alone.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Holds `<id of the repository>/<NAME>`.
    folder: Option<PathBuf>,
    /// Whether `COLDFRAME_SECRET_<NAME>` is looked at too: where one process serves one repository, whose
    /// own workflow set it.
    environment: bool,
}

impl Secrets {
    /// Secrets of a folder, and of the environment where only one repository is looked after.
    pub fn new(folder: Option<PathBuf>, environment: bool) -> Self {
        Self { folder, environment }
    }

    /// One secret of a repository. `name` is one that the policy's reader has checked.
    ///
    /// # Errors
    /// Says what the operator has to do.
    pub fn get(&self, repository: u64, name: &str) -> Result<Secret, String> {
        if self.environment
            && let Ok(text) = std::env::var(format!("{PREFIX}{name}"))
            && !text.trim().is_empty()
        {
            return Ok(Secret::new(&text));
        }
        let ways = match (&self.folder, self.environment) {
            (Some(folder), _) => {
                let file = folder.join(repository.to_string()).join(name);
                match read(&file) {
                    Ok(Some(text)) => return Ok(Secret::new(&text)),
                    Ok(None) => format!("put it into {}", file.display()),
                    Err(error) => return Err(format!("the secret {name} in {}: {error}", file.display())),
                }
            }
            (None, true) => format!("set {PREFIX}{name} in the environment"),
            (None, false) => format!("give --secrets FOLDER, with {repository}/{name} in it"),
        };
        Err(format!("the operator of the bot gives this repository no secret {name}: {ways}"))
    }
}

/// A text that nobody can guess, of letters that stand anywhere; none where this machine gives no randomness.
pub fn random() -> Option<String> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// A token that the operator keeps apart from the connection that it is for: in a file of this name beside it, or in
/// the environment, where the name can stand there.
///
/// # Errors
/// Says what the operator has to do.
pub fn beside(folder: &Path, name: &str) -> Result<Secret, String> {
    if let Some(text) = file_of(folder, name, "tokenFile")? {
        return Ok(text);
    }
    let variable = format!("{PREFIX}{name}");
    let text = if name.contains(['-', '.']) { None } else { std::env::var(&variable).ok() };
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(|text| Secret::new(&text))
        .ok_or_else(|| format!("there is no {name} beside it, or it is empty; nor is {variable} in the environment"))
}

/// What a file beside a connection holds that it names at this key.
///
/// # Errors
/// Says what the operator has to do.
pub fn file_beside(folder: &Path, name: &str, key: &str) -> Result<Secret, String> {
    file_of(folder, name, key)?.ok_or_else(|| format!("there is no {name} beside it, or it is empty"))
}

fn file_of(folder: &Path, name: &str, key: &str) -> Result<Option<Secret>, String> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if name.starts_with('.') || name.is_empty() || !name.bytes().all(plain) {
        return Err(format!("`{key}` is the name of a file beside it, without a folder"));
    }
    match read(&folder.join(name)) {
        Ok(text) => Ok(text.map(|text| Secret::new(&text))),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

fn read(file: &Path) -> std::io::Result<Option<String>> {
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    opened.take(LONGEST).read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}
