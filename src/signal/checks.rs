//! What a cluster's controller wrote at the hub of the commit that it applied: a commit status, a check run or a
//! deployment. It proves the commit; which version stands there the config repository says. How the hub is asked
//! is in `ask`.

use decide::snapshot::{CheckState, Health, Read, Reading};
use decide::{Person, Sha};
use jiff::Timestamp;

use super::answer::Answer;
use super::kind::{Kind, Make, Proves};
use super::object::Verdict;
use super::settings::{Settings, SignalError, optional, required};
use parse::read::{Form, Shape};
use parse::settings::{Refused, Values};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "checks",
    shape: Shape {
        what: "checks",
        keys: &[
            optional(
                "status",
                Form::Text,
                &["The context of a commit status. Default none; at least one of the three."],
            ),
            optional("run", Form::Text, &["The name of a check run. Default none."]),
            optional("deployment", Form::Text, &["The environment of a deployment. Default none."]),
            required(
                "by",
                Form::Text,
                &[
                    "The login of who has to have written it, such as `flux-acme[bot]`: what others write is left aside.",
                ],
            ),
        ],
        unsupported: &[],
        about: &["What the cluster's controller writes at the hub of the commit that it applied."],
    },
    proves: Proves::Less("what was said of a commit once, and not what runs there now"),
    dates: true,
    refuse,
    make: Make::Checks(Checks::new),
};

/// In which form something is said of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Written {
    /// A commit status, by its context.
    Status,
    /// A check run, by its name.
    Run,
    /// A deployment, by its environment.
    Deployment,
}

/// A commit and what was said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The commit.
    pub commit: Sha,
    /// Everything that was said.
    pub said: Read<Vec<Statement>>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its form.
    pub form: Written,
    /// Its context, name or environment.
    pub name: String,
    /// Who wrote it, Apps with their `[bot]`; none for a deleted account.
    pub by: Option<Person>,
    /// What it says.
    pub state: CheckState,
    /// The hub's own word for that.
    pub word: String,
    /// When it was said; for a run when it ended, or else when it began.
    pub at: Option<Timestamp>,
}

const FORMS: [(&str, Written); 3] =
    [("status", Written::Status), ("run", Written::Run), ("deployment", Written::Deployment)];

/// What is looked for at the commits of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    form: Written,
    word: &'static str,
    name: String,
    by: Person,
}

fn refuse(values: &Values) -> Result<(), Refused> {
    let refused = |at, why: &str, help: &str| Err(Refused { at, why: why.to_string(), help: help.to_string() });
    let given: Vec<&str> = FORMS.iter().map(|(word, _)| *word).filter(|word| values.contains_key(word)).collect();
    match given.as_slice() {
        [_] => Ok(()),
        [] => refused("", "nothing says what is looked for", "add `status:`, `run:` or `deployment:` with its name"),
        [_, second, ..] => {
            refused(second, "two things are looked for", "keep one; a second signal can ask for the other")
        }
    }
}

impl Checks {
    fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let given = FORMS.iter().find_map(|(word, form)| Some((*word, *form, settings.text(word)?)));
        let (word, form, name) = given.ok_or(SignalError::Missing { key: "status" })?;
        let name = settings.names().fill(name).map_err(|why| SignalError::Unusable { key: word, why })?;
        let by = settings.text("by").ok_or(SignalError::Missing { key: "by" })?;
        Ok(Self { form, word, name, by: Person::new(by) })
    }

    /// What people know it by.
    pub fn title(&self) -> String {
        format!("{} {}", self.word, self.name)
    }

    /// Whether it looks for deployments, which need a permission of their own.
    pub fn needs_deployments(&self) -> bool {
        self.form == Written::Deployment
    }

    /// Judges the newest commits of the branch, newest first; `asked` is when they were asked for.
    pub fn judge(&self, commits: &[Stated], asked: Timestamp) -> Answer {
        let mut verdict = self.verdict(commits);
        let revision = verdict.revision.take();
        Answer { reading: verdict.read(&self.title(), asked), revision }
    }

    /// What is said when the hub could not be asked.
    pub fn unread(&self, why: &str, asked: Timestamp) -> Answer {
        Answer::unasked(&self.title(), why, asked)
    }

    /// The newest commit of which anything was said is what the cluster has come to.
    fn verdict(&self, commits: &[Stated]) -> Verdict {
        let mut others = 0;
        for Stated { commit, said } in commits {
            let said = match said {
                Read::Known(said) => said,
                Read::Unread(why) => return Verdict::unknown(format!("what was said of {}: {why}", commit.short())),
            };
            let named: Vec<&Statement> =
                said.iter().filter(|said| said.form == self.form && said.name == self.name).collect();
            let own: Vec<&Statement> = named.iter().copied().filter(|said| self.is_by(said)).collect();
            others += named.len() - own.len();
            let Some(said) = self.counts(&own) else { continue };
            let words = format!("{} of {} is {}, by {}", self.title(), commit.short(), said.word, self.by);
            let health = match said.state {
                CheckState::Success => Health::Healthy,
                CheckState::Pending => Health::Progressing,
                CheckState::Failure => Health::Degraded,
            };
            let mut verdict = Verdict::new(health, words).since(said.at);
            if said.at.is_none() && health == Health::Healthy {
                return Verdict::unknown(format!("{}; it does not tell when", verdict.evidence));
            }
            verdict.revision = Some(commit.clone());
            return verdict;
        }
        let aside = match others {
            0 => String::new(),
            1 => "; one that others wrote is left aside".to_string(),
            more => format!("; {more} that others wrote are left aside"),
        };
        let (title, count) = (self.title(), commits.len());
        Verdict::unknown(format!("none of the newest {count} commits has a {title} by {}{aside}", self.by))
    }

    /// Logins differ by more than the case of their letters.
    fn is_by(&self, said: &Statement) -> bool {
        said.by.as_ref().is_some_and(|by| by.as_str().eq_ignore_ascii_case(self.by.as_str()))
    }

    /// Of several on one commit the worst counts; of deployments the last one, which replaces those before.
    fn counts<'a>(&self, own: &[&'a Statement]) -> Option<&'a Statement> {
        let bad = |said: &&&Statement| match said.state {
            CheckState::Success => 0,
            CheckState::Pending => 1,
            CheckState::Failure => 2,
        };
        match self.form {
            Written::Status | Written::Run => own.iter().max_by_key(bad).copied(),
            Written::Deployment => own.last().copied(),
        }
    }
}

/// What was said before the version landed is about something else: a commit can have been tried out on another
/// branch before. The hub tells whole seconds.
pub fn after(reading: &mut Reading, landed: Option<Timestamp>) {
    let second = |at: Timestamp| at.as_second();
    let early = landed.is_some_and(|landed| reading.since.is_none_or(|said| second(said) < second(landed)));
    if early && reading.health == Health::Healthy {
        reading.health = Health::Progressing;
        reading.evidence = super::one_line(&format!("{}; that was said before it landed", reading.evidence));
    }
}
