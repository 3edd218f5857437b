# SPDX-License-Identifier: Apache-2.0
"""Campaign folders that somebody meddled with: files, fields, links, pipes and sizes, from a seed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import numpy as np

from armwright.campaigns.campaign_plan import plan_of
from armwright.campaigns.chunk_file import chunk_of
from armwright.campaigns.kind import KINDS

ODD = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 10**9, 10**30, -(10**30), 0.5, 1e308, 5e-324, float("nan"), float("inf")),
    *("", "x", "montecarlo", "os:system", "worlds", "\u0000", "\ud800", "../..", "9" * 400, [], [1], {}, {"a": {}}),
)
FIELDS = ("format", "plan", "digest", "prepared", "canary")
PLAN = ("kind", "seed", "items", "chunk", "limit", "settings", "more")
SETTINGS = ("robot", "duration", "payload", "friction", "colour")
TEXTS = (
    b"",
    b"{",
    b"[" * 100_000,
    b"[]",
    b"null",
    b'"x"',
    b"{}" * 9,
    b"\xff\xfe",
    b"9" * 5000,
    b'{"format": 2}',
    b"\x00",
)


def meddle(folder, outside, seed):
    """Change one to three things in a campaign's folder; links lead to `outside`."""
    rng = np.random.default_rng(seed)
    for _ in range(rng.integers(1, 4)):
        WAYS[rng.integers(len(WAYS))](folder, outside, rng)


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]


def _fields(folder, outside, rng):
    """A field of the head, or of its plan with the digest that belongs to it."""
    file = folder / "campaign.json"
    try:
        head = json.loads(_content(file))
        if rng.random() < 0.3:
            head[_pick(rng, FIELDS)] = _pick(rng, ODD)
            if rng.random() < 0.3:
                del head[_pick(rng, sorted(head))]
        else:
            plan = json.loads(head["plan"])
            if rng.random() < 0.5:
                plan[_pick(rng, PLAN)] = _pick(rng, ODD)
            else:
                plan["settings"][_pick(rng, SETTINGS)] = _pick(rng, ODD)
            head["plan"] = json.dumps(plan)
            found = plan_of(head["plan"])
            head["digest"] = found.digest(KINDS[found.kind].version)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    else:
        _put(file, json.dumps(head).encode())


def _text(folder, outside, rng):
    _put(folder / "campaign.json", _pick(rng, TEXTS))


def _prepared(folder, outside, rng):
    """Something else that was prepared, with the checksum that belongs to it."""
    data = rng.bytes(int(rng.integers(40)))
    _put(folder / "prepared.bin", data)
    try:
        head = json.loads(_content(folder / "campaign.json"))
        head["prepared"] = hashlib.blake2b(data, digest_size=16).hexdigest()
    except (OSError, ValueError, TypeError, RecursionError):
        return
    _put(folder / "campaign.json", json.dumps(head).encode())


def _files(folder):
    return [folder / "campaign.json", folder / "prepared.bin", *sorted((folder / "rows").glob("0*"))]


def _bytes(folder, outside, rng):
    file = _pick(rng, _files(folder))
    try:
        data = bytearray(_content(file))
    except OSError:
        return
    if rng.random() < 0.5:
        data = data[: int(rng.integers(len(data) + 1))]
    elif data:
        for place in rng.integers(len(data), size=int(rng.integers(1, 8))):
            data[place] ^= 1 << int(rng.integers(8))
    _put(file, bytes(data))


def _rows(folder, outside, rng):
    """Other values in a chunk's file, with the checksums that belong to them."""
    from armwright.campaigns import open_store
    from armwright.errors import ArmwrightError

    try:
        store = open_store(folder)
        chunk = _pick(rng, sorted(store.done()))
        table = store.read(*chunk)
    except (ArmwrightError, ValueError):  # not there, or none left
        return
    import pyarrow as pa

    k = int(rng.integers(1, table.num_columns))
    what = table.schema.field(k).type
    odd = (None, "", "x" * 1000) if pa.types.is_string(what) else (None, float("nan"), float("inf"), 1e308, -5e-324)
    values = pa.array([_pick(rng, odd) for _ in range(len(table))], what)
    table = table.set_column(k, table.schema.field(k), values)
    _put(store.file(*chunk), chunk_of(table, store.digest).content)


def _instead(folder, outside, rng):
    """Something that is no regular file, or none of a size that is read, in the place of one."""
    victims = [*_files(folder), folder / "rows", folder / "set-aside", folder / "report.html"]
    victims += [folder / "rows" / name for name in ("000000000-000000003.parquet", "0000000000-0000000001.parquet")]
    place = _pick(rng, victims)
    if not place.parent.is_dir() or place.parent.is_symlink():
        return
    _remove(place)
    what = int(rng.integers(9))
    if what == 0:
        place.mkdir()
    elif what == 1:
        os.mkfifo(place)
    elif what == 2:
        place.symlink_to(place)
    elif what == 3:
        place.symlink_to("/dev/zero")
    elif what == 4:
        place.symlink_to(outside / "nothing there")
    elif what == 5:
        with open(place, "wb") as file:
            file.truncate(3 << 30)  # no blocks are written
    elif what == 6:
        place.symlink_to(outside)
    elif what == 7:
        place.symlink_to(outside / "precious")


WAYS = (_fields, _fields, _fields, _text, _prepared, _bytes, _bytes, _rows, _instead, _instead, _instead)


def _content(file):
    """What is in a file, unless an earlier change made it something that cannot be read, or not to its end."""
    if not file.is_file() or file.stat().st_size > 1_000_000:
        raise OSError("no plain file")
    return file.read_bytes()


def _put(file, data):
    if file.parent.is_dir() and not file.parent.is_symlink():
        _remove(file)
        file.write_bytes(data)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def state_of(folder):
    """Everything below a folder: names, kinds, contents, times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        found[path.relative_to(folder)] = (
            about.st_mode,
            about.st_mtime_ns,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
    return found
