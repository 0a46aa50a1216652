//! Where versions stand in the config repo, as the policy names it. What a file holds there is read beside this.

use decide::{ClusterName, TierName};
use serde::{Deserialize, Serialize};

/// Stands for the version in [`Scalar::value`].
pub const VERSION: &str = "{version}";
/// Stands for the organization of a cluster that is called `organization/name`.
pub const ORGANIZATION: &str = "{organization}";

/// One spot that holds a version. `{tier}` and `{cluster}` in `file`, in the path and in the document's name stand for
/// their names; where `{organization}` stands there, it and `{cluster}` stand for the two parts of the cluster's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file from the repository's root, with `{tier}`, `{cluster}` and `{organization}`.
    pub file: String,
    /// What the file is; none = as its name tells.
    pub format: Option<FileFormat>,
    /// Where in it; none = where the file itself says that the version of the plugin's chart stands.
    pub scalar: Option<Scalar>,
    /// The file of the repository from which the first one is made where there is none yet; none = nothing is made.
    pub template: Option<String>,
}

/// Where a version stands in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scalar {
    /// Which document of a file of several; needed when the path is found in more than one.
    pub document: Option<DocumentSelector>,
    /// The scalar, as an RFC 9535 JSONPath that names exactly one place.
    pub path: String,
    /// What stands around the version there, with `{version}`, and `{plugin}` as the plugin's name already;
    /// none = nothing.
    pub value: Option<String>,
}

/// Which format a file is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileFormat {
    /// YAML, and whatever else reads as such.
    Yaml,
    /// JSON, with comments or without.
    Json,
    /// TOML.
    Toml,
    /// HCL: Terraform and its variables.
    Hcl,
    /// Any text, by the comment `coldframe: <plugin>` on the line.
    Text,
}

impl FileFormat {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 5] =
        [("yaml", Self::Yaml), ("json", Self::Json), ("toml", Self::Toml), ("hcl", Self::Hcl), ("text", Self::Text)];

    /// The one that a file's name tells; YAML where it tells nothing.
    pub fn of(file: &str) -> Self {
        let name = file.rsplit('/').next().unwrap_or(file);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("json" | "jsonc" | "json5") => Self::Json,
            Some("toml") => Self::Toml,
            Some("tf" | "tfvars" | "hcl") => Self::Hcl,
            Some(_) | None => Self::Yaml,
        }
    }
}

impl Scalar {
    /// The text of the scalar for a version. Where a `v` stands before its place, its own is left out.
    pub fn spell(&self, version: &str) -> String {
        let Some((before, after)) = self.value.as_ref().and_then(|value| value.split_once(VERSION)) else {
            return version.to_string();
        };
        let version = if before.ends_with('v') { version.strip_prefix('v').unwrap_or(version) } else { version };
        format!("{before}{version}{after}")
    }

    /// The version in the text of the scalar; none where something else stands around it.
    pub fn version_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        let Some((before, after)) = self.value.as_ref().and_then(|value| value.split_once(VERSION)) else {
            return Some(text);
        };
        text.strip_prefix(before)?.strip_suffix(after)
    }
}

impl Write {
    /// What the file is.
    pub fn format(&self) -> FileFormat {
        self.format.unwrap_or_else(|| FileFormat::of(&self.file))
    }

    /// The file on a tier, for a cluster where there is one per cluster. Fails where the cluster's name lacks
    /// what the file asks for.
    pub fn file_of(&self, tier: &TierName, cluster: Option<&ClusterName>) -> Result<String, String> {
        filled(&self.file, tier, cluster)
    }

    /// The place in that file, where the policy names one. Fails as [`Self::file_of`] does, and for a name that would
    /// be read as something else within a path.
    pub fn scalar_of(&self, tier: &TierName, cluster: Option<&ClusterName>) -> Result<Option<Scalar>, String> {
        let Some(Scalar { document, path, value }) = &self.scalar else { return Ok(None) };
        let names = [Some(tier.as_str()), cluster.map(ClusterName::as_str)];
        let unquotable = |name: &&str| name.contains(['\'', '"', '\\']) || name.contains(char::is_control);
        if let Some(name) = names.into_iter().flatten().find(unquotable)
            && path.contains('{')
        {
            return Err(format!("the name {name:?} cannot stand in a path"));
        }
        let document = match document {
            Some(DocumentSelector { kind, name: Some(name) }) => {
                Some(DocumentSelector { kind: kind.clone(), name: Some(filled(name, tier, cluster)?) })
            }
            other => other.clone(),
        };
        Ok(Some(Scalar { document, path: filled(path, tier, cluster)?, value: value.clone() }))
    }

    /// The same for one file of its own: with what stands there in place of every placeholder of the place. Fails as
    /// [`Self::scalar_of`] does.
    pub fn of_one(&self, tier: &TierName, cluster: Option<&ClusterName>) -> Result<Self, String> {
        Ok(Self { scalar: self.scalar_of(tier, cluster)?, ..self.clone() })
    }

    /// Whether it has one place per cluster.
    pub fn per_cluster(&self) -> bool {
        self.names("{cluster}")
    }

    /// Whether it has one place per tier.
    pub fn per_tier(&self) -> bool {
        self.names("{tier}")
    }

    /// Whether a placeholder stands in the name of the file, in the path or in the name of the document.
    pub fn names(&self, placeholder: &str) -> bool {
        let scalar = self.scalar.as_ref();
        let document = scalar.and_then(|scalar| scalar.document.as_ref()).and_then(|document| document.name.as_ref());
        let texts = [Some(&self.file), scalar.map(|scalar| &scalar.path), document];
        texts.into_iter().flatten().any(|text| text.contains(placeholder))
    }
}

/// A text with the names in the place of their placeholders.
fn filled(text: &str, tier: &TierName, cluster: Option<&ClusterName>) -> Result<String, String> {
    let of_tier = text.replace("{tier}", tier.as_str());
    let Some(cluster) = cluster else { return Ok(of_tier) };
    if !of_tier.contains(ORGANIZATION) {
        return Ok(of_tier.replace("{cluster}", cluster.as_str()));
    }
    let Some((organization, name)) = cluster.as_str().split_once('/') else {
        return Err(format!("{cluster} is of no organization, which {ORGANIZATION} stands for"));
    };
    Ok(of_tier.replace(ORGANIZATION, organization).replace("{cluster}", name))
}

/// A document of a YAML file, by what every manifest carries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentSelector {
    /// Its `kind`.
    pub kind: String,
    /// Its `metadata.name`; none = any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Where a chart comes from, in one spelling: host and path of its repository and its name, without a scheme.
pub fn chart_address(repository: &str, chart: Option<&str>) -> String {
    let bare = repository.split_once("://").map_or(repository, |(_, rest)| rest);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    let parts = [host.to_ascii_lowercase(), path.to_string(), chart.unwrap_or_default().to_string()];
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_matches('/')).filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_spot_spells_a_version_and_reads_it_back() {
        let cases = [
            (None, "1.2.0", "1.2.0", "v1.2.0", Some("v1.2.0")),
            (Some("loki/{version}"), "1.2.0", "loki/1.2.0", "mimir/1.2.0", None),
            (Some("loki/{version}"), "v1.2.0", "loki/v1.2.0", "loki/1.2.0", Some("1.2.0")),
            (Some("v{version}"), "v1.2.0", "v1.2.0", "v1.2.0", Some("1.2.0")),
            (Some("v{version}"), "1.2.0", "v1.2.0", "1.2.0", None),
            (Some("{version}+x"), "1.2.0", "1.2.0+x", "1.2.0", None),
            (Some("aa{version}aa"), "1", "aa1aa", "aaa", None),
        ];
        for (value, version, spelled, text, held) in cases {
            let value = value.map(str::to_string);
            let scalar = Scalar { document: None, path: "$.x".into(), value };
            assert_eq!(scalar.spell(version), spelled, "{scalar:?}");
            assert_eq!(scalar.version_in(text), held, "{scalar:?}");
            assert!(scalar.version_in(spelled).is_some_and(|held| version.ends_with(held)), "{scalar:?}");
        }
    }

    #[test]
    fn a_file_is_one_clusters_own() {
        let file = |file: &str, cluster: &str| {
            let write = Write { file: file.into(), format: None, scalar: None, template: None };
            write.file_of(&"gold".into(), Some(&cluster.into()))
        };
        for (pattern, cluster, expected) in [
            ("{tier}/{cluster}/a.yaml", "eu-1", "gold/eu-1/a.yaml"),
            ("{tier}/{cluster}/a.yaml", "acme/eu-1", "gold/acme/eu-1/a.yaml"),
            ("{tier}/{organization}-{cluster}.yaml", "acme/eu-1", "gold/acme-eu-1.yaml"),
            ("{cluster}/{organization}.yaml", "acme/eu-1", "eu-1/acme.yaml"),
        ] {
            assert_eq!(file(pattern, cluster).as_deref(), Ok(expected), "{pattern}");
        }
        let why = file("{organization}/{cluster}.yaml", "eu-1").unwrap_err();
        assert_eq!(why, "eu-1 is of no organization, which {organization} stands for");
    }
}
