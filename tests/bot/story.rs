//! The whole story under crashes and without webhooks: it ends as it does undisturbed.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use demo::github::PullStanding;
use demo::story::fleet;

use crate::support::{BOT, REPOSITORY, Stage};

/// What is left when the story is over, without numbers and times.
#[derive(Debug, PartialEq, Eq)]
struct End {
    /// Title of each pull request, how it ended, by whom, comments of the bot.
    pulls: BTreeMap<String, Vec<(String, usize)>>,
    /// Every manifest on the main branch.
    manifests: BTreeMap<String, String>,
}

fn end(stage: &Stage) -> End {
    let mut pulls: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for pull in stage.pulls() {
        let standing = match &pull.standing {
            PullStanding::Open => "open".to_owned(),
            PullStanding::Merged { by, .. } => format!("merged by {by}"),
            PullStanding::Closed { by, .. } => format!("closed by {by}"),
        };
        let comments = pull.comments.iter().filter(|comment| comment.author == BOT).count();
        pulls.entry(pull.title.clone()).or_default().push((standing, comments));
    }
    let github = stage.world.github();
    let mut manifests = BTreeMap::new();
    for (tier, _) in fleet::TIERS {
        for path in fleet::PLUGINS.iter().flat_map(|plugin| plugin.manifests(tier)) {
            let text = github.file(REPOSITORY, "main", &path).unwrap().unwrap();
            manifests.insert(path, text);
        }
    }
    // Ports of the sandbox differ from run to run.
    let hosts = stage.world.settings().allow_hosts.clone();
    for text in manifests.values_mut() {
        for host in &hosts {
            *text = text.replace(host, "HOST");
        }
    }
    End { pulls, manifests }
}

async fn tell(stage: &Stage) -> End {
    let outcome = stage.world.run_story(false).await;
    for expectation in &outcome.expectations {
        if let Err(why) = &expectation.held {
            panic!("{}: {why}\n{}", expectation.sentence, stage.logged());
        }
    }
    end(stage)
}

/// Sleeps of which nobody can say that they were chosen: seeded by the clock, the seed is printed.
struct Luck(u64);

impl Luck {
    fn new() -> Self {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
        println!("seed {nanos}");
        Self(u64::from(nanos) | 1)
    }

    fn millis(&mut self, from: u64, to: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(from + self.0 % (to - from))
    }
}

/// Kills the bot ten times, wipes its disk each time, and starts it anew.
async fn torment(stage: &Stage) {
    let mut luck = Luck::new();
    for _ in 0..10 {
        let bot = stage.serve();
        tokio::time::sleep(luck.millis(500, 6_000)).await;
        drop(bot);
        std::fs::remove_dir_all(stage.data()).ok();
    }
    let _bot = stage.serve();
    std::future::pending().await
}

/// Without any webhook.
async fn deaf() -> End {
    let stage = Stage::whole().await;
    stage.world.github().faults(|faults| faults.webhooks.drop_all = true);
    let _bot = stage.serve();
    let end = tell(&stage).await;
    assert!(stage.world.github().deliveries().is_empty(), "no webhook arrived");
    end
}

async fn tormented() -> End {
    let stage = Stage::whole().await;
    tokio::select! {
        end = tell(&stage) => end,
        () = torment(&stage) => unreachable!(),
    }
}

async fn undisturbed() -> End {
    let stage = Stage::whole().await;
    let _bot = stage.serve();
    tell(&stage).await
}

#[tokio::test(flavor = "multi_thread")]
async fn f01_f15_crashes_and_lost_webhooks_change_nothing_in_the_end() {
    let (undisturbed, tormented, deaf) = tokio::join!(undisturbed(), tormented(), deaf());
    assert_eq!(tormented, undisturbed, "killed ten times");
    assert_eq!(deaf, undisturbed, "without any webhook");
}
