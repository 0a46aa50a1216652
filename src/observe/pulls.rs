//! Turns the hub's page into the planner's pull requests: which tier, which version, whose reviews
//! and commands count. What follows from them is decided in `decide`.

use std::collections::BTreeSet;
use std::mem::discriminant;

use decide::snapshot::{
    Command, CommandKind, Pull, PullState, Read, RequiredCheck, Review, ReviewDecision, ReviewVerdict, SentNotice,
    UnmetRule,
};
use decide::{Person, PluginName, TierName};
use jiff::Timestamp;

use super::difference::Difference;
use super::hub_cache::{HubCache, Matter};
use super::owners::Owners;
use crate::command;
use crate::hub::demands::{Demand, MergeCandidate};
use crate::hub::{Author, BranchRules, CHECK, HubComment, HubPull, HubState, RepoHub, RequiredContext, Role, Word};
use crate::policy::wiring::{People, Right};
use crate::tell;

/// The label that keeps a release from the tiers above.
const BLOCK: &str = "coldframe/block";

/// So many commands of a kind are looked at of each person on one pull request: the newest.
const NEWEST: usize = 20;

/// Who reviewed under an account that is deleted. No login has spaces.
const GONE: &str = "a deleted account";

/// What the reading of one pull request needs beside the page.
pub struct Around<'a> {
    /// The hub, for rights and teams.
    pub hub: &'a RepoHub,
    /// Who may give which command.
    pub people: &'a People,
    /// The base branch of its tier.
    pub branch: &'a str,
    /// The code owners of that branch.
    pub owners: &'a Owners<'a>,
    /// The team whose approvals the tier counts.
    pub team: Option<&'a str>,
    /// What the rules of that branch ask of a merge.
    pub rules: &'a Read<BranchRules>,
    /// Whether the head builds on the tip of that branch.
    pub up_to_date: &'a Read<bool>,
    /// When this look began.
    pub now: Timestamp,
}

/// The branch of a plugin on a tier; built from names that the policy's reader has checked.
pub fn branch(plugin: &PluginName, tier: &TierName) -> String {
    format!("{}{plugin}/{tier}", crate::branches::PREFIX)
}

/// The plugin and the tier that a branch of ours is about.
pub fn subject(branch: &str) -> Option<(PluginName, TierName)> {
    let (plugin, tier) = branch.strip_prefix(crate::branches::PREFIX)?.split_once('/')?;
    (!tier.contains('/')).then(|| (PluginName::from(plugin), TierName::from(tier)))
}

/// Paths whose owners are asked about a pull request.
pub struct Paths {
    /// Those that it changes.
    own: Read<Vec<String>>,
    /// Those that hold the versions of the plugin on any tier, beside them.
    all: Read<Vec<String>>,
}

impl Paths {
    /// By the difference of the head, which takes a lock that moved along in. Where somebody else wrote the
    /// head, what the file says that the bot would change counts beside it, so that nobody makes a release
    /// theirs by a push.
    pub fn of(
        difference: Option<&Read<Difference>>,
        ours: bool,
        of_tier: BTreeSet<String>,
        of_plugin: BTreeSet<String>,
    ) -> Self {
        let own = match difference {
            Some(Read::Known(difference)) => {
                let beside = (!ours).then_some(of_tier).into_iter().flatten();
                Read::Known(difference.paths.iter().cloned().chain(beside).collect::<BTreeSet<_>>())
            }
            Some(Read::Unread(why)) => Read::Unread(why.clone()),
            // Nothing that is closed is merged.
            None => Read::Known(of_tier),
        };
        let list = |paths: &BTreeSet<String>| paths.iter().cloned().collect();
        match own {
            Read::Known(own) => {
                Self { all: Read::Known(own.union(&of_plugin).cloned().collect()), own: Read::Known(list(&own)) }
            }
            Read::Unread(why) => Self { own: Read::Unread(why.clone()), all: Read::Unread(why) },
        }
    }
}

/// One pull request as the planner sees it.
pub async fn planned(
    page: &HubPull,
    tier: TierName,
    paths: &Paths,
    around: &Around<'_>,
    hub_cache: &mut HubCache,
) -> Pull {
    let open = page.state == HubState::Open;
    let (reviews, unread_reviews) = match &page.reviews {
        Read::Known(_) => {
            let older = page.older_reviews.is_some();
            let why = || "some of its older reviews were not read".to_string();
            (reviews(page, around, hub_cache).await, older.then(why))
        }
        Read::Unread(why) => (Vec::new(), Some(format!("its reviews could not be read: {why}"))),
    };
    let (commands, unread_comments) = commands(page, paths, around, hub_cache).await;
    let unread = unread_reviews.or(unread_comments);
    let checks = match unread.filter(|_| open) {
        // A hold or an objection may be hidden in what was not read.
        Some(why) => Read::Unread(why),
        None => checks(page, around),
    };
    let owned = match &paths.own {
        Read::Known(_) if !open => Read::Known(Vec::new()),
        Read::Known(own) => around.owners.of(own, hub_cache).await,
        Read::Unread(why) => Read::Unread(why.clone()),
    };
    let team = match around.team.filter(|_| open) {
        None => Read::Known(BTreeSet::new()),
        Some(team) => match hub_cache.people(around.hub, team, around.now).await {
            Ok(members) => Read::Known(members),
            Err(error) => Read::Unread(error.to_string()),
        },
    };
    let Rules { unmet, lacks } = Rules::of(page, around).await;
    Pull {
        number: page.number,
        tier,
        misplaced: (page.base != around.branch).then(|| page.base.clone()),
        version: trailers(page).version,
        state: state(&page.state),
        head: page.head.clone(),
        opened_at: page.opened_at,
        draft: page.draft,
        mergeable: page.mergeable,
        behind: if open { behind(page, around) } else { Read::Known(false) },
        strict: page.behind || around.rules.known().is_some_and(|rules| rules.strict),
        dismisses: around.rules.known().is_some_and(|rules| rules.dismisses),
        review_decision: page.review_decision,
        reviews,
        owned,
        team,
        checks,
        unmet,
        lacks,
        commands,
        landing: Read::Unread("nobody asked".to_string()),
        notices: notices(page, around.hub.bot()),
        labelled: match &page.labels {
            Read::Known(labels) => Read::Known(labels.iter().any(|label| label == BLOCK)),
            Read::Unread(why) => Read::Unread(why.clone()),
        },
        rebase: false,
        added_to: None,
    }
}

impl HubPull {
    /// The one comment that we keep on it, which answers commands. Whoever may write may edit it, and who edited it
    /// last wrote what it says now: then it is not ours any more.
    pub fn answers(&self, bot: &Person) -> Option<&HubComment> {
        let ours = |author: &Option<Author>| author.as_ref().is_some_and(|author| author.login == *bot);
        let untouched = |comment: &&HubComment| comment.edited_at.is_none() || ours(&comment.editor);
        let answers = |comment: &&HubComment| ours(&comment.by) && tell::answered(&comment.body).is_some();
        self.comments.known()?.iter().filter(answers).find(untouched)
    }
}

/// What the head commit's message says of itself; nothing where it could not be read.
pub fn trailers(page: &HubPull) -> tell::Trailers {
    page.message.known().map(|message| tell::trailers(message)).unwrap_or_default()
}

fn state(state: &HubState) -> PullState {
    let nobody = || Person::from("somebody");
    match state {
        HubState::Open => PullState::Open,
        HubState::Merged { at, by, commit } => PullState::Merged {
            at: *at,
            by: by.as_ref().map_or_else(nobody, |author| author.login.clone()),
            commit: commit.clone().unwrap_or_else(|| decide::Sha::from("")),
        },
        HubState::Closed { at, by } => {
            PullState::Closed { at: *at, by: by.as_ref().map(|author| author.login.clone()) }
        }
    }
}

async fn reviews(page: &HubPull, around: &Around<'_>, hub_cache: &mut HubCache) -> Vec<Review> {
    let mut reviews = Vec::new();
    for review in page.reviews.known().into_iter().flatten() {
        let (by, human, may_write) = match &review.by {
            Some(by) if by.human => (by.login.clone(), true, may_write(&by.login, review.at, around, hub_cache).await),
            // An App has no role. What it approves counts for nothing, what it objects to stands.
            Some(by) => (by.login.clone(), false, Read::Unread("it is an App's".to_string())),
            // Several are one to us: only an objection is kept, which no other's review takes back.
            None if review.verdict != ReviewVerdict::ChangesRequested => continue,
            None => (Person::from(GONE), false, Read::Unread("its account is gone".to_string())),
        };
        // Where the hub ties it to no commit, it is about none of ours.
        let commit = review.commit.clone().unwrap_or_else(|| decide::Sha::from(""));
        reviews.push(Review { by, verdict: review.verdict, at: review.at, commit, human, may_write });
    }
    reviews
}

async fn may_write(person: &Person, said: Timestamp, around: &Around<'_>, hub_cache: &mut HubCache) -> Read<bool> {
    match hub_cache.role(around.hub, person, (Matter::Review, said), around.now).await {
        Read::Known(role) => Read::Known(role >= Role::Write),
        Read::Unread(why) => Read::Unread(why),
    }
}

/// Commands in comments and reviews, and what of the comments could not be read.
async fn commands(
    page: &HubPull,
    paths: &Paths,
    around: &Around<'_>,
    hub_cache: &mut HubCache,
) -> (Vec<Command>, Option<String>) {
    if let Read::Unread(why) = &page.comments {
        return (Vec::new(), Some(format!("its comments could not be read: {why}")));
    }
    let mut commands = Vec::new();
    for Said { by, at, what, put_in_mouth } in newest(page.words()) {
        let files = if command::is_for_every_tier(&what) { &paths.all } else { &paths.own };
        let mut command = Command { by: by.clone(), at, what, allowed: Read::Known(false) };
        command.allowed = allowed(&command, files, around, hub_cache).await;
        if put_in_mouth && command.allowed == Read::Known(true) && is_verdict(&command.what) {
            command.allowed = Read::Unread(format!("somebody else edited what {by} wrote"));
        }
        commands.push(command);
    }
    let older = page.older_comments.as_ref().map(|_| "some of its older comments were not read".to_string());
    (commands, older)
}

/// Whether more than a stop follows from it: what has failed may be rolled back.
fn is_verdict(what: &CommandKind) -> bool {
    matches!(what, CommandKind::Fail { .. })
}

/// A command in a comment or in the text of a review.
struct Said<'a> {
    by: &'a Person,
    at: Timestamp,
    what: CommandKind,
    /// Somebody else edited it, or nobody knows who did.
    put_in_mouth: bool,
}

/// The commands among what was said, as they were given: of each person the newest ones of each kind. However much
/// somebody says, it costs a bounded amount of work, and takes no word of anybody else's.
fn newest(words: Vec<Word<'_>>) -> Vec<Said<'_>> {
    let mut commands: Vec<Said<'_>> = Vec::new();
    for word in words.into_iter().rev() {
        // Apps give no commands. What was edited may still stop, but lets nothing through.
        let Some(by) = word.by.filter(|by| by.human) else { continue };
        let said = command::parse(word.body).filter(|what| !word.edited || command::stops(what));
        let Some(what) = said else { continue };
        let is_of = |one: &&Said<'_>| *one.by == by.login && discriminant(&one.what) == discriminant(&what);
        if commands.iter().filter(is_of).count() < NEWEST {
            let put_in_mouth = word.edited && word.editor.is_none_or(|editor| editor.login != by.login);
            commands.push(Said { by: &by.login, at: word.at, what, put_in_mouth });
        }
    }
    commands.reverse();
    commands
}

/// Whether its author may give a command.
async fn allowed(
    command: &Command,
    files: &Read<Vec<String>>,
    around: &Around<'_>,
    hub_cache: &mut HubCache,
) -> Read<bool> {
    let person = &command.by;
    let matter = if command::stops_or_resumes(&command.what) { Matter::Stop } else { Matter::Leave };
    let role = match hub_cache.role(around.hub, person, (matter, command.at), around.now).await {
        Read::Known(role) => role,
        Read::Unread(why) => return Read::Unread(why),
    };
    match command::right(&command.what, around.people) {
        Right::Write => Read::Known(role >= Role::Write),
        Right::Admin => Read::Known(role == Role::Admin),
        Right::CodeOwners => match files {
            Read::Known(files) => around.owners.speaks(person, role, files, hub_cache).await,
            Read::Unread(why) => Read::Unread(why.clone()),
        },
    }
}

/// Required checks, but for our own: one of its name that a rule pins to another App is not ours.
fn checks(page: &HubPull, around: &Around<'_>) -> Read<Vec<RequiredCheck>> {
    let required = match around.rules {
        Read::Known(rules) => &rules.contexts,
        Read::Unread(why) => return Read::Unread(why.clone()),
    };
    let mut checks = Vec::new();
    let ours = |context: &&RequiredContext| {
        context.name == CHECK && (context.app.is_none() || context.app == around.hub.app())
    };
    for context in required.iter().filter(|context| !ours(context)) {
        match page.check_state(context) {
            Read::Known(state) => checks.push(RequiredCheck { name: context.name.clone(), state }),
            Read::Unread(why) => return Read::Unread(why),
        }
    }
    Read::Known(checks)
}

/// Whether its head has to contain the base branch and does not. What a ruleset asks is shown, classic protection only
/// by what the hub says of the pull request, when nothing else stands against it.
fn behind(page: &HubPull, around: &Around<'_>) -> Read<bool> {
    let strict = match around.rules {
        Read::Known(rules) => rules.strict,
        Read::Unread(why) => return Read::Unread(why.clone()),
    };
    match around.up_to_date {
        Read::Known(up_to_date) => Read::Known(page.behind || (strict && !up_to_date)),
        Read::Unread(why) if strict => Read::Unread(why.clone()),
        Read::Unread(_) => Read::Known(page.behind),
    }
}

/// What branch rules ask of a merge beside reviews and checks, and does not hold.
struct Rules {
    /// What a merge past the reviews would skip. Nobody asks where none is missing, or nobody could merge so.
    unmet: Read<Vec<UnmetRule>>,
    /// What every merge has to meet. Nobody asks while a review is missing, and the hub itself judges what cannot be read.
    lacks: Vec<UnmetRule>,
}

impl Rules {
    async fn of(page: &HubPull, around: &Around<'_>) -> Self {
        let missing = match page.review_decision {
            ReviewDecision::Required | ReviewDecision::ChangesRequested => true,
            ReviewDecision::NotRequired | ReviewDecision::Approved => false,
        };
        let nothing = Self { unmet: Read::Known(Vec::new()), lacks: Vec::new() };
        let asked = page.state == HubState::Open && (!missing || around.hub.has_bypass());
        if !asked || super::foreseen::is_to_come(page.number) {
            return nothing;
        }
        let demands = match around.rules {
            Read::Known(rules) => &rules.demands,
            Read::Unread(why) => &Read::Unread(why.clone()),
        };
        let unmet = match demands {
            Read::Known(demands) => unmet(demands, missing, page, around).await,
            Read::Unread(why) => Read::Unread(why.clone()),
        };
        match (missing, unmet) {
            (true, unmet) => Self { unmet, ..nothing },
            (false, Read::Known(lacks)) => Self { lacks, ..nothing },
            (false, Read::Unread(why)) => {
                tracing::debug!(number = %page.number, why, "what branch rules ask of it is left to the hub");
                nothing
            }
        }
    }
}

/// The demands that a merge would not meet now: of one without a review all of them, else those that people see to.
async fn unmet(demands: &[Demand], missing: bool, page: &HubPull, around: &Around<'_>) -> Read<Vec<UnmetRule>> {
    // Whoever is behind is brought up to date.
    let counts = |demand: &&Demand| if missing { **demand != Demand::UpToDate } else { demand.is_for_people() };
    let demands: Vec<Demand> = demands.iter().filter(counts).cloned().collect();
    let candidate = MergeCandidate { number: page.number, head: &page.head, up_to_date: around.up_to_date };
    match around.hub.unmet(&demands, &candidate).await {
        Ok(unmet) => Read::Known(unmet),
        Err(error) => Read::Unread(error.to_string()),
    }
}

/// The notices that went out: comments of ours that are as we wrote them. Of what was edited since nobody was told.
fn notices(page: &HubPull, bot: &Person) -> Vec<SentNotice> {
    let ours = |comment: &&HubComment| comment.by.as_ref().is_some_and(|author| author.login == *bot);
    let comments = page.comments.known().into_iter().flatten().filter(ours);
    let untouched = comments.filter(|comment| comment.edited_at.is_none());
    untouched
        .filter_map(|comment| Some(SentNotice { before: tell::read_notice(&comment.body)?, at: comment.at }))
        .collect()
}

#[cfg(test)]
mod tests;
