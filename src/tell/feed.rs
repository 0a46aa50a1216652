//! The versions that have finished a tier, for teams that follow one from outside of the ladder. The form is that of
//! Renovate's custom datasource (docs.renovatebot.com/modules/datasource/custom).

use decide::ledger::Purpose;
use decide::{PluginName, TierName, Version};
use jiff::Timestamp;
use serde::Serialize;

use super::view::View;

/// The versions that a tier lets through.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Feed {
    /// Oldest first.
    releases: Vec<Release>,
    /// The config repository.
    homepage: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Release {
    version: String,
    /// When it finished the tier: a `minimumReleaseAge` counts from then.
    release_timestamp: Timestamp,
}

/// Every version that has finished a tier and has failed nowhere since; none where there is no such plugin or tier.
pub fn feed(view: &View, plugin: &PluginName, tier: &TierName) -> Option<Feed> {
    view.links.tier(plugin, tier)?;
    let page = view.pages.get(plugin);
    let everywhere = || page.into_iter().flat_map(|page| page.tiers.values().flatten());
    let failed = |version: &Version| {
        everywhere().any(|wave| wave.version == *version && (wave.failed().is_some() || wave.stalled().is_some()))
    };
    let here = page.and_then(|page| page.tiers.get(tier)).map_or(&[][..], Vec::as_slice);
    let mut found: Vec<(&Version, Timestamp)> = Vec::new();
    for wave in here.iter().filter(|wave| matches!(wave.part.purpose, Purpose::Promotion | Purpose::CatchUp)) {
        match wave.finished() {
            Some(at) if !failed(&wave.version) => found.push((&wave.version, at)),
            Some(_) | None => {}
        }
    }
    found.sort();
    found.dedup_by(|later, first| later.0 == first.0);
    let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let release =
        |(version, at): (&Version, Timestamp)| Release { version: version.to_string(), release_timestamp: whole(at) };
    Some(Feed { releases: found.into_iter().map(release).collect(), homepage: view.links.repo.clone() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use decide::ledger::{Change, Failed, Landed, Ledger};
    use decide::{Entry, Reason};

    use super::*;
    use crate::tell::fixture;

    #[test]
    fn what_finished_a_tier_and_failed_nowhere_is_there() {
        let mut view = fixture::view();
        let (plugin, [bronze, gold]) = (PluginName::from("cert-manager"), ["bronze", "gold"].map(TierName::from));
        let mut ledger = Ledger::default();
        let mut told = |tier: &TierName, text: &str, change: Change| {
            let (plugin, tier, version) = (plugin.clone(), tier.clone(), fixture::version(text));
            ledger.apply(&Entry::Wave { plugin, tier, version, change });
        };
        let runs = |text: &str| {
            let landed = Landed { at: fixture::at(text), commit: None, by: None };
            Change::Found { members: vec!["bronze-1".into()], digest: None, landed }
        };
        for (text, at) in
            [("1.13.0", "2026-11-20T10:00:00Z"), ("1.14.0", "2026-11-21T10:00:00Z"), ("1.14.1", "2026-11-22T10:00:00Z")]
        {
            told(&bronze, text, runs(at));
            told(&bronze, text, Change::Finished(fixture::at(at)));
        }
        let at = "2026-11-23T10:00:00Z";
        told(&bronze, "1.15.0", runs(at));
        told(&gold, "1.14.0", runs(at));
        told(&gold, "1.14.0", Change::Failed(Failed { at: fixture::at(at), why: Reason::LookAgain }));
        view.pages = ledger.plugins;
        let text = serde_json::to_string(&feed(&view, &plugin, &bronze).unwrap()).unwrap();
        assert_eq!(
            text,
            "{\"releases\":[{\"version\":\"1.13.0\",\"releaseTimestamp\":\"2026-11-20T10:00:00Z\"},\
             {\"version\":\"1.14.1\",\"releaseTimestamp\":\"2026-11-22T10:00:00Z\"}],\"homepage\":\"https://github.com/acme/fleet\"}"
        );
        assert_eq!(feed(&view, &plugin, &gold).unwrap().releases, []);
        assert_eq!(feed(&view, &plugin, &"iron".into()), None);
    }
}
