# SPDX-License-Identifier: Apache-2.0
"""XML changed in place: a few elements and attributes, every other character of the file as its author wrote it.

`elements` finds where the elements of a text stand. It is for texts that `parse_xml` has read: well-formed, without
entities of their own. `edited` applies replacements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, unescape

from armwright.errors import InputError

_TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>"
    r"|<(?P<close>/)?(?P<tag>[^\s/>]+)(?P<words>(?:\s+[^\s=]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(?P<empty>/)?>",
    re.DOTALL,
)
_WORD = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_QUOTES = {"&quot;": '"', "&apos;": "'"}


@dataclass(eq=False)
class XmlPlace:
    """An element of a text: its tag, attributes and children, and where it stands.

    Attributes:
        tag: with its prefix. attributes: by name.
        start, inner, close, end: offsets of the opening tag, the content, the closing tag, and what follows.
        children: elements in it. parent: the element that it stands in.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    inner: int
    close: int = -1
    end: int = -1
    children: list[XmlPlace] = field(default_factory=list)
    parent: XmlPlace | None = None

    def walk(self) -> Iterator[XmlPlace]:
        """Yield this element and all in it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()

    def one(self, tag: str) -> XmlPlace | None:
        """Return the first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)


def elements(text: str) -> XmlPlace:
    """Return the root element of a well-formed text, with all that stand in it."""
    root: XmlPlace | None = None
    open_: list[XmlPlace] = []
    for token in _TOKEN.finditer(text):
        if token["tag"] is None:
            continue
        if token["close"]:
            place = open_.pop() if open_ else None
            if place is None or place.tag != token["tag"]:
                raise InputError(f"XML: </{token['tag']}> closes nothing")
            place.close, place.end = token.start(), token.end()
            continue
        words = {name: unescape(a or b, _QUOTES) for name, a, b in _WORD.findall(token["words"])}
        place = XmlPlace(token["tag"], words, token.start(), token.end(), parent=open_[-1] if open_ else None)
        if open_:
            open_[-1].children.append(place)
        root = root or place
        if token["empty"]:
            place.close = place.end = token.end()
        else:
            open_.append(place)
    if root is None or open_:
        raise InputError("XML: no element, or one that is not closed")
    return root


def tag_text(tag: str, attributes: Mapping[str, str], *, empty: bool = True) -> str:
    """Write an opening tag."""
    words = "".join(f' {name}="{escape(value, {chr(34): "&quot;"})}"' for name, value in attributes.items())
    return f"<{tag}{words}{'/' if empty else ''}>"


def with_words(place: XmlPlace, words: Mapping[str, str | None]) -> tuple[int, int, str]:
    """Return the replacement that gives an element's opening tag these attributes; None takes one away."""
    merged = {name: value for name, value in {**place.attributes, **words}.items() if value is not None}
    return place.start, place.inner, tag_text(place.tag, merged, empty=place.inner == place.end)


def indent_of(text: str, place: XmlPlace) -> str:
    """Return the white space that an element's line begins with."""
    line = text.rfind("\n", 0, place.start) + 1
    lead = text[line : place.start]
    return lead if not lead.strip() else ""


def added(text: str, place: XmlPlace, content: str) -> tuple[int, int, str]:
    """Return the replacement that puts an element in front of what stands in another."""
    indent = indent_of(text, place)
    inner = f"\n{indent}  {content}"
    if place.inner == place.end:  # <joint …/> gets a content
        return (
            place.start,
            place.inner,
            f"{tag_text(place.tag, place.attributes, empty=False)}{inner}\n{indent}</{place.tag}>",
        )
    return place.inner, place.inner, inner


def edited(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """Apply replacements (start, end, new text), which must not overlap."""
    out, at = [], 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        if start < at:
            raise InputError("XML: two changes of one place")
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])
