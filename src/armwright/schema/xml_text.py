# SPDX-License-Identifier: Apache-2.0
"""Strict reading of XML from strangers: a safe parser with line numbers, then numbers, vectors and poses of attributes.

defusedxml forbids document type declarations, entities and external references; this module adds caps on size, depth
and number of elements, insists on UTF-8, and turns every failure into a `DescriptionError` that says where. `parse_xml`
returns `XmlNode`s; `number`, `vector`, `bound` and `pose_of` read their attributes and refuse with file, line, element.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from xml.etree.ElementTree import ParseError

import numpy as np
from defusedxml.common import DefusedXmlException, DTDForbidden
from defusedxml.ElementTree import DefusedXMLParser

from armwright.errors import DescriptionError
from armwright.files import read_regular
from armwright.spatial.euler import rotation_from_rpy
from armwright.spatial.quaternions import rotation_from_xyzw

if TYPE_CHECKING:
    from armwright.types import Array

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_ELEMENTS = 100_000
MAX_TEXT = 256  # characters of an element's text that are kept: descriptions have their numbers in attributes
_LONG_PATH = 256  # characters from which a path is rather a text that was mistaken for one
_DECLARATION = re.compile(r"\A\s+<\?xml\s[^>]*\?>")
_SHOWN = 40  # characters of a hostile string that a message repeats


@dataclass(slots=True)
class XmlNode:
    """One XML element: tag (namespaces as ``{uri}tag``), attributes, children, text, and where it stands.

    `path` is how messages name the element, e.g. ``<link name="arm"><inertial><mass>``.
    """

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    path: str
    children: list[XmlNode] = field(default_factory=list)
    text: str = ""

    @property
    def where(self) -> str:
        """File, line and element: how every message about this element begins."""
        return f"{self.file}:{self.line}: {self.path}"

    def all(self, tag: str) -> list[XmlNode]:
        """Children with this tag, in document order."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> XmlNode | None:
        """The only child with this tag, None if there is none; two are refused, since either could be meant."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"a second <{tag}> (the first is on line {found[0].line}); write it once", "one-of-each")
        return found[0] if found else None

    def need(self, tag: str) -> XmlNode:
        """The only child with this tag; refused if absent."""
        child = self.one(tag)
        if child is None:
            self.fail(f"<{tag}> is missing", "required-element")
        return child

    def descendants(self) -> Iterator[XmlNode]:
        """All elements below this one, in document order."""
        stack = self.children[::-1]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children[::-1])

    def fail(self, message: str, rule: str) -> NoReturn:
        """Raise a `DescriptionError` located at this element."""
        raise DescriptionError(message, where=self.where, rule=rule)


def shown(text: str) -> str:
    """Quote a string from a file for a message: printable and short."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} characters)"


def _tame(text: str) -> str:
    """A tag or name for a message: short, on one line, nothing that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_SHOWN])


class _Builder:
    """Target of the parser: builds `XmlNode`s and counts."""

    def __init__(self, file: str, most_text: int) -> None:
        self.file, self.most_text = file, most_text
        self.root: XmlNode | None = None
        self.open: list[XmlNode] = []
        self.count = 0
        self.parser: DefusedXMLParser | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = 0 if self.parser is None else self.parser.parser.CurrentLineNumber
        name = attributes.get("name")
        label = f"<{_tame(tag)}>" if name is None else f'<{_tame(tag)} name="{_tame(name)}">'
        # The root is left out of its children's paths: every element of a description stands in the same one.
        path = "".join(node.path for node in self.open[-1:] if node is not self.root) + label
        node = XmlNode(tag, attributes, self.file, line, path)
        self.count += 1
        if self.count > MAX_ELEMENTS:
            node.fail(f"more than {MAX_ELEMENTS} elements", "element-count")
        if len(self.open) >= MAX_DEPTH:
            node.path = label  # the full path of a depth bomb helps nobody
            node.fail(f"elements nested more than {MAX_DEPTH} deep", "depth")
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def data(self, text: str) -> None:
        if self.open and len(self.open[-1].text) < self.most_text:
            self.open[-1].text += text

    def end(self, tag: str) -> None:
        self.open.pop()

    def close(self) -> XmlNode | None:
        return self.root


def read_bytes(path: Path, what: str) -> bytes:
    """Read a regular file of at most `MAX_BYTES`; anything else (folder, device, pipe, too large) is refused."""
    try:
        return read_regular(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        rule = "size" if getattr(error, "errno", None) == errno.EFBIG else "readable-file"
        file = str(path) if len(str(path)) < _LONG_PATH and str(path).isprintable() else shown(str(path))
        raise DescriptionError(f"cannot read the {what}: {reason}", where=file, rule=rule) from error


def parse_xml(content: bytes | str, file: str, *, most_text: int = MAX_TEXT) -> XmlNode:
    """Parse one XML document.

    Args:
        content: the document; bytes must be UTF-8 (with or without byte order mark).
        file: name used in messages.
        most_text: characters of an element's text from which no more is kept.

    Raises:
        DescriptionError: with file and line, for anything that is not plain, well-formed XML within the caps.
    """
    if len(content) > MAX_BYTES:
        raise DescriptionError(f"larger than {MAX_BYTES // 2**20} MiB", where=file, rule="size")
    text = _decode(content, file) if isinstance(content, bytes) else content
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DescriptionError("the document is empty", where=f"{file}:1", rule="well-formed")
    if text[0].isspace():  # before a declaration white space is an error of form that changes nothing
        text = _DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), text, count=1)
    builder = _Builder(file, most_text)
    parser = DefusedXMLParser(target=builder, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    builder.parser = parser
    root: XmlNode | None = None
    try:
        parser.feed(text)
        root = parser.close()
    except DefusedXmlException as error:
        what = "a document type declaration" if isinstance(error, DTDForbidden) else "an entity or external reference"
        line = parser.parser.CurrentLineNumber
        raise DescriptionError(
            f"{what} is not allowed; write plain elements", where=f"{file}:{line}", rule="no-dtd-no-entities"
        ) from None
    except ParseError as error:
        line, column = error.position
        reason = str(error).partition(": line")[0]
        raise DescriptionError(
            f"not well-formed XML: {reason} (column {column + 1})", where=f"{file}:{line}", rule="well-formed"
        ) from None
    except (UnicodeError, ValueError) as error:
        if isinstance(error, DescriptionError):
            raise
        raise DescriptionError(f"not readable as text: {error}", where=f"{file}:1", rule="utf-8") from None
    finally:
        builder.parser = None  # the parser and its target refer to each other
    if root is None:
        raise DescriptionError("the document has no element", where=f"{file}:1", rule="well-formed")
    return root


def _decode(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DescriptionError(
            f"not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}",
            where=f"{file}:{line}",
            rule="utf-8",
        ) from None


# Larger than any arm, small enough that products of them stay far from overflow.
MAX_LENGTH = 1e5  # m
MAX_ANGLE = 1e4  # rad
MAX_MASS = 1e7  # kg
MAX_INERTIA = 1e12  # kg m²
MAX_RATIO = 1e6
MAX_COEFFICIENT = 1e9  # friction
UNBOUNDED = 1e9  # a limit at or beyond this means: none
MAX_DIGITS = 400  # float64 needs 17; some tools write all 324 decimal places

# float() would also take "1_000", "١٢", " nan " and hexadecimal-looking leftovers of other tools.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)


def attribute(node: XmlNode, name: str) -> str:
    """Text of a required attribute; empty text is refused."""
    text = node.attributes.get(name)
    if text is None:
        node.fail(f"attribute {name!r} is missing", "required-attribute")
    if not text.strip():
        node.fail(f"attribute {name!r} is empty", "required-attribute")
    return text


def to_number(node: XmlNode, what: str, text: str, largest: float, *, infinite: bool = False) -> float:
    """Read one decimal number with ``|x| ≤ largest``; with `infinite`, "inf" and "-inf" are taken too."""
    text = text.strip()
    if _NOT_FINITE.match(text):
        value = float(text)
        if infinite and not np.isnan(value):
            return value
        node.fail(f"{what} = {shown(text)} is not finite; write a decimal number", "finite-number")
    if len(text) > MAX_DIGITS or not _NUMBER.match(text):
        hint = " (use a point, not a comma)" if "," in text else ""
        node.fail(f"{what} = {shown(text)} is not a number{hint}", "decimal-number")
    value = float(text)
    if abs(value) > largest:
        if infinite:
            return float(np.copysign(np.inf, value))
        node.fail(f"{what} = {shown(text)} is beyond ±{largest:g}", "reasonable-size")
    return value


def number(node: XmlNode, name: str, largest: float, *, default: float | None = None) -> float:
    """Numeric attribute; required if there is no default."""
    if default is not None and name not in node.attributes:
        return default
    return to_number(node, name, attribute(node, name), largest)


def not_negative(node: XmlNode, name: str, largest: float, *, default: float | None = None) -> float:
    """Numeric attribute that must be ≥ 0."""
    value = number(node, name, largest, default=default)
    if value < 0.0:
        node.fail(f"{name} = {value:g} is negative; it must be ≥ 0", "not-negative")
    return value


def bound(node: XmlNode, name: str, *, default: float | None = None) -> float:
    """A limit: like `number`, but "inf" or anything beyond ±`UNBOUNDED` is read as no limit."""
    if default is not None and name not in node.attributes:
        return default
    value = to_number(node, name, attribute(node, name), UNBOUNDED, infinite=True)
    return float(np.copysign(np.inf, value)) if abs(value) >= UNBOUNDED else value


def vector(node: XmlNode, name: str, largest: float, *, count: int = 3, default: Array | None = None) -> Array:
    """Attribute of `count` numbers separated by white space."""
    if default is not None and name not in node.attributes:
        return default
    text = attribute(node, name)
    parts = text.split(maxsplit=count)
    if len(parts) != count:
        found = len(text.split())
        node.fail(f"{name} = {shown(text)} has {found} entries; {count} are needed", "count")
    return np.array([to_number(node, name, part, largest) for part in parts])


def pose_of(node: XmlNode) -> Array:
    """Pose T (4×4) given by the <origin> of `node`: xyz [m] and fixed-axis rpy [rad] or quat_xyzw; 1 if absent."""
    T = np.eye(4)
    origin = node.one("origin")
    if origin is None:
        return T
    T[:3, 3] = vector(origin, "xyz", MAX_LENGTH, default=np.zeros(3))
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            origin.fail("both rpy and quat_xyzw are given; write one", "one-of-each")
        quat_xyzw = vector(origin, "quat_xyzw", 10.0, count=4)
        if abs(float(np.linalg.norm(quat_xyzw)) - 1.0) > 1e-3:
            origin.fail("quat_xyzw does not have unit length", "unit-quaternion")
        T[:3, :3] = rotation_from_xyzw(quat_xyzw / np.linalg.norm(quat_xyzw))
    else:
        T[:3, :3] = rotation_from_rpy(vector(origin, "rpy", MAX_ANGLE, default=np.zeros(3)))
    return T
