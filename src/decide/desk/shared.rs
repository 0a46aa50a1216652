//! What all plugins share while one plan is made, and what each of them takes of it.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::gate::after::Pages;
use crate::gate::limits::asked_at;
use crate::ledger::{Frozen, PluginLedger};
use crate::model::PluginPolicy;
use crate::proof::Proofs;
use crate::snapshot::{Pull, PullState, Snapshot};
use crate::{Person, PluginName, PullNumber, Sha, TierName};

/// What all plugins share while one plan is made: caps that one of them may use up.
pub(crate) struct Shared {
    /// Pull requests of the bot.
    pub openings: Openings,
    /// Clusters that the bot's merges changed, with the time of each landing; as much later as the
    /// clocks differ, since landings have the hub's time.
    pub changed: Vec<(Timestamp, u32)>,
    /// Waves that lack nothing but perhaps room under the cap of changed clusters.
    pub ready: Vec<Ready>,
    /// Those of them that an earlier look at all plugins found, as long as they have not merged: they are due
    /// before whatever is younger.
    pub due: Vec<Ready>,
    /// Tiers that lack nothing for a pull request but perhaps room under the cap of open ones.
    pub line: Vec<InLine>,
    /// Those of them that an earlier look at all plugins found, as long as they have not opened it: the place of
    /// whom the line comes to first is nobody else's.
    pub kept: Vec<InLine>,
    /// Tiers on which this plan opens a pull request.
    pub opening: Vec<(PluginName, TierName)>,
    /// Pages of plugins that this plan has decided and others wait for.
    pub pages: Pages,
    /// What people have frozen by commands.
    pub freezes: Vec<Frozen>,
    /// Merges of the bot that are not proved.
    pub proofs: Proofs,
}

/// A wave that may merge as soon as the cap of changed clusters has room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ready {
    /// What is due first is less: a hotfix or a way back, then by the age of the pull request.
    pub turn: (bool, Timestamp, PullNumber),
    pub plugin: PluginName,
    pub head: Sha,
    /// Clusters that it would change, where they do not count already.
    pub clusters: u32,
    /// Whether this plan merges it.
    pub merges: bool,
}

impl Ready {
    fn is(&self, plugin: &PluginName, head: &Sha) -> bool {
        self.plugin == *plugin && self.head == *head
    }
}

/// A tier that may have a pull request as soon as the cap of open ones has room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InLine {
    /// What is due first is less: a hotfix or a way back, then whose last one was begun first. By the age of a
    /// release it would never be the turn of a tier to which newer ones come all the time.
    pub turn: (bool, Option<Timestamp>),
    pub plugin: PluginName,
    pub tier: TierName,
    /// Whether this plan opens it.
    pub opens: bool,
}

impl InLine {
    fn is(&self, plugin: &PluginName, tier: &TierName) -> bool {
        self.plugin == *plugin && self.tier == *tier
    }
}

/// How many pull requests of the bot there are, for the cap of open ones.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Openings {
    /// Open, or about to be by this plan.
    pub open: u32,
    /// Cut off between the intent and the pull request: a place is kept for each.
    pub unfinished: u32,
}

impl Openings {
    /// One more.
    pub(crate) fn open(&mut self) {
        self.open = self.open.saturating_add(1);
    }

    /// One that was cut off.
    pub(crate) fn finish(&mut self) {
        self.unfinished = self.unfinished.saturating_sub(1);
        self.open();
    }
}

/// Over which time the cap of changed clusters counts.
pub(crate) const CAP_SPAN: SignedDuration = SignedDuration::from_hours(1);

impl Shared {
    pub(crate) fn count(snapshot: &Snapshot, now: Timestamp) -> Self {
        let open_pulls = snapshot
            .plugins
            .values()
            .filter_map(|facts| facts.pulls.known())
            .flatten()
            .filter(|pull| pull.state == PullState::Open)
            .count();
        let changed = snapshot
            .ledger
            .plugins
            .iter()
            .flat_map(|(plugin, page)| page.tiers.values().flatten().map(move |wave| (plugin, wave)))
            .filter_map(|(plugin, wave)| {
                let landed = wave.landed.as_ref();
                let pulls = snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known());
                let asked = asked_at(wave, pulls.map_or(&[], Vec::as_slice));
                // A ledger that was lost has forgotten that we asked for it; the hub knows who did.
                let by_us = asked.is_some() || landed.and_then(|landed| landed.by.as_ref()).is_some_and(is_app);
                let at = landed.map(|landed| landed.at).or(asked);
                let at = at.filter(|_| by_us)? + snapshot.hub.skew.abs();
                (at + CAP_SPAN > now).then_some((at, u32::try_from(wave.members.len()).unwrap_or(u32::MAX)))
            })
            .collect();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let openings = Openings { open: number(open_pulls), unfinished: number(unfinished(snapshot)) };
        Self {
            openings,
            changed,
            ready: Vec::new(),
            due: Vec::new(),
            line: Vec::new(),
            kept: Vec::new(),
            opening: Vec::new(),
            pages: Pages::new(),
            freezes: Vec::new(),
            proofs: Proofs::default(),
        }
    }

    /// How far it was used up before a plugin is decided.
    pub(crate) fn mark(&self) -> Mark {
        let (changed, ready, line, opening) =
            (self.changed.len(), self.ready.len(), self.line.len(), self.opening.len());
        Mark { openings: self.openings, changed, ready, line, opening }
    }

    /// What a plugin took since then.
    pub(crate) fn since(&self, mark: &Mark, plugin: &PluginName) -> Taken {
        Taken {
            opened: self.openings.open - mark.openings.open,
            finished: mark.openings.unfinished - self.openings.unfinished,
            changed: self.changed.get(mark.changed..).unwrap_or_default().to_vec(),
            ready: self.ready.get(mark.ready..).unwrap_or_default().to_vec(),
            line: self.line.get(mark.line..).unwrap_or_default().to_vec(),
            opening: self.opening.get(mark.opening..).unwrap_or_default().to_vec(),
            page: self.pages.get(plugin).cloned(),
        }
    }

    /// Takes what a plugin took when it was decided.
    pub(crate) fn take(&mut self, plugin: &PluginName, taken: &Taken) {
        self.openings.open = self.openings.open.saturating_add(taken.opened);
        self.openings.unfinished = self.openings.unfinished.saturating_sub(taken.finished);
        self.changed.extend_from_slice(&taken.changed);
        taken.ready.iter().for_each(|ready| self.is_ready(ready.clone()));
        taken.line.iter().for_each(|place| self.stands_in_line(place.clone()));
        self.opening.extend_from_slice(&taken.opening);
        self.pages.extend(taken.page.clone().map(|page| (plugin.clone(), page)));
    }

    /// A wave lacks nothing but perhaps room; what merges is due no more.
    pub(crate) fn is_ready(&mut self, ready: Ready) {
        if ready.merges {
            self.due.retain(|due| !due.is(&ready.plugin, &ready.head));
        }
        self.ready.push(ready);
    }

    /// Clusters of waves that are due before the one of a plugin with this head. What is not ready itself takes
    /// no turn.
    pub(crate) fn due_before(&self, plugin: &PluginName, head: &Sha) -> u32 {
        let Some(own) = self.due.iter().find(|due| due.is(plugin, head)) else { return 0 };
        let before = self.due.iter().filter(|due| due.turn < own.turn);
        before.fold(0, |sum, due| sum.saturating_add(due.clusters))
    }

    /// Whether something younger took the room that something older waits for.
    pub(crate) fn was_overtaken(&self) -> bool {
        let waiting = self.ready.iter().filter(|ready| !ready.merges).map(|ready| ready.turn).min();
        waiting.is_some_and(|first| self.ready.iter().any(|ready| ready.merges && ready.turn > first))
    }

    /// A tier lacks nothing for a pull request but perhaps room; for what is opened no place is kept any more.
    pub(crate) fn stands_in_line(&mut self, place: InLine) {
        if place.opens {
            self.kept.retain(|kept| !kept.is(&place.plugin, &place.tier));
        }
        self.line.push(place);
    }

    /// How many places are kept for others while a tier asks for one. Who did not stand in line comes after all
    /// who did.
    pub(crate) fn kept_before(&self, plugin: &PluginName, tier: &TierName) -> u32 {
        let own = self.kept.iter().find(|kept| kept.is(plugin, tier));
        let before = self.kept.iter().filter(|kept| own.is_none_or(|own| kept.turn < own.turn)).count();
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// Whether a tier took the place of another one whose turn it was.
    pub(crate) fn jumped_the_line(&self) -> bool {
        let waiting = self.line.iter().filter(|place| !place.opens).map(|place| place.turn).min();
        waiting.is_some_and(|first| self.line.iter().any(|place| place.opens && place.turn > first))
    }

    /// Clusters changed within the span before `now`.
    pub(crate) fn changed_lately(&self) -> u32 {
        self.changed.iter().fold(0, |sum, (_, clusters)| sum.saturating_add(*clusters))
    }
}

/// Whether an App merged it: ours, or the one that may bypass reviews, which has a name of its own.
fn is_app(by: &Person) -> bool {
    by.as_str().ends_with("[bot]")
}

/// Openings that were cut off between the intent and the pull request.
fn unfinished(snapshot: &Snapshot) -> usize {
    let cut_off = |policy: &PluginPolicy, tier: &TierName| {
        let page = snapshot.ledger.plugins.get(&policy.name);
        let wave = page.and_then(|page| page.climbing(tier)).filter(|wave| wave.pull.is_none())?;
        let pulls = snapshot.plugins.get(&policy.name)?.pulls.known()?;
        let shown = |pull: &Pull| {
            let written = wave.head().is_some_and(|head| head.commit == pull.head);
            pull.tier == *tier && (pull.state == PullState::Open || written)
        };
        (!pulls.iter().any(shown)).then_some(())
    };
    let policies = snapshot.policy.plugins.iter();
    policies.flat_map(|policy| policy.tiers.iter().filter_map(move |tier| cut_off(policy, &tier.name))).count()
}

/// How far what all share was used up at one moment.
pub(crate) struct Mark {
    openings: Openings,
    changed: usize,
    ready: usize,
    line: usize,
    opening: usize,
}

/// What one plugin took of what all share.
#[derive(Default)]
pub(crate) struct Taken {
    opened: u32,
    finished: u32,
    changed: Vec<(Timestamp, u32)>,
    ready: Vec<Ready>,
    line: Vec<InLine>,
    opening: Vec<(PluginName, TierName)>,
    /// Its page, where another plugin waits for it.
    page: Option<PluginLedger>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::PluginPolicy;
    use crate::ledger::{Change, Landed, Merging};
    use crate::snapshot::{Landing, Read};
    use crate::testing::*;
    use alloc::vec;

    /// The intent of 1.1.0 is on bronze, and nobody has seen its pull request yet.
    fn intended(pulls: Vec<Pull>) -> u32 {
        let mut world = ready();
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().pull = None;
        facts(&mut world).pulls = Read::Known(pulls);
        Shared::count(&world, noon()).openings.unfinished
    }

    #[test]
    fn what_was_cut_off_keeps_a_place_until_it_is_shown() {
        let closed = || PullState::Closed { at: ago(1), by: Some(BOT.into()) };
        assert_eq!(intended(vec![]), 1);
        assert_eq!(intended(vec![pull()]), 0);
        assert_eq!(intended(vec![Pull { head: "eeeeeeeeee".into(), ..pull() }]), 0, "somebody pushed to it");
        assert_eq!(intended(vec![Pull { state: closed(), ..pull() }]), 0, "it was there");
        assert_eq!(intended(vec![Pull { state: closed(), head: "eeeeeeeeee".into(), ..pull() }]), 1, "another one was");
        assert_eq!(intended(vec![Pull { tier: "qa".into(), ..pull() }]), 1, "of another tier");
    }

    /// Two plugins, each with a new release for its first tier.
    #[test]
    fn what_one_plugin_opens_the_next_one_counts() {
        let opens = |limit: u32| {
            let mut world = ready();
            world.policy.plugins[0].tiers.truncate(1);
            facts(&mut world).pulls = Read::Known(vec![]);
            facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
            let dns = PluginPolicy { name: "dns".into(), ..world.policy.plugins[0].clone() };
            world.policy.plugins.push(dns);
            world.plugins.insert("dns".into(), world.plugins[&"app".into()].clone());
            let page = world.ledger.plugins[&PluginName::from("app")].clone();
            world.ledger.plugins.insert("dns".into(), page);
            world.policy.limits.open_pulls = Some(limit);
            crate::plan(&world, noon()).actions.len()
        };
        assert_eq!([opens(0), opens(1), opens(2)], [0, 1, 2]);
    }

    /// What was merged counts for an hour by whichever clock is later.
    #[test]
    fn a_merge_counts_for_an_hour() {
        let counts = |minutes: i64, skew: i64| {
            let mut world = landed(vec![healthy("1.1.0")]);
            world.hub.skew = SignedDuration::from_mins(skew);
            remember(
                &mut world,
                Change::Merging(Merging { head: "aa".into(), at: ago(minutes), base: None, forced: None }),
            );
            remember(&mut world, Change::Landed(Landed { at: ago(minutes), commit: None, by: None }));
            Shared::count(&world, noon()).changed.len()
        };
        assert_eq!([counts(59, 0), counts(60, 0)], [1, 0]);
        assert_eq!([counts(60, 1), counts(60, -1), counts(61, 1)], [1, 1, 0]);
    }

    #[test]
    fn f32_what_the_hub_refused_to_merge_has_changed_no_cluster() {
        let counts = |refused: &[i64]| {
            let mut world = ready();
            edit(&mut world, |pull| pull.landing = Read::Unread("nobody asked".into()));
            let merging = Merging { head: pull().head, at: ago(5), base: None, forced: None };
            remember(&mut world, Change::Merging(merging));
            for minutes in refused {
                let refused = Change::Refused { head: pull().head, at: ago(*minutes), why: "405".into(), anew: false };
                remember(&mut world, refused);
            }
            Shared::count(&world, noon()).changed.len()
        };
        assert_eq!([counts(&[]), counts(&[6]), counts(&[5]), counts(&[4])], [1, 1, 0, 0]);
    }

    #[test]
    fn what_was_planned_and_never_sent_keeps_nobody_waiting() {
        let counts = |minutes: i64, landing: Read<Landing>, state: PullState| {
            let mut world = ready();
            let merging = Merging { head: pull().head, at: ago(minutes), base: Some("00".into()), forced: None };
            remember(&mut world, Change::Merging(merging));
            edit(&mut world, |pull| (pull.landing, pull.state) = (landing, state));
            let now = noon();
            Shared::count(&world, now).changed.iter().filter(|(at, _)| *at + CAP_SPAN > now).count()
        };
        let absent = || Read::Known(Landing::Absent);
        let merged = || PullState::Merged { at: ago(1), by: BOT.into(), commit: "dd".into() };
        for (name, minutes, landing, state, counted) in [
            ("just now", 1, absent(), PullState::Open, 1),
            ("nothing has come", 2, absent(), PullState::Open, 0),
            ("nobody knows", 2, Read::Unread("503".into()), PullState::Open, 1),
            ("it came, and the list lags", 2, Read::Known(Landing::Proven { commit: "dd".into() }), PullState::Open, 1),
            ("the hub says that it merged", 2, absent(), merged(), 1),
        ] {
            assert_eq!(counts(minutes, landing, state), counted, "{name}");
        }
    }

    /// A ledger that was lost knows of no intent; what an App merged counts all the same, what a person did does not.
    #[test]
    fn a_merge_that_a_lost_ledger_forgot_counts_by_who_did_it() {
        let counts = |by: Option<&str>, minutes: i64| {
            let mut world = landed(vec![healthy("1.1.0")]);
            let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
            let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
            wave.merging = None;
            wave.landed = Some(Landed { at: ago(minutes), commit: None, by: by.map(Into::into) });
            Shared::count(&world, noon()).changed_lately()
        };
        assert_eq!([counts(Some(BOT), 59), counts(Some("coldframe-force[bot]"), 59)], [1, 1]);
        assert_eq!([counts(Some(BOT), 60), counts(Some("olga"), 5), counts(None, 5)], [0, 0, 0]);
    }

    fn ready_one(number: u64, merges: bool) -> Ready {
        let turn = (false, ago(100 - number as i64), PullNumber(number));
        let head = Sha::new(alloc::format!("{number:040x}"));
        Ready { turn, plugin: "app".into(), head, clusters: 3, merges }
    }

    #[test]
    fn what_a_plugin_took_is_what_another_one_finds_taken() {
        let mut shared = Shared::count(&ready(), noon());
        (shared.openings, shared.due) =
            (Openings { open: 2, unfinished: 2 }, vec![ready_one(1, false), ready_one(2, false)]);
        let mark = shared.mark();
        shared.openings.open();
        shared.openings.finish();
        assert_eq!((shared.openings.open, shared.openings.unfinished), (4, 1));
        shared.is_ready(ready_one(1, true));
        shared.is_ready(ready_one(3, false));
        let taken = shared.since(&mark, &"app".into());
        assert_eq!((taken.opened, taken.finished, taken.ready.len()), (2, 1, 2));
        let due = |shared: &Shared| shared.due.iter().map(|due| due.turn.2.0).collect::<Vec<_>>();
        assert_eq!(due(&shared), [2], "what merges is due no more");
        let mut other = Shared::count(&ready(), noon());
        (other.openings, other.due) =
            (Openings { open: 2, unfinished: 2 }, vec![ready_one(1, false), ready_one(2, false)]);
        other.take(&"app".into(), &taken);
        assert_eq!((other.openings.open, other.openings.unfinished, due(&other)), (4, 1, vec![2]));
    }

    #[test]
    fn places_are_kept_for_those_whose_turn_it_is() {
        let place = |name: &str, minutes: i64, opens: bool| {
            let (plugin, tier) = (name.into(), "bronze".into());
            InLine { turn: (true, Some(ago(minutes))), plugin, tier, opens }
        };
        let mut shared = Shared::count(&ready(), noon());
        shared.kept = vec![place("one", 10, true), place("two", 20, false)];
        let kept = |shared: &Shared, name: &str, tier: &str| shared.kept_before(&name.into(), &tier.into());
        assert_eq!([kept(&shared, "one", "bronze"), kept(&shared, "two", "bronze")], [1, 0]);
        assert_eq!(
            [kept(&shared, "one", "qa"), kept(&shared, "three", "bronze")],
            [2, 2],
            "they did not stand in line"
        );
        let mark = shared.mark();
        shared.stands_in_line(place("one", 10, false));
        assert_eq!(shared.kept.len(), 2, "it still waits");
        assert!(!shared.jumped_the_line(), "nobody opens");
        shared.stands_in_line(place("two", 20, true));
        assert!(!shared.jumped_the_line(), "the older one opens");
        assert_eq!(kept(&shared, "one", "bronze"), 0, "for what is opened no place is kept");
        shared.stands_in_line(place("three", 10, true));
        assert!(!shared.jumped_the_line(), "both are as old");
        shared.stands_in_line(place("four", 5, true));
        assert!(shared.jumped_the_line());
        let taken = shared.since(&mark, &"one".into());
        let mut other = Shared::count(&ready(), noon());
        other.kept = vec![place("one", 10, true), place("two", 20, false)];
        other.take(&"one".into(), &taken);
        assert_eq!((other.line, other.kept), (shared.line, shared.kept));
    }

    #[test]
    fn only_what_merges_before_an_older_one_that_waits_has_overtaken_it() {
        let overtaken = |ready: &[Ready]| {
            let mut shared = Shared::count(&crate::testing::ready(), noon());
            ready.iter().for_each(|ready| shared.is_ready(ready.clone()));
            shared.was_overtaken()
        };
        assert!(!overtaken(&[]));
        assert!(!overtaken(&[ready_one(1, false)]), "nobody merges");
        assert!(!overtaken(&[ready_one(1, true), ready_one(2, true)]), "nobody waits");
        assert!(!overtaken(&[ready_one(1, true), ready_one(2, false)]), "the older one merges");
        assert!(!overtaken(&[ready_one(1, false), ready_one(2, false)]));
        assert!(!overtaken(&[ready_one(2, false), ready_one(2, true)]), "its own turn");
        assert!(overtaken(&[ready_one(1, false), ready_one(2, true)]));
    }
}
