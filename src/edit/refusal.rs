//! Why an edit is refused: what was refused, why, and what to do. The caller names the file.

use super::{MAX_BYTES, MAX_DEPTH};
use jsonpath::BadPath;

/// Why a scalar is not read or replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More than [`MAX_BYTES`].
    #[error("the file has {bytes} bytes, more than the {MAX_BYTES} that are read; split it")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Deeper than [`MAX_DEPTH`].
    #[error("line {line}: nested deeper than {MAX_DEPTH} levels; write the version in a flatter file")]
    TooDeep {
        /// Where the limit was passed.
        line: usize,
    },
    /// It does not parse.
    #[error("line {line}: not {format} ({why}); mend the file")]
    NotParsed {
        /// What it should be.
        format: &'static str,
        /// Where.
        line: usize,
        /// What the parser said.
        why: String,
    },
    /// It is filled in by somebody else before it is read.
    #[error(
        "line {line}: holds template markers, and what a template makes of an edit cannot be known; name the file that \
         its values come from, or mark the version's line with the comment `# coldframe: NAME` (the chart's name or the \
         plugin's), and read the file as `format: text`"
    )]
    Template {
        /// Where.
        line: usize,
    },
    /// The path cannot be used.
    #[error(transparent)]
    BadPath(BadPath),
    /// No document is selected.
    #[error("no document of kind {kind}{}; correct `document:`", named(.name.as_ref()))]
    NoSuchDocument {
        /// The kind asked for.
        kind: String,
        /// The name asked for.
        name: Option<String>,
    },
    /// Several documents are selected.
    #[error("several documents are of kind {kind}{} (lines {}); add or correct `document.name:`", named(.name.as_ref()), list(.lines))]
    SeveralDocuments {
        /// The kind asked for.
        kind: String,
        /// The name asked for.
        name: Option<String>,
        /// Where they start.
        lines: Vec<usize>,
    },
    /// The path is found in several documents.
    #[error("`{path}` is found in several documents (lines {}); say which one by `document:`", list(.lines))]
    AmbiguousDocument {
        /// The path.
        path: String,
        /// Where the documents start.
        lines: Vec<usize>,
    },
    /// The path leads nowhere.
    #[error("`{path}` names nothing here; correct the path, or write the key once by hand")]
    NotFound {
        /// The path.
        path: String,
    },
    /// The path leads to several places.
    #[error("`{path}` names {} places (lines {}); narrow it down to one", .lines.len(), list(.lines))]
    SeveralMatches {
        /// The path.
        path: String,
        /// Where they are.
        lines: Vec<usize>,
    },
    /// The value is an alias, or stands inside of one.
    #[error(
        "line {line}: `{path}` is the alias `{name}`, shared with line {anchor}; give this place its own value, \
         or name the anchor's place under `write:`"
    )]
    Alias {
        /// The path.
        path: String,
        /// Where the alias is.
        line: usize,
        /// As it is written.
        name: String,
        /// Where its value is.
        anchor: usize,
    },
    /// The value came in through `<<`.
    #[error(
        "line {line}: `{path}` comes in through a merge key and is shared; give this place its own value, \
         or name the merged mapping's place under `write:`"
    )]
    Merged {
        /// The path.
        path: String,
        /// Where the merge key is.
        line: usize,
    },
    /// A mapping says the same key twice.
    #[error("line {second}: the key `{key}` stands on line {first} already; take one out")]
    DuplicateKey {
        /// The key.
        key: String,
        /// The first one's line.
        first: usize,
        /// The second one's line.
        second: usize,
    },
    /// The lock of a chart's dependencies does not go with them.
    #[error("Chart.lock does not belong to Chart.yaml ({why}); run `helm dependency update` once by hand")]
    Lock {
        /// Why not.
        why: String,
    },
    /// An archive of the chart itself lies beside it.
    #[error(
        "`{archive}` is the chart itself, which an edit does not replace; take it out, or run `helm dependency update`"
    )]
    Vendored {
        /// The archive.
        archive: String,
    },
    /// Nothing known holds the version of the chart.
    #[error("no version of the chart `{chart}` is found here; name its place by a path")]
    NoPlace {
        /// The chart.
        chart: String,
    },
    /// The chart does not stand in it in plain letters, and a template makes more of it.
    #[error(
        "the chart `{chart}` is not named here, unless by a template, whose first marker is in line {line}; name the \
         file that its values come from, or mark the version's line with the comment `# coldframe: {chart}` and read the \
         file as `format: text`"
    )]
    MadeByTemplate {
        /// The chart.
        chart: String,
        /// The line of the first marker, from 1.
        line: usize,
    },
    /// A chart of that name, and from another repository.
    #[error(
        "the chart `{chart}` here is from {here}, not from {there}; if one mirrors the other, name its place by a path"
    )]
    Elsewhere {
        /// The chart.
        chart: String,
        /// Where the file says it is from.
        here: String,
        /// Where it should be from.
        there: String,
    },
    /// It is found, and nothing says whom it moves.
    #[error(
        "nothing says which clusters the version of the chart `{chart}` here moves, and every tier would share it; \
         put `{{tier}}` or `{{cluster}}` into the file's name or into a path"
    )]
    SharedByAll {
        /// The chart.
        chart: String,
    },
    /// It is found, and moves no cluster that is known.
    #[error(
        "what stands there moves no cluster of the inventory by its selectors and names; correct the labels, or name \
         its place by a path with `{{tier}}` or `{{cluster}}`"
    )]
    MovesNobody,
    /// What stands there moves other clusters, too.
    #[error("what stands there also moves {}; give these clusters a place of their own", named_few(.others))]
    MovesOthers {
        /// The other clusters.
        others: Vec<String>,
    },
    /// What stands there moves other clusters.
    #[error("what stands there moves {} and none of these clusters; name the place by a path", named_few(.others))]
    MovesOnlyOthers {
        /// The other clusters.
        others: Vec<String>,
    },
    /// What should name a version follows a branch.
    #[error(
        "line {line}: `{path}` follows the branch `{branch}`, which moves without a commit here; \
         `coldframe edit --pin` puts the tag of a version in its place"
    )]
    Follows {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The branch.
        branch: String,
    },
    /// The version of the chart stands at several places.
    #[error("the version of the chart `{chart}` stands at {} places ({}); say which one by a path", .paths.len(), .paths.join(", "))]
    SeveralPlaces {
        /// The chart.
        chart: String,
        /// Their paths.
        paths: Vec<String>,
    },
    /// Another value of the same document wins over this one.
    #[error("line {line}: `{by}` wins over `{path}`; take one of them out")]
    Outweighed {
        /// The path.
        path: String,
        /// Where the document starts.
        line: usize,
        /// What wins.
        by: String,
    },
    /// The value is made by an expression.
    #[error("line {line}: `{path}` is the expression `{text}`; name the place where its value stands")]
    Expression {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The expression.
        text: String,
    },
    /// The value is a block scalar.
    #[error("line {line}: `{path}` is a block of text; write the version on one line")]
    BlockScalar {
        /// The path.
        path: String,
        /// Where.
        line: usize,
    },
    /// There is no value.
    #[error("line {line}: `{path}` has no value; write the first version by hand")]
    Empty {
        /// The path.
        path: String,
        /// Where.
        line: usize,
    },
    /// The path ends at a mapping or a list.
    #[error("line {line}: `{path}` is a mapping or a list; let the path end at the version itself")]
    NotAScalar {
        /// The path.
        path: String,
        /// Where.
        line: usize,
    },
    /// The value is a range.
    #[error(
        "line {line}: `{path}` is the range `{value}`, which moves without a commit; write the version that runs now"
    )]
    Range {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The range.
        value: String,
    },
    /// The value is no version.
    #[error(
        "line {line}: `{path}` is `{value}`, which is no version and may move without a commit; write the version that \
         runs now"
    )]
    NoVersion {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The value.
        value: String,
    },
    /// The value names a digest, too.
    #[error(
        "line {line}: `{path}` is `{value}`, whose digest would be lost, or be that of another version; write the version \
         alone"
    )]
    Digest {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The value.
        value: String,
    },
    /// The value has another form than it should.
    #[error("line {line}: `{path}` is `{value}`, which is not of the form `{form}`; correct one of them")]
    OtherForm {
        /// The path.
        path: String,
        /// Where.
        line: usize,
        /// The value.
        value: String,
        /// What it should be.
        form: String,
    },
    /// The new value cannot be written there.
    #[error("`{}` cannot be written as one scalar: {why}", .to.escape_debug())]
    BadValue {
        /// The new value.
        to: String,
        /// Why.
        why: &'static str,
    },
    /// The result did not read back as it should.
    #[error("the edit of `{path}` did not read back ({why}); write it by hand and report the file")]
    Unproven {
        /// The path.
        path: String,
        /// What was wrong.
        why: &'static str,
    },
}

fn named(name: Option<&String>) -> String {
    name.map(|name| format!(" with the name `{name}`")).unwrap_or_default()
}

/// The first of them by name.
fn named_few(names: &[String]) -> String {
    const FEW: usize = 3;
    let first = names.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(FEW);
    if more == 0 { first } else { format!("{first} and {more} more") }
}

fn list(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
