//! Spots that hold more than the version alone.

use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";

fn catalog(tier: &str) -> String {
    format!("catalog/{tier}.yaml")
}

/// A catalog beside the manifests names the release by a tag of the plugin: both move with one commit, and a
/// tag of another form keeps its tier where it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_tag_of_the_plugin_moves_with_its_version() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    for tier in ["qa", "bronze", "silver", "gold"] {
        let tag = if tier == "bronze" { "cert-manager-v1.14.7" } else { "cert-manager/1.14.7" };
        let text = format!("# {tier} takes\nref: {{tag: '{tag}'}} # by the bot\n");
        github.push_file(REPOSITORY, "catalogs", "vera", &catalog(tier), &text, "A catalog").unwrap();
    }
    let number = github.open_pull(REPOSITORY, "vera", "catalogs", "main", "Catalogs", "").unwrap();
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    let first = "      - file: clusters/{tier}/{cluster}/cert-manager.yaml\n";
    let second = "      - {file: \"catalog/{tier}.yaml\", path: $.ref.tag, value: \"{plugin}/{version}\"}\n";
    stage.edit_policy(first, &format!("{second}{first}"));
    let bot = stage.serve();
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let held = github.file(REPOSITORY, "main", &catalog("qa")).unwrap().unwrap();
    assert_eq!(held, "# qa takes\nref: {tag: 'cert-manager/1.15.0'} # by the bot\n");
    drop(bot);
    let told = stage.command(&["explain", PLUGIN, "bronze"]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("`cert-manager-v1.14.7` is not of the form `cert-manager/{version}`"), "{told}");
}
