//! Pieces of text for a terminal: colours, columns, line breaks. What they say is the board's affair.

/// How a piece of text looks. Colour never stands alone: a mark or a word says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
    Blue,
}

impl Ink {
    pub(super) fn on(self, text: &str) -> (Self, String) {
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
pub(super) type Text = Vec<(Ink, String)>;

pub(super) fn paint(line: &Text, colours: bool) -> String {
    let piece = |(ink, text): &(Ink, String)| match colours && *ink != Ink::Plain && !text.trim().is_empty() {
        true => format!("{}{text}\x1b[0m", ink.code()),
        false => text.clone(),
    };
    line.iter().map(piece).collect::<String>().trim_end().to_owned()
}

/// The line as far as it fits; every sign that is used here is one column wide.
pub(super) fn cut(line: &Text, width: usize) -> Text {
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
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

pub(super) fn padded(ink: Ink, text: &str, width: usize) -> (Ink, String) {
    // One column stays free, so that neighbours never touch.
    (ink, format!("{:<width$}", fit(text, width.saturating_sub(1))))
}

/// The text in lines of at most `width` columns where its words allow.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}
