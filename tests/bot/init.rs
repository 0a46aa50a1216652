//! A policy that was proposed for a repository as people lay it out: the bot finds every plugin by it, or a person is
//! told why there is none.

use std::path::Path;

use demo::clusters::Kind;
use serde_json::json;

use crate::support::Stage;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/repositories");
/// Where every hub of these repositories is, though it is one cluster of the sandbox.
const HUB: &str = "qa-1";

/// A copy of a sample whose charts are those of this world, with the policy that is proposed for it.
fn propose(stage: &Stage, name: &str) -> Vec<(String, String)> {
    let charts = stage.world.charts();
    let registry = charts.reference("x");
    let registry = registry.strip_suffix("/x").unwrap();
    let here = |text: String| {
        let text = text.replace("https://charts.example", &charts.repository());
        text.replace("oci://registry.example", &format!("oci://{registry}"))
    };
    let folder = stage.folder.path().join(name);
    copy(&Path::new(SAMPLES).join(name), &folder, &here);
    let output = stage.command(&["init", "--write"]).arg(&folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let mut files = Vec::new();
    read(&folder, "", &mut files);
    // Registries of this world speak plain HTTP, which a policy has to say.
    for (_, text) in files.iter_mut().filter(|(file, _)| file == "coldframe.yaml") {
        *text = text.replace("oci: \"oci://", "oci: \"oci+http://").replace("oci: oci://", "oci: oci+http://");
    }
    files
}

fn copy(from: &Path, to: &Path, change: &dyn Fn(String) -> String) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy(&path, &to, change);
        } else {
            std::fs::write(&to, change(std::fs::read_to_string(&path).unwrap())).unwrap();
        }
    }
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// What `plan` says of a repository with these files.
fn plan(stage: &Stage, name: &str, files: &[(String, String)], connection: &str) -> String {
    let github = stage.world.github();
    github.add_repository("acme", name, files).unwrap();
    github.install_app(stage.world.settings().app_id, &format!("acme/{name}")).unwrap();
    let folder = stage.folder.path().join(format!("{name}-connections"));
    std::fs::create_dir(&folder).unwrap();
    let hub = stage.world.settings().clusters.join(format!("{HUB}-reader.yaml"));
    std::fs::copy(hub, folder.join(format!("{connection}.yaml"))).unwrap();
    let mut command = stage.command(&["plan"]);
    command.env("COLDFRAME_REPOSITORY", format!("acme/{name}")).env("COLDFRAME_CLUSTERS", &folder);
    command.env("COLDFRAME_DATA", stage.folder.path().join(format!("{name}-data")));
    let output = command.output().unwrap();
    let (told, erred) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}\n{erred}");
    told.into_owned()
}

/// Every place of the policy is there, and each of these lines.
fn shows(told: &str, lines: &[&str]) {
    let places = told.split("Places:").nth(1).unwrap();
    assert!(!places.contains('✖'), "{told}");
    for line in lines {
        assert!(places.contains(line), "{line}\n{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_policy_finds_every_plugin_of_flux_and_argo_cd() {
    let stage = Stage::whole().await;
    let clusters = stage.world.clusters();

    let files = propose(&stage, "flux");
    let told = plan(&stage, "flux", &files, "unused");
    shows(
        &told,
        &[
            "infrastructure/{tier}/cert-manager.yaml  HelmRelease  staging 1.14.7 · production 1.14.7",
            "apps/{tier}/kube-state-metrics/ocirepository.yaml  OCIRepository  staging 5.25.0 · production 5.25.0",
            "apps/{tier}/podinfo-values.yaml  patch of a HelmRelease  staging 6.7.0 · production 6.6.2",
        ],
    );

    for (name, tier) in [("dev-1", "dev"), ("staging-1", "staging"), ("prod-1", "prod"), ("prod-2", "prod")] {
        let labels = json!({"argocd.argoproj.io/secret-type": "cluster", "environment": tier});
        let data = json!({"name": base64(name), "server": base64("https://cluster.example")});
        let secret = json!({"metadata": {"name": name, "namespace": "argocd", "labels": labels}, "data": data});
        clusters.put(HUB, &Kind::custom("", "v1", "Secret", "secrets"), &secret).unwrap();
    }
    let files = propose(&stage, "argo-cd");
    let told = plan(&stage, "argo-cd", &files, "argocd");
    shows(
        &told,
        &[
            "bootstrap/addons/cert-manager-appset.yaml  ApplicationSet  dev 1.15.0 · staging 1.14.7 · prod 1.14.7",
            "apps/{tier}/ingress-nginx.yaml  Application  dev 4.11.2 · staging 4.11.2 · prod 4.11.2",
            "envs/{tier}/env-config.yaml  $.charts.kubeStateMetrics  dev 5.25.0 · staging 5.25.0 · prod 5.25.0",
            "bootstrap/apps/podinfo-appset.yaml  ApplicationSet  dev 6.7.0 · staging 6.7.0 · prod 6.6.2",
        ],
    );

    let files = propose(&stage, "applications");
    let told = plan(&stage, "applications", &files, "argocd");
    shows(
        &told,
        &["apps/blog/release.yaml  HelmRelease  all 3.5.1", "argo/all.yaml  $.spec.source.targetRevision  all 20.0.5"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_policy_finds_what_overlays_and_variables_hold() {
    let stage = Stage::whole().await;
    let told = plan(&stage, "overlays", &propose(&stage, "overlays"), "unused");
    shows(
        &told,
        &[
            "clusters/{tier}/apps.yaml  $.spec.postBuild.substitute.loki_version  staging 6.7.0 · production 6.6.2",
            "apps/{tier}/podinfo.yaml  patch of an OCIRepository  staging 6.7.1 · production 6.7.0",
            "monitoring/{tier}/prometheus.yaml  HelmRelease  staging 25.0.0 · production 25.0.0",
        ],
    );
    let told = plan(&stage, "main-staging", &propose(&stage, "main-staging"), "unused");
    shows(&told, &["clusters/{tier}/apps/ingress-nginx.yaml  HelmRelease  staging 4.11.3 · main 4.11.2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_policy_follows_the_tags_of_a_catalog() {
    let stage = Stage::whole().await;
    let told = plan(&stage, "greenhouse", &propose(&stage, "greenhouse"), "unused");
    let of = |index: u8, versions: &str| {
        format!(
            "system/organization/values.yaml  $.catalogs['observability-{{tier}}'].sources[{index}].ref.tag  {versions}"
        )
    };
    let first = of(0, "qa 5.25.0 · bronze 5.25.0 · gold 5.24.0");
    shows(&told, &[&first, &of(1, "qa 0.9.3 · bronze 0.9.3 · gold 0.9.2")]);
}

#[test]
fn where_nothing_can_be_proposed_a_person_is_told_what_to_do() {
    for (name, expected) in [
        ("charts", "This is a repository of charts"),
        ("ranges", "Write the version that runs now in its place, in apps/production/podinfo-values.yaml"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(SAMPLES).join(name), folder.path(), &|text| text);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_coldframe"));
        let output = command.args(["init", "--write"]).arg(folder.path()).env_clear().output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(expected), "{name}: {told}");
        assert!(told.contains("Nothing is proposed"), "{name}: {told}");
        assert!(!folder.path().join("coldframe.yaml").exists(), "{name}: nothing is written");
    }
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| char::from(LETTERS[usize::try_from(bits & 63).unwrap()]);
    text.as_bytes()
        .chunks(3)
        .flat_map(|chunk| {
            let bits = chunk.iter().chain([&0, &0]).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            (0..4).map(move |index| if index <= chunk.len() { letter(bits >> (18 - 6 * index)) } else { '=' })
        })
        .collect()
}

#[test]
fn the_workflow_that_is_proposed_is_the_one_of_the_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(SAMPLES).join("flux"), folder.path(), &|text| text);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_coldframe"));
    let output = command.args(["init", "--write", "--workflow"]).arg(folder.path()).env_clear().output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("Make the environment `coldframe`"), "{told}");
    let workflow = std::fs::read_to_string(folder.path().join(".github/workflows/promote.yml")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(&format!("```yaml\n{workflow}```\n")), "{workflow}");
    assert!(workflow.contains("\n    environment: coldframe"), "{workflow}");
}
