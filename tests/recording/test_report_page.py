# SPDX-License-Identifier: Apache-2.0
"""The page of all reports: whatever is put in comes out as text, and the parts stand in order."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import pytest

from armwright.recording.pictures.html_page import MarkedCell, Markup, Page, escaped, markup

EVIL = "</td></style><script>alert('x')</script> & \"quotes\" {} {0}"
PUT = {
    "title": lambda page: Page(EVIL),
    "section": lambda page: page.section(EVIL),
    "lead": lambda page: page.lead(EVIL),
    "kind of lead": lambda page: page.lead("as asked", EVIL),
    "paragraph": lambda page: page.paragraph(EVIL),
    "card": lambda page: page.cards([("label", EVIL)]),
    "label of a card": lambda page: page.cards([(EVIL, 1)]),
    "caption": lambda page: page.figure(b"\x89PNG", EVIL),
    "kind of figure": lambda page: page.figure(b"\x89PNG", "a picture", EVIL),
    "head": lambda page: page.table([EVIL], [["1"]]),
    "cell": lambda page: page.table(["n"], [[EVIL]]),
    "marked cell": lambda page: page.table(["n"], [[MarkedCell(EVIL, "over")]]),
    "mark": lambda page: page.table(["n"], [[MarkedCell("1", EVIL)]]),
    "folded table": lambda page: page.table([EVIL], [[EVIL]], EVIL, folded=True),
    "list": lambda page: page.listed([EVIL]),
    "verbatim": lambda page: page.verbatim(EVIL),
    "values": lambda page: page.values({EVIL: [EVIL]}),
    "made with": lambda page: page.made_with({"numpy": EVIL}, seed=EVIL),
    "bare text": lambda page: page.add(EVIL),
    "value of markup": lambda page: page.add(markup('<b class="{}">{}</b>', EVIL, EVIL)),
}


class Seen(HTMLParser):
    """Elements in order, and all text and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.texts += [value for _, value in attrs if value]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("what", PUT)
def test_every_text_is_escaped_wherever_it_is_put(tmp_path, what):
    written = PUT[what](Page("a run")).write(tmp_path / "page.html").read_text(encoding="utf-8")
    seen = Seen(written)
    assert "script" not in seen.tags and not seen.open
    inner = EVIL.replace('"', '\\"') if what in ("values", "made with") else EVIL
    assert any(inner in text for text in seen.texts)


def test_only_markup_is_not_escaped_and_is_not_escaped_twice():
    assert markup("<b>{}</b>", markup("<i>{}</i>", "a<b")) == "<b><i>a&lt;b</i></b>"
    assert isinstance(markup("{}", 1), Markup) and escaped(escaped("<")) == "&lt;" and unescape(escaped(EVIL)) == EVIL


def test_parts_stand_in_the_order_in_which_they_were_added(tmp_path):
    page = Page("a run", "td.odd{color:red}").lead("went well").cards([("duration", "2 s")])
    page.section("Joints").table(("joint", "peak"), [("a", MarkedCell("1.0", "odd"))]).figure(b"x", "As seen.", "gif")
    page.section("Numbers").values({"bad": float("nan"), "good": [1.5, None]}).made_with({"armwright": "1"}, seed=3)
    text = page.write(tmp_path / "page.html").read_text(encoding="utf-8")
    shown = [
        "<h1>a run",
        "went well",
        "2 s</b><span>duration",
        ">Joints</h2>",
        '<td class="odd">1.0',
        "image/gif;base64,",
    ]
    shown += ["<figcaption>As seen.", "&quot;bad&quot;: null", ">Made with</h2>", "&quot;seed&quot;: 3"]
    places = [text.index(part) for part in shown]
    assert places == sorted(places) and "td.odd{color:red}" in text.split("</head>")[0]
