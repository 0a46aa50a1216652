//! Starts worlds and bots, and waits for what should come.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use demo::github::{PullStanding, PullView, Role};
use demo::{Options, World};

pub const REPOSITORY: &str = "acme/fleet";
pub const BOT: &str = "coldframe[bot]";
pub const ROBOT: &str = "robot";

/// A world in a folder that vanishes with it.
pub struct Stage {
    pub world: World,
    pub folder: tempfile::TempDir,
}

/// As much of a log as a person reads of a failed test.
pub fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

impl Stage {
    /// A world with every plugin of the sandbox.
    pub async fn whole() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let patience = jiff::SignedDuration::from_mins(8);
        let options = Options { patience, ..Options::new(folder.path().join("world")) };
        let world = World::start(options).await.unwrap();
        Self { world, folder }
    }

    /// The same without the release that breaks.
    pub async fn calm() -> Self {
        let stage = Self::whole().await;
        stage.edit_policy("- name: podinfo\n", "- name: podinfo\n    versions: {constraint: \"<6.8\"}\n");
        stage
    }

    /// The same with the plugins of Flux and Argo CD alone, each of which has a file for every cluster.
    pub async fn set() -> Self {
        let stage = Self::whole().await;
        let github = stage.world.github();
        let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
        let text = format!("{}\n", &text[..text.find("\n  - name: podinfo\n").unwrap()]);
        let head = github.push_file(REPOSITORY, "less", "vera", "coldframe.yaml", &text, "Fewer plugins").unwrap();
        github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
        github.force_branch(REPOSITORY, "less", "vera", None).unwrap();
        stage
    }

    /// Gives a tier one more key.
    pub fn give(&self, tier: &str, key: &str) {
        let select = format!("    select: {{matchLabels: {{tier: {tier}}}}}\n");
        self.edit_policy(&select, &format!("{select}    {key}\n"));
    }

    /// A repository of `acme` beside the config repository, in which the App is installed and Vera writes.
    pub fn add_repository(&self, name: &str) -> String {
        let (github, repository) = (self.world.github(), format!("acme/{name}"));
        github.add_repository("acme", name, &[("README.md".to_owned(), "Charts\n".to_owned())]).unwrap();
        github.set_permission(&repository, "vera", Role::Write).unwrap();
        github.install_app(self.world.settings().app_id, &repository).unwrap();
        repository
    }

    /// Replaces a part of the policy file, by a pull request that is merged at once.
    pub fn edit_policy(&self, part: &str, by: &str) {
        self.edit_file("coldframe.yaml", part, by);
    }

    /// The same with another file.
    pub fn edit_file(&self, path: &str, part: &str, by: &str) {
        let github = self.world.github();
        let text = github.file(REPOSITORY, "main", path).unwrap().unwrap();
        assert!(text.contains(part), "{text}");
        let text = text.replacen(part, by, 1);
        github.push_file(REPOSITORY, "rule", "vera", path, &text, "Another rule").unwrap();
        let number = github.open_pull(REPOSITORY, "vera", "rule", "main", "Another rule", "").unwrap();
        github.approve(REPOSITORY, number, "maria").unwrap();
        github.merge_as(REPOSITORY, number, "vera").unwrap();
    }

    /// Where a bot keeps its clones.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("bot")
    }

    /// A `coldframe` process with the settings of this world and nothing else in its environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let given = self.world.settings();
        let text = |path: &Path| path.display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.envs([
            ("COLDFRAME_HUB", given.hub.clone()),
            ("COLDFRAME_APP_ID", given.app_id.to_string()),
            ("COLDFRAME_APP_KEY", text(&given.app_key)),
            ("COLDFRAME_BYPASS_APP_ID", given.bypass_app_id.to_string()),
            ("COLDFRAME_BYPASS_APP_KEY", text(&given.bypass_app_key)),
            ("COLDFRAME_REPOSITORY", given.repository.clone()),
            ("COLDFRAME_CLUSTERS", text(&given.clusters)),
            ("COLDFRAME_ALLOW_HOSTS", given.allow_hosts.join(",")),
            ("COLDFRAME_DATA", text(&self.data())),
            ("COLDFRAME_SWEEP", "2s".to_owned()),
            ("COLDFRAME_POLL", "500ms".to_owned()),
            ("COLDFRAME_WRITE_PACE", "0s".to_owned()),
            ("COLDFRAME_LOG", "coldframe=info".to_owned()),
            ("TMPDIR", text(self.folder.path())),
        ]);
        command
    }

    /// `coldframe serve`, where the world's webhooks go.
    pub fn serve(&self) -> Bot {
        self.serve_with(&[])
    }

    /// The same with the token of an account that may write, and no key: nothing that it writes is sealed.
    pub fn serve_with_token(&self) -> Bot {
        let github = self.world.github();
        github.set_permission(REPOSITORY, ROBOT, Role::Write).unwrap();
        let mut command = self.command(&["serve"]);
        for name in ["APP_ID", "APP_KEY", "BYPASS_APP_ID", "BYPASS_APP_KEY"] {
            command.env_remove(format!("COLDFRAME_{name}"));
        }
        command.env("COLDFRAME_TOKEN", github.add_token(ROBOT));
        self.start(command)
    }

    /// The same with more in its environment.
    pub fn serve_with(&self, more: &[(&str, &str)]) -> Bot {
        let mut command = self.command(&["serve"]);
        command.envs(more.iter().copied());
        self.start(command)
    }

    /// A `serve` of the caller's making.
    pub fn start(&self, command: Command) -> Bot {
        let given = self.world.settings();
        self.start_at(command, &given.listen, &given.dashboard)
    }

    /// The same at other addresses: nobody rings there.
    pub fn start_at(&self, mut command: Command, listen: &str, dashboard: &str) -> Bot {
        let given = self.world.settings();
        command.env("COLDFRAME_LISTEN", listen).env("COLDFRAME_DASHBOARD", dashboard);
        command.env("COLDFRAME_WEBHOOK_SECRET", &given.webhook_secret);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        Bot(command.spawn().unwrap())
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("bot.log")
    }

    /// What bots of this stage logged.
    pub fn whole_log(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The last lines of that.
    pub fn logged(&self) -> String {
        last_lines(&self.whole_log())
    }

    /// Where an operator keeps secrets for repositories.
    pub fn secrets(&self) -> PathBuf {
        self.folder.path().join("secrets")
    }

    /// The hosts of this world that may be asked, and one more.
    pub fn allowed(&self, host: &str) -> String {
        format!("{},{host}", self.world.settings().allow_hosts.join(","))
    }

    pub fn pulls(&self) -> Vec<PullView> {
        self.world.github().pulls(REPOSITORY).unwrap()
    }

    /// The newest pull request of a plugin on a tier.
    pub fn pull(&self, plugin: &str, tier: &str) -> Option<PullView> {
        let branch = format!("coldframe/{plugin}/{tier}");
        self.pulls().into_iter().filter(|pull| pull.head == branch).max_by_key(|pull| pull.number)
    }

    /// Waits until `look` shows something; says what was logged when it never does.
    pub async fn until<T>(&self, what: &str, look: impl FnMut(&Self) -> Option<T>) -> T {
        self.within(180, what, look).await
    }

    /// The same with another patience, in seconds: for a story that takes long beside others.
    pub async fn within<T>(&self, seconds: u64, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(seconds), "never came: {what}\n{}", self.logged());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The one comment in which the bot answers on the pull request of a plugin on a tier.
    pub fn answers(&self, plugin: &str, tier: &str) -> Option<String> {
        let comments = self.pull(plugin, tier)?.comments;
        let mut ours = comments.into_iter().filter(|comment| comment.author == BOT).map(|comment| comment.body);
        let answer = ours.next();
        assert!(ours.next().is_none(), "it answers in one comment");
        answer
    }

    /// Watches for some time that something stays away.
    pub async fn never(&self, seconds: u64, what: &str, mut look: impl FnMut(&Self) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            assert!(!look(self), "{what}\n{}", self.logged());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

pub fn is_open(pull: &PullView) -> bool {
    pull.standing == PullStanding::Open
}

/// Whether somebody's yes lies on what it holds now.
pub fn is_approved(pull: &PullView) -> bool {
    pull.reviews.iter().any(|review| review.approves() && review.commit == pull.head_sha)
}

pub fn is_merged(pull: &PullView) -> bool {
    matches!(pull.standing, PullStanding::Merged { .. })
}

/// A number of KiB in the status of a process (proc(5)).
pub fn memory(of: &Child, key: &str) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", of.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// A running bot. Dropped, it is killed as `kill -9` does.
pub struct Bot(pub Child);

impl Bot {
    /// Sends its process a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.0.wait().unwrap()
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
