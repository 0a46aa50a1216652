//! The rungs of the ladder: defaults and what is allowed together on one tier.

use std::collections::BTreeMap;

use decide::model::{Approvals, Empty, Force, HealthRule, Merge, MergeRule, OnFailure, Soak, Strategy};
use decide::selector::{Expression, Operator, Selector};
use decide::{Tier, TierName};
use jiff::SignedDuration;

use super::context::Context;
use super::limits;
use super::strategy::strategy;
use crate::file::Word;
use crate::file::{
    ApprovalsFile, ExpressionFile, ForceFile, HealthFile, MergeByBumpFile, MergeWord, OnFailureFile, SelectFile,
    SoakFile, TierFile,
};
use crate::windows::windows;
use parse::forms::{self, Either, List};
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Name;
use parse::tree::Span;
use parse::when::Length;

/// Fills the ladder of the context in; no tiers at all are one tier with every cluster.
pub fn ladder(tiers: Option<Spanned<List<TierFile>>>, context: &mut Context, report: &mut Report) {
    let Some(tiers) = tiers else {
        context.ladder = vec![all(context.max_age)];
        let name = Spanned { value: Name("all".to_string()), at: Span::default(), key: Span::default() };
        context.tiers = vec![TierFile { name: Some(name), ..TierFile::default() }];
        return;
    };
    if tiers.value.is_empty() {
        report.problem(tiers.at, "`tiers` is an empty list", Some("take the key out for one tier with every cluster"));
    }
    let several = tiers.value.items.len() > 1;
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in tiers.value.items {
        let Some(name) = &file.value.name else { continue };
        let text = name.value.0.clone();
        if let Some(line) = lines.get(&text) {
            let help = format!("the first is on line {line}; keep one");
            report.problem(name.at, format!("two tiers are called `{text}`"), Some(&help));
            continue;
        }
        lines.insert(text.clone(), name.at.line);
        if several && file.value.select.is_none() && !file.value.refused {
            let help = "add it, such as `select: {matchLabels: {tier: gold}}`; without one, it takes every cluster";
            report.problem(name.at, format!("tier `{text}` has no `select`, and there are other tiers"), Some(help));
        }
        if !context.ladder.is_empty() {
            first_only(&file.value, report);
        } else if let Some(early) = file.value.early.as_ref().filter(|early| !early.value.is_empty()) {
            let message = format!("tier `{text}` is the first, and no cluster can be ahead of it");
            let help = "put the clusters that go first into a tier of their own";
            report.problem(early.key, message, Some(help));
        }
        if let Some(tier) = tier(&file.value, context, report) {
            context.ladder.push(tier);
        }
        context.tiers.push(file.value);
    }
    for file in &context.tiers {
        let title = file.name.as_ref().map_or_else(String::new, |name| format!("tier `{}`", name.value.0));
        report.within(title, |report| covers(file, context, report));
    }
}

/// Reports covered tiers that do not exist or lie below: their turn is over when this one approves.
pub fn covers(file: &TierFile, context: &Context, report: &mut Report) {
    let Some(approvals) = &file.approvals else { return };
    let place = |name: &str| context.ladder.iter().position(|tier| tier.name.as_str() == name);
    let own = file.name.as_ref().and_then(|name| place(&name.value.0));
    for name in approvals.value.covers.iter().flat_map(|list| &list.value.items) {
        let known = report.within_key("approvals", |report| context.knows_tier(name, report));
        if known && place(&name.value.0) < own {
            let why = format!("`covers` names tier `{}`, which lies below", name.value.0);
            let help = "name this tier or tiers above: a release comes here after it has finished the tiers below";
            report.within_key("approvals", |report| report.wrong(name.at, &why, Some(help)));
        }
    }
}

/// The ladder of a file that names no tiers.
fn all(max_age: SignedDuration) -> Tier {
    let health = HealthRule { max_age, ..HealthRule::default() };
    Tier { health, ..Tier::new(TierName::from("all"), Selector::default()) }
}

/// One tier with every default filled in; none when it has no name.
pub fn tier(file: &TierFile, context: &Context, report: &mut Report) -> Option<Tier> {
    let name = file.name.as_ref()?.value.0.clone();
    report.within(format!("tier `{name}`"), |report| {
        let merge = file.merge.as_ref().map_or(MergeRule::default(), |merge| merge_rule(&merge.value));
        let approvals = approvals(file.approvals.as_ref(), report);
        let asks = [merge.patch, merge.minor, merge.major].iter().any(|merge| *merge != Merge::Automatic);
        if let Some(given) = &file.approvals
            && asks
            && !approvals.code_owners
            && approvals.at_least == 0
        {
            report.warning(
                given.key,
                format!("tier `{name}` asks for approvals, and nobody's are needed"),
                Some("say `merge: automatic` if that is meant"),
            );
        }
        if let Some(force) = &file.force
            && !asks
        {
            report.warning(
                force.key,
                format!("tier `{name}` asks for no approvals, so that force has nothing to waive"),
                None,
            );
        }
        if let (Some(announce), Some(force)) = (&file.announce, &file.force)
            && force.value.after.as_ref().is_some_and(|after| after.value.0 < announce.value.0)
        {
            let message = format!("tier `{name}` tells people longer before a merge than its grace period lasts");
            report.warning(announce.at, message, Some("make `announce` shorter than `after` of `force`"));
        }
        let select = file.select.as_ref().map(|select| selector(select, report)).unwrap_or_default();
        let follows = matches!(
            file.merge.as_ref().map(|merge| &merge.value),
            Some(Either::Short(forms::Word(MergeWord::Nobody, _)))
        );
        let resolved =
            Tier {
                branch: file.branch.as_ref().map(|branch| branch.value.0.clone()),
                merge,
                follows,
                approvals,
                soak: file.soak.as_ref().map(|soak| soak_of(&soak.value, report)).unwrap_or_default(),
                health: report.within_key("health", |report| health(file.health.as_ref(), context.max_age, report)),
                windows: file.windows.as_ref().and_then(|file| {
                    report.within_key("windows", |report| windows(file, context.zone.as_ref(), report))
                }),
                constraint: file.constraint.as_ref().map(|constraint| constraint.value.0.clone()),
                force: file.force.as_ref().and_then(|file| report.within_key("force", |report| force(file, report))),
                empty: file.empty.as_ref().map_or(Empty::default(), |word| word.value.0),
                on_failure: file.on_failure.as_ref().map_or(OnFailure::default(), |given| on_failure(&given.value)),
                announce: file.announce.as_ref().map_or(SignedDuration::ZERO, |length| length.value.0),
                watch: file.watch.as_ref().map_or(SignedDuration::ZERO, |length| length.value.0),
                strategy: file.strategy.as_ref().map_or(Strategy::default(), |given| {
                    report.within_key("strategy", |report| strategy(given, report))
                }),
                verify: file.verify.as_ref().and_then(|file| super::strategy::workflow(file, report)),
                early: super::strategy::early(file, context, report),
                ..Tier::new(TierName::new(name.clone()), select)
            };
        if let Some(given) = &file.on_failure
            && let OnFailure::RollBack { .. } = resolved.on_failure
            && follows
        {
            let message = format!("tier `{name}` follows releases by itself, so that the bot takes nothing back there");
            report.warning(given.key, message, Some("say `onFailure: hold` or `stall`"));
        }
        if let Some(given) = file.verify.as_ref().filter(|_| follows) {
            let why = "releases come here by themselves, so that nobody waits for a workflow";
            report.wrong(given.key, why, Some("let the tier above have it"));
        }
        limits::tier(file, &resolved, &context.limits, report);
        Some(resolved)
    })
}

fn on_failure(file: &Either<Word<OnFailure>, OnFailureFile>) -> OnFailure {
    match file {
        Either::Short(word) => word.0,
        Either::Long(file) => {
            let merge = file.roll_back.as_ref().and_then(|roll_back| roll_back.value.merge.as_ref());
            OnFailure::RollBack { merge: merge.map_or(Merge::Approved, |word| word.value.0) }
        }
    }
}

/// A tier above the first one gets what has finished the tier below; nothing else may move it.
pub fn first_only(file: &TierFile, report: &mut Report) {
    let nobody =
        file.merge.as_ref().filter(|merge| matches!(merge.value, Either::Short(forms::Word(MergeWord::Nobody, _))));
    if let (Some(merge), Some(name)) = (nobody, &file.name) {
        let message =
            format!("tier `{}` is not the first, and only the first may follow releases by itself", name.value.0);
        let help = "say who merges there: `automatic`, `approved` or `manual`";
        report.problem(merge.at, message, Some(help));
    }
}

fn merge_rule(file: &Either<Word<MergeWord>, MergeByBumpFile>) -> MergeRule {
    match file {
        Either::Short(forms::Word(MergeWord::All(merge), _)) => MergeRule::all(*merge),
        // Nothing is merged there, so that nobody is asked.
        Either::Short(forms::Word(MergeWord::Nobody, _)) => MergeRule::all(Merge::Automatic),
        Either::Long(file) => {
            let word =
                |given: &Option<Spanned<Word<Merge>>>| given.as_ref().map_or(Merge::default(), |word| word.value.0);
            MergeRule { patch: word(&file.patch), minor: word(&file.minor), major: word(&file.major) }
        }
    }
}

fn approvals(file: Option<&Spanned<ApprovalsFile>>, report: &mut Report) -> Approvals {
    let default = Approvals::default();
    let Some(file) = file else { return default };
    let at_least = file.value.at_least.as_ref().map_or(default.at_least, |count| count.value.0);
    if let Some(team) = file.value.team.as_ref().filter(|_| at_least == 0) {
        let why = "`team` says whose approvals count, and `atLeast: 0` asks for none";
        report.within_key("approvals", |report| report.wrong(team.key, why, Some("write `atLeast: 1` or more")));
    }
    Approvals {
        code_owners: file.value.code_owners.as_ref().map_or(default.code_owners, |flag| flag.value.0),
        at_least,
        team: file.value.team.as_ref().map(|team| format!("@{}", team.value.0)),
        each: file.value.each.as_ref().map_or(default.each, |word| word.value.0),
        covers: file
            .value
            .covers
            .iter()
            .flat_map(|list| &list.value.items)
            .map(|name| TierName::new(&*name.value.0))
            .collect(),
    }
}

fn soak_of(file: &Either<Length, SoakFile>, report: &mut Report) -> Soak {
    match file {
        Either::Short(length) => Soak::at_least(length.0),
        Either::Long(file) => report.within_key("soak", |report| longest_soak(file, report)),
    }
}

fn longest_soak(file: &SoakFile, report: &mut Report) -> Soak {
    let min = file.min.as_ref().map_or(SignedDuration::ZERO, |min| min.value.0);
    if let Some(max) = &file.max {
        let spell = decide::reason::spell;
        if max.value.0.is_zero() {
            let help = "make it longer, or take it out";
            report.wrong(max.at, "a `max` of no time at all would wait for no signal", Some(help));
        } else if max.value.0 < min {
            let why = format!("`max` ({}) is shorter than `min` ({})", spell(max.value.0), spell(min));
            let help = "make it longer: it is the end of waiting for a missing signal, after the whole soak";
            report.wrong(max.at, &why, Some(help));
        }
    }
    Soak { min, max: file.max.as_ref().map(|max| max.value.0) }
}

fn health(file: Option<&Spanned<HealthFile>>, max_age: SignedDuration, report: &mut Report) -> HealthRule {
    let default = HealthRule { max_age, ..HealthRule::default() };
    let Some(file) = file else { return default };
    let mut above_zero = |given: &Option<Spanned<Length>>, key: &'static str, default: SignedDuration| {
        let Some(given) = given else { return default };
        if given.value.0.is_zero() {
            report.within_key(key, |report| {
                report.wrong(given.at, "no time at all cannot be kept", Some("make it longer"))
            });
        }
        given.value.0
    };
    HealthRule {
        progress_deadline: above_zero(&file.value.progress_deadline, "progressDeadline", default.progress_deadline),
        max_age: above_zero(&file.value.max_age, "maxAge", default.max_age),
        degraded_for: file.value.degraded_for.as_ref().map_or(default.degraded_for, |length| length.value.0),
        max_failures: file.value.max_failures.as_ref().map_or(default.max_failures, |count| count.value.0),
        max_unknown: file.value.max_unknown.as_ref().map_or(default.max_unknown, |count| count.value.0),
    }
}

fn force(file: &Spanned<ForceFile>, report: &mut Report) -> Option<Force> {
    let after = file.value.after.as_ref()?;
    if after.value.0.is_zero() {
        report.wrong(after.at, "`after` is no time at all", Some("say `merge: automatic` if nobody needs to approve"));
    }
    let given = file.value.notice.as_ref().map(|notice| notice.value.items.as_slice()).unwrap_or_default();
    let mut notice: Vec<SignedDuration> = Vec::new();
    for item in given {
        let before = item.value.0;
        if before > after.value.0 {
            let why = format!(
                "a notice {} before the deadline is longer than `after` ({})",
                decide::reason::spell(before),
                decide::reason::spell(after.value.0)
            );
            report.wrong(
                item.at,
                &why,
                Some("make it shorter than `after`: the clock starts when the pull request is announced"),
            );
        } else if notice.contains(&before) {
            report.wrong(
                item.at,
                &format!("the notice of {} stands here twice", decide::reason::spell(before)),
                Some("keep one"),
            );
        }
        notice.push(before);
    }
    if file.value.notice.as_ref().is_none_or(|list| list.value.is_empty()) {
        let message = "nobody is told before the bot merges by force".to_string();
        report.warning(file.key, message, Some("add `notice:`, such as `notice: [14d, 3d, 1d]`"));
    }
    notice.sort_unstable_by(|a, b| b.cmp(a));
    Some(Force { after: after.value.0, notice })
}

/// A label selector.
pub fn selector(file: &Spanned<SelectFile>, report: &mut Report) -> Selector {
    let labels = file.value.match_labels.as_ref().map(|table| table.value.0.as_slice()).unwrap_or_default();
    let expressions = file.value.match_expressions.as_ref().map(|list| list.value.items.as_slice()).unwrap_or_default();
    Selector {
        match_labels: labels.iter().map(|(key, value)| (key.value.0.clone(), value.value.0.clone())).collect(),
        match_expressions: expressions.iter().filter_map(|file| expression(file, report)).collect(),
    }
}

fn expression(file: &Spanned<ExpressionFile>, report: &mut Report) -> Option<Expression> {
    let operator = file.value.operator.as_ref()?;
    let values: Vec<String> =
        file.value.values.iter().flat_map(|list| &list.value.items).map(|value| value.value.0.clone()).collect();
    let (needs, word) = match operator.value.0 {
        Operator::In => (true, "In"),
        Operator::NotIn => (true, "NotIn"),
        Operator::Exists => (false, "Exists"),
        Operator::DoesNotExist => (false, "DoesNotExist"),
    };
    if needs
        && values.is_empty()
        && !file.value.refused
        && file.value.values.as_ref().is_none_or(|list| list.value.is_empty())
    {
        report.problem(operator.at, format!("`{word}` compares with nothing"), Some("add `values: […]`"));
    }
    if let Some(given) = &file.value.values
        && !needs
        && !values.is_empty()
    {
        report.problem(
            given.at,
            format!("`{word}` takes no values"),
            Some("take `values` out, or say `In` or `NotIn`"),
        );
    }
    Some(Expression { key: file.value.key.as_ref()?.value.0.clone(), operator: operator.value.0, values })
}
