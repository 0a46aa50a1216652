//! The box of a pull request that somebody has ticked: who did, and whether they may. Those of the dashboard issue are
//! heard in `act`.

use decide::PullNumber;
use jiff::Timestamp;
use std::collections::BTreeSet;

use super::context::Context;
use crate::hub::{Author, HubError, HubPull, HubState, Role};
use crate::tell;

/// The pull requests that somebody who may write wants to have written anew. What became of each box is remembered for
/// its text.
pub(super) async fn ask(
    context: &mut Context,
    page: &[HubPull],
    now: Timestamp,
) -> Result<BTreeSet<PullNumber>, HubError> {
    let open = |number: &PullNumber| page.iter().any(|pull| pull.number == *number && pull.state == HubState::Open);
    context.memory.boxes.retain(|number, _| open(number));
    let mut wished = BTreeSet::new();
    for pull in page.iter().filter(|pull| pull.state == HubState::Open) {
        let Some(of) = tell::ticked_head(&pull.body) else { continue };
        let by = pull.editor.as_ref().filter(|by| by.human);
        let heard = match by {
            None => "The box was ticked, but the hub does not say by whom".to_string(),
            Some(by) if of != pull.head => format!("{} ticked the box of a commit that is gone", by.login),
            Some(by) => {
                let (may, heard) = may(context, by, now).await?;
                if may {
                    wished.insert(pull.number);
                }
                heard
            }
        };
        context.memory.boxes.insert(pull.number, heard);
    }
    Ok(wished)
}

/// Whether somebody may ask for it, and what is said to that.
async fn may(context: &Context, by: &Author, now: Timestamp) -> Result<(bool, String), HubError> {
    let (login, at) = (&by.login, now.strftime("%-d %b %Y, %H:%M UTC"));
    match context.repo.hub.may_write(login).await {
        Ok(role) if role >= Role::Write => Ok((true, format!("{login} asked for that on {at}"))),
        Ok(_) => Ok((false, format!("{login} ticked the box on {at}, which takes write access"))),
        Err(error @ HubError::Limited { .. }) => Err(error),
        Err(error) => {
            tracing::warn!(%login, %error, "whether they may tick a box is not known");
            Ok((false, format!("Whether {login} may ask for that could not be read on {at}; tick the box again")))
        }
    }
}
