//! First installs: a cluster or a tier that has no file of a plugin yet gets it by pull requests, made of a template.

use demo::github::PullView;
use demo::story::fleet::TIERS;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const OTHER: &str = "vera";
const PLUGIN: &str = "loki";

const TEMPLATE: &str = "\
# {plugin} on {cluster} ({tier}), first installed as {version}.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: {plugin}, namespace: {plugin}}
spec:
  interval: 5m
  chart:
    spec:
      chart: {plugin}
      version: {version} # exact
      sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}
  values:
    cluster: '{cluster}'
    legend: '{{cluster}} of ${tier}'
";

fn path(tier: &str, cluster: &str) -> String {
    format!("clusters/{tier}/{cluster}/loki.yaml")
}

fn held(stage: &Stage, tier: &str, cluster: &str) -> Option<String> {
    stage.world.github().file(REPOSITORY, "main", &path(tier, cluster)).unwrap()
}

/// Puts files on the default branch, by a pull request that is merged at once.
fn put(stage: &Stage, files: &[(&str, &str)]) {
    let github = stage.world.github();
    for (path, text) in files {
        github.push_file(REPOSITORY, "more", OTHER, path, text, "More").unwrap();
    }
    let number = github.open_pull(REPOSITORY, OTHER, "more", "main", "More", "").unwrap();
    github.approve(REPOSITORY, number, OWNER).unwrap();
    github.merge_as(REPOSITORY, number, OTHER).unwrap();
}

/// A fleet with one plugin, of which no cluster has a file.
async fn stage(template: &str) -> Stage {
    let stage = Stage::set().await;
    stage.world.charts().publish(PLUGIN, "1.0.0", "The first one").unwrap();
    let text = stage.world.github().file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let text = &text[..text.find("\nplugins:\n").unwrap()];
    let repository = stage.world.charts().repository();
    let policy = format!(
        "{text}\nplugins:\n  - name: loki\n    chart: {{repository: {repository}, name: loki}}\n    poll: 1s\n    \
         write: [{{file: 'clusters/{{tier}}/{{cluster}}/loki.yaml', template: templates/loki.yaml}}]\n    \
         signals: [helmRelease: {{namespace: loki, name: loki}}]\n"
    );
    put(&stage, &[("templates/loki.yaml", template), ("coldframe.yaml", &policy)]);
    stage
}

fn all(stage: &Stage) -> Vec<PullView> {
    let mut pulls: Vec<PullView> =
        stage.pulls().into_iter().filter(|pull| pull.head.starts_with("coldframe/")).collect();
    pulls.sort_by_key(|pull| pull.number);
    pulls
}

async fn approve(stage: &Stage, tier: &str) -> PullView {
    let pull = stage.until("it opens", |stage| stage.pull(PLUGIN, tier).filter(is_open)).await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it is merged", |stage| stage.pull(PLUGIN, tier).filter(is_merged)).await;
    pull
}

fn runs(stage: &Stage, cluster: &str) -> Option<String> {
    stage.world.clusters().look().get(cluster)?.get(PLUGIN)?.running.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_plugin_is_installed_in_tier_order() {
    let stage = stage(TEMPLATE).await;
    stage.give("bronze", "strategy: {rollingUpdate: {maxUpdate: 2}}");
    let _bot = stage.serve();
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let expected = "\
# loki on qa-2 (qa), first installed as 1.0.0.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: loki, namespace: loki}
spec:
  interval: 5m
  chart:
    spec:
      chart: loki
      version: 1.0.0 # exact
      sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}
  values:
    cluster: 'qa-2'
    legend: '{{cluster}} of ${tier}'
";
    assert_eq!(held(&stage, "qa", "qa-2").as_deref(), Some(expected));
    let first = approve(&stage, "bronze").await;
    assert_eq!(["qa-1", "qa-2"].map(|cluster| runs(&stage, cluster).as_deref() == Some("1.0.0")), [true; 2]);
    assert!(first.title.contains("clusters 1–2 of 3"), "{}", first.title);
    let says = ["| not installed | **1.0.0** |", "**First install**", "It adds `clusters/bronze/bronze-ap/loki.yaml`"];
    for said in says {
        assert!(first.body.contains(said), "{said}: {}", first.body);
    }
    assert!(held(&stage, "bronze", "bronze-eu").is_some() && held(&stage, "bronze", "bronze-us").is_none());
    let again = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.number > first.number && is_open(pull));
    let second = stage.until("the second slice opens", again).await;
    assert!(second.title.contains("cluster 3 of 3"), "{}", second.title);
    for tier in ["bronze", "silver", "gold"] {
        approve(&stage, tier).await;
        let clusters = TIERS.iter().find(|(name, _)| *name == tier).unwrap().1;
        for cluster in clusters {
            assert!(held(&stage, tier, cluster).unwrap().contains("version: 1.0.0 # exact"), "{cluster}");
        }
    }
    stage.until("gold runs it", |stage| (runs(stage, "gold-us").as_deref() == Some("1.0.0")).then_some(())).await;
    let order: Vec<String> = all(&stage).into_iter().map(|pull| pull.head).collect();
    assert_eq!(order, ["qa", "bronze", "bronze", "silver", "gold"].map(|tier| format!("coldframe/loki/{tier}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_joins_gets_its_file_by_itself_or_with_the_next_release() {
    let stage = stage(TEMPLATE).await;
    let github = stage.world.github();
    let listed = github.file(REPOSITORY, "main", "clusters.yaml").unwrap().unwrap();
    let entry = |name: &str, region: &str| {
        format!("  - name: {name}\n    labels: {{tier: bronze, region: {region}}}\n    credential: {name}-reader\n")
    };
    let (ap, us) = (entry("bronze-ap", "ap"), entry("bronze-us", "us"));
    assert!(listed.contains(&ap) && listed.contains(&us), "{listed}");
    put(&stage, &[("clusters.yaml", &listed.replace(&ap, "").replace(&us, ""))]);
    let _bot = stage.serve();
    let first = approve(&stage, "bronze").await;
    stage.until("silver opens", |stage| stage.pull(PLUGIN, "silver").filter(is_open)).await;
    put(&stage, &[("clusters.yaml", &listed.replace(&ap, ""))]);
    let later = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.number > first.number);
    let late = stage.until("it catches up", |stage| later(stage).filter(is_open)).await;
    let said = "It adds `clusters/bronze/bronze-us/loki.yaml`.";
    assert!(
        late.body.contains("| not installed | **1.0.0** | 1 (bronze-us) |") && late.body.contains(said),
        "{}",
        late.body
    );
    github.approve(REPOSITORY, late.number, OWNER).unwrap();
    stage.until("it is merged", |stage| later(stage).filter(is_merged)).await;
    let installed = held(&stage, "bronze", "bronze-us").unwrap();
    assert!(installed.starts_with("# loki on bronze-us (bronze), first installed as 1.0.0.\n"), "{installed}");
    stage.until("it runs", |stage| (runs(stage, "bronze-us").as_deref() == Some("1.0.0")).then_some(())).await;
    assert!(held(&stage, "bronze", "bronze-ap").is_none());
    // Who joins while a newer release waits for the tier comes with the others.
    stage.world.charts().publish(PLUGIN, "1.1.0", "The next one").unwrap();
    put(&stage, &[("clusters.yaml", &listed)]);
    let next = |stage: &Stage| later(stage).filter(|pull| pull.title.contains("loki 1.1.0 → bronze"));
    let pull = stage.until("the next one opens", |stage| next(stage).filter(is_open)).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it is merged", |stage| next(stage).filter(is_merged)).await;
    for cluster in ["bronze-ap", "bronze-eu", "bronze-us"] {
        assert!(held(&stage, "bronze", cluster).unwrap().contains("version: 1.1.0 # exact"), "{cluster}");
    }
    let above = |stage: &Stage| stage.pull(PLUGIN, "silver").filter(|pull| pull.title.contains("1.1.0"));
    stage.until("it has finished bronze", above).await;
    assert_eq!(runs(&stage, "bronze-ap").as_deref(), Some("1.1.0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_makes_no_file_installs_nothing_and_says_why() {
    let stage = stage(&TEMPLATE.replace("{kind: HelmRepository", "{kind: [HelmRepository")).await;
    let bot = stage.serve();
    stage.never(5, "nothing can be installed", |stage| !all(stage).is_empty()).await;
    drop(bot);
    let told = stage.command(&["explain", PLUGIN, "qa"]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let why = ["clusters/qa/qa-1/loki.yaml", "cannot be made of `templates/loki.yaml`: line 1", "not YAML"];
    assert!(why.iter().all(|part| told.contains(part)), "{told}");
    put(&stage, &[("templates/loki.yaml", TEMPLATE)]);
    let _bot = stage.serve();
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    assert!(held(&stage, "qa", "qa-1").is_some());
}
