//! The picture of a replay for a page: what came out and what reached the last tier over the months,
//! and how far releases came. It follows the page's light or dark, and needs no script and no font.

use std::fmt::Write as _;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::table::{rough, share, title};
use super::{Case, Figures};

const WIDTH: f64 = 880.0;
/// The plot of the months: left, top, right, bottom.
const PLOT: (f64, f64, f64, f64) = (52.0, 112.0, 490.0, 356.0);
/// Where the bars of the tiers begin and end.
const BARS: (f64, f64) = (664.0, 816.0);
/// Letters of the small text that fit beside each other in a wide font, and the height of a line of it.
const LINE: (usize, f64) = (118, 18.0);
/// How often the curves are sampled.
const STEP: SignedDuration = SignedDuration::from_hours(24 * 7);

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:#1f2328}\
.h{font-size:17px;font-weight:600}.m{fill:#59636e;font-size:12px}.b{font-weight:600}\
.bg{fill:#fff;stroke:#d1d9e0}.g{stroke:#d1d9e0;stroke-width:1}.l{fill:none;stroke-width:2.2;stroke-linejoin:round}\
.s0{stroke:#8c959f}.s1{stroke:#1a7f37}.s2{stroke:#bc4c00}.f0{fill:#59636e}.f1{fill:#1a7f37}.f2{fill:#bc4c00}\
.s3{stroke:#0969da}.s4{stroke:#8250df}.s5{stroke:#9a6700}.s6{stroke:#cf222e}\
.f3{fill:#0969da}.f4{fill:#8250df}.f5{fill:#9a6700}.f6{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.m{fill:#9198a1}.bg{fill:#0d1117;stroke:#3d444d}.g{stroke:#3d444d}\
.s0{stroke:#9198a1}.s1{stroke:#3fb950}.s2{stroke:#f0883e}.f0{fill:#9198a1}.f1{fill:#3fb950}.f2{fill:#f0883e}\
.s3{stroke:#4493f8}.s4{stroke:#ab7df8}.s5{stroke:#d29922}.s6{stroke:#f85149}\
.f3{fill:#4493f8}.f4{fill:#ab7df8}.f5{fill:#d29922}.f6{fill:#f85149}}";

// Writing into a String cannot fail, so that its results are let go.

/// The picture of one case.
pub(super) fn svg(about: &str, case: &Case) -> String {
    let Some(first) = case.columns.first() else { return String::new() };
    let top = first.figures.top().map(|tier| tier.name.to_string()).unwrap_or_default();
    let (what, under) = about.split_once('\n').unwrap_or((about, ""));
    let what = what.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let under = lines(&format!("{} {}.", under.lines().next().unwrap_or_default(), title(case)));
    let summary = summary(case, &top);
    let below: Vec<String> = summary.iter().flat_map(|sentence| lines(sentence)).collect();
    // More than one line above moves all that is below it.
    let lower = LINE.1 * under.len().saturating_sub(1) as f64;
    let plot = (PLOT.3 + 56.0).max(PLOT.1 + first.figures.tiers.len() as f64 * room(case) + 28.0);
    let height = lower + plot + LINE.1 * below.len() as f64;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"t d\">\n\
         <title id=\"t\">{} of {} releases reach {}</title>\n<desc id=\"d\">{}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"bg\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        first.figures.top().map_or(0, |tier| tier.reached),
        first.figures.releases,
        clean(&top),
        clean(&format!("{} {}", about.replace('\n', " "), summary.join(" "))),
        WIDTH - 1.0,
        height - 1.0
    );
    label(&mut out, (20.0, 32.0), "h", &format!("How many releases reach {top}"));
    label(&mut out, (20.0, 53.0), "m", &format!("{what}."));
    paragraph(&mut out, 71.0, &under);
    let _ = writeln!(out, "<g transform=\"translate(0 {lower})\">");
    curves(&mut out, case);
    bars(&mut out, case);
    paragraph(&mut out, plot, &below);
    out.push_str("</g>\n</svg>\n");
    out
}

/// The longest waits and the pull requests, a sentence each.
fn summary(case: &Case, top: &str) -> [String; 2] {
    let wait = |figures: &Figures| figures.longest_wait.as_ref().map_or("–".to_string(), |wait| rough(wait.lasted));
    let each = |say: &dyn Fn(&Figures) -> String| {
        let said = case.columns.iter().map(|column| format!("{} ({})", column.name, say(&column.figures)));
        said.collect::<Vec<_>>().join(", ")
    };
    [
        format!("Longest time that a plugin waited for {top}: {}.", each(&wait)),
        format!("Pull requests a week: {}.", each(&|figures| format!("{:.1}", figures.pulls_a_week()))),
    ]
}

/// Releases, and those of each rule that reached the last tier, added up over time.
fn curves(out: &mut String, case: &Case) {
    let Some(first) = case.columns.first() else { return };
    let (span, most) = (first.figures.span, first.figures.releases.max(1));
    let (left, upper, right, lower) = PLOT;
    let x = |at: Timestamp| {
        let whole = span.1.duration_since(span.0).as_secs_f64().max(1.0);
        left + (right - left) * at.duration_since(span.0).as_secs_f64() / whole
    };
    let y = |count: usize| lower - (lower - upper) * count as f64 / most as f64;
    let step = grid_step(most);
    for count in (0..=most).step_by(step) {
        let _ = writeln!(out, "<path class=\"g\" d=\"M{left} {0:.1}H{right}\"/>", y(count));
        let _ = writeln!(
            out,
            "<text class=\"m\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{count}</text>",
            left - 7.0,
            y(count) + 4.0
        );
    }
    for (at, text) in marks(span) {
        let _ = writeln!(
            out,
            "<text class=\"m\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            x(at),
            lower + 19.0
        );
    }
    let none = Vec::new();
    let mut ends: Vec<(f64, String, usize)> = Vec::new();
    let mut curve = |times: &[Timestamp], name: String, colour: usize| {
        let mut path = String::new();
        let mut at = span.0;
        loop {
            let count = times.partition_point(|time| *time <= at);
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, x(at), y(count));
            if at >= span.1 {
                break;
            }
            at = (at + STEP).min(span.1);
        }
        let _ = writeln!(out, "<path class=\"l s{colour}\" d=\"{path}\"/>");
        ends.push((y(times.len()) + 4.0, name, colour));
    };
    curve(&first.figures.release_times, format!("{} released", first.figures.releases), 0);
    for (index, column) in case.columns.iter().enumerate() {
        let times = column.figures.top().map_or(&none, |tier| &tier.times);
        curve(times, format!("{} {}", times.len(), column.name), index + 1);
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::MIN;
    for (y, name, colour) in ends {
        let y = y.max(free);
        free = y + 17.0;
        label(out, (right + 8.0, y), &format!("b f{colour}"), &name);
    }
}

/// How far releases came under each rule, tier by tier.
fn bars(out: &mut String, case: &Case) {
    let Some(first) = case.columns.first() else { return };
    let most = first.figures.releases.max(1);
    for (index, tier) in first.figures.tiers.iter().enumerate() {
        let y = PLOT.1 + index as f64 * room(case);
        label(out, (BARS.0, y + 2.0), "b", tier.name.as_str());
        for (number, column) in case.columns.iter().enumerate() {
            let reached = column.figures.tiers.get(index).map_or(0, |tier| tier.reached);
            let width = (BARS.1 - BARS.0) * reached as f64 / most as f64;
            let y = y + 9.0 + number as f64 * 17.0;
            let _ = writeln!(
                out,
                "<rect class=\"f{}\" x=\"{}\" y=\"{y}\" width=\"{width:.1}\" height=\"13\" rx=\"2\"/>",
                number + 1,
                BARS.0
            );
            let text = format!("{} %", share(reached, most));
            label(out, (BARS.0 + width + 6.0, y + 11.0), "m", &text);
        }
    }
}

/// The height of a tier's name and its bars.
fn room(case: &Case) -> f64 {
    24.0 + 17.0 * case.columns.len() as f64
}

/// Text in lines that the picture is wide enough for. A word that is longer stands alone.
fn lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 || last + 1 + word.chars().count() <= LINE.0 => {
                line.push_str(if last == 0 { "" } else { " " });
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn paragraph(out: &mut String, y: f64, lines: &[String]) {
    for (number, line) in lines.iter().enumerate() {
        label(out, (20.0, y + LINE.1 * number as f64), "m", line);
    }
}

fn label(out: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", clean(text));
}

/// Text of others in XML.
fn clean(text: &str) -> String {
    let text = crate::parse::visible(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A round number of which some five fit.
fn grid_step(most: usize) -> usize {
    let tens = std::iter::successors(Some(1usize), |step| step.checked_mul(10));
    let mut steps = tens.take(18).flat_map(|ten| [ten, 2 * ten, 5 * ten]);
    steps.find(|step| most / step <= 5).unwrap_or(most.max(1))
}

/// The beginnings of months that stand under the plot, some six of them.
fn marks((from, to): (Timestamp, Timestamp)) -> Vec<(Timestamp, String)> {
    let first: Date = from.to_zoned(TimeZone::UTC).date().first_of_month();
    let months: Vec<(Timestamp, String)> = (1..1_200i32)
        .map_while(|number| first.checked_add(number.months()).ok())
        .filter_map(|day| {
            let at = DateTime::from_parts(day, jiff::civil::Time::midnight()).to_zoned(TimeZone::UTC).ok()?.timestamp();
            Some((at, day.strftime("%b %Y").to_string()))
        })
        .take_while(|(at, _)| *at < to)
        .collect();
    let every = months.len().div_ceil(6).max(1);
    months.into_iter().step_by(every).collect()
}
