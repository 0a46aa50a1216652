//! The clusters of a wave and how each stands, without a line for each that stands as all do.

use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Member, MemberState};
use crate::readings::{Row, Stamp};
use crate::{ClusterName, Clusters, Readings};

/// The clusters of a wave and how each stands, in the order of the wave. A copy shares them.
#[derive(Clone, Debug, Default)]
pub struct Members(Arc<Roll>);

#[derive(Clone, Debug, Default)]
struct Roll {
    clusters: Clusters,
    usual: Usual,
    /// Those that stand otherwise, by their place in the list, in its order.
    odd: Vec<(usize, MemberState)>,
}

/// How all but the odd ones stand.
#[derive(Clone, Debug, Default)]
enum Usual {
    #[default]
    NotAsked,
    Healthy(Since),
}

/// Since when each of some clusters is healthy; of an odd one it says nothing.
#[derive(Clone, Debug)]
pub(crate) enum Since {
    /// As this row says of the first cluster, and the next rows of the next ones.
    Rows(Readings, usize),
    /// As it is listed here.
    Listed(Vec<Stamp>),
}

impl Since {
    fn get(&self, at: usize) -> Option<Timestamp> {
        match self {
            Self::Rows(readings, begin) => readings.rows().get(begin + at)?.since(),
            Self::Listed(since) => since.get(at)?.get(),
        }
    }

    /// Notes the next cluster: how many are noted already, in which row its answers begin, and since
    /// when it is healthy. As long as each has one row after the other nothing has to be written.
    pub(crate) fn note(&mut self, at: usize, begin: usize, answers: usize, since: Stamp) {
        match self {
            Self::Listed(all) => all.push(since),
            Self::Rows(_, first) if at == 0 && answers == 1 => *first = begin,
            Self::Rows(_, first) if *first + at == begin && answers == 1 => {}
            Self::Rows(readings, first) => {
                let before = readings.rows().iter().skip(*first).take(at).map(Row::since_stamp);
                *self = Self::Listed(before.chain([since]).collect());
            }
        }
    }
}

impl Members {
    /// Clusters of which nothing was asked yet.
    pub fn not_asked(clusters: Clusters) -> Self {
        Self(Arc::new(Roll { clusters, usual: Usual::NotAsked, odd: Vec::new() }))
    }

    /// Clusters that are healthy, each since its time, but for the odd ones.
    pub(crate) fn healthy_but(clusters: Clusters, since: Since, odd: Vec<(usize, MemberState)>) -> Self {
        Self(Arc::new(Roll { clusters, usual: Usual::Healthy(since), odd }))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.clusters.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.clusters.is_empty()
    }

    /// The clusters.
    pub fn clusters(&self) -> &[ClusterName] {
        &self.0.clusters
    }

    /// How many are healthy on this version.
    pub fn healthy(&self) -> usize {
        match &self.0.usual {
            Usual::NotAsked => 0,
            Usual::Healthy(_) => self.len() - self.0.odd.len(),
        }
    }

    /// Whether the version was asked of any.
    pub fn asked(&self) -> bool {
        self.healthy() > 0 || self.odd().any(|state| *state != MemberState::NotAsked)
    }

    /// The states of those that are not healthy and not merely unasked.
    pub(crate) fn odd(&self) -> impl Iterator<Item = &MemberState> {
        self.0.odd.iter().map(|(_, state)| state)
    }

    /// Lets somebody change one of them.
    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut Member)) {
        let mut members: Vec<Member> = self.iter().collect();
        if let Some(member) = members.get_mut(at) {
            change(member);
        }
        *self = members.into_iter().collect();
    }

    /// Each of them and how it stands, at a glance: of those that are healthy as most are it is not said since when.
    pub fn glance(&self) -> impl Iterator<Item = (&ClusterName, &MemberState)> {
        let usual = match &self.0.usual {
            Usual::NotAsked => &MemberState::NotAsked,
            Usual::Healthy(_) => &MemberState::Healthy { since: None },
        };
        let mut odd = self.0.odd.iter().peekable();
        self.0.clusters.iter().enumerate().map(move |(at, cluster)| {
            (cluster, odd.next_if(|(place, _)| *place == at).map_or(usual, |(_, state)| state))
        })
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Member> {
        let mut odd = self.0.odd.iter().peekable();
        self.0.clusters.iter().enumerate().map(move |(at, cluster)| {
            let state = match (odd.next_if(|(place, _)| *place == at), &self.0.usual) {
                (Some((_, state)), _) => state.clone(),
                (None, Usual::NotAsked) => MemberState::NotAsked,
                (None, Usual::Healthy(since)) => MemberState::Healthy { since: since.get(at) },
            };
            Member { cluster: cluster.clone(), state }
        })
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<T: IntoIterator<Item = Member>>(members: T) -> Self {
        let members: Vec<Member> = members.into_iter().collect();
        let clusters = members.iter().map(|member| member.cluster.clone()).collect();
        let since = |member: &Member| match &member.state {
            MemberState::Healthy { since } => Some(*since),
            MemberState::NotAsked
            | MemberState::Progressing(_)
            | MemberState::Suspended(_)
            | MemberState::Unknown(_)
            | MemberState::Degraded(_)
            | MemberState::Failed(_) => None,
        };
        let usual = if members.iter().any(|member| since(member).is_some()) {
            Usual::Healthy(Since::Listed(members.iter().map(|member| Stamp::maybe(since(member).flatten())).collect()))
        } else {
            Usual::NotAsked
        };
        let odd = members.into_iter().enumerate().filter(|(_, member)| match &usual {
            Usual::NotAsked => member.state != MemberState::NotAsked,
            Usual::Healthy(_) => since(member).is_none(),
        });
        let odd = odd.map(|(at, member)| (at, member.state)).collect();
        Self(Arc::new(Roll { clusters, usual, odd }))
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.len() == other.len() && self.iter().eq(other.iter()))
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Member>::deserialize(deserializer).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::snapshot::{Cluster, Health, Read, Reading};
    use crate::testing::*;
    use alloc::vec;

    /// What a plan says of the members of bronze's landed 1.1.0: b-0 of no tier has answered before them.
    fn members(answers: &[(&str, Vec<Reading>)]) -> Members {
        let mut world = landed(answers[0].1.clone());
        for (name, readings) in &answers[1..] {
            join(&mut world, name, readings.clone());
        }
        if let Read::Known(clusters) = &mut world.clusters {
            clusters.push(Cluster { name: "b-0".into(), labels: [].into() });
        }
        facts(&mut world).readings.insert("b-0".into(), vec![healthy("1.0.0")]);
        let plan = crate::plan(&world, noon());
        plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().members.clone()
    }

    fn since(minutes: i64) -> Vec<Reading> {
        vec![Reading { since: Some(ago(minutes)), ..healthy("1.1.0") }]
    }

    fn times(members: &Members) -> Vec<Option<i64>> {
        let of = |member: Member| {
            let MemberState::Healthy { since } = member.state else { return Some(-1) };
            since.map(|since| noon().duration_since(since).as_mins())
        };
        let plain = |state: MemberState| match state {
            MemberState::Healthy { .. } => MemberState::Healthy { since: None },
            other => other,
        };
        let glance: Vec<_> = members.glance().map(|(name, state)| (name.clone(), plain(state.clone()))).collect();
        assert_eq!(glance, members.iter().map(|member| (member.cluster, plain(member.state))).collect::<Vec<_>>());
        members.iter().map(of).collect()
    }

    #[test]
    fn each_is_healthy_since_its_own_time() {
        let two = || [since(12), since(11)].concat();
        let ill = || vec![Reading { health: Health::Progressing, ..healthy("1.1.0") }];
        let unsaid = || vec![Reading { since: None, ..healthy("1.1.0") }];
        let all = |three: [Vec<Reading>; 3]| {
            let [one, two, three] = three;
            times(&members(&[("bronze-1", one), ("bronze-2", two), ("bronze-3", three)]))
        };
        assert_eq!(all([since(21), since(22), since(23)]), [21, 22, 23].map(Some));
        assert_eq!(all([two(), since(22), since(23)]), [11, 22, 23].map(Some), "two signals: the later time");
        assert_eq!(all([since(21), two(), since(23)]), [21, 11, 23].map(Some));
        assert_eq!(all([ill(), since(22), since(23)]), [-1, 22, 23].map(Some));
        assert_eq!(all([since(21), vec![], since(23)]), [21, -1, 23].map(Some));
        assert_eq!(all([vec![], two(), since(23)]), [-1, 11, 23].map(Some));
        assert_eq!(all([since(21), unsaid(), since(23)]), [Some(21), None, Some(23)]);
        // The first of them may have the first row of the table.
        let mut world = landed(since(21));
        join(&mut world, "bronze-2", since(22));
        join(&mut world, "bronze-3", since(23));
        let plan = crate::plan(&world, noon());
        let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        assert_eq!(times(&bronze.members), [21, 22, 23].map(Some));
        // A wave lists its clusters in another order than the table of answers.
        let backwards = [("bronze-1", since(21)), ("bronze-0", since(20)), ("bronze-2", since(22))];
        assert_eq!(times(&members(&backwards)), [21, 20, 22].map(Some));
    }

    #[test]
    fn a_list_is_what_its_members_are() {
        let from = |answers: [Vec<Reading>; 2]| {
            let [one, two] = answers;
            members(&[("bronze-1", one), ("bronze-2", two)])
        };
        let mut some = from([since(21), vec![]]);
        let again: Members = some.iter().collect();
        assert_eq!((again.len(), again.healthy(), &again), (2, 1, &some));
        assert_ne!(some, from([since(22), vec![]]));
        assert_ne!(some, from([vec![], since(21)]));
        assert_ne!(some, members(&[("bronze-1", since(21))]));
        some.change(1, |member| member.state = MemberState::Healthy { since: None });
        assert_eq!((times(&some), some.healthy()), (vec![Some(21), None], 2));
        assert_eq!(some.clusters(), ["bronze-1".into(), "bronze-2".into()]);
        let names = |members: &Members| members.iter().map(|member| member.cluster).collect::<Vec<_>>();
        let nobody = Members::not_asked(some.clusters().into());
        assert_eq!((nobody.len(), nobody.healthy(), names(&nobody)), (2, 0, some.clusters().to_vec()));
        let again: Members = nobody.iter().collect();
        assert_eq!((again.asked(), &again), (false, &nobody));
        assert!(!nobody.asked() && some.asked() && from([vec![], vec![]]).asked());
        let mut one = nobody.clone();
        let silent = from([vec![], vec![]]).iter().next().unwrap();
        one.change(0, |member| *member = silent);
        assert!(one.asked() && one.healthy() == 0 && one != nobody);
    }
}
