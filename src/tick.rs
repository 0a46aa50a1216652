//! The whole product on one screen: observe, decide, act, tell. Who rings for a tick is in `wake`.

use decide::Plan;
use decide::ledger::Outage;
use tracing::{Instrument as _, Span};

use crate::act::Line;
use crate::act::{self, Receipt};
use crate::observe::{self, NoGoodPolicy, NoPolicy, Seen};
use crate::{clock, trace};

/// What one tick saw, decided and did.
pub struct Ticked {
    /// The facts.
    pub seen: Seen,
    /// The decision.
    pub plan: Plan,
    /// What became of it; empty where nothing was to be done.
    pub receipts: Vec<Receipt>,
    /// Why somebody could not be told of it, when that is so.
    pub notify_error: Option<String>,
}

/// Looks and decides. Nothing is written anywhere: this is the whole of a dry run.
pub async fn look(line: &mut Line) -> anyhow::Result<(Seen, Plan)> {
    let span = begun(line);
    trace::within(span, looked(line)).await
}

/// One tick: looks, decides, tells, acts.
pub async fn tick(line: &mut Line) -> anyhow::Result<Ticked> {
    let span = begun(line);
    trace::within(span, ticked(line)).await
}

/// The span of one more look.
fn begun(line: &mut Line) -> Span {
    line.memory.looks += 1;
    trace::tick(&line.context.repo.full_name(), line.memory.looks)
}

async fn looked(line: &mut Line) -> anyhow::Result<(Seen, Plan)> {
    let begun = clock::now();
    let seen = match trace::within(trace::observe(), observe::observe(&mut line.context)).await {
        Ok(seen) => seen,
        Err(error) => {
            if !error.is::<NoPolicy>() {
                line.memory.silent.get_or_insert(begun);
            }
            return Err(error);
        }
    };
    // While the hub was silent nobody could approve: that time counts towards no grace period.
    if let Some(from) = line.memory.silent.take() {
        line.memory.outages.push(Outage { from, to: clock::now() });
    }
    let plan = trace::decide().in_scope(|| {
        let plan = decide::plan(&seen.snapshot, clock::now());
        trace::counted("actions", plan.actions.len());
        plan
    });
    Ok((seen, plan))
}

async fn ticked(line: &mut Line) -> anyhow::Result<Ticked> {
    act::dashboard::hear(line, clock::now()).await;
    let (seen, mut plan) = match looked(line).await {
        Ok(looked) => looked,
        Err(error) => {
            if let Some(NoGoodPolicy(problem)) = error.downcast_ref() {
                act::dashboard::publish_problem(line, problem, clock::now()).await;
            }
            return Err(error);
        }
    };
    plan.entries.extend(act::outages(&mut line.memory.outages));
    let receipts = trace::within(trace::act(), act::carry_out(line, &seen, &plan, clock::now())).await?;
    let telling = async {
        act::dashboard::publish(line, &seen, &plan, clock::now()).await;
        act::notify::notify(line, &seen, &plan, clock::now).await.err()
    };
    let notify_error = telling.instrument(trace::tell()).await;
    Ok(Ticked { seen, plan, receipts, notify_error: notify_error.map(|error| format!("{error:#}")) })
}
