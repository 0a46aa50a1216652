//! The keys of what every pull request gets beside its text.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::body;
use super::windows::WindowsFile;
use crate::wiring::{Body, Reviewer};
use parse::branches;
use parse::forms::List;
use parse::problem::quoted;
use parse::read::{FromNode, record};
use parse::report::Report;
use parse::scalar::{Refusal, scalar};
use parse::tree::Node;

record! {
    /// What every pull request of the bot gets beside its text.
    PullRequestsFile = "pullRequests" {
        /// Labels that each pull request gets when it is opened; what people take off stays off. Default none.
        optional labels "labels": List<Label>,
        /// People who are assigned when it is opened, ten at most. Default none.
        optional assignees "assignees": List<Login>,
        /// People and teams (`acme/platform`) who are asked for a review when it is opened, fifteen at most. Default none: the hub asks the code owners by itself.
        optional reviewers "reviewers": List<ReviewerName>,
        /// What every title and the subject of every commit begin with, such as `chore(deps):`. Default nothing.
        optional prefix "prefix": Prefix,
        /// Markdown that stands on every pull request, such as a link to your runbook. `{plugin}`, `{tier}` and `{version}` are replaced. Default nothing.
        optional note "note": Note,
        /// Your own arrangement of the text of pull requests: Markdown, in which `{summary}`, `{status}`, `{climb}`, `{note}`, `{changes}`, `{releaseNotes}` and `{help}`, each alone on its line, are what the bot says. `{summary}`, `{status}` and `{help}` are needed. `{plugin}`, `{tier}` and `{version}` are replaced. Default: these seven in this order.
        optional body "body": BodyText,
        /// When pull requests are opened. What is open moves and merges by the windows of the file; a hotfix opens at once, and so does a rollback, the next slice of a climb, and what somebody asks for in the dashboard issue. Default at any time: people can review before a window of merges opens.
        optional windows "windows": WindowsFile,
    }
    unsupported []
}

scalar!(
    /// The name of a label.
    Label(String), "the name of a label", label,
    {"type": "string", "minLength": 1, "maxLength": 50, "examples": ["promotion"]}
);
scalar!(
    /// The login of a person.
    Login(String), "a login such as `maria`", login,
    {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$"}
);
scalar!(
    /// A person or a team who reviews.
    ReviewerName(Reviewer), "a login such as `maria`, or a team such as `acme/platform`", reviewer,
    {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,38}(/[A-Za-z0-9._-]{1,100})?$", "examples": ["maria", "acme/platform"]}
);
scalar!(
    /// A team of an organization.
    TeamName(String), "a team such as `acme/platform`", team,
    {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{1,100}$", "examples": ["acme/platform"]}
);
scalar!(
    /// What a title begins with.
    Prefix(String), "a text such as `chore(deps):`", prefix,
    {"type": "string", "minLength": 1, "maxLength": 40, "examples": ["chore(deps):"]}
);

scalar!(
    /// A paragraph of the policy's own on every pull request.
    Note(String), "Markdown such as `Runbook: https://wiki.example/{plugin}`", note,
    {"type": "string", "minLength": 1, "maxLength": 2000, "examples": ["Runbook: https://wiki.example/{plugin}"]}
);

scalar!(
    /// An arrangement of the text of pull requests.
    BodyText(Body), "Markdown with `{summary}`, `{status}` and `{help}`, each on a line of its own", body::body,
    {"type": "string", "minLength": 1, "maxLength": 4000,
     "examples": ["Questions: #platform-plugins\n\n{summary}\n{status}\n{climb}\n{help}\n"]}
);

fn label(text: &str) -> Result<String, Refusal> {
    let text = line(text, 50)?;
    if text.to_ascii_lowercase().starts_with(branches::PREFIX) {
        let why = format!("{} would be a label that people speak to the bot with", quoted(&text));
        return Err(Refusal::new(why).help("take a name that does not begin with `coldframe/`"));
    }
    Ok(text)
}

fn prefix(text: &str) -> Result<String, Refusal> {
    line(text, 40)
}

/// What stands on a pull request beside the bot's own words, and cannot be taken for them.
fn note(text: &str) -> Result<String, Refusal> {
    let text = body::markdown(text, 2_000)?;
    if let Some(heading) = text.lines().find(|line| line.starts_with('#')) {
        let why = format!("{} would be a heading, and the headings are the bot's own", quoted(heading));
        return Err(Refusal::new(why).help("write it in bold: `**…**`"));
    }
    Ok(text.to_string())
}

/// One line of at most so many characters.
fn line(text: &str, most: usize) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > most || text.chars().any(char::is_control) {
        return Err(Refusal::new(format!("it must be one line of 1 to {most} characters")));
    }
    Ok(text.to_string())
}

fn login(text: &str) -> Result<String, Refusal> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if first && text.len() <= 39 && text.bytes().all(good) {
        return Ok(text.to_string());
    }
    let help = text.strip_prefix('@').map_or("write the name alone, such as `maria`".to_string(), |name| {
        format!("write it without the `@`: {}", quoted(name))
    });
    Err(Refusal::new(format!("{} is not a login", quoted(text))).help(help))
}

fn reviewer(text: &str) -> Result<Reviewer, Refusal> {
    let Some((organization, slug)) = text.split_once('/') else { return login(text).map(Reviewer::Person) };
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if slug.is_empty() || slug.len() > 100 || !slug.bytes().all(good) {
        return Err(no_team(text));
    }
    Ok(Reviewer::Team { organization: login(organization)?, slug: slug.to_string() })
}

fn team(text: &str) -> Result<String, Refusal> {
    if let Some(bare) = text.strip_prefix('@') {
        let help = format!("write it without the `@`: {}", quoted(bare));
        return Err(Refusal::new(format!("{} is not a team", quoted(text))).help(help));
    }
    match reviewer(text)? {
        Reviewer::Team { organization, slug } => Ok(format!("{organization}/{slug}")),
        Reviewer::Person(_) => Err(no_team(text)),
    }
}

fn no_team(text: &str) -> Refusal {
    Refusal::new(format!("{} is not a team", quoted(text))).help("write it as in `acme/platform`")
}
