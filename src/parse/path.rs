//! Places: files with placeholders, and JSONPaths. They come from a file that many people may edit,
//! so each is checked before anything is opened or evaluated.

use jsonpath::{self, BadPath};

use super::nearest::nearest;
use super::problem::quoted;
use super::scalar::Refusal;

/// Longer paths are nobody's.
const MAX_PATH: usize = 512;

/// A file of the repository, from its root.
pub fn file(text: &str, known: &[&str]) -> Result<String, Refusal> {
    placeholders(text, known)?;
    let refuse = |why: &str| Refusal::new(format!("{} {why}", quoted(text)));
    if text.is_empty() || text.len() > MAX_PATH {
        return Err(Refusal::new(format!("a path has 1 to {MAX_PATH} characters")));
    }
    if text.starts_with('/') || text.contains('\\') || text.contains("://") {
        return Err(
            refuse("is not a path from the repository's root").help("write it like `clusters/{tier}/loki.yaml`")
        );
    }
    if text.chars().any(char::is_control) {
        return Err(refuse("has a control character in it"));
    }
    for part in text.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(
                refuse("has an empty part, `.` or `..` in it").help("write the path from the repository's root")
            );
        }
        if part.eq_ignore_ascii_case(".git") {
            return Err(refuse("lies in git's own folder"));
        }
    }
    Ok(text.to_string())
}

/// Checks that every `{…}` of a text is known.
pub fn placeholders(text: &str, known: &[&str]) -> Result<(), Refusal> {
    let listed = known.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", ");
    let known_here =
        if listed.is_empty() { "no placeholder is known here".to_string() } else { format!("known here: {listed}") };
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let inner = rest[at..].strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((name, after)) = inner else {
            return Err(Refusal::new(format!("{} has a brace without its other half", quoted(text))).help(known_here));
        };
        if !known.contains(&name) {
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => known_here,
            };
            return Err(Refusal::new(format!("`{{{name}}}` stands for nothing")).help(help));
        }
        rest = after;
    }
    Ok(())
}

/// The same for the place of a version, with placeholders.
pub fn version(text: &str) -> Result<String, Refusal> {
    let path = json(text)?;
    placeholders(&path, &["tier", "cluster", "organization"])?;
    Ok(path)
}

/// An RFC 9535 JSONPath, cheap enough to evaluate on what strangers send. The forms of kubectl
/// (`{.spec.x}`, `.spec.x`) become RFC 9535.
pub fn json(text: &str) -> Result<String, Refusal> {
    let form = "write an RFC 9535 JSONPath such as `$.spec.chart.spec.version`";
    let range =
        |text: &str| text.starts_with(['^', '~', '<', '>', '=']) || text.starts_with(|c: char| c.is_ascii_digit());
    jsonpath::Path::parse_lenient(text).map(|path| path.as_str().to_string()).map_err(|bad| match bad {
        BadPath::Syntax { column, .. } => {
            let place = column.map(|column| format!(" from its character {column} on")).unwrap_or_default();
            let refusal = Refusal::new(format!("{} is not a JSONPath{place}", quoted(text)));
            if range(text) {
                refusal.help(format!("this is where the version stands, not which one; {form}"))
            } else {
                refusal.help(form)
            }
        }
        BadPath::Costly { why, .. } => Refusal::new(format!("{} could take too long", quoted(text))).help(why),
        BadPath::Function { function, .. } => Refusal::new(format!("`{function}()` is not a function of RFC 9535"))
            .help("there are `length`, `count`, `match`, `search` and `value`"),
        bad @ (BadPath::TooLong | BadPath::TooManyNodes { .. }) => Refusal::new(bad.to_string()),
    })
}
