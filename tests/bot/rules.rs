//! Branch rules that a merge past a review would pass, too; objections whoever made them; and checks and
//! comments that others write under our name.

use demo::github::{Access, Method, Role, Rule};

use crate::support::{BOT, REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";

fn merged(stage: &Stage) -> bool {
    stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull))
}

/// Two owners want it merged now; the second App passes whatever these rules ask. Its number, and that of the ruleset.
async fn forced(stage: &Stage, rules: &[Rule]) -> (u64, u64) {
    let github = stage.world.github();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let bypass = [stage.world.settings().bypass_app_id];
    let ruleset = github.add_ruleset(REPOSITORY, "main", rules, &bypass).unwrap();
    for who in ["maria", "vera"] {
        github.comment(REPOSITORY, pull.number, who, "/coldframe force an outage").unwrap();
    }
    (pull.number, ruleset)
}

async fn says(stage: &Stage, words: &str) {
    let told = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words));
    stage.until(&format!("its page says {words}"), told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f27_a_merge_queue_is_never_jumped() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let (number, _) = forced(&stage, &[Rule::MergeQueue]).await;
    says(&stage, "`merge_queue`").await;
    stage.never(5, "it jumped the queue", merged).await;
    // An ordinary one waits in it.
    drop(bot);
    stage.world.github().approve(REPOSITORY, number, "maria").unwrap();
    let _bot = stage.serve();
    let waits = |stage: &Stage| stage.world.github().queue(REPOSITORY).unwrap().contains(&number).then_some(());
    stage.until("it waits in the queue", waits).await;
    stage.never(3, "it jumped the queue", merged).await;
    stage.world.github().clear_rulesets(REPOSITORY).unwrap();
    stage.until("without the rule it merges", |stage| merged(stage).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn force_waives_approvals_and_no_other_rule() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let ci = github.add_app("ci", &[("checks", Access::Write), ("deployments", Access::Write)]).unwrap();
    github.install_app(ci.id, REPOSITORY).unwrap();
    let _bot = stage.serve();
    let rules = [Rule::Conversations, Rule::Deployments("staging")];
    let (number, _) = forced(&stage, &rules).await;
    github.converse(REPOSITORY, number).unwrap();
    says(&stage, "a conversation is not resolved").await;
    github.resolve(REPOSITORY, number, "maria").unwrap();
    says(&stage, "not deployed to staging").await;
    stage.never(3, "rules beside the review were passed", merged).await;
    let head = stage.pull(PLUGIN, "bronze").unwrap().head_sha;
    github.deploy(REPOSITORY, ci.id, &head, "staging", "success").unwrap();
    stage.until("it merges when they hold", |stage| merged(stage).then_some(())).await;
}

/// What everybody's merge has to meet is said before the hub refuses one.
#[tokio::test(flavor = "multi_thread")]
async fn what_branch_rules_lack_is_said_before_a_merge_is_tried() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let ci = github.add_app("ci", &[("deployments", Access::Write)]).unwrap();
    github.install_app(ci.id, REPOSITORY).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    drop(bot);
    github.add_ruleset(REPOSITORY, "main", &[Rule::Conversations, Rule::Deployments("staging")], &[]).unwrap();
    github.converse(REPOSITORY, pull.number).unwrap();
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    let _bot = stage.serve();
    says(&stage, "branch rules let nobody merge it yet: a conversation is not resolved").await;
    github.resolve(REPOSITORY, pull.number, "maria").unwrap();
    says(&stage, "branch rules let nobody merge it yet: the head is not deployed to staging").await;
    github.deploy(REPOSITORY, ci.id, &pull.head_sha, "staging", "success").unwrap();
    stage.until("it merges when they hold", |stage| merged(stage).then_some(())).await;
    assert!(!stage.whole_log().contains("Repository rule violations"), "a merge was tried in vain");
}

/// The hub says of a pull request that was approved before the last push what it says of one that nobody has looked at.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_another_push_is_asked_for_anew() {
    let stage = Stage::set().await;
    let (github, app) = (stage.world.github(), stage.world.settings().app_id);
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    drop(bot);
    let strict = Rule::Checks { name: "coldframe", app: Some(app), strict: true };
    github.add_ruleset(REPOSITORY, "main", &[strict, Rule::LastPush], &[]).unwrap();
    let head = github.push_file(REPOSITORY, "more", "vera", "README.md", "Another commit\n", "Meanwhile").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    let _bot = stage.serve();
    says(&stage, "by these rules that voids its approvals").await;
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    let anew = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != pull.head_sha);
    stage.until("it is brought up to date", anew).await;
    says(&stage, "waits for an approval").await;
    stage.never(3, "the approval of another push counted", merged).await;
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    stage.until("it merges with an approval of the last push", |stage| merged(stage).then_some(())).await;
}

/// Everything else than a review that a ruleset may ask for, unmet or not to be asked, and what no Coldframe knows.
const RULES: [(Rule, &str); 17] = [
    (Rule::Conversations, "a conversation is not resolved"),
    (Rule::Checks { name: "e2e", app: None, strict: false }, "required checks are missing or running: e2e"),
    (Rule::LinearHistory, "`required_linear_history`"),
    (Rule::Signatures, "`required_signatures`"),
    (Rule::Deployments("staging"), "not deployed to staging"),
    (Rule::MergeQueue, "`merge_queue`"),
    (Rule::Workflows, "`workflows`"),
    (Rule::CodeScanning, "`code_scanning`"),
    (Rule::Update, "`update`"),
    (Rule::Newer("commit_message_pattern"), "`commit_message_pattern`"),
    (Rule::Newer("commit_author_email_pattern"), "`commit_author_email_pattern`"),
    (Rule::Newer("committer_email_pattern"), "`committer_email_pattern`"),
    (Rule::Newer("file_path_restriction"), "`file_path_restriction`"),
    (Rule::Newer("max_file_path_length"), "`max_file_path_length`"),
    (Rule::Newer("file_extension_restriction"), "`file_extension_restriction`"),
    (Rule::Newer("max_file_size"), "`max_file_size`"),
    (Rule::Newer("made_up_tomorrow"), "`made_up_tomorrow`"),
];

#[tokio::test(flavor = "multi_thread")]
async fn f34_each_rule_forbids_the_merge_that_would_pass_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let bypass = [stage.world.settings().bypass_app_id];
    // One that the repository alone allows, and a linear history does not.
    github.set_merge_methods(REPOSITORY, &[Method::Merge]).unwrap();
    let bot = stage.serve();
    let (number, mut last) = forced(&stage, &[Rule::MergeQueue]).await;
    drop(bot);
    github.converse(REPOSITORY, number).unwrap();
    // Never without any.
    let mut replace = |rules: &[Rule]| {
        let next = github.add_ruleset(REPOSITORY, "main", rules, &bypass).unwrap();
        github.remove_ruleset(REPOSITORY, std::mem::replace(&mut last, next)).unwrap();
    };
    for (rule, words) in RULES {
        replace(&[rule]);
        // A new process has asked nobody yet.
        let _bot = stage.serve();
        says(&stage, words).await;
        assert!(!merged(&stage), "{rule:?} was passed");
    }
    replace(&[Rule::Creation, Rule::Deletion, Rule::NonFastForward, Rule::Stale]);
    let _bot = stage.serve();
    stage.until("what no merge can break forbids none", |stage| merged(stage).then_some(())).await;
}

/// The ordinary App may pass the rules of the base branch, so that the hub would hold none of them for it.
#[tokio::test(flavor = "multi_thread")]
async fn f34_an_ordinary_identity_that_may_pass_the_rules_merges_nothing() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let app = stage.world.settings().app_id;
    github.add_ruleset(REPOSITORY, "main", &[Rule::Conversations], &[app]).unwrap();
    let _bot = stage.serve();
    let qa = stage.until("qa opens", |stage| stage.pull(PLUGIN, "qa")).await;
    let words = "may pass the ruleset `rules for main` of `main`";
    let told = |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.body.contains(words));
    stage.until("its page says so", told).await;
    stage.never(4, "it merged", |stage| stage.pull(PLUGIN, "qa").is_some_and(|pull| is_merged(&pull))).await;
    assert!(is_open(&qa));
    github.clear_rulesets(REPOSITORY).unwrap();
    stage.until("bound again it merges", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
}

/// The rule means another App's check, which has our check's name: anybody's word of that name is not it.
#[tokio::test(flavor = "multi_thread")]
async fn a06_a_check_of_our_name_that_another_app_has_to_give_is_asked() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let ci = github.add_app("ci", &[("checks", Access::Write)]).unwrap();
    github.install_app(ci.id, REPOSITORY).unwrap();
    let _bot = stage.serve();
    forced(&stage, &[Rule::Checks { name: "coldframe", app: Some(ci.id), strict: false }]).await;
    says(&stage, "required checks are missing or running: coldframe").await;
    stage.never(3, "its own check stood for another's", merged).await;
    let head = stage.pull(PLUGIN, "bronze").unwrap().head_sha;
    github.check(REPOSITORY, ci.id, &head, "coldframe", Some("success")).unwrap();
    stage.until("with that App's check it merges", |stage| merged(stage).then_some(())).await;
}

/// An App without the right to write, and somebody whose account is gone: the hub counts neither.
#[tokio::test(flavor = "multi_thread")]
async fn an_objection_stands_whoever_made_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let helper = github.add_app("helper", &[("pull_requests", Access::Write)]).unwrap();
    github.install_app(helper.id, REPOSITORY).unwrap();
    github.set_permission(REPOSITORY, "dan", Role::Write).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.request_changes(REPOSITORY, pull.number, "dan", "Not now").unwrap();
    github.request_changes(REPOSITORY, pull.number, "helper[bot]", "Policy violated").unwrap();
    github.lose_reviewed(REPOSITORY, pull.number).unwrap();
    github.remove_user("dan");
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    says(&stage, "helper").await;
    stage.never(5, "objections were overlooked", merged).await;
    github.dismiss_reviews(REPOSITORY, pull.number, "helper[bot]", "vera").unwrap();
    says(&stage, "a deleted account requested changes").await;
    stage.never(3, "the objection of somebody who is gone was overlooked", merged).await;
    github.dismiss_reviews(REPOSITORY, pull.number, "dan", "vera").unwrap();
    stage.until("nobody objects", |stage| merged(stage).then_some(())).await;
}

/// Whoever may write may edit our comments, also the hidden line that says which notice one is.
#[tokio::test(flavor = "multi_thread")]
async fn a21_a_notice_that_somebody_else_wrote_into_our_comment_was_not_given() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "wim", Role::Write).unwrap();
    stage.give("bronze", "force: {after: 150s, notice: [145s, 60s]}");
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let ours = |stage: &Stage| {
        let comments = stage.pull(PLUGIN, "bronze").unwrap().comments;
        comments.into_iter().filter(|comment| comment.author == BOT).collect::<Vec<_>>()
    };
    let first = stage.until("the first notice", |stage| ours(stage).into_iter().next()).await;
    assert!(first.body.contains("<!-- coldframe:notice 145 -->"), "{}", first.body);
    let forged = first.body.replace("notice 145", "notice 60");
    // In the second in which we wrote it, so that its times do not tell.
    github.edit_comment(REPOSITORY, first.id, "wim", &forged).unwrap();
    github.as_if_edited_at_once(REPOSITORY, first.id).unwrap();
    let second = |stage: &Stage| {
        ours(stage).into_iter().find(|comment| comment.id != first.id && comment.body.contains("notice 60"))
    };
    stage.until("the second notice, by us", second).await;
}
