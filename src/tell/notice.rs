//! A notice that the grace period ends: a comment of its own that mentions those who may approve, because the hub tells
//! nobody of an edited one; and the hidden line by which it is read back. When it is due is decided elsewhere.

use decide::plan::WaveReport;
use decide::reason::spell;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{Links, TellError, inert, render, words};

const MARK: &str = "<!-- coldframe:notice ";
const MARK_END: &str = " -->";
/// The hub tells nobody of a comment that mentions more.
const MOST_OWNERS: usize = 50;

#[derive(Serialize)]
struct Page {
    name: String,
    before: String,
    deadline: String,
    owners: String,
    mark: String,
}

/// The comment that says that the deadline comes near. `before` is how long before `deadline` this notice speaks, and
/// `owners` are those who are asked to approve.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn notice(
    wave: &WaveReport,
    links: &Links,
    (before, deadline): (SignedDuration, Timestamp),
    owners: &[String],
) -> Result<String, TellError> {
    let zone = links.zone(&wave.plugin, &wave.tier);
    // Owners whose form is that of a login or a team are mentioned; they come from CODEOWNERS of the base branch.
    let mention = |owner: &String| if is_owner(owner) { owner.clone() } else { inert::md(owner) };
    let owners: Vec<String> = owners.iter().take(MOST_OWNERS).map(mention).collect();
    let page = Page {
        name: words::name(wave),
        before: spell(before),
        deadline: words::when(deadline, &zone),
        owners: words::and(&owners),
        mark: format!("{MARK}{}{MARK_END}", before.as_secs()),
    };
    render::markdown("notice", &page)
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

/// How long before the deadline a comment of ours gives notice. Strict: it has one such line, which is the last; else
/// it is no notice. Who wrote the comment, and whether it is as it was written, is for the caller to check.
pub fn read_notice(body: &str) -> Option<SignedDuration> {
    if body.matches(MARK.trim_end()).count() != 1 {
        return None;
    }
    let last = body.trim_end().lines().next_back()?.trim_end();
    let seconds = last.strip_prefix(MARK)?.strip_suffix(MARK_END)?;
    let plain = !seconds.is_empty() && seconds.len() <= 10 && seconds.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| seconds.parse().ok().map(SignedDuration::from_secs)).flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::fixture;
    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    fn text(before: i64) -> String {
        let links = fixture::view().links;
        let owners = ["@acme/platform".to_string(), "not @alice".to_string()];
        notice(&fixture::open(), &links, (SignedDuration::from_secs(before), fixture::now()), &owners).unwrap()
    }

    #[test]
    fn a_notice_mentions_owners_and_is_read_back() {
        let three = Some(SignedDuration::from_secs(3 * DAY));
        assert_eq!(read_notice(&text(3 * DAY)), three);
        assert_eq!(read_notice(&text(3 * DAY).replace('\n', "\r\n")), three, "the hub's line ends");
        assert!(text(DAY).contains("@acme/platform and not `@alice`: approve it"), "{}", text(DAY));
    }

    #[test]
    fn what_is_not_our_last_line_is_none() {
        let good = text(3 * DAY);
        for (what, body) in [
            ("nothing", String::new()),
            ("a person's comment", "approve this".to_string()),
            ("a marker that is not last", format!("{good}\nand more")),
            ("two markers", format!("<!-- coldframe:notice 60 -->\n{good}")),
            ("text before it on the line", good.replace("<!-- cold", "x <!-- cold")),
            ("no number", good.replace("259200", "soon")),
            ("a negative number", good.replace("259200", "-259200")),
            ("two numbers", good.replace("259200", "259200 60")),
            ("no number at all", "<!-- coldframe:notice  -->".to_string()),
            ("too large", good.replace("259200", "99999999999")),
        ] {
            assert_eq!(read_notice(&body), None, "{what}");
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
