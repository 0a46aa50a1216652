//! `coldframe signal`: judges one object as the bot does, from a file or from its cluster. How objects are
//! judged is in `signal`, what a reading counts as says the planner, and what people read is in `tell`.

mod counted;
mod files;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use decide::selector::{Labels, Selector};
use decide::snapshot::{Health, Reading};
use decide::{ClusterName, Sha, Tier, TierName, Version};
use jiff::Timestamp;
use serde_json::Value;

use self::files::Objects;
use super::Signal as Arguments;
use super::run::say;
use crate::clock;
use crate::inventory::ListedCluster;
use crate::observe::answers::{Versions, resolved};
use crate::observe::cluster::{Ask, Asking, Clusters};
use crate::observe::net::Given;
use crate::observe::watch::SharedAnswer;
use crate::observe::whose::Whose;
use crate::parse::nearest::nearest;
use crate::parse::quoted;
use crate::policy::{self, SourceFile};
use crate::signal::SignalSpec;
use crate::signal::{self, Answer, KINDS, Kind, Proves, Signal, Target, answer, one_line, title};
use crate::tell::{self, Judged, Lacking, Wanted};

/// What stands in place of a cluster and a tier that nobody named; two of each, to see whether it matters.
const ANY: [(&str, &str); 3] = [("cluster-a", "tier-a"), ("cluster-b", "tier-a"), ("cluster-a", "tier-b")];

/// What was said of the object, and what was not there to be judged.
struct Heard {
    answer: Answer,
    lacking: Vec<Lacking>,
}

/// Judges one object. Exit code 0 when it counts as healthy on the wanted version, 1 when it does not, 2 when the
/// question makes no sense.
pub async fn signal(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let judged = match judged(arguments).await {
        Ok(judged) => judged,
        Err(error) => {
            anstream::eprintln!("coldframe: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    if arguments.json {
        say(&serde_json::to_string_pretty(&tell::reading_json(&judged))?)?;
    } else {
        say(&tell::reading(&judged, clock::now()))?;
    }
    Ok(if judged.converged() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn judged(arguments: &Arguments) -> anyhow::Result<Judged> {
    let kind = known(&arguments.kind)?;
    let Heard { answer, lacking } = match &arguments.object {
        Some(file) => from_files(arguments, kind, file)?,
        None => from_cluster(arguments, kind).await?,
    };
    let wanted =
        Wanted { version: arguments.version.clone(), digest: arguments.digest.clone(), after: arguments.after };
    let commit = answer.revision.clone();
    let versions = versions(&arguments.commit, commit.as_ref())?;
    let health = answer.reading.health;
    // As the bot reads it: a commit proves what stands there, and nothing where nobody looked.
    let read = resolved(&whose(), &SharedAnswer::alone(answer), &versions);
    // A commit that nobody looked up is no sign that the object is ill.
    let reading = if commit.is_some() { Reading { health, ..read.clone() } } else { read.clone() };
    let state =
        counted::counted(&read, &wanted).context("the planner has no word for this reading; please report it")?;
    let less = match kind.proves {
        Proves::Version => None,
        Proves::Less(less) | Proves::Where(_, less) => Some(less),
    };
    let cluster = arguments.cluster.as_deref().map(ClusterName::from);
    Ok(Judged { kind: kind.name, less, cluster, reading, commit, wanted, state, lacking })
}

fn known(name: &str) -> anyhow::Result<&'static Kind> {
    let judges_objects = |kind: &&'static Kind| kind.asks_clusters();
    if let Some(kind) = signal::kind(name).filter(|kind| !kind.asks_clusters()) {
        bail!("`{}` asks no object of a cluster, so that there is none to judge by hand", kind.name);
    }
    signal::kind(name).ok_or_else(|| {
        let names = || KINDS.into_iter().filter(judges_objects).map(|kind| kind.name);
        let near = nearest(name, names()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let list = names().collect::<Vec<_>>().join(", ");
        anyhow!("{} is no kind of signal; {near}There are: {list}", quoted(name))
    })
}

fn from_files(arguments: &Arguments, kind: &'static Kind, file: &Path) -> anyhow::Result<Heard> {
    let objects = Objects::read(file)?;
    let spec = spec(arguments, kind, objects.first())?;
    let signal = asked(arguments, &spec, objects.first())?;
    let target = signal.target();
    let object = objects.find(&target)?.with_context(|| {
        format!("the signal asks for {} of {}; there is {}", title(&target), target.api_version(), objects.names())
    })?;
    let objects = objects.with(&arguments.more)?;
    let mut more = Vec::new();
    let mut lacking = Vec::new();
    for target in signal.more(&object) {
        let found = objects.find(&target)?;
        if found.is_none() && !arguments.complete {
            lacking.push(Lacking { title: title(&target), command: files::kubectl(&target) });
        }
        more.push(found);
    }
    let observed_at = arguments.taken.unwrap_or_else(|| objects.written());
    let mut answer = answer(signal.as_ref(), &object, &more, observed_at);
    if !lacking.is_empty() {
        // The bot would have read them, and nobody knows what they say.
        let names: Vec<&str> = lacking.iter().map(|lacking| lacking.title.as_str()).collect();
        let reading = &mut answer.reading;
        reading.health = Health::Unknown;
        (reading.running, reading.attempted, reading.digest, reading.since) = (None, None, None, None);
        reading.evidence = one_line(&format!("it cannot be judged without {}", names.join(", ")));
        answer.revision = None;
    }
    Ok(Heard { answer, lacking })
}

async fn from_cluster(arguments: &Arguments, kind: &'static Kind) -> anyhow::Result<Heard> {
    let cluster = arguments.cluster.as_deref().context("give --object FILE, or --cluster NAME to ask a cluster")?;
    let folder = arguments.clusters.as_deref().context(
        "no connections: give --clusters FOLDER with one kubeconfig per cluster (environment: COLDFRAME_CLUSTERS)",
    )?;
    let spec = spec(arguments, kind, None)?;
    asked(arguments, &spec, None)?;
    let clusters = Clusters::open(folder, Given::all(&arguments.allow_hosts))?;
    let credential = arguments.connection.clone().unwrap_or_else(|| cluster.to_string());
    let name = ClusterName::from(cluster);
    let cluster = ListedCluster { name, labels: Labels::new(), credential, secret_ref: None, stale: None };
    clusters.usable(&cluster).await?;
    let tier = TierName::from(arguments.tier.as_deref().unwrap_or_default());
    let all = Selector { match_labels: Labels::new(), match_expressions: Vec::new() };
    let ask = Ask::new(&Arc::new(cluster), &Asking::new(&"plugin".into(), &Tier::new(tier, all), &Arc::new(spec)))?;
    let asked = clusters.answers(vec![ask], &|_| ()).await.into_iter().next().context("the cluster was not asked")?;
    Ok(Heard { answer: asked.answer, lacking: Vec::new() })
}

/// The signal's settings, read as those of a policy file are; names that nobody gave are the object's own.
fn spec(arguments: &Arguments, kind: &'static Kind, object: Option<&Value>) -> anyhow::Result<SignalSpec> {
    let file = match arguments.settings.as_deref().map(|text| (text, text.strip_prefix('@'))) {
        Some((_, Some(path))) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("the settings `{path}`"))?;
            SourceFile { path: path.to_string(), text }
        }
        Some((text, None)) => SourceFile { path: "--settings".to_string(), text: text.to_string() },
        None => SourceFile { path: "--settings".to_string(), text: String::new() },
    };
    let places = [
        ("apiVersion", "/apiVersion"),
        ("kind", "/kind"),
        ("namespace", "/metadata/namespace"),
        ("name", "/metadata/name"),
    ];
    let text = |place| object.and_then(|object| object.pointer(place)).and_then(Value::as_str);
    let own: Vec<(&str, String)> =
        places.iter().filter_map(|(key, place)| Some((*key, text(place)?.to_string()))).collect();
    let values = policy::signal_settings(kind, &file, &own)
        .map_err(|mistakes| anyhow!("the settings of the signal have mistakes\n\n{}", mistakes.trim_end()))?;
    Ok(SignalSpec { kind, values, connection: None })
}

/// The signal, where what it asks for does not depend on a name that nobody gave.
fn asked(arguments: &Arguments, spec: &SignalSpec, object: Option<&Value>) -> anyhow::Result<Box<dyn Signal>> {
    let of = |cluster: &str, tier: &str| {
        let cluster = arguments.cluster.as_deref().unwrap_or(cluster);
        let tier = arguments.tier.as_deref().unwrap_or(tier);
        signal::signal(spec, &ClusterName::from(cluster), &TierName::from(tier))
    };
    let [any, other_cluster, other_tier] = ANY;
    let signal = of(any.0, any.1)?;
    for (other, what) in [(other_cluster, "cluster"), (other_tier, "tier")] {
        if targets(of(other.0, other.1)?.as_ref(), object) != targets(signal.as_ref(), object) {
            bail!("what the signal asks for depends on the name of the {what}: give --{what} NAME");
        }
    }
    Ok(signal)
}

fn targets(signal: &dyn Signal, object: Option<&Value>) -> Vec<Target> {
    let mut all = vec![signal.target()];
    all.extend(object.map(|object| signal.more(object)).unwrap_or_default());
    all
}

/// Whom the one answer is about.
fn whose() -> Whose {
    Whose { plugin: "plugin".into(), tier: "tier".into(), cluster: "cluster".into() }
}

/// What the config repository has at the commit that is proved, as far as somebody said so.
fn versions(said: &[(String, Version)], proved: Option<&Sha>) -> anyhow::Result<Versions> {
    if let (false, None) = (said.is_empty(), proved) {
        bail!("the object proves no commit, so that --commit says nothing here");
    }
    let fitting = |commit: &Sha| {
        let own = said.iter().find(|(given, _)| commit.as_str().starts_with(given.as_str()));
        own.map(|(_, version)| ((whose(), commit.clone()), Ok(version.clone())))
    };
    Ok(proved.and_then(fitting).into_iter().collect())
}

/// A commit, whole or its first letters, and the version that stands there: `1a2b3c4=1.2.0`.
pub(super) fn commit(text: &str) -> Result<(String, Version), String> {
    let shown = quoted(text);
    let Some((commit, version)) = text.split_once('=') else {
        return Err(format!("{shown} is no COMMIT=VERSION, such as `1a2b3c4=1.2.0`"));
    };
    if !(7..=40).contains(&commit.len()) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("{shown} begins with no commit: seven to forty hexadecimal digits"));
    }
    let version = version.parse().map_err(|error: decide::ids::NotAVersion| error.to_string())?;
    Ok((commit.to_ascii_lowercase(), version))
}

/// A digest as registries write it.
pub(super) fn digest(text: &str) -> Result<decide::Digest, String> {
    signal::digest(text).ok_or_else(|| format!("{} is no digest: `sha256:` and 64 hexadecimal digits", quoted(text)))
}

/// A time as Kubernetes and git write it, of a year in which something can have been read.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    let time: Timestamp = text
        .parse()
        .map_err(|_| format!("{} is no time such as `2026-11-21T10:00:00Z`; the zone is a part of it", quoted(text)))?;
    // Until the year 2200.
    if (0..=7_258_118_400).contains(&time.as_second()) {
        Ok(time)
    } else {
        Err(format!("{} is not between the years 1970 and 2200", quoted(text)))
    }
}
