//! Every page of one realistic plan, compared with files that people looked at
//! (`tests/fixtures/tell`; `COLDFRAME_BLESS=1` writes them anew), and the rules that hold for all.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use decide::plan::WaveReport;
use decide::{PluginName, TierName};

use super::*;

pub(super) fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tell").join(name);
    if std::env::var_os("COLDFRAME_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; bless it", path.display()));
    assert!(wanted == found, "{name} changed (COLDFRAME_BLESS=1 takes it over):\n{found}");
}

fn notes() -> Vec<ReleaseNote> {
    vec![
        fixture::note(
            "1.15.0",
            "## Changes\n- Adds `nameConstraints` to CA certificates (#6500, thanks @sankalp)\n- Fixes #7012\n",
            Some(fixture::differences()),
        ),
        fixture::note("1.14.8", "Security fixes only.", Some(fixture::no_differences())),
    ]
}

/// What a commit of many files comes to, beside everything else that stands there.
#[test]
fn many_files() {
    let view = fixture::view();
    let mut changes = fixture::changes();
    let section = super::changes(&changes).unwrap();
    let wave = fixture::open();
    golden(
        "pull-many.md",
        &body(&PullFacts::of(&view.plan, &wave, &view.links, &[]).changing(Some(&section))).unwrap(),
    );
    let CheckText { conclusion, title, summary } = check(&wave, &view.links, Some(&section)).unwrap();
    golden("check-many.md", &format!("{}\n{title}\n\n{summary}", conclusion.as_str()));
    changes.hunks.truncate(1);
    (changes.files, changes.others) = (1_490, vec!["clusters/gold/eu-0001/icon.png".to_string()]);
    golden("changes-one.md", &super::changes(&changes).unwrap());
}

fn pull(wave: &WaveReport, notes: &[ReleaseNote]) -> String {
    let (view, tasks) = (fixture::view(), fixture::tasks());
    let tasks = if notes.is_empty() { &[][..] } else { &tasks };
    let ticked = format!("\n### To do for 1.15.0\n- [x] <!-- coldframe:task {} --> x", fixture::tasks()[1].id());
    body(&PullFacts::of(&view.plan, wave, &view.links, notes).asking(tasks, Some(&ticked))).unwrap()
}

#[test]
fn pull_requests() {
    golden("pull-open.md", &pull(&fixture::open(), &notes()));
    golden("pull-held.md", &pull(&fixture::held(), &[]));
    golden("pull-soaking.md", &pull(&fixture::soaking(), &[]));
    golden("pull-forced.md", &pull(&fixture::forced(), &[]));
    assert_eq!(title(&fixture::open()), "cert-manager 1.15.0 → silver (3 of 4)");
}

#[test]
fn checks_and_notice() {
    let links = fixture::view().links;
    for (name, wave) in [("open", fixture::open()), ("held", fixture::held()), ("forced", fixture::forced())] {
        let CheckText { conclusion, title, summary } = check(&wave, &links, None).unwrap();
        golden(&format!("check-{name}.md"), &format!("{}\n{title}\n\n{summary}", conclusion.as_str()));
    }
    let wave = fixture::open();
    let three_days = jiff::SignedDuration::from_hours(72);
    let said = (three_days, wave.grace.as_ref().unwrap().deadline);
    let text = notice(&wave, &links, said, &["@acme/platform".to_string()]).unwrap();
    golden("notice.md", &text);
    assert_eq!(read_notice(&text), Some(three_days));
}

#[test]
fn terminal() {
    let view = fixture::view();
    let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
    let none = decide::Readings::default();
    golden("board.txt", &plain(&board(&view, fixture::now())));
    let (plugin, tier) = (PluginName::from("cert-manager"), TierName::from("silver"));
    golden("explain.txt", &plain(&explain(&view, (&plugin, Some(&tier)), &none, fixture::now()).unwrap()));
    golden(
        "explain-held.txt",
        &plain(&explain(&view, (&"trust-manager".into(), None), &none, fixture::now()).unwrap()),
    );
    golden("summary.md", &step_summary(&view, fixture::now()).unwrap());
    let unknown = explain(&view, (&"cert-manger".into(), None), &none, fixture::now()).unwrap_err().to_string();
    assert!(unknown.contains("`cert-manger`") && unknown.contains("cert-manager"), "{unknown}");
    let unknown = explain(&view, (&plugin, Some(&"platinum".into())), &none, fixture::now()).unwrap_err().to_string();
    assert!(unknown.contains("`platinum`") && unknown.contains("qa, bronze, silver, gold"), "{unknown}");
}

#[test]
fn what_every_signal_says_stands_below_its_cluster() {
    let view = fixture::view();
    let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
    let reading = |signal: &str, version: Option<&str>, evidence: &str| decide::snapshot::Reading {
        signal: signal.to_string(),
        health: decide::snapshot::Health::Healthy,
        running: version.map(|version| version.parse().unwrap()),
        attempted: None,
        digest: None,
        observed_at: fixture::now(),
        since: None,
        evidence: evidence.to_string(),
    };
    let release = "HelmRelease trust-manager/trust-manager";
    let broken = "UpgradeFailed, timed out waiting for the condition";
    let well = [reading(release, Some("0.12.0"), "Ready=True"), reading("Prometheus prom", None, "2 >= 1")];
    let readings = [("eu-1".into(), well.to_vec()), ("eu-2".into(), vec![reading(release, None, broken)])];
    let readings = readings.into_iter().collect();
    let silver = (&"trust-manager".into(), Some(&"silver".into()));
    let text = plain(&explain(&view, silver, &readings, fixture::now()).unwrap());
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  ✔ eu-1")).skip(1).collect();
    assert_eq!(lines[0].trim(), "· HelmRelease trust-manager/trust-manager runs 0.12.0: Ready=True");
    assert_eq!(lines[1].trim(), "· Prometheus prom: 2 >= 1");
    assert!(
        lines[2].starts_with("  ✖ eu-2") && lines[3].starts_with("  ✔ us-1"),
        "what is said is not said twice: {text}"
    );
}

#[test]
fn pages() {
    let (view, now) = (fixture::noted(), fixture::now());
    let loki = || PluginName::from("loki");
    let state = DashboardState { views: vec![Arc::new(view.clone())], person: None };
    let all = |filter: &Filter| dashboard(&state, filter, now).unwrap();
    let ladder = all(&Filter::default());
    let cells = ladder.matches("<td class=").count();
    let rows = ladder.matches("<th scope=\"row\">").count();
    let links = ladder.matches("\"><a href=\"./acme/fleet/plugins/").count();
    assert_eq!(links, cells + rows, "every cell opens its wave, every row its plugin");
    golden("dashboard.html", &ladder);
    let wave = |plugin: &str, tier: &str| {
        (format!("wave-{plugin}-{tier}.html"), wave_page(&view, &plugin.into(), &tier.into(), false, now))
    };
    let pages = [
        wave("cert-manager", "silver"),
        wave("trust-manager", "silver"),
        wave("loki", "gold"),
        (
            "repository.html".to_string(),
            repository_page(&view, &Filter { tier: "gold".into(), ..Filter::default() }, now),
        ),
        ("plugin.html".to_string(), plugin_page(&view, &"cert-manager".into(), now)),
        ("tier.html".to_string(), tier_page(&view, &"silver".into(), &Filter::default(), now)),
        ("release.html".to_string(), release_page(&view, &"cert-manager".into(), &fixture::version("1.15.0"), now)),
    ];
    for (name, page) in pages {
        let page = page.unwrap();
        assert!(!page.contains("href=\"#\""), "every link leads somewhere");
        golden(&name, &page);
    }
    assert!(dashboard(&DashboardState::default(), &Filter::default(), now).unwrap().contains("No repository"));
    assert!(wave_page(&view, &loki(), &"platinum".into(), false, now).is_err());
    assert!(tier_page(&view, &"platinum".into(), &Filter::default(), now).is_err());
    assert!(plugin_page(&view, &"nobody".into(), now).is_err());
    assert!(release_page(&view, &loki(), &fixture::version("9.9.9"), now).is_err());
    assert!(release_page(&view, &"nobody".into(), &fixture::version("6.6.2"), now).is_err());
}
