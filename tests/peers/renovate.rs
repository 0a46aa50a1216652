//! What `docs/follow.md` tells Renovate's users, against Renovate itself: its validator takes the configuration, and
//! with it Renovate finds the versions that a tier has finished.

use std::path::{Path, PathBuf};
use std::process::Command;

use axum::Router;
use axum::routing::get;

const PAGE: &str = include_str!("../../docs/follow.md");

/// The blocks of code of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let of = |part: &'static str| part.split_once("\n```").map(|(block, _)| block);
    PAGE.split(&format!("```{language}\n")).skip(1).filter_map(of).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Renovate as `cargo bench --bench renovate` has it, with the Node.js that it wants.
fn installed() -> PathBuf {
    let done = Command::new("sh").arg(root().join("tests/benches/renovate/install.sh")).status().unwrap();
    assert!(done.success(), "Renovate cannot be installed");
    root().join("target/renovate/node_modules")
}

fn run(modules: &Path, program: &str, folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(modules.join("node/bin/node"));
    command.arg(modules.join("renovate/dist").join(program)).args(arguments).current_dir(folder);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder).env("LOG_LEVEL", "debug");
    let output = command.env("LOG_FORMAT", "json").output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {told}");
    told
}

#[test]
fn renovate_follows_a_tier_as_the_page_says() {
    let modules = installed();
    let [feed, config] = blocks("json")[..] else { panic!("two blocks of JSON") };
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/versions/cert-manager/silver.json", get(move || async move { feed }));
    runtime.spawn(async move { axum::serve(listener, router).await });

    let path = folder.path().join("renovate.json");
    std::fs::write(&path, config).unwrap();
    let told = run(&modules, "config-validator.js", folder.path(), &["--strict"]);
    assert!(told.contains("Config validated successfully"), "{told}");

    std::fs::write(&path, config.replace("https://coldframe.example", &url)).unwrap();
    std::fs::create_dir(folder.path().join("apps")).unwrap();
    std::fs::write(folder.path().join("apps/cert-manager.yaml"), blocks("yaml")[0]).unwrap();
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").args(arguments).current_dir(folder.path()).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    let told = run(&modules, "renovate.js", folder.path(), &["--platform=local", "--dry-run=lookup"]);
    let found = told.contains("\"depName\":\"cert-manager\"") && told.contains("\"newVersion\":\"1.15.0\"");
    assert!(found && told.contains("\"currentValue\":\"1.14.7\""), "{told}");
}
