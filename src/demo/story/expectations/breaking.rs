//! What must have happened with the release that breaks.

use super::super::fleet::{self, Fate, LACKING, Plugin, TIERS};
use super::{Facts, Verdict, below, clock};

impl Facts<'_> {
    pub(super) fn changelog(&self, plugin: &Plugin) -> Verdict {
        let pull = self.pull_of(plugin.name, plugin.climbs, TIERS[0].0)?;
        let Fate::Breaking { passed } = plugin.fate else { return Err("nothing is passed over".to_owned()) };
        let both = |one: &&fleet::Breaking| [passed, plugin.climbs].contains(&one.version);
        let told = |one: &&fleet::Breaking| {
            let first = one.text.lines().next().unwrap_or_default();
            pull.body.contains(first) && pull.body.contains(&format!("[{}](", one.version))
        };
        let count = fleet::BREAKING.iter().filter(both).filter(told).count();
        if count == 2 { Ok(format!("#{}", pull.number)) } else { Err(format!("#{} tells of {count}", pull.number)) }
    }

    pub(super) fn read(&self, plugin: &Plugin) -> Verdict {
        let acknowledged = self.chronicle.acknowledged.ok_or("nobody acknowledged it")?;
        let landed = self.landed(plugin.name, plugin.climbs, TIERS[0].0).ok_or("it landed nowhere")?;
        if landed < acknowledged {
            return Err(format!("it landed at {}, and was acknowledged at {}", clock(landed), clock(acknowledged)));
        }
        Ok(format!("acknowledged at {}, landed at {}", clock(acknowledged), clock(landed)))
    }

    pub(super) fn given(&self, plugin: &Plugin) -> Verdict {
        let mended = self.chronicle.mended.ok_or("nobody set it")?;
        let landed =
            |tier: &str| self.landed(plugin.name, plugin.climbs, tier).ok_or(format!("it never landed on {tier}"));
        let (lacking, below) = (landed(LACKING)?, landed(below(LACKING).unwrap_or_default())?);
        if lacking < mended || below > mended {
            let of = [below, mended, lacking].map(clock);
            return Err(format!("below at {}, set at {}, landed there at {}", of[0], of[1], of[2]));
        }
        Ok(format!("set at {}, landed at {}", clock(mended), clock(lacking)))
    }
}
