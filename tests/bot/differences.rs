//! What is different in a release, read from its package: what breaks waits for a person, what is missing stops its
//! tier alone, and all of it stands on the pull request.

use std::collections::BTreeMap;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const PLUGIN: &str = "ingress-nginx";
const PLUGINS: [&str; 2] = ["cert-manager", "kube-state-metrics"];
const NEWER: &str = "4.11.9";
const SCHEMA: &str = r#"{"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}}}"#;

/// A release that requires a value, and has no default for it.
async fn set() -> Stage {
    let stage = Stage::set().await;
    let files = [("values.schema.json", SCHEMA), ("templates/extra.yaml", "host: {{ .Values.host }}\n")];
    stage.world.charts().publish_with(PLUGIN, NEWER, "Asks for a host", &files).unwrap();
    stage
}

fn file(tier: &str, cluster: &str) -> String {
    format!("clusters/{tier}/{cluster}/{PLUGIN}.yaml")
}

/// Sets the value on some clusters.
fn give(stage: &Stage, clusters: &[(&str, &str)]) {
    for (tier, cluster) in clusters {
        stage.edit_file(&file(tier, cluster), "  values:\n", "  values:\n    host: example.org\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_release_requires_and_nobody_sets_waits_for_a_person() {
    let stage = set().await;
    let _bot = stage.serve();
    let asked = |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.body.contains("is required now"));
    let pull = stage.until("qa opens, and says what is required", asked).await;
    for words in [
        &format!("### What is in {NEWER}") as &str,
        &format!("**{NEWER}** beside 4.11.3"),
        "⚠️ `host` is required now and has no default.",
        "the file templates/extra.yaml is new",
        "`host` is required and has no default",
        &format!("/coldframe acknowledge {NEWER}"),
    ] {
        assert!(pull.body.contains(words), "{words}\n{}", pull.body);
    }
    stage
        .never(8, "it was merged though nobody read it", |stage| {
            stage.pull(PLUGIN, "qa").is_some_and(|now| is_merged(&now))
        })
        .await;
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, &format!("/coldframe acknowledge {NEWER}")).unwrap();
    stage.until("it merges once somebody has", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_value_that_is_missing_stops_its_tier_alone() {
    let stage = set().await;
    let all = demo::story::fleet::TIERS;
    let but_silver = all.iter().filter(|(tier, _)| *tier != "silver");
    let given: Vec<(&str, &str)> =
        but_silver.flat_map(|(tier, all)| all.iter().map(move |one| (*tier, *one))).collect();
    give(&stage, &given);
    let _bot = stage.serve();
    let approved = |stage: &Stage, tier: &str| {
        let pull = stage.pull(PLUGIN, tier)?;
        if is_open(&pull) {
            stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
        }
        Some(pull)
    };
    let lower = |stage: &Stage| approved(stage, "bronze").filter(is_merged);
    stage.until("bronze, which sets it, is merged", lower).await;
    let stopped = |stage: &Stage| approved(stage, "silver").filter(|pull| pull.body.contains("`host` for silver-"));
    let pull = stage.until("silver opens, and says who lacks it", stopped).await;
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, &format!("/coldframe acknowledge {NEWER}")).unwrap();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "silver").is_some_and(|now| is_merged(&now));
    stage.never(8, "a required value was missing, and it was merged", merged).await;
    let now = stage.pull(PLUGIN, "silver").unwrap().body;
    let task = now.lines().find(|line| line.starts_with("- [ ] <!-- coldframe:task ")).unwrap();
    assert!(task.contains("Set `host` in `clusters/silver/") && now.contains("### To do for"), "{now}");
    // A tick of a person stays.
    let ticked = now.replace(task, &task.replace("- [ ] ", "- [x] "));
    stage.world.github().edit_pull(REPOSITORY, pull.number, OWNER, &pull.title, &ticked).unwrap();
    let gone = |stage: &Stage| !stage.pull(PLUGIN, "silver").unwrap().body.contains(&task[6..]);
    stage.never(6, "the task was lost", gone).await;
    assert!(stage.pull(PLUGIN, "silver").unwrap().body.contains("- [x] <!-- coldframe:task "), "it was ticked");
    let patched = applied(&stage, &now);
    assert_eq!(patched.len(), all.iter().find(|(tier, _)| *tier == "silver").unwrap().1.len());
    for (path, text) in &patched {
        assert!(text.contains("\n    host: example.org\n"), "{path}: {text}");
    }
    let silver: Vec<(&str, &str)> = all
        .iter()
        .filter(|(tier, _)| *tier == "silver")
        .flat_map(|(tier, all)| all.iter().map(move |one| (*tier, *one)))
        .collect();
    give(&stage, &silver);
    stage.until("it merges once the value is there", |stage| approved(stage, "silver").filter(is_merged)).await;
}

/// What the files are once real git has applied the first patch of a text to the base branch.
fn applied(stage: &Stage, body: &str) -> BTreeMap<String, String> {
    let lines = body.lines().skip_while(|line| *line != "  ```diff").skip(1).take_while(|line| *line != "  ```");
    let patch: String = lines.map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect();
    let files: Vec<&str> = patch.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    let folder = tempfile::tempdir().unwrap();
    for file in &files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, stage.world.github().file(REPOSITORY, "main", file).unwrap().unwrap()).unwrap();
    }
    std::fs::write(folder.path().join("task.patch"), &patch).unwrap();
    let mut git = std::process::Command::new("git");
    let done = git.args(["apply", "task.patch"]).current_dir(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}\n{patch}", String::from_utf8_lossy(&done.stderr));
    let read = |file: &&str| ((*file).to_owned(), std::fs::read_to_string(folder.path().join(file)).unwrap());
    files.iter().map(read).collect()
}

/// A definition of the catalog, with these options.
fn definition(stage: &Stage, name: &str, version: &str, chart: &str, options: &str) -> String {
    format!(
        "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata:\n  name: {name}\nspec:\n  version: \
         {version}\n  helmChart: {{name: {PLUGIN}, repository: \"{}\", version: {chart}}}\n  options:\n    - name: old\n      \
         type: string\n{options}",
        stage.world.charts().repository()
    )
}

/// What a pull request of a catalog changes is held against its base, at the lines of the definitions.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogs_own_pull_request_says_what_breaks_without_a_major_version() {
    let stage = set().await;
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        let done =
            std::process::Command::new("git").args(who).args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let put = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("plugindefinition.yaml"), text).unwrap();
    };
    let run = |more: &[&str]| {
        let mut command = stage.command(&[&["compare", "--catalog", "HEAD", "."], more].concat());
        let done = command.current_dir(folder.path()).env("GITHUB_ACTIONS", "true").output().unwrap();
        (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    put("perses", &definition(&stage, "perses", "1.4.0", "4.11.3", ""));
    put("gone", &definition(&stage, "gone", "1.0.0", "4.11.3", ""));
    put("same", &definition(&stage, "same", "1.0.0", "4.11.3", ""));
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let strict = ["--fail-on", "breaking-minor"];
    assert_eq!(run(&strict), (Some(0), "No definition is different.\n".to_owned()));

    let required = "    - name: token\n      required: true\n      type: string\n";
    put("perses", &definition(&stage, "perses", "1.5.0", NEWER, required));
    std::fs::remove_dir_all(folder.path().join("gone")).unwrap();
    put("broken", "kind: PluginDefinition\nspec: [\n");
    // What is no definition may have any size and form.
    put("large", &"# a comment\n".repeat(200_000));
    put("template", "{{ range .x }}: [\n");
    let (code, said) = run(&strict);
    assert_eq!(code, Some(3), "{said}");
    for words in [
        "✗ `token` is required now and has no default",
        "✗ `host` is required now and has no default",
        "it is gone",
        "::error file=perses/plugindefinition.yaml,line=11,title=Coldframe::`token` is required now and has no default\n",
        "::error file=perses/plugindefinition.yaml,line=6,title=Coldframe::`host` is required now and has no default\n",
        "::error file=gone/plugindefinition.yaml,title=Coldframe::the definition is gone",
        "::error file=broken/plugindefinition.yaml,line=1,title=Coldframe::plugindefinition.yaml: ",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    assert!(!said.contains("same/"), "{said}");
    let (code, said) = run(&["--json"]);
    let outcomes: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, outcomes.as_array().unwrap().len()), (Some(0), 3), "{said}");

    // A major version may break; a chart that is not there is said.
    git(&["add", "--all"]);
    git(&["reset", "--quiet", "--hard"]);
    put("perses", &definition(&stage, "perses", "2.0.0", NEWER, required));
    assert_eq!(run(&strict).0, Some(0));
    put("perses", &definition(&stage, "perses", "2.0.0", "9.9.9", ""));
    let (code, said) = run(&strict);
    assert!(code == Some(3) && said.contains("its chart ingress-nginx 9.9.9: it is not there"), "{said}");
    // The way that its kind is written hides no removal, and neither does another kind in its place.
    let quoted = definition(&stage, "perses", "1.4.0", "4.11.3", "")
        .replace("kind: PluginDefinition", "\"kind\": 'PluginDefinition' #");
    put("perses", &quoted);
    git(&["commit", "--quiet", "--all", "--message", "quoted"]);
    put("perses", "kind: Plugin\n");
    let (code, said) = run(&strict);
    assert!(code == Some(3) && said.contains("perses/plugindefinition.yaml\n  · it is gone"), "{said}");
    put("perses", &definition(&stage, "perses", "1.4.0", NEWER, ""));
    let (code, said) = run(&[]);
    assert_eq!(code, Some(0));
    assert!(
        said.contains(
            "::warning file=perses/plugindefinition.yaml,line=6,title=Coldframe::1.4.0 is different and keeps"
        ),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_releases_are_compared_by_hand() {
    let stage = set().await;
    let charts = stage.world.charts();
    for place in [format!("{}/{PLUGIN}", charts.repository()), format!("oci+http://{}", charts.reference(PLUGIN))] {
        let run = |old: &str, new: &str, more: &[&str]| {
            let (old, new) = (format!("{place}:{old}"), format!("{place}:{new}"));
            let mut command = stage.command(&[&["compare", &old, &new], more].concat());
            let done = command.output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (done.status.code(), text(&done.stdout), text(&done.stderr))
        };
        let (code, said, _) = run("4.11.2", NEWER, &["--fail-on", "breaking-minor"]);
        assert_eq!(code, Some(3), "{place}: {said}");
        assert!(
            said.starts_with(&format!(
                "{PLUGIN} 4.11.2 (4.11.2) → {NEWER} ({NEWER})\n\n1 breaking difference\n  ✗ `host`"
            )),
            "{said}"
        );
        let (code, said, _) = run("4.11.2", "4.11.3", &["--fail-on", "breaking", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, &report["changes"][0]["what"]), (Some(0), &"image".into()), "{said}");
        let (code, _, why) = run("4.11.2", "9.9.9", &[]);
        assert_eq!((code, why.contains("has no 9.9.9")), (Some(1), true), "{why}");
    }
}

/// Of every release that is passed over, whoever says something of it: the hub's page of a release, the change log in the
/// package. What not everybody may read is shown to nobody, and nothing in it reaches anybody.
#[tokio::test(flavor = "multi_thread")]
async fn a20_what_authors_say_of_every_release_on_the_way_stands_on_the_pull_request() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    for (name, tag, private) in
        [("charts", "cert-manager-1.15.1", false), ("secret", "kube-state-metrics-5.25.9", true)]
    {
        let repository = stage.add_repository(name);
        github.set_private(&repository, private).unwrap();
        let said = "Thanks @maria, closes #1 and <b>more</b>\n```\n";
        github.release(&repository, tag, "vera", said).unwrap();
    }
    github.draft_release("acme/charts", "cert-manager-1.15.3", "vera", "not out yet").unwrap();
    let log = "# Changes\n\n## 1.15.3\n- the newest\n\n## 1.15.2\n- the one between\n\n## 1.15.0\n- the first\n";
    let home = format!("{}/acme/charts", given.hub);
    let charts = stage.world.charts();
    for (version, files) in [("1.15.1", &[][..]), ("1.15.3", &[("CHANGELOG.md", log)][..])] {
        charts.publish_from(PLUGINS[0], version, (&home, &"1".repeat(40)), files).unwrap();
    }
    // The other one comes from where the App may read and not everybody.
    let hidden = format!("{}/acme/secret", given.hub);
    charts.publish_from(PLUGINS[1], "5.25.9", (&hidden, &"1".repeat(40)), &[]).unwrap();
    let _bot = stage.serve();
    let said = |stage: &Stage| stage.pull(PLUGINS[0], "qa").filter(|pull| pull.body.contains("Thanks"));
    let pull = stage.until("what is said of 1.15.1", said).await;
    assert!(pull.title.contains("1.15.3"), "{}", pull.title);
    let page = format!("[1.15.1]({home}/releases/tag/cert-manager-1.15.1)");
    let order =
        ["**1.15.3**", "- the newest", "- the one between", &page, "Thanks @ maria, closes # 1 and <b>more</b>"];
    let at: Vec<Option<usize>> = order.iter().map(|words| pull.body.find(words)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}\n{}", pull.body);
    assert!(!pull.body.contains("- the first") && !pull.body.contains("not out yet"), "{}", pull.body);
    let other = stage
        .until("the other one opens", |stage| stage.pull(PLUGINS[1], "qa").filter(|pull| pull.title.contains("5.25.9")))
        .await;
    stage
        .never(4, "it shows what is hidden", |stage| {
            stage.pull(PLUGINS[1], "qa").is_some_and(|pull| pull.number == other.number && pull.body.contains("Thanks"))
        })
        .await;
}

/// Vera does the task of silver on the bot's own branch: nothing of hers is written over, two have to say yes to it, and a
/// person merges it. From there on it climbs as ever.
#[tokio::test(flavor = "multi_thread")]
async fn f18_what_people_add_to_a_pull_request_is_gated_and_theirs_to_merge() {
    let stage = set().await;
    let all = demo::story::fleet::TIERS;
    let given = all.iter().filter(|(tier, _)| *tier != "silver");
    let given: Vec<(&str, &str)> = given.flat_map(|(tier, all)| all.iter().map(move |one| (*tier, *one))).collect();
    give(&stage, &given);
    let _bot = stage.serve();
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "paula", demo::github::Role::Write).unwrap();
    let yes = |stage: &Stage, tier: &str, by: &str| {
        let pull = stage.pull(PLUGIN, tier)?;
        if is_open(&pull) {
            stage.world.github().approve(REPOSITORY, pull.number, by).ok();
        }
        Some(pull)
    };
    stage.until("bronze is merged", |stage| yes(stage, "bronze", OWNER).filter(is_merged)).await;
    let stopped = |stage: &Stage| stage.pull(PLUGIN, "silver").filter(|pull| pull.body.contains("`host` for silver-"));
    let pull = stage.until("silver opens, and says who lacks it", stopped).await;
    github.comment(REPOSITORY, pull.number, OWNER, &format!("/coldframe acknowledge {NEWER}")).unwrap();
    let branch = format!("coldframe/{PLUGIN}/silver");
    let clusters = all.iter().find(|(tier, _)| *tier == "silver").unwrap().1;
    for cluster in clusters {
        let path = file("silver", cluster);
        let text = github.file(REPOSITORY, &branch, &path).unwrap().unwrap();
        let text = text.replacen("  values:\n", "  values:\n    host: example.org\n", 1);
        github.push_file(REPOSITORY, &branch, "vera", &path, &text, "Set the host").unwrap();
    }
    let pushed = github.head(REPOSITORY, &branch).unwrap().unwrap();
    let says = |words: &'static str| {
        move |stage: &Stage| {
            let pull = stage.pull(PLUGIN, "silver").filter(|pull| pull.body.contains(words))?;
            let ours = |check: &demo::github::CheckView| check.name == "coldframe" && check.head_sha == pull.head_sha;
            pull.checks.iter().rfind(|check| ours(check)).cloned()
        }
    };
    let check = stage.until("it says whose it is", says("was added by hand and leaves every version as it is")).await;
    assert_ne!(check.conclusion.as_deref(), Some("success"));
    let body = stage.pull(PLUGIN, "silver").unwrap().body;
    assert!(
        body.contains("The bot changed one value in each of") && body.contains("somebody has pushed more since"),
        "{body}"
    );
    stage
        .until("the value is there, and one of two has to say more", |stage| {
            yes(stage, "silver", OWNER).filter(|pull| !pull.body.contains("`host` for silver-"))
        })
        .await;
    let is_success = |stage: &Stage| {
        says("was added by hand")(stage).is_some_and(|check| check.conclusion.as_deref() == Some("success"))
    };
    stage.never(6, "vera and one more are not two beside her", is_success).await;
    github.approve(REPOSITORY, pull.number, "paula").unwrap();
    stage
        .until("the check lets people merge", |stage| {
            says("was added by hand")(stage)
                .filter(|check| check.title.as_deref() == Some("May merge: a person presses the button"))
        })
        .await;
    stage
        .never(6, "the bot merged what it did not write", |stage| {
            stage.pull(PLUGIN, "silver").is_some_and(|now| is_merged(&now))
        })
        .await;
    assert_eq!(github.head(REPOSITORY, &branch).unwrap().as_deref(), Some(pushed.as_str()), "its hands are off");
    github.merge_as(REPOSITORY, pull.number, "vera").unwrap();
    let text = github.file(REPOSITORY, "main", &file("silver", clusters[0])).unwrap().unwrap();
    assert!(text.contains(NEWER) && text.contains("host: example.org"), "{text}");
    stage.until("gold follows", |stage| stage.pull(PLUGIN, "gold").filter(|pull| pull.title.contains(NEWER))).await;
}
