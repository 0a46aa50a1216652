//! The message of the one commit that a pull request has, and how it is read back. It holds no
//! text that others wrote: names of the policy file, versions and digests only.

use decide::ledger::Purpose;
use decide::plan::Proposal;
use decide::{Digest, PluginName, Sha, TierName, Version};

/// What the trailers of a commit of ours say. All of them are absent when the message is not one
/// that the bot can have written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers {
    /// `Coldframe-Plugin`.
    pub plugin: Option<PluginName>,
    /// `Coldframe-Tier`.
    pub tier: Option<TierName>,
    /// `Coldframe-From`: what ran before; absent on a first install.
    pub from: Option<Version>,
    /// `Coldframe-Version`.
    pub version: Option<Version>,
    /// `Coldframe-Digest`: absent when the source names none.
    pub digest: Option<Digest>,
    /// `Coldframe-Ledger`: the ledger commit that this one rests on.
    pub ledger: Option<Sha>,
}

/// The message: a subject, one sentence, and trailers of one line each. `ledger` is the commit of
/// the ledger branch that holds the intent.
pub fn commit_message(proposal: &Proposal, ledger: &Sha) -> String {
    let Proposal { plugin, tier, from, to, digest, part, members, .. } = proposal;
    let clusters = super::words::count(members.len(), "cluster");
    let clusters = super::words::slice(part).map_or_else(|| clusters.clone(), |slice| format!("{clusters}, {slice}"));
    let of = match &part.purpose {
        Purpose::RollBack { of } => Some(of),
        Purpose::Promotion | Purpose::CatchUp | Purpose::Early => None,
    };
    let back = of.map_or_else(String::new, |of| format!(" (rollback of {of})"));
    let step = match from {
        Some(from) if of.is_some() => format!("Restores {to} in place of {from}, which failed, on {clusters}."),
        Some(from) => format!("{from} to {to} on {clusters}."),
        None => format!("First install, on {clusters}."),
    };
    let mut lines = vec![
        ("Plugin", Some(plugin.to_string())),
        ("Tier", Some(tier.to_string())),
        ("From", from.as_ref().map(Version::to_string)),
        ("Version", Some(to.to_string())),
        ("Digest", digest.as_ref().map(Digest::to_string)),
        ("Ledger", Some(ledger.to_string())),
    ];
    let mut message = format!("{} {to} → {}{back}\n\n{step}\n", one_line(plugin.as_str()), one_line(tier.as_str()));
    for (key, value) in lines.drain(..) {
        if let Some(value) = value {
            message.push_str(&format!("\nColdframe-{key}: {}", one_line(&value)));
        }
    }
    message.push('\n');
    message
}

/// Names are checked where they are read; a line end in one would still forge a trailer.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Reads the trailers of a message. Strict: they stand in the last paragraph, each at most once,
/// each in its own form, and plugin, tier, version and ledger are all there; else there are none.
/// Other trailers in that paragraph (`Signed-off-by`) do no harm.
pub fn trailers(message: &str) -> Trailers {
    read(message).unwrap_or_default()
}

fn read(message: &str) -> Option<Trailers> {
    let message = message.replace("\r\n", "\n");
    let last = message.trim_end().rsplit("\n\n").next()?;
    let mut found = Trailers::default();
    for line in last.lines() {
        let (key, value) = line.split_once(": ")?;
        let Some(key) = key.strip_prefix("Coldframe-") else {
            if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                return None;
            }
            continue;
        };
        match key {
            "Plugin" => once(&mut found.plugin, name(value).map(PluginName::new))?,
            "Tier" => once(&mut found.tier, name(value).map(TierName::new))?,
            "From" => once(&mut found.from, value.parse().ok())?,
            "Version" => once(&mut found.version, value.parse().ok())?,
            "Digest" => once(&mut found.digest, digest(value))?,
            "Ledger" => once(&mut found.ledger, sha(value))?,
            "Seal" => {} // read by `seal`
            _ => return None,
        }
    }
    let whole = found.plugin.is_some() && found.tier.is_some() && found.version.is_some() && found.ledger.is_some();
    whole.then_some(found)
}

/// Fills a place that is still empty with a value that is well formed.
fn once<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    if place.is_some() || value.is_none() {
        return None;
    }
    *place = value;
    Some(())
}

/// `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?` (`docs/attacks.md`, A18).
fn name(text: &str) -> Option<&str> {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.bytes();
    let inside = bytes.clone().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    (inside && text.len() <= 63 && ends(bytes.clone().next()) && ends(bytes.clone().next_back())).then_some(text)
}

fn digest(text: &str) -> Option<Digest> {
    let (algorithm, hex) = text.split_once(':')?;
    let long_enough = matches!((algorithm, hex.len()), ("sha256", 64) | ("sha512", 128));
    (long_enough && is_hex(hex)).then(|| Digest::new(text))
}

fn sha(text: &str) -> Option<Sha> {
    (matches!(text.len(), 40 | 64) && is_hex(text)).then(|| Sha::new(text))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const LEDGER: &str = "0123456789abcdef0123456789abcdef01234567";

    fn proposal() -> Proposal {
        Proposal {
            plugin: "cert-manager".into(),
            tier: "silver".into(),
            from: Some("1.14.7".parse().unwrap()),
            to: "v1.15.0".parse().unwrap(),
            digest: Some(Digest::new(format!("sha256:{}", "4f".repeat(32)))),
            part: decide::ledger::Part::default(),
            members: vec!["eu-1".into(), "eu-2".into()],
            written: None,
        }
    }

    #[test]
    fn a_message_is_read_back() {
        let message = commit_message(&proposal(), &LEDGER.into());
        assert_eq!(
            message,
            format!(
                "cert-manager v1.15.0 → silver\n\n1.14.7 to v1.15.0 on 2 clusters.\n\nColdframe-Plugin: cert-manager\n\
                 Coldframe-Tier: silver\nColdframe-From: 1.14.7\nColdframe-Version: v1.15.0\n\
                 Coldframe-Digest: sha256:{}\nColdframe-Ledger: {LEDGER}\n",
                "4f".repeat(32)
            )
        );
        let read = trailers(&message);
        assert_eq!(read.version.as_ref().map(Version::as_str), Some("v1.15.0"));
        assert_eq!(read.ledger, Some(LEDGER.into()));
        assert_eq!(read.digest, proposal().digest);

        let part = decide::ledger::Part {
            purpose: Purpose::RollBack { of: "1.15.1".parse().unwrap() },
            ..decide::ledger::Part::default()
        };
        let back = Proposal { from: Some("1.15.1".parse().unwrap()), part, ..proposal() };
        let message = commit_message(&back, &LEDGER.into());
        let expected = "cert-manager v1.15.0 → silver (rollback of 1.15.1)\n\n\
                        Restores v1.15.0 in place of 1.15.1, which failed, on 2 clusters.\n";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(trailers(&message).version.as_ref().map(Version::as_str), Some("v1.15.0"));

        let first = Proposal { from: None, digest: None, ..proposal() };
        let read = trailers(&commit_message(&first, &LEDGER.into()));
        assert_eq!((read.from, read.digest, read.tier), (None, None, Some("silver".into())));
    }

    #[test]
    fn a_line_end_in_a_name_forges_nothing() {
        let forged = Proposal { plugin: "x\nColdframe-Version: 9.9.9".into(), ..proposal() };
        assert_eq!(trailers(&commit_message(&forged, &LEDGER.into())), Trailers::default());
    }

    #[test]
    fn what_is_not_ours_has_no_trailers() {
        let good = commit_message(&proposal(), &LEDGER.into());
        assert_eq!(trailers(&good.replace('\n', "\r\n")), trailers(&good), "line ends do not matter");
        let signed = format!("{good}Signed-off-by: A <a@example.com>\n");
        assert_eq!(trailers(&signed), trailers(&good), "other trailers do not matter");
        for (what, message) in [
            ("empty", String::new()),
            ("a person's", "Fix a typo\n\nColdframe is great\n".to_string()),
            ("text after the trailers", format!("{good}\nand more\n")),
            ("twice", format!("{good}Coldframe-Version: 2.0.0\n")),
            ("an unknown key", format!("{good}Coldframe-Force: yes\n")),
            ("no version", good.replace("Coldframe-Version: v1.15.0\n", "")),
            ("no ledger", good.replace(&format!("Coldframe-Ledger: {LEDGER}\n"), "")),
            ("a version that is none", good.replace("Coldframe-Version: v1.15.0", "Coldframe-Version: latest")),
            ("a short digest", good.replace(&"4f".repeat(32), "4f")),
            ("a capital in a name", good.replace("Tier: silver", "Tier: Silver")),
            ("a short ledger commit", good.replace(LEDGER, "0123456")),
            ("no space", good.replace("Tier: silver", "Tier:silver")),
        ] {
            assert_eq!(trailers(&message), Trailers::default(), "{what}");
        }
    }
}
