//! Commands to a GitHub runner that shows annotations; nothing that is said can end one or begin
//! another.

use super::inert::visible;

/// The most characters of a message.
const MESSAGE: usize = 4_800;

/// A workflow command that GitHub shows as an annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotation {
    /// The file from the repository's root; none = the run as a whole.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<u64>,
    /// Its column, from 1.
    pub column: Option<u64>,
    /// A heading.
    pub title: Option<String>,
    /// What is said; may have several lines.
    pub message: String,
}

/// How loud an annotation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It failed.
    Error,
    /// Somebody should look.
    Warning,
    /// For information.
    Notice,
}

/// `::error file=…,line=…,col=…::message`, with everything escaped that could end it or begin
/// another command (`docs/attacks.md`, A19). One line, without a line end.
pub fn annotation(level: Level, what: &Annotation) -> String {
    let name = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Notice => "notice",
    };
    let mut properties = Vec::new();
    properties.extend(what.file.as_deref().map(|file| format!("file={}", property(file))));
    properties.extend(what.line.map(|line| format!("line={line}")));
    properties.extend(what.column.map(|column| format!("col={column}")));
    properties.extend(what.title.as_deref().map(|title| format!("title={}", property(title))));
    let space = if properties.is_empty() { "" } else { " " };
    format!("::{name}{space}{}::{}", properties.join(","), data(&what.message))
}

/// The value of a command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The message of a command.
fn data(text: &str) -> String {
    let shown: String =
        text.chars().take(MESSAGE).filter_map(|c| if c == '\n' { Some(c) } else { visible(c) }).collect();
    shown.replace('%', "%25").replace('\n', "%0A").replace("##[", "## [")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a19_a_workflow_command_holds_one_message() {
        let what = Annotation {
            file: Some("coldframe.yaml,line=1".to_string()),
            line: Some(23),
            column: Some(15),
            title: Some("a:b".to_string()),
            message: "100% `soka`\n::error::forged\r##[error]x\u{1b}[0m".to_string(),
        };
        assert_eq!(
            annotation(Level::Error, &what),
            "::error file=coldframe.yaml%2Cline=1,line=23,col=15,title=a%3Ab::\
             100%25 `soka`%0A::error::forged�## [error]x�[0m"
        );
        let short = Annotation { message: "x".to_string(), ..Annotation::default() };
        assert_eq!(annotation(Level::Warning, &short), "::warning::x");
        assert_eq!(annotation(Level::Notice, &short), "::notice::x");
    }
}
