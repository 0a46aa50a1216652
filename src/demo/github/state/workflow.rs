//! A run of a workflow.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// A dispatched run. It runs until somebody says how it ended.
#[derive(Clone, Debug)]
pub struct WorkflowRun {
    /// Its id.
    pub id: u64,
    /// The workflow's file.
    pub workflow: String,
    /// The workflow's name.
    pub name: String,
    /// Its own title.
    pub title: String,
    /// Who dispatched it.
    pub actor: String,
    /// On which branch.
    pub branch: String,
    /// At which commit.
    pub head_sha: String,
    /// What it was given.
    pub inputs: BTreeMap<String, String>,
    /// `success` or `failure`, once it has ended.
    pub conclusion: Option<String>,
    /// When it was dispatched.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
