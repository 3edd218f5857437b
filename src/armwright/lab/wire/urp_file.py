# SPDX-License-Identifier: Apache-2.0
"""Programs of PolyScope, ``.urp``: XML in gzip. Three kinds of nodes are understood; any other is refused by its name.

    Contributed "External Control"   the program that a client serves is asked for when the program is played
    Script of type "File"            the text that the file keeps of it
    Wait of type "Sleep"             seconds

A file is compressed text from somebody: what it unpacks to is limited before it is parsed, and so are depth and number
of its elements.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TypeAlias

from armwright.errors import DescriptionError
from armwright.lab.wire.script_stream import MOST_TEXT
from armwright.schema.xml_text import XmlNode, parse_xml, shown

MOST_PACKED = 1 << 20  # bytes of a file
MOST_UNPACKED = 2 << 20  # bytes of its XML
GZIP = 16 + zlib.MAX_WBITS
LONGEST_WAIT = 1e6  # [s] of a Wait
IGNORED = ("InitVariablesNode", "SpecialSequence")
"""Nodes without an effect: variables that keep no value here, sequences that have nodes of their own or are empty."""


@dataclass(frozen=True, slots=True)
class ExternalProgram:
    """Here runs what a client serves."""


@dataclass(frozen=True, slots=True)
class WaitStep:
    """Wait so long [s]."""

    seconds: float


UrpStep: TypeAlias = "str | WaitStep | ExternalProgram"
"""A text, a wait, or what a client serves."""


@dataclass(frozen=True, slots=True)
class UrpProgram:
    """The steps of a program; `once`: it does not begin again at its end."""

    steps: tuple[UrpStep, ...]
    once: bool


def unpacked(data: bytes, file: str) -> bytes:
    """Return what gzip holds.

    Raises:
        DescriptionError: it is no gzip, is cut short, or holds more than `MOST_UNPACKED` bytes.
    """
    packed = zlib.decompressobj(GZIP)
    try:
        out = packed.decompress(data, MOST_UNPACKED)
    except zlib.error:
        raise DescriptionError("is no gzip", where=file, rule="gzip") from None
    if packed.unconsumed_tail:
        raise DescriptionError(f"unpacks to more than {MOST_UNPACKED >> 20} MiB", where=file, rule="size")
    if not packed.eof:
        raise DescriptionError("ends in the middle", where=file, rule="gzip")
    return out


def read_urp(data: bytes, file: str) -> UrpProgram:
    """Read a program.

    Args:
        data: the file's bytes.
        file: its name, for messages.

    Raises:
        DescriptionError: it is no such file, or has a node that is not understood; says where and which.
    """
    root = parse_xml(unpacked(data, file), file, most_text=MOST_TEXT + 1)
    if root.tag != "URProgram":
        root.fail("the root must be <URProgram>", "known-element")
    children = root.need("children")
    main = children.need("MainProgram")
    for node in children.children:
        if node.tag not in ("MainProgram", *IGNORED):
            _refuse(node)
    steps: list[UrpStep] = []
    for part in main.all("children"):
        steps += [_step(node) for node in part.children if node.tag not in IGNORED]
    if not steps:
        main.fail("has no nodes", "required-element")
    return UrpProgram(tuple(steps), main.attributes.get("runOnlyOnce", "false") == "true")


def _step(node: XmlNode) -> UrpStep:
    if node.tag == "Contributed" and node.attributes.get("strategyURCapName") == "External Control":
        return ExternalProgram()
    kind = node.attributes.get("type")
    if node.tag == "Script" and kind == "File":
        text = node.need("cachedContents").text
        if len(text) > MOST_TEXT:
            node.fail(f"a script of more than {MOST_TEXT} characters", "size")
        return text
    if node.tag == "Wait" and kind == "Sleep":
        return WaitStep(_seconds(node.need("waitTime")))
    return _refuse(node)


def _seconds(node: XmlNode) -> float:
    try:
        seconds = float(node.text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT:
        node.fail(f"0 to {LONGEST_WAIT:g} seconds needed, got {shown(node.text)}", "number")
    return seconds


def _refuse(node: XmlNode) -> UrpStep:
    node.fail("this node is not known here; known: External Control, Script (a file), Wait (a time)", "known-element")
