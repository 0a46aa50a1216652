//! Credentials that a hub lends: read only for clusters that are asked themselves, from the one Secret of each,
//! and seen by nobody.

use std::io::Write;
use std::sync::{Arc, Mutex};

use decide::snapshot::Health;
use proptest::prelude::*;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::observe::cluster::{Ask, Asking};

/// Everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

async fn known(stage: &Stage, listing: &Listing) -> Vec<ListedCluster> {
    match stage.list(listing).await {
        Read::Known(clusters) => clusters,
        Read::Unread(why) => panic!("{why}"),
    }
}

/// A question about a HelmRelease.
fn ask(cluster: &ListedCluster) -> Ask {
    let spec = crate::observe::tests::others::named("helmRelease", "apps", "loki");
    let tier = decide::Tier::new(TierName::from("gold"), decide::selector::Selector::default());
    Ask::new(&Arc::new(cluster.clone()), &Asking::new(&"plugin".into(), &tier, &Arc::new(spec))).unwrap()
}

async fn healths(stage: &Stage, asks: Vec<Ask>) -> Vec<Health> {
    stage.clusters.answers(asks, &|_| ()).await.into_iter().map(|asked| asked.answer.reading.health).collect()
}

#[tokio::test]
async fn a_cluster_that_is_asked_itself_is_asked_with_its_secret_or_not_at_all() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut seen = String::new();
    for kind in KINDS {
        let kit = Kit::of(kind);
        let stage = Stage::of(kit.world()).await;
        let clusters = known(&stage, &kit.listing()).await;
        seen.push_str(&format!("{clusters:?}"));
        stage.asked();
        for (cluster, expected) in clusters.iter().zip(kit.listed.values()) {
            let answer = stage.ask(cluster).await;
            let asked = stage.asked();
            seen.push_str(&format!("{answer:?}"));
            match (&expected.token, &expected.refused) {
                (Some(token), None) => {
                    assert_eq!(answer, Ok(()), "{} {}", kind.name, cluster.name);
                    let secret_ref = cluster.secret_ref.as_ref().unwrap();
                    assert_eq!(asked[0].what, format!("get secrets {}/{}", secret_ref.namespace, secret_ref.name));
                    assert!(asked[1].what.starts_with("member ") && asked[1].token == *token, "{asked:?}");
                    assert_eq!(asked.len(), 2, "{asked:?}");
                    assert_eq!(stage.ask(cluster).await, Ok(()));
                    assert_eq!(stage.asked().len(), 1, "the Secret is not read for each question");
                }
                (None, Some(why)) => {
                    let error = answer.unwrap_err();
                    let begin = format!("no connection `{}`: ", cluster.credential);
                    assert!(error.starts_with(&begin) && error.contains(why), "{} {error}", kind.name);
                    assert!(asked.iter().all(|asked| asked.what.starts_with("get secrets ")), "{asked:?}");
                    assert_eq!(asked.len(), usize::from(kind.credentials.is_some()), "{asked:?}");
                }
                (Some(_), Some(_)) | (None, None) => panic!("{}: a token, or why there is none", cluster.name),
            }
        }
        seen.push_str(&format!("{:?}", stage.clusters));
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("reuse idle connection"), "nothing was logged, so that this proves nothing: {log}");
    for (what, text) in [("shown", seen), ("logged", log)] {
        assert!(!text.contains("hunter2"), "{what}: {text}");
    }
}

#[tokio::test]
async fn a_connection_of_the_operator_comes_before_a_secret() {
    let kit = Kit::of(KINDS[1]);
    let stage = Stage::of(kit.world()).await;
    stage.connect("acme.eu-1", "member/own", "hunter2-own");
    let clusters = known(&stage, &kit.listing()).await;
    stage.asked();
    assert_eq!(stage.ask(&clusters[0]).await, Ok(()));
    let asked = stage.asked();
    assert_eq!((asked[0].what.as_str(), asked[0].token.as_str(), asked.len()), ("member own", "hunter2-own", 1));
    // One that is there and broken is no reason to take another.
    std::fs::write(stage.folder.path().join("acme.eu-1.yaml"), "token: hunter2").unwrap();
    let error = stage.ask(&clusters[0]).await.unwrap_err();
    assert!(error.starts_with("no connection `acme.eu-1`: it has no `current-context`"), "{error}");
    assert!(stage.asked().is_empty());
}

#[tokio::test]
async fn nobody_reads_a_secret_to_ask_a_hub() {
    let kit = Kit::of(KINDS[0]);
    let stage = Stage::of(kit.world()).await;
    let cluster = known(&stage, &kit.listing()).await.remove(0);
    stage.asked();
    stage.hub.lock().unwrap().serves.insert("helm.toolkit.fluxcd.io/v2".into());
    let through = ListedCluster { credential: "hub".into(), secret_ref: None, ..cluster };
    assert_eq!(healths(&stage, vec![ask(&through)]).await, [Health::NotFound]);
    let asked: Vec<String> = stage.asked().into_iter().map(|asked| asked.what).collect();
    assert_eq!(asked, ["get helmreleases apps/loki"]);
}

#[tokio::test]
async fn a_secret_that_changed_is_read_again_once_its_cluster_refuses() {
    let kit = Kit::of(KINDS[3]);
    let stage = Stage::of(kit.world()).await;
    let cluster = known(&stage, &kit.listing()).await.remove(0);
    assert_eq!(stage.ask(&cluster).await, Ok(()));
    {
        let mut hub = stage.hub.lock().unwrap();
        hub.members_take = Some("hunter2-new".into());
        let text = serde_json::to_string(&hub.objects).unwrap().replace("hunter2-capi", "hunter2-new");
        hub.objects = serde_json::from_str(&text).unwrap();
    }
    let error = stage.ask(&cluster).await.unwrap_err();
    assert!(error.starts_with("not allowed to get helmreleases") && error.contains("(401)"), "{error}");
    assert_eq!(stage.ask(&cluster).await, Ok(()), "the new token");
    stage.hub.lock().unwrap().members_take = Some("another".into());
    stage.asked();
    let mut last = String::new();
    for _ in 0..20 {
        last = stage.ask(&cluster).await.unwrap_err();
    }
    assert!(
        last.ends_with("does not take the credentials of Secret fleet/eu-1-kubeconfig through `hub` (401)"),
        "{last}"
    );
    let asked: Vec<String> = stage.asked().into_iter().map(|asked| asked.what).collect();
    assert_eq!(asked, ["member eu-1", "get secrets fleet/eu-1-kubeconfig"], "it is not asked twenty times");
}

#[tokio::test]
async fn a_hub_that_keeps_its_secrets_says_which_right_is_missing() {
    let kit = Kit::of(KINDS[1]);
    let stage = Stage::of(World { denied: ["get secrets".to_string()].into(), ..kit.world() }).await;
    let cluster = known(&stage, &kit.listing()).await.remove(0);
    let error = stage.ask(&cluster).await.unwrap_err();
    assert_eq!(
        error,
        "no connection `acme.eu-1`: Secret acme/eu-1 through `hub`: not allowed to get secrets acme/eu-1 (403); give \
         the credential the verb `get` on it"
    );
    stage.asked();
    stage.ask(&cluster).await.unwrap_err();
    assert!(stage.asked().is_empty(), "one refusal is enough for a while");
}

#[tokio::test]
async fn many_questions_to_a_cluster_read_its_secret_once() {
    let kit = Kit::of(KINDS[5]);
    let stage = Stage::of(kit.world()).await;
    let clusters = known(&stage, &kit.listing()).await;
    stage.asked();
    let asks = (0..40).map(|index| ask(&clusters[index % 2])).collect();
    assert_eq!(healths(&stage, asks).await, [Health::Suspended; 40]);
    let secrets = stage.asked().into_iter().filter(|asked| asked.what.starts_with("get secrets")).count();
    assert_eq!(secrets, 2);
}

/// Something else in place of one part of a Secret's text.
fn torn() -> impl Strategy<Value = (usize, usize, String)> {
    (
        any::<usize>(),
        0_usize..40,
        prop_oneof![Just(String::new()), "[\"{}:,\\[\\]a-z \\n]{0,6}", Just("null".to_string())],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever becomes of a Secret, nothing of its credentials is in what is said about it.
    #[test]
    fn no_secret_is_seen_however_torn_it_is(kind in 0..KINDS.len(), which in any::<usize>(), cuts in prop::collection::vec(torn(), 0..4)) {
        let kind = KINDS[kind];
        let kit = Kit::of(kind);
        let secrets: Vec<&Value> = kit.objects.iter().filter(|object| object["kind"] == "Secret").collect();
        prop_assume!(!secrets.is_empty());
        let mut secret = secrets[which % secrets.len()].clone();
        for text in secret["stringData"].as_object_mut().into_iter().flat_map(|data| data.values_mut()) {
            // No part of a name or an address is a secret, so that all that looks like one is.
            let mut torn = text.as_str().unwrap().replace("hunter2", "hunter2hunter2hunter2");
            for (at, length, with) in &cuts {
                let from = if torn.is_empty() { 0 } else { at % torn.len() };
                let to = (from + length).min(torn.len());
                torn.replace_range(from..to, with);
            }
            *text = json!(torn);
        }
        let sent = server::sent(&secret);
        let data = Data::of(&sent);
        let mut said = String::new();
        if let Some(credentials) = kind.credentials {
            said = match (credentials.open)(&data, &["127.0.0.1".to_string()]) {
                Ok(connection) => format!("{connection:?}"),
                Err(refused) => format!("{refused} {refused:?}"),
            };
        }
        for part in ["hunter2", "unter2hun", "r2hunter"] {
            prop_assert!(!said.contains(part), "{}", said);
        }
    }
}
