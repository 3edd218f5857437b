# SPDX-License-Identifier: Apache-2.0
"""`CampaignPlan`: a kind, its settings, a seed and the number of items; the content of a campaign file, checked.

    kind = "montecarlo"            # or the name of a plug-in
    seed = 7
    items = 10000
    chunk = 500                    # items per file; the kind's own by default
    limit = 60.0                   # seconds per chunk before it counts as hung
    [settings]                     # what the kind asks for
    robot = "ur5"

Every item has a seed of its own, so its row depends on nothing but the kind, its settings, the seed and its number.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from armwright.errors import DescriptionError, InputError
from armwright.files import read_regular

MAX_ITEMS = 10**9
MAX_FILE = 1_000_000  # [bytes] of a campaign file; settings are short
CHUNK_SECONDS = (
    600.0  # [s] per chunk: chunks are meant to take seconds, and a slow, busy core may need a hundred times that
)
MOST_LIMIT_SECONDS = 1e6  # [s] per chunk, eleven days: timers of the system go little further
KEYS = ("kind", "seed", "items", "chunk", "limit", "settings")


@dataclass(frozen=True)
class CampaignPlan:
    """A campaign.

    Attributes:
        kind: name of a kind that comes with the package or as a plug-in, or of one that `run_campaign` is given.
        items: their number; items count from 0.
        seed: of all random numbers of the campaign.
        settings: what the kind asks for; anything JSON can hold.
        chunk: items per unit of work and per file; None for the kind's own.
        limit: [s] per chunk before its worker counts as hung.
    """

    kind: str
    items: int
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    chunk: int | None = None
    limit: float = CHUNK_SECONDS

    def __post_init__(self) -> None:
        """Check the numbers and freeze the settings."""
        if not isinstance(self.kind, str) or not self.kind.strip():
            raise InputError(f"campaign: kind must be a name, got {self.kind!r:.60}")
        for what, least in (("items", 1), ("seed", 0), ("chunk", 1)):
            value = getattr(self, what)
            if what == "chunk" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= MAX_ITEMS:
                raise InputError(
                    f"campaign: {what} must be a whole number from {least} to {MAX_ITEMS}, got {value!r:.60}"
                )
            object.__setattr__(self, what, int(value))
        try:
            limit = float(self.limit)
        except (TypeError, ValueError, OverflowError):
            limit = np.nan
        if not 0.0 < limit <= MOST_LIMIT_SECONDS:
            raise InputError(
                f"campaign: limit must be a number of seconds above 0, at most {MOST_LIMIT_SECONDS:g}; "
                f"got {self.limit!r:.60}"
            )
        object.__setattr__(self, "limit", limit)
        if not isinstance(self.settings, Mapping):
            raise InputError(f"campaign: settings must be a table, got {self.settings!r:.60}")
        try:
            text = json.dumps(dict(self.settings), allow_nan=False, ensure_ascii=False)
            plain = json.loads(text.encode())  # half of a surrogate pair is no text: no page or file could hold it
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"campaign: settings must be plain numbers, texts, lists and tables: {error}") from None
        object.__setattr__(self, "settings", MappingProxyType(plain))

    def text(self) -> str:
        """Return the plan as one line of JSON: it is sent to workers and kept in the store."""
        found = {key: getattr(self, key) for key in KEYS} | {"settings": dict(self.settings)}
        return json.dumps(found, sort_keys=True, ensure_ascii=False)

    def digest(self, version: int) -> str:
        """Return a fingerprint of all that decides an item's row: not the number of items, chunks or engines."""
        decides = {"kind": self.kind, "version": version, "seed": self.seed, "settings": dict(self.settings)}
        return hashlib.blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=16).hexdigest()


def plan_of(text: str) -> CampaignPlan:
    """Return the plan that `CampaignPlan.text` wrote."""
    return CampaignPlan(**json.loads(text))


def item_rng(seed: int, item: int) -> np.random.Generator:
    """Return the random numbers of one item, whatever chunk, worker or machine computes it.

    Example:
        >>> item_rng(seed=7, item=41).normal()  # the same on every machine
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(item,)))


def read_plan(path: str | Path) -> CampaignPlan:
    """Read a campaign file, or raise `DescriptionError` with file and key.

    Example:
        >>> run_campaign(read_plan("campaign.toml"), "out/campaign")
    """
    file = Path(path)
    try:
        content = tomllib.loads(read_regular(file, MAX_FILE).decode())
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror}", where=str(file), rule="file") from None
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"not a TOML file: {error}", where=str(file), rule="syntax") from None
    unknown = sorted(set(content) - set(KEYS))
    if unknown:
        raise DescriptionError(f"unknown key {unknown[0]!r}; valid: {', '.join(KEYS)}", where=str(file), rule="key")
    missing = [key for key in ("kind", "items") if key not in content]
    if missing:
        raise DescriptionError(f"missing key {missing[0]!r}", where=str(file), rule="required key")
    try:
        return CampaignPlan(**content)
    except InputError as error:
        raise DescriptionError(str(error).removeprefix("campaign: "), where=str(file), rule="value") from None
