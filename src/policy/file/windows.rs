//! The keys of windows and freezes.

use super::tier::SelectFile;
use parse::forms::{Either, List};
use parse::read::record;
use parse::scalar::{Name, Words};
use parse::when::{CronText, Day, Hours, Length, Until, Zone};

record! {
    /// The instants at which a merge may happen. A window is judged by the zone's rules at that instant: in the gap of a clock change nothing exists, in its overlap both hours count.
    WindowsFile = "windows" {
        /// The zone of all hours and dates here. Windows of a tier or plugin take the zone of the file's windows by default; without those it must stand here, because a guess would be an hour off twice a year.
        optional zone "zone": Zone,
        /// Weekdays and hours, such as `Mon-Thu 08:00-16:00`, or a schedule with a length, such as `{cron: "0 8 * * 1-4", for: 8h}`. Open while any of them is. Default always open, `closed` aside.
        optional open "open": List<Either<Hours, CronFile>>,
        /// Days on which nothing merges; they win over `open`. Default none.
        optional closed "closed": List<ClosedFile>,
        /// Merges stop this long before a window closes, so that somebody is there when a rollout goes wrong. Default `0s`: the progress deadline watches a late one.
        optional room "room": Length,
    }
    unsupported []
}

record! {
    /// A window that begins when a schedule fires and lasts for a length of physical time, so that eight hours are eight hours on the day of a clock change, too. What clocks skip in a gap does not fire; what they show twice in an overlap fires the first time only.
    CronFile = "cron window" {
        /// When it begins, by the clocks of the zone.
        required cron "cron": CronText,
        /// How long it is open after each firing: a minute at least, 31 days at most. Where the next firing comes sooner, both are one window.
        required lasts "for": Length,
    }
    unsupported []
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
    unsupported []
}

record! {
    /// The windows of some clusters.
    MaintenanceFile = "maintenanceWindows" {
        /// Which clusters, by their labels in the inventory.
        required select "select": SelectFile,
        /// When a merge may change one of them.
        required windows "windows": WindowsFile,
    }
    unsupported []
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
        /// Only waves with a cluster that this selects. Default every cluster. A wave is stopped as a whole, because a pull request merges as a whole.
        optional select "select": SelectFile,
        /// Ends by itself: a date (that day included) or an instant. Default when somebody takes it out.
        optional until "until": Until,
    }
    unsupported []
}
