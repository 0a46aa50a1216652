//! Asks the hub what was said of commits: once for each branch, however many clusters a look is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use decide::snapshot::Reading;
use decide::{Ledger, Sha, TierName};

use super::ground::landing;
use crate::clock;
use crate::hub::RepoHub;
use crate::observe::answers::{Versions, resolved};
use crate::observe::watch::SharedAnswer;
use crate::observe::whose::Whose;
use crate::signal::{Checks, checks};

/// A question about one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Stated {
    /// The cluster.
    pub whose: Whose,
    /// The question.
    pub checks: Arc<Checks>,
}

/// Asks about each branch, which `branch` knows of each tier.
pub async fn answers<'a>(
    hub: &RepoHub,
    asks: Vec<Stated>,
    branch: impl Fn(&TierName) -> &'a str,
) -> Vec<(Whose, SharedAnswer)> {
    let mut branches: BTreeMap<&str, Vec<Stated>> = BTreeMap::new();
    for ask in asks {
        branches.entry(branch(&ask.whose.tier)).or_default().push(ask);
    }
    let mut answers = Vec::new();
    for (branch, asks) in branches {
        // Before asking: what is answered may be as old as the question.
        let now = clock::now();
        let deployments = asks.iter().any(|ask| ask.checks.needs_deployments());
        let commits = hub.statements(branch, deployments).await.map_err(|error| error.to_string());
        answers.extend(asks.into_iter().map(|Stated { whose, checks }| {
            let answer = match &commits {
                Ok(commits) => checks.judge(commits, now),
                Err(why) => checks.unread(why, now),
            };
            (whose, SharedAnswer::alone(answer))
        }));
    }
    answers
}

/// The commits that somebody has to look up.
pub fn commits(answers: &[(Whose, SharedAnswer)]) -> impl Iterator<Item = (Whose, Sha)> {
    answers.iter().filter_map(|(whose, said)| Some((whose.clone(), said.revision().cloned()?)))
}

/// The readings, with the versions in place of the commits.
pub fn readings(
    answers: &[(Whose, SharedAnswer)],
    versions: &Versions,
    ledger: Option<&Ledger>,
) -> Vec<(Whose, Reading)> {
    let reading = |(whose, said): &(Whose, SharedAnswer)| {
        let mut reading = resolved(whose, said, versions);
        let page = ledger.and_then(|ledger| ledger.plugins.get(&whose.plugin));
        let landed = reading.running.as_ref().and_then(|runs| landing(page, whose, runs)).map(|(_, at)| at);
        checks::after(&mut reading, landed);
        (whose.clone(), reading)
    };
    answers.iter().map(reading).collect()
}
