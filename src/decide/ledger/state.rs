//! Where a wave stands: derived from its evidence here, and matched by whoever decides or reports. A fact by itself
//! (whether it landed, that it stalls) is read where it is kept.

use jiff::Timestamp;

use super::{Failed, Landed, Rejected, Superseded, Wave, Withdrawn};

/// Where a wave stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State<'a> {
    /// Its pull request is open, or about to be.
    Open,
    /// Ended before it came to the base branch.
    Closed(Closed<'a>),
    /// On the base branch; it has not finished.
    Landed(&'a Landed),
    /// On the base branch though it had ended before: somebody put it there all the same. Its health is watched, and it
    /// keeps nobody out.
    LandedAnyway(&'a Landed),
    /// On the base branch, and a newer release has taken its place.
    Overtaken(&'a Superseded),
    /// It finished its tier, whether or not all of its slices came to the base branch.
    Finished(Timestamp),
    /// It failed, on the base branch or before.
    Failed(&'a Failed),
}

/// What ended a wave before it came to the base branch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closed<'a> {
    /// A person said no.
    Rejected(&'a Rejected),
    /// A newer release took its place.
    Superseded(&'a Superseded),
    /// The bot took it back.
    Withdrawn(&'a Withdrawn),
}

impl Wave {
    /// Where it stands. What is more decisive counts: a failure, then the end of its soak; of what is on the base
    /// branch, a newer release in its place; of what is not, a person's word, then a newer release's.
    pub fn state(&self) -> State<'_> {
        if let Some(failed) = &self.failed {
            return State::Failed(failed);
        }
        if let Some(at) = self.finished {
            return State::Finished(at);
        }
        match (&self.landed, &self.rejected, &self.superseded, &self.withdrawn) {
            (Some(_), _, Some(superseded), _) => State::Overtaken(superseded),
            (Some(landed), None, None, None) => State::Landed(landed),
            (Some(landed), _, None, _) => State::LandedAnyway(landed),
            (None, Some(rejected), _, _) => State::Closed(Closed::Rejected(rejected)),
            (None, None, Some(superseded), _) => State::Closed(Closed::Superseded(superseded)),
            (None, None, None, Some(withdrawn)) => State::Closed(Closed::Withdrawn(withdrawn)),
            (None, None, None, None) => State::Open,
        }
    }
}

impl State<'_> {
    /// Whether nothing more comes of it by itself.
    pub fn is_over(self) -> bool {
        match self {
            Self::Open | Self::Landed(_) => false,
            Self::Closed(_) | Self::LandedAnyway(_) | Self::Overtaken(_) | Self::Finished(_) | Self::Failed(_) => true,
        }
    }

    /// Whether the health of what is on the base branch is still to be judged.
    pub fn soaks(self) -> bool {
        match self {
            Self::Landed(_) | Self::LandedAnyway(_) => true,
            Self::Open | Self::Closed(_) | Self::Overtaken(_) | Self::Finished(_) | Self::Failed(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ledger::Change;
    use crate::testing::*;
    use crate::{PullNumber, Reason};

    fn ended(name: &str) -> Change {
        match name {
            "landed" => Change::Landed(Landed { at: ago(9), commit: None, by: None }),
            "rejected" => Change::Rejected(Rejected { at: ago(8), by: None, pull: PullNumber(7) }),
            "superseded" => Change::Superseded(Superseded { at: ago(7), by: version("2.0.0") }),
            "withdrawn" => Change::Withdrawn(Withdrawn { at: ago(6), why: Reason::NotLanded }),
            "finished" => Change::Finished(ago(5)),
            "failed" => Change::Failed(Failed { at: ago(4), why: Reason::NotLanded }),
            other => unreachable!("{other}"),
        }
    }

    /// Whatever was noted, and in whichever order, a wave stands somewhere.
    #[test]
    fn what_is_more_decisive_counts() {
        for (evidence, expected, over, soaks) in [
            ("", "Open", false, false),
            ("landed", "Landed", false, true),
            ("rejected", "Closed(Rejected", true, false),
            ("superseded", "Closed(Superseded", true, false),
            ("withdrawn", "Closed(Withdrawn", true, false),
            ("withdrawn rejected", "Closed(Rejected", true, false),
            ("withdrawn superseded", "Closed(Superseded", true, false),
            ("rejected landed", "LandedAnyway", true, true),
            ("withdrawn landed", "LandedAnyway", true, true),
            ("landed superseded", "Overtaken", true, false),
            ("withdrawn landed superseded", "Overtaken", true, false),
            ("landed finished", "Finished", true, false),
            ("withdrawn finished", "Finished", true, false),
            ("landed finished failed", "Failed", true, false),
            ("failed landed", "Failed", true, false),
        ] {
            let mut world = ready();
            evidence.split(' ').filter(|name| !name.is_empty()).for_each(|name| remember(&mut world, ended(name)));
            let page = &world.ledger.plugins[&"app".into()];
            let wave = page.last(&"bronze".into()).unwrap();
            let state = wave.state();
            assert!(alloc::format!("{state:?}").starts_with(expected), "{evidence}: {state:?}");
            assert_eq!((state.is_over(), wave.is_over(), state.soaks()), (over, over, soaks), "{evidence}");
        }
    }
}
