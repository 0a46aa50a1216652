//! Pull requests as the hub keeps them, and what it answers to those who want to change them.

use decide::snapshot::{
    Command, CommandKind, Landing, Mergeable, OwnedPath, Pull, PullState, Read, RequiredCheck, Review, ReviewDecision,
    ReviewVerdict, SentNotice, UnmetRule,
};
use decide::{ClusterName, Person, PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::hand::Commit;
use crate::scenario::{BranchRules, Mode, Unreadable};
use crate::world::{Due, Spot, World};

/// Who wrote the policy's CODEOWNERS lines, and who else has opinions.
pub const OWNERS: [&str; 2] = ["olga", "omar"];
pub const WRITER: &str = "wim";
pub const STRANGER: &str = "sam";
pub const OTHER_BOT: &str = "helper[bot]";
pub const BOT: &str = "coldframe[bot]";

/// A pull request of the bot.
#[derive(Clone, Debug)]
pub struct PullRequest {
    pub number: u64,
    pub spot: Spot,
    pub head: String,
    /// What a merge of the head writes.
    pub version: Version,
    /// The clusters whose files it writes; a file of the whole tier is written in any case.
    pub members: Vec<ClusterName>,
    /// Whether the bot wrote the head.
    pub ours: bool,
    pub last_pusher: &'static str,
    /// Every head that the bot wrote, and what the last of them holds.
    pub bot_heads: Vec<String>,
    pub bot_version: Version,
    pub bot_wrote_at: Timestamp,
    /// The versions on the base branch when the head was written.
    pub built_on: Vec<Version>,
    /// How many commits the base branch had then.
    pub trunk: u64,
    /// The heads that change what the last one that the bot wrote changes, that one among them, and since when.
    pub alike: Vec<String>,
    pub alike_since: Timestamp,
    pub head_at: Timestamp,
    pub opened_at: Timestamp,
    pub closed: Option<Closed>,
    pub draft: bool,
    pub reviews: Vec<Review>,
    pub commands: Vec<Command>,
    /// It goes to another branch than the tier's.
    pub misplaced: bool,
    /// Something else is in its head than what the bot would write.
    pub doctored: bool,
    /// What git says of its merge where the hub's yes was false.
    pub landing: Option<Landing>,
    /// It has the label that keeps its release from the tiers above.
    pub labelled: bool,
    /// As our comment shows them: each with its last edit.
    pub notices: Vec<SentNotice>,
    /// Every notice that was put there, in order.
    pub told: Vec<SentNotice>,
    /// The required check on the head: none = it runs.
    pub check: Option<bool>,
    /// What it was at earlier moments, for lists that lag.
    pub past: Vec<(Timestamp, Box<PullRequest>)>,
}

/// How a pull request ended.
#[derive(Clone, Debug)]
pub struct Closed {
    pub at: Timestamp,
    pub by: String,
    pub merged: Option<String>,
}

/// Why the hub does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 409: the head is another one.
    HeadMoved,
    /// 405: not open, a conflict, or branch rules.
    Forbidden,
    /// The world moved between the look and the call: nothing was sent, or nothing is proved.
    Moved,
    /// It was not merged, and the ledger knows: the others go on.
    Refused,
}

impl PullRequest {
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Keeps what it was until now, for lists that lag.
    pub fn remember(&mut self, now: Timestamp) {
        let mut past = std::mem::take(&mut self.past);
        past.push((now, Box::new(self.clone())));
        self.past = past;
    }

    /// What it was at `at`; none before it was opened.
    pub fn at(&self, at: Timestamp) -> Option<&PullRequest> {
        let older = self.past.iter().find(|(until, _)| at < *until);
        (self.opened_at <= at).then(|| older.map_or(self, |(_, pull)| pull))
    }

    pub fn conflicts(&self, world: &World) -> bool {
        world.base[&self.spot].iter().map(|place| &place.version).ne(self.built_on.iter())
    }

    /// Whether the branch rules want it to contain commits of the base branch that it does not contain.
    pub fn is_behind(&self, world: &World) -> bool {
        world.scenario.rules.strict && self.is_open() && self.trunk < world.trunk
    }

    /// People whose last word is a yes, as the hub counts it.
    fn approvers(&self, rules: BranchRules) -> Vec<&str> {
        let last = |by: &Person| {
            self.reviews.iter().rfind(|review| review.by == *by && review.verdict != ReviewVerdict::Commented)
        };
        let mut people: Vec<&str> = Vec::new();
        for review in &self.reviews {
            let word = last(&review.by);
            let yes = word.is_some_and(|word| {
                word.verdict == ReviewVerdict::Approved
                    && word.may_write == Read::Known(true)
                    && (!rules.dismiss_stale || word.commit.as_str() == self.head)
            });
            if yes && !people.contains(&review.by.as_str()) {
                people.push(review.by.as_str());
            }
        }
        people
    }

    pub fn decision(&self, rules: BranchRules) -> ReviewDecision {
        if !rules.review {
            return ReviewDecision::NotRequired;
        }
        let last_of = |owner: &str| {
            self.reviews
                .iter()
                .rfind(|review| review.by.as_str() == owner && review.verdict != ReviewVerdict::Commented)
        };
        if OWNERS.iter().any(|owner| last_of(owner).is_some_and(|word| word.verdict == ReviewVerdict::ChangesRequested))
        {
            return ReviewDecision::ChangesRequested;
        }
        let owners = self.approvers(rules).iter().any(|by| OWNERS.contains(by));
        if owners { ReviewDecision::Approved } else { ReviewDecision::Required }
    }

    /// What the hub says to a merge of `head`.
    pub fn may_merge(&self, world: &World, head: &str, bypass: bool) -> Result<(), Refusal> {
        if self.head != head {
            return Err(Refusal::HeadMoved);
        }
        let rules = world.scenario.rules;
        let reviewed = matches!(self.decision(rules), ReviewDecision::NotRequired | ReviewDecision::Approved);
        let green = !rules.check || self.check == Some(true);
        let ruled = bypass || (reviewed && green);
        let refuses = world.merges.refusing.get(&self.spot).is_some_and(|until| world.now < *until);
        let unmet = self.unmet(world).known().is_none_or(|unmet| !unmet.is_empty());
        let ruled = ruled && !refuses && (bypass || !unmet);
        let ruled = ruled && !self.is_behind(world);
        if self.is_open() && !self.draft && !self.misplaced && !self.conflicts(world) && ruled {
            Ok(())
        } else {
            Err(Refusal::Forbidden)
        }
    }

    /// What git says of a merge of it; the base branch is never shown late.
    fn landing(&self, world: &World) -> Read<Landing> {
        let now = world.pulls.iter().find(|pull| pull.number == self.number).unwrap_or(self);
        if let Some(landing) = &now.landing {
            return Read::Known(landing.clone());
        }
        Read::Known(match &now.closed {
            Some(Closed { merged: Some(commit), .. }) => Landing::Proven { commit: Sha::new(commit.as_str()) },
            Some(Closed { merged: None, .. }) | None => Landing::Absent,
        })
    }

    /// The pull request as the bot's reader would hand it on.
    pub fn shown(&self, world: &World) -> Pull {
        let state = match &self.closed {
            None => PullState::Open,
            Some(Closed { at, by, merged: None }) => PullState::Closed { at: *at, by: Some(Person::new(by.as_str())) },
            Some(Closed { at, by, merged: Some(commit) }) => {
                PullState::Merged { at: *at, by: Person::new(by.as_str()), commit: Sha::new(commit.as_str()) }
            }
        };
        let young = world.now < self.head_at + SignedDuration::from_secs(20);
        let mergeable = match (young && !world.is_calm(), self.conflicts(world)) {
            (true, _) => Mergeable::Unknown,
            (false, true) => Mergeable::Conflict,
            (false, false) => Mergeable::Yes,
        };
        let check = || RequiredCheck {
            name: "e2e".to_string(),
            state: match self.check {
                None => decide::snapshot::CheckState::Pending,
                Some(true) => decide::snapshot::CheckState::Success,
                Some(false) => decide::snapshot::CheckState::Failure,
            },
        };
        Pull {
            strict: world.scenario.rules.strict,
            behind: Read::Known(self.is_behind(world)),
            dismisses: world.scenario.rules.strict && world.scenario.rules.dismiss_stale,
            unmet: self.unmet(world),
            lacks: crate::rules::lacks(self.decision(world.scenario.rules), self.unmet(world)),
            number: PullNumber(self.number),
            tier: self.spot.1.clone(),
            misplaced: self.misplaced.then(|| "develop".to_string()),
            version: self.ours.then(|| world.releases[&self.spot.0][&self.version].shown.version.clone()),
            state,
            head: Sha::new(self.head.as_str()),
            opened_at: self.opened_at,
            draft: self.draft,
            mergeable,
            review_decision: self.decision(world.scenario.rules),
            reviews: self.shown_reviews(world),
            owned: if world.cannot_read(Unreadable::Owners) {
                Read::Unread("CODEOWNERS does not answer".to_string())
            } else {
                Read::Known(
                    world
                        .files(&self.spot)
                        .into_iter()
                        .map(|path| OwnedPath {
                            path,
                            owners: vec!["@acme/platform".to_string()],
                            people: OWNERS.iter().map(|owner| Person::from(*owner)).collect(),
                        })
                        .collect(),
                )
            },
            team: world.team(),
            checks: if world.cannot_read(Unreadable::Checks) {
                Read::Unread("the checks do not answer".to_string())
            } else {
                Read::Known(if world.scenario.rules.check { vec![check()] } else { Vec::new() })
            },
            commands: self.shown_commands(world),
            landing: self.landing(world),
            notices: self.notices.clone(),
            labelled: Read::Known(self.labelled),
            added_to: crate::people::added_to(world, self),
            rebase: false,
        }
    }

    /// What else than reviews the branch rules ask for: some pull requests lack it for a while.
    fn unmet(&self, world: &World) -> Read<Vec<UnmetRule>> {
        let mut luck = world.luck(&["unmet", &self.number.to_string()]);
        let lacks = luck.chance(15);
        let until = self.opened_at + SignedDuration::from_hours(luck.range(1, 72) as i64);
        if world.lasts(world.merges.ruled) {
            let (rule, why) = ("merge_queue".to_string(), "it asks for a queue".to_string());
            return Read::Known(vec![UnmetRule { rule, why }]);
        }
        if world.is_calm() || !lacks || world.now >= until {
            return Read::Known(Vec::new());
        }
        if luck.chance(20) {
            return Read::Unread("the rules do not answer".to_string());
        }
        let (rule, why) = ("pull_request".to_string(), "a conversation is not resolved".to_string());
        Read::Known(vec![UnmetRule { rule, why }])
    }

    fn shown_reviews(&self, world: &World) -> Vec<Review> {
        let mut reviews = self.reviews.clone();
        if world.cannot_read(Unreadable::Rights) {
            reviews.iter_mut().for_each(|review| review.may_write = Read::Unread("no answer".to_string()));
        }
        reviews
    }

    fn shown_commands(&self, world: &World) -> Vec<Command> {
        let mut commands = self.commands.clone();
        if world.cannot_read(Unreadable::Rights) {
            commands.iter_mut().for_each(|command| command.allowed = Read::Unread("no answer".to_string()));
        }
        commands
    }

    pub fn review(&mut self, now: Timestamp, by: &str, verdict: ReviewVerdict) {
        self.remember(now);
        self.reviews.push(Review {
            by: Person::from(by),
            verdict,
            at: now,
            commit: Sha::new(self.head.as_str()),
            human: by != OTHER_BOT,
            may_write: Read::Known(by != STRANGER),
        });
    }

    pub fn command(&mut self, now: Timestamp, by: &str, what: CommandKind) {
        self.remember(now);
        self.commands.push(Command { by: Person::from(by), at: now, what, allowed: Read::Known(by != STRANGER) });
    }
}

impl World {
    /// Opens a pull request for a commit that was pushed.
    pub fn open(&mut self, spot: &Spot, head: String, written: Commit) {
        let Commit { version, part: _, members, built_on, trunk } = written;
        let number = self.pulls.len() as u64 + 1;
        self.note(format!("#{number} is opened: {} {version} on {}", spot.0, spot.1));
        self.pulls.push(PullRequest {
            number,
            spot: spot.clone(),
            head: head.clone(),
            bot_heads: vec![head.clone()],
            bot_version: version.clone(),
            bot_wrote_at: self.now,
            version,
            members,
            ours: true,
            last_pusher: BOT,
            built_on,
            trunk,
            alike: vec![head.clone()],
            alike_since: self.now,
            head_at: self.now,
            opened_at: self.now,
            closed: None,
            draft: false,
            reviews: Vec::new(),
            commands: Vec::new(),
            misplaced: false,
            doctored: false,
            landing: None,
            labelled: false,
            notices: Vec::new(),
            told: Vec::new(),
            check: None,
            past: Vec::new(),
        });
        self.new_head(number, head);
        crate::rarely::rollback_opened(self, number, spot);
    }

    /// A branch has a new head: the check starts anew, reviewers are asked again.
    pub fn new_head(&mut self, number: u64, head: String) {
        let calm = self.is_calm();
        let mut luck = self.luck(&["head", &number.to_string(), &head]);
        let (green, ends) = (calm || luck.chance(90), luck.minutes(0, 30));
        let reviews = calm || luck.chance(60);
        let (noise, soon) = (luck.chance(30), luck.minutes(1, 24 * 60));
        let looks = luck.minutes(1, 3 * 24 * 60);
        let now = self.now;
        if let Some(pull) = self.pull_mut(number) {
            pull.check = calm.then_some(true);
        }
        if calm {
            if self.scenario.mode == Mode::Answered {
                crate::people::answer_at_once(self, number);
            }
            return;
        }
        self.schedule(now + ends, Due::Check { pull: number, head: head.clone(), green });
        if noise {
            self.schedule(now + soon, Due::Noise { pull: number, head: head.clone() });
        }
        if reviews {
            self.schedule(now + looks, Due::Review { pull: number, head });
        }
    }

    /// The bot moves a pull request to a commit that it wrote.
    pub fn push_branch(&mut self, number: u64, commit: String) {
        let now = self.now;
        let written = self.written[&commit].clone();
        let before = |pull: &PullRequest| self.written.get(pull.bot_heads.last()?).cloned();
        let before = self.pulls.iter().find(|pull| pull.number == number).and_then(before);
        let alike = before.is_some_and(|before| before.is_like(&written));
        let Commit { version, part: _, members, built_on, trunk } = written;
        let Some(pull) = self.pull_mut(number) else { return };
        pull.remember(now);
        if !alike {
            (pull.alike, pull.alike_since) = (Vec::new(), now);
        }
        pull.alike.push(commit.clone());
        pull.trunk = trunk;
        pull.head.clone_from(&commit);
        pull.head_at = now;
        (pull.ours, pull.doctored) = (true, false);
        pull.bot_heads.push(commit.clone());
        pull.bot_version = version.clone();
        pull.bot_wrote_at = now;
        pull.version = version.clone();
        pull.members = members;
        pull.built_on = built_on;
        pull.last_pusher = BOT;
        self.note(format!("#{number} is moved to {version}"));
        self.new_head(number, commit);
    }

    /// Merges a pull request: what its head says is on the base branch now.
    pub fn merge(&mut self, number: u64, by: &str) {
        let commit = self.new_commit();
        let now = self.now;
        let Some(pull) = self.pull_mut(number) else { return };
        pull.remember(now);
        pull.closed = Some(Closed { at: now, by: by.to_string(), merged: Some(commit) });
        let (spot, version, members) = (pull.spot.clone(), pull.version.clone(), pull.members.clone());
        if self.is_calm() && self.scenario.mode == Mode::Answered {
            self.resume_later(&spot);
        }
        self.note(format!("#{number} is merged by {by}: {} {version} on {}", spot.0, spot.1));
        let moves = |place: &crate::places::Place| place.cluster.as_ref().is_none_or(|name| members.contains(name));
        let after = |place| if moves(place) { version.clone() } else { place.version.clone() };
        let versions: Vec<Version> = self.base[&spot].iter().map(after).collect();
        self.commit(&spot, &versions, by == BOT);
        self.install(&spot, &version, by == BOT, |whose| whose.is_none_or(|name| members.contains(name)));
        crate::rarely::rollback_merged(self, number, &spot);
        self.tally.count("deed", if by == BOT { "BotMerges" } else { "PersonMerges" });
    }

    /// Where a tier may wait for a word between its slices, somebody gives it in the hours to come.
    pub fn resume_later(&mut self, spot: &Spot) {
        for hours in [3, 9, 27] {
            let due = Due::Resume { spot: spot.clone() };
            self.schedule(self.now + SignedDuration::from_hours(hours), due);
        }
    }

    pub fn close(&mut self, number: u64, by: &str) {
        let now = self.now;
        if let Some(pull) = self.pull_mut(number).filter(|pull| pull.is_open()) {
            pull.remember(now);
            pull.closed = Some(Closed { at: now, by: by.to_string(), merged: None });
            let spot = pull.spot.clone();
            self.note(format!("#{number} is closed by {by}"));
            // The bot closes what stands on the base branch already, too: what comes after waits for a word all
            // the same.
            if by == BOT && self.is_calm() && self.scenario.mode == Mode::Answered {
                self.resume_later(&spot);
            }
        }
    }
}
