//! A repository without a policy: one pull request that proposes what `coldframe init` finds in it, and nothing else.
//! It is not kept in any ledger; the hub remembers it. Whoever closes it has said no.

use anyhow::Context as _;
use decide::{Person, PullNumber, Sha};
use jiff::Timestamp;

use crate::act::Line;
use crate::branches::ONBOARDING;
use crate::git::{Draft, FileChange, GitError, Pushed, Store};
use crate::hub::BranchPull;
use crate::init::{INVENTORY, POLICY, Proposal, Reader, walk};
use crate::policy;
use crate::repo::Repo;
use crate::tell::{self, Found, Onboarding};

/// The subject of its commit and its title.
const TITLE: &str = "Configure Coldframe";

/// How it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Offered {
    /// It waits for a person.
    Open(PullNumber),
    /// A person closed it, or has merged it before.
    Over(PullNumber),
    /// Nothing is proposed, for this reason.
    Nothing(String),
}

impl std::fmt::Display for Offered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(number) => write!(f, "{number} proposes a policy; nothing happens until it is merged"),
            Self::Over(number) => {
                write!(f, "there is no policy, and {number}, which proposed one, is closed; nothing happens")
            }
            Self::Nothing(why) => write!(f, "there is no policy, and none is proposed: {why}"),
        }
    }
}

/// The files that are proposed, with the text of the pull request.
struct Draught {
    files: Vec<FileChange>,
    body: String,
}

/// Proposes a policy, and says in the log how that stands where it is news.
///
/// # Errors
/// Where the hub or git did not answer, or the proposal itself is no policy.
pub async fn offer(line: &mut Line, now: Timestamp) -> anyhow::Result<()> {
    let offered = propose(&mut line.context.repo, now).await?.to_string();
    if line.memory.offered.as_ref() != Some(&offered) {
        tracing::info!(repository = line.context.repo.full_name(), "{offered}");
        line.memory.offered = Some(offered);
    }
    Ok(())
}

/// Proposes a policy where nobody has said no, and keeps the proposal up to date as long as nobody else has changed it.
async fn propose(repo: &mut Repo, now: Timestamp) -> anyhow::Result<Offered> {
    // Where the bot was at work before, somebody has taken the policy away.
    if repo.with_ledger(|branch, _, _| Ok(branch.tip().is_some())).await? {
        return Ok(Offered::Nothing("it had one before; put it back, or delete the branch `coldframe-ledger`".into()));
    }
    let (mut open, mut over) = (None, None);
    for pull in repo.hub.pulls_of_branch(ONBOARDING).await? {
        let ours = pull.author.as_ref() == Some(repo.hub.bot());
        match (ours, pull.open) {
            (true, true) => open = Some(pull),
            (true, false) => over = Some(pull.number),
            (false, true) => return Ok(Offered::Nothing(in_the_way(&pull))),
            (false, false) => {}
        }
    }
    if let (None, Some(number)) = (&open, over) {
        return Ok(Offered::Over(number));
    }
    let default = repo.repository.default_branch.clone();
    let (base, draught) = repo
        .git(move |store, access| {
            let Some(base) = store.fetch(access, &default, Some(1))? else { return Ok(None) };
            let proposal = proposal(store, &base)?;
            Ok(Some((base.clone(), drawn(store, &base, &proposal)?)))
        })
        .await?
        .with_context(|| format!("the default branch `{}` does not exist", repo.repository.default_branch))?;
    let draught = match draught? {
        Ok(draught) => draught,
        Err(why) => return Ok(Offered::Nothing(why)),
    };
    if !pushed(repo, &base, &draught.files, now).await? {
        let somebody = "somebody else has pushed to the branch `coldframe-onboarding`";
        return Ok(open.map_or_else(|| Offered::Nothing(somebody.into()), |pull| Offered::Open(pull.number)));
    }
    let number = match open {
        Some(pull) => pull.number,
        None => {
            let default = &repo.repository.default_branch;
            repo.hub.open_pull(TITLE, ONBOARDING, default, &draught.body).await?.number()
        }
    };
    Ok(Offered::Open(number))
}

fn in_the_way(pull: &BranchPull) -> String {
    let by = pull.author.as_ref().map_or("a deleted account", Person::as_str);
    format!("{} by {by} is open from the branch {ONBOARDING}; close it and delete the branch", pull.number)
}

/// What `init` proposes for the files of a commit.
fn proposal(store: &Store, base: &Sha) -> Result<Proposal, GitError> {
    let mut reader = Reader::default();
    store.texts(base, &walk::is_wanted, &mut |path, text| reader.take(path, text))?;
    Ok(reader.propose())
}

/// The files and the text; or why there is nothing to propose, or what is wrong with the proposal.
type Drawn = anyhow::Result<Result<Draught, String>>;

fn drawn(store: &Store, base: &Sha, proposal: &Proposal) -> Result<Drawn, GitError> {
    if proposal.plugins.is_empty() {
        return Ok(Ok(Err(proposal.nothing().to_string())));
    }
    let named = [(POLICY, Some(&proposal.policy)), (INVENTORY, proposal.clusters.as_ref())];
    let mut files: Vec<FileChange> = Vec::new();
    for (path, text) in named {
        let Some(text) = text else { continue };
        if store.read(base, path)?.is_some() {
            return Ok(Ok(Err(format!("{path} is there already and is something else"))));
        }
        files.push((path.to_string(), Some(text.clone().into_bytes())));
    }
    let draught = || {
        let preview = policy::good(&proposal.read()?, &[], &[]);
        Ok(Ok(Draught { files, body: tell::onboarding(&told(proposal, &preview))? }))
    };
    Ok(draught())
}

fn told<'a>(proposal: &'a Proposal, preview: &'a str) -> Onboarding<'a> {
    let places = proposal.plugins.iter().flat_map(|plugin| {
        plugin.places.iter().map(|place| Found {
            plugin: &plugin.name,
            file: &place.file,
            kind: place.kinds(),
            versions: place.shown(),
        })
    });
    Onboarding {
        files: proposal.files,
        places: places.collect(),
        left_out: &proposal.left_out,
        notes: &proposal.notes,
        preview,
    }
}

/// Puts the files on the branch, on top of the present base, where they are not there yet; whether they are there now.
/// What somebody else has pushed stays.
async fn pushed(repo: &Repo, base: &Sha, files: &[FileChange], now: Timestamp) -> anyhow::Result<bool> {
    let (author, base, files) = (repo.author(), base.clone(), files.to_vec());
    let pushed = repo
        .git(move |store, access| {
            let tip = store.fetch(access, ONBOARDING, Some(2))?;
            if let Some(tip) = &tip {
                let raw = store.raw(tip)?;
                let [parent] = raw.parents.as_slice() else { return Ok(Pushed::Moved { found: Some(tip.clone()) }) };
                if raw.author != author || raw.committer != author || raw.message.trim_end() != TITLE {
                    return Ok(Pushed::Moved { found: Some(tip.clone()) });
                }
                if store.has(parent) && store.is_made_of(tip, parent, &files)? {
                    return Ok(Pushed::Done);
                }
            }
            let draft = Draft {
                parents: vec![base.clone()],
                tree_of: Some(base),
                files,
                message: TITLE.to_string(),
                author,
                at: now,
            };
            store.push_forced(access, ONBOARDING, &store.commit(&draft)?, tip.as_ref())
        })
        .await?;
    match pushed {
        Pushed::Done => Ok(true),
        Pushed::Moved { .. } => Ok(false),
        Pushed::Refused { why } => anyhow::bail!("the hub refuses the push of {ONBOARDING}: {why}"),
    }
}
