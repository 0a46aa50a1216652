//! The editor as a person runs it, over `tests/edits/`: files of every layout, each with the one line that an edit
//! changes, or the reason why it is refused. Every other byte stays, also with other line ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::wildcard_enum_match_arm)]

pub mod corpus;
mod mutated;

use std::process::{Command, Output};

use corpus::{Case, End, cases};

/// Writes the files of a case, in the shape that a variant gives them, and runs the editor there.
fn run(case: &Case, shape: Shape, more: &[&str]) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in case.files() {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, shape(text)).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    command.arg("edit").args(&case.arguments).args(more).env_clear().current_dir(folder.path());
    let output = command.output().unwrap();
    (folder, output)
}

type Shape = fn(&str) -> String;

const SHAPES: [(&str, Shape); 4] = [
    ("as it is", str::to_string),
    ("with CRLF", |text| text.replace('\n', "\r\n")),
    ("with a byte order mark", |text| format!("\u{feff}{text}")),
    ("without the last line end", |text| text.trim_end_matches('\n').to_string()),
];

#[test]
fn one_line_changes_and_every_other_byte_stays() {
    let (mut edited, mut refused) = (0, 0);
    for case in cases() {
        for (variant, shape) in SHAPES {
            let what = format!("{}: {}, {variant}", case.layout, case.name);
            let (folder, output) = run(&case, shape, &["--in-place"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let expected: Vec<(String, String)> = match &case.end {
                End::Becomes(_) => {
                    assert_eq!(output.status.code(), Some(0), "{what}: {said}");
                    edited += 1;
                    case.after()
                }
                End::Refused(why) => {
                    assert_eq!(output.status.code(), Some(3), "{what}: {said}");
                    assert!(said.contains(why), "{what}: {said}");
                    refused += 1;
                    case.files().map(|(name, text)| (name.to_string(), text.to_string())).collect()
                }
            };
            for (name, text) in expected {
                let found = std::fs::read_to_string(folder.path().join(&name)).unwrap();
                assert_eq!(found, shape(&text), "{what}: {name}");
            }
        }
    }
    assert!(edited >= 4 * 130 && refused >= 4 * 40, "{edited} edited, {refused} refused");
}

#[test]
fn a_difference_is_shown_as_git_does() {
    for case in cases().into_iter().filter(|case| matches!(case.end, End::Becomes(_))) {
        let (folder, output) = run(&case, str::to_string, &["--diff"]);
        let shown = String::from_utf8(output.stdout).unwrap();
        let what = format!("{}: {}", case.layout, case.name);
        assert!(output.status.success(), "{what}");
        std::fs::write(folder.path().join("it.diff"), &shown).unwrap();
        let apply = Command::new("git").args(["apply", "it.diff"]).current_dir(folder.path()).output().unwrap();
        assert!(apply.status.success(), "{what}: {}\n{shown}", String::from_utf8_lossy(&apply.stderr));
        for (name, text) in case.after() {
            assert_eq!(std::fs::read_to_string(folder.path().join(&name)).unwrap(), text, "{what}: {name}");
        }
    }
}

#[test]
fn what_is_said_already_is_not_said_again_and_is_printed() {
    for case in cases().into_iter().filter(|case| matches!(case.end, End::Becomes(_))) {
        let what = format!("{}: {}", case.layout, case.name);
        let (folder, output) = run(&case, str::to_string, &[]);
        let (name, text) = case.after().remove(0);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text, "{what}");
        assert_ne!(std::fs::read_to_string(folder.path().join(name)).unwrap(), text, "{what}: nothing was written");
        let (_folder, again) = run(&case.edited(), str::to_string, &["--diff"]);
        assert_eq!((again.status.code(), again.stdout.len()), (Some(0), 0), "{what}, again");
    }
}

#[test]
fn what_cannot_be_edited_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("large.yaml"), format!("a: 1.0.0\n#{}\n", "x".repeat(1 << 20))).unwrap();
    std::fs::write(path("latin.yaml"), b"a: \xe9\n").unwrap();
    std::fs::write(path("deep.tf"), format!("a = {}1{}\n", "[".repeat(19_000), "]".repeat(19_000))).unwrap();
    std::fs::write(path("deeper.tf"), format!("a = {}1\n", "!".repeat(300_000))).unwrap();
    std::fs::write(path("deep.json"), "[".repeat(300_000)).unwrap();
    std::fs::write(path("deep.toml"), format!("a = {}", "[".repeat(300_000))).unwrap();
    std::fs::create_dir_all(path("vendored/charts")).unwrap();
    std::fs::write(path("vendored/charts/redis-1.0.0.tgz"), "").unwrap();
    let chart =
        "apiVersion: v2\nname: x\nversion: 0.1.0\ndependencies:\n- {name: redis, version: 1.0.0, repository: r}\n";
    std::fs::write(path("vendored/Chart.yaml"), chart).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(path("large.yaml"), path("link.yaml")).unwrap();
    for (name, arguments, code, part) in [
        ("gone.yaml", vec!["--path", "$.a"], 1, "gone.yaml"),
        ("large.yaml", vec!["--path", "$.a"], 1, "more than the 1048576"),
        ("latin.yaml", vec!["--path", "$.a"], 1, "is not UTF-8"),
        #[cfg(unix)]
        ("link.yaml", vec!["--path", "$.a"], 1, "is a symbolic link"),
        ("deep.tf", vec!["--path", "$.a"], 3, "nested deeper"),
        ("deeper.tf", vec!["--path", "$.a"], 3, "nested deeper"),
        ("deep.json", vec!["--path", "$.a"], 3, "nested deeper"),
        ("deep.toml", vec!["--path", "$.a"], 3, "not TOML"),
        ("vendored/Chart.yaml", vec!["--chart", "redis"], 3, "`charts/redis-1.0.0.tgz` is the chart itself"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
        let output = command.arg("edit").arg(path(name)).args(arguments).args(["--to", "1.1.0"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(part), "{name}: {said}");
    }
    assert_eq!(std::fs::read_to_string(path("vendored/Chart.yaml")).unwrap(), chart);
}
