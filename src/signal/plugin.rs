//! Greenhouse `Plugin` (greenhouse, `internal/controller/plugin`). Its status is written from a cache and without
//! a generation: it can say the new version and Ready for a moment while the old release runs. So its
//! definition, its HelmRelease and its Cluster, which lie beside it in the same hub, have to agree.

use decide::Version;
use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::helm_release;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Condition, Object, Verdict, later, told};
use super::settings::{self, NAME, NAMESPACE, Settings, SignalError, optional};
use super::target::{Api, Target};
use parse::read::{Form, Key, Shape};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "plugin",
    shape: Shape {
        what: "plugin signal",
        keys: &[NAMESPACE, NAME, CATALOG, RELEASES],
        unsupported: &[],
        about: &["Greenhouse: a Plugin of `greenhouse.sap/v1alpha1` in the hub."],
    },
    proves: Proves::Version,
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| Ok(Box::new(Single(Plugin::new(settings, settings.required("name")?)?)))),
};

/// The catalog that the definition comes from.
pub(super) const CATALOG: Key = optional(
    "catalog",
    Form::ObjectName,
    &["The Catalog that its definition comes from: what that has not landed is not healthy. Default none is asked."],
);
/// Which of the two numbers a release is.
pub(super) const RELEASES: Key = optional(
    "releases",
    Form::OneOf(&[("definition", "The version of the PluginDefinition."), ("chart", "The version of its Helm chart.")]),
    &["Which version the releases of this plugin are. Default `definition`."],
);

pub(super) const PLUGIN: Api = Api { group: "greenhouse.sap", version: "v1alpha1", kind: "Plugin", plural: "plugins" };
const DEFINITION: Api =
    Api { group: "greenhouse.sap", version: "v1alpha1", kind: "PluginDefinition", plural: "plugindefinitions" };
const CLUSTER_DEFINITION: Api = Api {
    group: "greenhouse.sap",
    version: "v1alpha1",
    kind: "ClusterPluginDefinition",
    plural: "clusterplugindefinitions",
};
const CLUSTER: Api = Api { group: "greenhouse.sap", version: "v1alpha1", kind: "Cluster", plural: "clusters" };
const CATALOGS: Api = Api { group: "greenhouse.sap", version: "v1alpha1", kind: "Catalog", plural: "catalogs" };

/// Where Greenhouse keeps its conditions.
const CONDITIONS: &str = "/status/statusConditions/conditions";
/// Why a HelmRelease could not be written that is the release's own fault.
const BAD_RELEASE: [&str; 5] = [
    "PluginHelmTemplateFailed",
    "OptionValueResolutionFailed",
    "PluginOptionValueInvalid",
    "FluxHelmReleaseConfigInvalid",
    "ImageReplicationFailed",
];

/// A Plugin and what lies beside it.
pub(super) struct Plugin {
    namespace: String,
    name: String,
    catalog: Option<String>,
    by_chart: bool,
}

/// Asked for by its own name.
struct Single(Plugin);

impl Signal for Single {
    fn target(&self) -> Target {
        self.0.target()
    }

    fn more(&self, object: &Value) -> Vec<Target> {
        self.0.more(Object(object))
    }

    fn around(&self) -> Vec<Target> {
        self.0.around()
    }

    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict {
        self.0.judge(Object(object), more)
    }
}

impl Plugin {
    pub fn new(settings: &Settings<'_>, name: String) -> Result<Self, SignalError> {
        let (namespace, catalog) = (settings.required("namespace")?, settings.name("catalog")?);
        Ok(Self { namespace, name, catalog, by_chart: settings.text("releases") == Some("chart") })
    }

    pub fn target(&self) -> Target {
        PLUGIN.named(Some(self.namespace.clone()), self.name.clone())
    }

    /// Its definition, its HelmRelease, its cluster, its catalog.
    pub fn more(&self, plugin: Object<'_>) -> Vec<Target> {
        let here = || Some(self.namespace.clone());
        let named = |name: Option<&str>| name.and_then(|name| settings::name("name", name.to_string()).ok());
        let (Some(definition), Some(cluster)) =
            (named(plugin.text("/spec/pluginDefinitionRef/name")), named(plugin.text("/spec/clusterName")))
        else {
            return Vec::new();
        };
        let definition = match plugin.text("/spec/pluginDefinitionRef/kind") {
            Some("PluginDefinition") => DEFINITION.named(here(), definition),
            _ => CLUSTER_DEFINITION.named(None, definition),
        };
        let mut all =
            vec![definition, helm_release::API.named(here(), self.name.clone()), CLUSTER.named(here(), cluster)];
        all.extend(self.catalog.as_ref().map(|catalog| CATALOGS.named(here(), catalog.clone())));
        all
    }

    /// Where these can be.
    pub fn around(&self) -> Vec<Target> {
        let here = || Some(self.namespace.clone());
        let release = helm_release::API.named(here(), self.name.clone());
        let mut all = vec![DEFINITION.all(here()), CLUSTER_DEFINITION.all(None), release, CLUSTER.all(here())];
        all.extend(self.catalog.as_ref().map(|catalog| CATALOGS.named(here(), catalog.clone())));
        all
    }

    pub fn judge(&self, plugin: Object<'_>, more: &[Option<Value>]) -> Verdict {
        let (definition, release, cluster) = match more {
            [definition, release, cluster, ..] => (definition, release, cluster),
            _ => return Verdict::unknown("spec.pluginDefinitionRef or spec.clusterName is missing"),
        };
        let Some(definition) = definition.as_ref().map(Object) else {
            return Verdict::unknown("its definition is not there");
        };
        let release = release.as_ref().map(Object);
        let mut verdict = self.state(plugin, definition, release, cluster.as_ref().map(Object));
        let wanted = definition.text("/spec/version").and_then(version);
        let chart = definition.text("/spec/helmChart/version").and_then(version);
        let deployed = release.map(helm_release::verdict);
        verdict.attempted = if self.by_chart { chart.clone() } else { wanted.clone() };
        let runs = match (&chart, deployed) {
            // Nothing but a user interface: Greenhouse itself shows it.
            (None, None) => true,
            (Some(chart), Some(deployed)) => {
                verdict.digest = deployed.digest.filter(|_| self.by_chart);
                deployed.running.is_some_and(|running| same(&running, chart))
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if runs && plugin.text("/status/version").and_then(version) == wanted {
            verdict.running.clone_from(&verdict.attempted);
        }
        if verdict.health == Health::Healthy && verdict.running.is_none() {
            verdict.health = Health::Progressing;
            verdict.evidence =
                format!("{}; the HelmRelease does not run the chart of the definition", verdict.evidence);
        }
        if verdict.health == Health::Healthy
            && let Some(missing) = self.landing(more.get(3))
        {
            verdict.health = Health::Progressing;
            verdict.evidence = missing;
        }
        verdict
    }

    /// Everything but the version proof.
    fn state(
        &self,
        plugin: Object<'_>,
        definition: Object<'_>,
        release: Option<Object<'_>>,
        cluster: Option<Object<'_>>,
    ) -> Verdict {
        if plugin.is_deleted() {
            return Verdict::progressing("it is being deleted");
        }
        let reachable = cluster.and_then(|cluster| cluster.condition_in(CONDITIONS, "Ready"));
        if !reachable.is_some_and(Condition::is_true) {
            // Greenhouse returns early then, and leaves the status as it was.
            let words = reachable.map_or("no condition Ready".to_string(), Condition::words);
            return Verdict::unknown(format!("its Cluster is not ready: {words}"));
        }
        let held = |kind| plugin.condition_in(CONDITIONS, kind);
        if let Some(suspended) = held("Suspended").filter(|suspended| suspended.is_true()) {
            return Verdict::new(Health::Suspended, suspended.words()).since(suspended.since());
        }
        if let Some(verdict) = failure(plugin) {
            return verdict;
        }
        let Some(ready) = held("Ready") else { return Verdict::progressing("no condition Ready yet") };
        let helm = plugin.text("/status/helmReleaseStatus/status");
        if helm == Some("suspended") {
            return Verdict::new(Health::Suspended, "status.helmReleaseStatus.status=suspended");
        }
        let (says, wanted) = (plugin.text("/status/version"), definition.text("/spec/version"));
        let evidence = format!(
            "status.version={}, helmReleaseStatus={}; {}",
            says.map_or("none".into(), told),
            helm.unwrap_or("none"),
            ready.words()
        );
        if says.is_none() || says != wanted {
            return Verdict::progressing(format!("{evidence}; the definition is {}", wanted.map_or("?".into(), told)));
        }
        if !ready.is_true() {
            return Verdict::progressing(evidence).since(ready.since());
        }
        if definition.at("/spec/helmChart").is_none() {
            return Verdict::new(Health::Healthy, evidence).since(ready.since());
        }
        if helm != Some("deployed") {
            return Verdict::progressing(evidence);
        }
        let Some(release) = release else { return Verdict::progressing("its HelmRelease is not there yet") };
        let released = helm_release::verdict(release);
        let evidence = format!("{evidence}; HelmRelease: {}", released.evidence);
        let healthy = released.health == Health::Healthy;
        let since = if healthy { later(ready.since(), released.since) } else { released.since };
        Verdict::new(released.health, evidence).since(since)
    }

    /// What of the catalog has not landed, where one is asked about.
    fn landing(&self, catalog: Option<&Option<Value>>) -> Option<String> {
        let name = self.catalog.as_ref()?;
        let Some(Some(catalog)) = catalog else { return Some(format!("there is no Catalog {name}")) };
        let catalog = Object(catalog);
        let ready = catalog.condition_in(CONDITIONS, "Ready");
        if !ready.is_some_and(Condition::is_true) {
            let words = ready.map_or("no condition Ready".to_string(), Condition::words);
            return Some(format!("the Catalog {name} is not ready: {words}"));
        }
        let sources = catalog.list("/spec/sources").iter().map(Object);
        sources.filter_map(|source| unlanded(catalog, source)).next()
    }
}

/// Whether a source of a catalog has landed as the spec has it: an entry of the inventory is called
/// `<host>-<owner>-<repo>-<ref>-<hash>`, and every object of it is ready.
fn unlanded(catalog: Object<'_>, source: Object<'_>) -> Option<String> {
    let repository = source.text("/repository").unwrap_or_default();
    let reference = ["/ref/sha", "/ref/tag", "/ref/branch"].iter().find_map(|place| source.text(place));
    let reference = reference.unwrap_or("main");
    let path = repository.trim_start_matches("https://").trim_end_matches('/').trim_end_matches(".git");
    let prefix = format!("{}-{reference}-", path.replace(['.', '/'], "-"));
    let plain = |text: &str| text.replace('.', "-");
    let inventory = catalog.at("/status/inventory").and_then(Value::as_object);
    let own = inventory.into_iter().flatten().find(|(key, _)| plain(key).starts_with(&plain(&prefix)));
    let Some((_, entries)) = own else {
        return Some(format!("the catalog has not landed {repository} at {reference}"));
    };
    let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let waiting = entries.iter().map(Object).find(|entry| entry.text("/ready") != Some("True"));
    match waiting {
        None if !entries.is_empty() => None,
        None => Some(format!("the catalog has nothing of {repository} at {reference}")),
        Some(entry) => Some(format!(
            "the catalog's {} {} is not ready: {}",
            entry.text("/kind").unwrap_or("?"),
            entry.text("/name").unwrap_or("?"),
            entry.text("/message").unwrap_or("?")
        )),
    }
}

/// What Greenhouse gives up on.
fn failure(plugin: Object<'_>) -> Option<Verdict> {
    let degraded =
        |condition: Condition<'_>| Verdict::new(Health::Degraded, condition.words()).since(condition.since());
    let unfit = |kind, fits: &dyn Fn(&str) -> bool| {
        plugin.condition_in(CONDITIONS, kind).filter(|condition| condition.is_false() && fits(condition.reason()))
    };
    let access = |reason: &str| reason == "ClusterAccessFailed" || reason == "PluginDefinitionNotAvailable";
    if let Some(condition) = unfit("HelmReleaseCreated", &access) {
        // The cluster's or the catalog's trouble, not the release's.
        return Some(Verdict::unknown(condition.words()).since(condition.since()));
    }
    unfit("HelmReleaseCreated", &|reason| BAD_RELEASE.contains(&reason))
        .or_else(|| unfit("HelmReleaseDeployed", &|reason| reason == "FluxHelmReleaseStalled"))
        .map(degraded)
}

fn version(text: &str) -> Option<Version> {
    text.parse().ok()
}

/// Flux may add what a chart was made from behind a `+`.
fn same(running: &Version, wanted: &Version) -> bool {
    let bare = |version: &Version| version.as_str().split('+').next().map(str::to_string);
    running == wanted || (!wanted.as_str().contains('+') && bare(running) == bare(wanted))
}
