//! The names of cluster, organization and tier, and how they are put into a text or an address. Names that reach
//! the API of a cluster are filled in by `settings.rs`.

use parse::scalar::is_name;
use url::Url;

/// The names that placeholders stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The cluster's own name.
    pub cluster: String,
    /// What stands before it, where clusters are called `organization/cluster`.
    pub organization: Option<String>,
    /// The tier.
    pub tier: String,
}

impl Names {
    /// A text with the names filled in. They are plain words, so that no part of it can become another.
    ///
    /// # Errors
    /// Where one is missing, or no plain word.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = text.to_string();
        for (placeholder, name) in [
            ("{cluster}", Some(&self.cluster)),
            ("{organization}", self.organization.as_ref()),
            ("{tier}", Some(&self.tier)),
        ] {
            if !filled.contains(placeholder) {
                continue;
            }
            let name = name.ok_or_else(|| format!("`{placeholder}`, and this cluster has none"))?;
            if !is_name(name) {
                return Err(format!("{} in the place of `{placeholder}`", parse::quoted(name)));
            }
            filled = filled.replace(placeholder, name);
        }
        Ok(filled)
    }

    /// An address with the names filled in.
    ///
    /// # Errors
    /// As for a text, and where no address comes of it.
    pub(super) fn address(&self, text: &str) -> Result<Url, String> {
        let filled = self.fill(text)?;
        let url = Url::parse(&filled).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.fragment().is_some() {
            return Err("it is no address of a host".to_string());
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(cluster: &str) -> Names {
        Names { cluster: cluster.to_string(), organization: None, tier: "gold".to_string() }
    }

    #[test]
    fn names_stay_in_their_place() {
        let at = |text: &str, cluster: &str| names(cluster).address(text).map(|url| url.to_string());
        assert_eq!(at("https://{cluster}.example/{tier}", "eu-1").unwrap(), "https://eu-1.example/gold");
        for hostile in ["evil.example/", "a@evil", "a?x", "a#", "", "a.b", "%2f", "a:1"] {
            assert!(at("https://{cluster}.example", hostile).is_err(), "{hostile}");
        }
        assert!(at("https://{organization}.example", "eu-1").unwrap_err().contains("has none"));
        for no_address in ["ftp://a.example", "https:///", "x", "https://a.example/#x"] {
            assert!(at(no_address, "eu-1").is_err(), "{no_address}");
        }
    }
}
