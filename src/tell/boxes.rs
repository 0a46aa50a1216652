//! The boxes that people tick in the dashboard issue and in pull requests, read back from their texts. What comes of a
//! tick is in `act` and `observe`; how a box looks is in the templates.

use std::collections::BTreeSet;

use decide::{PluginName, PullNumber, Sha, TierName, Version};

use super::issue::ROWS;

/// The heading of the tasks of a pull request.
const TASKS: &str = "\n### To do for ";

/// A box that somebody has ticked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ticked {
    /// Look at everything again.
    Look,
    /// Write a pull request anew, as long as it holds this head.
    Rebase(PullNumber, Sha),
    /// Open the pull request of this release though the window for that is closed.
    Open(PluginName, TierName, Version),
}

/// The boxes that are ticked in a dashboard issue.
pub fn ticked(body: &str) -> Vec<Ticked> {
    let read = marks(body).filter_map(|mark| match mark.split(' ').collect::<Vec<_>>().as_slice() {
        ["look"] => Some(Ticked::Look),
        ["rebase", number, head] => Some(Ticked::Rebase(PullNumber(number.parse().ok()?), Sha::from(*head))),
        ["open", plugin, tier, version] => {
            Some(Ticked::Open(PluginName::from(*plugin), TierName::from(*tier), version.parse().ok()?))
        }
        _ => None,
    });
    read.take(2 * ROWS + 1).collect()
}

/// The head that the ticked box of a pull request's text is about. What is quoted in it stands before the last heading.
pub fn ticked_head(body: &str) -> Option<Sha> {
    let (_, last) = body.rsplit_once("### If something is wrong")?;
    marks(last).find_map(|mark| mark.strip_prefix("rebase ").map(Sha::from))
}

/// The tasks that somebody has ticked in a pull request's text. They stand in a section of their own, before whatever is
/// quoted of a release.
pub fn ticked_tasks(body: &str) -> BTreeSet<String> {
    let after = body.split_once(TASKS).map_or("", |(_, after)| after);
    let section = after.split("\n### ").next().unwrap_or_default();
    marks(section).filter_map(|mark| mark.strip_prefix("task ").map(str::to_string)).collect()
}

/// The marks of the boxes that somebody has ticked.
fn marks(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("- [x] ").or_else(|| line.trim_start().strip_prefix("- [X] "))?;
        rest.strip_prefix("<!-- coldframe:")?.split(" -->").next()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use decide::Reason;
    use decide::plan::{Finding, Gate, Verdict, WaveState};

    use super::*;
    use crate::tell::{View, dashboard_issue, fixture, is_dashboard_issue, words};

    fn text(view: View) -> String {
        let open = view.plan.waves.iter().filter_map(|wave| wave.pull);
        let heads = open.map(|pull| (pull, Sha::from("0123456789"))).collect();
        dashboard_issue(&view, &heads, &[], &BTreeMap::new(), (None, fixture::now())).unwrap()
    }

    /// A plugin that waits for the window in which pull requests are opened, and for nothing else.
    fn waiting() -> String {
        let mut view = fixture::view();
        let is = |wave: &&mut decide::plan::WaveReport| {
            wave.plugin.as_str() == "cert-manager" && wave.tier.as_str() == "gold"
        };
        let wave = view.plan.waves.iter_mut().find(is).unwrap();
        (wave.state, wave.version, wave.pull) = (WaveState::Waiting, Some(fixture::version("1.15.0")), None);
        let (verdict, because) = (Verdict::Wait { until: None }, Reason::OpeningClosed { why: String::new() });
        wave.findings = vec![Finding { gate: Gate::Window, verdict, because }];
        text(view)
    }

    #[test]
    fn ticked_boxes_are_read_back() {
        let text = text(fixture::view());
        assert!(is_dashboard_issue(&text) && ticked(&text).is_empty(), "{text}");
        let all = ticked(&text.replace("- [ ] ", "- [x] "));
        assert_eq!(all.first(), Some(&Ticked::Look));
        let heads = all.iter().skip(1).map(|ticked| match ticked {
            Ticked::Rebase(_, head) => head.as_str(),
            Ticked::Look | Ticked::Open(..) => "another",
        });
        assert!(all.len() > 1 && heads.into_iter().all(|head| head == "0123456789"), "{all:?}");
        let waits = waiting();
        assert!(waits.contains("outside of its window") && ticked(&waits).is_empty(), "{waits}");
        let found = ticked(&waits.replace("- [ ] <!-- coldframe:open", "- [x] <!-- coldframe:open"));
        assert_eq!(found, [Ticked::Open("cert-manager".into(), "gold".into(), fixture::version("1.15.0"))]);
        for forged in [
            "- [x] <!-- coldframe:open app gold -->",
            "- [x] <!-- coldframe:open app gold latest -->",
            "- [x] <!-- coldframe:rebase x y -->",
            "- [x] look",
            "[x] <!-- coldframe:look -->",
        ] {
            assert!(ticked(forged).is_empty(), "{forged}");
        }
    }

    #[test]
    fn the_box_of_a_pull_request_is_read_at_the_end_of_its_text() {
        let view = fixture::view();
        let head = Sha::from("0123456789");
        let wave = view.plan.waves.iter().find(|wave| matches!(wave.state, WaveState::Open { .. })).unwrap();
        let facts = crate::tell::PullFacts::of(&view.plan, wave, &view.links, &[]);
        let facts = facts.offering(&head, Some("vera asked for that"));
        let text = crate::tell::body(&facts).unwrap();
        assert!(text.contains("dismiss them. vera asked for that.") && ticked_head(&text).is_none(), "{text}");
        let ticked = text.replace("- [ ] ", "- [x] ");
        assert_eq!(ticked_head(&ticked), Some(head.clone()));
        // A line of a file that the text quotes is nobody's tick.
        assert_eq!(ticked_head(&format!("- [x] <!-- coldframe:rebase 00 -->\n{text}")), None);
        // Nothing is offered once it has landed.
        let landed = view.plan.waves.iter().find(|wave| words::landed(wave)).unwrap();
        let landed = crate::tell::body(&crate::tell::PullFacts { wave: landed, ..facts }).unwrap();
        assert!(!landed.contains("coldframe:rebase"), "{landed}");
    }
}
