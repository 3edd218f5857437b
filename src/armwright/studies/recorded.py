# SPDX-License-Identifier: Apache-2.0
"""Verdicts on record: what every item is known to come out as, so that a change is noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from armwright.errors import ArmwrightError
from armwright.studies.run import Outcome


class Change(NamedTuple):
    """An item whose verdict is not the recorded one ("" where none is recorded)."""

    item: str
    recorded: str
    now: str


def recorded(study: str) -> dict[str, str]:
    """Return item → recorded verdict of a study; empty if none was ever recorded."""
    file = resources.files("armwright.studies").joinpath("records", f"{study}.json")
    if not file.is_file():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {str(key): str(value) for key, value in found.items()}


def changes(outcome: Outcome, known: Mapping[str, str] | None = None) -> list[Change]:
    """List the items that came out other than recorded; items that were not run do not count."""
    before = recorded(outcome.study.id) if known is None else known
    out = []
    for result in outcome.results:
        now = result.verdict.kind
        if now != "not run" and before.get(result.item.id, "") != now:
            out.append(Change(result.item.id, before.get(result.item.id, ""), now))
    return out


def record(outcome: Outcome) -> Path:
    """Write the verdicts of a complete run into the package (for developers)."""
    if outcome.interrupted or len(outcome.results) != len(outcome.study.items):
        raise ArmwrightError(f"study {outcome.study.id}: only a complete run can be recorded")
    folder = Path(str(resources.files("armwright.studies"))) / "records"
    file = folder / f"{outcome.study.id}.json"
    text = json.dumps({result.item.id: result.verdict.kind for result in outcome.results}, indent=1) + "\n"
    try:
        folder.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArmwrightError(f"{file}: the verdicts could not be recorded ({error.strerror or error})") from error
    return file
