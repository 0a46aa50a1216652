//! A query as far as it has to be understood: where names are filled in, and how far it looks back. It is cut into
//! tokens after Prometheus' own lexer (`promql/parser/lex.go`); what it means is asked of Prometheus alone.

use jiff::{SignedDuration, Timestamp};

/// A query with places for names.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pieces: Vec<Piece>,
    /// How far its ranges, subqueries and offsets look back together.
    pub reach: SignedDuration,
    /// Whether it gives labels of one series to another.
    pub joins: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// A name inside of a string.
    Name {
        name: Name,
        quote: char,
        regex: bool,
    },
    /// The time from which the version is alone there, in seconds since 1970.
    From,
}

/// What stands for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The cluster.
    Cluster,
    /// The organization that it belongs to.
    Organization,
    /// The tier.
    Tier,
    /// The plugin.
    Plugin,
    /// The version that is looked at.
    Version,
}

/// How placeholders are written.
const NAMES: [(&str, Name); 5] = [
    ("cluster", Name::Cluster),
    ("organization", Name::Organization),
    ("tier", Name::Tier),
    ("plugin", Name::Plugin),
    ("version", Name::Version),
];
const FROM: &str = "from";

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// Where it cannot be told what a name would become, or how far the query looks back.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lexer = Lexer { rest: text, done: Vec::new(), plain: String::new(), reach: SignedDuration::ZERO };
        let joins = lexer.run()?;
        lexer.flush();
        Ok(Self { pieces: lexer.done, reach: lexer.reach, joins })
    }

    /// Whether a name is asked for.
    pub fn names(&self, wanted: Name) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Name { name, .. } if *name == wanted))
    }

    /// Whether the time from which the version is there is asked for.
    pub fn names_from(&self) -> bool {
        self.pieces.contains(&Piece::From)
    }

    /// The query with everything filled in; none where something is not known.
    pub fn fill(&self, name: impl Fn(Name) -> Option<String>, from: Option<Timestamp>) -> Option<String> {
        let mut query = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => query.push_str(text),
                Piece::Name { name: which, quote, regex } => escape(&name(*which)?, *quote, *regex, &mut query),
                // Rounded up: what was before it is of another version.
                Piece::From => query.push_str(&(from?.as_millisecond().div_euclid(1000) + 1).to_string()),
            }
        }
        Some(query)
    }
}

/// A name as a part of a string literal, taken literally by a regular expression too where it is one (Go's string
/// literals and RE2, which PromQL uses).
fn escape(name: &str, quote: char, regex: bool, into: &mut String) {
    let mut sign = |sign: char| match sign {
        '\\' => into.push_str("\\\\"),
        c if c == quote => into.extend(['\\', c]),
        c if c.is_control() => into.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => into.push(c),
    };
    for c in name.chars() {
        if regex && "\\.+*?()|[]{}^$".contains(c) {
            sign('\\');
        }
        sign(c);
    }
}

struct Lexer<'a> {
    rest: &'a str,
    done: Vec<Piece>,
    plain: String,
    reach: SignedDuration,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<bool, String> {
        let mut joins = false;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '#' => self.skip_while(|c| c != '\n'),
                '"' | '\'' | '`' => self.string(c)?,
                '[' => self.range()?,
                '@' => {
                    return Err("`@` looks at a time of its own, which may be before this release; a query is asked \
                                at the present, and with `range` over the time before it"
                        .to_string());
                }
                '{' if self.rest.starts_with("{{") => match self.placeholder()? {
                    None if self.is_alone() => self.piece(Piece::From),
                    None => return Err("`{{from}}` is a number, and something else stands right beside it".to_string()),
                    Some(_) => return Err("names stand between quotes, such as `cluster=\"{{cluster}}\"`".to_string()),
                },
                c if c.is_ascii_digit() || c == '.' => {
                    self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
                }
                c if c.is_alphabetic() || c == '_' || c == ':' => {
                    let word = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == ':').to_ascii_lowercase();
                    joins |= word == "group_left" || word == "group_right";
                    if word == "offset" {
                        self.offset()?;
                    }
                }
                c => self.keep(c.len_utf8()),
            }
        }
        Ok(joins)
    }

    /// Whether nothing stands around this place that would be read as one word with a number there.
    fn is_alone(&self) -> bool {
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '{');
        let behind_another = self.plain.is_empty() && matches!(self.done.last(), Some(Piece::From));
        !behind_another && !self.plain.ends_with(word) && !self.rest.starts_with(word)
    }

    /// A string literal; names may stand in it, but not in one between backticks, which knows no escapes.
    fn string(&mut self, quote: char) -> Result<(), String> {
        let before = self.plain.trim_end();
        let regex = before.ends_with("=~") || before.ends_with("!~");
        self.keep(1);
        while let Some(c) = self.rest.chars().next() {
            if c == quote {
                self.keep(1);
                return Ok(());
            }
            match c {
                '\\' if quote != '`' => {
                    let escaped = self.rest.chars().nth(1).map_or(0, char::len_utf8);
                    self.keep(1 + escaped);
                }
                '\n' if quote != '`' => break,
                '{' if self.rest.starts_with("{{") => match self.placeholder()? {
                    _ if quote == '`' => {
                        return Err("names stand in strings between `\"`, which can hold any of them".to_string());
                    }
                    Some(name) => self.piece(Piece::Name { name, quote, regex }),
                    None => self.piece(Piece::From),
                },
                c => self.keep(c.len_utf8()),
            }
        }
        Err("a string has no end".to_string())
    }

    /// `{{cluster}}`; none for the time.
    fn placeholder(&mut self) -> Result<Option<Name>, String> {
        let inner = self.rest.strip_prefix("{{").and_then(|inner| inner.split_once("}}"));
        let (name, after) = inner.ok_or_else(|| "`{{` has no `}}`".to_string())?;
        self.rest = after;
        let name = name.trim();
        if name == FROM {
            return Ok(None);
        }
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, name)| Some(*name));
        known.ok_or_else(|| {
            let listed: Vec<String> =
                NAMES.iter().map(|(name, _)| *name).chain([FROM]).map(|name| format!("`{{{{{name}}}}}`")).collect();
            format!("`{{{{{name}}}}}` stands for nothing; known here: {}", listed.join(", "))
        })
    }

    /// `[5m]`, `[1h:5m]`.
    fn range(&mut self) -> Result<(), String> {
        let (inner, _) = self.rest[1..].split_once(']').ok_or_else(|| "`[` has no `]`".to_string())?;
        let (length, step) = inner.split_once(':').unwrap_or((inner, ""));
        // Whatever else stood in a step might begin or end a string.
        let known = step.trim().is_empty() || duration(step.trim()).is_some();
        let length = duration(length.trim()).filter(|_| known).ok_or_else(|| {
            format!("`[{inner}]` does not tell how far it looks back; write a duration, such as `[10m]`")
        })?;
        self.reach = self.reach.saturating_add(length);
        self.keep(inner.len() + 2);
        Ok(())
    }

    /// `offset 5m`; a label or a metric may be called so, too.
    fn offset(&mut self) -> Result<(), String> {
        self.take_while(|c| c.is_whitespace() || c == '+');
        match self.rest.chars().next() {
            // Into the time to come: what is read is not older for it.
            Some('-') => self.keep(1),
            Some(c) if c.is_ascii_digit() => {
                let length = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
                let told = duration(&length).ok_or_else(|| format!("`offset {length}` is no duration"))?;
                self.reach = self.reach.saturating_add(told);
            }
            Some('=' | '!' | ',' | ')' | '}' | '{') if !self.rest.starts_with("{{") => {}
            Some(_) | None => {
                return Err(
                    "`offset` does not tell how far it looks back; write a duration, such as `offset 10m`".to_string()
                );
            }
        }
        Ok(())
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_string();
        self.keep(end);
        word
    }

    fn skip_while(&mut self, is: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is);
    }

    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.plain.push_str(kept);
        self.rest = rest;
    }

    fn piece(&mut self, piece: Piece) {
        self.flush();
        self.done.push(piece);
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            self.done.push(Piece::Text(std::mem::take(&mut self.plain)));
        }
    }
}

/// `1h30m`, or seconds alone (`model.ParseDuration` of prometheus/common).
fn duration(text: &str) -> Option<SignedDuration> {
    if let Ok(seconds) = text.parse::<f64>() {
        let whole = seconds.is_finite() && (0.0..=1e9).contains(&seconds);
        return whole.then(|| SignedDuration::try_from_secs_f64(seconds.ceil()).ok())?;
    }
    let mut rest = text;
    let mut whole = SignedDuration::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let unit = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let millis: i64 = match unit.0 {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            "y" => 31_536_000_000,
            _ => return None,
        };
        let part = SignedDuration::from_millis(number.parse::<i64>().ok()?.checked_mul(millis)?);
        whole = whole.checked_add(part)?;
        rest = unit.1;
    }
    (!text.is_empty()).then_some(whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn filled(query: &str, value: &str) -> String {
        let from = "2026-11-21T10:00:00Z".parse().unwrap();
        Query::parse(query).unwrap().fill(|_| Some(value.to_string()), Some(from)).unwrap()
    }

    #[test]
    fn names_cannot_leave_their_string() {
        for (query, name, expected) in [
            (r#"up{a="{{cluster}}"}"#, "eu-1", r#"up{a="eu-1"}"#),
            (r#"up{a="{{cluster}}"}"#, r#"x"} or vector(1) #"#, r#"up{a="x\"} or vector(1) #"}"#),
            (r#"up{a="{{cluster}}"}"#, r"x\", r#"up{a="x\\"}"#),
            (r"up{a='{{cluster}}'}", r#"'""#, r#"up{a='\'"'}"#),
            (r#"up{a="{{cluster}}"}"#, "a\nb", r#"up{a="a\u000ab"}"#),
            (r#"up{a=~"{{version}}|x"}"#, "1.2.0+b", r#"up{a=~"1\\.2\\.0\\+b|x"}"#),
            (r#"up{a !~ "{{version}}"}"#, r".*\", r#"up{a !~ "\\.\\*\\\\"}"#),
            (r#"up{a="\"{{ cluster }}"} # {{nothing}}"#, "b", r#"up{a="\"b"} "#),
            (r#"up > {{from}} or up{a="{{from}}"}"#, "", r#"up > 1795255201 or up{a="1795255201"}"#),
        ] {
            assert_eq!(filled(query, name), expected, "{query}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        for (query, words) in [
            ("up{a={{cluster}}}", "between quotes"),
            ("{{plugin}}", "between quotes"),
            ("up{a=`{{cluster}}`}", "between `\"`"),
            (r#"up{a="{{clusters}}"}"#, "`{{clusters}}` stands for nothing"),
            (r#"up{a="{{cluster"}"#, "`{{` has no `}}`"),
            (r#"up{a="x}"#, "no end"),
            ("up{a=\"x\n\"}", "no end"),
            ("rate(up[5m)", "`[` has no `]`"),
            ("rate(up[$__interval])", "`[$__interval]`"),
            ("rate(up[{{from}}])", "how far it looks back"),
            ("up offset 1{{from}}", "right beside it"),
            ("up > {{from}}5", "right beside it"),
            ("{{from}}{{from}}", "right beside it"),
            ("rate(up[5 m])", "how far it looks back"),
            ("rate(up[])", "how far it looks back"),
            ("up offset x", "`offset`"),
            ("up offset {{from}}", "`offset`"),
            ("up[1h:\"m]", "how far it looks back"),
            ("up[1h:{{from}}]", "how far it looks back"),
            ("up offset (5m)", "`offset`"),
            ("up offset 5parsecs", "no duration"),
            ("up @ 1609746000", "`@`"),
            ("up @ end()", "`@`"),
        ] {
            let why = Query::parse(query).unwrap_err();
            assert!(why.contains(words), "{query}: {why}");
        }
    }

    #[test]
    fn it_looks_back_as_far_as_all_its_ranges_together() {
        for (query, seconds) in [
            ("up", 0),
            ("min_over_time(up[10m])", 600),
            ("max_over_time(rate(errors[5m])[1h30m:1m])", 5_700),
            ("up offset 1h", 3_600),
            ("up OFFSET +1h", 3_600),
            ("up offset + +\n+1h", 3_600),
            (&format!("up offset {}1h", "+".repeat(1_000_000)), 3_600),
            ("up offset -1h", 0),
            ("sum by (offset) (x{offset=\"[5m]\"})", 0),
            ("rate(x[90])", 90),
            ("max_over_time(x[90:])", 90),
            ("rate(x[1d1ms])", 86_400),
            ("x{a=\"[5m]\", b='offset 5m'} # [5m]", 0),
        ] {
            assert_eq!(Query::parse(query).unwrap().reach.as_secs(), seconds, "{query}");
        }
        assert!(Query::parse("a * on (x) group_left (v) b").unwrap().joins);
        assert!(!Query::parse("a{x=\"group_left\"}").unwrap().joins);
    }
}
