//! The sandbox as one thing: it starts the servers, furnishes them, and says with which settings a
//! bot (or git, or curl) is pointed at them. What happens then is in `story`.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context as _;
use jiff::SignedDuration;

use super::charts::Charts;
use super::clock::now;
use super::clusters::{Clusters, GitSource};
use super::github::{self, Access, AppSettings, GitHub, Protection, Role, Rule};
use super::loopback::{free_port, locked, random_hex, write_private};
use super::story::chronicle::Chronicle;
use super::story::fleet::{self, EXTENSIONS, Fate, NAME, OWNER, PLUGINS, TEAM};
use super::story::people;

/// The ordinary App.
pub(super) const APP: &str = "coldframe";
/// The App that may pass the rule of reviews.
pub(super) const BYPASS: &str = "coldframe-force";
/// A member of the team who is not scripted; the token is hers.
pub(super) const VISITOR: &str = "vera";
/// Who reads the config repo for the clusters.
const PULLER: &str = "fleet-controllers";
/// The branch that the story protects for the bots.
const LEDGER: &str = "coldframe-ledger";

/// How to start a world.
#[derive(Clone, Debug)]
pub struct Options {
    /// An empty folder of its own: repositories, keys and kubeconfigs go there.
    pub dir: PathBuf,
    /// Where the GitHub listens; port 0 takes a free one.
    pub hub_port: u16,
    /// A scripted story that takes longer has gone wrong; a busy machine may want more.
    pub patience: SignedDuration,
    /// There is no policy at first: the bot proposes one, and people make theirs of it.
    pub onboarding: bool,
}

impl Options {
    /// Free ports, and everything in this folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), hub_port: 0, patience: SignedDuration::from_secs(150), onboarding: false }
    }
}

/// What a bot needs to know to work in this world.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base URL of the GitHub.
    pub hub: String,
    /// Id of the ordinary App.
    pub app_id: u64,
    /// Its private key, a PEM file.
    pub app_key: PathBuf,
    /// Id of the App that may pass the rule of reviews.
    pub bypass_app_id: u64,
    /// Its private key, a PEM file.
    pub bypass_app_key: PathBuf,
    /// Signs the webhooks.
    pub webhook_secret: String,
    /// `owner/name` of the config repo.
    pub repository: String,
    /// A folder with one kubeconfig per cluster, `<credential>.yaml`.
    pub clusters: PathBuf,
    /// `host:port` of the servers that may be asked though they are on loopback and speak plain HTTP:
    /// the chart registry, then the clusters.
    pub allow_hosts: Vec<String>,
    /// A free address for the bot; webhooks go there until [`World::set_webhook`] says otherwise.
    pub listen: String,
    /// A free address for the bot's dashboard.
    pub dashboard: String,
    /// A person's token for git, gh and curl.
    pub user_token: String,
}

/// A running world. It ends when this is dropped; its folder stays.
pub struct World {
    pub(super) settings: Settings,
    pub(super) github: GitHub,
    pub(super) charts: Charts,
    pub(super) clusters: Clusters,
    /// The config repo as the clusters read it.
    pub(super) source: GitSource,
    pub(super) dir: PathBuf,
    pub(super) chronicle: Mutex<Chronicle>,
    pub(super) patience: SignedDuration,
    /// The policy that people make of what the bot proposes; none where it is there from the start.
    pub(super) policy: Option<String>,
}

impl World {
    /// Starts everything: the fleet runs the old versions, the new ones are published.
    ///
    /// # Errors
    /// When a port, a file or git refuses.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let dir = options.dir;
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let old = std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?.count();
        anyhow::ensure!(old == 0, "{} holds files already; give the sandbox an empty folder", dir.display());
        let charts = Charts::start().await?;
        publish(&charts)?;
        let mut hub = github::Options::new(dir.join("github"));
        hub.listen.set_port(options.hub_port);
        let github = GitHub::start(hub).await?;
        let catalog = format!("{}/{OWNER}/{EXTENSIONS}", github.url());
        let mut files: Vec<(String, String)> = fleet::files(&charts, &catalog).into_iter().collect();
        let policy = options.onboarding.then(|| files.extract_if(.., |(path, _)| path == fleet::POLICY_FILE).next());
        let policy = policy.flatten().map(|(_, text)| text);
        let (app, bypass) = furnish(&github, &files)?;
        stock(&github, &charts)?;
        publish_breaking(&github, &charts)?;
        let repository = format!("{OWNER}/{NAME}");
        let source = GitSource {
            url: format!("{}/{repository}.git", github.url()),
            branch: "main".to_owned(),
            token: Some(github.add_token(PULLER)),
        };
        let specs = fleet::clusters().into_iter().chain([fleet::hub()]).collect();
        let clusters = Clusters::start(specs, source.clone(), dir.join("mirror")).await?;
        clusters.write_kubeconfigs(&dir.join("clusters"))?;
        let settings = Settings {
            hub: github.url().to_owned(),
            app_id: app.id,
            app_key: write_key(&dir, &app)?,
            bypass_app_id: bypass.id,
            bypass_app_key: write_key(&dir, &bypass)?,
            webhook_secret: random_hex()?,
            repository,
            clusters: dir.join("clusters"),
            allow_hosts: plain_hosts(github.url(), &charts, &clusters),
            listen: free_address()?,
            dashboard: free_address()?,
            user_token: github.add_token(VISITOR),
        };
        let world = Self {
            settings,
            github,
            charts,
            clusters,
            source,
            dir,
            chronicle: Mutex::default(),
            patience: options.patience,
            policy,
        };
        world.set_webhook(&format!("http://{}/webhook", world.settings.listen))?;
        Ok(world)
    }

    /// What a bot needs to know.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends the webhooks of the ordinary App there.
    ///
    /// # Errors
    /// When the App is not there any more.
    pub fn set_webhook(&self, url: &str) -> anyhow::Result<()> {
        self.github.set_webhook(self.settings.app_id, url, &self.settings.webhook_secret)
    }

    /// Whoever comes with a browser is the code owner.
    pub fn welcome_owner(&self) {
        self.github.welcome(people::OWNER);
    }

    /// The hub, for acts of people and faults.
    pub fn github(&self) -> &GitHub {
        &self.github
    }

    /// The chart registry, for releases.
    pub fn charts(&self) -> &Charts {
        &self.charts
    }

    /// The clusters, for what goes wrong there.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }

    /// What happened so far in the story that runs.
    pub fn chronicle(&self) -> Chronicle {
        locked(&self.chronicle).clone()
    }

    /// The settings as lines for a shell.
    pub fn env_lines(&self) -> Vec<String> {
        let settings = &self.settings;
        let path = |path: &Path| path.display().to_string();
        let values = [
            ("HUB", settings.hub.clone()),
            ("APP_ID", settings.app_id.to_string()),
            ("APP_KEY", path(&settings.app_key)),
            ("BYPASS_APP_ID", settings.bypass_app_id.to_string()),
            ("BYPASS_APP_KEY", path(&settings.bypass_app_key)),
            ("WEBHOOK_SECRET", settings.webhook_secret.clone()),
            ("REPOSITORY", settings.repository.clone()),
            ("CLUSTERS", path(&settings.clusters)),
            ("ALLOW_HOSTS", settings.allow_hosts.join(",")),
            ("LISTEN", settings.listen.clone()),
            ("DASHBOARD", settings.dashboard.clone()),
            ("SWEEP", "2s".to_owned()),
            ("POLL", "500ms".to_owned()),
            ("WRITE_PACE", "0s".to_owned()),
        ];
        let mut lines: Vec<String> =
            values.iter().map(|(name, value)| format!("export COLDFRAME_{name}={}", quoted(value))).collect();
        let host = settings.hub.trim_start_matches("http://");
        lines.push(format!("export SANDBOX_TOKEN={} # {VISITOR}, who may write", settings.user_token));
        lines.push(format!("# git clone http://x-access-token:$SANDBOX_TOKEN@{host}/{}.git", settings.repository));
        lines.push(format!(
            "# curl -H \"Authorization: Bearer $SANDBOX_TOKEN\" {}/api/v3/repos/{}/pulls",
            settings.hub, settings.repository
        ));
        lines
    }
}

/// The old versions were published a month ago, the new ones an hour ago.
fn publish(charts: &Charts) -> anyhow::Result<()> {
    for plugin in PLUGINS.iter().filter(|plugin| !matches!(plugin.fate, Fate::Breaking { .. })) {
        let before = now() - SignedDuration::from_hours(30 * 24);
        let (old, new) = plugin.chart.unwrap_or((plugin.before, plugin.climbs));
        charts.publish_dated(plugin.name, old, "A quiet release", before)?;
        charts.publish_dated(plugin.name, new, plugin.notes, now() - SignedDuration::from_hours(1))?;
    }
    Ok(())
}

/// The chart that breaks, and its repository at the same hub, whose releases say so.
fn publish_breaking(github: &GitHub, charts: &Charts) -> anyhow::Result<()> {
    let Some(plugin) = PLUGINS.iter().find(|plugin| matches!(plugin.fate, Fate::Breaking { .. })) else {
        return Ok(());
    };
    let repository = format!("{OWNER}/{}", plugin.name);
    github.add_repository(OWNER, plugin.name, &[("README.md".to_owned(), format!("# {}\n", plugin.name))])?;
    github.set_permission(&repository, &format!("{OWNER}/{TEAM}"), Role::Write)?;
    let page = format!("{}/{repository}", github.url());
    for fleet::Breaking { version, text, files } in fleet::BREAKING {
        github.release(&repository, version, people::OWNER, text)?;
        let commit = github.head(&repository, "main")?.context("its first commit")?;
        charts.publish_from(plugin.name, version, (&page, &commit), files)?;
    }
    Ok(())
}

/// The catalog of definitions, each release of which is a commit with a tag.
fn stock(github: &GitHub, charts: &Charts) -> anyhow::Result<()> {
    let catalog = format!("{OWNER}/{EXTENSIONS}");
    github.add_repository(OWNER, EXTENSIONS, &[("README.md".to_owned(), "# Plugins\n".to_owned())])?;
    github.set_permission(&catalog, &format!("{OWNER}/{TEAM}"), Role::Write)?;
    for plugin in PLUGINS {
        let Some((old, new)) = plugin.chart else { continue };
        for (version, chart) in [(plugin.before, old), (plugin.climbs, new)] {
            let text = fleet::definition(charts, plugin.name, version, chart);
            define(github, &catalog, plugin.name, version, &text)?;
        }
    }
    Ok(())
}

/// A release of a definition, as the workflow of a catalog makes it: a commit, and a tag on it.
fn define(github: &GitHub, catalog: &str, plugin: &str, version: &str, text: &str) -> anyhow::Result<()> {
    let path = fleet::definition_path(plugin);
    let commit = github.push_file(catalog, "main", people::OWNER, &path, text, &format!("{plugin} {version}"))?;
    github.tag(catalog, people::OWNER, &format!("{plugin}/{version}"), &commit)
}

/// People, the config repo, both Apps and the rules that bind them.
fn furnish(github: &GitHub, files: &[(String, String)]) -> anyhow::Result<(AppSettings, AppSettings)> {
    use Access::{Read, Write};
    let repository = format!("{OWNER}/{NAME}");
    github.add_org(OWNER);
    github.add_team(OWNER, TEAM, &[people::OWNER, VISITOR]);
    github.add_repository(OWNER, NAME, files)?;
    github.set_delete_branch_on_merge(&repository, true)?;
    github.set_permission(&repository, &format!("{OWNER}/{TEAM}"), Role::Write)?;
    github.set_permission(&repository, PULLER, Role::Read)?;
    let app = github.add_app(
        APP,
        &[
            ("actions", Write),
            ("checks", Write),
            ("contents", Write),
            ("deployments", Read),
            ("issues", Write),
            ("members", Read),
            ("merge_queues", Read),
            ("pull_requests", Write),
            ("statuses", Write),
        ],
    )?;
    let bypass = github.add_app(BYPASS, &[("contents", Write), ("pull_requests", Write)])?;
    for id in [app.id, bypass.id] {
        github.install_app(id, &repository)?;
    }
    github.protect(
        &repository,
        "main",
        Protection {
            require_code_owner_reviews: true,
            dismiss_stale: true,
            enforce_admins: true,
            bypass_apps: vec![bypass.id],
            ..Protection::default()
        },
    )?;
    let closed = [Rule::Creation, Rule::Update, Rule::Deletion];
    github.add_ruleset(&repository, LEDGER, &closed, &[app.id, bypass.id])?;
    github.add_ruleset(&repository, LEDGER, &[Rule::Deletion, Rule::NonFastForward], &[])?;
    Ok((app, bypass))
}

fn write_key(dir: &Path, app: &AppSettings) -> anyhow::Result<PathBuf> {
    let path = dir.join(format!("{}.pem", app.slug));
    write_private(&path, app.key_pem.as_bytes())?;
    Ok(path)
}

fn plain_hosts(hub: &str, charts: &Charts, clusters: &Clusters) -> Vec<String> {
    let clusters = clusters.urls();
    let urls = clusters.values().map(String::as_str).chain([hub]);
    let hosts = urls.map(|url| url.trim_start_matches("http://").to_owned());
    std::iter::once(charts.host()).chain(hosts).collect()
}

fn free_address() -> anyhow::Result<String> {
    Ok(format!("{}:{}", Ipv4Addr::LOCALHOST, free_port()?))
}

/// A word for a POSIX shell.
fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:,".contains(letter);
    if value.chars().all(plain) { value.to_owned() } else { format!("'{}'", value.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_world_says_how_to_reach_it_and_keeps_its_rules() {
        let folder = tempfile::tempdir().unwrap();
        let world = World::start(Options::new(folder.path())).await.unwrap();
        let settings = world.settings();
        for file in
            [settings.app_key.clone(), settings.bypass_app_key.clone(), settings.clusters.join("gold-eu-reader.yaml")]
        {
            assert!(!std::fs::read_to_string(&file).unwrap().is_empty(), "{}", file.display());
        }
        let lines = world.env_lines();
        for name in ["HUB", "APP_ID", "APP_KEY", "BYPASS_APP_ID", "BYPASS_APP_KEY", "WEBHOOK_SECRET", "REPOSITORY"] {
            assert!(lines.iter().any(|line| line.starts_with(&format!("export COLDFRAME_{name}="))), "{name}");
        }
        assert_eq!(world.clusters().look().len(), 12);
        let hub = world.github();
        for branch in ["main", LEDGER] {
            let pushed = hub.push_file(&settings.repository, branch, VISITOR, "x.txt", "x", "by hand");
            assert!(pushed.is_err(), "nobody pushes to {branch} by hand");
        }
        hub.push_file(&settings.repository, "mine", VISITOR, "x.txt", "x", "by hand").unwrap();
        let again = World::start(Options::new(folder.path())).await.err().unwrap();
        assert!(again.to_string().contains("give the sandbox an empty folder"), "{again}");
    }

    #[test]
    fn values_are_quoted_for_a_shell() {
        assert_eq!(quoted("/tmp/a-b.pem"), "/tmp/a-b.pem");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
