//! The template engine: two registries, one for Markdown and one for HTML, each of which makes
//! every value inert unless a template says otherwise by name. What is in the templates is not
//! known here.

use std::io::{self, Write};
use std::sync::OnceLock;

use handlebars::{Context, Handlebars, Helper, HelperResult, Output, RenderContext, RenderErrorReason};
use serde::Serialize;

use super::{TellError, inert};

/// The style sheet of the dashboard, served as `style.css` beside it.
pub const STYLE: &str = include_str!("../../templates/style.css");
/// Countdowns, and what keeps a page up to date, served as `script.js` beside the dashboard; all works without it.
pub const SCRIPT: &str = include_str!("../../templates/script.js");
/// The `Content-Security-Policy` under which the pages work: nothing inline, nothing from
/// elsewhere (`docs/attacks.md`, A35). The forms ask for a page of ours, or sign somebody out.
pub const CSP: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                       connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The most bytes that any page may have: far more than those with the longest lists come to.
const PAGE_CAP: usize = 16 * 1024 * 1024;

/// The Markdown templates.
const MARKDOWN: [(&str, &str); 16] = [
    ("pull/summary", include_str!("../../templates/pull/summary.md.hbs")),
    ("pull/status", include_str!("../../templates/pull/status.md.hbs")),
    ("pull/climb", include_str!("../../templates/pull/climb.md.hbs")),
    ("pull/note", include_str!("../../templates/pull/note.md.hbs")),
    ("pull/changes", include_str!("../../templates/pull/changes.md.hbs")),
    ("pull/release-notes", include_str!("../../templates/pull/release-notes.md.hbs")),
    ("pull/help", include_str!("../../templates/pull/help.md.hbs")),
    ("pull/forced", include_str!("../../templates/pull/forced.md.hbs")),
    ("changes", include_str!("../../templates/changes.md.hbs")),
    ("check", include_str!("../../templates/check.md.hbs")),
    ("answers", include_str!("../../templates/answers.md.hbs")),
    ("onboarding", include_str!("../../templates/onboarding.md.hbs")),
    ("issue", include_str!("../../templates/issue.md.hbs")),
    ("notice", include_str!("../../templates/notice.md.hbs")),
    ("summary", include_str!("../../templates/summary.md.hbs")),
    ("policy", include_str!("../../templates/policy.md.hbs")),
];

/// The HTML templates.
const HTML: [(&str, &str); 16] = [
    ("head", include_str!("../../templates/head.html.hbs")),
    ("bare", include_str!("../../templates/bare.html.hbs")),
    ("page", include_str!("../../templates/page.html.hbs")),
    ("filter", include_str!("../../templates/filter.html.hbs")),
    ("board", include_str!("../../templates/board.html.hbs")),
    ("gates", include_str!("../../templates/gates.html.hbs")),
    ("clusters", include_str!("../../templates/clusters.html.hbs")),
    ("moments", include_str!("../../templates/moments.html.hbs")),
    ("dashboard", include_str!("../../templates/dashboard.html.hbs")),
    ("wave", include_str!("../../templates/wave.html.hbs")),
    ("plugin", include_str!("../../templates/plugin.html.hbs")),
    ("tier", include_str!("../../templates/tier.html.hbs")),
    ("release", include_str!("../../templates/release.html.hbs")),
    ("setup", include_str!("../../templates/setup.html.hbs")),
    ("choice", include_str!("../../templates/choice.html.hbs")),
    ("sign-in", include_str!("../../templates/sign-in.html.hbs")),
];

/// Renders a Markdown template. A plain `{{value}}` is text for a paragraph; `cell`, `code`,
/// `codecell` and `link` say that it stands elsewhere.
pub(crate) fn markdown(name: &'static str, facts: &impl Serialize) -> Result<String, TellError> {
    static REGISTRY: OnceLock<Result<Handlebars<'static>, (&'static str, String)>> = OnceLock::new();
    render(REGISTRY.get_or_init(|| registry(&MARKDOWN, inert::md)), name, facts)
}

/// Renders an HTML template. A plain `{{value}}` is escaped; `address` is an address or `#`, and
/// `spaced` keeps lines and spaces.
pub(crate) fn html(name: &'static str, facts: &impl Serialize) -> Result<String, TellError> {
    static REGISTRY: OnceLock<Result<Handlebars<'static>, (&'static str, String)>> = OnceLock::new();
    render(REGISTRY.get_or_init(|| registry(&HTML, escape_html)), name, facts)
}

/// Text between tags or in a quoted attribute.
fn escape_html(text: &str) -> String {
    handlebars::html_escape(&inert::line(text))
}

type Registry = Result<Handlebars<'static>, (&'static str, String)>;

fn registry(templates: &[(&'static str, &'static str)], escape: fn(&str) -> String) -> Registry {
    let mut registry = Handlebars::new();
    registry.set_strict_mode(true);
    registry.register_escape_fn(escape);
    helper(&mut registry, "cell", |text, _| inert::cell(text));
    helper(&mut registry, "code", |text, _| inert::code(text));
    helper(&mut registry, "codecell", |text, _| inert::code_cell(text));
    helper(&mut registry, "link", inert::link);
    helper(&mut registry, "spaced", |text, _| {
        text.lines().map(|line| handlebars::html_escape(&inert::spaced(line))).collect::<Vec<_>>().join("\n")
    });
    // The whole of a text of our own, for a form.
    helper(&mut registry, "whole", |text, _| handlebars::html_escape(text));
    helper(&mut registry, "address", |url, _| escape_html(inert::web(url).unwrap_or("#")));
    for (name, text) in templates {
        registry.register_template_string(name, *text).map_err(|error| (*name, error.to_string()))?;
    }
    Ok(registry)
}

/// A helper of one or two values; what it returns is written as it is. Without a value it was not
/// meant: a field of the same name was, which it hides.
fn helper(registry: &mut Handlebars<'static>, name: &str, make: fn(&str, &str) -> String) {
    let write = move |helper: &Helper<'_>,
                      _: &Handlebars<'_>,
                      _: &Context,
                      _: &mut RenderContext<'_, '_>,
                      out: &mut dyn Output|
          -> HelperResult {
        if helper.param(0).is_none() {
            let why = format!("`{}` wants a value; a field must not be called like a helper", helper.name());
            return Err(RenderErrorReason::Other(why).into());
        }
        let value = |index| {
            let value = helper.param(index).map(handlebars::PathAndJson::value);
            value.map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_string))
        };
        out.write(&make(&value(0), &value(1)))?;
        Ok(())
    };
    registry.register_helper(name, Box::new(write));
}

fn render(registry: &Registry, name: &'static str, facts: &impl Serialize) -> Result<String, TellError> {
    let registry = match registry {
        Ok(registry) => registry,
        Err((broken, why)) => return Err(TellError::Template { name: broken, why: why.clone() }),
    };
    let mut page = Capped { bytes: Vec::new(), over: false };
    if let Err(error) = registry.render_to_write(name, facts, &mut page) {
        return Err(if page.over {
            TellError::TooLong { name, cap: PAGE_CAP }
        } else {
            TellError::Template { name, why: error.to_string() }
        });
    }
    String::from_utf8(page.bytes).map_err(|error| TellError::Template { name, why: error.to_string() })
}

/// A page that stops growing: the template engine has no limit of its own.
struct Capped {
    bytes: Vec<u8>,
    over: bool,
}

impl Write for Capped {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > PAGE_CAP {
            self.over = true;
            return Err(io::Error::other("the page is too long"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
