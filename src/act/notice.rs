//! Gives notice before a grace period ends, in a comment of its own: the hub tells nobody of an edited one. Whoever
//! gives it has said so on the ledger branch first, so that of several one does; whether it went out is settled by
//! looking.

use decide::Entry;
use decide::ledger::{Change, Grace};
use decide::plan::{Action, Plan};
use decide::snapshot::SentNotice;
use jiff::Timestamp;

use super::intent::intend;
use super::receipt::Receipt;
use crate::act::line::Line;
use crate::observe::Seen;
use crate::tell;

pub(super) async fn give(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    action: &Action,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let Action::Notice { plugin, tier, version, pull, before, deadline, owners } = action else {
        return Ok(Receipt::Refused("only a notice can be given".to_string()));
    };
    let wave = plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier);
    let Some((wave, grace)) = wave.and_then(|wave| Some((wave, wave.grace.as_ref()?))) else {
        return Ok(Receipt::Moved(format!("{pull} has no grace period")));
    };
    // A second, independent look: a process may have ended after it gave this notice, or our page lags.
    let given = line.context.repo.hub.own_comments(*pull, grace.since).await?;
    // Of who was edited the page alone knows: REST tells it by times in whole seconds, and one may be edited in its first.
    let page = seen.pull(*pull).and_then(|page| page.comments.known()).map(Vec::as_slice).unwrap_or_default();
    let edited = |id: u64| page.iter().any(|comment| comment.id == id && comment.edited_at.is_some());
    let this = |body: &str| tell::read_notice(body) == Some(*before);
    if given.iter().any(|comment| comment.at >= grace.since && !edited(comment.id) && this(&comment.body)) {
        return Ok(Receipt::Refused(format!("the notice on {pull} is there, and the hub's page does not show it yet")));
    }
    let giving = Some(SentNotice { before: *before, at: now });
    let entry = Entry::Wave {
        plugin: plugin.clone(),
        tier: tier.clone(),
        version: version.clone(),
        change: Change::Grace(Grace { giving, ..grace.clone() }),
    };
    if let Some(receipt) = intend(line, entry, now).await? {
        return Ok(receipt);
    }
    let text = tell::notice(wave, &seen.links(), (*before, *deadline), owners)?;
    line.context.repo.hub.comment(*pull, &text).await?;
    Ok(Receipt::Done(format!("gave notice on {pull}, {plugin} → {tier}")))
}
