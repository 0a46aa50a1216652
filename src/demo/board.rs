//! The story as people watch it in a terminal: a row per plugin, a column per tier, drawn from the
//! world's own state. Where there is no terminal, plain lines. What happens is in `story`.

mod ink;

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::clock::now;
use super::story::Outcome;
use super::story::chronicle::{Chronicle, Line, Tone};
use super::story::fleet::{Fate, GRACE, PLUGINS, Plugin, TIERS};
use super::story::scene::PullSeen;
use super::world::World;
use ink::{Ink, Text, cut, padded, paint, wrap};

/// How often the board is drawn.
const FRAME: Duration = Duration::from_millis(200);
/// Lines of events that are shown where the terminal is high enough.
const EVENTS: usize = 16;
/// From this height on there is room for air, and for the addresses above the board.
const HIGH: usize = 28;
/// Lines of addresses above the board.
const INTRODUCTION: usize = 3;
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
    screen.print(&summary(&outcome, screen.size().0))?;
    Ok(outcome)
}

fn introduction(world: &World, dashboard: &str, hands_on: bool) -> Vec<Text> {
    let settings = world.settings();
    let mut lines = vec![
        vec![Ink::Dim.on("Dashboard       "), Ink::Bold.on(dashboard)],
        vec![Ink::Dim.on("Sandbox GitHub  "), Ink::Bold.on(&format!("{}/{}", settings.hub, settings.repository))],
    ];
    if hands_on {
        for text in [
            "There you are maria, the code owner; the list at the top of each page makes you somebody else. Approve,",
            "comment, close or merge: nobody else does, and there is a button for what this person may do and no other.",
            "The dashboard only shows. Ctrl-C ends the sandbox.",
        ] {
            lines.push(vec![Ink::Plain.on(text)]);
        }
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

    /// Columns and lines; where there is no terminal a line is as long as it is.
    fn size(&self) -> (usize, usize) {
        match terminal_size::terminal_size() {
            _ if !self.terminal => (usize::MAX, usize::MAX),
            Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
            None => USUAL,
        }
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
        let (width, height) = self.size();
        let mut frame = String::new();
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}F", self.drawn));
        }
        // A line that wraps, or a board that scrolls, cannot be drawn over.
        let above = if height >= HIGH { INTRODUCTION + 1 } else { 1 };
        let board = board(chronicle, now(), width, height.saturating_sub(above));
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

/// The longer text if it fits into a padded column, else the shorter.
fn longest([long, short]: &[String; 2], width: usize) -> &str {
    if long.chars().count() < width { long } else { short }
}

/// The whole board in at most `height` lines.
fn board(chronicle: &Chronicle, now: Timestamp, width: usize, height: usize) -> Vec<Text> {
    let name = PLUGINS.iter().map(|plugin| plugin.name.len() + 2).max().unwrap_or_default();
    let column = (width.saturating_sub(name) / TIERS.len()).clamp(12, 30);
    let mut lines = vec![head(name, column)];
    for plugin in PLUGINS {
        let cells = TIERS.map(|(tier, _)| cell(chronicle, &plugin, tier, now));
        if height >= HIGH - INTRODUCTION - 1 {
            lines.push(Vec::new());
        }
        let mut upper = vec![padded(Ink::Bold, plugin.name, name)];
        let mut lower = vec![padded(Ink::Dim, "", name)];
        for Cell { ink, what, why } in &cells {
            upper.push(padded(*ink, longest(what, column), column));
            lower.push(padded(Ink::Dim, longest(why, column), column));
        }
        lines.extend([upper, lower]);
    }
    let title = "── what happened (UTC) ";
    let rule = (name + column * TIERS.len()).min(width).saturating_sub(title.chars().count());
    lines.push(vec![Ink::Dim.on(&format!("{title}{}", "─".repeat(rule)))]);
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

/// One plugin on one tier: for each line what to say where there is room, and shorter.
struct Cell {
    ink: Ink,
    what: [String; 2],
    why: [String; 2],
}

impl Cell {
    fn new(ink: Ink, what: impl Into<String>, why: impl Into<String>) -> Self {
        let (what, why) = (what.into(), why.into());
        Self { ink, what: [what.clone(), what], why: [why.clone(), why] }
    }
}

fn cell(chronicle: &Chronicle, plugin: &Plugin, tier: &str, now: Timestamp) -> Cell {
    let scene = &chronicle.scene;
    let Some(together) = scene.together(plugin.name, tier) else {
        return Cell::new(Ink::Dim, "· not installed", "");
    };
    let open = scene.open(plugin.name, tier);
    let version = &together.wanted;
    if let Some(ill) = together.ill.first() {
        let what = [format!("✖ {version} failed"), format!("✖ {version}")];
        let why = match (open, chronicle.blamed(plugin.name, tier)) {
            (Some(pull), _) => waits(pull, plugin, now),
            (None, Some(number)) => [format!("{ill}, see #{number}"), format!("{ill}, #{number}")],
            (None, None) => [ill.clone(), ill.clone()],
        };
        return Cell { ink: Ink::Red, what, why };
    }
    if let Some(pull) = open {
        let to = pull.version.as_deref().unwrap_or("?");
        let what = [format!("● {version} → {to}"), format!("● → {to}")];
        return Cell { ink: Ink::Blue, what, why: waits(pull, plugin, now) };
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

fn waits(pull: &PullSeen, plugin: &Plugin, now: Timestamp) -> [String; 2] {
    let number = pull.number;
    let gold = pull.rung.as_ref().is_some_and(|rung| rung.tier == "gold");
    if plugin.fate == Fate::Forced && gold && pull.wants_review {
        let left = (SignedDuration::from_secs(GRACE) - now.duration_since(pull.opened_at)).as_secs() + 1;
        return if left > 0 {
            [format!("#{number}, force in {left} s"), format!("#{number}, in {left} s")]
        } else {
            [format!("#{number}, force is due"), format!("#{number}, force")]
        };
    }
    if pull.wants_review {
        [format!("#{number} waits for review"), format!("#{number}, review")]
    } else {
        [format!("#{number} is open"), format!("#{number}")]
    }
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
fn summary(outcome: &Outcome, width: usize) -> Vec<Text> {
    let mut lines = vec![Vec::new()];
    lines.extend(wrap(&outcome.headline(), width).into_iter().map(|line| vec![(Ink::Bold, line)]));
    lines.push(Vec::new());
    let inner = width.saturating_sub(4);
    for expectation in &outcome.expectations {
        let (ink, mark, why_ink, why) = match &expectation.held {
            Ok(proof) => (Ink::Green, "  ✔ ", Ink::Dim, proof),
            Err(why) => (Ink::Red, "  ✖ ", Ink::Red, why),
        };
        let sentence = wrap(&expectation.sentence, inner).into_iter().map(|line| (Ink::Plain, line));
        let proof = wrap(why, inner).into_iter().map(|line| (why_ink, line));
        for (number, piece) in sentence.chain(proof).enumerate() {
            lines.push(vec![ink.on(if number == 0 { mark } else { "    " }), piece]);
        }
    }
    lines.push(Vec::new());
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::field_reassign_with_default)]

    use super::super::clusters::{Seen, State};
    use super::super::story::Summary;
    use super::super::story::expectations::Expectation;
    use super::super::story::scene::Scene;
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
        let mut chronicle = Chronicle::default();
        chronicle.scene = scene();
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
                "                    2 of 2 healthy      0 of 3 healthy      #7 waits for review",
                "ingress-nginx       · 4.11.2            · 4.11.2            ✖ 4.11.3 failed     · 4.11.2",
                "                                                            silver-us",
                "kube-state-metrics  · 5.25.0            · 5.25.0            · 5.25.0            ● 5.25.0 → 5.25.1",
                "                                                                                #8, force in 13 s",
                "podinfo             · 6.7.0             · 6.7.0             · 6.7.0             · 6.7.0",
                "",
                "perses              · 0.9.3             · 0.9.3             · 0.9.3             · 0.9.3",
                "",
                "── what happened (UTC) ─────────────────────────────────────────────────────────────────────────────",
                "00:00:04 ✔ merged #1 cert-manager 1.15.0 → qa",
            ]
        );
    }

    #[test]
    fn the_summary_says_what_held_and_what_did_not() {
        let expectation = |sentence: &str, held| Expectation { sentence: sentence.to_owned(), held };
        let summary = Summary { took: SignedDuration::from_secs(47), pulls: 3, merged: 2, forced: 1, closed: 1 };
        let expectations = vec![
            expectation("All is well that ends well", Ok("seen".to_owned())),
            expectation("Nothing breaks", Err("it broke".to_owned())),
        ];
        let outcome = Outcome { expectations, summary };
        assert_eq!(
            plain(&super::summary(&outcome, 30)),
            [
                "",
                "The story took 47 s: 3 pull",
                "requests, 2 merged (1 by",
                "force), 1 closed. 1 of 2",
                "expectations held.",
                "",
                "  ✔ All is well that ends well",
                "    seen",
                "  ✖ Nothing breaks",
                "    it broke",
                "",
            ]
        );
        assert!(!outcome.held());
    }

    #[test]
    fn a_small_terminal_gets_a_smaller_board() {
        let mut chronicle = Chronicle::default();
        chronicle.scene = scene();
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
