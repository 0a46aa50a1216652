//! What the planner is told of files that are not there.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use decide::ledger::Landed;
use decide::{Clusters, PluginLedger};

use super::super::place_owner::Whose;
use super::*;
use crate::edit::find::Wanted;
use crate::git::testing::{Server, store};
use crate::policy::wiring::{Scalar, Write};

fn write(file: &str) -> Write {
    Write { file: file.to_string(), format: None, scalar: None, template: Some("t.yaml".to_string()) }
}

/// The file of a cluster: what it holds, or nothing yet.
fn spot(cluster: &str, version: Option<&str>) -> Spot {
    let (write, cluster) = (write("{cluster}/loki.yaml"), Some(ClusterName::from(cluster)));
    let file = write.file_of(&"gold".into(), cluster.as_ref()).unwrap();
    let unread = PlaceVersion::unread("not installed yet".to_string());
    let said = match version {
        Some(version) => PlaceVersion { version: Read::Known(version.parse().unwrap()), ..unread },
        None => PlaceVersion { vacant: true, ..unread },
    };
    Spot::new(&write, file, cluster, said)
}

fn wave(version: &str, members: &[&str], landed: bool) -> Wave {
    let members: Clusters = members.iter().map(|name| ClusterName::from(*name)).collect();
    let at = "2026-11-23T09:00:00Z".parse().unwrap();
    let landed = landed.then_some(Landed { at, commit: None, by: None });
    let mut wave = Wave::begun(version.parse().unwrap(), members, at);
    *wave.rewrite().landed = landed;
    wave
}

/// What the planner is told of the files of `loki` on gold: version, or why it is not known.
fn told(spots: Vec<Spot>, waves: Vec<Wave>) -> Vec<(String, Result<String, String>)> {
    let spots = [(("loki".into(), "gold".into()), spots)].into();
    let page = PluginLedger { tiers: [("gold".into(), waves)].into(), ..PluginLedger::default() };
    let ledger = Ledger { plugins: [("loki".into(), page)].into(), ..Ledger::default() };
    let mut places = places(&spots, Some(&ledger));
    let of_tier = places.remove(&"loki".into()).unwrap().remove(&"gold".into()).unwrap();
    of_tier.into_iter().map(said).collect()
}

fn said(place: Place) -> (String, Result<String, String>) {
    let version = match place.version {
        Read::Known(version) => Ok(version.to_string()),
        Read::Unread(why) if place.vacant => Err(format!("vacant: {why}")),
        Read::Unread(why) => Err(why),
    };
    (place.file, version)
}

/// What is said of the file of a cluster, on a branch with these files beside a link `clusters/linked`.
fn looked(cluster: &str, template: Option<&str>) -> Option<Result<(), String>> {
    let server = Server::start();
    server.commit_with("main", |work| {
        let put = |path: &str, text: &[u8]| {
            let path = work.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("t/good.yaml", b"version: {version}\nof: {cluster}\n");
        put("t/none.yaml", b"of: {cluster}\n");
        put("t/latin.yaml", b"version: {version}\nof: \xe9\n");
        put("clusters/here/loki.yaml", b"version: 1.0.0\n");
        put("clusters/file", b"text");
        std::fs::create_dir_all(work.join("clusters/folder/loki.yaml")).unwrap();
        put("clusters/folder/loki.yaml/x", b"text");
        std::os::unix::fs::symlink("here", work.join("clusters/linked")).unwrap();
    });
    let (_folder, store) = store();
    let commit = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
    let scalar = Scalar { document: None, path: "$.version".to_string(), value: None };
    let template = template.map(|name| format!("t/{name}.yaml"));
    let write = Write { file: "clusters/{cluster}/loki.yaml".into(), format: None, scalar: Some(scalar), template };
    let (tier, cluster) = ("gold".into(), ClusterName::from(cluster));
    let file = write.file_of(&tier, Some(&cluster)).unwrap();
    let whose = Whose { members: [&cluster].into(), captured: true };
    let wanted = Wanted { chart: "loki", plugin: "loki", address: None };
    let asked = Asked { write: &write, tier: &tier, cluster: Some(&cluster), wanted, whose };
    let fleet = Fleet { clusters: &[], names: &BTreeSet::new(), tiers: &[] };
    let held = held(&store, &commit, &file, &asked, fleet).unwrap()?;
    let Read::Unread(why) = held.version else { panic!("nothing is there") };
    Some(if held.vacant { Ok(()) } else { Err(why) })
}

#[test]
fn what_is_missing_and_can_be_made_is_vacant() {
    assert_eq!(looked("new", Some("good")), Some(Ok(())));
    // These are said as they are without a template.
    for (cluster, template) in
        [("here", Some("good")), ("new", None), ("folder", Some("good")), ("linked", Some("good"))]
    {
        assert_eq!(looked(cluster, template), None, "{cluster}");
    }
    let cases = [
        ("new", "none", "cannot be made of `t/none.yaml`: `$.version` names nothing here"),
        ("new", "latin", "cannot be made of `t/latin.yaml`: the template is not UTF-8"),
        ("new", "gone", "cannot be made of `t/gone.yaml`: the template does not exist there; correct `template`"),
        ("7", "good", "cannot be made of `t/good.yaml`: line 2: `7` would be read as a number"),
        ("file", "good", "clusters/file is a file where it needs a folder"),
    ];
    for (cluster, template, why) in cases {
        let said = looked(cluster, Some(template)).unwrap().unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_has_never_been_there_is_vacant() {
    let vacant = |told: Vec<(String, Result<String, String>)>| -> Vec<bool> {
        told.iter().map(|(_, version)| version.as_ref().is_err_and(|why| why.starts_with("vacant: "))).collect()
    };
    assert_eq!(vacant(told(vec![spot("a", None), spot("b", None)], Vec::new())), [true, true]);
    // Taken back before it was merged: nothing has landed.
    assert_eq!(vacant(told(vec![spot("a", None)], vec![wave("1.0.0", &["a"], false)])), [true]);
    let joined = || vec![spot("a", Some("1.0.0")), spot("b", None)];
    assert_eq!(vacant(told(joined(), vec![wave("1.0.0", &["a"], true)])), [false, true]);
    // Who left and came back comes as a new one.
    let mut left = wave("1.0.0", &["a", "b"], true);
    left.left = vec!["b".into()];
    assert_eq!(vacant(told(joined(), vec![left])), [false, true]);
}

#[test]
fn what_has_landed_and_is_gone_is_not_known() {
    let waves = || vec![wave("1.0.0", &["a", "b"], true)];
    for (spots, at) in [
        (vec![spot("a", None), spot("b", None)], vec![0, 1]),
        (vec![spot("a", Some("1.0.0")), spot("b", None)], vec![1]),
    ] {
        let told = told(spots, waves());
        for at in at {
            let why = told[at].1.as_ref().unwrap_err();
            assert!(why.contains("1.0.0 has landed on it before"), "{why}");
        }
        assert_eq!(told.len(), 2);
    }
}

#[test]
fn half_of_a_cluster_is_not_installed() {
    let beside =
        |cluster: Option<ClusterName>| Spot { file: "shared.yaml".into(), cluster, ..spot("b", Some("1.0.0")) };
    for cluster in [Some("b".into()), None] {
        let told = told(vec![spot("b", None), beside(cluster)], vec![wave("1.0.0", &["a"], true)]);
        let why = told[0].1.as_ref().unwrap_err();
        assert!(why.contains("shared.yaml beside it is; write it by hand"), "{why}");
    }
    let other = vec![spot("a", Some("1.0.0")), spot("b", None), beside(Some("a".into()))];
    let told = told(other, vec![wave("1.0.0", &["a"], true)]);
    assert!(told[1].1.as_ref().unwrap_err().starts_with("vacant: "), "{told:?}");
}
