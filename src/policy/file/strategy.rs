//! The keys that say in what order the members of a tier move, and who stays where they are.

use crate::file::PolicyFile;
use decide::model::{Each, Promote};

use super::tier::SelectFile;
use crate::file::Word;
use parse::forms::{List, Words as WordList};
use parse::read::record;
use parse::scalar::{Count, Exact, Flag, LabelKey, Share, Words, Workflow};
use parse::when::{Length, Until};

record! {
    /// In what order the members of a tier move; one of these. All but `delegated` need a `write` file per cluster.
    StrategyFile = "strategy" {
        /// So many members at a time, in the order of their names, each slice with its own pull request. Default none.
        optional rolling_update "rollingUpdate": RollingUpdateFile,
        /// By weight, with pauses, each weight with its own pull request. Default none.
        optional canary "canary": CanaryFile,
        /// A preview first, then the rest at once. Default none.
        optional blue_green "blueGreen": BlueGreenFile,
        /// One pull request; the controller in the clusters orders the syncs, and Coldframe reads. Default false.
        optional delegated "delegated": Flag,
    }
    unsupported []
}

record! {
    /// So many members at a time.
    RollingUpdateFile = "rollingUpdate" {
        /// How many members move at once: a number, or a percentage that rounds down and is at least one. Default 0, which is all of them, as where progressive syncs of Argo CD's `ApplicationSet` were proposed.
        optional max_update "maxUpdate": Share,
        /// Another name of `maxUpdate`, at least one: a release that makes nobody unavailable moves nobody. Default as there.
        optional max_unavailable "maxUnavailable": Share,
        /// The key of a label, such as `region`: the clusters of one of its values move after those of another, and each release begins with the value after the one that began before. Clusters without it move last. Default none: clusters move in the order of their names.
        optional by "by": LabelKey,
    }
    unsupported [super::MAX_SURGE, super::WINDOW]
}

record! {
    /// By weight, with pauses.
    CanaryFile = "canary" {
        /// What happens, in order; after the last step all members move. Default the weights 25, 50 and 75: a quarter at a time, as a canary without steps rolls in Argo Rollouts.
        optional steps "steps": List<StepFile>,
    }
    unsupported [super::MAX_SURGE]
}

record! {
    /// One step of a canary: a weight, a pause or a workflow.
    StepFile = "step" {
        /// The share of members on the new version, in percent: rounded up, at least one and at least one left, except at 0 and 100. Default none: the step is another one.
        optional set_weight "setWeight": Count<0>,
        /// A wait after all that have moved are healthy. Default none: the step is another one.
        optional pause "pause": PauseFile,
        /// A workflow of this repository that has to succeed before the next weight. Default none: the step is another one.
        optional verify "verify": VerifyFile,
    }
    unsupported []
}

record! {
    /// A workflow that verifies what has moved.
    VerifyFile = "verify" {
        /// Its file in `.github/workflows`, such as `smoke.yml`. It is dispatched on the default branch, and the title of its run has to carry the input `id` (`run-name: Smoke ${{ inputs.id }}`), by which it is found.
        required workflow "workflow": Workflow,
        /// How long it may take. Default `30m`: what takes longer is no smoke test.
        optional timeout "timeout": Length,
    }
    unsupported []
}

record! {
    /// A wait between two weights.
    PauseFile = "pause" {
        /// How long. Default until somebody comments `/coldframe resume`.
        optional duration "duration": Length,
    }
    unsupported []
}

record! {
    /// A preview first, then the rest at once.
    BlueGreenFile = "blueGreen" {
        /// Which members are the preview. A first install, or a selector that takes none of them or all, skips it.
        required preview "preview": SelectFile,
        /// A workflow of this repository that has to succeed, once the preview is healthy, before the rest follows. Default none.
        optional verify "verify": VerifyFile,
        /// Who lets the rest follow. Default `automatic`: as soon as the preview is healthy.
        optional promote "promote": Word<Promote>,
    }
    unsupported []
}

record! {
    /// Clusters that stay on a version.
    PinFile = "pin" {
        /// Which clusters. Each `write` of the plugin needs a place per cluster.
        required select "select": SelectFile,
        /// On which version they stay. It may be one that is not accepted any more: it is what runs. Default the one that stands in their files, whatever it is.
        optional version "version": Exact,
        /// Until when: a date (that day included) or an instant; then they catch up with their tier. Default until somebody takes it out.
        optional until "until": Until,
        /// Why; shown where somebody asks why they stay behind.
        required why "why": Words,
    }
    unsupported []
}

record! {
    /// Clusters that are ahead of their tier.
    EarlyFile = "early" {
        /// Which clusters of the tier.
        required select "select": SelectFile,
        /// Until when: a date (that day included) or an instant; then their turn is the tier's again. Default until somebody takes it out.
        optional until "until": Until,
    }
    unsupported []
}

/// The strategies that one word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyWord {
    /// All members in one pull request.
    AllAtOnce,
    /// One pull request, and others order the syncs.
    Delegated,
}

impl WordList<PolicyFile> for StrategyWord {
    const NAME: &'static str = "StrategyWord";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("allAtOnce", Self::AllAtOnce, "All members in one pull request."),
        ("delegated", Self::Delegated, "One pull request; the controller in the clusters orders the syncs."),
    ];
}

impl WordList<PolicyFile> for Promote {
    const NAME: &'static str = "Promote";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("automatic", Self::Automatic, "The bot, as soon as the preview is healthy."),
        ("manual", Self::Manual, "A person, with `/coldframe resume`."),
    ];
}

impl WordList<PolicyFile> for Each {
    const NAME: &'static str = "Each";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("tier", Self::Tier, "The first slice asks, and the others rest on its approval."),
        ("slice", Self::Slice, "Each slice asks."),
    ];
}
