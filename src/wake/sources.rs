//! Rings for the sources of charts: a release, a tag, a package of one repository is news for every config repository
//! whose charts come from there. Whether there is a new version is read at the source alone.

use std::collections::BTreeSet;

use super::{Bell, account};

/// So many names are kept that nobody listens for yet.
const MOST_EARLY: usize = 200;

impl Bell {
    /// From now on the charts of this repository come from these: names of repositories and paths of packages. They were
    /// asked before that is told, and what was rung for meanwhile rings now.
    pub fn listens(&self, repository: u64, sources: BTreeSet<String>) {
        let mut hung = self.hung();
        let pull = hung.entry(repository).or_default();
        let mut rope = pull.rope();
        let early = std::mem::take(&mut rope.early);
        let heard: BTreeSet<String> = early.intersection(&sources).cloned().collect();
        rope.sources = sources;
        if !heard.is_empty() {
            rope.fresh.extend(heard);
            drop(rope);
            pull.ring(account(None), crate::clock::now());
        }
    }

    /// Rings for every repository whose charts come from one of these, by the account whose act it was.
    pub fn ring_source(&self, names: &[String], by: Option<u64>) {
        for pull in self.hung().values() {
            let mut rope = pull.rope();
            let (heard, early): (Vec<String>, Vec<String>) =
                names.iter().cloned().partition(|name| rope.sources.contains(name));
            if rope.early.len() < MOST_EARLY {
                rope.early.extend(early);
            }
            if heard.is_empty() {
                continue;
            }
            rope.fresh.extend(heard);
            drop(rope);
            pull.ring(account(by), crate::clock::now());
        }
    }

    /// Rings where charts come from a source that `named` knows, in one repository or in all of them; whether there is
    /// any.
    pub fn ring_sources(&self, only: Option<u64>, named: impl Fn(&str) -> bool) -> bool {
        let mut rung = false;
        for (id, pull) in self.hung().iter().filter(|(id, _)| only.is_none_or(|only| only == **id)) {
            let mut rope = pull.rope();
            let heard: Vec<String> = rope.sources.iter().filter(|source| named(source)).cloned().collect();
            if heard.is_empty() {
                continue;
            }
            tracing::debug!(repository = id, ?heard, "a registry rang");
            rope.fresh.extend(heard);
            drop(rope);
            pull.ring(account(None), crate::clock::now());
            rung = true;
        }
        rung
    }

    /// The sources of this repository that were rung for since somebody asked.
    pub fn fresh(&self, repository: u64) -> BTreeSet<String> {
        std::mem::take(&mut self.hung().entry(repository).or_default().rope().fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rung;
    use super::*;

    #[tokio::test]
    async fn a_source_rings_where_charts_come_from_it() {
        let bell = Bell::default();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<BTreeSet<String>>();
        bell.listens(7, set(&["acme/charts", "acme/loki"]));
        bell.listens(8, set(&["acme/other"]));
        bell.ring_source(&["acme/charts".into(), "acme/charts/loki".into()], Some(1));
        let past = crate::clock::now().checked_sub(jiff::SignedDuration::from_secs(1)).ok();
        assert_eq!((bell.wait(7, past).await, bell.wait(8, past).await), (Rung::Bell, Rung::Alarm));
        assert_eq!((bell.fresh(7), bell.fresh(8)), (set(&["acme/charts"]), set(&[])));
        assert_eq!(bell.fresh(7), set(&[]), "each ring is told once");
    }

    #[tokio::test]
    async fn what_was_rung_for_while_it_was_asked_first_rings_once_it_is_known() {
        let bell = Bell::default();
        bell.listens(7, BTreeSet::new());
        bell.ring_source(&["acme/charts".into()], Some(1));
        bell.ring_source(&["acme/unrelated".into()], Some(1));
        let past = crate::clock::now().checked_sub(jiff::SignedDuration::from_secs(1)).ok();
        assert_eq!(bell.wait(7, past).await, Rung::Alarm, "nobody listens for it");
        bell.listens(7, ["acme/charts".to_string()].into());
        assert_eq!(bell.wait(7, past).await, Rung::Bell);
        assert_eq!(bell.fresh(7), ["acme/charts".to_string()].into());
        bell.listens(7, ["acme/charts".to_string(), "acme/unrelated".to_string()].into());
        assert_eq!((bell.fresh(7), bell.wait(7, past).await), (BTreeSet::new(), Rung::Alarm), "it is told once");
    }
}
