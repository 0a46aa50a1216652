//! Which version a cluster runs by what its other signals prove, and from when on it alone did: what was measured
//! before that is about another one. Pure; a lost memory delays.

use std::collections::BTreeMap;

use decide::snapshot::{Health, Reading};
use decide::{PluginLedger, Version};
use jiff::{SignedDuration, Timestamp};

use crate::observe::whose::Whose;
use crate::signal::Verdict;
use crate::signal::prometheus::Ground;

/// Without a look for so long, nobody knows what ran meanwhile.
const GAP: SignedDuration = SignedDuration::from_mins(30);

/// Since when clusters were seen to run what they run, look after look.
#[derive(Debug, Default)]
pub struct Proven(BTreeMap<Whose, Seen>);

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    version: Version,
    /// The first look at which all signals were healthy on it.
    since: Timestamp,
    /// The last look at which all of them proved it.
    until: Timestamp,
}

impl Proven {
    /// Notes what the readings of a look prove, taken at `now` or later.
    pub fn note<'a>(&mut self, looks: impl Iterator<Item = (&'a Whose, &'a [&'a Reading])>, now: Timestamp) {
        let mut known = std::mem::take(&mut self.0);
        for (whose, readings) in looks {
            let before = known.remove(whose).filter(|seen| now.duration_since(seen.until) <= GAP);
            let seen = match agreed(readings) {
                // Silence says nothing, and is noticed by the gap.
                Err(verdict) if verdict.health == Health::Unknown => before,
                Err(_) => None,
                Ok(version) => match before.filter(|seen| seen.version == *version) {
                    Some(seen) => Some(Seen { until: now, ..seen }),
                    None => healthy(readings).then(|| Seen { version: version.clone(), since: now, until: now }),
                },
            };
            if let Some(seen) = seen {
                self.0.insert(whose.clone(), seen);
            }
        }
    }

    fn since(&self, whose: &Whose, version: &Version) -> Option<Timestamp> {
        self.0.get(whose).filter(|seen| seen.version == *version).map(|seen| seen.since)
    }
}

/// On what an answer about a cluster may rest, or what is said of it without asking; `dated` says whether the
/// readings' own times count.
pub(crate) fn ground(
    page: Option<&PluginLedger>,
    proven: &Proven,
    whose: &Whose,
    (readings, dated): (&[&Reading], bool),
) -> Result<Ground, Verdict> {
    let runs = agreed(readings)?;
    let not_yet = |why: String| Verdict { running: Some(runs.clone()), ..Verdict::new(Health::Progressing, why) };
    let (version, landed) =
        landing(page, whose, runs).ok_or_else(|| not_yet(format!("{runs} is not known as what landed there last")))?;
    if let Some(other) = readings.iter().find(|reading| !proves(reading, version)) {
        return Err(not_yet(format!("{} does not prove {version}", other.signal)));
    }
    // By their own times, where all of them have one that says so; else by when we first saw it.
    let told = readings.iter().map(|reading| reading.since).max().flatten();
    let told = told.filter(|_| dated && healthy(readings) && readings.iter().all(|reading| reading.since.is_some()));
    let begun = [told, proven.since(whose, runs)].into_iter().flatten().min();
    let begun = begun.ok_or_else(|| not_yet(format!("the other signals were not healthy on {version} yet")))?;
    let by: Vec<&str> = readings.iter().map(|reading| reading.signal.as_str()).collect();
    Ok(Ground { version: version.clone(), from: begun.max(landed), by: by.join(" and ") })
}

/// The release that runs on a cluster and when it landed there, where it is the last one that did.
pub(crate) fn landing<'a>(
    page: Option<&'a PluginLedger>,
    whose: &Whose,
    runs: &Version,
) -> Option<(&'a Version, Timestamp)> {
    // Who was moved ahead of its slice is in no wave of it; then the newest one counts, as for the planner.
    let mut newest = None;
    for wave in page?.tiers.get(&whose.tier)?.iter().rev() {
        let Some(landed) = wave.landed() else { continue };
        let own = wave.members.contains(&whose.cluster);
        if runs.proves(&wave.version) {
            let found = (&wave.version, landed.at);
            if own {
                return Some(found);
            }
            newest = newest.or(Some(found));
        } else if own {
            break;
        }
    }
    newest
}

/// The one version that all of them prove.
fn agreed<'a>(readings: &[&'a Reading]) -> Result<&'a Version, Verdict> {
    if let Some(unread) = readings.iter().find(|reading| reading.health == Health::Unknown) {
        return Err(Verdict::new(Health::Unknown, format!("{} was not read, which proves the version", unread.signal)));
    }
    let mut versions = Vec::new();
    for reading in readings {
        let Some(version) = &reading.running else {
            return Err(Verdict::new(Health::Progressing, format!("{} proves no version yet", reading.signal)));
        };
        versions.push(version);
    }
    let Some(first) = versions.first().copied() else {
        return Err(Verdict::new(Health::Unknown, "no other signal proves which version this is about"));
    };
    match versions.iter().find(|version| **version != first) {
        Some(other) => Err(Verdict::new(Health::Progressing, format!("the other signals say {first} and {other}"))),
        None => Ok(first),
    }
}

fn proves(reading: &Reading, version: &Version) -> bool {
    reading.running.as_ref().is_some_and(|running| running.proves(version))
}

fn healthy(readings: &[&Reading]) -> bool {
    readings.iter().all(|reading| reading.health == Health::Healthy)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use decide::ledger::{Landed, Wave};

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(10_000 + minutes)
    }

    fn whose() -> Whose {
        Whose { plugin: "loki".into(), tier: "gold".into(), cluster: "eu-1".into() }
    }

    fn reading(health: Health, running: Option<&str>, since: Option<i64>) -> Reading {
        Reading {
            signal: "HelmRelease loki/loki".to_string(),
            health,
            running: running.map(|version| version.parse().unwrap()),
            attempted: None,
            digest: None,
            observed_at: at(0),
            since: since.map(at),
            evidence: String::new(),
        }
    }

    fn page(waves: &[(&str, &[&str], Option<i64>)]) -> PluginLedger {
        let wave = |(version, members, landed): &(&str, &[&str], Option<i64>)| {
            let members: Vec<decide::ClusterName> = members.iter().map(|name| (*name).into()).collect();
            let landed = landed.map(|minutes| Landed { at: at(minutes), commit: None, by: None });
            let mut wave = Wave::begun(version.parse().unwrap(), members.into(), at(-900));
            *wave.rewrite().landed = landed;
            wave
        };
        let waves = waves.iter().map(wave).collect();
        PluginLedger { tiers: [("gold".into(), waves)].into(), ..PluginLedger::default() }
    }

    #[test]
    fn it_landed_where_it_landed_last() {
        let found = |waves: &[(&str, &[&str], Option<i64>)], runs: &str| {
            let page = page(waves);
            landing(Some(&page), &whose(), &runs.parse().unwrap()).map(|(version, at)| (version.to_string(), at))
        };
        let told = |version: &str, minutes| Some((version.to_string(), at(minutes)));
        let (here, there) = (&["eu-1", "eu-2"][..], &["eu-2"][..]);
        let old = ("1.1.0", here, Some(-500));
        assert_eq!(found(&[old, ("1.2.0", here, Some(-60))], "1.2.0"), told("1.2.0", -60));
        assert_eq!(found(&[old, ("1.2.0", here, Some(-60))], "1.2.0+abc"), told("1.2.0", -60));
        assert_eq!(found(&[old, ("1.2.0+b", here, Some(-60))], "1.2.0"), None, "which is other content");
        assert_eq!(found(&[old, ("1.2.0", here, None)], "1.2.0"), None, "it has not landed");
        assert_eq!(found(&[old, ("1.2.0", here, None)], "1.1.0"), told("1.1.0", -500));
        assert_eq!(found(&[old, ("1.2.0", here, Some(-60))], "1.1.0"), None, "it landed before the last");
        assert_eq!(found(&[old, ("1.2.0", there, Some(-60))], "1.1.0"), told("1.1.0", -500), "not its slice yet");
        assert_eq!(found(&[old, ("1.2.0", there, Some(-60))], "1.2.0"), told("1.2.0", -60), "ahead of its slice");
        let again = [("1.2.0", here, Some(-800)), old, ("1.2.0", here, Some(-60))];
        assert_eq!(found(&again, "1.2.0"), told("1.2.0", -60), "it came back");
        assert_eq!(found(&[], "1.2.0"), None);
    }

    #[test]
    fn nothing_of_before_the_version_was_there_alone_counts() {
        let page = page(&[("1.2.0", &["eu-1"], Some(-60))]);
        let from = |proven: &Proven, readings: &[&Reading]| {
            ground(Some(&page), proven, &whose(), (readings, true))
                .map(|ground| ground.from)
                .map_err(|verdict| verdict.health)
        };
        let healthy = |since| reading(Health::Healthy, Some("1.2.0"), since);
        let never = Proven::default();
        assert_eq!(from(&never, &[&healthy(Some(-50))]), Ok(at(-50)), "its own time");
        assert_eq!(from(&never, &[&healthy(Some(-90))]), Ok(at(-60)), "never before it landed");
        assert_eq!(from(&never, &[&healthy(Some(-50)), &healthy(Some(-40))]), Ok(at(-40)));
        assert_eq!(from(&never, &[&healthy(Some(-50)), &healthy(None)]), Err(Health::Progressing), "nobody knows");
        assert_eq!(from(&never, &[]), Err(Health::Unknown));
        let undated = ground(Some(&page), &never, &whose(), (&[&healthy(Some(-50))], false));
        assert_eq!(undated.unwrap_err().health, Health::Progressing, "it may have been true all the time");
        let busy = reading(Health::Progressing, Some("1.2.0"), Some(-50));
        assert_eq!(from(&never, &[&busy]), Err(Health::Progressing), "its own time is of another state");
    }

    #[test]
    fn looks_without_a_gap_prove_since_when() {
        let page = page(&[("1.2.0", &["eu-1"], Some(-600)), ("1.1.0", &["eu-2"], Some(-900))]);
        let healthy = reading(Health::Healthy, Some("1.2.0"), None);
        let degraded = reading(Health::Degraded, Some("1.2.0"), None);
        let other = reading(Health::Healthy, Some("1.1.0"), None);
        let silent = reading(Health::Unknown, None, None);
        let since = |looks: &[(i64, &Reading)]| {
            let mut proven = Proven::default();
            for (minutes, reading) in looks {
                proven.note([(&whose(), [*reading].as_slice())].into_iter(), at(*minutes));
            }
            ground(Some(&page), &proven, &whose(), (&[&degraded], true)).ok().map(|ground| ground.from)
        };
        assert_eq!(since(&[(-60, &healthy), (-40, &healthy), (-20, &healthy)]), Some(at(-60)));
        assert_eq!(
            since(&[(-60, &healthy), (-40, &degraded), (-20, &degraded)]),
            Some(at(-60)),
            "it is still that one"
        );
        assert_eq!(since(&[(-60, &healthy), (-40, &silent), (-35, &healthy)]), Some(at(-60)));
        assert_eq!(since(&[(-60, &healthy), (-20, &healthy)]), Some(at(-20)), "nobody looked for too long");
        assert_eq!(since(&[(-60, &healthy), (-40, &other), (-20, &healthy)]), Some(at(-20)));
        assert_eq!(since(&[(-60, &degraded)]), None, "never healthy on it");
        assert_eq!(since(&[(-60, &other)]), None);
    }
}
