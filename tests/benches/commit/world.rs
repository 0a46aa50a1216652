//! The repository of the benchmark: a file for each plugin on each cluster, `clusters/<tier>/<cluster>/<plugin>.yaml`,
//! and the ordinary git that makes and changes it.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How large everything is.
#[derive(Clone, Copy)]
pub struct Size {
    pub clusters: usize,
    pub plugins: usize,
    /// The clusters of gold, whose files of one plugin are changed by one commit.
    pub gold: usize,
}

/// The plugin that is moved.
pub const PLUGIN: &str = "plugin-007";
/// What runs before.
pub const BEFORE: &str = "1.15.0";

/// The tier of a cluster: gold first, the rest on the tiers below.
fn tier(size: Size, cluster: usize) -> &'static str {
    let rest = cluster.saturating_sub(size.gold);
    match cluster {
        _ if cluster < size.gold => "gold",
        _ if rest % 10 < 6 => "silver",
        _ if rest % 10 < 9 => "bronze",
        _ => "qa",
    }
}

/// The name of a cluster.
pub fn cluster(number: usize) -> String {
    format!("eu-{number:04}")
}

/// The file of a plugin on a cluster of gold.
pub fn path(number: usize) -> String {
    format!("clusters/gold/{}/{PLUGIN}.yaml", cluster(number))
}

/// What stands there.
pub fn manifest(plugin: &str, cluster: &str, version: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {plugin}\n  \
         namespace: {plugin}\nspec:\n  interval: 10m\n  chart:\n    spec:\n      chart: {plugin}\n      \
         version: {version} # exact\n      sourceRef:\n        kind: HelmRepository\n        name: charts\n        \
         namespace: flux-system\n  upgrade:\n    remediation:\n      retries: 3\n  values:\n    \
         cluster: {cluster}\n    ingress:\n      host: {plugin}.{cluster}.example.org\n"
    )
}

/// Makes the bare repository.
pub fn make(bare: &Path, size: Size) {
    let folder = bare.parent().unwrap();
    git(folder, &["init", "--quiet", "--bare", "--initial-branch=main", bare.to_str().unwrap()]);
    git(bare, &["config", "http.receivepack", "true"]);
    // The file format does not care; levels of compression are for disks that are small.
    git(bare, &["config", "core.compression", "1"]);
    let mut child = fast_import(bare);
    let mut stream = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
    write!(stream, "commit refs/heads/main\n{}data 6\nfleet\n\n", who(0)).unwrap();
    for number in 0..size.clusters {
        let (name, tier) = (cluster(number), tier(size, number));
        for plugin in 0..size.plugins {
            let plugin = format!("plugin-{plugin:03}");
            let path = format!("clusters/{tier}/{name}/{plugin}.yaml");
            write_file(&mut stream, &path, &manifest(&plugin, &name, BEFORE));
        }
    }
    stream.flush().unwrap();
    drop(stream);
    assert!(child.wait().unwrap().success());
}

/// The change that the bot makes, as a stream for `git fast-import`.
pub fn stream(base: &str, branch: &str, size: Size, version: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    write!(stream, "commit refs/heads/{branch}\n{}data 6\nround\nfrom {base}\n", who(1)).unwrap();
    for number in 0..size.gold {
        write_file(&mut stream, &path(number), &manifest(PLUGIN, &cluster(number), version));
    }
    stream
}

/// Runs `git fast-import` on it: milliseconds from its start to its end, and kilobytes of memory where asked.
pub fn import(bare: &Path, stream: &[u8], memory: bool) -> (f64, u64) {
    let begun = Instant::now();
    let mut child = fast_import(bare);
    let mut input = child.stdin.take().unwrap();
    input.write_all(stream).unwrap();
    let peak = if memory { self::memory(child.id()) } else { 0 };
    drop(input);
    assert!(child.wait().unwrap().success());
    (begun.elapsed().as_secs_f64() * 1_000.0, peak)
}

/// The most memory that a process held so far, in kilobytes (`VmHWM` of proc(5)).
pub fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs git in a folder, free of anybody's configuration, and gives what it prints.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = plain(folder).args(arguments).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn plain(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git
}

fn fast_import(bare: &Path) -> std::process::Child {
    // The bot's clone is a cache and waits for no disk; neither does git here.
    let arguments = ["-c", "core.fsync=none", "fast-import", "--quiet"];
    plain(bare).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn who(seconds: u64) -> String {
    format!("committer Pat <pat@example.org> {} +0000\n", 1_760_000_000 + seconds)
}

fn write_file(stream: &mut impl Write, path: &str, text: &str) {
    write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap();
}
