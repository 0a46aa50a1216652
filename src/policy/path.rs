//! Places: files with placeholders, and JSONPaths. They come from a file that many people may edit,
//! so each is checked before anything is opened or evaluated.

use jsonpath_rust::parser::model::{
    Comparable, Filter, FilterAtom, FnArg, JpQuery, Segment, Selector, Test, TestFunction,
};

use super::nearest::nearest;
use super::problem::quoted;
use super::scalar::Refusal;

/// Longer paths are nobody's.
const MAX_PATH: usize = 512;

/// A file of the repository, from its root.
pub(super) fn file(text: &str, known: &[&str]) -> Result<String, Refusal> {
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
pub(super) fn placeholders(text: &str, known: &[&str]) -> Result<(), Refusal> {
    let listed = known.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(" and ");
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

/// An RFC 9535 JSONPath, cheap enough to evaluate on what strangers send. The forms of kubectl
/// (`{.spec.x}`, `.spec.x`) become RFC 9535.
pub(super) fn json(text: &str) -> Result<String, Refusal> {
    let inner = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text).trim();
    let path = if inner.starts_with('.') { format!("${inner}") } else { inner.to_string() };
    if path.len() > MAX_PATH {
        return Err(Refusal::new(format!("the JSONPath is longer than {MAX_PATH} characters")));
    }
    let form = "write an RFC 9535 JSONPath such as `$.spec.chart.spec.version`";
    let query = jsonpath_rust::parser::parse_json_path(&path).map_err(|error| {
        let refusal = Refusal::new(format!("{} is not a JSONPath{}", quoted(text), column_of(&error)));
        let range = path.starts_with(['^', '~', '<', '>', '=']) || path.starts_with(|c: char| c.is_ascii_digit());
        if range {
            refusal.help(format!("this is where the version stands, not which one; {form}"))
        } else {
            refusal.help(form)
        }
    })?;
    let mut cost = Cost::default();
    cost.query(&query);
    if cost.descents > 1 {
        return Err(Refusal::new(format!("{} searches deep (`..`) {} times", quoted(text), cost.descents))
            .help("one `..` at most: name the keys on the way"));
    }
    if cost.wildcards > 3 {
        return Err(Refusal::new(format!("{} has {} wildcards", quoted(text), cost.wildcards)).help("three at most"));
    }
    if let Some(function) = cost.foreign {
        return Err(Refusal::new(format!("`{function}()` is not a function of RFC 9535"))
            .help("there are `length`, `count`, `match`, `search` and `value`"));
    }
    Ok(path)
}

/// Where the grammar stopped, out of an error that is written for a screen of its own.
fn column_of(error: &jsonpath_rust::parser::errors::JsonPathError) -> String {
    let text = error.to_string();
    let digits = text.split_once("--> 1:").map(|(_, after)| after.chars().take_while(char::is_ascii_digit).collect());
    match digits {
        Some::<String>(column) => format!(" from its character {column} on"),
        None => String::new(),
    }
}

/// What an evaluation of a path may cost.
#[derive(Default)]
struct Cost {
    descents: usize,
    wildcards: usize,
    foreign: Option<String>,
}

impl Cost {
    fn query(&mut self, query: &JpQuery) {
        self.segments(&query.segments);
    }

    fn segments(&mut self, segments: &[Segment]) {
        for segment in segments {
            self.segment(segment);
        }
    }

    fn segment(&mut self, segment: &Segment) {
        match segment {
            Segment::Descendant(inner) => {
                self.descents += 1;
                self.segment(inner);
            }
            Segment::Selector(selector) => self.selector(selector),
            Segment::Selectors(selectors) => selectors.iter().for_each(|selector| self.selector(selector)),
        }
    }

    fn selector(&mut self, selector: &Selector) {
        match selector {
            Selector::Wildcard | Selector::Slice(..) => self.wildcards += 1,
            Selector::Filter(filter) => self.filter(filter),
            Selector::Name(_) | Selector::Index(_) => {}
        }
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Or(filters) | Filter::And(filters) => filters.iter().for_each(|filter| self.filter(filter)),
            Filter::Atom(FilterAtom::Filter { expr, .. }) => self.filter(expr),
            Filter::Atom(FilterAtom::Test { expr, .. }) => self.test(expr),
            Filter::Atom(FilterAtom::Comparison(comparison)) => {
                let (left, right) = comparison.vals();
                for side in [left, right] {
                    if let Comparable::Function(function) = side {
                        self.function(function);
                    }
                }
            }
        }
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::RelQuery(segments) => self.segments(segments),
            Test::AbsQuery(query) => self.query(query),
            Test::Function(function) => self.function(function),
        }
    }

    fn function(&mut self, function: &TestFunction) {
        match function {
            TestFunction::Custom(name, arguments) => {
                self.foreign.get_or_insert_with(|| name.clone());
                arguments.iter().for_each(|argument| self.argument(argument));
            }
            TestFunction::Length(argument) => self.argument(argument),
            TestFunction::Value(argument) | TestFunction::Count(argument) => self.argument(argument),
            TestFunction::Search(left, right) | TestFunction::Match(left, right) => {
                self.argument(left);
                self.argument(right);
            }
        }
    }

    fn argument(&mut self, argument: &FnArg) {
        match argument {
            FnArg::Literal(_) => {}
            FnArg::Test(test) => self.test(test),
            FnArg::Filter(filter) => self.filter(filter),
        }
    }
}
