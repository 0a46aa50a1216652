//! Ordinary organisations: branches that must be up to date, reviews that a push voids, one way of merging only.

use std::collections::BTreeSet;

use demo::github::{Method, Protection, PullStanding, Role, Rule};

use crate::shed::{HOST, PASSWORD, Tunnel, locked_registry, login};
use crate::support::{REPOSITORY, Stage, is_approved, is_merged, is_open};

const OWNER: &str = "maria";
const PLUGIN: &str = "cert-manager";
const TIERS: [&str; 4] = ["qa", "bronze", "silver", "gold"];

/// The protection of the sandbox's base branch, with one thing more.
fn protect(stage: &Stage, change: impl FnOnce(&mut Protection)) {
    let mut rules = Protection {
        require_code_owner_reviews: true,
        enforce_admins: true,
        bypass_apps: vec![stage.world.settings().bypass_app_id],
        ..Protection::default()
    };
    change(&mut rules);
    stage.world.github().protect(REPOSITORY, "main", rules).unwrap();
}

/// A look of the owner: yes to whatever asks for one.
fn approve(stage: &Stage) {
    let asks = |pull: &demo::github::PullView| is_open(pull) && !is_approved(pull);
    for pull in stage.pulls().into_iter().filter(asks).filter(|pull| pull.head.starts_with("coldframe/")) {
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
    }
}

/// What the policy gives every pull request beside its text, once; what people take off stays off.
#[tokio::test(flavor = "multi_thread")]
async fn labels_assignees_and_reviewers_come_when_it_is_opened() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let beside = "pullRequests: {labels: [promotion, gitops bot], assignees: [maria, nobody-here], reviewers: [paula, \
                  acme/platform], prefix: \"chore(deps):\", note: \"Runbook: <https://wiki.example/{plugin}/{tier}>\"}\nplugins:\n";
    stage.edit_policy("plugins:\n", beside);
    github.set_permission(REPOSITORY, "paula", Role::Read).unwrap();
    github.set_permission(REPOSITORY, "acme/platform", Role::Write).unwrap();
    let _bot = stage.serve();
    let asked = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.requested.len() == 2);
    let pull = stage.until("bronze opens", asked).await;
    assert_eq!(pull.labels, ["gitops bot", "promotion"]);
    assert_eq!(pull.assignees, ["maria"], "who cannot be assigned is left out by the hub");
    assert_eq!(pull.requested, ["paula", "platform"]);
    assert_eq!(pull.title, format!("chore(deps): {PLUGIN} 1.15.0 → bronze (2 of 4)"));
    let note = format!("\n\nRunbook: <https://wiki.example/{PLUGIN}/bronze>\n\n### What changes\n");
    assert!(pull.body.contains(&note), "{}", pull.body);
    let head = github.log(REPOSITORY, &pull.head).unwrap().remove(0);
    assert!(head.message.starts_with(&format!("chore(deps): {PLUGIN} 1.15.0 → bronze\n")), "{}", head.message);
    github.set_label(REPOSITORY, pull.number, "vera", "promotion", false).unwrap();
    // Its text is written once more, and it is merged.
    github.comment(REPOSITORY, pull.number, "vera", "/coldframe hold a look first").unwrap();
    stage
        .until("it is on hold", |stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("a look first")))
        .await;
    github.comment(REPOSITORY, pull.number, "vera", "/coldframe resume").unwrap();
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let merged = stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert_eq!(merged.labels, ["gitops bot"]);
    let tip = github.log(REPOSITORY, "main").unwrap().remove(0);
    assert!(tip.message.starts_with("chore(deps): "), "{}", tip.message);
}

/// The policy arranges the text of pull requests: its own words stand where it puts them, what the bot says follows what
/// happens as ever, and what is ticked is heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_arranges_the_text_of_its_pull_requests() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let own = "pullRequests:\n  body: |\n    # {plugin} on {tier}\n    {help}\n    {summary}\n    - Ask `#platform`.\n    \
               {status}\nplugins:\n";
    stage.edit_policy("plugins:\n", own);
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let order = [
        &format!("# {PLUGIN} on bronze\n\n### If something is wrong\n\n- **Say no:**"),
        &format!("\n- [ ] <!-- coldframe:rebase {} -->", pull.head_sha),
        "\n\n| plugin | from | to |",
        "\n\n- Ask `#platform`.\n\n",
        "waits for an approval by",
    ];
    let at: Vec<Option<usize>> = order.iter().map(|piece| pull.body.find(piece)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?} in\n{}", pull.body);
    assert!(!pull.body.contains("### The climb") && !pull.body.contains("### What changes"), "{}", pull.body);
    github.set_permission(REPOSITORY, "vera", Role::Write).unwrap();
    github.comment(REPOSITORY, pull.number, "vera", "/coldframe hold a look first").unwrap();
    stage
        .until("its text says so", |stage| {
            stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("a look first"))
        })
        .await;
    github.comment(REPOSITORY, pull.number, "vera", "/coldframe resume").unwrap();
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

/// A reviewer whom the hub refuses stops nothing; the log says who.
#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_who_is_no_collaborator_stops_no_promotion() {
    let stage = Stage::set().await;
    stage.edit_policy("plugins:\n", "pullRequests: {reviewers: [acme/strangers], labels: [promotion]}\nplugins:\n");
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    stage
        .until("it is labelled", |stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.labels == ["promotion"]))
        .await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    let said = stage.whole_log();
    assert!(said.contains("was not followed") && said.contains("names=acme/strangers"), "{said}");
}

/// The hub signs for an App, and the bot has it do so where the base branch asks for signatures.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_of_signed_commits_gets_signed_ones() {
    for classic in [false, true] {
        let stage = Stage::set().await;
        let github = stage.world.github();
        if classic {
            protect(&stage, |rules| rules.signatures = true);
        } else {
            github.add_ruleset(REPOSITORY, "main", &[Rule::Signatures], &[]).unwrap();
        }
        let _bot = stage.serve();
        let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
        assert!(github.is_verified(REPOSITORY, &pull.head_sha).unwrap(), "classic: {classic}");
        assert_eq!(pull.files.len(), 3);
        // What is written anew is signed, too.
        let tip = github.push_file(REPOSITORY, "notes", "vera", "notes.md", "News.\n", "Notes").unwrap();
        github.force_branch(REPOSITORY, "main", "vera", Some(&tip)).unwrap();
        let said = format!("- [ ] <!-- coldframe:rebase {} -->", pull.head_sha);
        stage.until("its box", |stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(&said))).await;
        github.tick(REPOSITORY, pull.number, "vera", 0).unwrap();
        let moved = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != pull.head_sha);
        let anew = stage.until("it is written anew", moved).await;
        assert!(github.is_verified(REPOSITORY, &anew.head_sha).unwrap());
        stage
            .until("all plugins climb two tiers", |stage| {
                approve(stage);
                let plugins = [PLUGIN, "ingress-nginx", "kube-state-metrics"];
                let merged = |plugin: &&str| stage.pull(plugin, "silver").is_some_and(|pull| is_merged(&pull));
                plugins.iter().all(merged).then_some(())
            })
            .await;
    }
}

/// Nobody signs for a person's token: the reason stands in the log, and nothing is opened that could never be merged.
#[tokio::test(flavor = "multi_thread")]
async fn a_persons_token_opens_nothing_where_commits_have_to_be_signed() {
    let stage = Stage::set().await;
    stage.world.github().clear_rulesets(REPOSITORY).unwrap();
    stage.world.github().add_ruleset(REPOSITORY, "main", &[Rule::Signatures], &[]).unwrap();
    let _bot = stage.serve_with_token();
    let why = "is not opened: `main` takes signed commits only, and the hub signed none for robot (unsigned)";
    stage.until("it says why", |stage| stage.whole_log().contains(why).then_some(())).await;
    assert!(
        stage.pulls().is_empty()
            && stage
                .world
                .github()
                .branches(REPOSITORY)
                .unwrap()
                .keys()
                .all(|name| { !name.starts_with("coldframe/") })
    );
}

/// "Branches must be up to date": each merge puts all others behind. One after the other comes up, keeps its
/// approval, and merges; what the hub never merges keeps nobody else back.
#[tokio::test(flavor = "multi_thread")]
async fn every_merge_puts_the_others_behind_and_all_arrive() {
    let stage = Stage::set().await;
    let others = ["ingress-nginx", "kube-state-metrics"];
    protect(&stage, |rules| rules.strict = true);
    stage.world.github().faults(|faults| {
        let why = "A conversation must be resolved before this pull request can be merged.";
        faults.never_merges.insert(format!("coldframe/{PLUGIN}/bronze"), why.to_owned());
    });
    let _bot = stage.serve();
    let mut approved: BTreeSet<u64> = BTreeSet::new();
    for tier in TIERS {
        let look = |stage: &Stage| {
            // Each pull request is approved once: being brought up to date takes nothing away.
            for pull in stage.pulls().into_iter().filter(is_open).filter(|pull| pull.head.starts_with("coldframe/")) {
                if approved.insert(pull.number) {
                    stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
                }
            }
            others.iter().all(|plugin| stage.pull(plugin, tier).is_some_and(|pull| is_merged(&pull))).then_some(())
        };
        stage.until("all others have reached the tier", look).await;
    }
    assert!(!is_merged(&stage.pull(PLUGIN, "bronze").unwrap()));
    for plugin in others {
        for tier in TIERS {
            let pull = stage.pull(plugin, tier).unwrap();
            assert!(is_merged(&pull), "{plugin} on {tier}: {pull:?}");
        }
    }
}

/// An organisation as they are: branches have to be up to date, reviews are required, the charts are in a private
/// registry, and one pull request is never merged. Everything else climbs to gold.
#[tokio::test(flavor = "multi_thread")]
async fn four_plugins_climb_to_gold_past_a_fifth_that_is_never_merged() {
    let stage = Stage::calm().await;
    let others = ["ingress-nginx", "kube-state-metrics", "podinfo", "perses"];
    let (registry, certificate) = locked_registry(&stage).await;
    let proxy = Tunnel::dig(registry, Some("me:pw")).await;
    let (text, charts) = (stage.world.github().file(REPOSITORY, "main", "coldframe.yaml"), stage.world.charts().host());
    let text = text.unwrap().unwrap();
    let private = text.replace(&format!("oci+http://{charts}"), &format!("oci://{HOST}"));
    let private = private.replace(&format!("http://{charts}"), &format!("https://{HOST}"));
    stage.edit_policy(&text, &private);
    let at = |name: &str| stage.folder.path().join(name).display().to_string();
    std::fs::write(at("trusted.pem"), certificate).unwrap();
    std::fs::write(at("logins.json"), login(HOST, PASSWORD)).unwrap();
    protect(&stage, |rules| rules.strict = true);
    stage.world.github().faults(|faults| {
        let why = "A conversation must be resolved before this pull request can be merged.";
        faults.never_merges.insert(format!("coldframe/{PLUGIN}/qa"), why.to_owned());
    });
    let _bot = stage.serve_with(&[
        ("SSL_CERT_FILE", &at("trusted.pem")),
        ("https_proxy", &format!("http://me:pw@{}", proxy.address)),
        ("COLDFRAME_REGISTRIES", &at("logins.json")),
    ]);
    for (tier, plugin) in TIERS.into_iter().flat_map(|tier| others.map(|plugin| (tier, plugin))) {
        let look = |stage: &Stage| {
            approve(stage);
            stage.pull(plugin, tier).filter(is_merged)
        };
        stage.until(&format!("{plugin} has come to {tier}"), look).await;
    }
    assert!(is_open(&stage.pull(PLUGIN, "qa").unwrap()));
    assert!(stage.pull(PLUGIN, "bronze").is_none());
    let asked = proxy.asked();
    assert!(asked.len() > others.len() && asked.iter().all(|line| line.contains(HOST)), "{asked:?}");
}

/// Where rules void approvals with each push, the pull request says so before, and what was voided is asked for anew.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_brought_up_to_date_says_before_that_it_loses_its_approvals() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    protect(&stage, |rules| rules.dismiss_stale = true);
    let strict = Rule::Checks { name: "coldframe", app: Some(stage.world.settings().app_id), strict: true };
    github.add_ruleset(REPOSITORY, "main", &[strict, Rule::Stale], &[]).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let head = github.push_file(REPOSITORY, "more", "vera", "README.md", "Another commit\n", "Meanwhile").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    stage
        .until("its check says so", |stage| {
            let check = stage.pull(PLUGIN, "bronze")?.checks.into_iter().next_back()?;
            check.summary.filter(|summary| summary.contains("that voids its approvals"))
        })
        .await;
    stage
        .until("it merges in the end", |stage| {
            approve(stage);
            stage.pull(PLUGIN, "bronze").filter(is_merged).filter(|now| now.number == pull.number)
        })
        .await;
}

/// A repository that allows rebase merges only, and one that squashes.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_of_rebase_merges_is_merged_to() {
    merged_by(Method::Rebase).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_squashes_is_merged_to() {
    merged_by(Method::Squash).await;
}

async fn merged_by(method: Method) {
    let stage = Stage::set().await;
    stage.world.github().set_merge_methods(REPOSITORY, &[method]).unwrap();
    let _bot = stage.serve();
    for tier in ["bronze", "silver"] {
        let pull = stage.until("it opens", |stage| stage.pull(PLUGIN, tier).filter(is_open)).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
        stage.until("it merges", |stage| stage.pull(PLUGIN, tier).filter(is_merged)).await;
    }
    let log = stage.world.github().log(REPOSITORY, "main").unwrap();
    assert!(log.iter().all(|commit| commit.parents.len() < 2), "a merge commit: {log:?}");
}

/// A person who switches auto-merge on takes the merge out of the bot's hands: its page says so, and what GitHub merges
/// counts as that person's merge.
#[tokio::test(flavor = "multi_thread")]
async fn auto_merge_by_a_person_is_said_and_respected() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "maria", Role::Write).unwrap();
    stage.give("bronze", "windows: {zone: UTC, open: [{cron: 0 0 29 2 *, for: 1m}]}");
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.enable_auto_merge(REPOSITORY, pull.number, "maria").unwrap();
    let says = |words: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words))
    };
    let said = stage.until("its page says so", says("has switched auto-merge on")).await;
    assert!(is_open(&said) && said.body.contains("maria"), "{}", said.body);
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    let merged = stage.until("the hub merges it", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert!(matches!(&merged.standing, PullStanding::Merged { by, .. } if by == "maria"), "{:?}", merged.standing);
    stage.until("the climb goes on from there", |stage| stage.pull(PLUGIN, "silver").filter(is_open)).await;
}
