# SPDX-License-Identifier: Apache-2.0
"""`Store`: a campaign's folder with its plan, what was prepared, and one Parquet file per finished chunk.

    campaign.json            plan, digest, versions
    prepared.bin             what the kind prepared, with its checksum
    rows/000000000-000000499.parquet
    set-aside/               files that `verify` found damaged or foreign

Files are written under another name and renamed, so that a chunk is there whole or not at all. Their content is that of
`chunk_file`. `refusal` and `accepted` carry the reason why another process could not begin as bytes: errors of
Armwright keep their class, anything else stays a defect.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright import errors
from armwright.campaigns.campaign_plan import CampaignPlan, plan_of
from armwright.campaigns.chunk_file import Chunk, ChunkError, check_bytes, rows_of
from armwright.campaigns.kind import Kind, find_kind
from armwright.campaigns.work import PreparedWork, prepared_here
from armwright.errors import ArmwrightError, InputError

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
NAME = re.compile(r"(\d{9,})-(\d{9,})\.parquet")
DRAFT = re.compile(r"\..+\.([\w-]+)\.(\d+)")  # .NAME.HOST.PROCESS


class StoreError(InputError):
    """A folder that is not the campaign it should be."""


@dataclass(frozen=True)
class Store:
    """A folder with a campaign in it."""

    folder: Path
    plan: CampaignPlan
    kind: Kind
    prepared: bytes
    canary: str

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
            yield first, min(first + self.chunk, self.plan.items)

    def task(self, *, mixed: bool) -> tuple[str, bytes, str, str]:
        """Return what a worker is given (`armwright.campaigns.work.worker_of`); `mixed` asks for no canary."""
        return self.plan.text(), self.prepared, self.digest, "" if mixed else self.canary

    def file(self, first: int, last: int) -> Path:
        """Return the path of a chunk's file."""
        return self.folder / "rows" / f"{first:09d}-{last - 1:09d}.parquet"

    def done(self) -> set[tuple[int, int]]:
        """Return the chunks whose files are there."""
        found = (NAME.fullmatch(entry.name) for entry in os.scandir(self.folder / "rows"))
        return {(int(m[1]), int(m[2]) + 1) for m in found if m}

    def missing(self) -> list[tuple[int, int]]:
        """Return the chunks that are still to do, in order."""
        done = self.done()
        return [chunk for chunk in self.chunks() if chunk not in done]

    def write(self, chunk: Chunk) -> Path:
        """Put a chunk's file into its place: whole or not at all."""
        return write_whole(self.folder, f"rows/{self.file(chunk.first, chunk.last).name}", chunk.content)

    def read(self, first: int, last: int) -> Any:
        """Return a chunk's rows, checked, or raise `StoreError` naming the file and what is wrong with it."""
        path = self.file(first, last)
        try:
            return rows_of(path, self.kind, self.digest, first, last)
        except ChunkError as error:
            raise StoreError(f"{path}: {error}") from None

    def tidy(self) -> None:
        """Remove drafts that processes of this host left behind when they were killed while writing."""
        for entry in os.scandir(self.folder / "rows"):
            left = DRAFT.fullmatch(entry.name)
            if left and left[1] == _host() and not _runs(int(left[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def verify(self) -> list[str]:
        """Check every file; move damaged and foreign ones to ``set-aside``, to be done again. Return their names."""
        wrong = []
        planned = set(self.chunks())
        for chunk in sorted(self.done()):
            path = self.file(*chunk)
            try:
                if chunk not in planned:
                    raise ChunkError("not a chunk of this campaign")
                content = path.read_bytes()
                check_bytes(content, rows_of(content, self.kind, self.digest, *chunk), self.digest)
            except (ChunkError, OSError) as error:
                wrong.append(f"{path}: {error}")
                aside = self.folder / "set-aside"
                aside.mkdir(exist_ok=True)
                os.replace(path, aside / path.name)
        return wrong


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
    """Write a file of a campaign's folder under another name, force it to disk, and rename it."""
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
        begun = (folder / "campaign.json").exists()
        advice = f"go on with: armwright campaign resume {folder}" if begun else "run the campaign again"
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}); nothing before it is lost, {advice}"
        ) from error
    return path


def open_store(folder: str | Path) -> Store:
    """Open the campaign in a folder.

    Example:
        >>> open_store("out/campaign").missing()
    """
    place = Path(folder)
    try:
        head = json.loads((place / "campaign.json").read_text(encoding="utf-8"))
        data = (place / "prepared.bin").read_bytes()
        if head.get("format") != STORE_FORMAT:
            raise StoreError(f"{place}: made by a version of Armwright whose files are others; run the campaign anew")
        plan, digest, check, mark = plan_of(head["plan"]), head["digest"], head["prepared"], head["canary"]
    except FileNotFoundError as error:
        raise StoreError(f"{place}: no campaign here ({Path(error.filename).name} is missing)") from None
    except StoreError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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


def create_store(
    folder: str | Path, plan: CampaignPlan, *, prepare: Callable[[CampaignPlan], PreparedWork] = prepared_here
) -> Store:
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
        store = Store(place, plan, kind, *prepare(plan))
        write_whole(place, "prepared.bin", store.prepared)
    head = {
        "format": STORE_FORMAT,
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
