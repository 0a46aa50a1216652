//! What one reading counts as: the planner itself is asked, about a world that holds this reading and nothing
//! else. There is no second rule in here.

use std::collections::BTreeMap;

use decide::ledger::{Change, Landed};
use decide::model::Soak;
use decide::plan::MemberState;
use decide::selector::Selector;
use decide::snapshot::{
    Cluster, HubFacts, LedgerGuard, LedgerState, Place, PluginFacts, Read, Reading, Release, Snapshot,
};
use decide::{ClusterName, Entry, Ledger, Person, PluginName, PluginPolicy, Policy, Readings, Sha, Tier, TierName};
use jiff::SignedDuration;

use crate::tell::Wanted;

/// Longer than any reading is old: how long a tier waits is its own rule, and not what an object proves.
const AGES: SignedDuration = SignedDuration::from_hours(24 * 366 * 300);

/// What the planner takes a cluster for that gave this answer alone, where the wanted release landed at
/// `wanted.after`, or when the answer was read. None where it gives no answer, which no reading may lead to.
pub(super) fn counted(reading: &Reading, wanted: &Wanted) -> Option<MemberState> {
    let landed = wanted.after.unwrap_or(reading.observed_at);
    let snapshot = world(reading, wanted, Landed { at: landed, commit: None, by: None });
    let plan = decide::plan(&snapshot, reading.observed_at.max(landed));
    let member = plan.waves.first()?.members.iter().next()?;
    (member.state != MemberState::NotAsked).then_some(member.state)
}

/// One plugin on one tier of one cluster, and the wanted release on the base branch.
fn world(reading: &Reading, wanted: &Wanted, landed: Landed) -> Snapshot {
    let (plugin, tier) = (PluginName::from("plugin"), TierName::from("tier"));
    let cluster = ClusterName::from("cluster");
    let (version, digest) = (wanted.version.clone(), wanted.digest.clone());
    let mut ledger = Ledger::default();
    let change = Change::Found { members: vec![cluster.clone()], digest: digest.clone(), landed };
    ledger.apply(&Entry::Wave { plugin: plugin.clone(), tier: tier.clone(), version: version.clone(), change });
    let mut rules = Tier::new(tier.clone(), Selector { match_labels: BTreeMap::new(), match_expressions: Vec::new() });
    rules.soak = Soak::at_least(AGES);
    rules.health.max_age = AGES;
    rules.health.degraded_for = AGES;
    rules.health.progress_deadline = AGES;
    let place =
        Place { file: String::new(), cluster: None, version: Read::Known(version.clone()), range: None, vacant: false };
    let release = Release {
        version,
        digest,
        marked_breaking: false,
        checks: Read::Known(Vec::new()),
        breaking: Vec::new(),
        blocks: Vec::new(),
        missing_values: Vec::new(),
        incomplete: None,
        unsigned: Read::Known(None),
    };
    let facts = PluginFacts {
        releases: Read::Known(vec![release]),
        base: Read::Known(BTreeMap::from([(tier, vec![place])])),
        pulls: Read::Known(Vec::new()),
        readings: Readings::from_iter([(cluster.clone(), vec![reading.clone()])]),
        runs: Read::Known(Vec::new()),
        open_now: BTreeMap::new(),
    };
    Snapshot {
        policy: Policy { plugins: vec![PluginPolicy::new(plugin.clone(), vec![rules])], ..Policy::default() },
        policy_commit: Sha::new("0"),
        policy_problem: None,
        clusters: Read::Known(vec![Cluster { name: cluster, labels: BTreeMap::new() }]),
        hub: HubFacts {
            bot: Person::from("coldframe[bot]"),
            bypass: false,
            own: Vec::new(),
            skew: SignedDuration::ZERO,
        },
        ledger,
        ledger_state: LedgerState::Intact { guarded: LedgerGuard::Sealed },
        look_again: SignedDuration::from_mins(1),
        plugins: BTreeMap::from([(plugin, facts)]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use decide::snapshot::Health;
    use jiff::Timestamp;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn reading() -> Reading {
        Reading {
            signal: "HelmRelease apps/loki".into(),
            health: Health::Healthy,
            running: Some("1.2.0".parse().unwrap()),
            attempted: None,
            digest: None,
            observed_at: at("2026-11-21T12:00:00Z"),
            since: Some(at("2026-11-21T10:00:00Z")),
            evidence: "Ready".into(),
        }
    }

    fn wanted(version: &str) -> Wanted {
        Wanted { version: version.parse().unwrap(), digest: None, after: None }
    }

    /// The word of a state, and what is wrong.
    fn says(reading: &Reading, wanted: &Wanted) -> (String, String) {
        let state = counted(reading, wanted).unwrap();
        let word = format!("{state:?}").split(['(', ' ']).next().unwrap().to_string();
        (word, state.trouble().map(|trouble| trouble.what.clone()).unwrap_or_default())
    }

    #[test]
    fn every_health_counts_as_the_planner_says() {
        let state = |health| says(&Reading { health, ..reading() }, &wanted("1.2.0"));
        let text = |word: &str, what: &str| (word.to_string(), what.to_string());
        assert_eq!(state(Health::Healthy), text("Healthy", ""));
        assert_eq!(state(Health::Progressing), text("Progressing", "progressing"));
        assert_eq!(state(Health::Suspended), text("Suspended", "suspended"));
        assert_eq!(state(Health::Degraded), text("Degraded", "degraded"));
        assert_eq!(state(Health::Failed), text("Failed", "failed"));
        assert_eq!(state(Health::NotFound), text("Progressing", "without the object"));
        assert_eq!(state(Health::Unknown), text("Unknown", "not read"));
        assert_eq!(says(&reading(), &wanted("1.3.0")), text("Progressing", "on 1.2.0"));
    }

    #[test]
    fn a_digest_and_a_time_are_held_against_it() {
        let digest = |digit: &str| Some(decide::Digest::new(format!("sha256:{}", digit.repeat(64))));
        let pinned = Wanted { digest: digest("a"), ..wanted("1.2.0") };
        let of = |digit| says(&Reading { digest: digest(digit), ..reading() }, &pinned).0;
        assert_eq!((of("a"), of("b")), ("Healthy".to_string(), "Degraded".to_string()));
        assert_eq!(says(&reading(), &pinned).0, "Healthy", "who names none is not held against one");
        let after = |time| says(&reading(), &Wanted { after: Some(at(time)), ..wanted("1.2.0") });
        assert_eq!(after("2026-11-21T11:59:59Z").0, "Healthy");
        assert_eq!(after("2026-11-21T12:00:01Z"), ("Progressing".into(), "not read since it landed".into()));
    }

    #[test]
    fn no_time_that_may_be_given_is_too_far() {
        for time in ["1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z"] {
            let old = Reading { health: Health::Degraded, observed_at: at(time), since: None, ..reading() };
            for after in [None, Some(at("1970-01-01T00:00:00Z")), Some(at("2200-01-01T00:00:00Z"))] {
                assert!(counted(&old, &Wanted { after, ..wanted("1.2.0") }).is_some());
            }
        }
    }
}
