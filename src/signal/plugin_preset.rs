//! Greenhouse `PluginPreset` (greenhouse, `internal/controller/plugin`): the preset's own troubles, and the
//! Plugin that it makes for the cluster, judged as one.

use decide::snapshot::Health;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict};
use super::plugin::{CATALOG, PLUGIN, Plugin, RELEASES};
use super::settings::{NAME, NAMESPACE, name};
use super::target::{Api, Target};
use parse::read::Shape;

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "pluginPreset",
    shape: Shape {
        what: "pluginPreset",
        keys: &[NAMESPACE, NAME, CATALOG, RELEASES],
        unsupported: &[],
        about: &[
            "Greenhouse: a PluginPreset of `greenhouse.sap/v1alpha1` in the hub, and its Plugin for the cluster,",
            "`<preset>-<cluster>`.",
        ],
    },
    proves: Proves::Version,
    dates: false,
    refuse: anything,
    make: Make::Object(|settings| {
        let target = settings.object(API)?;
        let plugin = name("name", format!("{}-{}", settings.required("name")?, settings.cluster()))?;
        Ok(Box::new(PluginPreset {
            target,
            cluster: settings.cluster().to_string(),
            plugin: Plugin::new(settings, plugin)?,
        }))
    }),
};

const API: Api = Api { group: "greenhouse.sap", version: "v1alpha1", kind: "PluginPreset", plural: "pluginpresets" };
const CONDITIONS: &str = "/status/statusConditions/conditions";

struct PluginPreset {
    target: Target,
    cluster: String,
    plugin: Plugin,
}

impl Signal for PluginPreset {
    fn target(&self) -> Target {
        self.target.clone()
    }

    /// The Plugin first, and after it what a Plugin asks for: which definition, the preset says itself.
    fn more(&self, preset: &Value) -> Vec<Target> {
        let mut all = vec![self.plugin.target()];
        all.extend(self.plugin.more(Object(&self.made(preset))));
        all
    }

    fn around(&self) -> Vec<Target> {
        let mut all = vec![self.plugin.target()];
        all.extend(self.plugin.around());
        all
    }

    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict {
        let preset = Object(object);
        if preset.is_deleted() {
            return Verdict::progressing("the preset is being deleted");
        }
        if let Some(empty) = preset.condition_in(CONDITIONS, "ClusterListEmpty").filter(|empty| empty.is_true()) {
            return Verdict::unknown(format!("the preset selects no cluster: {}", empty.words()));
        }
        let failed = preset.condition_in(CONDITIONS, "PluginFailed").filter(|failed| failed.is_true());
        let Some((Some(plugin), rest)) = more.split_first() else {
            let verdict = failed.map(|failed| Verdict::new(Health::Degraded, failed.words()).since(failed.since()));
            return verdict.unwrap_or_else(|| Verdict::progressing(format!("its {} is not there yet", PLUGIN.kind)));
        };
        let plugin = Object(plugin);
        let by_preset = plugin.mark("labels", "greenhouse.sap/pluginpreset");
        if by_preset.is_some_and(|name| Some(name) != preset.text("/metadata/name")) {
            return Verdict::unknown("the Plugin of that name belongs to another preset");
        }
        // The preset has moved on to another definition, and its Plugin has not.
        let reference =
            |object: Object<'_>, at: &str| object.text(&format!("{at}/pluginDefinitionRef/name")).map(str::to_string);
        if reference(preset, "/spec/plugin") != reference(plugin, "/spec") {
            let words = failed.map(|failed| format!(": {}", failed.words())).unwrap_or_default();
            let health = if failed.is_some() { Health::Degraded } else { Health::Progressing };
            return Verdict::new(health, format!("the Plugin has another definition than the preset{words}"));
        }
        let mut verdict = self.plugin.judge(plugin, rest);
        if verdict.health != Health::Healthy
            && let Some(failed) = failed
            && failed.reason() == "PluginReconcileFailed"
        {
            // A new option that nobody has set: the Plugin itself was never changed.
            verdict.health = Health::Degraded;
            verdict.evidence = format!("{}; {}", failed.words(), verdict.evidence);
            verdict.since = failed.since();
        }
        verdict
    }
}

impl PluginPreset {
    /// What of a Plugin the preset says.
    fn made(&self, preset: &Value) -> Value {
        let mut spec = preset.pointer("/spec/plugin").cloned().unwrap_or_default();
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("clusterName".to_string(), Value::from(self.cluster.as_str()));
        }
        serde_json::json!({ "spec": spec })
    }
}
