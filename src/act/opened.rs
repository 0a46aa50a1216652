//! What a pull request gets once, when it is opened: labels, assignees, reviewers. What people change of it afterwards
//! stays as they leave it, and none of it stops a promotion.

use decide::PullNumber;

use super::line::Line;
use crate::hub::HubError;
use crate::policy::wiring::{PullRequests, Reviewer};

/// Adds what the policy asks for. What the hub refuses stands in the log.
pub(super) async fn add(line: &Line, number: PullNumber, wanted: &PullRequests) {
    let hub = line.context.repo.hub.leisurely();
    let PullRequests { labels, assignees, reviewers, prefix: _, note: _, body: _ } = wanted;
    if !labels.is_empty() {
        told(line, number, labels, hub.add_labels(number, labels).await);
    }
    if !assignees.is_empty() {
        told(line, number, assignees, hub.assign(number, assignees).await);
    }
    if !reviewers.is_empty() {
        let (mut people, mut teams) = (Vec::new(), Vec::new());
        for reviewer in reviewers {
            match reviewer {
                Reviewer::Person(login) => people.push(login.as_str()),
                Reviewer::Team { slug, .. } => teams.push(slug.as_str()),
            }
        }
        let names: Vec<String> = reviewers.iter().map(ToString::to_string).collect();
        told(line, number, &names, hub.ask_for_reviews(number, &people, &teams).await);
    }
}

fn told(line: &Line, pull: PullNumber, names: &[String], became: Result<(), HubError>) {
    if let Err(error) = became {
        let names = names.join(", ");
        tracing::warn!(repository = %line.context.repo.full_name(), %pull, %names, %error, "`pullRequests` of the policy was not followed");
    }
}
