//! What would follow from another policy: two plans of the same facts at the same instant, compared. Nothing is
//! decided here, and no time is told, so that the same difference always reads the same.

use std::collections::BTreeSet;

use decide::ledger::{Change, Entry};
use decide::plan::{Action, Gate, WaveReport};
use decide::{Plan, PluginName, TierName};

use super::words;

/// What follows from one plan and not from the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consequences {
    /// In numbers, such as `2 waves would finish now`; empty where nothing follows.
    pub headline: String,
    /// A sentence for each, without its full stop.
    pub sentences: Vec<String>,
}

/// What a plan does, in the order in which people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Finish,
    Fail,
    Merge,
    Open,
    Rewrite,
    Close,
    Notice,
    Run,
}

/// One thing that a plan does now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step<'a> {
    deed: Deed,
    plugin: &'a PluginName,
    tier: &'a TierName,
    /// Who or what does it, or to what it is done.
    subject: String,
}

/// What the second plan does that the first does not, and the other way round, of these plugins.
pub fn consequences(before: &Plan, after: &Plan, of: impl Fn(&PluginName) -> bool) -> Consequences {
    let (old, new) = (chosen(before, &of), chosen(after, &of));
    let mut told: Vec<(&Step<'_>, bool)> = new.difference(&old).map(|step| (step, true)).collect();
    told.extend(old.difference(&new).map(|step| (step, false)));
    told.sort();
    let mut sentences: Vec<String> = told.iter().map(|(step, does)| step.sentence(*does)).collect();
    sentences.extend(after.waves.iter().filter(|wave| of(&wave.plugin)).filter_map(|wave| {
        let same = |other: &&WaveReport| {
            (&other.plugin, &other.tier, &other.version, &other.part)
                == (&wave.plugin, &wave.tier, &wave.version, &wave.part)
        };
        waits(before.waves.iter().find(same)?, wave)
    }));
    let new: Vec<&Step<'_>> = told.iter().filter(|(_, does)| *does).map(|(step, _)| *step).collect();
    Consequences { headline: headline(&new), sentences }
}

fn chosen<'a>(plan: &'a Plan, of: impl Fn(&PluginName) -> bool) -> BTreeSet<Step<'a>> {
    steps(plan).into_iter().filter(|step| of(step.plugin)).collect()
}

/// The numbers of what would be done.
fn headline(new: &[&Step<'_>]) -> String {
    let counted = [
        (Deed::Finish, "wave", "finish"),
        (Deed::Fail, "wave", "fail"),
        (Deed::Merge, "pull request", "be merged"),
        (Deed::Open, "pull request", "be opened"),
        (Deed::Close, "pull request", "be closed"),
    ];
    let parts = counted.into_iter().filter_map(|(deed, what, does)| {
        let number = new.iter().filter(|step| step.deed == deed).count();
        (number > 0).then(|| format!("{} would {does} now", words::count(number, what)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn steps(plan: &Plan) -> Vec<Step<'_>> {
    let entries = plan.entries.iter().filter_map(|record| of_entry(&record.entry));
    entries.chain(plan.actions.iter().map(of_action)).collect()
}

/// What is told of an entry: where a wave ends.
fn of_entry(entry: &Entry) -> Option<Step<'_>> {
    let (plugin, tier, version, change) = match entry {
        Entry::Wave { plugin, tier, version, change } => (plugin, tier, version, change),
        Entry::Seen { .. }
        | Entry::Outage(_)
        | Entry::Rebuilt(_)
        | Entry::Stopped(_)
        | Entry::Frozen(_)
        | Entry::Thawed(_)
        | Entry::Hotfix { .. }
        | Entry::Labelled { .. }
        | Entry::Unlabelled { .. } => return None,
    };
    let deed = match change {
        Change::Finished(_) => Deed::Finish,
        Change::Stalled(_) | Change::Failed(_) => Deed::Fail,
        Change::Found { .. }
        | Change::Intent { .. }
        | Change::Announced(_)
        | Change::Shown(_)
        | Change::Grace(_)
        | Change::GraceEnded
        | Change::Merging(_)
        | Change::Refused { .. }
        | Change::Left { .. }
        | Change::Landed(_)
        | Change::Converged(_)
        | Change::Dispatching(_)
        | Change::Verified { .. }
        | Change::Soaked(_)
        | Change::LetThrough(_)
        | Change::Resumed(_)
        | Change::Rejected(_)
        | Change::Superseded(_)
        | Change::Withdrawn(_) => return None,
    };
    Some(Step { deed, plugin, tier, subject: format!("{plugin} {version}") })
}

fn of_action(action: &Action) -> Step<'_> {
    match action {
        Action::Open(proposal) => {
            let subject = format!("{} {}", proposal.plugin, proposal.to);
            Step { deed: Deed::Open, plugin: &proposal.plugin, tier: &proposal.tier, subject }
        }
        Action::Update { pull, head: _, proposal } => {
            let subject = format!("{pull}, {} {}", proposal.plugin, proposal.to);
            Step { deed: Deed::Rewrite, plugin: &proposal.plugin, tier: &proposal.tier, subject }
        }
        Action::Merge { plugin, tier, version, pull, head: _, via: _, forced: _ } => {
            Step { deed: Deed::Merge, plugin, tier, subject: format!("{pull}, {plugin} {version}") }
        }
        Action::Close { plugin, tier, pull, head: _, why: _ } => {
            Step { deed: Deed::Close, plugin, tier, subject: format!("{pull}, {plugin}") }
        }
        Action::Notice { plugin, tier, version, pull, before: _, deadline: _, owners: _ } => {
            Step { deed: Deed::Notice, plugin, tier, subject: format!("{pull}, {plugin} {version}") }
        }
        Action::Dispatch { plugin, tier, version, workflow, verification: _, clusters: _ } => {
            Step { deed: Deed::Run, plugin, tier, subject: format!("{workflow} for {plugin} {version}") }
        }
    }
}

impl Step<'_> {
    fn sentence(&self, does: bool) -> String {
        let Self { deed, plugin: _, tier, subject } = self;
        let would = if does { "would" } else { "would not" };
        match deed {
            Deed::Finish => format!("{subject} {would} finish {tier} now"),
            Deed::Fail => format!("{subject} {would} fail on {tier} now"),
            Deed::Merge => format!("{subject} on {tier}, {would} be merged now"),
            Deed::Open => format!("{subject} {would} be proposed for {tier} now"),
            Deed::Rewrite => format!("{subject} on {tier}, {would} be written anew now"),
            Deed::Close => format!("{subject} on {tier}, {would} be closed now"),
            Deed::Notice => format!("{subject} on {tier}, {would} get a notice now"),
            Deed::Run => format!("the workflow {subject} on {tier} {would} run now"),
        }
    }
}

/// What else a wave would wait for, or no longer.
fn waits(before: &WaveReport, after: &WaveReport) -> Option<String> {
    let gates = |wave: &WaveReport| -> BTreeSet<Gate> {
        wave.findings.iter().filter(|finding| !finding.verdict.lets_through()).map(|finding| finding.gate).collect()
    };
    let (old, new) = (gates(before), gates(after));
    let list = |one: &BTreeSet<Gate>, other: &BTreeSet<Gate>| -> Option<String> {
        let names: Vec<String> = one.difference(other).map(ToString::to_string).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let would = match (list(&new, &old), list(&old, &new)) {
        (None, None) => return None,
        (Some(more), None) => format!("would also wait at these gates: {more}"),
        (None, Some(less)) => format!("would no longer wait at these gates: {less}"),
        (Some(more), Some(less)) => format!("would wait at these gates: {more}; and no longer at these: {less}"),
    };
    let version = after.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    Some(format!("{}{version} on {} {would}", after.plugin, after.tier))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use decide::plan::{Identity, Record, Urgency, Verdict};
    use decide::{PullNumber, Reason, Sha};

    use super::super::fixture::{now, open, put, version};
    use super::*;

    fn finishes(tier: &str) -> Record {
        let entry = Entry::Wave {
            plugin: "loki".into(),
            tier: tier.into(),
            version: version("2.0.0"),
            change: Change::Finished(now()),
        };
        Record { entry, urgency: Urgency::Transition }
    }

    fn merge(number: u64) -> Action {
        Action::Merge {
            plugin: "cert-manager".into(),
            tier: "silver".into(),
            version: version("1.15.0"),
            pull: PullNumber(number),
            head: Sha::from("1"),
            via: Identity::Ordinary,
            forced: None,
        }
    }

    fn plan(entries: Vec<Record>, actions: Vec<Action>, waves: Vec<WaveReport>) -> Plan {
        Plan { entries, actions, waves, ..Plan::default() }
    }

    #[test]
    fn what_one_plan_does_and_the_other_does_not_is_told_once() {
        let before = plan(vec![], vec![merge(7)], vec![open()]);
        let mut other = open();
        other.findings.iter_mut().for_each(|finding| finding.verdict = Verdict::Pass);
        put(&mut other, Gate::Freeze, Verdict::Fail, Reason::NotFrozen);
        let after = plan(vec![finishes("gold"), finishes("silver")], vec![merge(8)], vec![other]);
        let found = consequences(&before, &after, |_| true);
        assert_eq!(found.headline, "2 waves would finish now, 1 pull request would be merged now");
        assert_eq!(
            found.sentences,
            [
                "loki 2.0.0 would finish gold now",
                "loki 2.0.0 would finish silver now",
                "#7, cert-manager 1.15.0 on silver, would not be merged now",
                "#8, cert-manager 1.15.0 on silver, would be merged now",
                "cert-manager 1.15.0 on silver would wait at these gates: freeze; and no longer at these: window, \
                 approvals, grace period",
            ]
        );
        assert_eq!(consequences(&before, &before, |_| true), Consequences::default());
    }

    #[test]
    fn plugins_of_which_nothing_is_known_are_left_out() {
        let (before, after) =
            (plan(vec![], vec![], vec![]), plan(vec![finishes("gold")], vec![merge(7)], vec![open()]));
        let found = consequences(&before, &after, |plugin| plugin.as_str() != "loki");
        assert_eq!(found.sentences, ["#7, cert-manager 1.15.0 on silver, would be merged now"]);
    }
}
