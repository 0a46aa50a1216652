//! A version that somebody chooses on the dashboard: a pull request of theirs on the policy file, within their rights and
//! the App's.

use demo::github::{Access, PullStanding};

use crate::browser::Browser;
use crate::sign_in::House;
use crate::support::{REPOSITORY, Stage, is_open};

const PLUGIN: &str = "cert-manager";
const WAVE: &str = "/acme/fleet/plugins/cert-manager/tiers/gold";
const POLICY: &str = "coldframe.yaml";

async fn choose(browser: &Browser, version: &str, origin: Option<&str>) -> (u16, String) {
    browser.sends(&format!("{WAVE}/version"), &[("version", version)], origin).await
}

fn by(stage: &Stage, login: &str) -> Vec<demo::github::PullView> {
    stage.pulls().into_iter().filter(|pull| pull.author == login).collect()
}

async fn until_shown(stage: &Stage, browser: &mut Browser) {
    stage.until("bronze is open", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    for _ in 0..600 {
        if browser.says(WAVE).await.1.contains("takes 1.15.0 and no other") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{}", stage.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_chosen_kept_and_let_go_by_pull_requests_of_the_person() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let house = House::open(&stage, &[]).await;
    let mut maria = house.browser();
    maria.signs_in("maria").await;
    until_shown(&stage, &mut maria).await;
    let (_, page) = maria.says(WAVE).await;
    let offers = ["<option value=\"1.14.7\">stays on 1.14.7", "<option value=\"any\">takes every accepted version"];
    assert!(offers.iter().all(|offer| page.contains(offer)), "{page}");

    let (before, origin) = (github.file(REPOSITORY, "main", POLICY).unwrap().unwrap(), Some(house.home.as_str()));
    let (status, said) = choose(&maria, "1.14.7", origin).await;
    assert!(status == 200 && said.contains("Let cert-manager take 1.14.7 alone on gold"), "{status} {said}");
    let pull = by(&stage, "maria").pop().expect("it is hers");
    assert!(said.contains(&format!("/acme/fleet/pull/{}\">pull request #{}", pull.number, pull.number)), "{said}");
    assert_eq!((pull.head.as_str(), pull.base.as_str()), ("maria/cert-manager-gold-1.14.7", "main"));
    assert_eq!(pull.files, [POLICY]);
    assert!(pull.body.contains("Gates and approvals stay as they are") && pull.body.contains(WAVE), "{}", pull.body);
    let after = github.file(REPOSITORY, &pull.head, POLICY).unwrap().unwrap();
    let added: Vec<&str> = after.lines().filter(|line| !before.contains(*line)).map(str::trim).collect();
    assert_eq!(added.join(" "), "constraint: \"=1.14.7\"", "{after}");
    let again = choose(&maria, "1.14.7", origin).await;
    assert!(again.0 == 200 && again.1.contains("You have already opened"), "{again:?}");
    assert_eq!(by(&stage, "maria").len(), 1);

    // Its check says what would follow, and the tier obeys once it is merged.
    let number = pull.number;
    let is_checked = move |stage: &Stage| {
        let pull = stage.world.github().pull(REPOSITORY, number).ok()?;
        pull.checks.iter().find(|check| check.name == "coldframe").and_then(|check| check.summary.clone())
    };
    let check = stage.until("its check is there", is_checked).await;
    assert!(check.contains("gold") && check.contains("1.14.7"), "{check}");
    github.approve(REPOSITORY, number, "vera").unwrap();
    github.merge_as(REPOSITORY, number, "maria").unwrap();
    let mut said = (0, String::new());
    for _ in 0..600 {
        said = choose(&maria, "any", origin).await;
        if said.0 == 200 {
            break;
        }
        // Until the bot has seen the merge.
        assert!(said.1.contains("Nothing was opened.") && said.1.contains("no constraint of its own on"), "{said:?}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(said.0, 200, "{said:?}");
    let twice = choose(&maria, "1.14.7", origin).await;
    assert!(twice.0 == 409 && twice.1.contains("says so already"), "{twice:?}");
    let back = by(&stage, "maria").into_iter().find(|pull| pull.standing == PullStanding::Open).unwrap();
    assert_eq!(github.file(REPOSITORY, &back.head, POLICY).unwrap().unwrap(), before, "there and back");
    let log = stage.whole_log();
    assert!(!log.contains("ghu_") && log.contains("a version was chosen"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a47_nobody_opens_what_they_could_not_open_themselves() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_user("eve");
    let house = House::open(&stage, &[]).await;
    let (mut maria, mut eve) = (house.browser(), house.browser());
    maria.signs_in("maria").await;
    eve.signs_in("eve").await;
    until_shown(&stage, &mut maria).await;
    let origin = Some(house.home.as_str());
    let branches = github.branches(REPOSITORY).unwrap();

    for other in [None, Some("null"), Some("http://evil.example"), Some(stage.world.settings().hub.as_str())] {
        assert_eq!(choose(&maria, "1.14.7", other).await.0, 403, "{other:?}");
    }
    let nobody = choose(&house.browser(), "1.14.7", origin).await;
    assert_eq!(nobody.0, 303, "{nobody:?}");
    for version in ["9.9.9", "1.14.6", "", "^1", "1.14.7\"}, evil: {", "../x"] {
        assert_eq!(choose(&maria, version, origin).await.0, 404, "{version}");
    }
    let refused = choose(&eve, "1.14.7", origin).await;
    assert!(refused.0 == 403 && refused.1.contains("you need write access there"), "{refused:?}");

    // She may, and the App may not: nothing is left half-done.
    let app = stage.world.settings().app_id;
    github.set_app_permission(app, "pull_requests", Some(Access::Read)).unwrap();
    let refused = choose(&maria, "1.14.7", origin).await;
    assert!(refused.0 == 403 && refused.1.contains("permissions to write contents and pull requests"), "{refused:?}");
    github.set_app_permission(app, "pull_requests", Some(Access::Write)).unwrap();
    let left: Vec<String> =
        github.branches(REPOSITORY).unwrap().into_keys().filter(|name| !branches.contains_key(name)).collect();
    assert!(left.iter().all(|name| name.starts_with("coldframe/")), "{left:?}");
    assert!(by(&stage, "maria").is_empty() && by(&stage, "eve").is_empty());

    // What she may not read, she learns nothing of.
    github.set_private(REPOSITORY, true).unwrap();
    let mut later = house.browser();
    later.signs_in("eve").await;
    let nothing = later.says("/acme/nothing").await;
    assert_eq!(choose(&later, "1.14.7", origin).await, nothing);
}
