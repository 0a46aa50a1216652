//! What a query may cost, by its form alone.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector, SingularQuery, Test, TestFunction,
};

/// Counts what multiplies the work of a query.
#[derive(Default)]
pub(super) struct Cost {
    /// `..`, anywhere.
    pub descents: usize,
    /// Brackets with several selectors.
    pub unions: usize,
    /// The most selectors in one of them.
    pub widest: usize,
    /// Searches of the whole document from inside of a filter.
    pub roots: usize,
    /// `*` and slices, which may visit every child.
    pub wildcards: usize,
    /// Regular expressions, each made anew for every value that it is held against.
    pub patterns: usize,
    /// One of them is not a short text without repetitions that are counted or classes of Unicode.
    pub wide_pattern: bool,
    /// The first function that RFC 9535 does not have.
    pub foreign: Option<String>,
}

impl Cost {
    pub fn segments(&mut self, segments: &[Segment]) {
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
            Segment::Selectors(selectors) => {
                self.unions += 1;
                self.widest = self.widest.max(selectors.len());
                for selector in selectors {
                    self.selector(selector);
                }
            }
        }
    }

    fn selector(&mut self, selector: &Selector) {
        match selector {
            Selector::Filter(filter) => self.filter(filter),
            Selector::Wildcard | Selector::Slice(..) => self.wildcards += 1,
            Selector::Name(_) | Selector::Index(_) => {}
        }
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Or(filters) | Filter::And(filters) => {
                for filter in filters {
                    self.filter(filter);
                }
            }
            Filter::Atom(FilterAtom::Filter { expr, .. }) => self.filter(expr),
            Filter::Atom(FilterAtom::Test { expr, .. }) => self.test(expr),
            Filter::Atom(FilterAtom::Comparison(comparison)) => {
                let (Comparison::Eq(left, right)
                | Comparison::Ne(left, right)
                | Comparison::Gt(left, right)
                | Comparison::Gte(left, right)
                | Comparison::Lt(left, right)
                | Comparison::Lte(left, right)) = comparison.as_ref();
                self.comparable(left);
                self.comparable(right);
            }
        }
    }

    fn comparable(&mut self, comparable: &Comparable) {
        match comparable {
            Comparable::Function(function) => self.function(function),
            Comparable::Literal(_) | Comparable::SingularQuery(SingularQuery::Current(_) | SingularQuery::Root(_)) => {}
        }
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::RelQuery(segments) => self.segments(segments),
            Test::AbsQuery(query) => {
                self.roots += 1;
                self.segments(&query.segments);
            }
            Test::Function(function) => self.function(function),
        }
    }

    fn function(&mut self, function: &TestFunction) {
        match function {
            TestFunction::Custom(name, arguments) => {
                self.foreign.get_or_insert_with(|| name.clone());
                for argument in arguments {
                    self.argument(argument);
                }
            }
            TestFunction::Length(argument) => self.argument(argument),
            TestFunction::Value(argument) | TestFunction::Count(argument) => self.argument(argument),
            TestFunction::Search(left, right) | TestFunction::Match(left, right) => {
                self.patterns += 1;
                self.wide_pattern |= !is_plain_pattern(right);
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

/// The longest regular expression, in bytes.
const MAX_PATTERN: usize = 64;

/// Whether a regular expression is known beforehand, and soon made.
fn is_plain_pattern(pattern: &FnArg) -> bool {
    match pattern {
        FnArg::Literal(Literal::String(text)) => {
            text.len() <= MAX_PATTERN && !["{", "\\p", "\\P"].iter().any(|part| text.contains(part))
        }
        FnArg::Literal(Literal::Int(_) | Literal::Float(_) | Literal::Bool(_) | Literal::Null)
        | FnArg::Test(_)
        | FnArg::Filter(_) => false,
    }
}
