# SPDX-License-Identifier: Apache-2.0
"""`Shelf`: what can be opened, by number: recordings, explorations, programs; and the pages that are handed out.

Nothing leaves the shelf unless somebody removes it. What the live arm recorded is a file in the user's folder, of which
the shelf knows the place; there may be any number. Everything else is held in memory, so there is room for
`MOST_ITEMS`: a shelf that is full refuses, before the work that would fill it begins. Of a program the last run is
held, in the place of the run before.
"""

from __future__ import annotations

import itertools
import secrets
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.recording.formats import load as load_recording
from armwright.studio.recordings_folder import KeptFile, remove_file

if TYPE_CHECKING:
    from armwright.recording.recording import Recording

MOST_ITEMS, MOST_TICKETS, MOST_WAITING_PAGES = 64, 32, 4
MOST_DESCRIPTION = 1 << 20  # bytes
MOST_OPENED_FILES = 2  # recordings that are held in memory besides their file: two can be compared


@dataclass(frozen=True, eq=False)
class ShelfItem:
    """One thing on the shelf.

    Attributes:
        kind: "recording", "exploration", "program text" or "program". name: for people. note: more about it.
        value: a `Recording`, or the path of its file; the replay page of an exploration or of a program's run; the
            content of a program's file.
        about: what a list on the page shows of it; plain data.
    """

    kind: str
    name: str
    value: Any
    note: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def on_disk(self) -> bool:
        """Return whether it is a file in the user's folder."""
        return isinstance(self.value, Path)


class Shelf:
    """Things by number, for any thread. Its own folder, a temporary one, holds uploads while they are read."""

    def __init__(self) -> None:
        """Begin empty."""
        self._folder = tempfile.TemporaryDirectory(prefix="armwright-studio-", ignore_cleanup_errors=True)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._reserved = 0
        self._items: dict[int, ShelfItem] = {}
        self._opened: OrderedDict[int, Recording] = OrderedDict()
        self._tickets: OrderedDict[str, tuple[str, bool]] = OrderedDict()
        self._waiting: OrderedDict[str, bytes] = OrderedDict()

    @property
    def folder(self) -> Path:
        """Return a folder that only this user can enter."""
        return Path(self._folder.name)

    def add(self, item: ShelfItem, *, reserved: bool = False) -> int:
        """Put something on the shelf; return its number.

        Raises:
            InputError: it is full; nothing has changed. Never for a place that was `reserved`, nor for a file.
        """
        with self._lock:
            if reserved:
                self._reserved -= 1
            elif not item.on_disk and item.kind != "program":
                self._check_room(1)
            number = next(self._numbers)
            self._items[number] = item
            return number

    def reserve(self, count: int) -> None:
        """Hold places free, or free them again (a negative count); see `PlacesReserved`.

        Raises:
            InputError: there is not so much room.
        """
        with self._lock:
            if count > 0:
                self._check_room(count)
            self._reserved += count

    def _check_room(self, count: int) -> None:
        held = sum(not item.on_disk and item.kind != "program" for item in self._items.values()) + self._reserved
        if held + count > MOST_ITEMS:
            raise InputError(
                f"shelf: there is room for {MOST_ITEMS} things and {held} are there; remove explorations, programs or "
                "uploaded recordings that are no longer needed (the button × next to each)"
            )

    def offer(self, files: list[KeptFile]) -> None:
        """Put recordings of the user's folder on the shelf."""
        for file in files:
            self.add(ShelfItem("recording", file.path.name, file.path, file.note, {"cut": file.cut}))

    def put_run(self, source: int, item: ShelfItem) -> int:
        """Put the run of a program on the shelf, in the place of the last run of the same text."""
        with self._lock:
            former = [k for k, known in self._items.items() if known.about.get("source") == source]
            for number in former:
                del self._items[number]
        return self.add(item)

    def remove(self, number: int) -> ShelfItem:
        """Remove something for good, a file in the user's folder included; return what it was.

        Raises:
            InputError: there is no such thing, or the file cannot be removed.
        """
        with self._lock:
            item = self._items.get(number)
            if item is None:
                raise InputError(f"remove: {number} is not here")
        if item.on_disk:
            remove_file(item.value)
        with self._lock:
            self._items.pop(number, None)
            self._opened.pop(number, None)
            for run in [k for k, known in self._items.items() if known.about.get("source") == number]:
                del self._items[run]
        return item

    def get(self, number: int, kind: str) -> ShelfItem:
        """Take something of a kind by its number."""
        with self._lock:
            item = self._items.get(number)
            if item is None or item.kind != kind:
                known = ", ".join(str(k) for k, i in self._items.items() if i.kind == kind)
                raise InputError(f"{kind} {number}: not here; there are: {known or 'none'}")
            return item

    def number_of(self, file: Path) -> int:
        """Return the number of a file of the user's folder."""
        with self._lock:
            return next(number for number, item in self._items.items() if item.value == file)

    def recording(self, number: int) -> Recording:
        """Return a recording, read from its file if it is one; the last few are kept in memory.

        Raises:
            InputError: it is not here, or its file cannot be read.
        """
        item = self.get(number, "recording")
        if not item.on_disk:
            held: Recording = item.value
            return held
        with self._lock:
            if number in self._opened:
                self._opened.move_to_end(number)
                return self._opened[number]
        found = load_recording(item.value)
        with self._lock:
            self._opened[number] = found
            while len(self._opened) > MOST_OPENED_FILES:
                self._opened.popitem(last=False)
        return found

    def listing(self) -> list[dict[str, Any]]:
        """Return what is there, newest first."""
        with self._lock:
            return [
                {"number": number, "kind": item.kind, "name": item.name, "note": item.note, "file": item.on_disk}
                | {"about": item.about}
                for number, item in reversed(self._items.items())
            ]

    def ticket(self, page: str, *, own: bool = False) -> str:
        """Hand out an address that cannot be guessed, under which a page can be opened in a frame.

        Args:
            page: HTML.
            own: whether it is a replay, with which the studio's page may talk; others are isolated from it.
        """
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._tickets[name] = page, own
            while len(self._tickets) > MOST_TICKETS:
                self._tickets.popitem(last=False)
        return name

    def page(self, ticket: str) -> tuple[str, bool] | None:
        """Return the page behind a ticket, and whether it is a replay."""
        return self._tickets.get(ticket)

    def lay_beside(self, name: str, content: bytes) -> None:
        """Keep the description of a file that is about to come."""
        if len(content) > MOST_DESCRIPTION:
            raise InputError(f"{name}: a description has at most {MOST_DESCRIPTION >> 20} MiB")
        self._waiting[name] = content
        while len(self._waiting) > MOST_WAITING_PAGES:
            self._waiting.popitem(last=False)

    def beside(self, name: str) -> bytes | None:
        """Take the description that was kept for a file; None if there is none."""
        return self._waiting.pop(name, None)

    def close(self) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()


class PlacesReserved:
    """Places that are held free for the results of work that is about to begin, so that none is lost at its end."""

    def __init__(self, shelf: Shelf, count: int) -> None:
        """Reserve them.

        Raises:
            InputError: there is not so much room; the work should not begin.
        """
        shelf.reserve(count)
        self._shelf, self._left = shelf, count

    def add(self, item: ShelfItem) -> int:
        """Put something into one of the places; return its number."""
        self._left -= 1
        return self._shelf.add(item, reserved=True)

    def give_back(self) -> None:
        """Free those that were not used."""
        left, self._left = self._left, 0
        self._shelf.reserve(-left)
