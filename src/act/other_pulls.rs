//! The check on pull requests of others: what the policy that they propose would change, and that there is nothing to say
//! where branch rules want our word. A head that the bot itself stands for gets no word from here.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{CheckState, Read};
use decide::{Plan, PluginName, PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};

use crate::act::line::Line;
use crate::hub::{CHECK, ChangedFile, CheckAnnotation, CheckConclusion, CheckDraft, HubCheck, OtherPull};
use crate::observe::Seen;
use crate::observe::others::{self, Matters, Proposal, Proposed};
use crate::policy::{self, Change};
use crate::tell::{self, CheckText, MovedVersion, policy_check};

/// So long nobody asks again whether rules want our check that did not.
const UNREQUIRED: SignedDuration = SignedDuration::from_mins(2);

/// What was said of the heads of others, so that it is said once. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Told {
    /// What they change.
    known: others::Known,
    /// The mark of the check that was written last, by head.
    marks: BTreeMap<Sha, String>,
    /// The versions that pull requests of this repository change by hand, each with the head that was read.
    by_hand: BTreeMap<PullNumber, (Sha, Vec<MovedVersion>)>,
    /// When the rules of a branch did not want our check.
    unrequired: BTreeMap<String, Timestamp>,
}

/// Brings the checks on pull requests of others up to date. One that cannot be written keeps nothing else back.
pub async fn publish(line: &mut Line, seen: &Seen, now: Timestamp) {
    let ours = heads_of_ours(seen);
    let mut heads: BTreeMap<&Sha, Vec<&OtherPull>> = BTreeMap::new();
    for pull in seen.others.iter().filter(|pull| !ours.contains(&pull.head)) {
        heads.entry(&pull.head).or_default().push(pull);
    }
    heads.retain(|_, pulls| pulls.iter().all(|pull| !pull.claims) || pulls.iter().any(|pull| is_green(pull)));
    line.memory.others.marks.retain(|head, _| heads.contains_key(head));
    others::keep(&mut line.memory.others.known, &seen.others);
    let stands = |number: &PullNumber, head: &Sha| {
        seen.others.iter().any(|pull| pull.number == *number && pull.head == *head && !pull.foreign)
    };
    line.memory.others.by_hand.retain(|number, (head, _)| stands(number, head));
    let (matters, mut before) = (Matters::of(&line.context, seen), None);
    for (head, pulls) in heads {
        if let Err(error) = one(line, (seen, &matters), &pulls, &mut before, now).await {
            let repository = line.context.repo.full_name();
            tracing::warn!(repository, %head, error = %format!("{error:#}"), "check of somebody else's not put there");
        }
    }
}

/// The versions that open pull requests of others bring past the tiers below, for people.
pub(super) fn by_hand(line: &Line, seen: &Seen) -> Vec<tell::ByHand> {
    let found = line.memory.others.by_hand.iter().flat_map(|(number, (_, moved))| {
        let by = seen.others.iter().find(|pull| pull.number == *number).and_then(|pull| pull.author.clone());
        let forward = moved.iter().filter(|one| !one.goes_back());
        forward.map(move |one| tell::ByHand { number: *number, by: by.clone(), moved: one.clone() })
    });
    found.collect()
}

/// Whether our check on its head is green. The head of a merge group is: nobody else may go on with it.
fn is_green(pull: &OtherPull) -> bool {
    let check = pull.check.known().and_then(Option::as_ref);
    check.is_some_and(|check| check.state == CheckState::Success)
}

/// Every commit that the bot is known to have written or to stand for, whoever opened something with it.
fn heads_of_ours(seen: &Seen) -> BTreeSet<&Sha> {
    let pages = seen.snapshot.ledger.plugins.values();
    let waves = pages.flat_map(|page| page.tiers.values().flatten());
    let written = waves.flat_map(|wave| wave.heads.iter().chain(&wave.shown)).map(|head| &head.commit);
    written.chain(seen.pulls.iter().map(|pull| &pull.head)).collect()
}

/// One head, of one pull request or of several.
async fn one(
    line: &mut Line,
    (seen, matters): (&Seen, &Matters<'_>),
    pulls: &[&OtherPull],
    before: &mut Option<Plan>,
    now: Timestamp,
) -> anyhow::Result<()> {
    if let Some(pull) = pulls.iter().find(|pull| pull.claims) {
        return put(line, pull, policy_check::not_ours()?, Vec::new()).await;
    }
    let mut touched: Vec<(&OtherPull, Vec<ChangedFile>)> = Vec::new();
    for &pull in pulls {
        match others::touched(&mut line.memory.others.known, &line.context, matters, pull, now).await {
            Read::Known(files) => touched.push((pull, files)),
            // What it changes is not known: nothing is said.
            Read::Unread(why) => {
                unread(line, pull, &why);
                return Ok(());
            }
        }
    }
    let policy = touched.iter().find(|(pull, files)| others::proposes(matters, pull, files));
    if let Some((pull, files)) = policy {
        let proposal =
            match others::proposal(&mut line.memory.others.known, &line.context, seen, (pull, files), now).await {
                Read::Known(proposal) => proposal,
                Read::Unread(why) => {
                    unread(line, pull, &why);
                    return Ok(());
                }
            };
        let (moved, required) = match &proposal.read {
            Ok(_) => moved_by_hand(line, (seen, matters), &touched, now).await,
            Err(_) => (Read::Known(Vec::new()), Read::Known(false)),
        };
        let Read::Known(moved) = moved else { return Ok(()) };
        let held = required != Read::Known(false);
        let (text, remarks) = of_policy(line, seen, &proposal, (&moved, held), before, now)?;
        return put(line, pull, text, remarks).await;
    }
    nothing_proposed(line, (seen, matters), &touched, now).await
}

fn unread(line: &Line, pull: &OtherPull, why: &str) {
    let repository = line.context.repo.full_name();
    tracing::debug!(repository, pull = %pull.number, why, "nothing is said of what is not known");
}

/// A head that changes no policy: a word only where the rules want one.
async fn nothing_proposed(
    line: &mut Line,
    seen: (&Seen, &Matters<'_>),
    touched: &[(&OtherPull, Vec<ChangedFile>)],
    now: Timestamp,
) -> anyhow::Result<()> {
    let Some((pull, _)) = touched.first() else { return Ok(()) };
    let (nothing, remarks) = (policy_check::nothing_to_say()?, Vec::new());
    // What a commit changes stays as it is; only of files that hold versions it has to be looked at again.
    let plain = touched.iter().all(|(_, files)| files.is_empty());
    if plain && is_there(line, pull, &draft(&nothing, &pull.head, &remarks)) {
        return Ok(());
    }
    let (moved, required) = moved_by_hand(line, seen, touched, now).await;
    match (moved, required) {
        (Read::Known(moved), Read::Known(true)) if moved.is_empty() => put(line, pull, nothing, remarks).await,
        (Read::Known(moved), Read::Known(true)) => put(line, pull, policy_check::by_hand(&moved)?, remarks).await,
        (Read::Known(_) | Read::Unread(_), Read::Known(false)) => Ok(()),
        (Read::Unread(why), Read::Known(true)) | (Read::Known(_) | Read::Unread(_), Read::Unread(why)) => {
            unread(line, pull, &why);
            Ok(())
        }
    }
}

/// The versions that a head changes by hand, and whether the rules of a branch that it goes to want our check.
async fn moved_by_hand(
    line: &mut Line,
    (seen, matters): (&Seen, &Matters<'_>),
    touched: &[(&OtherPull, Vec<ChangedFile>)],
    now: Timestamp,
) -> (Read<Vec<MovedVersion>>, Read<bool>) {
    let mut required = Read::Known(false);
    for (pull, _) in touched {
        match is_required(line, &pull.base, now).await {
            Read::Known(false) => {}
            wanted @ (Read::Known(true) | Read::Unread(_)) => required = wanted,
        }
    }
    let mut all = Vec::new();
    for (pull, files) in touched {
        let known = &mut line.memory.others.known;
        match others::moved(known, &line.context, (seen, matters), (pull, files), now).await {
            Read::Known(moved) => {
                if !pull.foreign {
                    line.memory.others.by_hand.insert(pull.number, (pull.head.clone(), moved.clone()));
                }
                all.extend(moved);
            }
            Read::Unread(why) => return (Read::Unread(why), required),
        }
    }
    (Read::Known(all), required)
}

/// Whether the rules of a branch ask for our check: for one of that name by us, or by anybody.
pub(super) async fn is_required(line: &mut Line, branch: &str, now: Timestamp) -> Read<bool> {
    let unrequired = &line.memory.others.unrequired;
    if unrequired.get(branch).is_some_and(|at| *at + UNREQUIRED > now) {
        return Read::Known(false);
    }
    let hub = line.context.repo.hub.leisurely();
    let rules = match line.context.memory.hub.rules(&hub, branch, now).await {
        Read::Known(rules) => rules,
        Read::Unread(why) => return Read::Unread(format!("the rules of {branch}: {why}")),
    };
    let ours = |app: Option<u64>| app.is_none() || app == hub.app();
    let required = rules.contexts.iter().any(|wanted| wanted.name == CHECK && ours(wanted.app));
    if !required {
        line.memory.others.unrequired.insert(branch.to_string(), now);
    }
    Read::Known(required)
}

/// What is to be said of a proposed policy, and of its lines.
fn of_policy(
    line: &Line,
    seen: &Seen,
    proposal: &Proposal,
    (moved, required): (&[MovedVersion], bool),
    before: &mut Option<Plan>,
    now: Timestamp,
) -> anyhow::Result<(CheckText, Vec<CheckAnnotation>)> {
    let proposed = match &proposal.read {
        Ok(proposed) => proposed,
        Err(problems) => {
            let remarks = policy_check::remarks(problems, &proposal.files).into_iter();
            let annotation =
                |one: policy_check::Remark| CheckAnnotation { path: one.path, line: one.line, message: one.message };
            return Ok((policy_check::broken(problems, &proposal.files)?, remarks.map(annotation).collect()));
        }
    };
    let changes = policy::changes(&seen.loaded, &proposed.loaded);
    let warnings = &proposed.loaded.warnings;
    let mut facts =
        policy_check::Sound { changes: &changes, warnings, moved, required, ..policy_check::Sound::default() };
    let (follows, unknown) = following(line, seen, proposed, &changes, before, now);
    (facts.follows, facts.unknown) = (follows.as_ref(), &unknown);
    Ok((policy_check::sound(&facts)?, Vec::new()))
}

/// What would follow from a policy at once, by the facts of this look, and what nobody can say of it.
fn following(
    line: &Line,
    seen: &Seen,
    proposed: &Proposed,
    changes: &[Change],
    before: &mut Option<Plan>,
    now: Timestamp,
) -> (Option<tell::Consequences>, Vec<String>) {
    if let Some(why) = proposed.unknown() {
        return (None, vec![format!("What would follow is not known: {why}.")]);
    }
    if let Some(problem) = &seen.snapshot.policy_problem {
        let first = problem.lines().next().unwrap_or_default();
        let why = format!("What would follow is not known: the policy on the default branch has mistakes ({first}).");
        return (None, vec![why]);
    }
    let same = |plugin: &PluginName| proposed.is_about_the_same(seen, plugin);
    let plugins = proposed.loaded.policy.plugins.iter().map(|plugin| &plugin.name);
    let others: Vec<String> = plugins.filter(|plugin| !same(plugin)).map(ToString::to_string).collect();
    let unknown = match others.as_slice() {
        [] => Vec::new(),
        others => vec![format!(
            "What would follow for {} is known once this is merged: charts and signals are not asked before.",
            others.join(", ")
        )],
    };
    if changes.is_empty() && others.is_empty() && proposed.lists(seen) {
        return (None, unknown);
    }
    let before = before.get_or_insert_with(|| decide::plan(&seen.snapshot, now));
    let after = decide::plan(&proposed.snapshot(&line.context, seen), now);
    (Some(tell::consequences(before, &after, same)), unknown)
}

pub(super) fn draft(text: &CheckText, head: &Sha, annotations: &[CheckAnnotation]) -> CheckDraft {
    let conclusion = match text.conclusion {
        tell::Conclusion::ActionRequired => CheckConclusion::ActionRequired,
        tell::Conclusion::Success => CheckConclusion::Success,
        tell::Conclusion::Failure => CheckConclusion::Failure,
    };
    let (title, summary, annotations) = (text.title.clone(), text.summary.clone(), annotations.to_vec());
    CheckDraft { head: head.clone(), conclusion, title, summary, details: None, annotations }
}

/// Whether the check says this already.
fn is_there(line: &Line, pull: &OtherPull, draft: &CheckDraft) -> bool {
    let says = |check: &HubCheck| match &check.mark {
        Some(mark) => *mark == draft.mark(),
        None => check.run.is_none() && check.title == draft.description() && stands(check, draft),
    };
    let written = line.memory.others.marks.get(&pull.head) == Some(&draft.mark());
    match &pull.check {
        Read::Known(Some(check)) => says(check) || written,
        // Lists may not show it yet.
        Read::Known(None) | Read::Unread(_) => written,
    }
}

fn stands(check: &HubCheck, draft: &CheckDraft) -> bool {
    let state = match draft.conclusion {
        CheckConclusion::ActionRequired => CheckState::Pending,
        CheckConclusion::Success => CheckState::Success,
        CheckConclusion::Failure => CheckState::Failure,
    };
    check.state == state
}

/// Writes it unless it is there.
async fn put(
    line: &mut Line,
    pull: &OtherPull,
    text: CheckText,
    annotations: Vec<CheckAnnotation>,
) -> anyhow::Result<()> {
    let draft = draft(&text, &pull.head, &annotations);
    if is_there(line, pull, &draft) {
        return Ok(());
    }
    // The hub keeps the annotations of a run that is written again, so that only a green one is.
    let green = pull.check.known().and_then(Option::as_ref).filter(|check| check.state == CheckState::Success);
    let existing = green.and_then(|check| check.run).filter(|_| draft.annotations.is_empty());
    line.context.repo.hub.leisurely().set_check(&draft, existing).await?;
    line.memory.others.marks.insert(pull.head.clone(), draft.mark());
    Ok(())
}
