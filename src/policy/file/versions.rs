//! The keys that say which releases of a plugin are accepted.

use crate::policy::forms::List;
use crate::policy::read::record;
use crate::policy::scalar::{Exact, Flag, Helm, Name, Words};

record! {
    /// Which releases are accepted.
    VersionsFile = "versions" {
        /// The versions that are accepted at all. Default every release that is no pre-release.
        optional constraint "constraint": Helm,
        /// Whether pre-releases are accepted inside the constraint though it names none. Default false, as in Helm: a pre-release is for those who ask for it.
        optional prereleases "prereleases": Flag,
        /// Steps that must not be taken. Where the newest release is blocked from what runs on a tier, the newest one that is not is taken. Default none.
        optional block "block": List<BlockFile>,
    }
    later ["checks", "deprecated", "expires", "maxLive"]
}

record! {
    /// A step from one version to another that must not be taken.
    BlockFile = "block" {
        /// Where the step begins: what runs on the tier. Default anywhere.
        optional from "from": Helm,
        /// Where it ends.
        required to "to": Helm,
        /// Why, for who waits.
        required why "why": Words,
        /// The version that mends it, for people. Default none is known.
        optional fixed_in "fixedIn": Exact,
        /// Only on tiers above this one. Default everywhere: a broken step breaks the first tier, too.
        optional above "above": Name,
    }
    later []
}
