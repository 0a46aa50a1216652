//! The one comment of the bot on a pull request, edited in place: which notices went out, and the
//! hidden line by which it is read back. When a notice is due is decided elsewhere.

use decide::plan::{Gate, WaveReport};
use decide::reason::spell;
use decide::{Reason, Verdict};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{Links, TellError, inert, render, words};

const MARK: &str = "<!-- coldframe:notices ";
const MARK_END: &str = " -->";
/// More notices than any policy asks for.
const MOST: usize = 32;

#[derive(Serialize)]
struct Page {
    name: String,
    before: String,
    deadline: String,
    owners: String,
    sent: Vec<String>,
    mark: String,
}

/// The comment that says that the deadline comes near. `before` is how long before `deadline` this
/// notice speaks; the ones that went out earlier are in the wave's grace period and stay named.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn notice(
    wave: &WaveReport,
    links: &Links,
    before: SignedDuration,
    deadline: Timestamp,
) -> Result<String, TellError> {
    let zone = links.zone(&wave.plugin, &wave.tier);
    let earlier = wave.grace.as_ref().map_or(&[][..], |grace| grace.notices.as_slice());
    let earlier: Vec<_> = earlier.iter().filter(|notice| notice.before != before).take(MOST - 1).collect();
    let seconds = earlier.iter().map(|notice| notice.before).chain([before]).map(|before| before.as_secs().to_string());
    let mark = format!("{MARK}{}{MARK_END}", seconds.collect::<Vec<_>>().join(" "));
    let sent =
        earlier.iter().map(|notice| format!("{} before: {}", spell(notice.before), words::when(notice.at, &zone)));
    let page = Page {
        name: words::name(wave),
        before: spell(before),
        deadline: words::when(deadline, &zone),
        owners: owners(wave),
        sent: sent.collect(),
        mark,
    };
    render::markdown("notice", &page)
}

/// Who is asked to approve. A notice is there to reach people, so that owners whose form is that
/// of a login or a team are mentioned; they come from CODEOWNERS of the base branch.
fn owners(wave: &WaveReport) -> String {
    let asked = wave.findings.iter().filter(|f| f.gate == Gate::Approvals && !matches!(f.verdict, Verdict::Pass));
    let owners: Vec<String> = asked
        .flat_map(
            |finding| {
                if let Reason::NeedsApproval { owners, .. } = &finding.because { owners.as_slice() } else { &[] }
            },
        )
        .take(20)
        .map(|owner| if is_owner(owner) { owner.clone() } else { inert::md(owner) })
        .collect();
    words::and(&owners)
}

/// `@login` or `@organisation/team`.
fn is_owner(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.len() <= 100 && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    let Some(name) = text.strip_prefix('@') else { return false };
    match name.split_once('/') {
        Some((organisation, team)) => part(organisation) && part(team),
        None => part(name),
    }
}

/// The notices that a comment of ours names, in their order. Strict: the comment has one such
/// line and it is the last; else none went out. Who wrote the comment is for the caller to check.
pub fn read_notices(body: &str) -> Vec<SignedDuration> {
    read(body).unwrap_or_default()
}

fn read(body: &str) -> Option<Vec<SignedDuration>> {
    if body.matches(MARK.trim_end()).count() != 1 {
        return None;
    }
    let last = body.trim_end().lines().next_back()?.trim_end();
    let list = last.strip_prefix(MARK)?.strip_suffix(MARK_END)?;
    let numbers: Vec<&str> = list.split(' ').take(MOST + 1).collect();
    if numbers.len() > MOST {
        return None;
    }
    let parse = |text: &str| {
        let plain = !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse().ok().map(SignedDuration::from_secs)).flatten()
    };
    numbers.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::fixture;
    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    fn text(before: i64) -> String {
        let links = fixture::view().links;
        notice(&fixture::open(), &links, SignedDuration::from_secs(before), fixture::now()).unwrap()
    }

    #[test]
    fn each_notice_is_named_once() {
        let days = |days: &[i64]| days.iter().map(|day| SignedDuration::from_secs(day * DAY)).collect::<Vec<_>>();
        assert_eq!(read_notices(&text(3 * DAY)), days(&[14, 3]));
        assert_eq!(read_notices(&text(14 * DAY)), days(&[14]), "said again, not twice");
        assert_eq!(read_notices(&text(3 * DAY).replace('\n', "\r\n")), days(&[14, 3]), "the hub's line ends");
    }

    #[test]
    fn what_is_not_our_last_line_names_none() {
        let good = text(3 * DAY);
        for (what, body) in [
            ("nothing", String::new()),
            ("a person's comment", "approve this".to_string()),
            ("a marker that is not last", format!("{good}\nand more")),
            ("two markers", format!("<!-- coldframe:notices 60 -->\n{good}")),
            ("text before it on the line", good.replace("<!-- cold", "x <!-- cold")),
            ("no number", good.replace("1209600", "soon")),
            ("a negative number", good.replace("1209600", "-1209600")),
            ("an empty list", "<!-- coldframe:notices  -->".to_string()),
            ("too large", good.replace("1209600", "99999999999")),
            ("too many", format!("<!-- coldframe:notices {} -->", vec!["60"; MOST + 1].join(" "))),
        ] {
            assert_eq!(read_notices(&body), Vec::<SignedDuration>::new(), "{what}");
        }
    }

    #[test]
    fn owners_are_mentioned_by_login_or_team_only() {
        for (owner, is) in [
            ("@alice", true),
            ("@acme/platform", true),
            ("@acme/", false),
            ("@", false),
            ("alice@acme.example", false),
            ("@a/b/c", false),
            ("@alice and more", false),
        ] {
            assert_eq!(is_owner(owner), is, "{owner}");
        }
    }
}
