//! What the clusters answered about one plugin, as one flat table: a fleet has hundreds of thousands of
//! answers, and most of them say the same in the same words. What follows from them is in `member`.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::Timestamp;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::snapshot::{Health, Reading};
use crate::{ClusterName, Digest, Version};

/// Answers of the clusters about one plugin, one per signal, in the order of the clusters' names. A copy
/// shares them until one of the two changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    rows: Arc<Vec<Row>>,
}

/// One answer: of which cluster, what it says and when. Kept small on purpose (48 bytes): what many
/// answers say alike is said once.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The cluster.
    pub cluster: ClusterName,
    /// What it says.
    pub fact: Arc<Fact>,
    observed_at: Stamp,
    since: Stamp,
}

/// What an answer says apart from its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which signal.
    pub signal: String,
    /// The state of what runs.
    pub health: Health,
    /// The version that the object proves to run.
    pub running: Option<Version>,
    /// The version that its last attempt was about.
    pub attempted: Option<Version>,
    /// Its digest.
    pub digest: Option<Digest>,
    /// Path and value of what proves it, or the message of what is wrong.
    pub evidence: String,
}

/// An instant without the gaps that a [`Timestamp`] has in memory, or none. Orders as timestamps do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    low: u32,
    high: i32,
    /// The sign of seconds and nanoseconds is the same; [`NONE`] = no instant.
    nanos: i32,
}

/// No number of nanoseconds within a second.
const NONE: i32 = i32::MIN;

impl Stamp {
    /// No instant.
    pub(crate) const NONE: Self = Self { low: 0, high: 0, nanos: NONE };

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // both halves are kept
    pub(crate) fn at(at: Timestamp) -> Self {
        let seconds = at.as_second();
        Self { low: seconds as u32, high: (seconds >> 32) as i32, nanos: at.subsec_nanosecond() }
    }

    pub(crate) fn maybe(at: Option<Timestamp>) -> Self {
        at.map_or(Self::NONE, Self::at)
    }

    pub(crate) fn is_none(self) -> bool {
        self.nanos == NONE
    }

    /// What orders two instants.
    pub(crate) fn key(self) -> (i64, i32) {
        ((i64::from(self.high) << 32) + i64::from(self.low), self.nanos)
    }

    pub(crate) fn get(self) -> Option<Timestamp> {
        // What was taken from a timestamp is one.
        let (seconds, nanos) = self.key();
        if self.is_none() { None } else { Timestamp::new(seconds, nanos).ok() }
    }
}

impl Row {
    /// When it was read.
    pub fn observed_at(&self) -> Timestamp {
        self.observed_at.get().unwrap_or(Timestamp::MIN)
    }

    /// Since when the object has been in this state without a break, by its own times.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.get()
    }

    pub(crate) fn observed(&self) -> Stamp {
        self.observed_at
    }

    pub(crate) fn since_stamp(&self) -> Stamp {
        self.since
    }

    /// The answer as it was given.
    pub fn reading(&self) -> Reading {
        let Fact { signal, health, running, attempted, digest, evidence } = self.fact.as_ref().clone();
        let (observed_at, since) = (self.observed_at(), self.since());
        Reading { signal, health, running, attempted, digest, observed_at, since, evidence }
    }
}

impl Fact {
    /// The answer without its times.
    fn of(reading: Reading) -> Self {
        let Reading { signal, health, running, attempted, digest, evidence, .. } = reading;
        Self { signal, health, running, attempted, digest, evidence }
    }

    /// Every word of it; versions by their text, since two that are equal in order may be spelled
    /// differently.
    fn words(&self) -> impl Ord + '_ {
        let (running, attempted) = (self.running.as_ref(), self.attempted.as_ref());
        let (running, attempted) = (running.map(Version::as_str), attempted.map(Version::as_str));
        (self.health, &self.evidence, running, attempted, &self.digest, &self.signal)
    }
}

/// Facts of a table under construction, each once, in the order of their words.
#[derive(Default)]
struct Facts(Vec<Arc<Fact>>);

impl Facts {
    fn share(&mut self, fact: Fact) -> Arc<Fact> {
        match self.0.binary_search_by(|known| known.words().cmp(&fact.words())) {
            Ok(at) => self.0[at].clone(),
            Err(at) => {
                let fact = Arc::new(fact);
                self.0.insert(at, fact.clone());
                fact
            }
        }
    }
}

impl Readings {
    /// The answers of one cluster; none when it gave none.
    pub fn of(&self, cluster: &ClusterName) -> &[Row] {
        self.from(self.rows.partition_point(|row| row.cluster < *cluster), cluster)
    }

    /// The answers of one cluster, which begin at this row if there are any.
    fn from(&self, begin: usize, cluster: &ClusterName) -> &[Row] {
        let rows = self.rows.get(begin..).unwrap_or_default();
        match rows.first() {
            // Rows of one cluster share its name.
            Some(first) if first.cluster == *cluster => {
                let more = rows.iter().skip(1).take_while(|row| row.cluster.is(&first.cluster)).count();
                rows.get(..=more).unwrap_or_default()
            }
            Some(_) | None => &[],
        }
    }

    /// Every answer, in the order of the clusters' names.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The answers of each cluster that gave some.
    pub fn iter(&self) -> impl Iterator<Item = (&ClusterName, &[Row])> {
        let of_one = |rows: &'_ &[Row]| !rows.is_empty();
        self.rows.chunk_by(|a, b| a.cluster == b.cluster).filter(of_one).map(|rows| (&rows[0].cluster, rows))
    }

    /// Puts these answers of a cluster in the place of those that it gave before.
    pub fn insert(&mut self, cluster: ClusterName, readings: Vec<Reading>) {
        let begin = self.rows.partition_point(|row| row.cluster < cluster);
        let count = self.from(begin, &cluster).len();
        let shared = |fact: Fact| {
            let known = self.rows.iter().find(|row| row.fact.words() == fact.words());
            known.map_or_else(|| Arc::new(fact), |row| row.fact.clone())
        };
        let rows: Vec<Row> = readings.into_iter().map(|reading| row(&cluster, reading, shared)).collect();
        Arc::make_mut(&mut self.rows).splice(begin..begin + count, rows);
    }

    /// Lets somebody change the answers of each cluster that gave some.
    pub fn reread(&mut self, mut change: impl FnMut(&ClusterName, &mut Vec<Reading>)) {
        let changed = self.iter().map(|(cluster, rows)| {
            let mut readings = rows.iter().map(Row::reading).collect();
            change(cluster, &mut readings);
            (cluster.clone(), readings)
        });
        *self = changed.collect();
    }

    /// Walks through the table in about the order of its rows.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { readings: self, next: 0 }
    }
}

/// A place in the table. Who asks for clusters in the order of their names finds each at once.
pub(crate) struct Cursor<'a> {
    readings: &'a Readings,
    next: usize,
}

impl<'a> Cursor<'a> {
    /// The answers of a cluster, and in which row they begin.
    pub(crate) fn of(&mut self, cluster: &ClusterName) -> (usize, &'a [Row]) {
        let mut begin = self.next;
        let mut found = self.readings.from(begin, cluster);
        if found.is_empty() {
            begin = self.readings.rows.partition_point(|row| row.cluster < *cluster);
            found = self.readings.from(begin, cluster);
        }
        self.next = begin + found.len();
        (begin, found)
    }
}

fn row(cluster: &ClusterName, reading: Reading, share: impl FnOnce(Fact) -> Arc<Fact>) -> Row {
    let (observed_at, since) = (Stamp::at(reading.observed_at), Stamp::maybe(reading.since));
    Row { cluster: cluster.clone(), observed_at, since, fact: share(Fact::of(reading)) }
}

impl FromIterator<(ClusterName, Vec<Reading>)> for Readings {
    /// Of a cluster that is named twice the later answers count, as in any map.
    fn from_iter<T: IntoIterator<Item = (ClusterName, Vec<Reading>)>>(answers: T) -> Self {
        let mut answers: Vec<(ClusterName, Vec<Reading>)> = answers.into_iter().collect();
        answers.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut facts = Facts::default();
        let mut rows: Vec<Row> = Vec::with_capacity(answers.iter().map(|(_, readings)| readings.len()).sum());
        for (cluster, readings) in answers {
            while rows.last().is_some_and(|row| row.cluster == cluster) {
                rows.pop();
            }
            rows.extend(readings.into_iter().map(|reading| row(&cluster, reading, |fact| facts.share(fact))));
        }
        Self { rows: Arc::new(rows) }
    }
}

impl Serialize for Readings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(cluster, rows)| {
            let readings: Vec<Reading> = rows.iter().map(Row::reading).collect();
            (cluster, readings)
        }))
    }
}

impl<'de> Deserialize<'de> for Readings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Readings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of clusters to lists of readings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Readings, A::Error> {
                let mut answers = Vec::new();
                while let Some(answer) = map.next_entry()? {
                    answers.push(answer);
                }
                Ok(answers.into_iter().collect())
            }
        }
        deserializer.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{at, healthy};
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn a_stamp_is_its_instant_and_orders_as_it_does() {
        let instants = [
            "-000044-03-15T12:00:00.25Z",
            "1969-12-31T23:59:59.5Z",
            "1970-01-01T00:00:00Z",
            "2026-11-23T12:00:00.000000001Z",
            "2106-02-07T06:28:15Z",
            "2106-02-07T06:28:16Z",
            "3000-01-01T00:00:00Z",
        ]
        .map(at);
        for instant in instants {
            assert_eq!(Stamp::at(instant).get(), Some(instant), "{instant}");
            assert!(!Stamp::at(instant).is_none());
        }
        assert!(instants.is_sorted_by_key(|instant| Stamp::at(*instant).key()));
        assert_eq!((Stamp::NONE.get(), Stamp::NONE.is_none()), (None, true));
    }

    #[test]
    fn the_answers_of_a_cluster_stay_together() {
        let with = |signal: &str| Reading { signal: signal.to_string(), ..healthy("1.1.0") };
        let answers = [("b", vec![with("one"), with("two")]), ("a", vec![with("three")]), ("c", vec![])];
        let mut table: Readings = answers.into_iter().map(|(name, readings)| (name.into(), readings)).collect();
        let shown = |table: &Readings| -> Vec<(String, Vec<String>)> {
            let of = |rows: &[Row]| rows.iter().map(|row| row.reading().signal).collect();
            table.iter().map(|(name, rows)| (name.to_string(), of(rows))).collect()
        };
        let both = ("b".to_string(), vec!["one".to_string(), "two".to_string()]);
        assert_eq!(shown(&table), [("a".to_string(), vec!["three".to_string()]), both.clone()]);
        table.insert("a".into(), vec![with("four")]);
        table.reread(|name, readings| readings.retain(|reading| name.as_str() == "b" || reading.signal != "four"));
        assert_eq!(shown(&table), [both]);
        assert_eq!(table.rows().len(), 2);
        let mut cursor = table.cursor();
        assert_eq!(["b", "a", "b"].map(|name| cursor.of(&name.into()).1.len()), [2, 0, 2]);
    }
}
