//! Which repositories of the hub a chart comes from: whoever releases there rings for it. A name too many costs a
//! question, one too few is found at the next one anyway.

use std::collections::BTreeSet;

use url::Url;

use super::released::repository_in;
use crate::hub::RepoHub;
use crate::observe::context::SourceMemory;
use crate::policy::wiring::{Chart, PluginWiring};

/// Where GitHub serves the pages of `owner/name`: at `owner.github.io/name`.
const PAGES: &str = ".github.io";

/// Repositories, as `owner/name`, and packages by their path, in lower case: those of the address, those that the
/// newest version names, and the one that the policy names for checks.
pub fn of(hub: &RepoHub, wiring: &PluginWiring, memory: &SourceMemory) -> BTreeSet<String> {
    let newest = memory.said.iter().flat_map(|found| found.values().next_back());
    let named = newest.flat_map(|found| &found.origin.sources).filter_map(|source| {
        let url = Url::parse(source.strip_prefix("git+").unwrap_or(source)).ok()?;
        if hub.is_at(&url) { repository_in(&url) } else { None }
    });
    let all = of_address(&wiring.chart).into_iter().chain(named).chain(wiring.released.from.clone());
    all.map(|name| name.to_lowercase()).collect()
}

fn of_address(chart: &Chart) -> Vec<String> {
    match chart {
        Chart::Http { repository, name } => {
            // By the last part of its address a registry of packages calls it.
            let part = repository.trim_end_matches('/').rsplit('/').next().map(|last| format!("{last}/{name}"));
            Url::parse(repository).ok().and_then(|url| served(&url)).into_iter().chain(part).collect()
        }
        Chart::Catalog { repository, .. } | Chart::Git { repository, .. } => {
            Url::parse(repository).ok().and_then(|url| repository_in(&url)).into_iter().collect()
        }
        Chart::Oci { reference, .. } => {
            let path = reference.split_once('/').map_or("", |(_, path)| path);
            let mut parts = path.split('/');
            let repository = parts.next().zip(parts.next()).map(|(owner, name)| format!("{owner}/{name}"));
            std::iter::once(path.to_string()).chain(repository).collect()
        }
    }
}

/// The repository that is served at an address.
fn served(url: &Url) -> Option<String> {
    let Some(owner) = url.host_str().and_then(|host| host.strip_suffix(PAGES)) else { return repository_in(url) };
    let name = url.path_segments()?.find(|part| !part.is_empty());
    Some(format!("{owner}/{}", name.map_or_else(|| format!("{owner}{PAGES}"), str::to_string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whose_it_is() {
        let http = |repository: &str| Chart::Http { repository: repository.into(), name: "loki".into() };
        let oci = |reference: &str| Chart::Oci { reference: reference.into(), plain: false };
        let catalog = |repository: &str| Chart::Catalog { repository: repository.into(), path: "loki/x.yaml".into() };
        let git =
            |repository: &str| Chart::Git { repository: repository.into(), tag: "v{version}".into(), folder: None };
        for (chart, names) in [
            (http("https://acme.github.io/charts"), &["acme/charts", "charts/loki"][..]),
            (http("https://acme.github.io/"), &["acme/acme.github.io", "acme.github.io/loki"]),
            (http("https://raw.githubusercontent.com/acme/charts/gh-pages/"), &["acme/charts", "gh-pages/loki"]),
            (http("https://github.com/acme/charts.git"), &["acme/charts", "charts.git/loki"]),
            (http("https://art.example/artifactory/helm-local"), &["artifactory/helm-local", "helm-local/loki"]),
            (http("https://charts.example/"), &["charts.example/loki"]),
            (oci("ghcr.io/acme/charts/loki"), &["acme/charts/loki", "acme/charts"]),
            (oci("ghcr.io/acme/loki"), &["acme/loki", "acme/loki"]),
            (catalog("https://github.com/acme/extensions.git"), &["acme/extensions"]),
            (git("https://github.com/acme/modules"), &["acme/modules"]),
        ] {
            assert_eq!(of_address(&chart), names, "{chart:?}");
        }
    }
}
