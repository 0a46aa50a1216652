//! Addresses that are asked over HTTP. They come from a file that many people may edit, so what they may name is
//! checked before anything is asked. Where charts are is in `policy/address`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::path;
use super::problem::quoted;
use super::read::FromNode;
use super::report::Report;
use super::scalar::{Refusal, scalar};
use super::tree::Node;

/// Longer addresses are nobody's.
pub const MAX_ADDRESS: usize = 512;

scalar!(
    /// What is asked over HTTP about a cluster.
    Address(String), "an address such as `https://prom.example`", address,
    {"type": "string", "pattern": "^https?://", "maxLength": 512, "examples": ["https://prom.example", "https://{cluster}.example/status"],
     "description": "`{cluster}`, `{organization}` and `{tier}` stand for their names."}
);

/// An address that is asked over HTTP; whether plain HTTP and private hosts are, the operator says.
fn address(text: &str) -> Result<String, Refusal> {
    let names = ["cluster", "tier", "organization"];
    path::placeholders(text, &names)?;
    let form = "write it like `https://prom.example`";
    let mut plain = text.to_string();
    names.iter().for_each(|name| plain = plain.replace(&format!("{{{name}}}"), "x"));
    if text.len() > MAX_ADDRESS || !(plain.starts_with("https://") || plain.starts_with("http://")) {
        return Err(Refusal::new(format!("{} is not an https address", quoted(text))).help(form));
    }
    let bare = plain.split_once('?').map_or(plain.as_str(), |(bare, _)| bare);
    host(bare, text, form)?;
    if plain.contains('#') {
        return Err(Refusal::new(format!("{} carries a fragment", quoted(text))).help(form));
    }
    Ok(text.to_string())
}

/// The host of an address that carries nothing but host, port and path.
pub fn host(address: &str, text: &str, form: &str) -> Result<String, Refusal> {
    let refuse = |why: &str| Refusal::new(format!("{} {why}", quoted(text)));
    if let Some(marker) = ["{{", "}}", "${"].into_iter().find(|marker| text.contains(marker)) {
        return Err(refuse(&format!("holds `{marker}`, which nothing fills in here")).help(form));
    }
    // An address is asked as it is written; reading one would take these out.
    if address.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(refuse("has `.` or `..` in its path").help("write the path that is meant"));
    }
    let url = url::Url::parse(address).map_err(|error| refuse(&format!("is not an address ({error})")).help(form))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            refuse("carries credentials").help("take them out; the operator's settings hold credentials by name")
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("carries a query or a fragment").help(form));
    }
    url.host_str().map(str::to_string).ok_or_else(|| refuse("names no host").help(form))
}
