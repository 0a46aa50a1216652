//! What it costs to change 1,500 files of 400,000 without a checkout: the first fetch beside `git clone`, the commit
//! beside `git fast-import` of the same change, a commit of one file, memory, and the push.
//! `COLDFRAME_COMMIT=clusters,plugins,files,rounds` makes another size of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

mod bot;
mod server;
mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use server::Server;
use world::{Size, git};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(("bot", step)) = arguments.get(1).map(String::as_str).zip(arguments.get(2..)) {
        return bot::run(&step.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let size = std::env::var("COLDFRAME_COMMIT").unwrap_or_else(|_| "2000,200,1500,9".to_string());
    let size: Vec<usize> = size.split(',').map(|number| number.parse().unwrap()).collect();
    let [clusters, plugins, gold, rounds] = size[..] else { panic!("COLDFRAME_COMMIT=clusters,plugins,files,rounds") };
    run(Size { clusters, plugins, gold }, rounds);
}

/// One step of the bot in a process of its own; its values, and how long the process lived in milliseconds.
fn step(arguments: &[&str]) -> (BTreeMap<String, String>, f64) {
    let begun = Instant::now();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.arg("bot").args(arguments).stderr(Stdio::inherit()).output().unwrap();
    let lived = begun.elapsed().as_secs_f64() * 1_000.0;
    assert!(output.status.success(), "{arguments:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    (pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect(), lived)
}

fn number(values: &BTreeMap<String, String>, name: &str) -> f64 {
    values[name].parse().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn megabytes(kilobytes: f64) -> f64 {
    kilobytes / 1024.0
}

/// An aim of the project, and whether it holds.
fn aim(what: &str, holds: bool) {
    println!("  {} {what}", if holds { "holds:" } else { "DOES NOT HOLD:" });
}

fn run(size: Size, rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("fleet.git");
    let begun = Instant::now();
    world::make(&served, size);
    println!(
        "repository: {} files of {} plugins on {} clusters, made in {:.1} s",
        size.clusters * size.plugins,
        size.plugins,
        size.clusters,
        begun.elapsed().as_secs_f64()
    );
    let server = Server::start(folder.path());
    let url = format!("{}/fleet.git", server.url);
    let (cache, clone) = (folder.path().join("cache"), folder.path().join("clone.git"));
    let base = fetch(&server, &url, &cache, &clone);
    assert_eq!(base, git(&served, &["rev-parse", "main"]).trim());
    let commit = commits(&cache, &clone, &base, size, rounds);
    single(&cache, &base, size);
    push(&server, &url, &cache, &clone, &commit);
}

/// The first fetch, beside `git clone`; the commit of the branch.
fn fetch(server: &Server, url: &str, cache: &Path, clone: &Path) -> String {
    server.bytes();
    let (values, _) = step(&["fetch", cache.to_str().unwrap(), url]);
    let (bytes, _) = server.bytes();
    let begun = Instant::now();
    git(cache.parent().unwrap(), &["clone", "--quiet", "--depth", "1", "--bare", url, clone.to_str().unwrap()]);
    let cloned = begun.elapsed().as_secs_f64();
    let (by_git, _) = server.bytes();
    println!(
        "first fetch, shallow: {:.1} s, {:.1} MB, peak memory {:.0} MB",
        number(&values, "fetch") / 1_000.0,
        bytes as f64 / 1e6,
        megabytes(number(&values, "peak"))
    );
    println!("git clone --depth 1 --bare: {cloned:.1} s, {:.1} MB", by_git as f64 / 1e6);
    values["tip"].clone()
}

/// The commit of many files, beside `git fast-import`, by turns; the last commit of the bot.
fn commits(cache: &Path, clone: &Path, base: &str, size: Size, rounds: usize) -> String {
    let (mut found, mut imports) = (BTreeMap::<&str, Vec<f64>>::new(), Vec::new());
    let mut last = String::new();
    let files = size.gold.to_string();
    for round in 0..=rounds {
        let version = format!("1.16.{round}");
        let stream = world::stream(base, &format!("round-{round}"), size, &version);
        let (values, lived) = step(&["commit", cache.to_str().unwrap(), base, &files, &version]);
        let (imported, _) = world::import(clone, &stream, false);
        let theirs = git(clone, &["rev-parse", &format!("round-{round}^{{tree}}")]);
        last.clone_from(&values["id"]);
        assert_eq!(git(cache, &["rev-parse", &format!("{last}^{{tree}}")]), theirs, "another tree than git's");
        if round == 0 {
            continue; // warms the disk's cache for both
        }
        for name in ["look", "open", "edit", "commit", "whole", "peak"] {
            found.entry(name).or_default().push(number(&values, name));
        }
        found.entry("lived").or_default().push(lived);
        imports.push(imported);
    }
    let stream = world::stream(base, "memory", size, "1.16.99");
    let (_, by_git) = world::import(clone, &stream, true);
    let middle = |name: &str| median(found[name].clone());
    let ratio = |name: &str| median(found[name].iter().zip(&imports).map(|(ours, git)| ours / git).collect());
    let peak = found["peak"].iter().copied().fold(0.0, f64::max);
    println!("commit of {files} files, medians of {rounds} rounds, warm, the same tree as git's:");
    println!(
        "  git fast-import, the whole process: {:.0} ms, {:.0} MB",
        median(imports.clone()),
        by_git as f64 / 1024.0
    );
    println!("  the commit alone, with opening the store: {:.0} ms, {:.2} of it", middle("commit"), ratio("commit"));
    println!(
        "  the whole write (open {:.1} ms, read and edit {:.0} ms, commit): {:.0} ms, {:.2} of it",
        middle("open"),
        middle("edit"),
        middle("whole"),
        ratio("whole")
    );
    println!("  before it, a look that reads and understands these files: {:.0} ms", middle("look"));
    println!("  peak memory of the process that did all this: {:.0} MB", megabytes(peak));
    aim("the commit is not slower than git fast-import", ratio("commit") <= 1.0);
    aim("nor is the whole write, reading and editing included", ratio("whole") <= 1.0);
    aim("memory is below 200 MB", megabytes(peak) < 200.0);
    let (values, _) = step(&["read", cache.to_str().unwrap(), base, &files]);
    println!(
        "reading these files: one by one {:.0} ms, together {:.0} ms",
        number(&values, "each"),
        number(&values, "all")
    );
    last
}

fn single(cache: &Path, base: &str, size: Size) {
    let (values, _) = step(&["single", cache.to_str().unwrap(), base, &size.gold.to_string()]);
    let (median, longest) = (number(&values, "median"), number(&values, "longest"));
    println!("commit of one file, read and edit included: median {median:.1} ms, longest {longest:.1} ms");
    aim("a commit of one file takes less than 20 ms", median < 20.0);
}

fn push(server: &Server, url: &str, cache: &Path, clone: &Path, commit: &str) {
    server.bytes();
    let (values, _) = step(&["push", cache.to_str().unwrap(), commit, url]);
    let (_, bytes) = server.bytes();
    let begun = Instant::now();
    git(clone, &["push", "--quiet", url, "memory:refs/heads/by-git"]);
    let pushed = begun.elapsed().as_secs_f64() * 1_000.0;
    let (_, by_git) = server.bytes();
    println!(
        "push of that commit: {:.0} ms, {:.0} KB, peak memory {:.0} MB",
        number(&values, "push"),
        bytes as f64 / 1e3,
        megabytes(number(&values, "peak"))
    );
    println!("git push of the same: {pushed:.0} ms, {:.0} KB", by_git as f64 / 1e3);
}
