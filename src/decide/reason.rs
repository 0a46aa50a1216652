//! Why something may or may not happen: a closed list with one wording each, shown the same on the
//! pull request, the check, the dashboard and the terminal. Which reason applies is decided in
//! `gate`.

mod names;
mod parts;
mod sentences;
mod unblock;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use parts::{MemberTrouble, Scope, spell};

use crate::snapshot::{BreakingFact, MissingValue};
use crate::{ClusterName, Digest, Person, PluginName, PullNumber, Sha, TierName, Version};

/// A closed list of reasons. `Display` is the one wording; times stand beside it in the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // each variant is explained by its wording below
pub enum Reason {
    // tier below
    FirstTier,
    TierBelowFinished { tier: TierName, version: Version },
    TierBelowLetThrough { tier: TierName, version: Version },
    TierBelowUnfinished { tier: TierName, version: Version },
    AheadOfTier { tier: TierName, version: Version },
    NothingNewer { version: Option<Version> },
    // approvals
    ApprovalNotAsked,
    Approved { by: Vec<Person> },
    Covered { by: Vec<Person>, tiers: Vec<TierName> },
    NeedsApproval { owners: Vec<String>, missing: u32 },
    NeedsTeam { team: String, missing: u32, owners: Vec<String> },
    ChangesRequested { by: Vec<Person> },
    BypassMissing,
    RuleUnmet { rule: String, why: String },
    ManualMerge,
    // announcements
    ToBeTold { of: SignedDuration },
    Told { of: SignedDuration },
    // windows and freezes
    NoWindow,
    WindowOpen,
    WindowClosed { whose: Scope },
    ClosedDays { whose: Scope, why: String },
    OpeningClosed { why: String },
    OpensAtOnce,
    NotFrozen,
    Frozen { why: String, by: Option<Person> },
    FrozenByCommand { why: String, by: Person },
    // holds
    NotHeld,
    Held { by: Person, why: String },
    Draft,
    BetweenSlices { pause: SignedDuration },
    NeedsResume,
    Verifying { workflow: String },
    VerifyFailed { workflow: String },
    VerifyTimedOut { workflow: String, timeout: SignedDuration },
    // head and checks
    HeadOurs,
    HeadEdited { head: Sha },
    HeadAdded { head: Sha },
    HeadStale { head: Sha },
    MergedElsewhere { version: Version },
    MergeRefused { why: String, anew: bool },
    OtherBase { base: String },
    Conflict,
    Behind { voids: bool },
    LetsPass { pull: PullNumber },
    MergeabilityUnknown,
    ChecksGreen,
    ChecksPending { names: Vec<String> },
    ChecksFailed { names: Vec<String> },
    RulesLack { what: Vec<String> },
    // health
    NotLanded,
    AllHealthy { members: u32, tolerated: u32 },
    MembersBehind { members: Vec<MemberTrouble> },
    MembersUnknown { members: Vec<MemberTrouble> },
    MembersFailed { members: Vec<MemberTrouble>, tolerated: u32 },
    // soak
    SoakNotAsked,
    Soaking { of: SignedDuration },
    SoakPaused { of: SignedDuration },
    Soaked { of: SignedDuration },
    SoakOverdue { after: SignedDuration, members: Vec<MemberTrouble> },
    // progress deadline
    InTime,
    PastProgressDeadline { deadline: SignedDuration, members: Vec<MemberTrouble> },
    // releases
    Accepted,
    OutsideConstraint { constraint: String },
    DigestChanged { version: Version, pinned: Digest, found: Digest },
    EdgeBlocked { from: Option<Version>, to: Version, why: String, fixed_in: Option<Version> },
    BlockedByChart { from: Option<Version>, to: Version, why: String },
    BlockedByLabel { tier: TierName, version: Version, pull: PullNumber },
    Deprecated { version: Version, versions: String },
    Expires { version: Version, at: Timestamp, why: String },
    TooManyLive { version: Version, most: u32 },
    PinEnded { at: Timestamp },
    SameContent { version: Version, running: Version },
    Yanked { version: Version },
    ReleaseChecksPending { version: Version, names: Vec<String> },
    ReleaseChecksFailed { version: Version, names: Vec<String> },
    Unsigned { version: Version, why: String },
    RangeInPlace { file: String, range: String },
    Cooling { cooldown: SignedDuration },
    Follows,
    HotfixThroughWindows { why: String, closed: Box<Reason> },
    HotfixByCommand { by: Person, why: String },
    HotfixVoid { by: Person, version: Version, why: Box<Reason> },
    // plugins before it
    AfterNobody,
    AfterDone,
    AfterUnfinished { plugin: PluginName, tier: TierName },
    AfterVersion { plugin: PluginName, tier: TierName, asked: String, running: Option<Version> },
    // breaking
    NotBreaking,
    RequiredValueMissing { missing: Vec<MissingValue> },
    Acknowledged { by: Person },
    BreakingUnacknowledged { from: Version, to: Version, facts: Vec<BreakingFact> },
    NotRejected,
    Rejected { by: Option<Person>, pull: PullNumber },
    ReleaseHeld { version: Version, tier: TierName, why: Box<Reason> },
    FailedBy { by: Person, why: String },
    HealthLost { why: Box<Reason> },
    Watched { of: SignedDuration },
    Stalled { why: Box<Reason> },
    RollsBack { of: Version, why: Box<Reason> },
    RollBackAsksNone,
    RollBackOff,
    NoRollBack { why: Box<Reason> },
    RollBackOfRollBack,
    NothingKnownBefore,
    BreakingBetween { from: Version, to: Version },
    DigestUnproved { version: Version },
    Superseded { by: Version },
    Reverted { version: Version },
    // grace and force
    GraceOff,
    GraceRunning { deadline: Timestamp },
    GraceOver { deadline: Timestamp },
    ForceBlocked { by: Box<Reason> },
    OneStopAWindow { version: Version },
    ForceSaid { by: Vec<Person>, why: String },
    ForceNeedsSecond { by: Vec<Person>, missing: u32 },
    ForceWaits { by: Person, why: Box<Reason> },
    ForceVoid { by: Person, head: Sha },
    NeverForced,
    LedgerOpen { why: String },
    ClockSkew { skew: SignedDuration },
    PolicyBroken { why: String },
    // ledger
    LedgerIntact,
    LedgerLost { cited: Sha },
    Stopped { pull: PullNumber, head: Sha, why: String },
    Unproven { pull: PullNumber, why: String },
    // tiers and caps
    NoMembers { tier: TierName },
    NobodyMoves { tier: TierName },
    EmptyTierPassed { tier: TierName },
    PlacesShared { tier: TierName },
    ClusterInTwoTiers { cluster: ClusterName, tiers: Vec<TierName> },
    WithinLimits,
    OpenPullLimit { limit: u32 },
    ClusterLimit { limit: u32 },
    WaveAboveLimit { members: u32, limit: u32 },
    // what is there of a release
    Incomplete { version: Version, why: String },
    // anything that could not be read
    Unread { what: String, why: String },
    // alarms
    LookAgain,
    NoticeDue { before: SignedDuration },
}
