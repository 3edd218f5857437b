# SPDX-License-Identifier: Apache-2.0
"""What can be opened: recordings, explorations, programs and documents of this studio, in memory and by number."""

from __future__ import annotations

import itertools
import secrets
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.errors import InputError

MOST_ITEMS, MOST_TICKETS, MOST_WAITING = 64, 32, 4
MOST_DESCRIPTION = 1 << 20  # bytes


@dataclass(frozen=True, eq=False)
class Item:
    """One thing on the shelf: its kind ("recording", "exploration", "program text", "program"), name and value."""

    kind: str
    name: str
    value: Any
    note: str = ""


class Shelf:
    """Things by number; the oldest leaves when there are too many. Its folder holds uploads while they are read."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="armwright-studio-")
        self._numbers = itertools.count(1)
        self._items: OrderedDict[int, Item] = OrderedDict()
        self._tickets: OrderedDict[str, tuple[str, bool]] = OrderedDict()
        self._waiting: OrderedDict[str, bytes] = OrderedDict()

    @property
    def folder(self) -> Path:
        """A folder that only this user can enter."""
        return Path(self._folder.name)

    def add(self, item: Item) -> int:
        """Put something on the shelf; return its number."""
        number = next(self._numbers)
        self._items[number] = item
        while len(self._items) > MOST_ITEMS:
            self._items.popitem(last=False)
        return number

    def get(self, number: int, kind: str) -> Item:
        """Take something of a kind by its number."""
        item = self._items.get(number)
        if item is None or item.kind != kind:
            known = ", ".join(str(k) for k, i in self._items.items() if i.kind == kind)
            raise InputError(f"{kind} {number}: not here; there are: {known or 'none'}")
        return item

    def listing(self) -> list[dict[str, Any]]:
        """What is there, newest first."""
        return [
            {"number": number, "kind": item.kind, "name": item.name, "note": item.note}
            for number, item in reversed(self._items.items())
        ]

    def ticket(self, page: str, *, own: bool = False) -> str:
        """Hand out an address that cannot be guessed, under which a page can be opened in a frame.

        Args:
            page: HTML.
            own: whether it is a replay, with which the studio's page may talk; others are shut off from it.
        """
        name = secrets.token_urlsafe(24)
        self._tickets[name] = page, own
        while len(self._tickets) > MOST_TICKETS:
            self._tickets.popitem(last=False)
        return name

    def page(self, ticket: str) -> tuple[str, bool] | None:
        """The page behind a ticket, and whether it is a replay."""
        return self._tickets.get(ticket)

    def lay_beside(self, name: str, content: bytes) -> None:
        """Keep the description of a file that is about to come."""
        if len(content) > MOST_DESCRIPTION:
            raise InputError(f"{name}: a description has at most {MOST_DESCRIPTION >> 20} MiB")
        self._waiting[name] = content
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popitem(last=False)

    def beside(self, name: str) -> bytes | None:
        """Take the description that was laid beside a file; None if there is none."""
        return self._waiting.pop(name, None)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
