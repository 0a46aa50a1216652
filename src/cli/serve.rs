//! What `coldframe serve` does all day: one loop per repository, woken by the bell and by alarms. The addresses at which
//! it answers are in `server`.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::run::{hub, reach};
use super::settings::Settings;
use super::tenants::{Tenants, Wanted};
use crate::act::Line;
use crate::act::Receipt;
use crate::hub::{Hub, Repository};
use crate::observe::watch::Watches;
use crate::observe::{self, NoPolicy, Reach};
use crate::policy::{Mode, Setting};
use crate::repo::Repo;
use crate::wake::shown::Pages;
use crate::wake::{Bell, Rung};
use crate::{clock, onboard, tick};

/// Passes in a row that each did something, at most; then the others get their turn.
const MOST_IN_A_ROW: u32 = 20;
/// First and longest wait after a pass that failed.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(120));

/// How long a ring waits for the others of its flock.
const FLOCK: Duration = Duration::from_millis(200);

/// What all repositories share.
pub(super) struct Shop {
    hub: Arc<Hub>,
    reach: Reach,
    pub(super) settings: Settings,
    setting: Arc<Setting>,
    wanted: Wanted,
    pub(super) bell: Bell,
    pub(super) pages: Pages,
    /// Whether the process is asked to stop.
    ended: watch::Receiver<bool>,
}

impl Shop {
    pub(super) fn open(settings: Settings, ended: watch::Receiver<bool>) -> anyhow::Result<Self> {
        let hub = Arc::new(hub(&settings)?);
        let wanted = settings.wanted()?;
        let reach = reach(&settings, Mode::Serve, wanted.is_one())?;
        let setting = Arc::new(settings.setting(Mode::Serve)?);
        let pages = Pages::new(hub.metrics());
        Ok(Self { hub, reach, settings, setting, wanted, bell: Bell::default(), pages, ended })
    }

    fn is_ending(&self) -> bool {
        *self.ended.borrow()
    }

    /// Done when the process is asked to stop.
    async fn ending(&self) {
        // Whoever could ask is gone only where the process is.
        drop(self.ended.clone().wait_for(|ended| *ended).await);
    }

    async fn open_line(&self, repository: &Repository) -> anyhow::Result<Line> {
        let opened = self.hub.open(repository).await?;
        let look_again = SignedDuration::try_from(self.settings.poll)?;
        let (reach, setting) = (self.reach.of(repository.id), Arc::clone(&self.setting));
        let (clusters, bell, id) = (Arc::clone(&reach.clusters), self.bell.clone(), repository.id);
        let watches = Watches::that_stays(clusters, move || bell.nudge(id));
        let data = self.settings.data_folder();
        let repo = Repo::open(repository.clone(), opened, reach.seal.clone(), &data)?;
        Ok(Line::new(observe::Context::new(repo, reach, watches, look_again, setting)))
    }
}

/// Keeps one loop per repository: begins it when the repository comes, ends it when it goes.
pub(super) async fn keep_list(shop: Arc<Shop>) -> anyhow::Result<()> {
    let mut loops: JoinSet<()> = JoinSet::new();
    let mut running: BTreeMap<u64, (Repository, tokio::task::AbortHandle)> = BTreeMap::new();
    let mut tenants = Tenants::new(shop.wanted.clone());
    let mut retry = RETRY.0;
    loop {
        let list = tenants.look(&shop.hub).await?;
        running.retain(|id, (repository, handle)| {
            // Where its account has another name now, it begins anew under that.
            let renamed = list.here.get(id).is_some_and(|now| now.owner != repository.owner);
            let stays = list.keeps(repository) && !renamed && !handle.is_finished();
            if !stays {
                handle.abort();
                shop.bell.take_down(*id);
                tracing::info!(repository = repository.full_name(), "not looked after any more");
            }
            stays
        });
        if list.unread.is_empty() || !list.here.is_empty() {
            shop.pages.listed();
        }
        for (id, repository) in list.here {
            running.entry(id).or_insert_with(|| {
                tracing::info!(repository = repository.full_name(), "looked after");
                let handle = loops.spawn(keep(Arc::clone(&shop), repository.clone()));
                (repository, handle)
            });
        }
        tenants.say_who_is_left_out(&shop.hub).await;
        let wait = if list.unread.is_empty() {
            retry = RETRY.0;
            shop.settings.sweep
        } else {
            let wait = retry;
            retry = (retry * 2).min(RETRY.1);
            wait.min(shop.settings.sweep)
        };
        while loops.try_join_next().is_some() {}
        tokio::select! {
            _ = shop.bell.wait_for_list(Some(later(wait))) => {}
            () = shop.ending() => {
                while loops.join_next().await.is_some() {}
                return Ok(());
            }
        }
    }
}

/// The loop of one repository. A pass that fails, or panics, delays this repository alone.
async fn keep(shop: Arc<Shop>, mut repository: Repository) {
    let mut line = None;
    let mut retry = RETRY.0;
    // What went wrong last: the same again is no news.
    let mut trouble = None;
    called(&shop, &repository);
    loop {
        let done = caught(pass(&shop, &mut repository, &mut line, &mut retry)).await.unwrap_or_else(|| {
            // What it left behind may be half done.
            line = None;
            Err(anyhow!("the pass panicked; what it met is told before this line"))
        });
        let until = match done {
            Ok(alarm) => {
                if trouble.take().is_some() {
                    tracing::info!(repository = repository.full_name(), "it goes on");
                }
                alarm.map_or_else(|| later(shop.settings.sweep), |alarm| alarm.min(later(shop.settings.sweep)))
            }
            Err(error) => {
                let error = format!("{error:#}");
                shop.pages.failed(&repository.full_name(), &error);
                if trouble.as_ref() != Some(&error) {
                    tracing::warn!(repository = repository.full_name(), %error, "pass failed; tried again in growing pauses");
                    trouble = Some(error);
                }
                let wait = retry;
                retry = (retry * 2).min(RETRY.1);
                later(wait)
            }
        };
        let rung = tokio::select! {
            biased;
            () = shop.ending() => return put_down(line).await,
            rung = shop.bell.wait(repository.id, Some(until)) => rung,
        };
        if rung == Rung::Bell {
            // Deliveries come in flocks; one look serves them all.
            tokio::time::sleep(FLOCK).await;
        }
    }
}

/// Writes what waits to be written of one repository.
async fn put_down(line: Option<Line>) {
    let Some(mut line) = line else { return };
    if let Err(error) = line.context.repo.flush(clock::now()).await {
        let repository = line.context.repo.full_name();
        tracing::warn!(%repository, error = %format!("{error:#}"), "the latest progress is not in the ledger");
    }
}

/// What work comes to; none where it panics.
async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Where it is rung for.
fn called(shop: &Shop, repository: &Repository) {
    shop.bell.name(repository.id, &repository.full_name());
    shop.bell.installed(repository.id, repository.installation);
}

/// The repository as it is now, by its number: what is renamed goes on under its new name, and nothing else is ever
/// taken for it.
async fn anew(shop: &Shop, known: &mut Repository, line: &mut Option<Line>) -> anyhow::Result<()> {
    let now = shop.hub.again(known).await?;
    if now.archived {
        bail!("it is archived; nothing is done until somebody unarchives it");
    }
    if !now.owner.eq_ignore_ascii_case(&known.owner) {
        let (was, is) = (&known.owner, &now.owner);
        bail!("it belonged to `{was}` and belongs to `{is}` now; name it as `{is}/{}` in --repository", now.name);
    }
    let was = std::mem::replace(known, now);
    if (&was.name, &was.default_branch) != (&known.name, &known.default_branch) {
        let (name, branch) = (known.full_name(), &known.default_branch);
        tracing::info!(was = was.full_name(), now = name, branch, "the repository has another name or default branch");
        shop.pages.left(&was.full_name());
        // What was remembered is of the old branch.
        *line = None;
    }
    called(shop, known);
    Ok(())
}

/// Ticks until nothing more is to be done, and says when to look again. A tick that comes to its end shows that the hub
/// answers: the pause after a failure begins small again.
async fn pass(
    shop: &Shop,
    repository: &mut Repository,
    line: &mut Option<Line>,
    retry: &mut Duration,
) -> anyhow::Result<Option<Timestamp>> {
    let begun = clock::now();
    if let Err(error) = anew(shop, repository, line).await {
        // While the hub is silent nobody can approve, whichever call it is that meets it.
        if let Some(line) = line {
            line.memory.silent.get_or_insert(begun);
        }
        return Err(error);
    }
    let line = match line {
        Some(line) => line,
        None => line.insert(shop.open_line(repository).await?),
    };
    // Costs nothing while the token is good, and finds an App that was installed anew.
    line.context.repo.hub = shop.hub.open(repository).await?;
    line.context.repo.repository = repository.clone();
    line.context.rung(&shop.bell.fresh(repository.id), clock::now());
    for _ in 0..MOST_IN_A_ROW {
        let begun = clock::now();
        let ticked = tick::tick(line).await;
        if shop.settings.onboarding && ticked.as_ref().is_err_and(|error| error.is::<NoPolicy>()) {
            onboard::offer(line, clock::now()).await?;
            return Ok(None);
        }
        shop.pages.ticked(repository, begun, &ticked);
        let ticked = ticked?;
        *retry = RETRY.0;
        shop.bell.listens(repository.id, line.context.sources());
        if let Some(why) = &ticked.notify_error {
            tracing::warn!(repository = repository.full_name(), %why, "people were not told");
        }
        if shop.is_ending() || !ticked.receipts.iter().any(Receipt::changed) {
            let alarm = ticked.plan.alarm.map(|alarm| alarm.at);
            // A window closes without a ring.
            let queued = ticked.seen.has_queued().then(|| later(shop.settings.poll));
            return Ok(alarm.into_iter().chain(line.context.next_ask()).chain(queued).min());
        }
    }
    // Something moves under us again and again: let it, and look once more in a while.
    Ok(Some(later(shop.settings.poll)))
}

fn later(wait: Duration) -> Timestamp {
    clock::now() + SignedDuration::try_from(wait).unwrap_or(SignedDuration::from_mins(5))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::caught;

    #[tokio::test]
    async fn f46_a_pass_that_panics_ends_no_loop() {
        assert_eq!(caught(async { 1 }).await, Some(1));
        let poisoned = async {
            tokio::task::yield_now().await;
            panic!("an object like no other")
        };
        assert_eq!(caught::<u8>(poisoned).await, None);
    }
}
