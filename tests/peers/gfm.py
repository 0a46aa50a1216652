"""Renders each Markdown text of a JSON object with cmark-gfm and answers what is alive in which."""

import json
import re
import sys
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

# What a text may be made of; everything else would be an author's.
TAGS = {"p", "ul", "ol", "li", "strong", "em", "pre", "code", "details", "summary", "h3", "input", "br", "table",
        "thead", "tbody", "tr", "th", "td"}
OURS = re.compile(r"\s*coldframe:task [0-9a-f]{16}\s*")
ACTIVE = re.compile(r"(?<![\w/])@[A-Za-z0-9]|#[0-9]|\b[Gg][Hh]-[0-9]|://|www\.|\b[0-9a-f]{40}\b")


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.code, self.item = [], 0, None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("pre", "code"):
            self.code += 1
        if tag == "input":
            self.item = "box"  # the mark that makes it ours follows at once
            return
        harmless = {"class", "lang"} if tag in ("code", "pre") else {"align", "start"}
        if tag not in TAGS or set(given) - harmless:
            self.found.append(f"<{tag} {given}>")

    def handle_endtag(self, tag):
        if tag in ("pre", "code"):
            self.code -= 1

    def handle_comment(self, data):
        if not OURS.fullmatch(data):
            self.found.append(f"<!--{data}-->")
        self.item = None

    def handle_data(self, data):
        if self.item == "box" and data.strip():
            self.found.append(f"a box before {data!r}")
            self.item = None
        if not self.code and (match := ACTIVE.search(data)):
            self.found.append(f"{match.group()!r} in {data!r}")


def alive(text):
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    extensions = ["table", "autolink", "tagfilter", "strikethrough", "tasklist"]
    reader = Reader()
    reader.feed(cmarkgfm.cmark.markdown_to_html_with_extensions(text, options=options, extensions=extensions))
    reader.close()
    return reader.found


json.dump({text: found for text, shown in json.load(sys.stdin).items() if (found := alive(shown))}, sys.stdout)
