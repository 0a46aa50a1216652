//! Workflows of a rehearsal: a run takes ten minutes and succeeds, unless the story says otherwise.

use std::collections::BTreeMap;

use decide::PluginName;
use decide::snapshot::{CheckState, Read, WorkflowRun};
use jiff::SignedDuration;

use super::diary::Noted;
use super::world::{Due, World};

/// How long a run takes.
const TAKES: SignedDuration = SignedDuration::from_mins(10);

/// How the runs of a workflow end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With success.
    #[default]
    Passes,
    /// With a failure.
    Fails,
    /// Not at all.
    Hangs,
}

/// Every run, and how those to come end.
#[derive(Default)]
pub(crate) struct Workflows {
    endings: BTreeMap<String, Ending>,
    runs: Vec<(PluginName, WorkflowRun)>,
}

/// The bot dispatches one.
pub(super) fn dispatch(world: &mut World, plugin: &PluginName, workflow: &str, id: &str) {
    let run = WorkflowRun { workflow: workflow.to_string(), title: id.to_string(), state: CheckState::Pending };
    world.workflows.runs.push((plugin.clone(), run));
    world.note(Noted::Said(format!("{workflow} is dispatched for {plugin}")));
    world.schedule(world.now + TAKES, Due::Run { id: id.to_string() });
}

/// A run has taken its time.
pub(super) fn end(world: &mut World, id: &str) {
    let Workflows { endings, runs } = &mut world.workflows;
    for (_, run) in runs.iter_mut().filter(|(_, run)| run.title == id && run.state == CheckState::Pending) {
        run.state = ended(endings.get(&run.workflow).copied().unwrap_or_default());
    }
    world.stir();
}

/// From now on the runs of a workflow end like this; those that are there are run again.
pub(crate) fn turn(world: &mut World, workflow: &str, ending: Ending) {
    world.workflows.endings.insert(workflow.to_string(), ending);
    for (_, run) in world.workflows.runs.iter_mut().filter(|(_, run)| run.workflow == workflow) {
        run.state = ended(ending);
    }
    world.stir();
}

fn ended(ending: Ending) -> CheckState {
    match ending {
        Ending::Passes => CheckState::Success,
        Ending::Fails => CheckState::Failure,
        Ending::Hangs => CheckState::Pending,
    }
}

/// The runs of a plugin as the bot reads them.
pub(super) fn shown(world: &World, plugin: &PluginName) -> Read<Vec<WorkflowRun>> {
    let of_plugin = world.workflows.runs.iter().filter(|(name, _)| name == plugin);
    Read::Known(of_plugin.map(|(_, run)| run.clone()).collect())
}
