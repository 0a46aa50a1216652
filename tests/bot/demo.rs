//! The demo as people start it: what it says first, and that it is patient.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use demo::{Options, World};

/// Killed at the end.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hands_on_says_who_you_are_and_begins_as_the_code_owner() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    command.args(["demo", "--hands-on"]).env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut demo = Demo(command.spawn().unwrap());
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first: Vec<String> = tokio::task::block_in_place(|| lines.by_ref().take(5).collect());
    let said = first.join(" ");
    for words in [
        "There you are maria, the code owner",
        "there is a button for what this person may do and no other",
        "The dashboard only shows.",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let hub = first[1].split_whitespace().last().unwrap();
    let page = reqwest::get(hub).await.unwrap().text().await.unwrap();
    assert!(page.contains("<option value=\"maria\" selected"), "{page}");
}

/// Nobody moves anything here, so that the story takes longer than anybody would wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_story_that_takes_long_says_that_the_machine_is_slow_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let patience = jiff::SignedDuration::from_secs(1);
    let world = World::start(Options { patience, ..Options::new(folder.path().join("world")) }).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(10), world.run_story(false)).await;
    assert!(waited.is_err(), "it was given up: {waited:?}");
    let lines = world.chronicle().lines;
    let slow: Vec<&str> = lines.iter().map(|line| line.text.as_str()).filter(|text| text.contains("slow")).collect();
    assert_eq!(slow, ["this machine is slow: the story takes longer than 1 s; it goes on"]);
}
