//! What `doctor` found, as lines of a terminal: one per finding, said as soon as it is known. What is looked at is in
//! the files beside it.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::secret::Secret;

/// How a thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// As it should be.
    Good,
    /// The bot works, but not all of it.
    Doubt,
    /// It does not work like this.
    Bad,
    /// Not looked at, because something before it is missing.
    Unasked,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Self::Good => "\x1b[32m✓\x1b[0m",
            Self::Doubt => "\x1b[33m!\x1b[0m",
            Self::Bad => "\x1b[31m✗\x1b[0m",
            Self::Unasked => "\x1b[2m–\x1b[0m",
        }
    }
}

/// Where the lines go.
#[derive(Clone, Copy, Debug)]
pub enum Out {
    /// Standard output.
    Stdout,
    /// Standard error, where standard output holds something else.
    Stderr,
}

/// The findings so far.
pub struct Report {
    out: Out,
    secrets: Vec<String>,
    /// Good ones, doubts, bad ones.
    counts: [usize; 3],
}

impl Report {
    /// Nothing yet. None of these secrets is ever said, whatever somebody answers.
    pub fn new(out: Out, secrets: &[Secret]) -> Self {
        // A key of many lines would be told line by line.
        let lines = secrets.iter().flat_map(|secret| secret.reveal().lines()).map(str::trim);
        let secrets = lines.filter(|line| line.len() >= 6 && !line.starts_with("-----")).map(str::to_owned).collect();
        Self { out, secrets, counts: [0; 3] }
    }

    /// Begins a part.
    ///
    /// # Errors
    /// The lines could not be written.
    pub fn part(&self, title: &str) -> anyhow::Result<()> {
        self.write(&format!("\n\x1b[1m{title}\x1b[0m\n"))
    }

    /// It is as it should be.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn good(&mut self, what: &str) -> anyhow::Result<()> {
        self.say(Mark::Good, what, "")
    }

    /// A part of the bot does not work, and this mends it.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn doubt(&mut self, what: &str, mend: &str) -> anyhow::Result<()> {
        self.say(Mark::Doubt, what, mend)
    }

    /// It does not work, and this mends it.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn bad(&mut self, what: &str, mend: &str) -> anyhow::Result<()> {
        self.say(Mark::Bad, what, mend)
    }

    /// It was not looked at, for this reason.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn unasked(&mut self, what: &str) -> anyhow::Result<()> {
        self.say(Mark::Unasked, what, "")
    }

    /// Whether nothing is bad.
    pub fn is_well(&self) -> bool {
        self.counts[2] == 0
    }

    /// The last line: how many of each there are.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn end(&self) -> anyhow::Result<()> {
        let [good, doubts, bad] = self.counts;
        let mut line = format!("\n{good} as they should be");
        if doubts > 0 {
            write!(line, ", {doubts} to be looked at (!)")?;
        }
        if bad > 0 {
            write!(line, ", {bad} to be mended (✗)")?;
        }
        self.write(&format!("{line}.\n"))
    }

    fn say(&mut self, mark: Mark, what: &str, mend: &str) -> anyhow::Result<()> {
        match mark {
            Mark::Good => self.counts[0] += 1,
            Mark::Doubt => self.counts[1] += 1,
            Mark::Bad => self.counts[2] += 1,
            Mark::Unasked => {}
        }
        let mut text = format!("  {} {}\n", mark.sign(), self.hidden(what).replace('\n', "\n    "));
        for line in self.hidden(mend).lines() {
            writeln!(text, "      {line}")?;
        }
        self.write(&text)
    }

    /// Without the secrets, and without what a terminal would obey: others' words are in it.
    fn hidden(&self, text: &str) -> String {
        let mut text: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "(hidden)");
        }
        text
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        match self.out {
            Out::Stdout => anstream::stdout().lock().write_all(text.as_bytes())?,
            Out::Stderr => anstream::stderr().lock().write_all(text.as_bytes())?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_and_no_order_to_the_terminal_is_said() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n";
        let report = Report::new(Out::Stdout, &[Secret::new(key), Secret::new("ghp_0123456789"), Secret::new("x")]);
        let said = report.hidden("it answered \x1b[2Jghp_0123456789 and BgkqhkiG9w0B,\nexactly");
        assert_eq!(said, "it answered [2J(hidden) and (hidden),\nexactly");
    }

    #[test]
    fn what_is_only_doubted_is_well() -> anyhow::Result<()> {
        let mut report = Report::new(Out::Stdout, &[]);
        report.good("a")?;
        report.doubt("b", "c")?;
        report.unasked("d")?;
        assert!(report.is_well());
        report.bad("e", "f")?;
        assert!(!report.is_well());
        assert_eq!(report.counts, [1, 1, 1]);
        Ok(())
    }
}
