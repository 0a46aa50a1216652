//! Who or what can unblock each reason. The reasons and their wording are in the room above.

use alloc::format;
use alloc::string::{String, ToString};

use super::parts::list;
use super::{Reason, Scope};

impl Reason {
    /// Who or what can unblock it, in words; none where nothing needs unblocking.
    #[allow(clippy::too_many_lines)] // one line per reason
    pub fn unblock(&self) -> Option<String> {
        let text = match self {
            Self::TierBelowUnfinished { tier, .. } => format!("the clusters of {tier}, by staying healthy"),
            Self::NeedsApproval { owners, .. } if owners.is_empty() => {
                "anybody with write access, by approving".to_string()
            }
            Self::NeedsApproval { owners, .. } => format!("{}, by approving", list(owners)),
            Self::NeedsTeam { team, owners, .. } if owners.is_empty() => format!("members of {team}, by approving"),
            Self::NeedsTeam { team, owners, .. } => format!("members of {team} and {}, by approving", list(owners)),
            Self::ChangesRequested { by } => format!("{}, by approving or dismissing the review", list(by)),
            Self::BypassMissing => "the operator, by setting up the bypassing App; or anybody who approves".to_string(),
            Self::RuleUnmet { .. } => "whoever may approve, by approving; or whoever meets that rule".to_string(),
            Self::ManualMerge | Self::HeadAdded { .. } => "anybody with write access, by merging".to_string(),
            Self::WindowClosed { whose: Scope::Operator } | Self::ClosedDays { whose: Scope::Operator, .. } => {
                "time; or the operator, whose windows every repository obeys".to_string()
            }
            Self::WindowClosed { whose: Scope::Clusters } | Self::ClosedDays { whose: Scope::Clusters, .. } => {
                "time; or whoever edits `maintenanceWindows` or the labels of these clusters".to_string()
            }
            Self::WindowClosed { whose } | Self::ClosedDays { whose, .. } => {
                format!("time; or whoever edits the windows of the {whose}")
            }
            Self::OpeningClosed { .. } => {
                "time; or anybody with write access, by the box in the dashboard issue".to_string()
            }
            Self::Frozen { by: Some(by), .. } => format!("{by}, by taking the freeze out of the policy file"),
            Self::Frozen { by: None, .. } => "whoever takes the freeze out of the policy file".to_string(),
            Self::FrozenByCommand { by, .. } => {
                format!("{by} or anybody with write access: `/coldframe unfreeze` on this pull request")
            }
            Self::Held { by, .. } => format!("{by} or anybody with write access: `/coldframe resume`"),
            Self::Draft => "its author's team, by marking it ready for review".to_string(),
            Self::BetweenSlices { .. } => "time".to_string(),
            Self::NeedsResume => "anybody with write access: `/coldframe resume` on the last pull request".to_string(),
            Self::Verifying { workflow } => format!("the run of {workflow}, by succeeding"),
            Self::VerifyFailed { workflow } | Self::VerifyTimedOut { workflow, .. } => {
                format!("a newer release; or where the file says `stall`, whoever runs {workflow} again")
            }
            Self::HeadEdited { .. } => "whoever pushed, by merging or closing it".to_string(),
            Self::HeadStale { .. } => "the bot, at its next look".to_string(),
            Self::MergedElsewhere { .. } => "whoever looks after the base branch".to_string(),
            Self::MergeRefused { anew: false, .. } => {
                "whoever can do what the hub asks for; the bot tries again by itself".to_string()
            }
            Self::MergeRefused { anew: true, .. } => "the bot, by writing it anew".to_string(),
            Self::OtherBase { .. } => "the bot, by closing it; whoever pushed to it, by closing it".to_string(),
            Self::Conflict => "the bot, by writing it anew on the present base".to_string(),
            Self::Behind { voids: false } => "the bot, when everything else has passed; one at a time".to_string(),
            Self::Behind { voids: true } => {
                "the bot, when everything else has passed; then who approved it approves it again".to_string()
            }
            Self::LetsPass { pull } => format!("{pull}, by merging; the others go on after an hour"),
            Self::MergeabilityUnknown => "the hub, within minutes".to_string(),
            Self::ChecksPending { .. } | Self::ChecksFailed { .. } => "whoever owns these checks".to_string(),
            Self::RulesLack { .. } => "whoever can do what these rules ask for".to_string(),
            Self::NotLanded => "the merge of its pull request".to_string(),
            Self::MembersBehind { .. } | Self::MembersUnknown { .. } | Self::SoakOverdue { .. } => {
                "whoever runs these clusters".to_string()
            }
            Self::MembersFailed { .. } | Self::PastProgressDeadline { .. } => {
                "a newer release, or whoever runs these clusters".to_string()
            }
            Self::Soaking { .. } | Self::ToBeTold { .. } => "time".to_string(),
            Self::SoakPaused { .. } => "whoever runs the clusters that are not healthy".to_string(),
            Self::OutsideConstraint { .. } => "whoever edits the constraint in the policy file".to_string(),
            Self::DigestChanged { .. } => "a release under a new version".to_string(),
            Self::EdgeBlocked { fixed_in: Some(version), .. } => format!("{version}, or whoever edits the blocks"),
            Self::EdgeBlocked { fixed_in: None, .. } => {
                "a version it leaves out, or whoever edits the blocks".to_string()
            }
            Self::BlockedByChart { .. } => "a version that its author leaves out, or a newer release".to_string(),
            Self::BlockedByLabel { pull, .. } => format!("whoever takes the label off {pull}, or a newer release"),
            Self::Deprecated { .. } => "a newer release, or whoever edits `deprecated` in the policy file".to_string(),
            Self::Expires { .. } => "a newer release, or whoever edits `expires` in the policy file".to_string(),
            Self::TooManyLive { .. } => "the merge of a newer release on the tiers that run it".to_string(),
            Self::PinEnded { .. } => "the merge, or whoever writes a new pin".to_string(),
            Self::SameContent { .. } => "a release with other content".to_string(),
            Self::Yanked { .. } => {
                "whoever publishes it, by listing it again; a newer release; or whoever closes this pull request"
                    .to_string()
            }
            Self::ReleaseChecksPending { .. } | Self::ReleaseChecksFailed { .. } | Self::Unsigned { .. } => {
                "whoever released it".to_string()
            }
            Self::Cooling { .. } => "time; or a hotfix".to_string(),
            Self::AfterUnfinished { plugin, tier } => format!("the wave of {plugin} on {tier}, by finishing"),
            Self::AfterVersion { plugin, asked, .. } => format!("a release of {plugin} inside `{asked}`"),
            Self::RangeInPlace { file, .. } => format!("whoever writes the version that runs into {file}"),
            Self::RequiredValueMissing { .. } => "whoever sets the values of these clusters".to_string(),
            Self::BreakingUnacknowledged { to, .. } => {
                format!("anybody with write access: `/coldframe acknowledge {to}`")
            }
            Self::Rejected { .. } => "a newer release".to_string(),
            Self::ReleaseHeld { .. } => "a newer release, which may overtake it".to_string(),
            Self::GraceRunning { .. } | Self::NoticeDue { .. } => "time".to_string(),
            Self::ForceBlocked { by: why } | Self::ForceWaits { why, .. } => return why.unblock(),
            Self::ForceNeedsSecond { .. } => {
                "somebody else who may, by saying `/coldframe force <why>`; or an approval".to_string()
            }
            Self::ForceVoid { by, .. } => format!("{by}, by saying `/coldframe force` again; or an approval"),
            Self::NeverForced => "an approval".to_string(),
            Self::LedgerOpen { .. } => {
                "the operator, by running the bot as an App or giving it a key for the ledger; or an approval"
                    .to_string()
            }
            Self::OneStopAWindow { .. } => "time, in the next window; or an approval".to_string(),
            Self::ClockSkew { .. } => "the operator, by setting the clock".to_string(),
            Self::PolicyBroken { .. } => "whoever mends the policy file".to_string(),
            Self::LedgerLost { cited } => format!(
                "an administrator: `git fetch origin {cited} && git push origin {cited}:coldframe-ledger` gives the branch back what it has lost, `/coldframe rebuild {}` gives that up",
                cited.short()
            ),
            Self::Stopped { head, .. } => format!(
                "an administrator, who looks at the base branch, mends it, and says `/coldframe rebuild {}`",
                head.short()
            ),
            Self::Unproven { .. } => "the bot, at its next look".to_string(),
            Self::NoMembers { .. } | Self::ClusterInTwoTiers { .. } => {
                "whoever edits the inventory or the tier's selector".to_string()
            }
            Self::NobodyMoves { .. } => "whoever edits `pins` and `early`; or the end of a pin".to_string(),
            Self::PlacesShared { .. } => {
                "whoever edits the policy file, by naming a file per cluster in `write`".to_string()
            }
            Self::OpenPullLimit { .. } | Self::ClusterLimit { .. } => "time; or whoever edits the limits".to_string(),
            Self::WaveAboveLimit { .. } => {
                "whoever edits the limits, or lets the tier move in smaller slices".to_string()
            }
            Self::HotfixVoid { why, .. } => return why.unblock(),
            Self::Incomplete { .. } => "whoever releases it".to_string(),
            Self::Unread { .. } => "the operator, if it lasts".to_string(),
            Self::HealthLost { why } | Self::Stalled { why } => return why.unblock(),
            Self::NoRollBack { .. } => "whoever runs these clusters, or a newer release".to_string(),
            Self::RollBackOff => "whoever edits `onFailure` in the policy file".to_string(),
            Self::DigestUnproved { .. } => "whoever looks after the chart's source".to_string(),
            Self::RollBackOfRollBack | Self::NothingKnownBefore | Self::BreakingBetween { .. } => {
                "a person, by reverting it by hand".to_string()
            }
            Self::Reverted { .. } | Self::FailedBy { .. } => "a newer release".to_string(),
            Self::FirstTier
            | Self::TierBelowFinished { .. }
            | Self::NothingNewer { .. }
            | Self::ApprovalNotAsked
            | Self::Approved { .. }
            | Self::Covered { .. }
            | Self::Told { .. }
            | Self::NoWindow
            | Self::OpensAtOnce
            | Self::WindowOpen
            | Self::NotFrozen
            | Self::NotHeld
            | Self::HeadOurs
            | Self::ChecksGreen
            | Self::AllHealthy { .. }
            | Self::SoakNotAsked
            | Self::TierBelowLetThrough { .. }
            | Self::Soaked { .. }
            | Self::InTime
            | Self::Accepted
            | Self::EmptyTierPassed { .. }
            | Self::AheadOfTier { .. }
            | Self::HotfixThroughWindows { .. }
            | Self::HotfixByCommand { .. }
            | Self::AfterNobody
            | Self::Follows
            | Self::AfterDone
            | Self::NotBreaking
            | Self::Acknowledged { .. }
            | Self::NotRejected
            | Self::Watched { .. }
            | Self::RollsBack { .. }
            | Self::RollBackAsksNone
            | Self::Superseded { .. }
            | Self::GraceOff
            | Self::GraceOver { .. }
            | Self::ForceSaid { .. }
            | Self::LedgerIntact
            | Self::WithinLimits
            | Self::LookAgain => return None,
        };
        Some(text)
    }
}
