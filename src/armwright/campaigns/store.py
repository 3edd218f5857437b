# SPDX-License-Identifier: Apache-2.0
"""`Store`: a campaign's folder with its plan, what was prepared, and one Parquet file per finished chunk.

    campaign.json            plan, digest, versions
    prepared.bin             what the kind prepared, with its checksum
    rows/000000000-000000499.parquet
    set-aside/               files that `verify` found damaged or foreign

A chunk is there whole or not at all (`campaign_files`). The content of its file is that of `chunk_file`. A folder may
come from anybody: its plan says a kind's name and no more, and every file is checked before it is believed. `refusal`
and `accepted` carry the reason why another process could not begin as bytes: errors of Armwright keep their class,
anything else stays a defect.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armwright import errors
from armwright.campaigns.campaign_files import (
    HEAD,
    MOST_DATA_BYTES,
    MOST_HEAD_BYTES,
    PREPARED,
    StoreError,
    own_folder,
    read_own,
    remove_drafts,
    write_own,
)
from armwright.campaigns.campaign_plan import CampaignPlan, plan_of
from armwright.campaigns.chunk_file import Chunk, ChunkError, check_bytes, rows_of
from armwright.campaigns.kind import Kind, kind_of, place_of
from armwright.campaigns.work import PreparedWork, prepared_here
from armwright.errors import ArmwrightError, InputError
from armwright.files import read_regular

REFUSED = b"!"  # first byte of a refusal
PLAIN = (str, int, float, bool, type(None))


class ProcessError(RuntimeError):
    """A defect in another process; the text ends with its traceback."""


def refusal(error: Exception) -> bytes:
    """Return an error as bytes for the coordinator."""
    ours = isinstance(error, ArmwrightError)
    said = {
        "kind": next(kind.__name__ for kind in type(error).__mro__ if not ours or kind.__module__ == errors.__name__),
        "text": str(error),
        "fields": {name: value if isinstance(value, PLAIN) else None for name, value in vars(error).items()},
        "traceback": None if ours else "".join(traceback.format_exception(error)),
    }
    return REFUSED + json.dumps(said).encode()


def accepted(answer: bytes, what: str) -> bytes:
    """Return the answer of another process, or raise what it refused with."""
    if not answer.startswith(REFUSED):
        return answer
    said = json.loads(answer[len(REFUSED) :])
    if said["traceback"] is not None:
        raise ProcessError(f"{what}: {said['kind']}: {said['text']}\n{said['traceback']}")
    kind = getattr(errors, said["kind"])
    error: ArmwrightError = kind.__new__(kind)  # its text is composed already
    error.args = (said["text"],)
    vars(error).update(said["fields"])
    raise error


STORE_FORMAT = 2  # of the folder and its files
MOST_CHUNKS = 1_000_000  # files of one campaign: folders of more are slow everywhere
NAME = re.compile(r"([0-9]{9})-([0-9]{9})\.parquet")


@dataclass(frozen=True)
class Store:
    """A folder with a campaign in it."""

    folder: Path
    plan: CampaignPlan
    kind: Kind
    prepared: bytes
    canary: str

    def __post_init__(self) -> None:
        """Check that the number of files can be handled."""
        if self.plan.items > MOST_CHUNKS * self.chunk:
            least = -(-self.plan.items // MOST_CHUNKS)
            raise StoreError(
                f"{self.folder}: {self.plan.items} items in chunks of {self.chunk} are more than {MOST_CHUNKS} files; "
                f"chunk must be {least} or more"
            )

    def __repr__(self) -> str:
        """Return one line: where, which kind, how far it is."""
        items = sum(last - first for first, last in self.done())
        return f"Store({str(self.folder)!r}: {self.kind.name}, {items} of {self.plan.items} items)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how the items ended, and the quantiles of their figures."""
        from armwright.campaigns.campaign_tables import campaign_cells

        return campaign_cells(self)

    @property
    def digest(self) -> str:
        """Return what decides the rows; see `CampaignPlan.digest`."""
        return self.plan.digest(self.kind.version)

    @property
    def chunk(self) -> int:
        """Return the number of items per file."""
        return self.plan.chunk or self.kind.chunk

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of every chunk of the plan; last is not in it."""
        for first in range(0, self.plan.items, self.chunk):
            yield first, self._last(first)

    def _last(self, first: int) -> int:
        return min(first + self.chunk, self.plan.items)

    def _planned(self, first: int, last: int) -> bool:
        return first < self.plan.items and first % self.chunk == 0 and last == self._last(first)

    def task(self, *, mixed: bool) -> tuple[str, str, bytes, str, str]:
        """Return what a worker is given (`armwright.campaigns.work.worker_of`); `mixed` asks for no canary."""
        return self.plan.text(), place_of(self.kind), self.prepared, self.digest, "" if mixed else self.canary

    def file(self, first: int, last: int) -> Path:
        """Return the path of a chunk's file."""
        return self.folder / "rows" / f"{first:09d}-{last - 1:09d}.parquet"

    def _named(self) -> set[tuple[int, int]]:
        """Return the chunks that have something under the name of their files, planned or not."""
        if not own_folder(self.folder / "rows"):
            return set()
        found = (NAME.fullmatch(name) for name in os.listdir(self.folder / "rows"))
        return {(int(m[1]), int(m[2]) + 1) for m in found if m}

    def done(self) -> set[tuple[int, int]]:
        """Return the chunks of the plan whose files are there."""
        return {chunk for chunk in self._named() if self._planned(*chunk)}

    def missing(self) -> list[tuple[int, int]]:
        """Return the chunks that are still to do, in order."""
        done = self.done()
        return [chunk for chunk in self.chunks() if chunk not in done]

    def write(self, chunk: Chunk) -> Path:
        """Put a chunk's file into its place: whole or not at all."""
        path = self.file(chunk.first, chunk.last)
        own_folder(path.parent, make=True)
        _write(self.folder, path, chunk.content)
        return path

    def read(self, first: int, last: int) -> Any:
        """Return a chunk's rows, checked, or raise `StoreError` naming the file and what is wrong with it."""
        path = self.file(first, last)
        own_folder(path.parent)
        content = read_own(path, MOST_DATA_BYTES)
        try:
            return rows_of(content, self.kind, self.digest, first, last)
        except ChunkError as error:
            raise StoreError(f"{path}: {error}") from None

    def tidy(self) -> None:
        """Remove drafts that processes left behind when they were killed while writing, after an hour."""
        for folder in (self.folder, self.folder / "rows"):
            if folder == self.folder or own_folder(folder):
                remove_drafts(folder)

    def verify(self) -> list[str]:
        """Check every file; move damaged and foreign ones to ``set-aside``, to be done again. Return their names."""
        wrong = []
        for chunk in sorted(self._named()):
            path = self.file(*chunk)
            try:
                if not self._planned(*chunk):
                    raise ChunkError("not a chunk of this campaign")
                content = read_regular(path, MOST_DATA_BYTES)
                check_bytes(content, rows_of(content, self.kind, self.digest, *chunk), self.digest)
            except (ChunkError, OSError) as error:
                said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
                wrong.append(f"{path}: {said}")
                self._set_aside(path)
        return wrong

    def _set_aside(self, path: Path) -> None:
        aside = self.folder / "set-aside"
        own_folder(aside, make=True)
        try:
            os.replace(path, aside / path.name)  # a link itself, not what it leads to
        except OSError as error:
            raise StoreError(f"{path}: cannot be set aside ({error.strerror or error}); remove {aside}") from None


def _write(folder: Path, path: Path, data: bytes) -> None:
    """Write a file of a campaign's folder, or raise `StoreError` with what to do."""
    try:
        write_own(path, data)
    except OSError as error:
        begun = (folder / HEAD).exists()
        advice = f"go on with: armwright campaign resume {folder}" if begun else "run the campaign again"
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}); nothing before it is lost, {advice}"
        ) from error


def open_store(folder: str | Path, *, kind: Kind | None = None) -> Store:
    """Open the campaign in a folder; nothing is written.

    Args:
        folder: of the campaign.
        kind: a kind of your own, which the campaign has to name; by default what is known under that name.

    Raises:
        StoreError: it is not a campaign, not one of this kind, or damaged.

    Example:
        >>> open_store("out/campaign").missing()
    """
    place = Path(folder)
    for name in (HEAD, PREPARED):
        if not os.path.lexists(place / name):
            raise StoreError(f"{place}: no campaign here ({name} is missing)")
    head, data = _head(place / HEAD), read_own(place / PREPARED, MOST_DATA_BYTES)
    if hashlib.blake2b(data, digest_size=16).hexdigest() != head["prepared"]:
        raise StoreError(f"{place / PREPARED}: damaged; delete it and the campaign, or bring the file back")
    try:
        plan = plan_of(head["plan"])
    except (ValueError, TypeError, RecursionError) as error:  # an `InputError` is a ValueError
        raise _damaged(place / HEAD, error) from None
    try:
        known = kind_of(plan, kind)
    except InputError as error:
        raise StoreError(f"{place}: {error}") from None
    store = Store(place, plan, known, data, head["canary"])
    if store.digest != head["digest"]:
        raise StoreError(
            f"{place}: made by another version of kind {plan.kind!r}; its numbers would not go together with new ones"
        )
    return store


def _head(path: Path) -> dict[str, str]:
    """Return the texts of campaign.json, or raise `StoreError`."""
    content = read_own(path, MOST_HEAD_BYTES)
    try:
        found = json.loads(content)
        if not isinstance(found, dict):
            raise TypeError(f"expected an object, got {type(found).__name__}")
        if found.get("format") != STORE_FORMAT:
            raise StoreError(
                f"{path.parent}: made by a version of Armwright whose files are others; run the campaign anew"
            )
        texts = {name: found[name] for name in ("plan", "digest", "prepared", "canary")}
        wrong = [name for name, value in texts.items() if not isinstance(value, str)]
        if wrong:
            raise TypeError(f"{wrong[0]!r} must be a text")
    except StoreError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, error) from None
    return texts


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{path}: damaged ({type(error).__name__}: {error!s:.200}); bring back the file that Armwright wrote, "
        "or run the campaign in another folder"
    )


def create_store(
    folder: str | Path,
    plan: CampaignPlan,
    *,
    kind: Kind | None = None,
    prepare: Callable[[CampaignPlan, Kind], PreparedWork] = prepared_here,
) -> Store:
    """Make the folder of a campaign, or open it if the same campaign is there already, perhaps with fewer items."""
    place, known = Path(folder), kind_of(plan, kind)
    if begun := os.path.lexists(place / HEAD):
        store = open_store(place, kind=kind)
        if store.digest != plan.digest(known.version) or store.chunk != (plan.chunk or known.chunk):
            raise StoreError(f"{place}: holds another campaign; choose another folder")
        if plan.items < store.plan.items:
            raise StoreError(f"{place}: has {store.plan.items} items already, more than the {plan.items} asked for")
        store = replace(store, plan=plan)
    else:
        store = Store(place, plan, known, b"", "")
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{place}: cannot be made ({error.strerror or error})") from None
    own_folder(place / "rows", make=True)
    if not begun:
        data, mark = prepare(plan, known)
        store = Store(place, plan, known, data, mark)
        if len(data) > MOST_DATA_BYTES:
            raise InputError(f"kind {known.name!r} prepared {len(data)} bytes; at most {MOST_DATA_BYTES} can be kept")
        _write(place, place / PREPARED, data)
    head = {
        "format": STORE_FORMAT,
        "plan": plan.text(),
        "digest": store.digest,
        "prepared": hashlib.blake2b(store.prepared, digest_size=16).hexdigest(),
        "canary": store.canary,
    }
    text = json.dumps(head, indent=1).encode()
    if len(text) > MOST_HEAD_BYTES:
        raise InputError(f"campaign: settings of {len(text)} bytes; at most {MOST_HEAD_BYTES} can be kept")
    if not begun or read_own(place / HEAD, MOST_HEAD_BYTES) != text:
        _write(place, place / HEAD, text)
    return store
