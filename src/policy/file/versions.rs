//! The keys that say which releases of a plugin are accepted, which of them are hotfixes, and which
//! plugins go before it.

use crate::address::{HubRepository, Identity, Issuer, OpenPgpKeys, PublicKeys, TagPattern};
use parse::forms::{Either, List};
use parse::read::record;
use parse::scalar::{Count, Exact, Flag, Helm, Name, Words};
use parse::when::{Length, Until};

record! {
    /// Which releases are accepted.
    VersionsFile = "versions" {
        /// The versions that are accepted at all. Default every release that is no pre-release.
        optional constraint "constraint": Helm,
        /// Whether pre-releases are accepted inside the constraint though it names none. Default false, as in Helm: a pre-release is for those who ask for it.
        optional prereleases "prereleases": Flag,
        /// Steps that must not be taken. Where the newest release is blocked from what runs on a tier, the newest one that is not is taken. Default none.
        optional block "block": List<BlockFile>,
        /// Versions that people are told to leave: none of them is taken, and a tier that runs one says so. Default none.
        optional deprecated "deprecated": Helm,
        /// Versions that clusters must leave by a date: past it none of them is taken, and a pull request that leads away from one is merged without missing approvals, after notices, in a window, also where `force` is off. Default none.
        optional expires "expires": List<ExpiryFile>,
        /// So many versions may run at once on all tiers; who is on an older one must leave it within the grace period of the tier, or 30 days where it has none, after notices. Default any number.
        optional max_live "maxLive": Count<1>,
        /// Check runs or commit statuses of the commit that released a version, by name: it is accepted once all of them are green there. Default none: that a release exists is its author's word that it is one.
        optional checks "checks": Either<List<Words>, ChecksFile>,
        /// Who has to have signed a release. Default nobody.
        optional signed "signed": SignedFile,
    }
    unsupported []
}

record! {
    /// Who has to have signed a release.
    SignedFile = "signed" {
        /// Public keys as PEM, one after the other: one of them has to have signed the chart in its OCI registry, by `cosign sign --key`. Default none.
        optional cosign "cosign": PublicKeys,
        /// Who has to have signed it there without a key of their own, as a workflow does by `cosign sign`. Default nobody.
        optional keyless "keyless": KeylessFile,
        /// Public keys as `gpg --armor --export` writes them, one after the other: one of them has to have signed the chart by `helm package --sign`. Default none.
        optional pgp "pgp": OpenPgpKeys,
    }
    unsupported []
}

record! {
    /// Who signs without a key of their own.
    KeylessFile = "keyless" {
        /// Whom the certificate names, such as a workflow at a tag. `{version}` stands for the version of the chart.
        required identity "identity": Identity,
        /// Who vouches for that: `https://token.actions.githubusercontent.com` for workflows of GitHub.
        required issuer "issuer": Issuer,
    }
    unsupported []
}

record! {
    /// Checks of the commit that released a version.
    ChecksFile = "checks" {
        /// Their names; each of them must be green.
        required all "all": List<Words>,
        /// The repository of this hub whose commit released it. Default the one that the chart names: its annotation `org.opencontainers.image.source`, else its `sources` or its `home`.
        optional from "from": HubRepository,
        /// The tag at that commit. Default the commit that the chart's annotation `org.opencontainers.image.revision` names, else the tag `v{version}`, `{version}`, or the name of the chart or the plugin and the version (`loki-{version}`), whichever is there.
        optional tag "tag": TagPattern,
    }
    unsupported []
}

record! {
    /// Versions that clusters must leave by a date.
    ExpiryFile = "expires" {
        /// Which versions.
        required versions "versions": Helm,
        /// Until when they may run: a date (that day included) or an instant.
        required until "until": Until,
        /// Why, for who is told. Default nothing is said.
        optional why "why": Words,
    }
    unsupported []
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
    unsupported []
}

record! {
    /// A release that may pass a climbing one. It moves any open pull request, also an approved or announced one, whose approvals are void then and whose grace period starts anew. It never skips the proof of its version, and the order of the tiers stays.
    HotfixFile = "hotfix" {
        /// Which release.
        required version "version": Exact,
        /// Why, for who approves.
        required why "why": Words,
        /// Its own soak, where it is shorter than the tier's. Default the tier's: being in a hurry is said, not guessed.
        optional soak "soak": Length,
        /// Whether it may be merged while windows are closed; never through a freeze, and not by force. Default false: most fixes can wait for the morning.
        optional through_windows "throughWindows": Flag,
    }
    unsupported []
}

record! {
    /// A plugin that goes before this one on each tier.
    AfterFile = "after" {
        /// Its name.
        required plugin "plugin": Name,
        /// What it must run there. Default whatever does, with no unfinished wave.
        optional version "version": Helm,
    }
    unsupported []
}
