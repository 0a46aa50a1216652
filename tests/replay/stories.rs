//! Every story of the manual is told, and keeps what it expects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use coldframe::rehearse::tell;

fn stories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/stories");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "story"));
    files.sort();
    files
}

#[test]
fn every_story_keeps_what_it_expects() {
    let stories = stories();
    assert!(stories.len() >= 8, "only {} stories", stories.len());
    let mut wrong = String::new();
    for path in &stories {
        let text = std::fs::read_to_string(path).unwrap();
        let told = tell(path, &text);
        if !told.kept {
            wrong.push_str(&format!("\n{}\n", told.text));
        }
        assert!(text.contains("expect"), "{} expects nothing", path.display());
        assert!(told.text.lines().count() > 10, "{} tells nothing: {}", path.display(), told.text);
    }
    assert!(wrong.is_empty(), "{wrong}");
    println!("{} stories", stories.len());
}

/// Each page that says how to do something tells it, too.
#[test]
fn every_way_of_the_manual_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let (mut wrong, mut pages) = (String::new(), 0);
    for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        pages += 1;
        assert!(list.contains(&format!("]({name})")), "{name} is not listed");
        let page = std::fs::read_to_string(&path).unwrap();
        let (_, story) = page.split_once("```story\n").unwrap_or_else(|| panic!("{name} has no story"));
        let told = tell(&path, story.split("```").next().unwrap());
        if !told.kept {
            wrong.push_str(&format!("\n{name}\n{}\n", told.text));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(pages >= 7, "only {pages} pages");
}

/// A policy that promises something is rehearsed.
#[test]
fn every_preset_has_a_story() {
    let texts: Vec<String> = stories().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let ladder =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/stories/ladder.yaml")).unwrap();
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    for file in std::fs::read_dir(policies).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let extends = format!("extends: [{}]", file.file_stem().unwrap().to_string_lossy());
        assert!(texts.iter().chain([&ladder]).any(|text| text.contains(&extends)), "no story with `{extends}`");
    }
}
