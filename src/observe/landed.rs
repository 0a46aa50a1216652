//! What the base branches say of merges that the bot asked for and that are not known to have landed. What follows
//! from it is decided in `decide::proof`.

use std::collections::BTreeMap;

use decide::ledger::Wave;
use decide::snapshot::{Landing, Pull, PullState, Read};
use decide::{PluginName, PullNumber, TierName};

use super::base::Base;
use crate::git::Asked;
use crate::hub::HubPull;
use crate::ledger::Branch;
use crate::observe::context::Context;

const QUEUED: &str = "it waits in the merge queue";

/// Asks git about each of them. What cannot be read says why.
pub async fn ask(context: &Context, base: &Base, page: &[HubPull], pulls: &mut BTreeMap<PluginName, Vec<Pull>>) {
    for (plugin, pulls) in pulls {
        for pull in pulls {
            let Some(asked) = asked(context, plugin, pull) else { continue };
            let tip = base.line(&pull.tier).map(|line| line.commit.clone()).map_err(str::to_string);
            pull.landing = match tip {
                Ok(tip) => match context.repo.git(move |store, access| store.landing(access, &asked, &tip)).await {
                    // What waits in a merge queue comes at any moment: nothing of it yet is no answer.
                    Ok(Landing::Absent) if is_queued(page, pull.number) => Read::Unread(QUEUED.to_string()),
                    Ok(landing) => Read::Known(landing),
                    Err(error) => Read::Unread(format!("{error:#}")),
                },
                Err(why) => Read::Unread(why),
            };
        }
    }
}

fn is_queued(page: &[HubPull], number: PullNumber) -> bool {
    page.iter().any(|pull| pull.number == number && pull.queued.is_some())
}

/// What was asked for, where nobody knows yet what came of it.
fn asked(context: &Context, plugin: &PluginName, pull: &Pull) -> Option<Asked> {
    let open = pull.state == PullState::Open;
    let named = match &pull.state {
        PullState::Open => None,
        PullState::Merged { commit, .. } => Some(commit).filter(|commit| !commit.as_str().is_empty()).cloned(),
        PullState::Closed { .. } => return None,
    };
    let wave = open_wave(context, plugin, &pull.tier, pull)?;
    // The hub said no, and it is still open: nothing has come of it.
    let merging = if open { wave.asked() } else { wave.merging.as_ref() };
    let before = merging?.base.clone()?;
    Some(Asked { head: pull.head.clone(), before, named })
}

fn open_wave<'a>(context: &'a Context, plugin: &PluginName, tier: &TierName, pull: &Pull) -> Option<&'a Wave> {
    let page = context.repo.ledger.as_ref().map(Branch::ledger)?.plugins.get(plugin)?;
    let asked = |wave: &&Wave| wave.merging.as_ref().is_some_and(|merging| merging.head == pull.head);
    page.tiers.get(tier)?.iter().rev().filter(|wave| wave.landed().is_none()).find(asked)
}
