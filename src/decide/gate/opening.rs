//! When pull requests are opened: in the windows of `pullRequests`, if the file has some. What is open is written anew at
//! any time, and a climb that has begun goes on.

use alloc::string::String;

use super::asked::Asked;
use crate::plan::{Finding, Gate, Verdict};
use crate::{Reason, hotfix};

/// None where the file has no such windows.
pub(crate) fn finding(asked: &Asked<'_>) -> Option<Finding> {
    let Asked { facts, tier, version, .. } = *asked;
    let windows = facts.snapshot.policy.opening.as_ref()?;
    // What the hub does not show yet has begun to be opened.
    let begun = facts.page.climbing(&tier.name).is_some_and(|wave| wave.version == *version);
    if begun || facts.open_pull(&tier.name).is_some() || windows.open_at(facts.now) {
        return Some(Finding::pass(Gate::Window, Reason::WindowOpen));
    }
    let wished = facts.observed.is_some_and(|seen| seen.open_now.get(&tier.name) == Some(version));
    if wished || hotfix::entry(facts, version).is_some() {
        return Some(Finding::pass(Gate::Window, Reason::OpensAtOnce));
    }
    let why = windows.closed_because(facts.now).map_or_else(String::new, |closed| closed.why.clone());
    let verdict = Verdict::Wait { until: windows.next_open(facts.now) };
    Some(Finding::new(Gate::Window, verdict, Reason::OpeningClosed { why }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::model::Hotfix;
    use crate::next_release::tests::doings;
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;
    use crate::window::{ClosedDays, Range, Windows};
    use alloc::string::ToString;
    use alloc::vec;
    use jiff::tz::TimeZone;

    /// 1.1.0 has finished qa and comes to bronze next; it is Monday noon.
    fn world(from_hour: u16) -> Snapshot {
        let mut world = ready();
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        facts(&mut world).pulls = Read::Known(vec![]);
        let open = vec![Range { days: vec![1], from: from_hour * 60, to: 16 * 60 }];
        world.policy.opening = Some(Windows { open, ..Windows::always(TimeZone::UTC) });
        world
    }

    #[test]
    fn pull_requests_are_opened_in_their_windows() {
        assert_eq!(doings(&world(9)), ["open 1.1.0 on bronze"]);
        let closed = world(14);
        assert!(doings(&closed).is_empty());
        let plan = crate::plan(&closed, noon());
        let finding = says(&closed, Gate::Window);
        let opens = at("2026-11-23T14:00:00Z");
        assert_eq!(finding.verdict, Verdict::Wait { until: Some(opens) });
        assert_eq!(finding.because.to_string(), "pull requests are opened only in their window, which is closed");
        assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(opens), "it is opened when the window opens");
        let mut holidays = world(9);
        let day = jiff::civil::date(2026, 11, 23);
        let windows = holidays.policy.opening.as_mut().unwrap();
        windows.closed = vec![ClosedDays { from: day, to: day, why: "year-end".into() }];
        let said = says(&holidays, Gate::Window).because.to_string();
        assert_eq!(said, "no pull request is opened now: year-end");
    }

    #[test]
    fn a_hotfix_and_what_somebody_asked_for_open_at_once() {
        let mut hurried = world(14);
        let hotfix = Hotfix { version: version("1.1.0"), why: "CVE".into(), soak: None, through_windows: false };
        hurried.policy.plugins[0].hotfixes.push(hotfix);
        assert_eq!(doings(&hurried), ["open 1.1.0 on bronze"]);
        let wished = |of: &str| {
            let mut world = world(14);
            facts(&mut world).open_now = [("bronze".into(), version(of))].into();
            doings(&world)
        };
        assert_eq!(wished("1.1.0"), ["open 1.1.0 on bronze"]);
        assert!(wished("1.0.9").is_empty(), "another release was meant");
    }

    #[test]
    fn what_is_open_merges_and_moves_while_the_window_is_closed() {
        let mut world = ready();
        world.policy.opening = Some(Windows { open: vec![], ..self::world(14).policy.opening.unwrap() });
        let day = jiff::civil::date(2026, 11, 23);
        let windows = world.policy.opening.as_mut().unwrap();
        windows.closed = vec![ClosedDays { from: day, to: day, why: String::new() }];
        assert!(merges(&crate::plan(&world, noon())));
        edit(&mut world, |pull| pull.mergeable = crate::snapshot::Mergeable::Conflict);
        assert_eq!(doings(&world), ["move bronze to 1.1.0"]);
    }

    #[test]
    fn a_climb_goes_on_while_the_window_is_closed() {
        let mut world = sliced();
        world.policy.opening = self::world(14).policy.opening;
        assert_eq!(doings(&world), ["open 1.1.0 on bronze"], "its next slice");
        // Cut off between its intent and its pull request.
        let mut begun = ready();
        begun.policy.opening = world.policy.opening;
        facts(&mut begun).pulls = Read::Known(vec![]);
        let page = begun.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().pull = None;
        assert_eq!(doings(&begun), ["open 1.1.0 on bronze"]);
        assert_eq!(says(&begun, Gate::Window).because, Reason::WindowOpen);
    }
}
