# SPDX-License-Identifier: Apache-2.0
"""`Kind`: what a kind of campaign has to provide, and where kinds are found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.choices import KINDS
from armwright.errors import InputError
from armwright.schema.checks import anything, record, refuser

Rows: TypeAlias = Callable[[int, int], Mapping[str, Any]]
"""(first, last) → columns by name, each with last − first values: one row per item of first ≤ item < last."""

TYPES = ("int64", "float64", "string", "bool")
RESERVED = ("item", "status", "message")


def nothing(plan: CampaignPlan) -> bytes:
    """Prepare nothing: items share no more than the plan."""
    return b""


@dataclass(frozen=True)
class Kind:
    """A kind of campaign.

    Attributes:
        name: as in campaign files.
        schema: column → "int64", "float64", "string" or "bool"; ``item``, ``status`` and ``message`` are always there.
        start: (plan, prepared) → `Rows`, called once per process: loads robots, compiles loops.
        version: raised whenever the same settings give other numbers.
        chunk: items per unit of work, half a second or more of it.
        prepare: plan → bytes, once per campaign and kept in its folder: thresholds learned, models fitted.
        summary: Arrow table of all rows with a result → tables by name, each a list of plain rows (JSON-able).
        judged: columns that are empty where something never came (a contact that was missed): the kind's summary judges
            them, quantiles of what is there would flatter.
        record: (plan, prepared, item) → `Recording` of one item, for a closer look.
    """

    name: str
    schema: Mapping[str, str]
    start: Callable[[CampaignPlan, bytes], Rows]
    version: int = 1
    chunk: int = 100
    prepare: Callable[[CampaignPlan], bytes] = nothing
    summary: Callable[[Any], Mapping[str, list[dict[str, Any]]]] | None = None
    record: Callable[[CampaignPlan, bytes, int], Any] | None = None
    judged: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check the schema."""
        for column, kind in self.schema.items():
            if kind not in TYPES or column in RESERVED:
                raise InputError(
                    f"kind {self.name!r}: column {column!r} must have a type of {', '.join(TYPES)} and a name other "
                    f"than {', '.join(RESERVED)}; got {kind!r}"
                )


def settings_of(plan: CampaignPlan, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan's settings with a kind's defaults, or raise `InputError` for one that it does not know."""
    return {**defaults, **record({}, dict.fromkeys(defaults, anything))(plan.settings, refuser(plan.kind))}


def one_by_one(row: Callable[[int], Mapping[str, Any]], schema: Mapping[str, str]) -> Rows:
    """Return the rows of a kind that computes one item at a time."""

    def rows(first: int, last: int) -> dict[str, list[Any]]:
        found = [row(item) for item in range(first, last)]
        return {name: [each[name] for each in found] for name in schema}

    return rows


def find_kind(name: str) -> Kind:
    """Return a kind by name, or by ``module:object``."""
    module, _, attribute = name.partition(":")

    def refuse(valid: str) -> InputError:
        return InputError(f"no kind {name!r:.60}; known: {valid}, or 'module:object' of your own")

    try:
        found = getattr(importlib.import_module(module), attribute) if attribute else KINDS.find(name, refuse)
    except (ImportError, AttributeError) as error:
        raise InputError(f"kind {name!r}: {error}") from None
    if not isinstance(found, Kind):
        raise InputError(f"kind {name!r} must be an armwright.campaigns.Kind, got {type(found).__name__}")
    return found
