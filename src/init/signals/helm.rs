//! Releases that Helm itself installs: the record that Helm keeps of one. What files say of them is in `installed`.

use std::collections::BTreeSet;

use super::line::{Line, Said, UNKNOWN};
use crate::init::plugins::Plugin;
use crate::init::sight::{Installed, Sight};

/// Where Helm puts what no file puts anywhere, unless whoever calls it says otherwise.
const UNSAID: &str = "default";

/// The record that Helm keeps of this release. K3s puts a HelmChart without `targetNamespace` where the HelmChart is.
pub(super) fn secret(sight: &Sight, said: &Said<'_>) -> Option<Line> {
    let Said { survey, ladder, applied } = said;
    let Installed { namespace, name } = sight.helm.as_ref()?;
    let file = sight.of.as_ref().unwrap_or(&sight.file);
    let filled = |text: &String| ladder.general(&survey.flux.filled(text, file, applied), &sight.file);
    let (names, own) = match &sight.found.object {
        Some(object) => (applied.names(file, object), applied.namespaces(file, object)),
        None => (BTreeSet::from([name.clone()]), BTreeSet::new()),
    };
    let spaces: BTreeSet<String> = namespace.as_ref().map_or(own, |one| [one.clone()].into());
    let (names, spaces): (BTreeSet<String>, BTreeSet<String>) =
        (names.iter().map(filled).collect(), spaces.iter().map(filled).collect());
    let name = names.first().cloned().unwrap_or_else(|| filled(name));
    let line = Line::helm_secret(spaces.first().map_or(UNSAID, String::as_str), &name);
    Some(match (names.len(), spaces.len()) {
        (1, 1) => line,
        (1, 0) => line.but("no file says its namespace".to_string()),
        _ => line.but(UNKNOWN.to_string()),
    })
}

/// The record of a release that no file names.
pub(super) fn guessed(plugin: &Plugin) -> Line {
    let inflated = |sight: &Sight| sight.found.kind == "chart of a Kustomization";
    let line = Line::helm_secret(&plugin.name, &plugin.name);
    if plugin.sights.iter().all(inflated) {
        return line.but("Kustomize leaves no release of Helm; ask a `workload` instead".to_string());
    }
    line.but(UNKNOWN.to_string())
}
