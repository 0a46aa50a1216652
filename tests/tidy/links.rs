//! Links between pages: file and heading are there, as GitHub names headings.

use super::source::File;

/// Links of pages that lead nowhere.
pub fn lead_somewhere(files: &[File]) -> Vec<String> {
    let is_page = |file: &&File| file.path.ends_with(".md") && !file.within("tests/");
    let mut problems = Vec::new();
    for page in files.iter().filter(is_page) {
        let mut code = false;
        for (number, line) in page.text.lines().enumerate() {
            code ^= line.trim_start().starts_with("```");
            let targets = if code { Vec::new() } else { targets(line) };
            for target in targets.into_iter().filter(|target| !target.contains("://")) {
                if let Some(why) = trouble(files, page, target) {
                    problems.push(format!("{}:{} `{target}` {why}", page.path, number + 1));
                }
            }
        }
    }
    problems
}

fn trouble(files: &[File], page: &File, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let path = if path.is_empty() { Some(page.path.clone()) } else { joined(&page.path, path) };
    let Some(path) = path else { return Some("leads out of the repository".to_string()) };
    let folder = format!("{}/", path.trim_end_matches('/'));
    let Some(file) = files.iter().find(|file| file.path == path) else {
        let is_folder = files.iter().any(|file| file.path.starts_with(&folder));
        return (!is_folder).then(|| "is not there".to_string());
    };
    let heading = heading.filter(|_| path.ends_with(".md"))?;
    (!headings(&file.text).any(|name| name == heading)).then(|| "has no such heading".to_string())
}

/// A path as it stands on a page, from the root of the repository.
fn joined(page: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

/// What each `](…)` of a line says.
fn targets(line: &str) -> Vec<&str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
        .filter(|target| !target.is_empty())
        .collect()
}

/// The headings of a page as links name them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| {
        let plain = line.trim_start_matches('#').trim().to_lowercase();
        let kept = plain.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = |link: &str| File::new("docs/x.md".into(), format!("# Some `thing`, else\n\nSee [it]({link}).\n"));
    let other = || File::new("docs/a/b.md".into(), "## How it is asked\n".into());
    for link in ["a/b.md", "a/b.md#how-it-is-asked", "#some-thing-else", "../docs/a/b.md", "a/", "https://x.example/y"]
    {
        assert_eq!(lead_somewhere(&[page(link), other()]), Vec::<String>::new(), "{link}");
    }
    for link in ["a/c.md", "a/b.md#asked", "#thing", "../a/b.md", "../../x.md"] {
        assert_eq!(lead_somewhere(&[page(link), other()]).len(), 1, "{link}");
    }
}
