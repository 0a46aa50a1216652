//! `coldframe signal`: one reading with its evidence, and what it counts as. The planner's words for that are
//! taken over; none are added.

use decide::plan::MemberState;
use decide::snapshot::{Health, Reading};
use decide::{ClusterName, Digest, Sha, Version};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::board::style::{self, BOLD, DIM, paint};
use super::{inert, words};

/// What one signal said, against what was wanted.
pub struct Judged {
    /// The kind's key in the policy file.
    pub kind: &'static str,
    /// What a healthy reading of the kind proves, where that is less than the version.
    pub less: Option<&'static str>,
    /// The cluster, where one was named.
    pub cluster: Option<ClusterName>,
    /// What the signal said.
    pub reading: Reading,
    /// The commit that the object proves to run, for kinds that prove no version but a commit.
    pub commit: Option<Sha>,
    /// What was wanted.
    pub wanted: Wanted,
    /// What the planner takes the cluster for.
    pub state: MemberState,
    /// Objects that the bot would read as well, and that nobody gave.
    pub lacking: Vec<Lacking>,
}

/// What is wanted of a cluster.
pub struct Wanted {
    /// The version.
    pub version: Version,
    /// Its digest, where one is asked for.
    pub digest: Option<Digest>,
    /// When it landed: what was read before says nothing.
    pub after: Option<Timestamp>,
}

/// An object that a signal asks for and nobody gave.
pub struct Lacking {
    /// `HelmRelease apps/loki`.
    pub title: String,
    /// The command that writes it.
    pub command: String,
}

impl Judged {
    /// Whether the planner takes the cluster for healthy on the wanted version.
    pub fn converged(&self) -> bool {
        matches!(self.state, MemberState::Healthy { .. })
    }

    fn proves_version(&self) -> bool {
        self.reading.running.as_ref().is_some_and(|running| running.proves(&self.wanted.version))
    }

    /// Whether the digest is the wanted one; none where one of the two is not known.
    fn fits_digest(&self) -> Option<bool> {
        Some(self.reading.digest.as_ref()? == self.wanted.digest.as_ref()?)
    }

    /// What is wrong, in the planner's words; none where the word of the state says as much.
    fn because(&self) -> Option<String> {
        let what = &self.state.trouble()?.what;
        (what != words::member(&self.state).word).then(|| inert::line(what))
    }
}

/// For people; styled like [`super::board()`].
pub fn reading(judged: &Judged, now: Timestamp) -> String {
    let Judged { reading, wanted, state, .. } = judged;
    let dated = |at: Timestamp| format!("{} ({})", words::when(at, &TimeZone::UTC), words::relative(at, now));
    let look = words::member(state);
    let place = judged.cluster.as_ref().map(|cluster| format!(" on {}", cluster.as_str())).unwrap_or_default();
    let because = judged.because().map(|because| format!(": {because}")).unwrap_or_default();
    let mut out = format!("{}\n", paint(BOLD, &inert::line(&format!("{}{place}", reading.signal))));
    let counts = paint(style::of(look.tone), &format!("{} {}{because}", look.mark, look.word));
    out.push_str(&format!("counts as {counts}\n\n"));
    let mut line =
        |name: &str, text: String| out.push_str(&format!("  {}  {text}\n", paint(DIM, &format!("{name:8}"))));
    line("wanted", wanted_words(wanted));
    let since = reading.since.map(|since| format!(" since {}", dated(since))).unwrap_or_default();
    line("health", format!("{}{since}", health(reading.health)));
    line("running", running_words(judged));
    if let Some(attempted) = reading.attempted.as_ref().filter(|tried| Some(*tried) != reading.running.as_ref()) {
        line("tried", attempted.to_string());
    }
    if let Some(digest) = digest_words(judged) {
        line("digest", digest);
    }
    line("read", dated(reading.observed_at));
    if let Some(after) = wanted.after {
        line("after", after_words(reading, after, &dated));
    }
    line("evidence", inert::line(&reading.evidence));
    if let Some(less) = judged.less {
        line("proves", format!("{less}; let another signal prove the rest"));
    }
    if !judged.lacking.is_empty() {
        out.push_str(
            "\nThe bot would read these, too. Give them with --more FILE; where the cluster has none, say --complete.\n",
        );
        for lacking in &judged.lacking {
            out.push_str(&format!("  {}\n", inert::line(&lacking.command)));
        }
    }
    out
}

/// For programs: one object.
pub fn reading_json(judged: &Judged) -> Value {
    let Judged { reading, wanted, .. } = judged;
    let after = |at: Option<Timestamp>| Some(at? >= wanted.after?);
    let lacking: Vec<Value> =
        judged.lacking.iter().map(|lacking| json!({"object": lacking.title, "command": lacking.command})).collect();
    json!({
        "kind": judged.kind,
        "signal": reading.signal,
        "cluster": judged.cluster,
        "health": reading.health,
        "running": reading.running,
        "attempted": reading.attempted,
        "commit": judged.commit,
        "digest": reading.digest,
        "observedAt": reading.observed_at,
        "since": reading.since,
        "because": reading.evidence,
        "wanted": {"version": wanted.version, "digest": wanted.digest, "after": wanted.after},
        "satisfies": {
            "version": judged.proves_version(),
            "digest": judged.fits_digest(),
            "readAfter": after(Some(reading.observed_at)),
            "changedAfter": after(reading.since),
        },
        "countsAs": {"state": words::member(&judged.state).word, "because": judged.because()},
        "converged": judged.converged(),
        "provesLess": judged.less,
        "lacking": lacking,
    })
}

fn wanted_words(wanted: &Wanted) -> String {
    let digest = wanted.digest.as_ref().map(|digest| format!(", {}", digest.as_str())).unwrap_or_default();
    format!("{}{digest}", wanted.version)
}

fn running_words(judged: &Judged) -> String {
    let wanted = &judged.wanted.version;
    let commit = judged.commit.as_ref().map(|commit| inert::line(commit.as_str()));
    match (&judged.reading.running, commit) {
        (Some(running), commit) => {
            let proof = if judged.proves_version() { "which proves" } else { "which does not prove" };
            let at = commit.map(|commit| format!(", as the config repository has it at {commit}")).unwrap_or_default();
            format!("{running}{at}, {proof} {wanted}")
        }
        (None, Some(commit)) => format!(
            "commit {commit}; the config repository decides which version that is: look it up there and say so with \
             --commit {}=VERSION",
            commit.get(..7).unwrap_or(&commit)
        ),
        (None, None) => "no version is proved".to_string(),
    }
}

fn digest_words(judged: &Judged) -> Option<String> {
    let found = judged.reading.digest.as_ref().map(|digest| inert::line(digest.as_str()));
    match (found, judged.fits_digest()) {
        (Some(found), Some(true)) => Some(format!("{found}, as wanted")),
        (Some(found), Some(false)) => Some(format!("{found}, which is not the wanted one")),
        (Some(found), None) => Some(found),
        (None, _) => {
            judged.wanted.digest.as_ref().map(|_| "the object names none, so that none is compared".to_string())
        }
    }
}

fn after_words(reading: &Reading, after: Timestamp, dated: &dyn Fn(Timestamp) -> String) -> String {
    let read = if reading.observed_at >= after { "read after it" } else { "read before it, which says nothing" };
    let changed = match reading.since {
        Some(since) if since >= after => format!(", {} since after it", health(reading.health)),
        Some(_) => format!(", {} since before it", health(reading.health)),
        None => String::new(),
    };
    format!("{}: {read}{changed}", dated(after))
}

fn health(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Progressing => "progressing",
        Health::Suspended => "suspended",
        Health::Degraded => "degraded",
        Health::Failed => "failed",
        Health::NotFound => "not found",
        Health::Unknown => "unknown",
    }
}
