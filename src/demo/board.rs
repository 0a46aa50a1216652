//! The story as people watch it in a terminal: a row per plugin, a column per tier, drawn from the
//! world's own state. Where there is no terminal, plain lines. What happens is in `story`.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::clock::now;
use super::story::Outcome;
use super::story::chronicle::{Chronicle, Line, Tone};
use super::story::fleet::{Fate, GRACE, PLUGINS, Plugin, TIERS};
use super::story::scene::{PullSeen, Scene};
use super::world::World;

/// How often the board is drawn.
const FRAME: Duration = Duration::from_millis(200);
/// Lines of events that are shown where the terminal is high enough.
const EVENTS: usize = 12;
/// Taken where the terminal does not say how large it is.
const USUAL: (usize, usize) = (80, 24);

/// Runs the story and shows it on standard output, first the addresses, last the summary.
///
/// # Errors
/// When nothing can be printed.
pub async fn show(world: &World, dashboard: &str, hands_on: bool) -> anyhow::Result<Outcome> {
    let mut screen = Screen::new();
    screen.print(&introduction(world, dashboard, hands_on))?;
    let story = world.run_story(hands_on);
    tokio::pin!(story);
    let outcome = loop {
        tokio::select! {
            outcome = &mut story => break outcome,
            () = tokio::time::sleep(FRAME) => screen.follow(&world.chronicle())?,
        }
    };
    screen.follow(&world.chronicle())?;
    screen.print(&summary(&outcome))?;
    Ok(outcome)
}

fn introduction(world: &World, dashboard: &str, hands_on: bool) -> Vec<Text> {
    let settings = world.settings();
    let mut lines = vec![
        vec![Ink::Dim.on("Dashboard       "), Ink::Bold.on(dashboard)],
        vec![Ink::Dim.on("Sandbox GitHub  "), Ink::Bold.on(&format!("{}/{}", settings.hub, settings.repository))],
    ];
    if hands_on {
        let text = "Approve, comment, close or merge there: nobody else does. Ctrl-C ends the sandbox.";
        lines.push(vec![Ink::Plain.on(text)]);
    }
    lines.push(Vec::new());
    lines
}

/// Where the story is shown.
struct Screen {
    terminal: bool,
    colours: bool,
    /// Lines of the board that stand above the cursor.
    drawn: usize,
    /// Events that were printed already, where there is no board.
    told: usize,
}

impl Screen {
    fn new() -> Self {
        let stdout = std::io::stdout();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let colours = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        Self { terminal: stdout.is_terminal() && !dumb, colours, drawn: 0, told: 0 }
    }

    fn print(&mut self, lines: &[Text]) -> anyhow::Result<()> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&paint(line, self.colours));
            text.push('\n');
        }
        self.drawn = 0;
        write(&text)
    }

    fn follow(&mut self, chronicle: &Chronicle) -> anyhow::Result<()> {
        if self.terminal { self.redraw(chronicle) } else { self.tell(chronicle) }
    }

    fn redraw(&mut self, chronicle: &Chronicle) -> anyhow::Result<()> {
        let (width, height) = match terminal_size::terminal_size() {
            Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
            None => USUAL,
        };
        let mut frame = String::new();
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}F", self.drawn));
        }
        // A line that wraps, or a board that scrolls, cannot be drawn over.
        let board = board(chronicle, now(), width, height.saturating_sub(1));
        for line in &board {
            frame.push_str(&paint(&cut(line, width), self.colours));
            frame.push_str("\x1b[K\n");
        }
        frame.push_str("\x1b[J");
        self.drawn = board.len();
        write(&frame)
    }

    fn tell(&mut self, chronicle: &Chronicle) -> anyhow::Result<()> {
        let mut text = String::new();
        for line in chronicle.lines.iter().skip(self.told) {
            text.push_str(&paint(&event(line), self.colours));
            text.push('\n');
        }
        self.told = chronicle.lines.len();
        write(&text)
    }
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// How a piece of text looks. Colour never stands alone: a mark or a word says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
    Blue,
}

impl Ink {
    fn on(self, text: &str) -> (Self, String) {
        (self, text.to_owned())
    }

    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Green => "\x1b[32m",
            Self::Red => "\x1b[31m",
            Self::Yellow => "\x1b[33m",
            Self::Blue => "\x1b[34m",
        }
    }
}

/// One line in pieces.
type Text = Vec<(Ink, String)>;

fn paint(line: &Text, colours: bool) -> String {
    let piece = |(ink, text): &(Ink, String)| match colours && *ink != Ink::Plain && !text.trim().is_empty() {
        true => format!("{}{text}\x1b[0m", ink.code()),
        false => text.clone(),
    };
    line.iter().map(piece).collect::<String>().trim_end().to_owned()
}

/// The line as far as it fits; every sign that is used here is one column wide.
fn cut(line: &Text, width: usize) -> Text {
    let mut left = width;
    let mut kept = Vec::new();
    for (ink, text) in line {
        let length = text.chars().count();
        if length <= left {
            kept.push((*ink, text.clone()));
            left -= length;
        } else {
            kept.push((*ink, fit(text, left)));
            break;
        }
    }
    kept
}

/// The text in exactly or at most so many columns, with a mark where something is missing.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

fn padded(ink: Ink, text: &str, width: usize) -> (Ink, String) {
    // One column stays free, so that neighbours never touch.
    (ink, format!("{:<width$}", fit(text, width.saturating_sub(1))))
}

/// The whole board in at most `height` lines.
fn board(chronicle: &Chronicle, now: Timestamp, width: usize, height: usize) -> Vec<Text> {
    let name = PLUGINS.iter().map(|plugin| plugin.name.len() + 2).max().unwrap_or_default();
    let column = (width.saturating_sub(name) / TIERS.len()).clamp(12, 30);
    let mut lines = vec![head(name, column)];
    for plugin in PLUGINS {
        let cells = TIERS.map(|(tier, _)| cell(&chronicle.scene, &plugin, tier, now));
        let mut upper = vec![padded(Ink::Bold, plugin.name, name)];
        let mut lower = vec![padded(Ink::Dim, "", name)];
        for Cell { ink, what, why } in &cells {
            upper.push(padded(*ink, what, column));
            lower.push(padded(Ink::Dim, why, column));
        }
        lines.extend([upper, lower]);
    }
    lines.push(vec![Ink::Dim.on(&"─".repeat((name + column * TIERS.len()).min(width)))]);
    let room = height.saturating_sub(lines.len()).min(EVENTS);
    let from = chronicle.lines.len().saturating_sub(room);
    lines.extend(chronicle.lines.iter().skip(from).map(event));
    lines.truncate(height);
    lines
}

fn head(name: usize, column: usize) -> Text {
    let mut line = vec![padded(Ink::Plain, "", name)];
    for (tier, clusters) in TIERS {
        line.push(padded(Ink::Dim, &format!("{tier} ({})", clusters.len()), column));
    }
    line
}

/// One plugin on one tier.
struct Cell {
    ink: Ink,
    what: String,
    why: String,
}

impl Cell {
    fn new(ink: Ink, what: String, why: impl Into<String>) -> Self {
        Self { ink, what, why: why.into() }
    }
}

fn cell(scene: &Scene, plugin: &Plugin, tier: &str, now: Timestamp) -> Cell {
    let Some(together) = scene.together(plugin.name, tier) else {
        return Cell::new(Ink::Dim, "· not installed".to_owned(), "");
    };
    let open = scene.open(plugin.name, tier);
    let version = &together.wanted;
    if let Some(ill) = together.ill.first() {
        let why = open.map_or_else(|| format!("{ill} failed"), |pull| waits(pull, plugin, now));
        return Cell::new(Ink::Red, format!("✖ {version} {ill}"), why);
    }
    if let Some(pull) = open {
        let to = pull.version.as_deref().unwrap_or("?");
        return Cell::new(Ink::Blue, format!("● {version} → {to}"), waits(pull, plugin, now));
    }
    let healthy = format!("{} of {} healthy", together.well, together.members);
    if together.well < together.members {
        return Cell::new(Ink::Yellow, format!("◐ {version}"), healthy);
    }
    if version == plugin.before {
        return Cell::new(Ink::Dim, format!("· {version}"), "");
    }
    Cell::new(Ink::Green, format!("✔ {version}"), healthy)
}

fn waits(pull: &PullSeen, plugin: &Plugin, now: Timestamp) -> String {
    let number = pull.number;
    let gold = pull.rung.as_ref().is_some_and(|rung| rung.tier == "gold");
    if plugin.fate == Fate::Forced && gold && pull.wants_review {
        let left = SignedDuration::from_secs(GRACE) - now.duration_since(pull.opened_at);
        return if left.is_positive() {
            format!("#{number}, force in {} s", left.as_secs() + 1)
        } else {
            format!("#{number}, force is due")
        };
    }
    if pull.wants_review { format!("#{number} wants review") } else { format!("#{number} is open") }
}

fn event(line: &Line) -> Text {
    let (ink, mark) = match line.tone {
        Tone::Plain => (Ink::Plain, "  "),
        Tone::Good => (Ink::Green, "✔ "),
        Tone::Bad => (Ink::Red, "✖ "),
        Tone::Forced => (Ink::Yellow, "! "),
    };
    vec![Ink::Dim.on(&format!("{} ", line.at.strftime("%H:%M:%S"))), ink.on(mark), ink.on(&line.text)]
}

/// What is printed when the story is over.
fn summary(outcome: &Outcome) -> Vec<Text> {
    let mut lines = vec![Vec::new(), vec![Ink::Bold.on(&outcome.headline())], Vec::new()];
    for expectation in &outcome.expectations {
        let (ink, mark, why) = match &expectation.held {
            Ok(proof) => (Ink::Green, "✔", proof),
            Err(why) => (Ink::Red, "✖", why),
        };
        lines.push(vec![ink.on(&format!("  {mark} ")), Ink::Plain.on(&expectation.sentence)]);
        let ink = if expectation.held.is_ok() { Ink::Dim } else { Ink::Red };
        lines.push(vec![ink.on(&format!("    {why}"))]);
    }
    lines.push(Vec::new());
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::super::clusters::{Seen, State};
    use super::super::story::scene::tests::pull;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn scene() -> Scene {
        let mut scene = Scene::default();
        for plugin in PLUGINS {
            for cluster in TIERS.iter().flat_map(|(_, clusters)| *clusters) {
                set(&mut scene, plugin.name, cluster, plugin.before, State::Healthy);
            }
        }
        scene
    }

    fn set(scene: &mut Scene, plugin: &str, cluster: &str, version: &str, state: State) {
        let seen = Seen { wanted: version.to_owned(), running: None, state, since: at(0) };
        scene.releases.entry(cluster.to_owned()).or_default().insert(plugin.to_owned(), seen);
    }

    fn plain(lines: &[Text]) -> Vec<String> {
        lines.iter().map(|line| paint(line, false)).collect()
    }

    #[test]
    fn the_board_shows_each_state_with_mark_and_word() {
        let mut chronicle = Chronicle { scene: scene(), ..Chronicle::default() };
        let scene = &mut chronicle.scene;
        set(scene, "cert-manager", "qa-1", "1.15.0", State::Healthy);
        set(scene, "cert-manager", "qa-2", "1.15.0", State::Healthy);
        set(scene, "cert-manager", "bronze-eu", "1.15.0", State::Progressing);
        set(scene, "ingress-nginx", "silver-us", "4.11.3", State::Failed);
        scene.pulls.insert(7, pull(7, "cert-manager", "silver", "1.15.0", 0));
        scene.pulls.insert(8, pull(8, "kube-state-metrics", "gold", "5.25.1", 0));
        chronicle.say(at(4), Tone::Good, "merged #1 cert-manager 1.15.0 → qa");
        let drawn = plain(&board(&chronicle, at(8), 100, 20));
        assert_eq!(
            drawn,
            [
                "                    qa (2)              bronze (3)          silver (4)          gold (3)",
                "cert-manager        ✔ 1.15.0            ◐ 1.15.0            ● 1.14.7 → 1.15.0   · 1.14.7",
                "                    2 of 2 healthy      0 of 3 healthy      #7 wants review",
                "ingress-nginx       · 4.11.2            · 4.11.2            ✖ 4.11.3 silver-us  · 4.11.2",
                "                                                            silver-us failed",
                "kube-state-metrics  · 5.25.0            · 5.25.0            · 5.25.0            ● 5.25.0 → 5.25.1",
                "                                                                                #8, force in 13 s",
                "────────────────────────────────────────────────────────────────────────────────────────────────────",
                "00:00:04 ✔ merged #1 cert-manager 1.15.0 → qa",
            ]
        );
    }

    #[test]
    fn a_small_terminal_gets_a_smaller_board() {
        let mut chronicle = Chronicle { scene: scene(), ..Chronicle::default() };
        for second in 0..30 {
            chronicle.say(at(second), Tone::Plain, "something with quite a long text happened somewhere in this fleet");
        }
        for (width, height) in [(80, 24), (40, 10), (20, 3), (1, 1)] {
            let drawn = board(&chronicle, at(0), width, height);
            assert!(drawn.len() <= height, "{width}x{height}");
            for line in &drawn {
                assert!(paint(&cut(line, width), false).chars().count() <= width, "{width}x{height}");
            }
        }
        let last = plain(&board(&chronicle, at(0), 80, 24)).pop().unwrap();
        assert!(last.starts_with("00:00:29"), "the newest event stands last: {last}");
    }
}
