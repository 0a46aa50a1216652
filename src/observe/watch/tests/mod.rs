//! Lists and watches against an API server with a state.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use decide::Tier;
use serde_json::json;

use self::world::{Trouble, World};
use super::*;
use crate::observe::cluster::Asking;
use crate::observe::net::Given;
use crate::signal::SignalSpec;

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2/helmreleases";

/// Whatever takes longer does not come.
const LONG: Duration = Duration::from_secs(60);

/// A HelmRelease that runs this version well.
fn release(namespace: &str, name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": namespace, "generation": 2},
        "spec": {},
        "status": {
            "observedGeneration": 2,
            "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 2,
                "lastTransitionTime": "2026-11-20T08:00:00Z"}],
            "history": [{"chartVersion": version, "status": "deployed"}],
        },
    })
}

fn tier(max_age: &str) -> Tier {
    let mut tier: Tier = serde_yaml::from_str("{name: gold, soak: {min: PT1H}}").unwrap();
    tier.health.max_age = max_age.parse().unwrap();
    tier
}

/// Who asks about what, and how often it was rung.
struct Bench {
    folder: tempfile::TempDir,
    watches: Watches,
    asks: Arc<Vec<Ask>>,
    rings: Arc<AtomicUsize>,
}

impl Bench {
    fn new(asks: Vec<(&str, SignalSpec)>, max_age: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rings = Arc::new(AtomicUsize::new(0));
        let clusters = Arc::new(Clusters::open(folder.path(), Given::all(&["127.0.0.1".into()])).unwrap());
        let answers = Arc::clone(&rings);
        let mut watches = Watches::that_stays(clusters, move || {
            answers.fetch_add(1, Ordering::SeqCst);
        });
        let millis = Duration::from_millis;
        watches.pace = Pace { lasts: (2, 0), overdue: millis(500), retry: (millis(50), millis(200)), ..Pace::STAYS };
        let ask = |(credential, spec): (&str, SignalSpec)| {
            let name = decide::ClusterName::from("eu-1");
            let credential = credential.to_string();
            let cluster = ListedCluster { name, labels: BTreeMap::new(), credential, secret_ref: None, stale: None };
            Ask::new(&Arc::new(cluster), &Asking::new(&"plugin".into(), &tier(max_age), &Arc::new(spec))).unwrap()
        };
        Self { folder, watches, asks: Arc::new(asks.into_iter().map(ask).collect()), rings }
    }

    async fn look(&mut self) -> Vec<decide::snapshot::Reading> {
        self.watches.answers(&self.asks).await.into_iter().map(|said| said.answer().reading).collect()
    }

    /// Health and version of each, as one word.
    async fn says(&mut self) -> Vec<String> {
        let word = |reading: decide::snapshot::Reading| match reading.running {
            Some(version) => format!("{:?} {version}", reading.health),
            None => format!("{:?}", reading.health),
        };
        self.look().await.into_iter().map(word).collect()
    }

    /// Looks until it says this, as the bell would make it.
    async fn until(&mut self, expected: &[&str]) {
        let begun = tokio::time::Instant::now();
        loop {
            let says = self.says().await;
            if says == expected {
                return;
            }
            assert!(begun.elapsed() < LONG, "{says:?} instead of {expected:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for one more ring.
    async fn rings_after(&self, rung: usize) {
        let begun = tokio::time::Instant::now();
        while self.rings.load(Ordering::SeqCst) == rung {
            assert!(begun.elapsed() < LONG, "somebody has to be woken");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn of(name: &str) -> SignalSpec {
    crate::observe::tests::others::named("helmRelease", "apps", name)
}

#[tokio::test]
async fn a_look_asks_nothing_while_nothing_changes_and_a_change_rings() {
    let world = World::start().await;
    for name in ["a", "b", "c"] {
        world.put(RELEASES, release("apps", name, "1.1.0"));
    }
    let mut bench = Bench::new(vec![("eu-1", of("a")), ("eu-1", of("c")), ("eu-1", of("absent"))], "PT5M");
    world.connect(bench.folder.path(), "eu-1");
    assert_eq!(bench.says().await, ["Healthy 1.1.0", "Healthy 1.1.0", "NotFound"]);
    let path = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/apps/helmreleases";
    let asked = world.asked();
    assert_eq!(asked[..2], [format!("list {path}"), format!("list {path}")], "two pages");
    let before = bench.look().await[0].observed_at;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let after = bench.look().await[0].observed_at;
    assert!(after > before, "a bookmark proves that nothing has changed since");
    assert!(world.asked().iter().all(|what| what.starts_with("watch")), "nothing is asked again");

    let rung = bench.rings.load(Ordering::SeqCst);
    // Nobody looks at it: it rings for nobody.
    world.put(RELEASES, release("apps", "b", "1.2.0"));
    world.put(RELEASES, release("apps", "a", "1.2.0"));
    world.put(RELEASES, release("apps", "absent", "1.0.0"));
    bench.until(&["Healthy 1.2.0", "Healthy 1.1.0", "Healthy 1.0.0"]).await;
    world.remove(RELEASES, "apps", "c");
    bench.until(&["Healthy 1.2.0", "NotFound", "Healthy 1.0.0"]).await;
    bench.rings_after(rung).await;
}

#[tokio::test]
async fn what_went_unseen_is_found_when_a_watch_has_to_begin_anew() {
    let world = World::start().await;
    world.put(RELEASES, release("apps", "a", "1.1.0"));
    world.put(RELEASES, release("apps", "b", "1.1.0"));
    let mut bench = Bench::new(vec![("eu-1", of("a")), ("eu-1", of("b"))], "PT5M");
    world.connect(bench.folder.path(), "eu-1");
    assert_eq!(bench.says().await, ["Healthy 1.1.0", "Healthy 1.1.0"]);
    // The watch is open and tells nothing, though much happens; then the log does not reach back far enough.
    world.trouble(Trouble { half_open: true, ..Trouble::default() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.put(RELEASES, release("apps", "a", "1.2.0"));
    world.remove(RELEASES, "apps", "b");
    world.forget();
    let old = bench.look().await[0].clone();
    assert_eq!(old.running.unwrap().to_string(), "1.1.0", "it is not known yet");
    world.trouble(Trouble::default());
    bench.until(&["Healthy 1.2.0", "NotFound"]).await;
    assert!(world.asked().iter().filter(|what| what.starts_with("list")).count() >= 2, "it was listed anew");
}

#[tokio::test]
async fn a_watch_that_tells_nothing_proves_nothing() {
    let world = World::start().await;
    world.put(RELEASES, release("apps", "a", "1.1.0"));
    let mut bench = Bench::new(vec![("eu-1", of("a"))], "PT2S");
    world.connect(bench.folder.path(), "eu-1");
    bench.says().await;
    world.trouble(Trouble { half_open: true, ..Trouble::default() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.asked();
    let before = bench.look().await[0].observed_at;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(bench.look().await[0].observed_at, before, "its age is that of the last word");
    // Before it is too old to count, it is asked for.
    world.put(RELEASES, release("apps", "a", "1.2.0"));
    tokio::time::sleep(Duration::from_millis(700)).await;
    bench.until(&["Healthy 1.2.0"]).await;
    assert!(world.asked().iter().any(|what| what.starts_with("get")), "the object itself");
}

#[tokio::test]
async fn without_bookmarks_the_end_of_a_watch_proves_what_it_told() {
    let world = World::start().await;
    world.trouble(Trouble { no_bookmarks: true, ..Trouble::default() });
    world.put(RELEASES, release("apps", "a", "1.1.0"));
    let mut bench = Bench::new(vec![("eu-1", of("a"))], "PT5M");
    world.connect(bench.folder.path(), "eu-1");
    let before = bench.look().await[0].observed_at;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.look().await[0].observed_at, before);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(bench.look().await[0].observed_at > before);
    assert_eq!(world.asked().iter().filter(|what| what.starts_with("list")).count(), 1);
}

#[tokio::test]
async fn what_may_not_be_watched_everywhere_is_watched_in_its_namespaces_or_asked_for() {
    let world = World::start().await;
    let names = ["n1", "n2", "n3", "n4", "n5"];
    names.iter().for_each(|namespace| world.put(RELEASES, release(namespace, "a", "1.1.0")));
    let specs = || {
        names
            .iter()
            .map(|namespace| ("eu-1", crate::observe::tests::others::named("helmRelease", namespace, "a")))
            .collect()
    };
    let five = ["Healthy 1.1.0"; 5];
    let path = |namespace: &str| format!("/apis/helm.toolkit.fluxcd.io/v2/{namespace}helmreleases");
    for (trouble, verb, place) in [
        (Trouble::default(), "watch", path("")),
        (Trouble { no_wide: true, ..Trouble::default() }, "watch", path("namespaces/n5/")),
        (Trouble { no_lists: true, ..Trouble::default() }, "get", format!("{}/a", path("namespaces/n5/"))),
    ] {
        world.trouble(trouble);
        world.asked();
        let mut bench = Bench::new(specs(), "PT5M");
        world.connect(bench.folder.path(), "eu-1");
        bench.until(&five).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let asked = world.asked();
        assert!(asked.contains(&format!("{verb} {place}")), "{verb} {place}: {asked:?}");
        assert_eq!(asked.iter().any(|what| what.starts_with("get")), verb == "get", "{asked:?}");
        bench.until(&five).await;
        let again = world.asked().into_iter().filter(|what| what.starts_with("get")).count();
        assert_eq!(again > 0, verb == "get", "what is not watched is asked for at each look");
    }
}

#[tokio::test]
async fn an_object_beside_the_first_one_is_watched_as_well() {
    let world = World::start().await;
    let rollout = |image: &str| {
        let spec = json!({"containers": [{"name": "app", "image": image}]});
        json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "apps", "generation": 1},
            "spec": {"template": {"spec": spec}}})
    };
    let canary = json!({"kind": "Canary", "metadata": {"name": "web", "namespace": "apps"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    world.put("flagger.app/v1beta1/canaries", canary);
    world.put("apps/v1/deployments", rollout("web:1"));
    let spec = crate::observe::tests::others::named("canary", "apps", "web");
    let mut bench = Bench::new(vec![("eu-1", spec)], "PT5M");
    world.connect(bench.folder.path(), "eu-1");
    bench.look().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    bench.look().await;
    let asked = world.asked();
    assert!(asked.contains(&"watch /apis/apps/v1/namespaces/apps/deployments".to_string()), "{asked:?}");
    bench.look().await;
    let quiet = world.asked();
    assert!(!quiet.iter().any(|what| what.starts_with("get")), "it is up to date: {quiet:?}");
    let rung = bench.rings.load(Ordering::SeqCst);
    world.put("apps/v1/deployments", rollout("web:2"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    bench.look().await;
    let asked = world.asked();
    assert!(asked.contains(&"get /apis/apps/v1/namespaces/apps/deployments/web".to_string()), "{asked:?}");
    bench.rings_after(rung).await;
}

#[tokio::test]
async fn a29_f12_a_cluster_that_is_silent_delays_nobody_and_is_unknown() {
    let (good, bad) = (World::start().await, World::start().await);
    good.put(RELEASES, release("apps", "a", "1.1.0"));
    bad.put(RELEASES, release("apps", "a", "1.1.0"));
    let mut bench = Bench::new(vec![("good", of("a")), ("bad", of("a")), ("nowhere", of("a"))], "PT2S");
    good.connect(bench.folder.path(), "good");
    bad.connect(bench.folder.path(), "bad");
    assert_eq!(bench.says().await, ["Healthy 1.1.0", "Healthy 1.1.0", "Unknown"]);
    bad.trouble(Trouble { silent: true, half_open: true, ..Trouble::default() });
    tokio::time::sleep(Duration::from_secs(4)).await;
    // It takes ten seconds until a silent cluster is known to be one; meanwhile its word only grows old.
    bench.until(&["Healthy 1.1.0", "Unknown", "Unknown"]).await;
    good.put(RELEASES, release("apps", "a", "1.2.0"));
    bench.until(&["Healthy 1.2.0", "Unknown", "Unknown"]).await;
    let readings = bench.look().await;
    // Of its watch or of a question, whichever was noticed last.
    let silent = ["no answer within", "did not end when it should"];
    assert!(silent.iter().any(|words| readings[1].evidence.contains(words)), "{}", readings[1].evidence);
    assert!(readings[2].evidence.contains("there is no nowhere.yaml"), "{}", readings[2].evidence);
    bad.trouble(Trouble::default());
    bench.until(&["Healthy 1.2.0", "Healthy 1.1.0", "Unknown"]).await;
}

#[tokio::test]
async fn a_policy_that_asks_something_else_begins_only_what_is_new() {
    let (one, two) = (World::start().await, World::start().await);
    for world in [&one, &two] {
        ["a", "b"].iter().for_each(|name| world.put(RELEASES, release("apps", name, "1.1.0")));
    }
    let mut bench = Bench::new(vec![("one", of("a")), ("two", of("a"))], "PT5M");
    one.connect(bench.folder.path(), "one");
    two.connect(bench.folder.path(), "two");
    bench.says().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    one.asked();
    two.asked();
    let more = Bench::new(vec![("one", of("a")), ("two", of("a")), ("two", of("b"))], "PT5M");
    bench.asks = Arc::clone(&more.asks);
    assert_eq!(bench.says().await.len(), 3);
    assert!(!one.asked().iter().any(|what| what.starts_with("list")), "it goes on");
    assert!(two.asked().iter().any(|what| what.starts_with("list")), "it begins anew");
    bench.asks = Arc::new(Vec::new());
    assert_eq!(bench.says().await.len(), 0);
    assert!(bench.watches.groups.is_empty());
}

#[tokio::test]
async fn a_run_that_ends_lists_what_is_much_and_shows_how_far_it_is() {
    let world = World::start().await;
    let names = ["a", "b", "c", "d"];
    names.iter().for_each(|name| world.put(RELEASES, release("apps", name, "1.1.0")));
    world.put("apps/v1/deployments", json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "apps"}}));
    let mut specs: Vec<_> = names.iter().map(|name| ("eu-1", of(name))).collect();
    specs.push(("eu-1", crate::observe::tests::others::named("rollout", "apps", "web")));
    let mut bench = Bench::new(specs, "PT5M");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let progress = Progress::new(move |done, of| seen.lock().unwrap().push((done, of)));
    bench.watches = Watches::that_ends(Arc::clone(&bench.watches.clusters), progress);
    world.connect(bench.folder.path(), "eu-1");
    assert_eq!(bench.says().await[..4], ["Healthy 1.1.0"; 4]);
    bench.says().await;
    let asked = world.asked();
    assert_eq!(asked.iter().filter(|what| what.starts_with("list")).count(), 2, "two pages, once: {asked:?}");
    assert!(!asked.iter().any(|what| what.starts_with("watch")), "{asked:?}");
    assert!(asked.iter().any(|what| what.ends_with("/rollouts/web")), "a single one is asked for: {asked:?}");
    let shown = shown.lock().unwrap();
    assert_eq!(shown.iter().max(), Some(&(5, 5)), "{shown:?}");
}
