//! What a page keeps. The rule is told to people in `branch-readme.md`. It is stable: what it drops
//! would be dropped again, so that an entry about it changes nothing and is not written.

use std::collections::BTreeSet;

use decide::ledger::Wave;
use decide::{Ledger, PluginLedger, Version};

const WAVES: usize = 20;
const MAX_WAVES: usize = 500;
const RELEASES: usize = 200;
const OUTAGES: usize = 500;
const REBUILDS: usize = 500;
/// Hotfixes by commands of one plugin.
const HOTFIXES: usize = 100;
/// Labels on pull requests of one plugin.
const LABELLED: usize = 500;
/// Freezes that were lifted; one that holds is never forgotten.
const LIFTED: usize = 200;
/// Stops that were cleared, as above.
const CLEARED: usize = 200;

/// Shortens the page of one plugin.
pub(super) fn page(page: &mut PluginLedger) {
    tiers(page);
    releases(page);
    // By the time of the command: one that is seen again though it was dropped is dropped again.
    page.hotfixes.sort_by_key(|said| said.at);
    keep_last(&mut page.hotfixes, HOTFIXES);
    page.labelled.sort_by_key(|labelled| labelled.pull);
    keep_last(&mut page.labelled, LABELLED);
}

/// Shortens what the page keeps of each tier's past.
pub(crate) fn tiers(page: &mut PluginLedger) {
    page.tiers.values_mut().for_each(waves);
    page.tiers.retain(|_, waves| !waves.is_empty());
}

/// Shortens what is kept of the whole repository.
pub(super) fn root(ledger: &mut Ledger) {
    keep_last(&mut ledger.outages, OUTAGES);
    keep_last(&mut ledger.rebuilds, REBUILDS);
    keep_last_of(&mut ledger.freezes, LIFTED, |frozen| frozen.lifted.is_some());
    keep_last_of(&mut ledger.stops, CLEARED, |stop| stop.cleared.is_some());
}

/// Keeps everything that is not over, and the last of what is.
fn keep_last_of<T>(items: &mut Vec<T>, count: usize, is_over: impl Fn(&T) -> bool) {
    let mut forgotten = items.iter().filter(|item| is_over(item)).count().saturating_sub(count);
    items.retain(|item| {
        let forget = is_over(item) && forgotten > 0;
        forgotten -= usize::from(forget);
        !forget
    });
}

fn waves(waves: &mut Vec<Wave>) {
    let recent = waves.len().saturating_sub(WAVES);
    let landed = waves.iter().rposition(|wave| wave.landed().is_some());
    let finished = waves.iter().rposition(|wave| wave.finished().is_some());
    // An earlier slice is over when the climb is.
    let over = |here: usize| {
        waves[here].is_over()
            || waves.iter().skip(here + 1).any(|later| later.climbs_with(&waves[here]) && later.is_over())
    };
    let over: Vec<bool> = (0..waves.len()).map(over).collect();
    let mut index = 0;
    waves.retain(|wave| {
        let here = index;
        index += 1;
        here >= recent || wave.rejected().is_some() || !over[here] || Some(here) == landed || Some(here) == finished
    });
    keep_last(waves, MAX_WAVES);
}

fn releases(page: &mut PluginLedger) {
    if page.releases.len() <= RELEASES {
        return;
    }
    let mut versions: Vec<&Version> = page.releases.iter().map(|seen| &seen.version).collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.truncate(RELEASES);
    let mut kept: BTreeSet<Version> = versions.into_iter().cloned().collect();
    kept.extend(page.tiers.values().flatten().map(|wave| wave.version.clone()));
    page.releases.retain(|seen| kept.contains(&seen.version));
}

fn keep_last<T>(items: &mut Vec<T>, count: usize) {
    items.drain(..items.len().saturating_sub(count));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use decide::PullNumber;
    use decide::ledger::{Landed, Rejected, Seen};
    use jiff::Timestamp;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_760_000_000 + second).unwrap()
    }

    fn version(patch: usize) -> Version {
        format!("1.0.{patch}").parse().unwrap()
    }

    #[test]
    fn waves_that_still_mean_something_stay() {
        let mut page = PluginLedger::default();
        let waves: Vec<Wave> = (0..60)
            .map(|patch| {
                let mut wave = Wave::begun(version(patch), decide::Clusters::default(), at(0));
                match patch {
                    3 => *wave.rewrite().rejected = Some(Rejected { at: at(1), by: None, pull: PullNumber(3) }),
                    5 => {}
                    7 | 8 => *wave.rewrite().finished = Some(at(2)),
                    9 => {
                        *wave.rewrite().landed = Some(Landed { at: at(1), commit: None, by: None });
                        *wave.rewrite().superseded = Some(decide::ledger::Superseded { at: at(2), by: version(10) });
                    }
                    _ => {
                        *wave.rewrite().superseded =
                            Some(decide::ledger::Superseded { at: at(2), by: version(patch + 1) })
                    }
                }
                wave
            })
            .collect();
        page.tiers.insert("qa".into(), waves);
        page.tiers.insert("gold".into(), vec![]);
        super::page(&mut page);
        let kept: Vec<u64> = page.tiers[&"qa".into()].iter().map(|wave| wave.version.core().2).collect();
        let wanted: Vec<u64> = [3, 5, 8, 9].into_iter().chain(40..60).collect();
        assert_eq!(kept, wanted);
        assert!(!page.tiers.contains_key(&"gold".into()));
        let once = page.clone();
        super::page(&mut page);
        assert_eq!(page, once, "a second time drops nothing more");
    }

    #[test]
    fn the_newest_versions_and_those_of_waves_stay_seen() {
        // Seen newest first, as a registry lists them on the first day.
        let releases =
            (0..300).rev().map(|patch| Seen { version: version(patch), digest: None, first_seen: at(0) }).collect();
        let mut page = PluginLedger { releases, ..PluginLedger::default() };
        page.tiers.insert("qa".into(), vec![Wave::begun(version(5), decide::Clusters::default(), at(0))]);
        super::page(&mut page);
        let kept: Vec<u64> = page.releases.iter().map(|seen| seen.version.core().2).collect();
        let wanted: Vec<u64> = (100..300).rev().chain([5]).collect();
        assert_eq!(kept, wanted);
    }
}
