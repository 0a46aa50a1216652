//! Markdown as the hub shows it: tables, lists, code, folded parts; of HTML only a short list of tags,
//! without attributes. Everything else is text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// Tags that pass, bare.
const TAGS: [&str; 12] =
    ["details", "summary", "br", "sub", "sup", "b", "i", "strong", "em", "kbd", "code", "blockquote"];

/// Text with `&`, `<`, `>` and quotes made harmless.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Markdown as HTML that can do nothing.
pub fn html(text: &str) -> String {
    with_boxes(text, false)
}

/// The same, whose boxes are buttons called `tick` with their place where they can be ticked.
pub fn with_boxes(text: &str, tickable: bool) -> String {
    let mut place = 0_usize..;
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut open: Vec<&'static str> = Vec::new();
    let mut events = Vec::new();
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Html(raw) | Event::InlineHtml(raw) => {
                events.push(Event::Html(CowStr::from(clean(&raw, &mut open))));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = if harmless(&dest_url) { dest_url } else { CowStr::Borrowed("#") };
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            // Nothing is loaded from elsewhere: an image is shown as its words.
            Event::Start(Tag::Image { .. }) => events.push(Event::Text(CowStr::Borrowed("[image: "))),
            Event::End(TagEnd::Image) => events.push(Event::Text(CowStr::Borrowed("]"))),
            Event::TaskListMarker(false) if tickable => {
                let place = place.next().unwrap_or_default();
                let button =
                    format!("<button class=\"box\" name=\"tick\" value=\"{place}\" title=\"Tick\">☐</button> ");
                events.push(Event::Html(button.into()));
            }
            Event::TaskListMarker(true) if tickable => {
                place.next();
                events.push(Event::Html("☑ ".into()));
            }
            // With GitHub's words for those who hear the page.
            Event::TaskListMarker(done) => {
                let (state, words) = if done { (" checked", "Completed task") } else { ("", "Incomplete task") };
                let input = format!("<input type=\"checkbox\" disabled{state} aria-label=\"{words}\"> ");
                events.push(Event::Html(input.into()));
            }
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule => events.push(event),
        }
    }
    let mut out = String::with_capacity(text.len() * 2);
    pulldown_cmark::html::push_html(&mut out, events.into_iter());
    for tag in open.iter().rev() {
        out.push_str(&format!("</{tag}>"));
    }
    out
}

fn harmless(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        None => true,
        Some("http" | "https" | "mailto") => true,
        // A colon after a slash belongs to a path, not to a scheme.
        Some(other) => other.contains(['/', '#', '?']),
    }
}

/// Raw HTML with the tags of the list bare, comments dropped and the rest as text. `open` holds what
/// is still to be closed, so that a page around it stays whole.
fn clean(raw: &str, open: &mut Vec<&'static str>) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(start) = rest.find('<') {
        out.push_str(&escape(&rest[..start]));
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some(end) = rest.find('>') else { break };
        let inner = rest[1..end].trim_end_matches('/').trim();
        let (closing, name) = inner.strip_prefix('/').map_or((false, inner), |name| (true, name.trim()));
        let name = name.split_whitespace().next().unwrap_or_default();
        match TAGS.into_iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
            Some("br") => out.push_str("<br>"),
            Some(tag) if closing => {
                if let Some(at) = open.iter().rposition(|have| *have == tag) {
                    for tag in open.drain(at..).rev() {
                        out.push_str(&format!("</{tag}>"));
                    }
                }
            }
            Some(tag) => {
                open.push(tag);
                out.push_str(&format!("<{tag}>"));
            }
            None => out.push_str(&escape(&rest[..=end])),
        }
        rest = &rest[end + 1..];
    }
    out.push_str(&escape(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_html_passes() {
        for (text, has, lacks) in [
            ("<script>alert(1)</script>", "&lt;script&gt;", "<script"),
            ("<details open onclick=x><summary>more</summary>\n\n**b**\n\n</details>", "<details><summary>", "onclick"),
            ("[x](javascript:alert(1))", "href=\"#\"", "javascript"),
            ("[x](https://example.com)", "href=\"https://example.com\"", "#\""),
            ("![a](http://tracker/x.png)", "[image: a]", "<img"),
            ("<!-- hidden --> shown", "shown", "hidden"),
            ("<details>never closed", "</details>", "<x"),
            ("</div></main>", "&lt;/div&gt;", "</div>"),
            ("a | b\n--|--\n1 | 2", "<table>", "--|--"),
            ("- [ ] again", "aria-label=\"Incomplete task\"", "[ ]"),
            ("<b onmouseover=\"x\">t</b>", "<b>t</b>", "onmouseover"),
        ] {
            let page = html(text);
            assert!(page.contains(has), "{text} gives {page}");
            assert!(!page.contains(lacks), "{text} gives {page}");
        }
    }
}
