//! The first file of a cluster or a tier: made of its template as it stands on the base branch, for a commit that
//! adds it. What is to be read of a template is in `edit/template`, which file is missing in `observe/vacant`.

use anyhow::Context as _;
use decide::Sha;
use decide::plan::Proposal;

use crate::act::line::Line;
use crate::edit::find::Wanted;
use crate::edit::template::{Names, rendered};
use crate::observe::{Spot, vacant};

/// The text of the file. The inner error is a refusal that names the file.
pub(super) async fn text(
    line: &Line,
    base: &Sha,
    spot: &Spot,
    proposal: &Proposal,
) -> anyhow::Result<Result<String, String>> {
    let Some(path) = spot.write.template.clone().filter(|_| spot.vacant) else {
        return Ok(Err(format!("{}: the file does not exist on the base branch", spot.file)));
    };
    let wiring =
        line.context.memory.policy.as_ref().and_then(|(_, loaded)| loaded.wiring.plugins.get(&proposal.plugin));
    let chart = &wiring.context("the plugin is not in the policy any more")?.chart;
    let (at, name) = (base.clone(), path.clone());
    let template = line.context.repo.git(move |store, _| vacant::read(store, &at, &name)).await?;
    let cluster = spot.cluster.as_ref();
    let plugin = proposal.plugin.as_str();
    let names = Names::of(&spot.write, &proposal.tier, cluster, plugin, proposal.to.as_str());
    let address = chart.address();
    let wanted = Wanted { chart: chart.name(), plugin, address: Some(address.as_str()) };
    let write = spot.write.of_one(&proposal.tier, cluster);
    let made =
        template.and_then(|text| rendered(&write?, &spot.file, &text, &names, wanted).map_err(|bad| bad.to_string()));
    Ok(made.map_err(|why| format!("{}: cannot be made of `{path}`: {why}", spot.file)))
}
