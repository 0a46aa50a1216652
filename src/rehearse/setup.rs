//! The policy of a rehearsal: the real file through the real reader. Plugins that it does not name get
//! a stand-in entry, because a rehearsal asks no registry and no cluster.

use std::fmt::Write as _;

use decide::PluginName;

use crate::policy::{Loaded, Problems, Setting, SourceFile, load_in, plugins_named};

/// Reads a policy, with a stand-in for each of `plugins` that it does not name itself.
pub(crate) fn policy<'a>(
    main: &SourceFile,
    plugins: impl IntoIterator<Item = &'a PluginName>,
    setting: &Setting,
) -> Result<Loaded, Problems> {
    let named = plugins_named(&main.text);
    let missing: Vec<&PluginName> =
        plugins.into_iter().filter(|plugin| !named.iter().any(|name| name == plugin.as_str())).collect();
    let mut files = vec![main.clone()];
    if !missing.is_empty() {
        files.push(SourceFile { path: "coldframe.d/rehearsed.yaml".to_string(), text: stand_ins(&missing) });
    }
    load_in(&files, setting)
}

fn stand_ins(plugins: &[&PluginName]) -> String {
    let mut text = String::from("plugins:\n");
    for plugin in plugins {
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "  - name: {plugin}\n    chart: {{oci: oci://registry.example/charts/{plugin}}}\n    \
             write: [{{file: \"clusters/{{tier}}/{{cluster}}/{plugin}.yaml\", path: $.spec.chart.spec.version}}]\n    \
             signals: [{{helmRelease: {{namespace: {plugin}, name: {plugin}}}}}]"
        );
    }
    text
}
