//! How charts are reached: a release at their repository rings, and a registry behind a login and a proxy answers.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::shed::{HOST, PASSWORD, Tunnel, locked_registry, login};
use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_the_repository_that_a_chart_comes_from_opens_its_pull_request_at_once() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    stage.add_repository("charts");
    let publish = |version: &str| {
        let home = format!("{}/acme/charts", given.hub);
        stage.world.charts().publish_from(PLUGIN, version, (&home, &"1".repeat(40)), &[]).unwrap();
    };
    publish("1.15.1");
    stage.edit_policy("    poll: 1s\n", "    poll: 24h\n");
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "2s")]);
    let on_qa = |version: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains(version))
    };
    stage.until("1.15.1 comes to qa", on_qa("1.15.1")).await;
    publish("1.15.2");
    stage.never(8, "nobody rang, and it is asked once a day", |stage| on_qa("1.15.2")(stage).is_some()).await;
    // A branch of that repository is no release.
    github.push_file("acme/charts", "topic", "vera", "README.md", "More\n", "More").unwrap();
    stage.never(4, "a branch was pushed", |stage| on_qa("1.15.2")(stage).is_some()).await;
    github.release("acme/charts", "cert-manager-1.15.2", "vera", "").unwrap();
    let begun = Instant::now();
    stage.until("1.15.2 comes to qa", on_qa("1.15.2")).await;
    println!("from the release to the pull request: {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}\n{}", begun.elapsed(), stage.logged());
    // The artefact may come after the event: the bot looks a few times more.
    github.release("acme/charts", "cert-manager-1.15.3", "vera", "").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    publish("1.15.3");
    stage.until("1.15.3 comes to qa", on_qa("1.15.3")).await;
    assert!(stage.pull(PLUGIN, "qa").is_some_and(|pull| is_open(&pull) || pull.title.contains("1.15.3")));
}

/// What nobody has signed waits and says so, everywhere; a signature lets it go on, and one of another artefact does not.
#[tokio::test(flavor = "multi_thread")]
async fn a37_a_release_waits_for_a_signature_by_the_key_of_the_policy() {
    let stage = Stage::set().await;
    let charts = stage.world.charts();
    let key = charts.public_key().lines().map(|line| format!("          {line}\n")).collect::<String>();
    let signed = format!("    versions:\n      constraint: \"^1.14\"\n      signed:\n        cosign: |\n{key}");
    stage.edit_policy("    versions: {constraint: \"^1.14\"}\n", &signed);
    let _bot = stage.serve();
    stage.until("another plugin opens", |stage| stage.pull("ingress-nginx", "qa")).await;
    stage.never(6, "nobody has signed it", |stage| stage.pull(PLUGIN, "qa").is_some()).await;
    let done = tokio::task::block_in_place(|| stage.command(&["explain", PLUGIN, "qa"]).output()).unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("1.15.0 is not signed as the policy asks: nobody has signed it"), "{text}");
    charts.sign(PLUGIN, "1.15.0").unwrap();
    stage.until("it opens once it is signed", |stage| stage.pull(PLUGIN, "qa")).await;
    charts.publish(PLUGIN, "1.15.4", "").unwrap();
    charts.sign(PLUGIN, "1.15.4").unwrap();
    stage
        .until("the next one, too", |stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains("1.15.4")))
        .await;
}

/// A chart that is published nowhere else: its repository's tags are its versions, and a tag rings.
#[tokio::test(flavor = "multi_thread")]
async fn tags_of_a_repository_are_releases() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    stage.add_repository("modules");
    let release = |version: &str, values: &str| {
        let chart = format!("apiVersion: v2\nname: {PLUGIN}\nversion: {version}\n");
        github.push_file("acme/modules", "main", "vera", "charts/cm/Chart.yaml", &chart, version).unwrap();
        let commit =
            github.push_file("acme/modules", "main", "vera", "charts/cm/values.yaml", values, version).unwrap();
        github.tag("acme/modules", "vera", &format!("{PLUGIN}-{version}"), &commit).unwrap();
    };
    release("1.14.7", "replicas: 2\nold: 1\n");
    release("1.15.1", "replicas: 2\n");
    let before = format!("{{oci: oci+http://{}}}", stage.world.charts().reference(PLUGIN));
    let git = format!("{{git: \"{}/acme/modules\", tag: \"{{plugin}}-{{version}}\", folder: charts/cm}}", given.hub);
    stage.edit_policy(&before, &git);
    stage.edit_policy("    poll: 1s\n", "    poll: 24h\n");
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "2s")]);
    let on_qa = |version: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains(version))
    };
    let pull = stage.until("1.15.1 comes to qa", on_qa("1.15.1")).await;
    assert!(pull.body.contains("`old` is gone; it was 1"), "{}", pull.body);
    let begun = Instant::now();
    release("1.15.2", "replicas: 2\n");
    stage.until("1.15.2 comes to qa", on_qa("1.15.2")).await;
    println!("from the tag to the pull request: {:?}", begun.elapsed());
    // What stands under a tag that was seen stays; another commit there stops it.
    let commit =
        github.push_file("acme/modules", "main", "vera", "charts/cm/values.yaml", "replicas: 9\n", "Again").unwrap();
    github.tag("acme/modules", "vera", &format!("{PLUGIN}-1.15.2"), &commit).unwrap();
    let stopped = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(8, "a tag that moved was promoted", stopped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_calls_opens_the_pull_request_of_what_was_pushed() {
    let stage = Stage::set().await;
    stage.edit_policy("    poll: 1s\n", "    poll: 24h\n");
    let _bot =
        stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "2s"), ("COLDFRAME_WAKE_CHART", "token")]);
    let on_qa = |version: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains(version))
    };
    stage.until("1.15.0 comes to qa", on_qa("1.15.0")).await;
    stage.world.charts().publish(PLUGIN, "1.15.1", "").unwrap();
    let registry = stage.world.charts().reference(PLUGIN);
    let url = format!("http://{}/wake/chart", stage.world.settings().listen);
    let call = async |token: &str| {
        let pushed = serde_json::json!({"type": "PUSH_ARTIFACT", "event_data": {"resources": [
            {"tag": "1.15.1", "resource_url": format!("{registry}:1.15.1")}
        ]}});
        let request = reqwest::Client::new().post(&url).bearer_auth(token).body(pushed.to_string());
        request.header("content-type", "application/json").send().await.unwrap().status().as_u16()
    };
    assert_eq!(call("another").await, 401);
    stage.never(8, "a stranger rang", |stage| on_qa("1.15.1")(stage).is_some()).await;
    let begun = Instant::now();
    assert_eq!(call("token").await, 202);
    stage.until("1.15.1 comes to qa", on_qa("1.15.1")).await;
    println!("from the call to the pull request: {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a23_a_private_registry_is_read_by_a_proxy_and_with_its_login_alone() {
    let stage = Stage::set().await;
    let open = format!("oci+http://{}", stage.world.charts().reference(PLUGIN));
    stage.edit_policy(&open, &format!("oci://{HOST}/charts/{PLUGIN}"));
    let (registry, certificate) = locked_registry(&stage).await;
    let at = |name: &str| stage.folder.path().join(name).display().to_string();
    std::fs::write(at("trusted.pem"), certificate).unwrap();
    let logins = |name: &str, host: &str, password: &str| {
        std::fs::write(at(name), login(host, password)).unwrap();
        at(name)
    };
    let good = logins("good.json", HOST, PASSWORD);
    let bad = logins("bad.json", HOST, "run-out");
    let other = logins("other.json", "ghcr.io", PASSWORD);
    let (free, strict) = (Tunnel::dig(registry.clone(), None).await, Tunnel::dig(registry, Some("me:pw")).await);
    let free_url = format!("http://{}", free.address);
    let plan = |proxy: &str, more: &[(&str, &str)]| {
        let mut command = stage.command(&["plan"]);
        command.env("SSL_CERT_FILE", at("trusted.pem")).env("https_proxy", proxy).envs(more.iter().copied());
        let done = tokio::task::block_in_place(|| command.output()).unwrap();
        let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        for secret in [PASSWORD, "run-out", "me:pw", &STANDARD.encode(format!("gardener:{PASSWORD}"))] {
            assert!(!text.contains(secret), "{text}");
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = plan(&free_url, &[("COLDFRAME_REGISTRIES", &good)]);
    assert!(text.contains("cert-manager 1.15.0"), "{text}");
    let asked = free.asked();
    let wanted = format!("CONNECT {HOST}:443 HTTP/1.1");
    assert!(
        !asked.is_empty() && asked.iter().all(|line| *line == wanted),
        "the sandbox's hosts are this machine: {asked:?}"
    );

    // The doctor says it among everything else, with what mends it.
    let mut command = stage.command(&["doctor"]);
    command.env("SSL_CERT_FILE", at("trusted.pem")).env("https_proxy", &free_url);
    let done = tokio::task::block_in_place(|| command.output()).unwrap();
    let text = String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = text.split("✗ ").find(|part| part.starts_with("cert-manager: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(!done.status.success() && refused.contains("401") && refused.contains("--registries"), "{text}");

    let strict_url = format!("http://{}", strict.address);
    let with_login = format!("http://me:pw@{}", strict.address);
    let no_file = at("nowhere.json");
    for (proxy, more, said) in [
        (&free_url, &[][..], vec![HOST, "401", "--registries"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", bad.as_str())], vec![HOST, "401", bad.as_str(), "has run out"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", other.as_str())], vec![other.as_str(), "has no login for", HOST]),
        (&free_url, &[("COLDFRAME_REGISTRIES", no_file.as_str())], vec!["--registries", no_file.as_str()]),
        (
            &strict_url,
            &[("COLDFRAME_REGISTRIES", good.as_str())],
            vec![&strict.address, "https_proxy", "USER:PASSWORD"],
        ),
        (&with_login, &[("COLDFRAME_REGISTRIES", good.as_str())], vec!["cert-manager 1.15.0"]),
        (&free_url, &[("COLDFRAME_REGISTRIES", good.as_str()), ("NO_PROXY", HOST)], vec![HOST, "dns error"]),
        (&"socks5://127.0.0.1:1".to_owned(), &[], vec!["https_proxy in the environment", "no other kind"]),
    ] {
        let text = plan(proxy, more);
        assert!(said.iter().all(|part| text.contains(part)), "{more:?} {said:?}: {text}");
    }
    assert!(
        stage.world.github().pulls(REPOSITORY).unwrap().iter().all(|pull| pull.author == "vera"),
        "a plan opens none"
    );
}
