//! The history of the config repo as git has it, read from a clone. What it should be is in
//! `expectations`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::clusters::{GitSource, run_git};

/// Marks the start of a commit in git's output; no path begins with it.
const MARK: char = '\u{1}';

/// One step of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The commit.
    pub sha: String,
    /// Who wrote it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// Lines added and removed by path.
    pub files: BTreeMap<String, (u64, u64)>,
}

/// The branches that tell what was decided and done, oldest step first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The config repo's main branch after its first commit, one step per merge.
    pub main: Vec<Step>,
    /// The bot's ledger; empty where there is no such branch.
    pub ledger: Vec<Step>,
}

impl History {
    /// Clones into `folder` and reads both branches.
    ///
    /// # Errors
    /// When git fails.
    pub async fn read(source: &GitSource, folder: &Path) -> anyhow::Result<Self> {
        tokio::fs::create_dir_all(folder).await?;
        run_git(folder, source, &["init", "--quiet", "--bare", "."]).await?;
        run_git(folder, source, &["fetch", "--quiet", "--no-tags", &source.url, "+refs/heads/*:refs/heads/*"]).await?;
        let mut main = steps(source, folder, &source.branch).await?;
        main.remove(0);
        let ledger = steps(source, folder, "coldframe-ledger").await?;
        Ok(Self { main, ledger })
    }
}

async fn steps(source: &GitSource, folder: &Path, branch: &str) -> anyhow::Result<Vec<Step>> {
    let name = format!("refs/heads/{branch}");
    let there = run_git(folder, source, &["for-each-ref", "--format=%(refname)", &name]).await?;
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let format = format!("--format={MARK}%H%x09%an%x09%s");
    let arguments =
        ["log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--numstat", "--root", &format, &name];
    Ok(parse(&String::from_utf8_lossy(&run_git(folder, source, &arguments).await?)))
}

fn parse(log: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in log.lines() {
        if let Some(head) = line.strip_prefix(MARK) {
            let mut parts = head.splitn(3, '\t').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            steps.push(Step { sha: next(), author: next(), subject: next(), files: BTreeMap::new() });
        } else if let (Some(step), [added, removed, path]) =
            (steps.last_mut(), line.splitn(3, '\t').collect::<Vec<_>>().as_slice())
        {
            // Git writes a dash for binary files, which no manifest is.
            let count = |text: &str| text.parse().unwrap_or(u64::MAX);
            step.files.insert((*path).to_owned(), (count(added), count(removed)));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_output_is_read() {
        let log = "\u{1}aa\tbot\tMove it\n\n1\t1\tclusters/qa/a.yaml\n2\t0\tb c.yaml\n\u{1}bb\tmaria\tNothing\tmuch\n";
        let steps = parse(log);
        assert_eq!(steps.len(), 2);
        assert_eq!(steps.first().map(|step| step.files.get("b c.yaml")), Some(Some(&(2, 0))));
        assert_eq!(steps.last().map(|step| step.subject.as_str()), Some("Nothing\tmuch"));
    }
}
