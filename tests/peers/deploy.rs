//! What people install (`deploy/`): the chart is linted and rendered by real Helm, its objects are held against the schemas of
//! Kubernetes, the manifests are what it renders, and what it would start is started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldframe::kubeconfig::{Beside, Connection, Secret};
use serde_json::{Value, json};

use crate::peers::{peer, python, script};
use crate::support::{REPOSITORY, Stage};

/// Where the chart and the manifests are.
fn deploy(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(below)
}

/// The objects of the chart by file, or why it does not take these values.
fn rendered(values: &Value, namespace: &str) -> Result<BTreeMap<String, String>, String> {
    let step = json!({"do": "render", "chart": deploy("chart"), "values": values, "namespace": namespace});
    let Value::Array(done) = script(python(), "helm.py", &json!([step])) else { panic!("no list") };
    match done[0]["error"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(serde_json::from_value(done[0]["files"].clone()).unwrap()),
    }
}

/// All that it has, at once.
fn everything() -> Value {
    json!({
        "replicas": 2,
        "image": {"digest": format!("sha256:{}", "a".repeat(64))},
        "imagePullSecrets": [{"name": "pull"}],
        "app": {"bypass": true},
        "repositories": ["acme/fleet", "beta/*"],
        "publicUrl": "https://coldframe.acme.example",
        "signIn": {"enabled": true},
        "env": {"COLDFRAME_SWEEP": "1m"},
        "envFrom": [{"secretRef": {"name": "proxies"}}],
        "clusters": {
            "secrets": [{"name": "eu", "keys": ["eu-1.yaml"], "folder": "shared"}, {"name": "us", "keys": ["us-1.yaml"], "folder": "123"}],
            "own": {"enabled": true, "scope": "cluster", "folder": "shared"},
        },
        "registries": {"secret": "logins"},
        "secrets": [{"name": "slack", "folder": "123", "keys": ["SLACK_URL"]}],
        "limits": {"limits": {"openPulls": 10}},
        "serviceAccount": {"annotations": {"a": "b"}},
        "service": {"annotations": {"a": "b"}},
        "ingress": {"enabled": true, "host": "coldframe.acme.example", "className": "nginx", "tlsSecret": "tls", "annotations": {"a": "b"}},
        "networkPolicy": {"webhook": [{"podSelector": {}}], "dashboard": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]},
        "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": true},
        "dashboard": {"enabled": true},
        "podAnnotations": {"a": "b"},
        "podLabels": {"a": "b"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        "priorityClassName": "high",
    })
}

fn own(scope: &str) -> Value {
    json!({"clusters": {"own": {"enabled": true, "scope": scope}}})
}

#[test]
fn helm_lints_and_renders_what_kubernetes_takes() {
    let linted = script(python(), "helm.py", &json!([{"do": "lint", "chart": deploy("chart")}]));
    assert_eq!(linted[0]["errors"], json!([]), "{linted}");
    for (name, values, foreign, count) in [
        ("as it is", json!({}), json!([]), 5),
        ("one namespace", own("namespace"), json!([]), 8),
        ("several replicas", json!({"replicas": 2}), json!([]), 6),
        ("everything", everything(), json!(["ServiceMonitor", "PrometheusRule"]), 11),
    ] {
        let mut texts = rendered(&values, "garden").unwrap();
        let notes = texts.remove("coldframe/templates/NOTES.txt").unwrap();
        assert_eq!(notes.contains("It reads no cluster yet"), values["clusters"].is_null(), "{name}: {notes}");
        let held = script(python(), "kubernetes.py", &json!(texts.values().collect::<Vec<_>>()));
        assert_eq!(held, json!({"wrong": [], "foreign": foreign, "valid": count}), "{name}");
    }
}

#[test]
fn values_that_are_wrong_are_refused_by_name() {
    for (values, part) in [
        (json!({"replica": 2}), "replica"),
        (json!({"replicas": 0}), "/replicas"),
        (json!({"image": {"digest": "abc"}}), "/image/digest"),
        (json!({"repositories": ["fleet"]}), "/repositories/0"),
        (json!({"clusters": {"secrets": [{"name": "a", "folder": "shared"}]}}), "keys"),
        (json!({"clusters": {"own": {"scope": "all"}}}), "/clusters/own/scope"),
        (json!({"ingress": {"enabled": true}}), "/ingress/host"),
        (json!({"signIn": {"enabled": true}}), "/publicUrl"),
        (json!({"signIn": {"enabled": true}, "publicUrl": "http://coldframe.acme.example"}), "/publicUrl"),
        (json!({"secrets": [{"name": "a", "folder": "shared", "keys": ["A"]}]}), "/secrets/0/folder"),
    ] {
        let why = rendered(&values, "garden").expect_err(&values.to_string());
        assert!(why.contains(part), "{values}: {why}");
    }
}

/// With a sign-in nothing looks for probes or metrics at the address that people use.
#[test]
fn probes_are_where_they_are_answered() {
    let values = |enabled: bool| json!({"signIn": {"enabled": enabled}, "publicUrl": "https://coldframe.acme.example"});
    for (enabled, at) in [(false, "dashboard"), (true, "metrics")] {
        let mut values = values(enabled);
        values["serviceMonitor"] = json!({"enabled": true});
        let texts = rendered(&values, "garden").unwrap();
        let says = |file: &str, part: &str| texts[&format!("coldframe/templates/{file}.yaml")].contains(part);
        assert!(says("deployment", &format!("httpGet: {{path: /readyz, port: {at}}}")), "{at}");
        assert!(says("monitoring", &format!("{{port: {at}, path: /metrics,")), "{at}");
        assert_eq!(says("deployment", "COLDFRAME_CLIENT_SECRET"), enabled);
        assert_eq!(says("service", "name: metrics"), enabled);
    }
}

/// `COLDFRAME_BLESS=1` writes them anew.
#[test]
fn the_manifests_are_what_the_chart_renders() {
    for scope in ["cluster", "namespace"] {
        let mut texts = rendered(&own(scope), "coldframe").unwrap();
        texts.remove("coldframe/templates/NOTES.txt");
        let mut text = format!(
            "# Made from deploy/chart by `COLDFRAME_BLESS=1 cargo test --test peers -- the_manifests`; do not edit.\n# It reads \
             the {scope} that it runs in. It wants a Secret `coldframe-app` with app-id, app.pem and webhook-secret.\n"
        );
        for object in
            texts.values().flat_map(|text| text.split("\n---\n")).map(str::trim).filter(|text| !text.is_empty())
        {
            let plain = |line: &&str| !line.contains("managed-by: Helm") && !line.contains("helm.sh/chart:");
            let lines: Vec<&str> = object.trim_start_matches("---\n").lines().filter(plain).collect();
            text += &format!("---\n{}\n", lines.join("\n"));
        }
        let path = deploy(scope).join("coldframe.yaml");
        if std::env::var_os("COLDFRAME_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{}", path.display());
        let held = script(python(), "kubernetes.py", &json!([text]));
        assert_eq!(held, json!({"wrong": [], "foreign": [], "valid": 8}), "{scope}");
    }
}

/// The cluster that it runs in is reached by an account's token and authority, which the kubelet puts beside the kubeconfig.
#[test]
fn the_kubeconfig_of_its_own_cluster_is_read() {
    let texts = rendered(&own("namespace"), "garden").unwrap();
    let config: serde_yaml::Value = serde_yaml::from_str(&texts["coldframe/templates/config.yaml"]).unwrap();
    let text = config["data"]["own.yaml"].as_str().unwrap();
    let Beside { token, authority } = Connection::names(text.as_bytes());
    for name in ["own.yaml", &token.unwrap(), &authority.unwrap()] {
        let mounted = format!("path: \"{name}\"");
        assert!(texts["coldframe/templates/deployment.yaml"].contains(&mounted), "{name}");
    }
    let pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----";
    let beside = Beside { token: Some(Secret::new("token")), authority: Some(Secret::new(pem)) };
    let connection = Connection::read_with(text.as_bytes(), beside, &[]).unwrap();
    assert_eq!(connection.server.as_str(), "https://kubernetes.default.svc/");
}

/// What `coldframe access` prints for the policy of the sandbox.
#[tokio::test(flavor = "multi_thread")]
async fn rights_are_objects_that_kubernetes_takes() {
    let stage = Stage::whole().await;
    let checkout = stage.folder.path().join("checkout");
    let github = stage.world.github();
    for name in ["coldframe.yaml", "clusters.yaml"] {
        std::fs::create_dir_all(&checkout).unwrap();
        let text = github.file(REPOSITORY, "main", name).unwrap().unwrap();
        std::fs::write(checkout.join(name), text).unwrap();
    }
    let run = |program: &str, words: &[&str]| {
        let done = Command::new(program).args(words).current_dir(&checkout).output().unwrap();
        assert!(done.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    run("git", &["init", "--quiet"]);
    for (words, least) in [(&["access"][..], 15), (&["access", "--once"], 15)] {
        let text = run(env!("CARGO_BIN_EXE_coldframe"), words);
        let held = script(python(), "kubernetes.py", &json!([text]));
        assert_eq!((&held["wrong"], &held["foreign"]), (&json!([]), &json!([])), "{text}");
        assert!(held["valid"].as_u64().unwrap() >= least, "{held}");
    }
    std::fs::write(checkout.join("access.sh"), run(env!("CARGO_BIN_EXE_coldframe"), &["access", "--script"])).unwrap();
    run("sh", &["-n", "access.sh"]);
}

/// What is installed is what was released with it.
#[test]
fn the_chart_is_of_this_version() {
    let text = std::fs::read_to_string(deploy("chart/Chart.yaml")).unwrap();
    for key in ["version", "appVersion"] {
        assert!(text.contains(&format!("\n{key}: {}\n", env!("CARGO_PKG_VERSION"))), "{key} in {text}");
    }
    for scope in ["cluster", "namespace"] {
        let text = std::fs::read_to_string(deploy(scope).join("coldframe.yaml")).unwrap();
        assert!(text.contains(&format!("coldframe:{}\n", env!("CARGO_PKG_VERSION"))), "{scope}");
    }
}

#[test]
fn the_dockerfile_is_linted() {
    let done = Command::new(peer("venv/bin/hadolint")).arg(deploy("Dockerfile")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// The steps of the Dockerfile, without an engine: the C library that its base has and the program that it copies, in a folder
/// that is another's, and the program in there as the user that it names.
#[test]
fn the_image_starts_its_program_on_a_root_that_is_not_its_own() {
    let text = std::fs::read_to_string(deploy("Dockerfile")).unwrap();
    let said = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)).unwrap().trim().to_owned();
    let (user, entry) = (said("USER "), said("ENTRYPOINT "));
    let entry: Vec<String> = serde_json::from_str(&entry).unwrap();
    assert!(said("COPY ").ends_with(&format!(" {}", entry[0])), "what starts is not what is copied");
    let (root, program) = (tempfile::tempdir().unwrap(), env!("CARGO_BIN_EXE_coldframe"));
    let put = |from: &str, to: &str| {
        let to = root.path().join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    put(program, &entry[0]);
    let needs = Command::new("ldd").arg(program).output().unwrap();
    for word in String::from_utf8(needs.stdout).unwrap().split_whitespace().filter(|word| word.starts_with('/')) {
        put(word, word);
    }
    std::fs::set_permissions(root.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let is_root = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap().trim() == "0";
    let mut command = match is_root {
        true => {
            let mut command = Command::new("chroot");
            command.arg(format!("--userspec={user}")).arg(root.path());
            command
        }
        // Whoever may not become another user is at least in another root.
        false => {
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-current-user", "--root"]).arg(root.path());
            command
        }
    };
    let done = command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").args(&entry).arg("--version").output();
    let done = done.unwrap();
    let told = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert_eq!(told.trim(), concat!("coldframe ", env!("CARGO_PKG_VERSION")));
}

/// The container as the chart describes it, without a container: its files, its environment and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_chart_would_start_promotes() {
    let stage = Stage::set().await;
    let given = stage.world.settings();
    let values = json!({
        "hub": given.hub,
        "repositories": [given.repository],
        "app": {"bypass": true},
        "clusters": {"secrets": [{"name": "clusters"}]},
        "env": {"COLDFRAME_ALLOW_HOSTS": given.allow_hosts.join(","), "COLDFRAME_SWEEP": "2s", "COLDFRAME_POLL": "500ms",
                "COLDFRAME_WRITE_PACE": "0s"},
    });
    let text = rendered(&values, "garden").unwrap().remove("coldframe/templates/deployment.yaml").unwrap();
    let deployment: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let deployment = serde_json::to_value(deployment).unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let root = stage.folder.path().join("root");
    let secret = |key: &str| match key {
        "app-id" => Some(given.app_id.to_string()),
        "bypass-app-id" => Some(given.bypass_app_id.to_string()),
        "webhook-secret" => Some(given.webhook_secret.clone()),
        "app.pem" => Some(std::fs::read_to_string(&given.app_key).unwrap()),
        "bypass.pem" => Some(std::fs::read_to_string(&given.bypass_app_key).unwrap()),
        _ => None,
    };
    mounted(&deployment, &root, &given.clusters, &secret);
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    command.env_clear().current_dir(&root);
    command.args(container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    for entry in container["env"].as_array().unwrap() {
        let key = entry["valueFrom"]["secretKeyRef"]["key"].as_str();
        let value = key.map_or_else(|| entry["value"].as_str().map(str::to_owned), secret);
        let Some(value) = value else {
            assert_eq!(entry["valueFrom"]["secretKeyRef"]["optional"], true, "{entry}");
            continue;
        };
        // What is a path in the container lies below its root here.
        let value = if value.starts_with('/') { format!("{}{value}", root.display()) } else { value };
        command.env(entry["name"].as_str().unwrap(), value);
    }
    let _bot = stage.start(command);
    let pull = stage.until("it opens a pull request", |stage| stage.pull("cert-manager", "qa")).await;
    assert!(pull.title.contains("1.15"), "{}", pull.title);
    for (probe, address) in [("livenessProbe", &given.listen), ("readinessProbe", &given.dashboard)] {
        let get = &container[probe]["httpGet"];
        let port = container["ports"].as_array().unwrap().iter().find(|port| port["name"] == get["port"]).unwrap();
        let of_listen = if port["containerPort"] == 8080 { &given.listen } else { &given.dashboard };
        assert_eq!(of_listen, address, "{probe} asks the port of another");
        let url = format!("http://{address}{}", get["path"].as_str().unwrap());
        assert_eq!(reqwest::get(&url).await.unwrap().status(), 200, "{url}");
    }
}

/// Lays out what the volumes of a Deployment would hold.
fn mounted(deployment: &Value, root: &Path, clusters: &Path, secret: &dyn Fn(&str) -> Option<String>) {
    let spec = &deployment["spec"]["template"]["spec"];
    for mount in spec["containers"][0]["volumeMounts"].as_array().unwrap() {
        let at = root.join(mount["mountPath"].as_str().unwrap().trim_start_matches('/'));
        std::fs::create_dir_all(&at).unwrap();
        let volume = spec["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        if volume["projected"].is_object() {
            for file in std::fs::read_dir(clusters).unwrap().map(|file| file.unwrap()) {
                std::fs::copy(file.path(), at.join(file.file_name())).unwrap();
            }
        }
        for item in volume["secret"]["items"].as_array().into_iter().flatten() {
            let text = secret(item["key"].as_str().unwrap()).expect("a key of the Secret");
            std::fs::write(at.join(item["path"].as_str().unwrap()), text).unwrap();
        }
    }
}
