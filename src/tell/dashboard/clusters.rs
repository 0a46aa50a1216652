//! Clusters on a page: by state, each state with a mark and in words, and what is wrong with those that have something
//! wrong.

use std::collections::BTreeMap;

use decide::ClusterName;
use decide::plan::{Member, MemberState, WaveReport};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::super::inert;
use super::super::words::{self, Look, Tone};
use super::pieces::{Link, Time, time};

/// The most names on a page that is about them; those that need somebody come first.
pub(crate) const NAMES: usize = 2_000;
/// Up to so many names of clusters that need nobody are not folded.
const FEW: usize = 60;
/// The most characters of what is wrong with one.
const EVIDENCE: usize = 300;

/// The clusters that are in one state.
#[derive(Serialize)]
pub(crate) struct Group {
    tone: &'static str,
    mark: &'static str,
    pub(crate) word: &'static str,
    /// What the word means.
    means: &'static str,
    number: usize,
    open: bool,
    names: Vec<Name>,
    more: usize,
}

#[derive(Serialize)]
struct Name {
    name: String,
    since: Option<String>,
}

/// A cluster with something wrong.
#[derive(Serialize)]
pub(crate) struct Troubled {
    name: String,
    /// Of which plugin this is said, where the page is about several.
    plugin: Option<Link>,
    tone: &'static str,
    mark: &'static str,
    state: &'static str,
    evidence: String,
    since: Option<Time>,
}

/// How a cluster stands.
pub(crate) struct Standing {
    pub(crate) name: String,
    pub(crate) look: Look,
    pub(crate) means: &'static str,
    pub(crate) since: Option<String>,
}

impl Standing {
    pub(crate) fn of(name: String, state: &MemberState, since: Option<String>) -> Self {
        Self { name, look: words::member(state), means: meaning(state), since }
    }
}

/// What a state means, for somebody who meets the word for the first time.
fn meaning(state: &MemberState) -> &'static str {
    match state {
        MemberState::NotAsked => "nothing was asked of it yet",
        MemberState::Healthy { .. } => "proved to run what it should",
        MemberState::Progressing(_) => "on the way, or still on another version",
        MemberState::Suspended(_) => "paused by somebody",
        MemberState::Unknown(_) => "could not be found out",
        MemberState::Degraded(_) => "not working",
        MemberState::Failed(_) => "given up by its controller",
    }
}

/// The clusters by their states, those that need somebody first, and the names of so many.
pub(crate) fn groups(mut all: Vec<Standing>, names: usize) -> Vec<Group> {
    all.sort_by_key(|standing| standing.look.tone); // stable: the order of the wave where nothing else speaks
    let mut groups: Vec<Group> = Vec::new();
    let mut room = names;
    for Standing { name, look, means, since } in all {
        let at = groups.iter().position(|group| group.word == look.word).unwrap_or_else(|| {
            let (tone, mark, word) = (look.tone.class(), look.mark, look.word);
            groups.push(Group { tone, mark, word, means, number: 0, open: true, names: Vec::new(), more: 0 });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(at) else { continue };
        group.number += 1;
        group.open = look.tone <= Tone::Attention || group.number <= FEW;
        if room > 0 {
            group.names.push(Name { name, since });
            room -= 1;
        } else {
            group.more += 1;
        }
    }
    groups
}

/// The clusters of a wave by their states.
pub(crate) fn of_wave(wave: &WaveReport, names: usize, zone: &TimeZone) -> Vec<Group> {
    let one = |member: Member| {
        let since = words::member_facts(&member.state).0.map(|at| words::brief(at, zone));
        Standing::of(member.cluster.to_string(), &member.state, since)
    };
    groups(wave.members.iter().map(one).collect(), names)
}

/// A cluster of a wave, and how it stands there.
pub(crate) type Placed<'a> = (&'a WaveReport, &'a ClusterName, &'a MemberState);

/// The clusters of a wave that have something wrong.
pub(crate) fn ill(wave: &WaveReport) -> impl Iterator<Item = Placed<'_>> {
    let all_well = wave.members.healthy() == wave.members.len();
    let members = (!all_well).then(|| wave.members.glance()).into_iter().flatten();
    members.filter(|(_, state)| is_ill(state)).map(move |(cluster, state)| (wave, cluster, state))
}

fn is_ill(state: &MemberState) -> bool {
    match state {
        MemberState::NotAsked | MemberState::Healthy { .. } => false,
        MemberState::Progressing(_)
        | MemberState::Suspended(_)
        | MemberState::Unknown(_)
        | MemberState::Degraded(_)
        | MemberState::Failed(_) => true,
    }
}

/// What is wrong with the worst of them, and how many more there are. Of a large fleet they are many thousands: only
/// those that are shown are kept, and put into words.
pub(crate) fn worst<'a>(
    ill: impl Iterator<Item = Placed<'a>>,
    most: usize,
    tell: impl Fn(Placed<'a>) -> Troubled,
) -> (Vec<Troubled>, usize) {
    let (mut kept, mut count): (BTreeMap<Tone, Vec<Placed<'a>>>, usize) = (BTreeMap::new(), 0);
    for one in ill {
        count += 1;
        let alike = kept.entry(words::member(one.2).tone).or_default();
        if alike.len() < most {
            alike.push(one); // as they come, where that is equal
        }
    }
    let shown: Vec<Troubled> = kept.into_values().flatten().take(most).map(tell).collect();
    let more = count - shown.len();
    (shown, more)
}

/// What is wrong with one, of this plugin where the page is about several.
pub(crate) fn troubled(
    (_, cluster, state): Placed<'_>,
    plugin: Option<Link>,
    zone: &TimeZone,
    now: Timestamp,
) -> Troubled {
    let (since, evidence) = words::member_facts(state);
    let look = words::member(state);
    Troubled {
        name: cluster.to_string(),
        plugin,
        tone: look.tone.class(),
        mark: look.mark,
        state: look.word,
        evidence: inert::cut(&evidence, EVIDENCE),
        since: since.map(|at| time(at, zone, now)),
    }
}
