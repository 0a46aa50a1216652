//! In what order members move: what the steps mean, and that each cluster which moves apart from
//! others has a place of its own.

use decide::Tier;
use decide::model::{Early, MaxUpdate, Pin, Promote, Step, Strategy, Verify};
use jiff::{SignedDuration, Timestamp};

use super::context::Context;
use super::tier;
use crate::file::Word;
use crate::file::{
    BlueGreenFile, CanaryFile, EarlyFile, PinFile, PluginFile, RollingUpdateFile, SelectFile, StepFile, StrategyFile,
    StrategyWord, TierFile, VerifyFile,
};
use crate::wiring::Write;
use parse::forms::{self, Either};
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Count;
use parse::tree::Span;
use parse::when::{Instant, Until};

/// The strategy that a tier or a plugin names.
pub fn strategy(given: &Spanned<Either<Word<StrategyWord>, StrategyFile>>, report: &mut Report) -> Strategy {
    let file = match &given.value {
        Either::Short(forms::Word(StrategyWord::AllAtOnce, _)) => return Strategy::AllAtOnce,
        Either::Short(forms::Word(StrategyWord::Delegated, _)) => return Strategy::Delegated,
        Either::Long(file) => file,
    };
    let StrategyFile { rolling_update, canary, blue_green, delegated, refused, strange } = file;
    let keys = [
        rolling_update.as_ref().map(|one| one.key),
        canary.as_ref().map(|one| one.key),
        blue_green.as_ref().map(|one| one.key),
        delegated.as_ref().map(|one| one.key),
    ];
    let mut named = keys.into_iter().flatten();
    let (first, second) = (named.next(), named.next());
    if let Some(second) = second {
        report.wrong(second, "a tier has one strategy", Some("keep one of them"));
    }
    if first.is_none() && !refused && !strange {
        report.wrong(given.at, "an empty mapping names no strategy", Some("say `allAtOnce`, or take it out"));
    }
    match (rolling_update, canary, blue_green, delegated) {
        (Some(file), ..) => report.within_key("rollingUpdate", |report| rolling(&file.value, report)),
        (None, Some(file), ..) => report.within_key("canary", |report| by_weight(&file.value, report)),
        (None, None, Some(file), _) => report.within_key("blueGreen", |report| with_preview(&file.value, report)),
        (None, None, None, Some(flag)) if flag.value.0 => Strategy::Delegated,
        (None, None, None, Some(_) | None) => Strategy::AllAtOnce,
    }
}

fn rolling(file: &RollingUpdateFile, report: &mut Report) -> Strategy {
    if let (Some(_), Some(second)) = (&file.max_update, &file.max_unavailable) {
        report.wrong(second.key, "`maxUnavailable` is another name of `maxUpdate`", Some("keep one of them"));
    }
    // Who lets nobody be unavailable does not mean all at once.
    if let Some(none) = file.max_unavailable.as_ref().filter(|share| share.value.0 == MaxUpdate::All) {
        let help = "write how many may move at once, `maxUnavailable: 1` or `25%`; `strategy: allAtOnce` moves all";
        report.wrong(none.at, "a cluster is unavailable while it moves, so that none could move", Some(help));
    }
    let given = file.max_update.as_ref().or(file.max_unavailable.as_ref());
    let by = file.by.as_ref().map(|by| by.value.0.clone());
    Strategy::RollingUpdate { max_update: given.map_or(MaxUpdate::All, |share| share.value.0), by }
}

/// What a workflow may take unless the file says otherwise.
const TIMEOUT: SignedDuration = SignedDuration::from_mins(30);
/// The weights of a canary that names none.
const WEIGHTS: [u8; 3] = [25, 50, 75];

fn by_weight(file: &CanaryFile, report: &mut Report) -> Strategy {
    if file.steps.as_ref().is_none_or(|list| list.value.is_empty()) {
        return Strategy::Canary { steps: WEIGHTS.map(Step::SetWeight).to_vec() };
    }
    let mut steps = Vec::new();
    let mut heaviest = 0;
    for step in file.steps.iter().flat_map(|list| &list.value.items) {
        let StepFile { set_weight, pause, verify, refused, strange } = &step.value;
        let keys = [
            set_weight.as_ref().map(|one| one.key),
            pause.as_ref().map(|one| one.key),
            verify.as_ref().map(|one| one.key),
        ];
        let mut given = keys.into_iter().flatten();
        if let (Some(_), Some(second)) = (given.next(), given.next()) {
            report.wrong(second, "a step is one thing", Some("begin a new step with `- `"));
            continue;
        }
        match (set_weight, pause, verify) {
            (Some(weight), ..) => {
                if let Some(weight) = weight_of(weight, heaviest, report) {
                    heaviest = weight;
                    steps.push(Step::SetWeight(weight));
                }
            }
            (None, Some(pause), _) if waits(pause.key, "pause", heaviest, report) => {
                steps.push(Step::Pause(pause.value.duration.as_ref().map(|duration| duration.value.0)));
            }
            (None, None, Some(verify)) if waits(verify.key, "workflow", heaviest, report) => {
                let verify = workflow(verify, report);
                steps.extend(verify.map(|Verify { workflow, timeout }| Step::Verify { workflow, timeout }));
            }
            (None, None, None) if !refused && !strange => {
                report.wrong(step.at, "an empty step", Some("write `setWeight:`, `pause:` or `verify:`"));
            }
            (None, ..) => {}
        }
    }
    Strategy::Canary { steps }
}

/// A workflow that verifies; none where it is not named.
pub fn workflow(file: &Spanned<VerifyFile>, report: &mut Report) -> Option<Verify> {
    let timeout = file.value.timeout.as_ref().map_or(TIMEOUT, |timeout| timeout.value.0);
    if let Some(given) = file.value.timeout.as_ref().filter(|_| timeout.is_zero()) {
        report.wrong(given.at, "nothing succeeds in no time", Some("write how long it may take, `30m`"));
    }
    Some(Verify { workflow: file.value.workflow.as_ref()?.value.0.clone(), timeout })
}

fn weight_of(weight: &Spanned<Count<0>>, heaviest: u8, report: &mut Report) -> Option<u8> {
    match u8::try_from(weight.value.0).ok().filter(|weight| *weight <= 100) {
        None => report.wrong(weight.at, "a weight is a percentage, 0 to 100", None),
        Some(lower) if lower < heaviest => report.wrong(
            weight.at,
            "a lower weight would take clusters back from a release that is healthy there",
            Some("let the weights rise from step to step; `onFailure: rollBack` takes back what failed"),
        ),
        Some(weight) => return Some(weight),
    }
    None
}

/// Whether a wait stands between two weights.
fn waits(key: Span, what: &str, heaviest: u8, report: &mut Report) -> bool {
    match heaviest {
        0 => {
            report.wrong(key, &format!("nothing has moved before this {what}"), Some("begin with a `setWeight`"));
        }
        100.. => {
            let help = "the tier's `soak` and `verify` are what is waited for at the end";
            report.wrong(key, &format!("nothing follows this {what}"), Some(help));
        }
        _ => return true,
    }
    false
}

fn with_preview(file: &BlueGreenFile, report: &mut Report) -> Strategy {
    let preview = file.preview.as_ref().map(|select| tier::selector(select, report)).unwrap_or_default();
    let promote = file.promote.as_ref().map_or(Promote::default(), |word| word.value.0);
    let verify = file.verify.as_ref().and_then(|file| workflow(file, report));
    Strategy::BlueGreen { preview, verify, promote }
}

/// The pins of a plugin.
pub fn pins(file: &PluginFile, context: &Context, report: &mut Report) -> Vec<Pin> {
    let given = file.pins.iter().flat_map(|list| &list.value.items);
    given.filter_map(|pin| report.within_key("pins", |report| pin_of(pin, context, report))).collect()
}

/// The clusters of a tier that are ahead of it.
pub fn early(file: &TierFile, context: &Context, report: &mut Report) -> Vec<Early> {
    let given = file.early.iter().flat_map(|list| &list.value.items);
    given.filter_map(|early| report.within_key("early", |report| early_of(early, context, report))).collect()
}

fn early_of(early: &Spanned<EarlyFile>, context: &Context, report: &mut Report) -> Option<Early> {
    let select = early.value.select.as_ref()?;
    if is_empty(select) {
        let help = "name some of its clusters by their labels";
        report.wrong(select.at, "an empty selector puts the whole tier ahead of itself", Some(help));
    }
    let until = early.value.until.as_ref().and_then(|until| instant(until, context, report));
    Some(Early { select: tier::selector(select, report), until })
}

fn is_empty(select: &Spanned<SelectFile>) -> bool {
    let file = &select.value;
    file.match_labels.is_none() && file.match_expressions.is_none() && !file.refused && !file.strange
}

fn instant(until: &Spanned<Until>, context: &Context, report: &mut Report) -> Option<Timestamp> {
    match until.value.0 {
        Instant::At(at) => Some(at),
        Instant::Day(day) => super::context::end_of(day, context.zone.as_ref(), until.at, report),
    }
}

fn pin_of(pin: &Spanned<PinFile>, context: &Context, report: &mut Report) -> Option<Pin> {
    let file = &pin.value;
    if let Some(select) = file.select.as_ref().filter(|select| is_empty(select)) {
        report.wrong(select.at, "an empty selector pins every cluster", Some("name the clusters by their labels"));
    }
    let until = file.until.as_ref().and_then(|until| instant(until, context, report));
    Some(Pin {
        select: tier::selector(file.select.as_ref()?, report),
        version: file.version.as_ref().map(|version| version.value.0.clone()),
        until,
        why: file.why.as_ref()?.value.0.clone(),
    })
}

/// Reports strategies of a plugin's tiers, and pins, whose clusters move apart from others but share
/// a spot with them.
pub fn apart(file: &PluginFile, tiers: &[Tier], writes: &[Write], context: &Context, report: &mut Report) {
    if writes.is_empty() || writes.iter().all(Write::per_cluster) {
        return;
    }
    let name = file.name.as_ref().map_or("", |name| name.value.0.as_str());
    if let Some(pins) = file.pins.as_ref().filter(|pins| !pins.value.is_empty()) {
        let message = format!(
            "plugin `{name}` cannot leave single clusters where they are: its `write` has a place that several share"
        );
        report.problem(pins.key, message, Some("put `{cluster}` in each file or path"));
    }
    for base in &context.tiers {
        let early = base.early.as_ref().filter(|early| !early.value.is_empty());
        let (Some(early), Some(tier)) = (early, &base.name) else { continue };
        let message = format!(
            "no cluster of tier `{}` can be ahead of it for plugin `{name}`: its `write` has a place that several share",
            tier.value.0
        );
        report.problem(early.key, message, Some("put `{cluster}` in each file or path"));
    }
    for tier in tiers {
        match &tier.strategy {
            Strategy::AllAtOnce | Strategy::Delegated => continue,
            Strategy::RollingUpdate { .. } | Strategy::Canary { .. } | Strategy::BlueGreen { .. } => {}
        }
        let of_tier =
            |base: &&crate::file::TierFile| base.name.as_ref().is_some_and(|known| known.value.0 == tier.name.as_str());
        let own = file.strategy.as_ref().map(|given| given.key);
        let inherited =
            context.tiers.iter().find(of_tier).and_then(|base| base.strategy.as_ref().map(|given| given.key));
        if let Some(at) = own.or(inherited) {
            let message = format!(
                "clusters of tier `{}` cannot move one after the other for plugin `{name}`: its `write` has a place that all of them share",
                tier.name
            );
            let help = format!("put `{{cluster}}` in each file or path, or give plugin `{name}` `strategy: allAtOnce`");
            report.problem(at, message, Some(&help));
        }
    }
}
