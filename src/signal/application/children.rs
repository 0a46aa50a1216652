//! Applications that an Application brings: since Argo CD 1.8 their health is no part of its own.

use decide::snapshot::Health;
use serde_json::Value;

use super::{API, Source, state};
use crate::object::{Object, Verdict, later};
use crate::settings::name;
use crate::target::{Target, title};

/// So many are read; who brings more is not the Application of a plugin.
const MOST: usize = 16;

/// What has to be read: the Applications that it brings, where they are few enough.
pub(super) fn targets(parent: Object<'_>) -> Vec<Target> {
    let targets = brought(parent);
    if targets.len() > MOST { Vec::new() } else { targets }
}

/// The Applications that it brings, itself apart; of too many one too many.
fn brought(parent: Object<'_>) -> Vec<Target> {
    let own = (parent.text("/metadata/namespace"), parent.text("/metadata/name"));
    let resources = parent.list("/status/resources").iter().map(Object);
    let of_kind = |one: &Object<'_>| one.text("/group") == Some(API.group) && one.text("/kind") == Some(API.kind);
    let named = |one: Object<'_>| {
        let namespace = one.text("/namespace").or(own.0)?;
        let child = one.text("/name").filter(|child| (Some(namespace), Some(*child)) != own)?;
        let namespace = name("namespace", namespace.to_string()).ok()?;
        Some(API.named(Some(namespace), name("name", child.to_string()).ok()?))
    };
    resources.filter(of_kind).filter_map(named).take(MOST + 1).collect()
}

/// What is said of the parent, with what its children say: all of them have to be healthy.
pub(super) fn with(mut verdict: Verdict, parent: Object<'_>, more: &[Option<Value>]) -> Verdict {
    let targets = brought(parent);
    if verdict.health != Health::Healthy || targets.is_empty() {
        return verdict;
    }
    if targets.len() > MOST {
        verdict.health = Health::Unknown;
        verdict.evidence = format!("it brings more than {MOST} Applications: ask the one that is meant");
        return verdict;
    }
    for (place, target) in targets.iter().enumerate() {
        let child = more
            .get(place)
            .and_then(Option::as_ref)
            .map_or_else(|| Verdict::progressing("it is not there yet"), |child| of_child(Object(child)));
        if child.health != Health::Healthy {
            verdict.health = child.health;
            verdict.evidence = format!("{}, which it brings: {}", title(target), child.evidence);
            verdict.since = child.since;
            return verdict;
        }
        verdict.since = later(verdict.since, child.since);
    }
    let them = match targets.len() {
        1 => "the Application that it brings is".to_string(),
        count => format!("the {count} Applications that it brings are"),
    };
    verdict.evidence = format!("{}; {them} Healthy", verdict.evidence);
    verdict
}

/// Which version a child is of its parent has said.
fn of_child(child: Object<'_>) -> Verdict {
    match Source::of(child, None).or_else(|_| Source::of(child, Some(0))) {
        Ok(source) => state(child, &source),
        Err(why) => Verdict::unknown(why),
    }
}
