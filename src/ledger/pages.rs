//! The files of the branch: a ledger as YAML that a person can read, and back. Nothing that this
//! program does not know is dropped in silence.

use std::collections::BTreeSet;

use decide::ledger::{Frozen, Outage, Rebuild, Stop};
use decide::{Ledger, PluginLedger, PluginName, Sha};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::LedgerError;
use crate::git::{FileChange, Store};

/// The number of the format that this program reads and writes.
pub(super) const FORMAT: u32 = 1;

const ROOT: &str = "ledger.yaml";
const README: &str = "README.md";
const README_TEXT: &str = include_str!("branch-readme.md");
const MAX_PAGE: usize = 16 << 20;
const MAX_ALL: usize = 256 << 20;

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outages: Vec<Outage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rebuilds: Vec<Rebuild>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    freezes: Vec<Frozen>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stops: Vec<Stop>,
}

/// Only the number, whatever else a newer format may hold.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The ledger at a commit of the branch.
pub(super) fn read(store: &Store, tip: &Sha) -> Result<Ledger, LedgerError> {
    let broken = |file: &str, why: &str| LedgerError::Broken { file: file.to_string(), why: why.to_string() };
    let Some(bytes) = store.read_up_to(tip, ROOT, MAX_PAGE)? else {
        return Err(broken(
            ROOT,
            "the file is absent, so this branch is not a ledger; rename the branch if it is yours",
        ));
    };
    let mut ledger = root(&bytes)?;
    let mut total = bytes.len();
    for path in store.list(tip, "plugins")?.into_iter().filter(|path| path.ends_with(".yaml")) {
        let bytes = store.read_up_to(tip, &path, MAX_PAGE)?.unwrap_or_default();
        total += bytes.len();
        if total > MAX_ALL {
            return Err(broken(
                &path,
                "the pages together are larger than is read; take old plugins' pages off the branch",
            ));
        }
        ledger.plugins.extend(page(&path, &bytes)?);
    }
    Ok(ledger)
}

/// The ledger without its plugins, as `ledger.yaml` has it.
///
/// # Errors
/// Where it is of another format, or holds what is not known here.
pub fn root(bytes: &[u8]) -> Result<Ledger, LedgerError> {
    let Format { format } = parse(ROOT, bytes)?;
    if format != FORMAT {
        return Err(LedgerError::Format { found: format, known: FORMAT });
    }
    let Root { outages, rebuilds, freezes, stops, .. } = parse(ROOT, bytes)?;
    Ok(Ledger { outages, rebuilds, freezes, stops, ..Ledger::default() })
}

/// One plugin's page, `plugins/NAME.yaml`; none where the file is called otherwise.
///
/// # Errors
/// Where no plugin can have that name, or the page holds what is not known here.
pub fn page(path: &str, bytes: &[u8]) -> Result<Option<(PluginName, PluginLedger)>, LedgerError> {
    let Some(name) = path.strip_prefix("plugins/").and_then(|file| file.strip_suffix(".yaml")) else { return Ok(None) };
    let name = checked(&PluginName::new(name))?;
    Ok(Some((name, parse(path, bytes)?)))
}

/// The page for people, unless the branch has it as it is now.
pub(super) fn readme(store: &Store, tip: Option<&Sha>) -> Result<Option<FileChange>, LedgerError> {
    let present = tip.map(|tip| store.read(tip, README)).transpose()?.flatten();
    let stale = present.as_deref() != Some(README_TEXT.as_bytes());
    Ok(stale.then(|| (README.to_string(), Some(README_TEXT.as_bytes().to_vec()))))
}

/// The pages that differ between two ledgers, as a commit takes them. `begin` also writes what every
/// branch has.
///
/// # Errors
/// Where it cannot be written, such as a page that would be too large.
pub fn changed(old: &Ledger, new: &Ledger, begin: bool) -> Result<Vec<FileChange>, LedgerError> {
    let mut files = Vec::new();
    let root_of = |ledger: &Ledger| Root {
        format: FORMAT,
        outages: ledger.outages.clone(),
        rebuilds: ledger.rebuilds.clone(),
        freezes: ledger.freezes.clone(),
        stops: ledger.stops.clone(),
    };
    if begin || root_of(old) != root_of(new) {
        let root = root_of(new);
        files.push((ROOT.to_string(), Some(text(ROOT, "The ledger of Coldframe; README.md explains it.", &root)?)));
    }
    let names: BTreeSet<&PluginName> = old.plugins.keys().chain(new.plugins.keys()).collect();
    for name in names {
        let (before, after) = (old.plugins.get(name), new.plugins.get(name));
        if before != after {
            let path = format!("plugins/{}.yaml", checked(name)?);
            let about = format!("What Coldframe remembers of {name}; README.md explains it.");
            let page = after.map(|page: &PluginLedger| text(&path, &about, page)).transpose()?;
            files.push((path, page));
        }
    }
    Ok(files)
}

fn text<T: Serialize>(file: &str, about: &str, value: &T) -> Result<Vec<u8>, LedgerError> {
    let broken = |why: String| LedgerError::Broken { file: file.to_string(), why };
    let yaml = serde_yaml::to_string(value).map_err(|error| broken(format!("it cannot be written: {error}")))?;
    if yaml.len() > MAX_PAGE {
        return Err(broken(format!("it would have {} bytes; {MAX_PAGE} are the most", yaml.len())));
    }
    Ok(format!("# {about}\n{yaml}").into_bytes())
}

fn parse<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T, LedgerError> {
    serde_yaml::from_slice(bytes)
        .map_err(|error| LedgerError::Broken { file: file.to_string(), why: error.to_string() })
}

/// A name that is safe as the name of a file.
fn checked(name: &PluginName) -> Result<PluginName, LedgerError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let text = name.as_str();
    if text.is_empty() || text.len() > 63 || !text.chars().all(plain) {
        let why =
            "a plugin's name has 1 to 63 of a-z, 0-9 and `-`, and its page lies right below `plugins`".to_string();
        return Err(LedgerError::Broken { file: format!("plugins/{text}.yaml"), why });
    }
    Ok(name.clone())
}
