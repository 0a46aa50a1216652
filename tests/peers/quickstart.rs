//! The pages of `docs/quickstart`, run as they stand there: every block of a shell, in order, in one bash, with the real
//! `gh` and git against the sandbox. What a page shows below a block is what the block says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use demo::charts::Charts;
use demo::clusters::{ClusterSpec, Clusters, GitSource, Kind, Member, Pace};
use demo::github::{GitHub, Options, Role};
use demo::story::fleet::{definition, definition_path};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::browser::{installs, registers};
use crate::gh::socket;
use crate::page::{Block, blocks, fits};
use crate::peers::peer;

/// The repository of every page.
const REPOSITORY: &str = "acme/fleet";
/// Whoever reads the page.
const READER: &str = "vera";
/// The mark of a block in which the reader has something to do in the browser meanwhile.
const BROWSER: &str = "browser";
/// All commands of a page together take no longer.
const PATIENCE: Duration = Duration::from_secs(600);
/// The pages, and where the reader does something else than the shell: each is a mark of blocks, of which those with a
/// browser are run beside one.
const PAGES: [(&str, &[&str]); 3] = [
    ("argo-cd.md", &["browser", "argocd", "kubectl"]),
    ("flux.md", &["browser", "kubectl"]),
    ("greenhouse.md", &["greenhouse", "browser", "kubectl"]),
];

/// What a page is run in.
struct Tour {
    github: GitHub,
    charts: Charts,
    clusters: Option<Clusters>,
    folder: tempfile::TempDir,
    specs: Vec<ClusterSpec>,
    /// Whether Argo CD knows the tiers of its clusters.
    labels: bool,
}

impl Tour {
    /// The repository is empty, and the charts have a release that no cluster runs yet.
    async fn begin(specs: Vec<ClusterSpec>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let github = GitHub::start(Options::new(folder.path().join("hub"))).await.unwrap();
        github.add_org("acme");
        github.add_repository("acme", "fleet", &[]).unwrap();
        github.set_permission(REPOSITORY, READER, Role::Admin).unwrap();
        let charts = Charts::start().await.unwrap();
        for version in ["6.8.0", "6.9.0"] {
            charts.publish("podinfo", version, "A quiet release").unwrap();
        }
        Self { github, charts, clusters: None, folder, specs, labels: false }
    }

    /// Names of hosts that are not asked here, and who answers in their place.
    fn hosts(&self) -> [(&'static str, String); 3] {
        [
            // Registries of this world speak plain HTTP, which an address has to say.
            ("oci://ghcr.io/stefanprodan/charts", format!("oci+http://{}/charts", self.charts.host())),
            ("https://stefanprodan.github.io/podinfo", self.charts.repository()),
            // For git: what else the page asks of GitHub goes by `gh` and the settings below.
            ("https://github.com", self.github.url().to_owned()),
        ]
    }

    /// What a block of the reader's brings about.
    async fn by_hand(&mut self, by: &str) {
        match by {
            "kubectl" => self.give_access().await,
            "argocd" => self.labels = true,
            // Clusters of the sandbox say their tier from the start.
            "greenhouse" => {}
            other => panic!("nobody knows how to do what only {other} can"),
        }
    }

    fn checkout(&self) -> PathBuf {
        self.folder.path().join("work/fleet")
    }

    /// Registers the App at the page that `coldframe setup` opens, and installs it, as the reader does.
    async fn registers(&self, said: PathBuf) {
        let page = loop {
            let said = std::fs::read_to_string(&said).unwrap_or_default();
            if let Some(page) = said.lines().map(str::trim).find(|line| line.starts_with("http://127.0.0.1:")) {
                break page.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let hub = self.github.url();
        let back = registers(hub, &page, READER).await;
        let told = reqwest::get(back).await.unwrap().text().await.unwrap();
        installs(hub, &told, READER, REPOSITORY).await;
    }

    /// Starts the clusters, which run what was pushed, and writes the kubeconfigs that the script of `coldframe access`
    /// would write.
    async fn give_access(&mut self) {
        let token = Some(self.github.add_token(READER));
        let url = format!("{}/{REPOSITORY}.git", self.github.url());
        let source = GitSource { url, branch: "main".to_owned(), token };
        let mirror = self.folder.path().join("mirror");
        let clusters = Clusters::start(std::mem::take(&mut self.specs), source, mirror).await.unwrap();
        clusters.write_kubeconfigs(&self.checkout().join("kubeconfigs")).unwrap();
        if self.labels {
            for name in ["staging", "production"] {
                clusters.put("argocd", &secret(), &listed(name)).unwrap();
            }
        }
        self.clusters = Some(clusters);
    }

    /// A bash in an empty folder, with what a reader has: git, `gh` and `coldframe`, pointed at this world.
    fn shell(&self) -> Shell {
        let below = |name: &str| self.folder.path().join(name);
        for name in ["bin", "home", "tmp", "work", "blocks"] {
            std::fs::create_dir(below(name)).unwrap();
        }
        for (name, program) in [("gh", peer("venv/bin/gh")), ("coldframe", env!("CARGO_BIN_EXE_coldframe").into())] {
            std::os::unix::fs::symlink(program.canonicalize().unwrap(), below("bin").join(name)).unwrap();
        }
        socket(&below("hub.sock"), self.github.url());
        let token = self.github.add_token(READER);
        let basic = crate::town::basic(&token);
        std::fs::write(
            below("home").join(".gitconfig"),
            format!(
                "[user]\n\tname = Vera\n\temail = vera@acme.example\n[init]\n\tdefaultBranch = main\n[http \"{}/\"]\n\t\
                 extraHeader = Authorization: Basic {basic}\n",
                self.github.url()
            ),
        )
        .unwrap();
        std::fs::write(
            below("home").join("config.yml"),
            format!("version: \"1\"\nhttp_unix_socket: {}\n", below("hub.sock").display()),
        )
        .unwrap();
        let path = format!("{}:{}", below("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).env_clear().current_dir(below("work"));
        command.envs([
            ("PATH", path.as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GH_HOST", "hub.example"),
            ("GH_ENTERPRISE_TOKEN", &token),
            ("GH_REPO", "hub.example/acme/fleet"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("GH_TELEMETRY", "false"),
            ("NO_COLOR", "1"),
            ("COLDFRAME_WRITE_PACE", "0s"),
            ("COLDFRAME_HUB", self.github.url()),
        ]);
        command.env("HOME", below("home")).env("TMPDIR", below("tmp")).env("GH_CONFIG_DIR", below("home"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Shell { _child: child, stdin, lines: BufReader::new(stdout).lines(), folder: below("blocks") }
    }

    /// The hosts that may be asked here though they speak plain HTTP. A reader has no such hosts.
    fn allowed(&self) -> String {
        let clusters = self.clusters.iter().flat_map(|clusters| clusters.urls().into_values());
        let hosts =
            clusters.chain([self.github.url().to_owned()]).map(|url| url.trim_start_matches("http://").to_owned());
        hosts.chain([self.charts.host()]).collect::<Vec<_>>().join(",")
    }
}

fn secret() -> Kind {
    Kind::custom("", "v1", "Secret", "secrets")
}

/// A cluster as Argo CD keeps it, with the label of its tier.
fn listed(name: &str) -> Value {
    let labels = json!({"argocd.argoproj.io/secret-type": "cluster", "tier": name});
    let data = json!({"name": STANDARD.encode(name), "server": STANDARD.encode("https://cluster.example")});
    json!({"metadata": {"name": format!("cluster-{name}"), "namespace": "argocd", "labels": labels}, "data": data})
}

/// One bash for a whole page.
struct Shell {
    _child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
}

impl Shell {
    /// What the block at a line prints.
    fn said(&self, line: usize) -> PathBuf {
        self.folder.join(format!("{line}.out"))
    }

    /// Runs a block; what it printed, and whether it went well.
    async fn run(&mut self, line: usize, text: &str) -> (String, bool) {
        let (file, out) = (self.folder.join(format!("{line}.sh")), self.said(line));
        std::fs::write(&file, text).unwrap();
        let order =
            format!("set -euo pipefail\n. {} > {} 2>&1 < /dev/null\necho done\n", file.display(), out.display());
        self.stdin.write_all(order.as_bytes()).await.unwrap();
        let done = self.lines.next_line().await.unwrap();
        (std::fs::read_to_string(out).unwrap_or_default(), done.as_deref() == Some("done"))
    }
}

/// Runs a page to its end; the tour as it is then.
async fn run(page: &str, specs: Vec<ClusterSpec>, before: impl FnOnce(&Tour)) -> Tour {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/quickstart").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut tour = Tour::begin(specs).await;
    before(&tour);
    let mut shell = tour.shell();
    let hosts = tour.hosts();
    let here = |text: &str| hosts.iter().fold(text.to_owned(), |text, (name, host)| text.replace(name, host));
    let commands = async {
        for block in blocks(&text) {
            let Block { line, by, text, shown } = block;
            if by.as_deref() == Some(BROWSER) {
                let said = shell.said(line);
                let (done, ()) = tokio::join!(shell.run(line, &text), tour.registers(said));
                println!("{page}:{line}\n{}", done.0);
                assert!(done.1, "{page}:{line}: a command fails\n{text}\n{}", done.0);
                continue;
            }
            if let Some(by) = by {
                assert!(shown.is_none(), "{page}:{line}: nobody sees here what this prints");
                tour.by_hand(&by).await;
                shell.run(line, &format!("export COLDFRAME_ALLOW_HOSTS={}\n", tour.allowed())).await;
                continue;
            }
            let (said, good) = shell.run(line, &here(&text)).await;
            println!("{page}:{line}\n{said}");
            assert!(good, "{page}:{line}: a command fails\n{text}\n{said}");
            let Some(shown) = shown.map(|shown| here(&shown)) else { continue };
            let lines = |text: &'_ str| text.trim().lines().map(str::to_owned).collect::<Vec<_>>();
            let (shown, said_lines) = (lines(&shown), lines(&said));
            let [shown, lines] = [&shown, &said_lines].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(fits(&shown, &lines), "{page}:{line}: prints something else\n{}\n---\n{said}", shown.join("\n"));
        }
    };
    tokio::time::timeout(PATIENCE, commands).await.unwrap_or_else(|_| panic!("{page} takes too long"));
    drop(shell);
    tour
}

/// A page that no test runs is found, and so is a block that is passed over.
#[test]
fn every_page_is_run_and_little_of_it_left_to_the_reader() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/quickstart");
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "README.md").collect();
    names.sort();
    assert_eq!(names, PAGES.map(|(name, _)| name));
    for (name, by_hand) in PAGES {
        let blocks = blocks(&std::fs::read_to_string(folder.join(name)).unwrap());
        assert_eq!(blocks.iter().filter_map(|block| block.by.as_deref()).collect::<Vec<_>>(), by_hand, "{name}");
        assert!(blocks.iter().filter(|block| block.shown.is_some()).count() >= 6, "{name} shows little");
    }
}

fn spec(name: &str, tier: &str, folder: &str) -> ClusterSpec {
    ClusterSpec {
        name: name.to_owned(),
        folder: folder.to_owned(),
        tier: tier.to_owned(),
        credential: name.to_owned(),
        // Slow enough that what a page shows right after a merge is what a busy machine shows.
        pace: Pace { work: Duration::from_secs(3), ..Pace::of_number(0) },
        members: Vec::new(),
    }
}

/// What stands on the base branch in the end.
fn file(tour: &Tour, path: &str) -> String {
    tour.github.file(REPOSITORY, "main", path).unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_with_flux_ends_in_production() {
    let clusters = [("staging", "staging"), ("production-eu", "production"), ("production-us", "production")];
    let specs = clusters.map(|(name, tier)| spec(name, tier, &format!("clusters/{name}"))).to_vec();
    let tour = run("flux.md", specs, |_| {}).await;
    for tier in ["staging", "production"] {
        assert!(file(&tour, &format!("apps/{tier}/podinfo.yaml")).contains("version: 6.9.0\n"), "{tier}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_with_argo_cd_ends_in_production() {
    let tour = run("argo-cd.md", vec![spec("argocd", "", "apps")], |_| {}).await;
    for tier in ["staging", "production"] {
        assert!(file(&tour, &format!("apps/{tier}/podinfo.yaml")).contains("targetRevision: 6.9.0\n"), "{tier}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_start_with_greenhouse_ends_on_bronze() {
    let members = ["qa", "bronze"].map(|tier| Member { name: format!("{tier}-1"), tier: tier.to_owned() });
    let hub = ClusterSpec { members: members.to_vec(), ..spec("greenhouse", "", "greenhouse") };
    let tour = run("greenhouse.md", vec![hub], stock).await;
    for tier in ["qa", "bronze"] {
        let catalog = file(&tour, &format!("greenhouse/{tier}/catalog.yaml"));
        assert!(catalog.contains("ref: {tag: kube-monitoring/16.0.1}"), "{tier}: {catalog}");
    }
}

/// The catalog of the page, with two releases of the plugin. The chart's numbers are others, as they are there.
fn stock(tour: &Tour) {
    let (owner, name, plugin) = ("cloudoperators", "greenhouse-extensions", "kube-monitoring");
    let catalog = format!("{owner}/{name}");
    tour.github.add_repository(owner, name, &[("README.md".to_owned(), "# Plugins\n".to_owned())]).unwrap();
    for (version, chart) in [("16.0.0", "3.2.1"), ("16.0.1", "3.2.2")] {
        tour.charts.publish(plugin, chart, "Fewer alerts").unwrap();
        let text = definition(&tour.charts, plugin, version, chart);
        let commit = tour.github.push_file(
            &catalog,
            "main",
            owner,
            &definition_path(plugin),
            &text,
            &format!("{plugin} {version}"),
        );
        tour.github.tag(&catalog, owner, &format!("{plugin}/{version}"), &commit.unwrap()).unwrap();
    }
}
