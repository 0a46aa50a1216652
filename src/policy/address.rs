//! Where charts are: addresses of registries and repositories. They come from a file that many
//! people may edit, so what they may name is checked before anything is asked.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::wiring::Chart;
use parse::address::{MAX_ADDRESS, host};
use parse::path;
use parse::problem::quoted;
use parse::read::FromNode;
use parse::report::Report;
use parse::scalar::{Refusal, scalar};
use parse::tree::Node;

scalar!(
    /// A repository of an OCI registry.
    OciAddress(Chart), "an address such as `oci://registry.example/charts/loki`", oci,
    {"type": "string", "pattern": "^oci(\\+http)?://", "examples": ["oci://registry.example/charts/cert-manager"]}
);
scalar!(
    /// The base of a chart repository.
    Repository(String), "an address such as `https://charts.example`", repository,
    {"type": "string", "pattern": "^https?://", "examples": ["https://charts.example"]}
);
scalar!(
    /// The name of a chart in a repository.
    ChartName(String), "the name of a chart", chart_name,
    {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,250}$"}
);
scalar!(
    /// The file of a definition in a catalog.
    DefinitionPath(String), "a file such as `perses/plugindefinition.yaml`", definition_path,
    {"type": "string", "maxLength": 500, "examples": ["perses/plugindefinition.yaml"]}
);

scalar!(
    /// The folder of a chart in a repository.
    FolderPath(String), "a folder such as `charts/loki`", folder_path,
    {"type": "string", "maxLength": 500, "examples": ["charts/loki"]}
);

scalar!(
    /// Public keys as PEM.
    PublicKeys(String), "a public key as PEM", public_keys,
    {"type": "string", "pattern": "BEGIN PUBLIC KEY", "maxLength": 20000}
);

scalar!(
    /// OpenPGP keys.
    OpenPgpKeys(String), "an OpenPGP key", openpgp_keys,
    {"type": "string", "pattern": "BEGIN PGP PUBLIC KEY BLOCK", "maxLength": 100000}
);

scalar!(
    /// Whom a certificate of a signer names.
    Identity(String), "an identity such as `https://github.com/acme/charts/.github/workflows/release.yaml@refs/heads/main`", identity,
    {"type": "string", "maxLength": 1000,
     "examples": ["https://github.com/acme/charts/.github/workflows/release.yaml@refs/tags/v{version}"],
     "description": "Compared letter by letter; `{version}` stands for the version of the chart without a leading `v`, `{plugin}` for the name of the plugin."}
);

scalar!(
    /// Who vouches for an identity.
    Issuer(String), "an address such as `https://token.actions.githubusercontent.com`", issuer,
    {"type": "string", "pattern": "^https://", "maxLength": 500, "examples": ["https://token.actions.githubusercontent.com"]}
);

scalar!(
    /// A repository at the hub.
    HubRepository(String), "a repository of the hub such as `acme/charts`", hub_repository,
    {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$", "examples": ["acme/charts"]}
);
scalar!(
    /// The name of a tag, with a place for the version.
    TagPattern(String), "a tag such as `v{version}`", tag_pattern,
    {"type": "string", "maxLength": 200, "examples": ["v{version}", "{plugin}-{version}"],
     "description": "`{version}` stands for the version without a leading `v`, `{plugin}` for the name of the plugin."}
);

/// An OCI repository: `oci://registry.example/charts/loki`; `oci+http://` for loopback only.
fn oci(text: &str) -> Result<Chart, Refusal> {
    let form = "write it like `oci://registry.example/charts/cert-manager`";
    let (rest, plain) = match (text.strip_prefix("oci://"), text.strip_prefix("oci+http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return Err(Refusal::new(format!("{} is not an OCI address", quoted(text))).help(form)),
    };
    let scheme = if plain { "http" } else { "https" };
    let host = host(&format!("{scheme}://{rest}"), text, form)?;
    if plain && !is_loopback(&host) {
        return Err(not_loopback(text, &host).help("write `oci://`"));
    }
    let (authority, repository) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some((name, reference)) = repository.split_once(['@', ':']) {
        return Err(Refusal::new(format!("the address names a version ({})", quoted(reference))).help(format!(
            "write `oci://{authority}/{name}`; which versions are accepted stands in `versions: {{constraint: …}}`"
        )));
    }
    let plain_byte = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let good = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|byte| plain_byte(byte) || b"._-".contains(byte))
            && bytes.first().is_some_and(plain_byte)
            && bytes.last().is_some_and(plain_byte)
    };
    if repository.is_empty() || text.len() > MAX_ADDRESS || !repository.split('/').all(good) {
        return Err(Refusal::new(format!("{} names no repository of the registry", quoted(text))).help(form));
    }
    Ok(Chart::Oci { reference: rest.to_string(), plain })
}

/// A chart repository with an `index.yaml`; `http://` for loopback only.
fn repository(text: &str) -> Result<String, Refusal> {
    let form = "write it like `https://charts.example`";
    let plain = text.starts_with("http://");
    if !plain && !text.starts_with("https://") {
        let help = if text.starts_with("oci://") { "write `oci:` instead of `repository:` and `name:`" } else { form };
        return Err(Refusal::new(format!("{} is not an https address", quoted(text))).help(help));
    }
    let host = host(text, text, form)?;
    if plain && !is_loopback(&host) {
        return Err(not_loopback(text, &host).help("write `https://`"));
    }
    Ok(text.trim_end_matches('/').to_string())
}

fn not_loopback(text: &str, host: &str) -> Refusal {
    Refusal::new(format!("{}: plain HTTP is for loopback only, and {} is another machine", quoted(text), quoted(host)))
}

/// Whether a host is this machine by its name alone: nothing is resolved.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost"
        || bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// The name of a chart in a repository.
fn chart_name(text: &str) -> Result<String, Refusal> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=250).contains(&text.len()) && text.bytes().all(good) && !matches!(text, "." | "..") {
        return Ok(text.to_string());
    }
    Err(Refusal::new(format!("{} is not the name of a chart", quoted(text))).help("letters, digits, `-`, `_` and `.`"))
}

/// The chart that a definition names by its repository and name, which are a stranger's words.
///
/// # Errors
/// Says what is wrong with which of them.
pub fn defined_chart(address: &str, name: &str) -> Result<Chart, String> {
    let words = |refusal: Refusal| refusal.why;
    let name = chart_name(name).map_err(words)?;
    if address.starts_with("oci") {
        return oci(&format!("{}/{name}", address.trim_end_matches('/'))).map_err(words);
    }
    Ok(Chart::Http { repository: repository(address).map_err(words)?, name })
}

/// The file of a definition: it lies in a folder of its own, which names the plugin.
fn definition_path(text: &str) -> Result<String, Refusal> {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(|c| c.is_control() || c == '\\');
    let yaml = [".yaml", ".yml"].iter().any(|end| text.ends_with(end));
    if text.len() > 500 || !yaml || !text.contains('/') || !text.split('/').all(part) {
        return Err(Refusal::new(format!("{} is not the file of a definition", quoted(text)))
            .help("write its path from the root of the catalog, such as `perses/plugindefinition.yaml`"));
    }
    Ok(text.to_string())
}

/// Blocks of PEM, each a public key.
fn public_keys(text: &str) -> Result<String, Refusal> {
    const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
    const END: &str = "-----END PUBLIC KEY-----";
    if text.contains("PRIVATE KEY") {
        let why = "a private key stands here, and everybody who may read this file has it now";
        return Err(Refusal::new(why).help("replace it, and write the public one, as in cosign.pub"));
    }
    let base64 = |body: &str| body.chars().all(|c| c.is_ascii_alphanumeric() || c.is_whitespace() || "+/=".contains(c));
    let block = |block: &str| {
        block
            .split_once(END)
            .is_some_and(|(body, rest)| !body.trim().is_empty() && base64(body) && rest.trim().is_empty())
    };
    let mut blocks = text.split(BEGIN);
    let before = blocks.next().is_some_and(|before| before.trim().is_empty());
    let blocks: Vec<&str> = blocks.collect();
    if !before || blocks.is_empty() || text.len() > 20_000 || !blocks.into_iter().all(block) {
        let why = format!("this is no public key as PEM, from `{BEGIN}` to `{END}`");
        return Err(Refusal::new(why).help("write what is in cosign.pub, as a text of several lines (`cosign: |`)"));
    }
    Ok(text.to_string())
}

/// Keys whose signatures can be verified.
fn openpgp_keys(text: &str) -> Result<String, Refusal> {
    let help = match openpgp::certificates(text) {
        Ok(_) if text.len() <= 100_000 => return Ok(text.to_string()),
        Ok(_) => Refusal::new("it is longer than 100,000 characters")
            .help("export it with `--export-options export-minimal`"),
        Err(why @ openpgp::Refusal::Private) => {
            Refusal::new(why.to_string()).help("revoke it, and write the public part of a new one")
        }
        Err(why @ openpgp::Refusal::Unusable(_)) => {
            Refusal::new(why.to_string()).help("sign with a key of `gpg --quick-generate-key NAME rsa4096 sign`")
        }
        Err(why) => Refusal::new(format!("this is no OpenPGP key: {why}"))
            .help("write what `gpg --armor --export NAME` prints, as a text of several lines (`pgp: |`)"),
    };
    Err(help)
}

/// What is compared letter by letter: a pattern would be one that nothing matches.
fn identity(text: &str) -> Result<String, Refusal> {
    if text.contains(['*', '^', '$', '\\']) {
        return Err(Refusal::new(format!(
            "{} is a pattern, and an identity is compared letter by letter",
            quoted(text)
        ))
        .help("write it as the certificate has it; `{version}` stands for the version of the chart"));
    }
    let left = text.replace("{version}", "").replace("{plugin}", "");
    if left.contains(['{', '}']) || text.chars().any(|c| c.is_control() || c.is_whitespace()) || text.len() > 1000 {
        let why = format!("{} is no identity of a certificate", quoted(text));
        return Err(Refusal::new(why).help(
            "such as `https://github.com/acme/charts/.github/workflows/release.yaml@refs/heads/main` or a mail address",
        ));
    }
    // Anybody could be behind what is empty but for the version.
    if !left.contains('@') && !left.contains("://") {
        return Err(Refusal::new(format!("{} names neither a workflow nor a mail address", quoted(text)))
            .help("write what `cosign verify --certificate-identity` would be given"));
    }
    Ok(text.to_string())
}

/// The issuer as a certificate has it.
fn issuer(text: &str) -> Result<String, Refusal> {
    let form = "write its address, such as `https://token.actions.githubusercontent.com` for GitHub's workflows";
    let plain = text.len() <= 500 && !text.contains(['*', '\\']) && !text.chars().any(char::is_whitespace);
    if !plain || !text.starts_with("https://") || host(text, text, form).is_err() {
        return Err(Refusal::new(format!("{} is no issuer", quoted(text))).help(form));
    }
    Ok(text.to_string())
}

/// A folder from the root of a repository.
fn folder_path(text: &str) -> Result<String, Refusal> {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(|c| c.is_control() || c == '\\');
    let plain = text.trim_end_matches('/');
    if text.len() > 500 || !plain.split('/').all(part) {
        return Err(Refusal::new(format!("{} is not a folder of a repository", quoted(text)))
            .help("write its path from the root of the repository, such as `charts/loki`"));
    }
    Ok(plain.to_string())
}

/// A repository of the hub by owner and name: the hub itself is the operator's.
fn hub_repository(text: &str) -> Result<String, Refusal> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let named = |part: &str| (1..=100).contains(&part.len()) && part.bytes().all(good) && !matches!(part, "." | "..");
    match text.split_once('/') {
        Some((owner, name)) if named(owner) && named(name) => Ok(text.to_string()),
        _ => Err(Refusal::new(format!("{} is not `owner/name`", quoted(text)))
            .help("write it like `acme/charts`; it is a repository of the hub that this file lies on")),
    }
}

/// A tag of each version. What git refuses in the name of a tag is refused here.
fn tag_pattern(text: &str) -> Result<String, Refusal> {
    path::placeholders(text, &["version", "plugin"])?;
    if !text.contains("{version}") {
        let why = format!("{} names one tag for all versions", quoted(text));
        return Err(Refusal::new(why).help("put `{version}` in it, such as `v{version}`"));
    }
    let plain = text.replace("{version}", "1.0.0").replace("{plugin}", "x");
    let good = |c: char| c.is_ascii_graphic() && !"~^:?*[\\".contains(c);
    let part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock");
    if plain.len() > 200 || plain.contains("..") || !plain.chars().all(good) || !plain.split('/').all(part) {
        return Err(
            Refusal::new(format!("{} cannot be the name of a tag", quoted(text))).help("write it like `v{version}`")
        );
    }
    Ok(text.to_string())
}
