//! The keys of windows and freezes.

use crate::policy::forms::List;
use crate::policy::read::record;
use crate::policy::scalar::{Name, Words};
use crate::policy::when::{Day, Hours, Length, Until, Zone};

record! {
    /// The instants at which a merge may happen. A window is judged by the zone's rules at that instant: in the gap of a clock change nothing exists, in its overlap both hours count.
    WindowsFile = "windows" {
        /// The zone of all hours and dates here. Windows of a tier or plugin take the zone of the file's windows by default; without those it must stand here, because a guess would be an hour off twice a year.
        optional zone "zone": Zone,
        /// Weekdays and hours. Default always open, `closed` aside.
        optional open "open": List<Hours>,
        /// Days on which nothing merges; they win over `open`. Default none.
        optional closed "closed": List<ClosedFile>,
        /// Merges stop this long before a window closes, so that somebody is there when a rollout goes wrong. Default `0s`: the progress deadline watches a late one.
        optional room "room": Length,
    }
    later []
}

record! {
    /// Whole days on which nothing merges, both ends included.
    ClosedFile = "closed" {
        /// The first day.
        required from "from": Day,
        /// The last day, included.
        required to "to": Day,
        /// Why; shown on every pull request that waits for it. Default nothing.
        optional why "why": Words,
    }
    later []
}

record! {
    /// A stop of every merge in scope.
    FreezeFile = "freeze" {
        /// Why; shown on every pull request that it stops. Required, because who is stopped asks.
        required why "why": Words,
        /// Who froze. Default nobody named; git knows who wrote the line.
        optional by "by": Words,
        /// Only these tiers. Default all.
        optional tiers "tiers": List<Name>,
        /// Only these plugins. Default all.
        optional plugins "plugins": List<Name>,
        /// Ends by itself: a date (that day included) or an instant. Default when somebody takes it out.
        optional until "until": Until,
    }
    later []
}
