//! The bot's side, each step in a process of its own, so that its memory is its own.

use std::path::Path;
use std::time::Instant;

use coldframe::act::edited;
use coldframe::edit;
use coldframe::edit::find::Wanted;
use coldframe::git::{Access, Author, Draft, FileChange, Pushed, Store};
use coldframe::observe::Spot;
use coldframe::policy::wiring::Write;
use decide::Sha;
use decide::snapshot::Read;
use jiff::Timestamp;

use crate::world::{self, BEFORE, PLUGIN};

/// Commits of one file that are timed.
const SINGLE: usize = 41;

/// Does one step and prints what it took, `name=value` each.
pub fn run(arguments: &[&str]) {
    let took = match arguments {
        ["fetch", folder, url] => fetch(folder, url),
        ["commit", folder, base, files, version] => commit(folder, &Sha::new(*base), files.parse().unwrap(), version),
        ["single", folder, base, files] => single(folder, &Sha::new(*base), files.parse().unwrap()),
        ["read", folder, base, files] => read(folder, &Sha::new(*base), files.parse().unwrap()),
        ["push", folder, commit, url] => push(folder, &Sha::new(*commit), url),
        other => panic!("no such step: {other:?}"),
    };
    println!("{took} peak={}", world::memory(std::process::id()));
}

fn ms(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}

fn access(url: &str) -> Access {
    Access { url: url.to_string(), user: None, token: None }
}

fn fetch(folder: &str, url: &str) -> String {
    let begun = Instant::now();
    let store = Store::open(Path::new(folder)).unwrap();
    let tip = store.fetch(&access(url), "main", Some(1)).unwrap().unwrap();
    format!("fetch={} tip={tip}", ms(begun))
}

/// What a look finds out of each file, one after the other.
fn look(store: &Store, base: &Sha, files: usize) -> Vec<Spot> {
    let write = Write {
        file: "clusters/gold/{cluster}/".to_string() + PLUGIN + ".yaml",
        format: None,
        scalar: None,
        template: None,
    };
    let paths: Vec<String> = (0..files).map(world::path).collect();
    let found = store.files(base, paths.iter().map(String::as_str)).unwrap();
    let spot = |(number, (path, found)): (usize, (&String, _))| {
        let found: Result<Option<_>, _> = found;
        let text = String::from_utf8(store.content(found.unwrap().unwrap(), path).unwrap()).unwrap();
        let wanted = Wanted { chart: PLUGIN, address: None, plugin: PLUGIN };
        let scalar = edit::place(&write, path, &text, wanted).unwrap();
        let held = edit::read(write.format(), &text, scalar.document.as_ref(), &scalar.path).unwrap();
        assert_eq!(held.value, BEFORE);
        Spot {
            file: path.clone(),
            write: write.clone(),
            scalar: Some(scalar),
            at: Some(held.range.start),
            kind: None,
            cluster: Some(world::cluster(number).as_str().into()),
            version: Read::Known(BEFORE.parse().unwrap()),
            range: None,
            vacant: false,
        }
    };
    paths.iter().zip(found).enumerate().map(spot).collect()
}

fn draft(base: &Sha, files: Vec<FileChange>) -> Draft {
    Draft {
        parents: vec![base.clone()],
        tree_of: Some(base.clone()),
        files,
        message: format!("{PLUGIN} → gold\n"),
        author: Author { name: "coldframe[bot]".to_string(), email: "bot@example.org".to_string() },
        at: Timestamp::from_second(1_760_000_100).unwrap(),
    }
}

fn commit(folder: &str, base: &Sha, files: usize, version: &str) -> String {
    let begun = Instant::now();
    let store = Store::open(Path::new(folder)).unwrap();
    let spots = look(&store, base, files);
    let look = ms(begun);
    drop(store);
    let begun = Instant::now();
    let store = Store::open(Path::new(folder)).unwrap();
    let opened = ms(begun);
    let changes = edited(&store, base, &spots, version).unwrap().unwrap();
    assert_eq!(changes.len(), files);
    let edited = ms(begun);
    let draft = draft(base, changes);
    let before = ms(begun);
    let commit = store.commit(&draft).unwrap();
    let done = ms(begun);
    format!(
        "look={look} open={opened} edit={} commit={} whole={done} id={commit}",
        edited - opened,
        opened + done - before
    )
}

fn single(folder: &str, base: &Sha, files: usize) -> String {
    let store = Store::open(Path::new(folder)).unwrap();
    let spots = look(&store, base, SINGLE.min(files));
    let mut times: Vec<f64> = Vec::new();
    for (number, spot) in spots.iter().enumerate() {
        let begun = Instant::now();
        let changes = edited(&store, base, std::slice::from_ref(spot), &format!("1.17.{number}")).unwrap().unwrap();
        store.commit(&draft(base, changes)).unwrap();
        times.push(ms(begun));
    }
    times.sort_by(f64::total_cmp);
    format!("median={} longest={}", times[times.len() / 2], times[times.len() - 1])
}

fn read(folder: &str, base: &Sha, files: usize) -> String {
    let paths: Vec<String> = (0..files).map(world::path).collect();
    let each = |store: &Store| paths.iter().map(|path| store.read(base, path).unwrap().unwrap().len()).sum::<usize>();
    let all = |store: &Store| {
        let found = store.files(base, paths.iter().map(String::as_str)).unwrap();
        let content = |(path, found): (&String, Result<Option<_>, _>)| {
            store.content(found.unwrap().unwrap(), path).unwrap().len()
        };
        paths.iter().zip(found).map(content).sum::<usize>()
    };
    let timed = |work: &dyn Fn(&Store) -> usize| {
        let store = Store::open(Path::new(folder)).unwrap();
        let begun = Instant::now();
        (work(&store), ms(begun))
    };
    timed(&all); // the disk's cache is warm for both
    let ((one, each), (other, all)) = (timed(&each), timed(&all));
    assert_eq!(one, other);
    format!("each={each} all={all}")
}

fn push(folder: &str, commit: &Sha, url: &str) -> String {
    let store = Store::open(Path::new(folder)).unwrap();
    let begun = Instant::now();
    let branch = format!("coldframe/{PLUGIN}/gold");
    assert_eq!(store.push(&access(url), &branch, commit, None).unwrap(), Pushed::Done);
    format!("push={}", ms(begun))
}
