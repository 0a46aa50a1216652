//! Tests that pages name, and pages of what the project has: each is there, so that no page promises what nobody proves.

use super::source::File;

/// Links of pages to tests that are not there.
pub fn are_proved(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for page in files.iter().filter(|file| file.within("docs/") && file.path.ends_with(".md")) {
        for (number, line) in page.text.lines().enumerate() {
            for (test, path) in links(line) {
                let there = files.iter().filter(|file| file.path == path);
                if !there.flat_map(File::code).any(|(_, code)| code.contains(&format!("fn {test}("))) {
                    problems.push(format!("{}:{} no test `{test}` in {path}", page.path, number + 1));
                }
            }
        }
    }
    problems
}

/// Members of a set without a page: it is checked from the day on which its folder in `docs` exists.
pub fn members_have_pages(files: &[File]) -> Vec<String> {
    let sets = [
        ("src/signal/", "docs/signals/"),
        ("src/observe/chart/", "docs/sources/"),
        ("src/edit/", "docs/formats/"),
        ("src/tell/notify/", "docs/notifiers/"),
    ];
    let mut problems = Vec::new();
    for (members, pages) in sets.iter().filter(|(_, pages)| files.iter().any(|file| file.within(pages))) {
        for file in files.iter().filter(|file| file.within(members) && !file.path.ends_with("/mod.rs")) {
            // Beside the kinds of signals stands what several of them need.
            if *members == "src/signal/" && !file.text.contains("const KIND: Kind") {
                continue;
            }
            let name = file.path.trim_start_matches(members).trim_end_matches(".rs");
            let page = format!("{pages}{}.md", name.replace('_', "-"));
            if !name.contains('/') && !files.iter().any(|file| file.path == page) {
                problems.push(format!("{} has no page {page}", file.path));
            }
        }
    }
    problems
}

/// The name and the file of each ``[`test`](../file.rs)``.
fn links(line: &str) -> Vec<(&str, &str)> {
    let link = |rest: &'_ str| -> Option<(usize, usize)> {
        let name = rest.find("`](../")?;
        Some((name, rest.find(')')?))
    };
    let mut found = Vec::new();
    for rest in line.split("[`").skip(1) {
        if let Some((name, end)) = link(rest)
            && let Some(path) = rest.get(name + "`](../".len()..end).filter(|path| path.ends_with(".rs"))
        {
            found.push((&rest[..name], path));
        }
    }
    found
}

#[test]
fn a_test_that_is_not_there_is_found() {
    let page = |test: &str| File::new("docs/x.md".into(), format!("| [`{test}`](../tests/a.rs)<br>[`b`](c.md) |\n"));
    let tests = || File::new("tests/a.rs".into(), "#[test]\nfn it_holds() {}\n// fn it_does_not() {}\n".into());
    assert!(are_proved(&[page("it_holds"), tests()]).is_empty());
    assert_eq!(are_proved(&[page("it_does_not"), tests()]).len(), 1);
    assert_eq!(are_proved(&[page("it_holds")]).len(), 1);
}
