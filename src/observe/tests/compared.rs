//! Which releases are compared, what is known of those that could not be, and what that means for who sets what.

use std::collections::{BTreeMap, BTreeSet};

use compare::{Settings, What};
use decide::snapshot::{Breaking, MissingValue};
use decide::{ClusterName, PluginPolicy, Version};
use demo::charts::Charts;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::observe::chart::{Found, Mirrors, Source, source};
use crate::observe::compared::{self, Compared, Place};
use crate::observe::net::Net;
use crate::observe::released::Pace;
use crate::policy::wiring::Chart;

const CHART: &str = "loki";
const REQUIRES: &str = r#"{"required": ["host"]}"#;

/// One that takes every version.
fn policy() -> PluginPolicy {
    PluginPolicy { constraint: None, ..crate::tell::fixture::snapshot().policy.plugins.remove(0) }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

struct Shelf {
    charts: Charts,
    source: Box<dyn Source>,
    policy: PluginPolicy,
}

impl Shelf {
    async fn new(oci: bool) -> Self {
        let charts = Charts::start().await.unwrap();
        let chart = if oci {
            Chart::Oci { reference: charts.reference(CHART), plain: true }
        } else {
            Chart::Http { repository: charts.repository(), name: CHART.to_string() }
        };
        let source = source(&chart, &Net::new(vec![charts.host()]).unwrap(), &Mirrors::default()).unwrap();
        Self { charts, source, policy: policy() }
    }

    async fn found(&self) -> BTreeMap<Version, Found> {
        let mut found = BTreeMap::new();
        for version in self.source.versions().await.unwrap() {
            found.extend(self.source.describe(&version).await.unwrap().map(|one| (version, one)));
        }
        found
    }

    async fn look(&self, compared: Compared, found: &BTreeMap<Version, Found>, lowest: &str, second: i64) -> Compared {
        let pace = Pace { first: SignedDuration::from_secs(60), last: SignedDuration::from_secs(600) };
        let lowest = version(lowest);
        compared::ask(
            compared,
            self.source.as_ref(),
            &self.policy,
            found,
            (Some(&lowest), Some(&lowest)),
            (pace, false),
            at(second),
        )
        .await
    }
}

fn place(clusters: &[&str], values: serde_json::Value) -> Place {
    let clusters = clusters.iter().map(|name| ClusterName::from(*name)).collect();
    Place { clusters, settings: Settings::new(values, Vec::new()), whole: true }
}

/// What is known of each release, in words.
fn told(compared: &Compared) -> Vec<String> {
    let said = compared.told().map(|(version, step)| {
        let found = step.became.map(|report| {
            let told: Vec<What> =
                report.changes.iter().map(|change| change.what).filter(|what| *what != What::Image).collect();
            format!("{told:?}")
        });
        format!("{version} {} {}", step.from, found.unwrap_or_else(|why| why))
    });
    said.collect()
}

#[tokio::test]
async fn each_release_is_held_against_the_one_before_it() {
    for oci in [false, true] {
        let shelf = Shelf::new(oci).await;
        for (version, files) in [
            ("1.0.0", &[][..]),
            ("1.1.0", &[("values.schema.json", REQUIRES)]),
            ("1.2.0-rc.1", &[("values.schema.json", "{")]),
            ("1.2.0", &[("values.schema.json", REQUIRES), ("templates/new.yaml", "a: 1\n")]),
        ] {
            shelf.charts.publish_with(CHART, version, "", files).unwrap();
        }
        let mut policy = shelf.policy.clone();
        policy.constraint = Some("^1".parse().unwrap());
        let shelf = Shelf { policy, ..shelf };
        let found = shelf.found().await;
        let compared = shelf.look(Compared::default(), &found, "1.0.0", 0).await;
        let said = told(&compared);
        assert_eq!(said, ["1.1.0 1.0.0 [OptionRequired]", "1.2.0 1.1.0 [TemplateAdded]"], "{oci}");
        // A value that all lack is asked for; one that some have is missing to the others.
        let (newer, newest) = (version("1.1.0"), version("1.2.0"));
        let nobody = [place(&["a", "b"], json!({})), place(&["c"], json!({"host": null}))];
        let asked: Vec<Breaking> = compared.breaking(&newer, &nobody).into_iter().map(|fact| fact.what).collect();
        assert_eq!(asked, [Breaking::OptionRequired { option: "host".to_string() }]);
        assert_eq!(compared.missing(&newest, &nobody), []);
        let some = [place(&["a", "b"], json!({"host": "x"})), place(&["b", "c"], json!({}))];
        assert_eq!(compared.breaking(&newer, &some), []);
        let missing = [MissingValue { cluster: "c".into(), option: "host".to_string() }];
        assert_eq!(compared.missing(&newest, &some), missing, "who skips a release needs what it asked for");
        assert_eq!(compared.missing(&version("1.0.0"), &some), []);
        let elsewhere = [place(&["a"], json!({"host": "x"})), Place { whole: false, ..place(&["c"], json!({})) }];
        assert_eq!(compared.missing(&newest, &elsewhere), [], "it may come from elsewhere");
        // Once all run it, it is required no more; a rollback still has to know that it breaks.
        let (oldest, running) = (version("1.0.0"), version("1.1.0"));
        let (which, pace) =
            ((Some(&oldest), Some(&running)), Pace { first: SignedDuration::ZERO, last: SignedDuration::ZERO });
        let (source, policy) = (shelf.source.as_ref(), &shelf.policy);
        let later = compared::ask(Compared::default(), source, policy, &found, which, (pace, false), at(0)).await;
        assert_eq!((later.missing(&newest, &some), later.breaking(&newer, &nobody).len()), (Vec::new(), 1));
        assert_eq!(later.missing(&newer, &some), []);
        // Nobody can see what is set.
        assert_eq!(compared.breaking(&newer, &[]).len(), 1);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_no_release_without_differences() {
    let shelf = Shelf::new(false).await;
    shelf.charts.publish(CHART, "1.0.0", "").unwrap();
    shelf.charts.publish_with(CHART, "1.1.0", "", &[("values.yaml", "a: [")]).unwrap();
    let found = shelf.found().await;
    let compared = shelf.look(Compared::default(), &found, "1.0.0", 0).await;
    let facts = compared.breaking(&version("1.1.0"), &[]);
    assert!(
        matches!(&facts[..], [fact] if matches!(&fact.what, Breaking::Uncompared { why, .. } if why.contains("values.yaml"))),
        "{facts:?}"
    );
    // It is tried again, and not at each look.
    let mut mended = found.clone();
    shelf.charts.publish_with(CHART, "1.1.0", "", &[]).unwrap();
    let compared = shelf.look(compared, &found, "1.0.0", 30).await;
    assert_eq!(compared.breaking(&version("1.1.0"), &[]).len(), 1);
    mended.extend(shelf.found().await);
    let compared = shelf.look(compared, &mended, "1.0.0", 31).await;
    assert_eq!(compared.breaking(&version("1.1.0"), &[]), [], "other content is another release");
    // What runs is at its source no more; what was compared before is known.
    let gone: BTreeMap<Version, Found> = found.into_iter().filter(|(version, _)| version.as_str() != "1.0.0").collect();
    let compared = shelf.look(compared, &gone, "1.0.0", 32).await;
    assert_eq!(told(&compared).len(), 1);
    assert!(!told(&compared)[0].contains("no more"), "{:?}", told(&compared));
    let compared = shelf.look(Compared::default(), &gone, "1.0.0", 0).await;
    assert_eq!(told(&compared), ["1.1.0 1.0.0 1.0.0 is at its source no more"]);
    assert_eq!(compared.breaking(&version("1.1.0"), &[]).len(), 1);
}

#[tokio::test]
async fn a_long_way_is_compared_in_several_looks() {
    let shelf = Shelf::new(false).await;
    for minor in 0..12 {
        shelf.charts.publish(CHART, &format!("1.{minor}.0"), "").unwrap();
    }
    let found = shelf.found().await;
    let mut compared = Compared::default();
    let mut unread = Vec::new();
    for second in 0..3 {
        compared = shelf.look(compared, &found, "1.0.0", second).await;
        unread.push(told(&compared).iter().filter(|one| one.contains("it was not read yet")).count());
    }
    assert_eq!(unread, [5, 0, 0], "the newest come first");
    let known: BTreeSet<String> = told(&compared).into_iter().collect();
    assert_eq!(known.len(), 11);
    // A run that ends has no second look.
    let (source, pace) = (shelf.source.as_ref(), Pace { first: SignedDuration::ZERO, last: SignedDuration::ZERO });
    let lowest = version("1.0.0");
    let once = (pace, true);
    let compared =
        compared::ask(Compared::default(), source, &shelf.policy, &found, (Some(&lowest), Some(&lowest)), once, at(0))
            .await;
    assert_eq!(told(&compared).into_iter().collect::<BTreeSet<String>>(), known);
}
