//! Foreign text that tries to come alive, in every place where foreign text may stand, read as
//! GitHub reads it: nothing in it may become a mention, a reference, a closing keyword, HTML, an
//! image or a link (`docs/attacks.md`, A19 to A21, A35).
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::wildcard_enum_match_arm)] // the parser's own nodes: what is not named is not alive

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use decide::plan::{Gate, MemberState, Verdict, WaveReport, WaveState};
use decide::reason::MemberTrouble;
use decide::{Plan, Reason};
use proptest::prelude::*;

use super::fixture::HOSTILE;
use super::*;
use crate::git::{Changes, Hunk};
use crate::policy::wiring::{Body, Piece, Section};

/// A wave that carries a text in every place that foreign text can reach.
fn wave(text: &str) -> WaveReport {
    let trouble = MemberTrouble {
        cluster: text.into(),
        what: text.to_string(),
        evidence: text.to_string(),
        since: Some(fixture::now()),
    };
    let mut wave = fixture::open();
    wave.members.change(0, |member| member.cluster = text.into());
    wave.members.change(1, |member| member.state = MemberState::Degraded(trouble.clone()));
    wave.from = None;
    wave.digest = Some(decide::Digest::new(text));
    fixture::put(&mut wave, Gate::Hold, Verdict::Fail, Reason::Held { by: text.into(), why: text.to_string() });
    fixture::put(&mut wave, Gate::Head, Verdict::Fail, Reason::ChecksFailed { names: vec![text.to_string()] });
    let unread = Reason::Unread { what: text.to_string(), why: text.to_string() };
    fixture::put(&mut wave, Gate::Release, Verdict::Unknown, unread);
    let owners = vec![text.to_string()];
    fixture::put(
        &mut wave,
        Gate::Approvals,
        Verdict::Wait { until: None },
        Reason::NeedsApproval { owners, missing: 1 },
    );
    let mut forced = fixture::forced().forced.unwrap();
    forced.held = vec![text.to_string()];
    forced.waived = text.to_string();
    forced.policy = text.into();
    wave.forced = Some(forced);
    wave
}

/// What a signal says in these words.
fn readings(text: &str) -> decide::Readings {
    let reading = decide::snapshot::Reading {
        signal: text.to_string(),
        health: decide::snapshot::Health::Healthy,
        running: None,
        attempted: None,
        digest: None,
        observed_at: fixture::now(),
        since: None,
        evidence: format!("{text} again"),
    };
    [("eu-2".into(), vec![reading])].into_iter().collect()
}

fn failed(text: &str) -> WaveReport {
    let trouble =
        MemberTrouble { cluster: text.into(), what: text.to_string(), evidence: text.to_string(), since: None };
    let why = Reason::MembersFailed { members: vec![trouble], tolerated: 0 };
    let state = WaveState::Failed { at: fixture::now(), why };
    WaveReport { plugin: "trust-manager".into(), state, ..wave(text) }
}

/// The whole view with the text in the repository's own words too.
pub(super) fn view(text: &str) -> View {
    let mut view = fixture::view();
    view.trouble = Some(text.to_string());
    view.freezes[0].why = text.to_string();
    for facts in view.links.tiers.values_mut() {
        facts.places = vec![(text.to_string(), None), (format!("{text}2"), None)];
    }
    let place = view.plan.waves.iter().position(|wave| *wave == fixture::open()).unwrap();
    view.plan.waves[place] = wave(text);
    let place = view.plan.waves.iter().position(|wave| *wave == fixture::held()).unwrap();
    view.plan.waves[place] = failed(text);
    for climb in &mut view.plan.climbs {
        for at in &mut climb.tiers {
            if matches!(at.state, WaveState::Failed { .. }) {
                at.state = failed(text).state;
            }
        }
    }
    view
}

/// Every Markdown text that the bot may send.
fn texts(text: &str) -> Vec<(&'static str, String)> {
    let view = view(text);
    let note = |text: &str| fixture::note("1.15.0", text, Some(fixture::differences_that_say(text)));
    let unread = Differences { from: fixture::version("1.14.7"), became: Err(text.to_string()) };
    let notes = [note(text), note("plain"), fixture::note("1.14.8", "plain", Some(unread))];
    // What a patch holds is a file of the repository, and one that would come alive is none.
    let tasks = [text, "plain"].map(|text| Task { words: text.to_string(), patch: Some(text.to_string()) });
    let tasks = tasks.map(|task| Task { patch: task.patch.filter(|patch| inert::is_inert(patch)), ..task });
    let pull = |wave: &WaveReport| {
        body(&PullFacts::of(&view.plan, wave, &view.links, &notes).asking(&tasks, Some(text))).unwrap()
    };
    let soon = jiff::SignedDuration::from_hours(24);
    let changed = changes(&fixture::changes_that_say(text)).unwrap();
    let many = wave(text);
    let many = PullFacts::of(&view.plan, &many, &view.links, &notes).changing(Some(&changed));
    let own = fixture::backwards();
    let mut merged = fixture::forced();
    let unread = Reason::Unread { what: text.to_string(), why: text.to_string() };
    fixture::put(&mut merged, Gate::Health, Verdict::Unknown, unread);
    let mut noticed = wave(text);
    noticed.findings.retain(|finding| finding.gate == Gate::Approvals);
    vec![
        ("pull request", pull(&wave(text))),
        ("held pull request", pull(&failed(text))),
        ("merged pull request", pull(&merged)),
        ("pull request of many files", body(&many).unwrap()),
        ("pull request in another order", body(&PullFacts { body: Some(&own), ..many }).unwrap()),
        ("check", check(&wave(text), &view.links, None).unwrap().summary),
        ("check of many files", check(&wave(text), &view.links, Some(&changed)).unwrap().summary),
        ("held check", check(&failed(text), &view.links, None).unwrap().summary),
        ("summary", step_summary(&view, fixture::now()).unwrap()),
        ("answers", answers::tests::that_says(text, &wave(text))),
        ("onboarding", onboarding::tests::that_says(text)),
        ("notice", notice(&noticed, &view.links, (soon, fixture::now()), &[text.to_string()]).unwrap()),
        ("comment on an issue", notify::tests::comment_that_says(text, &view.links)),
    ]
}

/// Reads Markdown as the hub does and lists what is alive in it.
fn alive(markdown: &str, own_mention: Option<&str>) -> Vec<String> {
    let mut options = Options::default();
    options.extension.autolink = true;
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options.extension.math_dollars = true;
    options.extension.math_code = true;
    let arena = Arena::new();
    let mut found = Vec::new();
    visit(parse_document(&arena, markdown, &options), own_mention, &mut found);
    found
}

fn visit<'a>(node: &'a AstNode<'a>, own: Option<&str>, found: &mut Vec<String>) {
    let mut run = String::new(); // text as the hub's filters see it, code and links cut out
    for child in node.children() {
        let value = &child.data.borrow().value;
        match value {
            NodeValue::Text(text) => run.push_str(text),
            NodeValue::SoftBreak | NodeValue::LineBreak => run.push('\n'),
            NodeValue::Link(link) => {
                run.push('\u{0}');
                if !link.url.starts_with("https://github.com/acme/fleet/pull/") {
                    found.push(format!("link {}", link.url));
                }
            }
            NodeValue::HtmlBlock(html) => html_is_ours(&html.literal, found),
            NodeValue::HtmlInline(html) => html_is_ours(html, found),
            NodeValue::Code(code) => {
                run.push('\u{0}');
                characters(&code.literal, found);
            }
            NodeValue::TaskItem(_) if is_ours(child) => {}
            NodeValue::TaskItem(_) => found.push(format!("{value:?}")),
            NodeValue::CodeBlock(block) => characters(&block.literal, found),
            NodeValue::Image(_)
            | NodeValue::Math(_)
            | NodeValue::FootnoteDefinition(_)
            | NodeValue::FootnoteReference(_)
            | NodeValue::Alert(_)
            | NodeValue::Strikethrough => found.push(format!("{value:?}")),
            _ => run.push('\u{0}'),
        }
        if !matches!(value, NodeValue::Link(_)) {
            visit(child, own, found);
        }
    }
    characters(&run, found);
    let run = own.map_or_else(|| run.clone(), |own| run.replace(own, ""));
    references(&run, found);
}

const TASK: &str = "<!-- coldframe:task ";

/// Whether an item with a box begins with our own mark.
fn is_ours<'a>(item: &'a AstNode<'a>) -> bool {
    let first = item.first_child().and_then(|paragraph| paragraph.first_child());
    first.is_some_and(|first| match &first.data.borrow().value {
        NodeValue::HtmlInline(html) => has_ids(html, TASK, 16),
        _ => false,
    })
}

fn has_ids(html: &str, mark: &str, length: usize) -> bool {
    let ids = html.strip_prefix(mark).and_then(|rest| rest.strip_suffix(" -->"));
    let is_id = |id: &str| id.len() == length && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    ids.is_some_and(|ids| ids.split(' ').all(is_id))
}

/// Only the frame of a folded part, and our own marker as a whole last line.
fn html_is_ours(html: &str, found: &mut Vec<String>) {
    let ours = |line: &str| {
        let inside = line.strip_prefix("<details><summary>").and_then(|rest| rest.strip_suffix("</summary>"));
        let mark = line.strip_prefix("<!-- coldframe:notice ").or(line.strip_prefix("<!-- coldframe:answers "));
        let mark = mark.and_then(|rest| rest.strip_suffix(" -->"));
        inside.is_some_and(|inside| !inside.contains(['<', '@', '#']))
            || mark.is_some_and(|mark| mark.bytes().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'r')))
            || line == "</details>"
            || has_ids(line, TASK, 16)
            || has_ids(line, "<!-- coldframe:told ", 32)
    };
    found.extend(html.lines().filter(|line| !line.is_empty() && !ours(line)).map(|line| format!("html {line}")));
}

pub(super) fn characters(text: &str, found: &mut Vec<String>) {
    let hidden = |c: &char| {
        (c.is_control() && *c != '\n' && *c != '\0')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    found.extend(text.chars().filter(hidden).map(|c| format!("hidden {c:?} in {text:?}")));
}

/// What the hub's filters look for in plain text.
fn references(text: &str, found: &mut Vec<String>) {
    let lower = text.to_lowercase();
    let chars: Vec<char> = lower.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or(' ');
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        if *c == '@' && !before.is_alphanumeric() && after.is_ascii_alphanumeric() {
            found.push(format!("mention in {text:?}"));
        }
        if *c == '#' && after.is_ascii_digit() {
            found.push(format!("reference in {text:?}"));
        }
    }
    for word in ["://", "www.", "gh-1", "gh-3"] {
        if lower.contains(word) {
            found.push(format!("{word} in {text:?}"));
        }
    }
    let is_sha = |word: &&str| word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
    found.extend(lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_sha).map(|sha| format!("commit {sha}")));
}

/// The one mention that is meant: owners in a notice.
fn meant<'a>(name: &str, text: &'a str) -> Option<&'a str> {
    (name == "notice" && text.starts_with('@') && !text.contains(' ')).then_some(text)
}

#[test]
fn a20_nothing_foreign_comes_alive() {
    for text in HOSTILE {
        for (name, markdown) in texts(text) {
            assert_eq!(alive(&markdown, meant(name, text)), Vec::<String>::new(), "{name} of {text:?}:\n{markdown}");
        }
    }
}

/// What is said of a release, with the text wherever an author's words may stand.
fn section(text: &str) -> String {
    let view = fixture::view();
    let notes = [fixture::note("1.15.0", text, Some(fixture::differences_that_say(text)))];
    let patch = Some(text.to_string()).filter(|patch| inert::is_inert(patch));
    let tasks = [Task { words: text.to_string(), patch }];
    let alone = Body { written: String::new(), pieces: vec![Piece::Section(Section::ReleaseNotes)] };
    let wave = fixture::open();
    let facts = PullFacts::of(&view.plan, &wave, &view.links, &notes).asking(&tasks, None);
    body(&PullFacts { body: Some(&alone), ..facts }).unwrap()
}

/// They lie where `tests/peers` shows them to the parser that GitHub uses.
#[test]
fn a20_what_is_shown_to_another_parser_is_current() {
    let texts: serde_json::Map<String, serde_json::Value> =
        HOSTILE.into_iter().map(|text| (text.to_string(), section(text).into())).collect();
    golden::golden("hostile.json", &(serde_json::to_string_pretty(&texts).unwrap() + "\n"));
}

#[test]
fn the_check_for_life_sees_it() {
    for text in ["hi @alice", "see #1", "a <b>x</b>", "![x](y)", "https://a.example", "- [ ] x", "\u{202e}x", "GH-3"] {
        assert_ne!(alive(text, None), Vec::<String>::new(), "{text}");
    }
    assert_eq!(alive("`@alice #1 https://a.example`\n\n```\n@alice\n```\n", None), Vec::<String>::new());
}

#[test]
fn tables_keep_their_columns() {
    for text in HOSTILE {
        let summary = check(&failed(text), &fixture::view().links, None).unwrap().summary;
        let mut options = Options::default();
        options.extension.table = true;
        let arena = Arena::new();
        let root = parse_document(&arena, &summary, &options);
        let tables: Vec<_> =
            root.descendants().filter(|node| matches!(node.data.borrow().value, NodeValue::Table(_))).collect();
        assert_eq!(tables.len(), 3, "{text:?}:\n{summary}");
        let gates = tables[0].children().count() + tables[1].children().count();
        assert_eq!(gates, 14, "a row per gate, in two tables, {text:?}:\n{summary}");
        assert_eq!(tables[2].children().count(), 5, "a row per cluster, {text:?}:\n{summary}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_made_of_hostile_pieces_comes_alive(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "@", "alice", "#", "1", "`", "``", "\\", "|", "<", ">", "!", "[", "]", "(", ")", "*", "_", "~", "$",
                "&", ";", ":", "//", "http", "https://a.example", "www.", ".", "-", "+", "\n", " ", "gh-3", "x",
                "<!--", "-->", "details", "/", "\u{200b}", "\u{202e}", "\t", "\r", "é", "{{", "}}",
            ]),
            0..24,
        )
    ) {
        let text = pieces.concat();
        for (name, markdown) in texts(&text) {
            prop_assert_eq!(
                alive(&markdown, meant(name, &text)), Vec::<String>::new(), "{} of {:?}:\n{}", name, text, markdown
            );
        }
    }
}

#[test]
fn a20_ten_megabytes_of_notes_are_cut_and_say_so() {
    let notes: Vec<ReleaseNote> = (0..20)
        .map(|patch| {
            let text = "[x](https://evil.example) @alice Fixes #1\n".repeat(250_000);
            fixture::note(&format!("1.15.{patch}"), &text, None)
        })
        .collect();
    let view = fixture::view();
    let wave = fixture::open();
    let text = body(&PullFacts::of(&view.plan, &wave, &view.links, &notes)).unwrap();
    assert!(text.chars().count() <= page::CAP, "{}", text.chars().count());
    assert!(text.contains("… cut here") && text.contains("more.*"), "a cut is shown");
    assert!(text.trim_end().ends_with("keeps its hands off."), "what comes after the notes is still there");
    assert_eq!(alive(&text, None), Vec::<String>::new());
    for (what, text) in [("backticks", "`".repeat(100_000)), ("no line end", "x".repeat(10_000_000))] {
        let notes = [fixture::note("1.15.0", &text, Some(fixture::differences_that_say(&text)))];
        let text = body(&PullFacts::of(&view.plan, &wave, &view.links, &notes)).unwrap();
        assert!(text.chars().count() <= page::CAP, "{what}");
        assert_eq!(alive(&text, None), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn a_thousand_clusters_with_long_evidence_fit() {
    let long = "x".repeat(5_000);
    let mut wave = failed(&long);
    let one = wave.members.iter().nth(1).unwrap();
    wave.members = (0..4_000).map(|_| one.clone()).collect();
    let view = view(&long);
    let hunk = |number: usize| Hunk {
        lines: format!("-{number}{long}\n+{long}\n").into_bytes(),
        files: (0..10).map(|file| format!("{number}/{long}/{file}")).collect(),
        ..fixture::changes().hunks[0].clone()
    };
    let others = vec![long.clone(); 1_500];
    let section = changes(&Changes { hunks: (0..1_500).map(hunk).collect(), others, ..fixture::changes() }).unwrap();
    assert!(section.chars().count() <= 17_000, "{}", section.chars().count());
    for text in [
        body(&PullFacts::of(&view.plan, &wave, &view.links, &[]).changing(Some(&section))).unwrap(),
        check(&wave, &view.links, Some(&section)).unwrap().summary,
        step_summary(&view, fixture::now()).unwrap(),
    ] {
        assert!(text.chars().count() <= page::CAP, "{}", text.chars().count());
        assert!(!text.contains("*Cut here: this text"), "lists are bounded before the last resort");
    }
}

#[test]
fn an_address_that_is_none_leads_nowhere() {
    let mut view = fixture::view();
    view.links.repo = "javascript:alert(1)//".to_string();
    let page = wave_page(&view, &"cert-manager".into(), &"silver".into(), true, fixture::now()).unwrap();
    assert!(page.contains("href=\"#\"") && !page.contains("javascript:"), "{page}");
    let text = body(&PullFacts::of(&view.plan, &fixture::open(), &view.links, &[])).unwrap();
    assert!(!text.contains("](javascript"), "{text}");
}

#[test]
fn a19_terminal_lines_stay_lines() {
    for text in HOSTILE {
        let view = view(text);
        let mut shown = board(&view, fixture::now());
        shown.push_str(&explain(&view, (&"cert-manager".into(), None), &readings(text), fixture::now()).unwrap());
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert!(!plain.contains('\u{1b}') && !plain.contains("##["), "{text:?}:\n{plain}");
        let mut hidden = Vec::new();
        characters(&plain, &mut hidden);
        assert_eq!(hidden, Vec::<String>::new(), "{text:?}");
        for line in plain.lines() {
            assert!(!line.trim_start().starts_with("::"), "a workflow command: {line}");
        }
    }
}

#[test]
fn nothing_of_a_plan_without_waves_breaks() {
    let view = View { plan: Plan::default(), ..fixture::view() };
    assert!(board(&view, fixture::now()).contains("names no plugin yet"));
    assert!(step_summary(&view, fixture::now()).unwrap().contains("**Would do:** nothing"));
    let unknown = explain(&view, (&"x".into(), None), &decide::Readings::default(), fixture::now());
    assert!(unknown.unwrap_err().to_string().contains("none"));
}
