//! The keys of a tier, and of what a plugin has different on one, written out.

use decide::Tier;
use decide::model::{
    Approvals, Each, Early, Empty, Force, HealthRule, MaxUpdate, Merge, MergeRule, OnFailure, Promote, Soak, Step,
    Strategy, Verify,
};
use serde_yaml::{Mapping, Value};

use super::{length, lengths, list, map, names, plain, put, put_or_default, windows_of};
use crate::file::{ApprovalsFile, OverrideFile};
use parse::read::Shape;

/// A tier with every key that `shape` knows; an override knows fewer than a tier.
pub(super) fn tier_of(tier: &Tier, shape: &Shape) -> Value {
    let Tier {
        name,
        select,
        branch,
        merge,
        follows,
        approvals,
        announce,
        soak,
        health,
        windows,
        constraint,
        force,
        on_failure,
        strategy,
        watch,
        verify,
        empty,
        early,
    } = tier;
    let mut out = Mapping::new();
    put(&mut out, "name", name.as_str());
    put(&mut out, "select", plain(select));
    if let Some(branch) = branch {
        put(&mut out, "branch", branch.as_str());
    }
    put(&mut out, "merge", if *follows { Value::from("none") } else { merge_of(*merge) });
    put(&mut out, "approvals", approvals_of(approvals));
    put_or_default(&mut out, shape, "announce", length(*announce), announce.is_zero());
    put(&mut out, "soak", soak_of(*soak));
    put(&mut out, "health", health_of(*health));
    if let Some(windows) = windows {
        put(&mut out, "windows", windows_of(windows));
    }
    if let Some(constraint) = constraint {
        put(&mut out, "constraint", constraint.as_str());
    }
    if let Some(Force { after, notice }) = force {
        put(&mut out, "force", map([("after", length(*after)), ("notice", lengths(notice))]));
    }
    put(&mut out, "onFailure", on_failure_of(*on_failure));
    put(&mut out, "strategy", strategy_of(strategy));
    put_or_default(&mut out, shape, "watch", length(*watch), watch.is_zero());
    if let Some(verify) = verify {
        put(&mut out, "verify", verify_of(verify));
    }
    put_or_default(&mut out, shape, "empty", plain(empty), *empty == Empty::default());
    if !early.is_empty() {
        put(&mut out, "early", list(early, early_of));
    }
    out.retain(|key, _| key.as_str() == Some("name") || !is_override(shape) || knows(shape, key));
    Value::Mapping(out)
}

fn on_failure_of(on_failure: OnFailure) -> Value {
    match on_failure {
        OnFailure::Hold | OnFailure::Stall => plain(&on_failure),
        OnFailure::RollBack { merge } => map([("rollBack", map([("merge", plain(&merge))]))]),
    }
}

fn is_override(shape: &Shape) -> bool {
    shape.what == OverrideFile::SHAPE.what
}

fn knows(shape: &Shape, key: &Value) -> bool {
    key.as_str().is_some_and(|key| shape.keys.iter().any(|known| known.name == key))
}

fn early_of(Early { select, until }: &Early) -> Value {
    let mut early = Mapping::new();
    put(&mut early, "select", plain(select));
    if let Some(until) = until {
        put(&mut early, "until", until.to_string());
    }
    Value::Mapping(early)
}

fn merge_of(MergeRule { patch, minor, major }: MergeRule) -> Value {
    let word = |merge: Merge| plain(&merge);
    if patch == minor && minor == major {
        return word(patch);
    }
    map([("patch", word(patch)), ("minor", word(minor)), ("major", word(major))])
}

fn approvals_of(Approvals { code_owners, at_least, team, each, covers }: &Approvals) -> Value {
    let mut approvals = Mapping::new();
    put(&mut approvals, "codeOwners", *code_owners);
    put(&mut approvals, "atLeast", *at_least);
    if let Some(team) = team {
        put(&mut approvals, "team", team.trim_start_matches('@'));
    }
    let shape = &ApprovalsFile::SHAPE;
    put_or_default(&mut approvals, shape, "each", plain(each), *each == Each::default());
    if !covers.is_empty() {
        put(&mut approvals, "covers", names(covers));
    }
    Value::Mapping(approvals)
}

fn soak_of(Soak { min, max }: Soak) -> Value {
    match max {
        None => length(min),
        Some(max) => map([("min", length(min)), ("max", length(max))]),
    }
}

fn health_of(rule: HealthRule) -> Value {
    let HealthRule { progress_deadline, degraded_for, max_failures, max_unknown, max_age } = rule;
    map([
        ("progressDeadline", length(progress_deadline)),
        ("degradedFor", length(degraded_for)),
        ("maxFailures", Value::from(max_failures)),
        ("maxUnknown", Value::from(max_unknown)),
        ("maxAge", length(max_age)),
    ])
}

fn strategy_of(strategy: &Strategy) -> Value {
    let one = |key: &str, value: Value| map([(key, value)]);
    match strategy {
        Strategy::AllAtOnce => Value::from("allAtOnce"),
        Strategy::RollingUpdate { max_update, by } => {
            let mut keys = Mapping::new();
            let most = match max_update {
                MaxUpdate::All => Value::from(0),
                MaxUpdate::Count(count) => Value::from(*count),
                MaxUpdate::Percent(share) => Value::from(format!("{share}%")),
            };
            put(&mut keys, "maxUpdate", most);
            if let Some(by) = by {
                put(&mut keys, "by", by.as_str());
            }
            one("rollingUpdate", Value::Mapping(keys))
        }
        Strategy::Canary { steps } => one("canary", one("steps", list(steps, step))),
        Strategy::BlueGreen { preview, verify, promote } => {
            let promote = match promote {
                Promote::Automatic => "automatic",
                Promote::Manual => "manual",
            };
            let mut keys = Mapping::new();
            put(&mut keys, "preview", plain(preview));
            if let Some(verify) = verify {
                put(&mut keys, "verify", verify_of(verify));
            }
            put(&mut keys, "promote", promote);
            one("blueGreen", Value::Mapping(keys))
        }
        Strategy::Delegated => one("delegated", Value::from(true)),
    }
}

fn step(step: &Step) -> Value {
    match step {
        Step::SetWeight(weight) => map([("setWeight", Value::from(*weight))]),
        Step::Pause(None) => map([("pause", Value::Mapping(Mapping::new()))]),
        Step::Pause(Some(duration)) => map([("pause", map([("duration", length(*duration))]))]),
        Step::Verify { workflow, timeout } => {
            map([("verify", verify_of(&Verify { workflow: workflow.clone(), timeout: *timeout }))])
        }
    }
}

fn verify_of(Verify { workflow, timeout }: &Verify) -> Value {
    map([("workflow", Value::from(workflow.as_str())), ("timeout", length(*timeout))])
}
