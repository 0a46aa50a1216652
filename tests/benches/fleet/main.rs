//! What it costs to watch a fleet: 2,000 API servers with 200 HelmReleases each, by one process with two threads: time to
//! the first whole look, and to make the dashboard's pages of it; memory, processor time while nothing changes, how soon
//! a change is a decision. `COLDFRAME_FLEET=clusters,plugins,seconds` makes another size of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

mod world;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use coldframe::inventory::ListedCluster;
use coldframe::observe::answers::Versions;
use coldframe::observe::cluster::Clusters;
use coldframe::observe::net::Given;
use coldframe::observe::readings::Round;
use coldframe::observe::watch::Watches;
use coldframe::policy::{Loaded, SourceFile, load};
use coldframe::tell::{self, Filter, View};
use decide::ledger::Ledger;
use decide::snapshot::{
    Cluster, Health, HubFacts, LedgerGuard, LedgerState, Place, PluginFacts, Read, Reading, Release, Snapshot,
};
use decide::{PluginName, Readings, TierName, Version};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

/// Changes that are timed.
const CHANGES: usize = 20;

/// The name of a plugin, of its release and of its namespace.
fn plugin(place: usize) -> String {
    format!("plugin-{place:03}")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, what, clusters, plugins] = arguments.as_slice()
        && what == "serve"
    {
        return world::serve(clusters.parse().unwrap(), plugins.parse().unwrap());
    }
    let size = std::env::var("COLDFRAME_FLEET").unwrap_or_else(|_| "2000,200,120".to_string());
    let size: Vec<usize> = size.split(',').map(|number| number.parse().unwrap()).collect();
    let [clusters, plugins, seconds] = size[..] else { panic!("COLDFRAME_FLEET=clusters,plugins,seconds") };
    rustls::crypto::aws_lc_rs::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(clusters, plugins, Duration::from_secs(seconds as u64)));
}

/// The process of the clusters; it ends with this one.
struct Fleet {
    child: Child,
    commands: ChildStdin,
    folder: tempfile::TempDir,
}

impl Fleet {
    fn start(clusters: usize, plugins: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["serve", &clusters.to_string(), &plugins.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let (port, certificate) = first.trim().split_once(' ').unwrap();
        let authority = base64(certificate.replace('|', "\n").as_bytes());
        let folder = tempfile::tempdir().unwrap();
        for cluster in 0..clusters {
            let text = format!(
                "current-context: c\nclusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:{port}/{cluster}', \
                 certificate-authority-data: {authority}}}}}]\nusers: [{{name: u, user: {{token: t{cluster}}}}}]\n\
                 contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
            );
            std::fs::write(folder.path().join(format!("{}.yaml", name(cluster))), text).unwrap();
        }
        let commands = child.stdin.take().unwrap();
        Self { child, commands, folder }
    }

    fn change(&mut self, cluster: usize, plugin: usize) {
        writeln!(self.commands, "{cluster} {plugin}").unwrap();
        self.commands.flush().unwrap();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn name(cluster: usize) -> String {
    format!("eu-{cluster:04}")
}

/// One repository's facts, but for what clusters say.
struct Bot {
    loaded: Arc<Loaded>,
    clusters: Vec<ListedCluster>,
    round: Round,
    watches: Watches,
    snapshot: Snapshot,
}

impl Bot {
    /// Looks, decides; how many are healthy, and how many run the newer version.
    async fn look(&mut self) -> (usize, usize) {
        let now = Timestamp::now();
        self.round = std::mem::take(&mut self.round).of(&self.loaded, &self.clusters, None);
        let answers = self.round.ask(&mut self.watches, now).await;
        let (mut healthy, mut newer) = (0, 0);
        for (plugin, said) in answers.readings(&Versions::new(), Vec::new()) {
            let is = |reading: &Reading| reading.health == Health::Healthy;
            let all: Vec<Reading> = said.rows().iter().map(decide::readings::Row::reading).filter(is).collect();
            healthy += all.len();
            newer += all.iter().filter(|reading| reading.running == Some("1.16.0".parse().unwrap())).count();
            self.snapshot.plugins.get_mut(&plugin).unwrap().readings = said;
        }
        std::hint::black_box(decide::plan(&self.snapshot, Timestamp::now()));
        (healthy, newer)
    }

    /// Makes each page of the dashboard of what was seen last, and says how long that took and how large it is.
    fn pages(&self) {
        let now = Timestamp::now();
        let plan = decide::plan(&self.snapshot, now);
        let view = View::new("acme/fleet", "https://hub.example/acme/fleet", &self.snapshot, plan, now);
        let (name, tier, all) = (PluginName::from(plugin(0).as_str()), TierName::from("gold"), Filter::default());
        let version = "1.15.0".parse().unwrap();
        let timed = |name: &str, page: &dyn Fn() -> Result<String, tell::TellError>| {
            let begun = Instant::now();
            let size = page().unwrap().len() / 1_000;
            println!("page of a {name}: {size} kB in {:.1} ms", begun.elapsed().as_secs_f64() * 1_000.0);
        };
        timed("ladder", &|| tell::repository_page(&view, &all, now));
        timed("plugin", &|| tell::plugin_page(&view, &name, now));
        timed("tier", &|| tell::tier_page(&view, &tier, &all, now));
        timed("wave", &|| tell::wave_page(&view, &name, &tier, true, now));
        timed("release", &|| tell::release_page(&view, &name, &version, now));
    }
}

async fn run(clusters: usize, plugins: usize, idle: Duration) {
    let mut fleet = Fleet::start(clusters, plugins);
    let rung = Arc::new(Notify::new());
    let mut bot = bot(&fleet, clusters, plugins, &rung);
    let before = memory();
    println!("fleet: {clusters} clusters with {plugins} objects each, {before} MB before the first look");
    let begun = Instant::now();
    while bot.look().await.0 < clusters * plugins {
        println!("  not yet, after {:.1} s", begun.elapsed().as_secs_f64());
        assert!(begun.elapsed() < Duration::from_secs(600), "the fleet does not answer");
    }
    let (first, spent) = (begun.elapsed().as_secs_f64(), processor());
    println!("first whole look: {first:.1} s, {spent:.1} s of processor time, {} MB after it", memory());
    bot.pages();

    let (begun, spent) = (Instant::now(), processor());
    let mut looks = 0;
    while begun.elapsed() < idle {
        tokio::time::sleep(idle / 2).await;
        bot.look().await;
        looks += 1;
    }
    let share = (processor() - spent) / begun.elapsed().as_secs_f64() * 100.0;
    println!(
        "nothing changes for {:.0} s, {looks} looks: {share:.2} % of one core, {} MB",
        begun.elapsed().as_secs_f64(),
        memory()
    );

    let mut times = Vec::new();
    for change in 0..CHANGES {
        // Rings are kept apart; a change after a quiet while is heard at once.
        tokio::time::sleep(Duration::from_secs(6)).await;
        let _ = tokio::time::timeout(Duration::from_millis(1), rung.notified()).await;
        fleet.change(change * 97 % clusters, change * 13 % plugins);
        let begun = Instant::now();
        rung.notified().await;
        while bot.look().await.1 <= change {}
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "a change on one object to the decision: median {:.0} ms, longest {:.0} ms of {CHANGES}; {} MB at the end",
        times[CHANGES / 2],
        times[CHANGES - 1],
        memory()
    );
}

fn bot(fleet: &Fleet, clusters: usize, plugins: usize, rung: &Arc<Notify>) -> Bot {
    let mut text = "version: 1\nextends: [bronze-silver-gold]\nplugins:\n".to_string();
    for place in 0..plugins {
        let name = plugin(place);
        text.push_str(&format!(
            "  - name: {name}\n    chart: {{oci: oci://registry.example/charts/{name}}}\n    \
             write: [{{file: 'clusters/{{tier}}/{name}.yaml', path: $.spec.chart.spec.version}}]\n    \
             signals: [{{helmRelease: {{namespace: {name}, name: {name}}}}}]\n"
        ));
    }
    let loaded = load(&[SourceFile { path: "coldframe.yaml".to_string(), text }]).expect("a policy");
    let labels = |cluster: usize| {
        let tier = ["bronze", "silver", "gold", "gold"][cluster % 4];
        BTreeMap::from([("tier".to_string(), tier.to_string())])
    };
    let listed = (0..clusters).map(|cluster| ListedCluster {
        name: name(cluster).as_str().into(),
        labels: labels(cluster),
        credential: name(cluster),
        secret_ref: None,
        stale: None,
    });
    let clusters: Vec<ListedCluster> = listed.collect();
    let connections = Arc::new(Clusters::open(fleet.folder.path(), Given::default()).unwrap());
    let heard = Arc::clone(rung);
    let watches = Watches::that_stays(connections, move || heard.notify_one());
    let snapshot = snapshot(&loaded, &clusters);
    Bot { loaded: Arc::new(loaded), clusters, round: Round::default(), watches, snapshot }
}

fn snapshot(loaded: &Loaded, clusters: &[ListedCluster]) -> Snapshot {
    let version: Version = "1.15.0".parse().unwrap();
    let release = Release {
        version: version.clone(),
        digest: None,
        marked_breaking: false,
        checks: Read::Known(Vec::new()),
        breaking: Vec::new(),
        blocks: Vec::new(),
        missing_values: Vec::new(),
        incomplete: None,
        unsigned: Read::Known(None),
    };
    let place = |tier: &TierName| Place {
        file: format!("{tier}.yaml"),
        cluster: None,
        version: Read::Known(version.clone()),
        range: None,
        vacant: false,
    };
    let facts = |policy: &decide::PluginPolicy| PluginFacts {
        releases: Read::Known(vec![release.clone()]),
        base: Read::Known(policy.tiers.iter().map(|tier| (tier.name.clone(), vec![place(&tier.name)])).collect()),
        pulls: Read::Known(Vec::new()),
        readings: Readings::default(),
        runs: Read::Known(Vec::new()),
        open_now: BTreeMap::new(),
    };
    let plugins: BTreeMap<PluginName, PluginFacts> =
        loaded.policy.plugins.iter().map(|policy| (policy.name.clone(), facts(policy))).collect();
    let listed = clusters.iter().map(|one| Cluster { name: one.name.clone(), labels: one.labels.clone() });
    Snapshot {
        policy: loaded.policy.clone(),
        policy_commit: "cccccccccc".into(),
        policy_problem: None,
        clusters: Read::Known(listed.collect()),
        hub: HubFacts { bot: "coldframe[bot]".into(), bypass: true, own: Vec::new(), skew: SignedDuration::ZERO },
        ledger: Ledger::default(),
        ledger_state: LedgerState::Intact { guarded: LedgerGuard::Sealed },
        look_again: SignedDuration::from_secs(30),
        plugins,
    }
}

/// Memory that this process holds, in megabytes (`VmRSS` of proc(5)).
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Processor time of this process so far, in seconds (`utime` and `stime` of proc(5), in hundredths).
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
