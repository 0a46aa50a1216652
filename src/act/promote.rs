//! Opens and moves promotion pull requests: commit, intent, branch, pull request, in that order, so
//! that a crash between any two leaves something that the next look finds and finishes.

use std::collections::BTreeMap;

use anyhow::Context as _;
use decide::ledger::{Change, Entry, Head};
use decide::plan::{Plan, Proposal};
use decide::{PullNumber, Sha};
use jiff::Timestamp;

use super::edit::{Refusal, chart_lock};
use super::{Receipt, branch, edit, intend};
use crate::git::{Access, Draft, GitError, Pushed, Store};
use crate::observe::{Seen, Spot};
use crate::rooms::Rooms;
use crate::tell;

/// Writes the commit, pushes the branch, opens the pull request. What already exists is found.
pub(super) async fn open(
    rooms: &mut Rooms,
    seen: &Seen,
    plan: &Plan,
    proposal: &Proposal,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let name = branch(&proposal.plugin, &proposal.tier);
    // A second, independent look: a person may have said no while our list lagged.
    for earlier in rooms.hub.pulls_of_branch(&name).await? {
        if earlier.open {
            return Ok(Receipt::Moved(format!("{} is already open for {name}", earlier.number)));
        }
        let same = proposal.written.as_ref().is_some_and(|head| head.commit == earlier.head);
        if same && earlier.merged_at.is_none() {
            return Ok(Receipt::Moved(format!("{} had this very commit and was closed", earlier.number)));
        }
    }
    let there = tip(rooms, &name).await?;
    let written = proposal.written.as_ref().filter(|head| there.as_ref() == Some(&head.commit));
    if written.is_none()
        && let Some(receipt) = push_anew(rooms, seen, proposal, there.as_ref(), now).await?
    {
        return Ok(receipt);
    }
    let (title, body) = texts(seen, plan, proposal)?;
    let (base, _) = seen.base(&proposal.tier).context("the base branch of the tier was not read")?;
    let number = rooms.hub.open_pull(&title, &name, base, &body).await?.number();
    Ok(Receipt::Done(format!("opened {number}, {title}")))
}

/// Moves the open pull request to what is proposed, by writing its branch anew on the present base.
pub(super) async fn update(
    rooms: &mut Rooms,
    seen: &Seen,
    plan: &Plan,
    (pull, head): (PullNumber, &Sha),
    proposal: &Proposal,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let name = branch(&proposal.plugin, &proposal.tier);
    let there = tip(rooms, &name).await?;
    if there.as_ref() != Some(head) {
        return Ok(Receipt::Moved(format!("the branch of {pull} moved")));
    }
    if let Some(receipt) = push_anew(rooms, seen, proposal, there.as_ref(), now).await? {
        return Ok(receipt);
    }
    let (title, body) = texts(seen, plan, proposal)?;
    rooms.hub.edit_pull(pull, Some(&title), Some(&body)).await?;
    Ok(Receipt::Done(format!("moved {pull} to {title}")))
}

/// Builds the commit on the present base, writes the intent, pushes the branch from `there`. Some
/// receipt where that did not come to its end.
async fn push_anew(
    rooms: &mut Rooms,
    seen: &Seen,
    proposal: &Proposal,
    there: Option<&Sha>,
    now: Timestamp,
) -> anyhow::Result<Option<Receipt>> {
    if let Some(tip) = there
        && !seen.wrote(&proposal.plugin, &proposal.tier, tip)
    {
        let name = branch(&proposal.plugin, &proposal.tier);
        let why = format!("the branch {name} holds {}, which the bot did not write; delete or rename it", tip.short());
        return Ok(Some(Receipt::Refused(why)));
    }
    let files = match edits(rooms, seen, proposal).await? {
        Ok(files) => files,
        Err(why) => return Ok(Some(Receipt::Refused(why))),
    };
    let ledger = rooms.ledger.as_ref().and_then(|branch| branch.tip().cloned());
    let ledger = ledger.context("the ledger has no commit yet that a promotion could cite")?;
    let (_, base) = seen.base(&proposal.tier).context("the base branch of the tier was not read")?;
    let draft = Draft {
        parents: vec![base.clone()],
        tree_of: Some(base.clone()),
        files,
        message: tell::commit_message(proposal, &ledger),
        author: rooms.author(),
        at: now,
    };
    let commit = rooms.git(move |store, _| store.commit(&draft)).await?;
    let change = Change::Intent {
        from: proposal.from.clone(),
        digest: proposal.digest.clone(),
        part: proposal.part.clone(),
        members: proposal.members.clone(),
        head: Head { commit: commit.clone(), at: now },
    };
    let (plugin, tier, version) = (proposal.plugin.clone(), proposal.tier.clone(), proposal.to.clone());
    let name = branch(&plugin, &tier);
    if let Some(receipt) = intend(rooms, Entry::Wave { plugin, tier, version, change }, now).await? {
        return Ok(Some(receipt));
    }
    let expected = there.cloned();
    let pushed = rooms.git(move |store, access| store.push_forced(access, &name, &commit, expected.as_ref())).await?;
    Ok(match pushed {
        Pushed::Done => None,
        Pushed::Moved { .. } => Some(Receipt::Moved("somebody moved the branch".to_string())),
        Pushed::Refused { why } => Some(Receipt::Refused(format!("the hub refused the branch: {why}"))),
    })
}

/// The edited files: every place of the proposal's clusters set to the version, one scalar each. The
/// inner error is a refusal that names the place.
async fn edits(
    rooms: &Rooms,
    seen: &Seen,
    proposal: &Proposal,
) -> anyhow::Result<Result<Vec<(String, Option<Vec<u8>>)>, String>> {
    let moves = |spot: &&Spot| spot.cluster.as_ref().is_none_or(|name| proposal.members.contains(name));
    let spots: Vec<Spot> = seen.spots(&proposal.plugin, &proposal.tier).iter().filter(moves).cloned().collect();
    if spots.is_empty() {
        return Ok(Err("no place on the base branch belongs to these clusters".to_string()));
    }
    let Some((_, base)) = seen.base(&proposal.tier) else {
        return Ok(Err("the base branch of the tier was not read".to_string()));
    };
    let (base, to) = (base.clone(), proposal.to.as_str().to_string());
    let paths: Vec<String> = spots.iter().map(|spot| spot.file.clone()).collect();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for path in paths {
        let (at, name) = (base.clone(), path.clone());
        let Some(bytes) = rooms.git(move |store, _| store.read(&at, &name)).await? else {
            return Ok(Err(format!("{path}: the file does not exist on the base branch")));
        };
        match String::from_utf8(bytes) {
            Ok(text) => texts.insert(path, text),
            Err(_) => return Ok(Err(format!("{path}: the file is not UTF-8"))),
        };
    }
    let before = texts.clone();
    for spot in &spots {
        let (Some(text), Some(scalar)) = (texts.get_mut(&spot.file), &spot.scalar) else {
            return Ok(Err(format!("{}: the place of the version was not found", spot.file)));
        };
        let (document, spelled) = (scalar.document.as_ref(), scalar.spell(&to));
        match edit::set(spot.write.format(), text, document, &scalar.path, &spelled) {
            Ok(edited) => *text = edited,
            Err(refusal) => return Ok(Err(format!("{}: {refusal}", spot.file))),
        }
    }
    if let Err(why) = locks(rooms, &base, &before, &mut texts, &to).await? {
        return Ok(Err(why));
    }
    Ok(Ok(texts.into_iter().map(|(path, text)| (path, Some(text.into_bytes()))).collect()))
}

/// Moves the lock of each chart whose dependency has moved. The inner error says why that cannot be done.
async fn locks(
    rooms: &Rooms,
    base: &Sha,
    before: &BTreeMap<String, String>,
    texts: &mut BTreeMap<String, String>,
    to: &str,
) -> anyhow::Result<Result<(), String>> {
    let mut locks = Vec::new();
    for (file, after) in texts.iter() {
        let Some(folder) = file.strip_suffix("Chart.yaml").filter(|folder| folder.is_empty() || folder.ends_with('/'))
        else {
            continue;
        };
        let Some(chart) = before.get(file) else { continue };
        let moved = chart_lock::moved(chart, after);
        if moved.is_empty() {
            continue;
        }
        let (at, lock) = (base.clone(), format!("{folder}Chart.lock"));
        let (name, charts) = (lock.clone(), format!("{folder}charts"));
        let read = move |store: &Store, _: &Access| match (store.read(&at, &name), store.list(&at, &charts)) {
            (Ok(text), Ok(vendored)) => Ok(Ok((text, vendored))),
            (Err(error @ GitError::Malformed { .. }), _) | (_, Err(error @ GitError::Malformed { .. })) => {
                Ok(Err(error))
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        let (text, vendored) = match rooms.git(read).await? {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let is_there = |archive: &String| {
            let below = format!("{folder}{archive}");
            vendored.iter().any(|path| *path == below || path.starts_with(&format!("{below}/")))
        };
        if let Some(archive) = moved.into_iter().flat_map(|one| one.archives).find(is_there) {
            return Ok(Err(format!("{file}: {}", Refusal::Vendored { archive })));
        }
        let Some(text) = text else { continue };
        let Ok(text) = String::from_utf8(text) else { return Ok(Err(format!("{lock}: the file is not UTF-8"))) };
        match chart_lock::relock(chart, after, &text, to) {
            Ok(moved) => locks.push((lock, moved)),
            Err(refusal) => return Ok(Err(format!("{lock}: {refusal}"))),
        }
    }
    texts.extend(locks);
    Ok(Ok(()))
}

async fn tip(rooms: &Rooms, name: &str) -> anyhow::Result<Option<Sha>> {
    let name = name.to_string();
    rooms.git(move |store, access| store.tip(access, &name)).await
}

/// Title and body as the plan has them; the next look writes what has changed since.
fn texts(seen: &Seen, plan: &Plan, proposal: &Proposal) -> anyhow::Result<(String, String)> {
    let wave = plan.waves.iter().find(|wave| wave.plugin == proposal.plugin && wave.tier == proposal.tier);
    let wave = wave.context("the plan proposes a wave that it does not report")?;
    Ok((tell::title(wave), seen.body(plan, wave)?))
}
