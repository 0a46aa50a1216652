//! How a strategy cuts the members of a tier into slices, and what each slice waits for beside the
//! health of those before it. When a slice may move is decided in `tiers` and `gate`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::ledger::Wait;
use crate::model::{Promote, Step, Strategy, Tier, Verify};
use crate::selector::Labels;
use crate::{ClusterName, Clusters};

/// The slices of a tier in the order in which they move.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cut {
    /// The clusters of each.
    pub slices: Vec<Clusters>,
    /// What is waited for before each, in order.
    pub pauses: Vec<Vec<Wait>>,
}

/// Cuts members, which come in their order, by the tier's strategy. `first_install`: nothing runs there yet;
/// `before`: who moved first with the release before.
pub(crate) fn cut<'a>(
    tier: &Tier,
    members: &[ClusterName],
    first_install: bool,
    labels: impl Fn(&ClusterName) -> Option<&'a Labels>,
    before: &[ClusterName],
) -> Cut {
    match &tier.strategy {
        Strategy::RollingUpdate { max_update, by: None } => chunks(members, max_update.of(members.len())),
        Strategy::RollingUpdate { max_update, by: Some(label) } => {
            let value = |name: &ClusterName| labels(name)?.get(label).map(String::as_str);
            by_value(members, max_update.of(members.len()), value, before)
        }
        Strategy::Canary { steps } => by_weight(steps, members),
        Strategy::BlueGreen { promote, verify, preview } if !first_install => {
            let is_preview = |name: &ClusterName| labels(name).is_some_and(|labels| preview.matches(labels));
            preview_first(*promote, verify.as_ref(), members, is_preview)
        }
        Strategy::BlueGreen { .. } | Strategy::AllAtOnce | Strategy::Delegated => chunks(members, members.len()),
    }
}

fn chunks(members: &[ClusterName], most: usize) -> Cut {
    let slices: Vec<Clusters> = members.chunks(most.max(1)).map(Clusters::from).collect();
    Cut { pauses: vec![Vec::new(); slices.len()], slices }
}

/// The clusters of one value after those of another, in the order of the values. It begins with the value after the
/// one that began before, so that the same clusters are not always the first. Clusters without a value move last.
fn by_value<'a>(
    members: &[ClusterName],
    most: usize,
    value: impl Fn(&ClusterName) -> Option<&'a str>,
    before: &[ClusterName],
) -> Cut {
    let (mut groups, mut rest) = (BTreeMap::<&str, Vec<ClusterName>>::new(), Vec::new());
    for name in members {
        value(name).map_or(&mut rest, |value| groups.entry(value).or_default()).push(name.clone());
    }
    let began = before.iter().find_map(&value);
    let (next, others): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|(value, _)| began.is_some_and(|began| *value > began));
    let in_turn = next.into_iter().chain(others).map(|(_, group)| group).chain([rest]);
    let slices: Vec<Clusters> = in_turn.flat_map(|group| chunks(&group, most).slices).collect();
    Cut { pauses: vec![Vec::new(); slices.len()], slices }
}

/// The last weight is 100, whether it is written or not. A weight that brings nobody adds no slice; its
/// pauses count for the next one.
fn by_weight(steps: &[Step], members: &[ClusterName]) -> Cut {
    let mut cut = Cut::default();
    let (mut moved, mut pauses) = (0, Vec::new());
    for step in steps.iter().chain([&Step::SetWeight(100)]) {
        match step {
            Step::SetWeight(weight) => {
                let target = share(*weight, members.len()).max(moved);
                if let Some(slice) = members.get(moved..target).filter(|slice| !slice.is_empty()) {
                    cut.slices.push(slice.into());
                    cut.pauses.push(core::mem::take(&mut pauses));
                    moved = target;
                }
            }
            Step::Pause(length) => pauses.push(Wait::Pause(*length)),
            Step::Verify { workflow, timeout } => {
                pauses.push(Wait::Verify(Verify { workflow: workflow.clone(), timeout: *timeout }));
            }
        }
    }
    cut
}

/// So many of so many members: rounded up, at least one and at least one left, except at 0 and 100.
fn share(weight: u8, members: usize) -> usize {
    match weight {
        0 => 0,
        100.. => members,
        weight => (members * usize::from(weight)).div_ceil(100).clamp(1, members.saturating_sub(1).max(1)).min(members),
    }
}

fn preview_first(
    promote: Promote,
    verify: Option<&Verify>,
    members: &[ClusterName],
    is_preview: impl Fn(&ClusterName) -> bool,
) -> Cut {
    let (preview, rest): (Vec<ClusterName>, Vec<ClusterName>) = members.iter().cloned().partition(is_preview);
    if preview.is_empty() || rest.is_empty() {
        return chunks(members, members.len());
    }
    let mut pause: Vec<Wait> = verify.cloned().map(Wait::Verify).into_iter().collect();
    match promote {
        Promote::Automatic => {}
        Promote::Manual => pause.push(Wait::Pause(None)),
    }
    Cut { slices: vec![preview.into(), rest.into()], pauses: vec![Vec::new(), pause] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::MaxUpdate;
    use crate::selector::Selector;
    use alloc::string::ToString;
    use jiff::SignedDuration;

    /// A selector of one cluster by its label `name`.
    fn only(name: &str) -> Selector {
        Selector { match_labels: [("name".to_string(), name.to_string())].into(), match_expressions: Vec::new() }
    }

    fn named(names: &[ClusterName]) -> BTreeMap<ClusterName, Labels> {
        names.iter().map(|name| (name.clone(), [("name".to_string(), name.to_string())].into())).collect()
    }

    fn sizes(strategy: Strategy, members: usize) -> (Vec<usize>, Vec<usize>) {
        let tier = Tier { strategy, ..Tier::new("gold".into(), Selector::default()) };
        let members: Vec<ClusterName> = (0..members).map(|n| alloc::format!("c{n:02}").as_str().into()).collect();
        let labels = named(&members);
        let cut = cut(&tier, &members, false, |name| labels.get(name), &[]);
        assert_eq!(cut.slices.len(), cut.pauses.len());
        let mut all: Vec<ClusterName> = cut.slices.iter().flatten().cloned().collect();
        all.sort();
        assert_eq!(all, members, "each member once");
        (cut.slices.iter().map(|slice| slice.len()).collect(), cut.pauses.iter().map(Vec::len).collect())
    }

    #[test]
    fn a_rolling_update_moves_so_many_at_a_time() {
        let rolling = |max_update, members| sizes(Strategy::RollingUpdate { max_update, by: None }, members).0;
        let cases: [(MaxUpdate, usize, &[usize]); 9] = [
            (MaxUpdate::Count(3), 8, &[3, 3, 2]),
            (MaxUpdate::Count(9), 8, &[8]),
            (MaxUpdate::Count(0), 8, &[8]),
            (MaxUpdate::All, 8, &[8]),
            (MaxUpdate::Percent(0), 8, &[8]),
            (MaxUpdate::Percent(25), 12, &[3, 3, 3, 3]),
            // rounds down
            (MaxUpdate::Percent(33), 8, &[2, 2, 2, 2]),
            // at least one
            (MaxUpdate::Percent(10), 3, &[1, 1, 1]),
            (MaxUpdate::Percent(100), 3, &[3]),
        ];
        for (most, members, expected) in cases {
            assert_eq!(rolling(most, members), expected, "{most:?} of {members}");
        }
        assert_eq!(rolling(MaxUpdate::Count(3), 0), [0_usize; 0]);
    }

    #[test]
    fn a_canary_moves_by_weight() {
        let hour = Some(SignedDuration::from_hours(1));
        let canary = |steps: &[Step], members| sizes(Strategy::Canary { steps: steps.to_vec() }, members);
        let (ten, half) = (Step::SetWeight(10), Step::SetWeight(50));
        let (pause, stop) = (Step::Pause(hour), Step::Pause(None));
        let steps = [ten.clone(), pause.clone(), half.clone(), stop.clone()];
        assert_eq!(canary(&steps, 12), (vec![2, 4, 6], vec![0, 1, 1]), "rounded up");
        assert_eq!(canary(&steps, 2), (vec![1, 1], vec![0, 2]), "at least one, and one left");
        assert_eq!(canary(&steps, 1), (vec![1], vec![0]));
        assert_eq!(canary(&[], 4), (vec![4], vec![0]), "no steps");
        assert_eq!(canary(&[Step::SetWeight(99)], 4), (vec![3, 1], vec![0, 0]), "one is left");
        assert_eq!(canary(&[Step::SetWeight(100), stop.clone()], 4), (vec![4], vec![0]));
        assert_eq!(canary(&[Step::SetWeight(0), stop, half], 4), (vec![2, 2], vec![1, 0]), "nobody at zero");
    }

    #[test]
    fn a_preview_goes_first() {
        let blue_green = |promote| Strategy::BlueGreen { preview: only("c01"), verify: None, promote };
        let smoke = Verify { workflow: "smoke.yml".into(), timeout: SignedDuration::from_mins(30) };
        let verified = Strategy::BlueGreen { preview: only("c01"), verify: Some(smoke), promote: Promote::Manual };
        assert_eq!(sizes(verified, 4), (vec![1, 3], vec![0, 2]), "a workflow first, then a word");
        assert_eq!(sizes(blue_green(Promote::Automatic), 4), (vec![1, 3], vec![0, 0]));
        assert_eq!(sizes(blue_green(Promote::Manual), 4), (vec![1, 3], vec![0, 1]));
        assert_eq!(sizes(blue_green(Promote::Manual), 1), (vec![1], vec![0]), "no member is the preview");
        assert_eq!(sizes(Strategy::AllAtOnce, 4), (vec![4], vec![0]));
        assert_eq!(sizes(Strategy::Delegated, 4), (vec![4], vec![0]));
        let tier = Tier { strategy: blue_green(Promote::Manual), ..Tier::new("gold".into(), Selector::default()) };
        let members = ["c01".into(), "c02".into()];
        let labels = named(&members);
        let first = cut(&tier, &members, true, |name| labels.get(name), &[]);
        assert_eq!(first.slices.len(), 1, "a first install needs no preview");
    }

    #[test]
    fn the_clusters_of_one_value_move_after_those_of_another() {
        let of = [("a", "eu"), ("b", "ap"), ("c", "eu"), ("d", ""), ("e", "us"), ("f", "eu")];
        let members: Vec<ClusterName> = of.iter().map(|(name, _)| (*name).into()).collect();
        let region = |region: &str| match region {
            "" => Labels::new(),
            region => [("region".to_string(), region.to_string())].into(),
        };
        let labels: BTreeMap<ClusterName, Labels> =
            of.iter().map(|(name, value)| ((*name).into(), region(value))).collect();
        let slices = |max_update, before: &[&str]| -> Vec<String> {
            let strategy = Strategy::RollingUpdate { max_update, by: Some("region".to_string()) };
            let tier = Tier { strategy, ..Tier::new("gold".into(), Selector::default()) };
            let before: Vec<ClusterName> = before.iter().map(|name| (*name).into()).collect();
            let cut = cut(&tier, &members, false, |name| labels.get(name), &before);
            assert_eq!(cut.slices.len(), cut.pauses.len());
            let together = |slice: &Clusters| slice.iter().map(ClusterName::as_str).collect::<String>();
            cut.slices.iter().map(together).collect()
        };
        assert_eq!(slices(MaxUpdate::All, &[]), ["b", "acf", "e", "d"]);
        assert_eq!(slices(MaxUpdate::Count(2), &[]), ["b", "ac", "f", "e", "d"]);
        // Each release begins with the value after that of the one before.
        assert_eq!(slices(MaxUpdate::All, &["b"]), ["acf", "e", "b", "d"]);
        assert_eq!(slices(MaxUpdate::All, &["c"]), ["e", "b", "acf", "d"]);
        assert_eq!(slices(MaxUpdate::All, &["e"]), ["b", "acf", "e", "d"]);
        // Who has left says nothing, and neither does who has no value.
        assert_eq!(slices(MaxUpdate::All, &["gone", "d", "a"]), ["e", "b", "acf", "d"]);
        assert_eq!(slices(MaxUpdate::All, &["gone"]), ["b", "acf", "e", "d"]);
    }
}
