# SPDX-License-Identifier: Apache-2.0
"""A campaign's folder: its plan, what was prepared, one Parquet file per chunk. What is listed is done.

    campaign.json            plan, digest, versions
    prepared.bin             what the kind prepared, with its checksum
    rows/000000000-000000499.parquet
    set-aside/               files that `verify` found damaged or foreign

Files are written beside their place and renamed, so that a chunk is there whole or not at all. Pages carry checksums;
the footer names the campaign's digest and a checksum of the rows, because tables of contents carry none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.campaigns.canary import canary
from armwright.campaigns.kind import Kind, find_kind
from armwright.campaigns.plan import Plan, plan_of
from armwright.campaigns.table import arrow, schema_of
from armwright.errors import InputError
from armwright.optional import need

NAME = re.compile(r"(\d{9,})-(\d{9,})\.parquet")
DRAFT = re.compile(r"\..+\.([\w-]+)\.(\d+)")  # .NAME.HOST.PROCESS
WRITER = re.compile(r"parquet-cpp-arrow version \d+\.\d+\.\d+(-\w+)?")
DIGEST, ROWS = b"armwright.campaign", b"armwright.rows"


class StoreError(InputError):
    """A folder that is not the campaign it should be."""


@dataclass(frozen=True)
class Store:
    """A folder with a campaign in it."""

    folder: Path
    plan: Plan
    kind: Kind
    prepared: bytes
    canary: str

    @property
    def digest(self) -> str:
        """What decides the rows; see `Plan.digest`."""
        return self.plan.digest(self.kind.version)

    @property
    def chunk(self) -> int:
        """Items per file."""
        return self.plan.chunk or self.kind.chunk

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of every chunk of the plan; last is not in it."""
        for first in range(0, self.plan.items, self.chunk):
            yield first, min(first + self.chunk, self.plan.items)

    def task(self, *, mixed: bool) -> tuple[str, bytes, str, str]:
        """Return what a worker is given (`armwright.campaigns.work.worker_of`); `mixed` asks for no canary."""
        return self.plan.text(), self.prepared, self.digest, "" if mixed else self.canary

    def file(self, first: int, last: int) -> Path:
        """Return where a chunk's rows stand."""
        return self.folder / "rows" / f"{first:09d}-{last - 1:09d}.parquet"

    def done(self) -> set[tuple[int, int]]:
        """Return the chunks whose files are there."""
        found = (NAME.fullmatch(entry.name) for entry in os.scandir(self.folder / "rows"))
        return {(int(m[1]), int(m[2]) + 1) for m in found if m}

    def missing(self) -> list[tuple[int, int]]:
        """Return the chunks that are still to do, in order."""
        done = self.done()
        return [chunk for chunk in self.chunks() if chunk not in done]

    def write(self, table: Any) -> Path:
        """Write one chunk's rows: whole or not at all."""
        first, last = table["item"][0].as_py(), table["item"][-1].as_py() + 1
        return write_whole(self.folder, f"rows/{self.file(first, last).name}", self._content(table))

    def _content(self, table: Any) -> bytes:
        """Return a chunk's file: the same rows are the same bytes."""
        marks = {DIGEST: self.digest.encode(), ROWS: _fingerprint(table).encode()}
        sink = arrow().BufferOutputStream()
        need("pyarrow.parquet", "scale", "a campaign").write_table(
            table.replace_schema_metadata(marks),
            sink,
            compression="zstd",
            row_group_size=max(1, len(table)),
            write_page_checksum=True,
            write_statistics=False,  # no checksum guards them, and questions would believe them
        )
        return bytes(sink.getvalue())

    def read(self, first: int, last: int) -> Any:
        """Return a chunk's rows, checked, or raise `StoreError` naming the file and what is wrong with it."""
        parquet = need("pyarrow.parquet", "scale", "a campaign")
        path = self.file(first, last)
        try:
            table = parquet.read_table(path, page_checksum_verification=True)
        except FileNotFoundError:
            raise StoreError(f"{path}: missing") from None
        except Exception as error:  # noqa: BLE001 — a damaged file may raise anything
            raise StoreError(f"{path}: damaged ({type(error).__name__})") from None
        marks = table.schema.metadata or {}
        table = table.replace_schema_metadata(None)
        if marks.get(DIGEST) != self.digest.encode():
            raise StoreError(f"{path}: rows of another campaign")
        if not table.schema.equals(schema_of(self.kind)) or marks.get(ROWS) != _fingerprint(table).encode():
            raise StoreError(f"{path}: damaged (checksum of the rows)")
        if table["item"].to_pylist() != list(range(first, last)):
            raise StoreError(f"{path}: items that are not those of its name")
        return table

    def _check_bytes(self, path: Path, table: Any) -> None:
        """Raise `StoreError` unless the file is, byte for byte, what its rows are written as.

        Other versions of pyarrow may write other bytes; of their files the rows are checked alone.
        """
        try:
            writer = need("pyarrow.parquet", "scale", "a campaign").read_metadata(path).created_by
        except ValueError:  # no text any more
            writer = ""
        own = f"parquet-cpp-arrow version {arrow().cpp_version}"
        if writer == own and self._content(table) != path.read_bytes():
            raise StoreError(f"{path}: damaged (bytes beside the rows)")
        if not WRITER.fullmatch(writer):
            raise StoreError(f"{path}: damaged (its writer is {writer!r:.60})")

    def tidy(self) -> None:
        """Remove drafts that processes of this host left behind when they were killed while writing."""
        for entry in os.scandir(self.folder / "rows"):
            left = DRAFT.fullmatch(entry.name)
            if left and left[1] == _host() and not _runs(int(left[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def verify(self) -> list[str]:
        """Check every file; move damaged and foreign ones to ``set-aside``, to be done again. Return which."""
        wrong = []
        planned = set(self.chunks())
        for chunk in sorted(self.done()):
            try:
                if chunk not in planned:
                    raise StoreError(f"{self.file(*chunk)}: not a chunk of this campaign")
                self._check_bytes(self.file(*chunk), self.read(*chunk))
            except StoreError as error:
                wrong.append(str(error))
                aside = self.folder / "set-aside"
                aside.mkdir(exist_ok=True)
                os.replace(self.file(*chunk), aside / self.file(*chunk).name)
        return wrong


def _fingerprint(table: Any) -> str:
    """Checksum of the values alone: memory behind missing values may hold anything."""
    values = json.dumps([table[name].to_pylist() for name in table.column_names])
    return hashlib.blake2b(values.encode(), digest_size=16).hexdigest()


def _host() -> str:
    return re.sub(r"[^\w-]", "-", socket.gethostname())


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_whole(folder: Path, name: str, data: bytes) -> Path:
    """Write a file of a campaign's folder beside its place, force it to disk, and give it its name."""
    path = folder / name
    draft = path.with_name(f".{path.name}.{_host()}.{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}); nothing before it is lost, "
            f"go on with: armwright campaign resume {folder}"
        ) from error
    return path


def open_store(folder: str | Path) -> Store:
    """Open the campaign in a folder."""
    place = Path(folder)
    try:
        head = json.loads((place / "campaign.json").read_text(encoding="utf-8"))
        data = (place / "prepared.bin").read_bytes()
        plan, digest, check, mark = plan_of(head["plan"]), head["digest"], head["prepared"], head["canary"]
    except FileNotFoundError as error:
        raise StoreError(f"{place}: no campaign here ({Path(error.filename).name} is missing)") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{place / 'campaign.json'}: damaged ({type(error).__name__}: {error})") from None
    if hashlib.blake2b(data, digest_size=16).hexdigest() != check:
        raise StoreError(f"{place / 'prepared.bin'}: damaged; delete it and the campaign, or bring the file back")
    kind = find_kind(plan.kind)
    store = Store(place, plan, kind, data, mark)
    if store.digest != digest:
        raise StoreError(
            f"{place}: made by another version of kind {plan.kind!r}; its numbers would not go together with new ones"
        )
    (place / "rows").mkdir(exist_ok=True)
    return store


def create_store(folder: str | Path, plan: Plan) -> Store:
    """Make the folder of a campaign, or open it if the same campaign is there already, perhaps with fewer items."""
    place, kind = Path(folder), find_kind(plan.kind)
    if (place / "campaign.json").exists():
        store = open_store(place)
        if store.digest != plan.digest(kind.version) or store.chunk != (plan.chunk or kind.chunk):
            raise StoreError(f"{place}: holds another campaign; choose another folder")
        if plan.items < store.plan.items:
            raise StoreError(f"{place}: has {store.plan.items} items already, more than the {plan.items} asked for")
    else:
        (place / "rows").mkdir(parents=True, exist_ok=True)
        prepared = kind.prepare(plan)
        store = Store(place, plan, kind, prepared, canary())
        write_whole(place, "prepared.bin", prepared)
    head = {
        "plan": plan.text(),
        "digest": store.digest,
        "prepared": hashlib.blake2b(store.prepared, digest_size=16).hexdigest(),
        "canary": store.canary,
    }
    text = json.dumps(head, indent=1)
    file = place / "campaign.json"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        write_whole(place, file.name, text.encode())
    return Store(place, plan, kind, store.prepared, store.canary)
