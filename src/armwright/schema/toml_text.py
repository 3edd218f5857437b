# SPDX-License-Identifier: Apache-2.0
"""The text of a sheet: reading TOML safely, finding the line of a key, inheriting from another sheet.

A sheet becomes a tree of plain tables whose leaves are `Quantity` (a number or array with unit and source) or plain
text. Sources are attached before sheets are merged, so a number inherited through ``extends`` keeps the citation of
the sheet it was written in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from armwright.errors import DescriptionError
from armwright.files import read_regular

MAX_BYTES = 1_000_000
MAX_EXTENDS = 8
MAX_DEPTH = 8
NAMED = ("bodies", "frames")  # sections whose keys are names that authors choose: none has a meaning of its own there
# tomllib takes quadratic time on dotted keys of very many parts; starting at word boundaries keeps the search linear
_LONG_KEY = re.compile(r"""(?<![\w.-])(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*\.[ \t]*){40}""")
_LINE = re.compile(r"at line (\d+)")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a number comes from: document and table/equation, and a note where it was corrected."""

    document: str
    place: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """One sheet's file name and content, kept to say where a key stands."""

    file: str
    content: str

    def where(self, path: str) -> str:
        """Return ``file:line: dotted.path`` of the key nearest to `path`."""
        line = find_line(self.content, path)
        return f"{self.file}:{line}: {path}" if path else f"{self.file}:{line}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or array as written: value (or rows of a table), unit(s), source, and where it stands."""

    entries: dict[str, Any]
    source: Source | None
    text: Text
    path: str

    @property
    def where(self) -> str:
        """File, line and dotted path."""
        return self.text.where(self.path)

    def refuse(self, message: str, rule: str) -> DescriptionError:
        """Return the error that names this quantity."""
        return DescriptionError(message, where=self.where, rule=rule)


@dataclass(slots=True)
class Table:
    """A table of the sheet: named entries that are tables, quantities or plain values."""

    entries: dict[str, Any] = field(default_factory=dict)
    text: Text = field(default_factory=lambda: Text("", ""))
    path: str = ""

    def where(self, key: str = "") -> str:
        """File, line and dotted path of `key` in this table (or of the table)."""
        return self.text.where(".".join(part for part in (self.path, key) if part))

    def refuse(self, message: str, rule: str, key: str = "") -> DescriptionError:
        """Return the error that names this table or one of its keys."""
        return DescriptionError(message, where=self.where(key), rule=rule)

    def only(self, *allowed: str) -> None:
        """Refuse keys that are not in `allowed`; a misspelt key must not silently become a default."""
        for key in self.entries:
            if key not in allowed:
                message = f"unknown key {key[:60]!r}; valid keys here: {', '.join(allowed)}"
                raise self.refuse(message, "unknown key", key)

    def text_of(self, key: str, default: str | None = None) -> str:
        """Return a text entry; missing without default, or not text, is an error."""
        value = self.entries.get(key, default)
        if value is None:
            raise self.refuse(f"missing key {key!r}", "required key")
        if not isinstance(value, str):
            raise self.refuse(f"{key} must be text", "type", key)
        return value

    def table(self, key: str) -> Table | None:
        """Return a sub-table, None if absent; anything else is an error."""
        value = self.entries.get(key)
        if value is None or isinstance(value, Table):
            return value
        raise self.refuse(f"{key} must be a table", "type", key)


def find_line(content: str, path: str) -> int:
    """Return the 1-based line of the longest part of dotted `path` that stands as a header or key in TOML text."""
    best, best_line, section = 0, 1, ""
    for number, raw in enumerate(content.splitlines(), start=1):
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[]").split("]")[0].replace('"', "").replace(" ", "")
            candidate = section
        else:
            key = re.match(r'[A-Za-z0-9_."-]+(?=\s*=)', line)
            if not key:
                continue
            candidate = f"{section}.{key.group()}" if section else key.group()
            candidate = candidate.replace('"', "")
        if (path == candidate or path.startswith(candidate + ".")) and len(candidate) > best:
            best, best_line = len(candidate), number
    return best_line


@lru_cache(maxsize=8)  # a sheet is read twice where one that it takes numbers from extends it; nobody changes a result
def parse(content: str, file: str) -> dict[str, Any]:
    """Parse TOML text; every way in which the text can be defective is a `DescriptionError`."""
    if len(content) > MAX_BYTES:
        raise DescriptionError(
            f"a sheet may have at most {MAX_BYTES} characters, got {len(content)}", where=file, rule="size"
        )
    long_key = _LONG_KEY.search(content)
    if long_key:
        line = content.count("\n", 0, long_key.start()) + 1
        raise DescriptionError("tables are nested too deeply", where=f"{file}:{line}", rule="depth")
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        at = _LINE.search(str(error))
        where = f"{file}:{at.group(1)}" if at else file
        raise DescriptionError(f"not valid TOML: {error}", where=where, rule="TOML syntax") from None
    except RecursionError:
        raise DescriptionError("arrays or tables are nested too deeply", where=file, rule="TOML syntax") from None
    except ValueError as error:  # integers of thousands of digits, impossible dates
        raise DescriptionError(f"not valid TOML: {error}", where=file, rule="TOML syntax") from None


def _source(
    entries: dict[str, Any], sources: dict[str, Any], text: Text, path: str, above: Source | None
) -> Source | None:
    """Read ``source = "key place"`` and ``note``; without them the source of the table above applies."""
    cited, note = entries.get("source"), entries.get("note", "")
    if path in NAMED:  # what is called "source" and is a table is a body or a frame
        cited, note = (None if isinstance(cited, dict) else cited), ("" if isinstance(note, dict) else note)
    for key, value in (("source", cited or ""), ("note", note)):
        if not isinstance(value, str):
            raise DescriptionError(f"{key} must be text", where=text.where(f"{path}.{key}".strip(".")), rule="type")
    if cited is None:
        return Source(above.document, above.place, note) if above and note else above
    key, _, place = cited.partition(" ")
    if key not in sources:
        raise DescriptionError(
            f"source {key[:60]!r} is not in [sources]; valid: {', '.join(list(sources)[:20]) or '(none)'}",
            where=text.where(f"{path}.source".strip(".")),
            rule="source",
        )
    return Source(sources[key], place.strip(), note)


def _lift(
    entries: dict[str, Any], sources: dict[str, Any], text: Text, path: str, above: Source | None, depth: int = 0
) -> Table:
    """Turn raw tables into `Table`, and those with ``value`` or ``rows`` into `Quantity`, sources attached."""
    if depth > MAX_DEPTH:
        raise DescriptionError("tables are nested too deeply", where=text.file, rule="depth")
    source = _source(entries, sources, text, path, above)
    out = Table({}, text, path)
    for key, value in entries.items():
        inner = f"{path}.{key}" if path else key
        if key in ("source", "note") and not (path in NAMED and isinstance(value, dict)):
            continue
        if isinstance(value, dict) and "value" in value and inner not in NAMED:
            plain = {k: v for k, v in value.items() if k not in ("source", "note")}
            out.entries[key] = Quantity(plain, _source(value, sources, text, inner, source), text, inner)
        elif isinstance(value, dict) and inner != "sources":
            out.entries[key] = _lift(value, sources, text, inner, source, depth + 1)
        else:
            out.entries[key] = value
    if "rows" in out.entries and path not in NAMED:
        keys = ("columns", "units", "rows")
        table = {k: out.entries.pop(k) for k in keys if k in out.entries}
        out.entries["rows"] = Quantity(table, source, text, f"{path}.rows" if path else "rows")
    return out


def _merge(base: Table, over: Table) -> Table:
    """Entries of `over` replace or complete those of `base`; a table that names its ``kind`` replaces as a whole."""
    entries = dict(base.entries)
    for key, value in over.entries.items():
        old = entries.get(key)
        merge = isinstance(value, Table) and isinstance(old, Table) and "kind" not in value.entries
        entries[key] = _merge(old, value) if merge else value  # type: ignore[arg-type]
    return Table(entries, over.text, over.path)


def read_tree(content: str, file: str, find: Callable[[str], tuple[str, str]], seen: tuple[str, ...] = ()) -> Table:
    """Parse a sheet and everything it extends.

    Args:
        content: the sheet's text.
        file: its name in messages.
        find: maps the name in ``extends`` to (text, file) of that sheet.
        seen: files already on the way, to refuse cycles.
    """
    raw = parse(content, file)
    text = Text(file, content)
    sources = raw.get("sources", {})
    if not isinstance(sources, dict) or not all(isinstance(v, str) for v in sources.values()):
        raise DescriptionError("[sources] must map short keys to citations", where=text.where("sources"), rule="source")
    tree = _lift(raw, sources, text, "", None)
    if "extends" not in raw:
        return tree
    base = tree.text_of("extends")
    if file in seen or len(seen) >= MAX_EXTENDS:
        chain = " → ".join((*seen, file))
        raise tree.refuse(f"sheets extend each other in a circle or too deeply: {chain}", "extends", "extends")
    try:
        base_content, base_file = find(base)
    except DescriptionError as error:
        raise tree.refuse(f"cannot extend {base!r}: {error}", "extends", "extends") from None
    merged = _merge(read_tree(base_content, base_file, find, (*seen, file)), tree)
    merged.entries.pop("extends", None)
    return merged


def read_table(path: Path) -> Table:
    """Return a TOML file that extends no other as a table that knows its lines."""
    try:
        content = read_regular(path, MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", where=str(path), rule="file") from None
    except UnicodeDecodeError:
        raise DescriptionError("is not UTF-8 text", where=str(path), rule="file") from None
    return read_tree(content, str(path), _nothing)


def _nothing(name: str) -> tuple[str, str]:
    raise DescriptionError("this kind of file extends no other", rule="extends")
