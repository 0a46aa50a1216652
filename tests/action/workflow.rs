//! README's workflow as text, and the few changes that point it at the sandbox. How it is run is in
//! `runner`.

use std::path::Path;

use crate::runner::Release;
use crate::support::Stage;

/// A workflow file.
#[derive(Clone)]
pub struct Workflow(pub String);

impl Workflow {
    /// The one block of YAML under README's heading about the Action.
    pub fn of_readme() -> Self {
        let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
        let (_, section) = readme.split_once("\n## As an Action\n").expect("README has the section");
        let section = section.split("\n## ").next().unwrap();
        let (_, block) = section.split_once("```yaml\n").expect("with a workflow");
        let (block, rest) = block.split_once("\n```").unwrap();
        assert!(!rest.contains("```yaml"), "one workflow, not two");
        Self(format!("{block}\n"))
    }

    /// The workflow of docs/releases.md for the pull requests of a catalog.
    pub fn of_catalog() -> Self {
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/releases.md")).unwrap();
        let (_, block) = page.split_once("```yaml workflow\n# .github/workflows/definitions.yml").expect("it is there");
        let block = block.split_once("\n```").unwrap().0;
        Self(format!("#{block}\n"))
    }

    /// The same with the Action of this tree.
    pub fn for_catalog(&self, release: &Release) -> Self {
        let text = self.0.replace("coldframe/coldframe@v0.1.0", "./action");
        let given = format!("{{compare: \"HEAD^1..HEAD\", download-url: \"{}\"}}", release.url());
        Self(
            text.replace("{compare: \"HEAD^1..HEAD\"}", &given)
                .replace("on: pull_request", "on: [pull_request, issue_comment]"),
        )
    }

    /// The same with two other commits.
    pub fn comparing(&self, commits: &str) -> Self {
        Self(self.0.replace("HEAD^1..HEAD", commits))
    }

    /// The Action of this tree instead of the released one, checked out before, and the sandbox as hub.
    pub fn pointed_at(self, stage: &Stage, release: &Release) -> Self {
        let line = self.line("- uses: coldframe/coldframe@");
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let here = format!("{indent}- uses: actions/checkout@v4\n{indent}- uses: ./action");
        let given = stage.world.settings();
        Self(self.0.replace(&line, &here)).with(&[
            ("hub", &given.hub),
            ("repository", &given.repository),
            ("allow-hosts", &given.allow_hosts.join(",")),
            ("download-url", release.url()),
        ])
    }

    /// The same with these inputs; one that is there already gets the new value.
    pub fn with(&self, inputs: &[(&str, &str)]) -> Self {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        let mut workflow = self.without(&names);
        let with = workflow.line("with:");
        let indent = " ".repeat(with.len() - with.trim_start().len() + 2);
        let more: String = inputs.iter().map(|(name, value)| format!("\n{indent}{name}: \"{value}\"")).collect();
        workflow.0 = workflow.0.replace(&with, &format!("{with}{more}"));
        workflow
    }

    /// The same without these inputs.
    pub fn without(&self, names: &[&str]) -> Self {
        let is_one = |line: &str| names.iter().any(|name| line.trim_start().starts_with(&format!("{name}: ")));
        let mut text: String = self.0.lines().filter(|line| !is_one(line)).collect::<Vec<_>>().join("\n");
        text.push('\n');
        Self(text)
    }

    /// Started by this event too.
    pub fn also_on(&self, event: &str) -> Self {
        let line = self.line("workflow_dispatch:");
        let more = line.replace("workflow_dispatch", event);
        Self(self.0.replace(&line, &format!("{line}\n{more}")))
    }

    fn line(&self, start: &str) -> String {
        let mut found = self.0.lines().filter(|line| line.trim_start().starts_with(start));
        let line = found.next().unwrap_or_else(|| panic!("README's workflow has no line `{start}`:\n{}", self.0));
        assert!(found.next().is_none(), "README's workflow has `{start}` twice");
        line.to_owned()
    }
}
