//! The commit of a promotion, on no branch yet: made on disk, or by the hub where the rules of the base branch ask for
//! signatures.

use decide::Sha;
use decide::snapshot::Read;
use jiff::Timestamp;

use super::receipt::Receipt;
use crate::act::line::Line;
use crate::git::{Draft, GitError, TreeDraft};
use crate::hub::{HubError, TreeFile};
use crate::seal::Kind;

/// Makes it; the inner error is a refusal.
pub(super) async fn make(
    line: &mut Line,
    base: &str,
    draft: Draft,
    now: Timestamp,
) -> anyhow::Result<Result<Sha, Receipt>> {
    let hub = line.context.repo.hub.clone();
    // Where nobody knows, the hub refuses the merge of what is not signed, and says so.
    let signed = match line.context.memory.hub.rules(&hub, base, now).await {
        Read::Known(rules) => rules.signed,
        Read::Unread(_) => false,
    };
    if signed { by_hub(line, base, draft).await } else { on_disk(line, draft).await }
}

async fn on_disk(line: &Line, draft: Draft) -> anyhow::Result<Result<Sha, Receipt>> {
    let (seal, parents) = (line.context.repo.seal.clone(), draft.parents.clone());
    let sealed = move |tree: &str, message: &str| seal.put(Kind::Promotion, tree, &parents, message);
    let made =
        line.context.repo.git(move |store, _| refused(store.commit_with(&draft, |tree| sealed(tree, &draft.message))));
    Ok(made.await?.map_err(Receipt::Refused))
}

/// A new file may lie where something else does.
fn refused<T>(made: Result<T, GitError>) -> Result<Result<T, String>, GitError> {
    match made {
        Err(error @ GitError::Malformed { .. }) => Ok(Err(error.to_string())),
        made => made.map(Ok),
    }
}

/// The hub makes the tree and the commit, and what it made is held against ours before it counts.
async fn by_hub(line: &Line, base: &str, draft: Draft) -> anyhow::Result<Result<Sha, Receipt>> {
    let (repo, planned) = (&line.context.repo, draft.clone());
    let drafted = repo.git(move |store, _| refused(store.tree_draft(&planned))).await?;
    let TreeDraft { base: from, tree, files } = match drafted {
        Ok(drafted) => drafted,
        Err(why) => return Ok(Err(Receipt::Refused(why))),
    };
    let files: Vec<TreeFile> =
        files.into_iter().map(|(path, executable, text)| TreeFile { path, executable, text }).collect();
    let message = repo.seal.put(Kind::Promotion, &tree, &draft.parents, &draft.message);
    let made = match repo.hub.make_tree(&from, &files).await {
        Ok(made) if made == tree => repo.hub.make_commit(&message, &tree, &draft.parents).await,
        Ok(made) => {
            let why = format!("the hub made the tree {made} of what is {tree}, so that nothing was committed");
            return Ok(Err(Receipt::Refused(why)));
        }
        Err(error) => Err(error),
    };
    let made = match made {
        Ok(made) => made,
        Err(error @ HubError::Refused { .. }) => return Ok(Err(Receipt::Refused(error.to_string()))),
        Err(error) => return Err(error.into()),
    };
    if let Some(reason) = made.unverified {
        let why = format!(
            "`{base}` takes signed commits only, and the hub signed none for {} ({reason}): it does so for an App, not for \
             a person's token",
            repo.hub.bot()
        );
        return Ok(Err(Receipt::Refused(why)));
    }
    let (id, objects) = (made.id.clone(), made.objects);
    let here =
        repo.git(move |store, access| Ok(store.adopt(&id, &objects)? || store.fetch_commit(access, &id)?)).await?;
    if !here {
        return Ok(Err(Receipt::Moved(format!("the hub does not give {}, which it made", made.id.short()))));
    }
    let id = made.id.clone();
    let raw = repo.git(move |store, _| store.raw(&id)).await?;
    // The next look would take it for somebody else's.
    if raw.tree != tree || raw.parents != draft.parents || !repo.says_ours(&raw) {
        let why = format!("the hub made {}, which is not the commit that it was asked for", made.id.short());
        return Ok(Err(Receipt::Refused(why)));
    }
    Ok(Ok(made.id))
}
