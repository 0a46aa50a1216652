//! The one sentence of each reason. Who or what can unblock it is in `unblock`.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::parts::{list, people, spell};
use super::{Reason, Scope};

impl fmt::Display for Reason {
    #[allow(clippy::too_many_lines)] // one line per reason; splitting would hide one of them
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::FirstTier => "the first tier asks no tier below".to_string(),
            Self::TierBelowFinished { tier, version } => format!("{version} has finished {tier}"),
            Self::TierBelowLetThrough { tier, version } => {
                format!("{version} has left {tier} though not all were healthy there for the whole soak")
            }
            Self::TierBelowUnfinished { tier, version } => format!("{version} has not finished {tier}"),
            Self::AheadOfTier { tier, version } => {
                format!("{version} has finished {tier}, which is enough for clusters that are ahead of their tier")
            }
            Self::NothingNewer { version: Some(version) } => {
                format!("nothing newer than {version} is ready for this tier")
            }
            Self::NothingNewer { version: None } => "no release is ready for this tier".to_string(),
            Self::ApprovalNotAsked => "the policy asks for no approval of this step".to_string(),
            Self::Covered { by, tiers } => {
                format!("approved by {}, with what was given on {}", list(by), list(tiers))
            }
            Self::Approved { by } => format!("approved by {}", list(by)),
            Self::NeedsApproval { owners, missing } => people(owners, *missing),
            Self::NeedsTeam { team, missing, owners } => {
                let approvals = if *missing == 1 { "an approval".to_string() } else { format!("{missing} approvals") };
                let also = if owners.is_empty() { String::new() } else { format!(", and for one by {}", list(owners)) };
                format!("waits for {approvals} by members of {team}{also}")
            }
            Self::ChangesRequested { by } => format!("{} requested changes", list(by)),
            Self::BypassMissing => {
                "branch rules ask for a review that the policy does not, and no bypassing App is set up".to_string()
            }
            Self::RuleUnmet { rule, why } => {
                format!("branch rules ask for a review, and a merge past it would skip their rule `{rule}`: {why}")
            }
            Self::ManualMerge => "the policy leaves this merge to a person".to_string(),
            Self::ToBeTold { of } => format!("people have to be told {} before it merges", spell(*of)),
            Self::Told { of } => format!("people were told more than {} ago", spell(*of)),
            Self::NoWindow => "no window restricts merging".to_string(),
            Self::WindowOpen => "every window is open".to_string(),
            Self::WindowClosed { whose: Scope::Clusters } => {
                "the maintenance window of these clusters is closed".to_string()
            }
            Self::WindowClosed { whose } => format!("the window of the {whose} is closed"),
            Self::ClosedDays { whose: Scope::Clusters, why } => format!("these clusters are closed for: {why}"),
            Self::ClosedDays { whose, why } => format!("the {whose} is closed for: {why}"),
            Self::OpeningClosed { why } if why.is_empty() => {
                "pull requests are opened only in their window, which is closed".to_string()
            }
            Self::OpeningClosed { why } => format!("no pull request is opened now: {why}"),
            Self::OpensAtOnce => {
                "it is opened although that window is closed: it is a hotfix, or somebody asked for it".to_string()
            }
            Self::NotFrozen => "no freeze".to_string(),
            Self::Frozen { why, by: Some(by) } => format!("frozen by {by}: {why}"),
            Self::Frozen { why, by: None } => format!("frozen: {why}"),
            Self::FrozenByCommand { why, by } if why.is_empty() => format!("frozen by {by} with a command"),
            Self::FrozenByCommand { why, by } => format!("frozen by {by} with a command: {why}"),
            Self::NotHeld => "nobody holds it".to_string(),
            Self::Held { by, why } if why.is_empty() => format!("held by {by}"),
            Self::Held { by, why } => format!("held by {by}: {why}"),
            Self::Draft => "the pull request is a draft, which counts as a hold".to_string(),
            Self::BetweenSlices { pause } => format!("pauses for {} before the next slice", spell(*pause)),
            Self::NeedsResume => "the next slice waits until somebody lets it go on".to_string(),
            Self::Verifying { workflow } => format!("{workflow} verifies what has moved"),
            Self::VerifyFailed { workflow } => format!("{workflow} found what has moved wanting"),
            Self::VerifyTimedOut { workflow, timeout } => {
                format!("{workflow} has not ended within {}", spell(*timeout))
            }
            Self::HeadOurs => "the branch holds what the bot wrote".to_string(),
            Self::HeadEdited { head } => {
                format!("somebody pushed {} to the branch; the bot keeps its hands off", head.short())
            }
            Self::HeadAdded { head } => {
                format!("{} was added by hand and leaves every version as it is: a person merges it", head.short())
            }
            Self::HeadStale { head } => {
                format!("the branch still holds {}, which the bot is about to replace", head.short())
            }
            Self::MergedElsewhere { version } => {
                format!("the hub says it is merged, but {version} is not on the base branch")
            }
            Self::MergeRefused { why, anew: false } => format!("it was not merged: {why}"),
            Self::MergeRefused { why, anew: true } => {
                format!("its commit is to be written anew before it merges: {why}")
            }
            Self::OtherBase { base } => format!("it goes to `{base}`, which is not the base branch of this tier"),
            Self::Conflict => "it conflicts with the base branch".to_string(),
            Self::Behind { voids } => {
                let void = if *voids { ", and by these rules that voids its approvals" } else { "" };
                let turn = "it is brought up to date when its turn comes";
                format!("branch rules want it to contain its base branch; {turn}{void}")
            }
            Self::LetsPass { pull } => format!("{pull} was brought up to date and merges first"),
            Self::MergeabilityUnknown => "the hub has not worked out whether it merges".to_string(),
            Self::ChecksGreen => "every required check is green".to_string(),
            Self::ChecksPending { names } => format!("required checks are missing or running: {}", list(names)),
            Self::ChecksFailed { names } => format!("required checks failed: {}", list(names)),
            Self::RulesLack { what } => format!("branch rules let nobody merge it yet: {}", list(what)),
            Self::NotLanded => "it is not on the base branch".to_string(),
            Self::AllHealthy { members: 0, .. } => "nobody who moved before is left to wait for".to_string(),
            Self::AllHealthy { members, tolerated: 0 } => format!("{members} of {members} healthy on this version"),
            Self::AllHealthy { members, tolerated } => {
                format!(
                    "{} of {members} healthy on this version, {tolerated} tolerated",
                    members.saturating_sub(*tolerated)
                )
            }
            Self::MembersBehind { members } => list(members),
            Self::MembersUnknown { members } => list(members),
            Self::MembersFailed { members, tolerated } => {
                format!("{}; {} failed, {tolerated} tolerated", list(members), members.len())
            }
            Self::SoakNotAsked => "no soak is asked for".to_string(),
            Self::Soaking { of } => format!("soaks for {}", spell(*of)),
            Self::SoakPaused { of } => format!("the soak of {} stands still until all are healthy", spell(*of)),
            Self::Soaked { of } => format!("all were healthy for {}", spell(*of)),
            Self::SoakOverdue { after, members } if members.is_empty() => {
                format!("let through after {} although the soak had stood still", spell(*after))
            }
            Self::SoakOverdue { after, members } => {
                format!("let through after {} without: {}", spell(*after), list(members))
            }
            Self::InTime => "within the progress deadline".to_string(),
            Self::PastProgressDeadline { deadline, members } if members.is_empty() => {
                format!("not healthy {} after it landed", spell(*deadline))
            }
            Self::PastProgressDeadline { deadline, members } => {
                format!("not healthy {} after it landed: {}", spell(*deadline), list(members))
            }
            Self::Accepted => "the policy accepts this version".to_string(),
            Self::OutsideConstraint { constraint } => format!("outside the constraint `{constraint}`"),
            Self::DigestChanged { version, pinned, found } => {
                format!("{version} was published again with other content: pinned {pinned}, now {found}")
            }
            Self::EdgeBlocked { from, to, why, fixed_in } => {
                let from = from.as_ref().map_or("a first install".to_string(), ToString::to_string);
                let fixed = fixed_in.as_ref().map(|version| format!(" (mended in {version})")).unwrap_or_default();
                format!("the step from {from} to {to} is blocked: {why}{fixed}")
            }
            Self::BlockedByChart { from: Some(from), to, why } => {
                format!("its chart blocks the step from {from} to {to}: {why}")
            }
            Self::BlockedByChart { from: None, to, why } => format!("its chart blocks a first install of {to}: {why}"),
            Self::BlockedByLabel { tier, version, pull } => {
                format!("{version} goes no further than {tier} while {pull} has the label `coldframe/block`")
            }
            Self::Deprecated { version, versions } => format!("{version} is deprecated (`{versions}`)"),
            Self::Expires { version, at, why } if why.is_empty() => {
                format!("{version} is to be left by {at:.0}")
            }
            Self::Expires { version, at, why } => format!("{version} is to be left by {at:.0}: {why}"),
            Self::TooManyLive { version, most } => {
                format!("{version} is to be left: more than {most} versions run")
            }
            Self::PinEnded { at } => format!("the pin that kept these clusters back ended at {at:.0}"),
            Self::SameContent { version, running } => {
                format!("{version} is the same artefact as {running}, which runs here: it would change nothing")
            }
            Self::Yanked { version } => format!("the source does not list {version} any more"),
            Self::ReleaseChecksPending { version, names } => {
                format!("the commit that released {version} waits for checks: {}", list(names))
            }
            Self::ReleaseChecksFailed { version, names } => {
                format!("checks failed on the commit that released {version}: {}", list(names))
            }
            Self::Unsigned { version, why } => format!("{version} is not signed as the policy asks: {why}"),
            Self::RangeInPlace { file, range } => {
                format!("{file} holds the range `{range}`, so that a controller moves this tier past every gate")
            }
            Self::Cooling { cooldown } => {
                format!("releases within {} of each other are taken together", spell(*cooldown))
            }
            Self::Follows => "the tier follows releases by itself, and the bot opens nothing there".to_string(),
            Self::HotfixThroughWindows { why, closed } => format!("a hotfix ({why}), though {closed}"),
            Self::HotfixByCommand { by, why } => format!("a hotfix, as {by} said with a command: {why}"),
            Self::HotfixVoid { by, version, why } => {
                format!("{by} names {version} a hotfix with a command, which changes nothing: {why}")
            }
            Self::AfterNobody => "no plugin goes before this one".to_string(),
            Self::AfterDone => "the plugins that go before this one have finished here".to_string(),
            Self::AfterUnfinished { plugin, tier } => format!("{plugin} goes first and has not finished on {tier}"),
            Self::AfterVersion { plugin, tier, asked, running } => {
                let running = running.as_ref().map_or("nothing".to_string(), ToString::to_string);
                format!("{plugin} goes first and runs {running} on {tier}; asked for is `{asked}`")
            }
            Self::NotBreaking => {
                "not a breaking step by its number, nor marked as one by its author, nor by what is different in it"
                    .to_string()
            }
            Self::Acknowledged { by } => format!("{by} acknowledged the migration notes"),
            Self::RequiredValueMissing { missing } => format!("a required value is missing: {}", list(missing)),
            Self::BreakingUnacknowledged { from, to, facts } if facts.is_empty() => {
                format!("{from} to {to} may break, and nobody has acknowledged the migration notes")
            }
            Self::BreakingUnacknowledged { from, to, facts } => {
                format!("{from} to {to} may break ({}), and nobody has acknowledged the migration notes", list(facts))
            }
            Self::NotRejected => "nobody said no".to_string(),
            Self::Rejected { by: Some(by), pull } => format!("{by} closed {pull}, which says no to this release"),
            Self::Rejected { by: None, pull } => format!("{pull} was closed, which says no to this release"),
            Self::ReleaseHeld { version, tier, why } => format!("{version} failed on {tier}: {why}"),
            Self::FailedBy { by, why } if why.is_empty() => format!("{by} says that it failed"),
            Self::FailedBy { by, why } => format!("{by} says that it failed: {why}"),
            Self::HealthLost { why } => format!("it lost its health after it had finished: {why}"),
            Self::Watched { of } => {
                format!("finished, and a loss of health within {} of that still counts", spell(*of))
            }
            Self::Stalled { why } => format!("nothing new starts here until all are healthy on it: {why}"),
            Self::RollsBack { of, why } => format!("restores what ran before {of}, which failed here: {why}"),
            Self::RollBackAsksNone => "a rollback asks no tier below".to_string(),
            Self::RollBackOff => "the policy asks for no rollback here".to_string(),
            Self::NoRollBack { why } => format!("it is not rolled back: {why}"),
            Self::RollBackOfRollBack => "it is a rollback itself".to_string(),
            Self::NothingKnownBefore => "what ran before it is not known".to_string(),
            Self::BreakingBetween { from, to } => format!("the way back from {to} to {from} crosses a breaking change"),
            Self::DigestUnproved { version } => {
                format!("the source does not prove that {version} still is what was pinned")
            }
            Self::Superseded { by } => format!("{by} takes its place"),
            Self::Reverted { version } => format!("{version} was taken off the base branch by somebody"),
            Self::GraceOff => "no grace period: it waits as long as it takes".to_string(),
            Self::GraceRunning { .. } => "merged without the missing approvals when the grace period ends".to_string(),
            Self::GraceOver { .. } => "the grace period is over".to_string(),
            Self::ForceBlocked { by } => format!("the grace period is over, but force waits: {by}"),
            Self::ForceSaid { by, why } => {
                let want = if by.len() == 1 { "wants" } else { "want" };
                format!("{} {want} it merged without the missing approvals: {why}", list(by))
            }
            Self::ForceNeedsSecond { by, missing } => {
                let want = if by.len() == 1 { "wants" } else { "want" };
                let whom = match missing {
                    1 => "another person who may say so".to_string(),
                    more => format!("{more} more people who may say so"),
                };
                format!("{} {want} it merged without the missing approvals, which waits for {whom}", list(by))
            }
            Self::ForceWaits { by, why } => {
                format!("{by} wants it merged without the missing approvals, which waits: {why}")
            }
            Self::ForceVoid { by, head } => {
                format!("{by} wanted it merged by force before the pull request held {}", head.short())
            }
            Self::NeverForced => "rollbacks and clusters that are ahead of their tier are never forced".to_string(),
            Self::LedgerOpen { why } => {
                format!(
                    "nothing is forced, no branch rule is passed and no approval carried over: others can write the ledger branch unnoticed ({why})"
                )
            }
            Self::OneStopAWindow { version } => {
                format!("{version} was forced in this window already; what has expired is left one stop a window")
            }
            Self::ClockSkew { skew } => {
                format!("force is off: our clock and the hub's differ by {}", spell(skew.abs()))
            }
            Self::PolicyBroken { why } => format!("nothing is merged: the newest policy file has errors ({why})"),
            Self::LedgerIntact => "the ledger holds every commit that is cited".to_string(),
            Self::LedgerLost { cited } => {
                format!(
                    "the ledger branch has lost commit {}; nothing merges until a person confirms the rebuild",
                    cited.short()
                )
            }
            Self::Stopped { pull, why, .. } => {
                format!("everything stands still because {pull} did not land as planned: {why}")
            }
            Self::Unproven { pull, why } => format!("whether {pull} landed as planned is not known yet: {why}"),
            Self::NoMembers { tier } => format!("no cluster belongs to tier {tier}"),
            Self::NobodyMoves { tier } => {
                format!("nobody on {tier} is left to move: its clusters are pinned, ahead of it, or others by now")
            }
            Self::EmptyTierPassed { tier } => format!("no cluster belongs to tier {tier}, and releases pass it"),
            Self::PlacesShared { tier } => {
                format!(
                    "some clusters of {tier} have to move apart from others, but share a place that holds the version"
                )
            }
            Self::ClusterInTwoTiers { cluster, tiers } => {
                format!("cluster {cluster} belongs to more than one tier: {}", list(tiers))
            }
            Self::WithinLimits => "within the limits".to_string(),
            Self::OpenPullLimit { limit } => format!("the limit of {limit} open pull requests is reached"),
            Self::ClusterLimit { limit } => format!("the limit of {limit} clusters changed in an hour is reached"),
            Self::WaveAboveLimit { members, limit } => {
                format!("it changes {members} clusters at once, and {limit} in an hour are the limit")
            }
            Self::Incomplete { version, why } => format!("{version} is not complete: {why}"),
            Self::Unread { what, why } => format!("{what} could not be read: {why}"),
            Self::LookAgain => "clusters are on the way".to_string(),
            Self::NoticeDue { before } => format!("the notice {} before the deadline is due", spell(*before)),
        };
        f.write_str(&text)
    }
}
