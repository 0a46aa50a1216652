//! Several bots on one repository: two processes that stay and runs now and then, as an App and an Action would, also over
//! a bad line. Each thing is done once, and it ends as it does undisturbed.
//!
//!   COLDFRAME_LINES=100 cargo test --workspace --test bot several -- --nocapture
//!
//! tries so many bad lines, four at a time; `COLDFRAME_LINE=7` that one.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use decide::ledger::PluginLedger;
use demo::github::{Protection, PullStanding, PullView};
use demo::story::fleet;

use crate::merge::{LEDGER, PLUGIN, open_stage};
use crate::proxy::Proxy;
use crate::support::{REPOSITORY, Stage, is_approved, is_merged, is_open};

const OWNER: &str = "maria";
/// The first is approved everywhere; nobody approves the other on gold, where its grace period ends.
const PLUGINS: [&str; 2] = ["cert-manager", "kube-state-metrics"];
const FORCED: &str = PLUGINS[1];
const TIERS: [&str; 3] = ["qa", "bronze", "gold"];
/// The longest that a climb may take over a bad line.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bad lines of every run of the tests, and lines at a time of a long one.
const LINES: u64 = 2;
const AT_ONCE: u64 = 4;

/// What is left in the end, without numbers and times.
#[derive(Debug, PartialEq, Eq)]
struct End {
    /// How the pull requests of each title ended, and by whom.
    pulls: BTreeMap<String, Vec<String>>,
    /// What the merges say on the base branch, sorted.
    merges: Vec<String>,
    /// Every manifest on the base branch.
    manifests: BTreeMap<String, String>,
}

fn end(stage: &Stage) -> End {
    let github = stage.world.github();
    let mut pulls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pull in stage.pulls() {
        let standing = match &pull.standing {
            PullStanding::Open => "open".to_owned(),
            PullStanding::Merged { by, .. } => format!("merged by {by}"),
            PullStanding::Closed { by, .. } => format!("closed by {by}"),
        };
        pulls.entry(pull.title).or_default().push(standing);
    }
    let subject = |message: &str| {
        let subject = message.lines().next().unwrap_or_default();
        subject.split(" (#").next().unwrap_or(subject).to_owned()
    };
    let log = github.log(REPOSITORY, "main").unwrap();
    let mut merges: Vec<String> = log.iter().map(|commit| subject(&commit.message)).collect();
    merges.sort();
    let mut manifests = BTreeMap::new();
    for tier in TIERS {
        for plugin in fleet::PLUGINS.iter().filter(|plugin| PLUGINS.contains(&plugin.name)) {
            for path in plugin.manifests(tier) {
                let mut text = github.file(REPOSITORY, "main", &path).unwrap().unwrap();
                // Ports of the sandbox differ from run to run.
                stage.world.settings().allow_hosts.iter().for_each(|host| text = text.replace(host, "HOST"));
                manifests.insert(path, text);
            }
        }
    }
    End { pulls, merges, manifests }
}

/// Who approves looks at each head once; what is to be forced nobody looks at.
fn approve(stage: &Stage) {
    let asks = |pull: &PullView| is_open(pull) && !is_approved(pull) && !pull.head.ends_with("/qa");
    let forced = format!("coldframe/{FORCED}/gold");
    for pull in stage.pulls().into_iter().filter(|pull| asks(pull) && pull.head != forced) {
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
    }
}

/// The sandbox with two plugins on three tiers: as much as shows every kind of step.
pub async fn small() -> Stage {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let mut text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    for (from, to) in
        [("  - name: silver\n", "  - name: gold\n"), ("  - name: ingress-nginx\n", "  - name: kube-state")]
    {
        let (from, to) = (text.find(from).unwrap(), text.find(to).unwrap());
        text.replace_range(from..to, "");
    }
    let head = github.push_file(REPOSITORY, "small", "vera", "coldframe.yaml", &text, "A small fleet").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    github.force_branch(REPOSITORY, "small", "vera", None).unwrap();
    stage
}

/// Both releases have finished the last tier.
pub fn is_over(stage: &Stage) -> bool {
    PLUGINS.iter().all(|plugin| {
        let page = stage.world.github().file(REPOSITORY, "coldframe-ledger", &format!("plugins/{plugin}.yaml"));
        let Some(page) = page.unwrap() else { return false };
        let page: PluginLedger = serde_yaml::from_str(&page).unwrap();
        let climbs = fleet::PLUGINS.iter().find(|known| known.name == *plugin).unwrap().climbs;
        let last = page.tiers.get(&"gold".into()).and_then(|waves| waves.last());
        last.is_some_and(|wave| wave.version.as_str() == climbs && wave.finished().is_some())
    })
}

/// Lets a world end; over a bad line where there is a number of one.
async fn climb(line: Option<u64>) -> Result<End, String> {
    let stage = small().await;
    let proxy = match line {
        Some(seed) => Some(Proxy::between(stage.world.github().url(), seed).await),
        None => None,
    };
    let hub = proxy.as_ref().map_or(stage.world.settings().hub.clone(), |proxy| proxy.url.clone());
    if line.is_some() {
        stage.world.github().faults(|faults| {
            faults.webhooks.duplicates = 1;
            faults.webhooks.delay = Duration::from_millis(300);
            faults.webhooks.shuffle = Duration::from_secs(1);
        });
    }
    let command = |arguments: &[&str], data: &str| {
        let mut command = stage.command(arguments);
        command.env("COLDFRAME_HUB", &hub).env("COLDFRAME_DATA", stage.folder.path().join(data));
        command
    };
    let _first = stage.start(command(&["serve"], "first"));
    let _second = stage.start_at(command(&["serve"], "second"), "127.0.0.1:0", "127.0.0.1:0");
    let begun = Instant::now();
    let mut run: Option<std::process::Child> = None;
    while !is_over(&stage) {
        approve(&stage);
        // As a schedule would start it: seldom, and never twice at a time.
        if run.as_mut().is_none_or(|run| run.try_wait().unwrap().is_some()) {
            let mut once = command(&["once"], "third");
            run = Some(once.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        }
        if begun.elapsed() > PATIENCE {
            run.iter_mut().for_each(|run| run.kill().unwrap_or(()));
            let gates = PLUGINS.map(|plugin| {
                let said = stage.command(&["explain", plugin]).output().unwrap();
                String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned()
            });
            let (pulls, gates) = (end(&stage).pulls, gates.join("\n"));
            return Err(format!("line {line:?} does not end: {pulls:?}\n{gates}\n{}", stage.logged()));
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    // What would still be done twice, is done now.
    tokio::time::sleep(Duration::from_secs(6)).await;
    run.iter_mut().for_each(|run| drop(run.wait()));
    let faults = proxy.map(|proxy| proxy.counts());
    println!("line {line:?} ended after {:.0?}: {faults:?}", begun.elapsed());
    Ok(end(&stage))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn f02_f38_several_bots_over_bad_lines_end_as_undisturbed() {
    let undisturbed = climb(None).await.unwrap();
    let twice = undisturbed.pulls.iter().find(|(_, ends)| ends.len() > 1);
    assert!(twice.is_none(), "proposed twice without any trouble: {twice:?}");
    let lines: Vec<u64> = match number("COLDFRAME_LINE") {
        Some(line) => vec![line],
        None => (1..=number("COLDFRAME_LINES").unwrap_or(LINES)).collect(),
    };
    let mut wrong = Vec::new();
    let mut waiting = lines.into_iter();
    let mut running = tokio::task::JoinSet::new();
    loop {
        while running.len() < AT_ONCE as usize
            && let Some(line) = waiting.next()
        {
            running.spawn(async move { (line, climb(Some(line)).await) });
        }
        let Some(done) = running.join_next().await else { break };
        let why = match done.unwrap() {
            (_, Ok(end)) if end == undisturbed => continue,
            (line, Ok(end)) => format!("line {line} ended otherwise: {end:#?}"),
            (_, Err(why)) => why,
        };
        println!("{why}");
        wrong.push(why);
    }
    assert!(wrong.is_empty(), "{} of them, e.g. {}\nundisturbed: {undisturbed:#?}", wrong.len(), wrong[0]);
}

/// What a process reads of the ledger is no newer than the base branch that it holds it against: else what another one
/// has merged in between looks like something that somebody took off again.
#[tokio::test(flavor = "multi_thread")]
async fn f38_what_another_process_merges_during_a_look_was_not_taken_off() {
    let stage = open_stage().await;
    let github = stage.world.github();
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let (proxy, mut slow) = over_a_quiet_line(&stage).await;
    // Who moved the ledger is asked between the pages of the hub and the ledger itself.
    proxy.hold("/activity?ref=", 0).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it lands", |stage| noted(stage, "bronze", "landed")).await;
    drop(bot);
    proxy.release();
    slow.wait().unwrap();
    assert!(noted(&stage, "bronze", "failed").is_none(), "{}", stage.logged());
    let page = github.file(REPOSITORY, LEDGER, &format!("plugins/{PLUGIN}.yaml")).unwrap().unwrap();
    assert!(!page.contains("!reverted"), "{page}");
}

/// One process, over a line that can be held.
async fn over_a_quiet_line(stage: &Stage) -> (Proxy, std::process::Child) {
    let proxy = Proxy::quiet(stage.world.github().url()).await;
    let mut once = stage.command(&["once"]);
    once.env("COLDFRAME_HUB", &proxy.url).env("COLDFRAME_DATA", stage.folder.path().join("slow"));
    let once = once.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (proxy, once)
}

/// Whether the ledger says this of it on a tier.
fn noted(stage: &Stage, tier: &str, what: &str) -> Option<()> {
    let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
    log.iter().any(|commit| commit.message.contains(&format!("{PLUGIN} 1.15.0 on {tier}: {what}"))).then_some(())
}

/// All of its pull requests on a tier.
fn proposed(stage: &Stage, tier: &str) -> Vec<PullView> {
    let head = format!("coldframe/{PLUGIN}/{tier}");
    stage.pulls().into_iter().filter(|pull| pull.head == head).collect()
}

/// A process that has read the page of pull requests before one was opened, and the base branch before it merged, opens
/// no second one.
#[tokio::test(flavor = "multi_thread")]
async fn f02_what_another_process_merges_during_a_look_is_opened_no_second_time() {
    let stage = open_stage().await;
    let github = stage.world.github();
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    github.faults(|faults| drop(faults.never_merges.insert(format!("coldframe/{PLUGIN}/bronze"), "no".to_owned())));
    let bot = stage.serve();
    stage.until("qa merges", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    // Bronze opens when the slow one has read the page.
    drop(bot);
    assert!(proposed(&stage, "bronze").is_empty(), "it came too early");
    let (proxy, mut slow) = over_a_quiet_line(&stage).await;
    proxy.hold("/activity?ref=", 0).await;
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let asked = |stage: &Stage| stage.whole_log().contains("→ bronze is not merged: the hub says \"no\"").then_some(());
    stage.until("the merge is asked for", asked).await;
    drop(bot);
    proxy.release();
    proxy.hold_request("coldframe%2Fcert-manager%2Fbronze&state=all").await;
    github.faults(|faults| faults.never_merges.clear());
    github.merge_as(REPOSITORY, pull.number, OWNER).unwrap();
    proxy.release();
    slow.wait().unwrap();
    let pulls = proposed(&stage, "bronze");
    assert!(pulls.len() == 1, "{pulls:?}\n{}", stage.logged());
}

/// A push that was long on its way opens nothing when another process has opened and merged it meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn f02_f38_a_head_that_comes_late_opens_nothing_that_has_landed() {
    let stage = open_stage().await;
    let (proxy, mut slow) = over_a_quiet_line(&stage).await;
    proxy.hold_request("refs/heads/coldframe/cert-manager/qa").await;
    let bot = stage.serve();
    stage.until("it lands", |stage| noted(stage, "qa", "landed")).await;
    drop(bot);
    proxy.release();
    slow.wait().unwrap();
    let pulls = proposed(&stage, "qa");
    assert!(pulls.len() == 1, "{pulls:?}\n{}", stage.logged());
}
