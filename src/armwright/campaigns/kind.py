# SPDX-License-Identifier: Apache-2.0
"""`Kind`: what a kind of campaign has to provide, and where kinds are found."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
        units: of columns of rows and tables; names that end with their unit (``delay_s``) need none.
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
    units: Mapping[str, str] = field(default_factory=dict)

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
    """Return a kind by name: one that comes with Armwright, or an entry point ``armwright.kinds`` of a package.

    Names stand in campaign files and folders, which others may have written: they are looked up and never imported.
    """

    def refuse(valid: str) -> InputError:
        return InputError(
            f"no kind {name!r:.60}; known: {valid}. A kind of your own is an entry point {KINDS.group!r} of an "
            "installed package, or given to run_campaign in Python"
        )

    return _checked(KINDS.find(name, refuse), name)


def kind_of(plan: CampaignPlan, kind: Kind | None = None) -> Kind:
    """Return the kind that the caller gave, if it is the plan's, or look the plan's up."""
    if kind is None:
        return find_kind(plan.kind)
    if _checked(kind, plan.kind).name != plan.kind:
        raise InputError(f"kind {kind.name!r} was given for a campaign of kind {plan.kind!r}; they must be the same")
    return kind


def place_of(kind: Kind) -> str:
    """Return ``module:object`` of a kind that this program was given, for workers; empty for one that has a name there.

    Raises:
        InputError: another process could not import it.
    """
    if kind.name in KINDS and KINDS[kind.name] is kind:
        return ""
    module = getattr(kind.start, "__module__", None) or ""
    for attribute, found in vars(sys.modules.get(module, object)).items():
        if found is kind:
            return f"{module}:{attribute}"
    if KINDS.knows(kind.name) and find_kind(kind.name) is kind:
        return ""
    raise InputError(
        f"kind {kind.name!r}: other processes cannot import it; keep it as a variable of the module that has its start "
        f"({module or 'none'}), or take the engine serial"
    )


def kind_at(name: str, place: str) -> Kind:
    """Return a worker's kind: by name, or from the place that its coordinator's program named (`place_of`)."""
    if not place:
        return find_kind(name)
    module, _, attribute = place.partition(":")
    try:
        return _checked(getattr(importlib.import_module(module), attribute), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"kind {name!r} at {place!r:.80}: a worker cannot import it: {error}") from None


def _checked(found: object, name: str) -> Kind:
    if not isinstance(found, Kind):
        raise InputError(f"kind {name!r:.60} must be an armwright.campaigns.Kind, got {type(found).__name__}")
    return found
