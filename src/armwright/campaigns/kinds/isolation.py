# SPDX-License-Identifier: Apache-2.0
"""``isolation``: pushes whose link and place are known, beside what `isolate` says about them in two ways.

kind = "isolation"
items = 3000                                # one push each
[settings]
robot = "ur5"
plants = []                                 # names of `PLANTS`, in turn, ``per_plant`` pushes to each that is drawn
per_plant = 20
light = false                               # 5–200 N anywhere in place of 20–100 N on any link

``first_…`` and ``second_…`` are a perfect and a wrong model, or with plants the level with sensor noise and the
rehearsed change. Of each: outcome, link, certainty, off (of the named place from the nearest push [m]), and whether the
push was *loaded* and *distinct* (`trials`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from armwright.campaigns.isolation_summary import summary
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.campaigns.plan import Plan, item_rng
from armwright.contact.isolation.trials import Said, drawn_plant, on_link, on_plant, rehearsed_covariance
from armwright.errors import InputError
from armwright.robot.load import load

DEFAULTS: Mapping[str, Any] = {"robot": "ur5", "load": {}, "plants": [], "per_plant": 20, "light": False}
TYPES = dict(zip(Said._fields, ("string", "int64", "float64", "float64", "bool", "bool"), strict=True))
SCHEMA = {"plant": "string", "body": "int64", "torque": "float64"} | {
    f"{way}_{name}": kind for way in ("first", "second") for name, kind in TYPES.items()
}
DRAWN = 1  # in the seeds of plants, beside their number: no item has two numbers in its seed


def start(plan: Plan, prepared: bytes) -> Rows:
    """Load the arm; items differ in configuration, push and noise, groups of them in their plant."""
    s = settings_of(plan, DEFAULTS)
    arm = load(s["robot"], **s["load"])
    if arm.n != 6:
        raise InputError(f"isolation: needs an arm of six joints, {arm.name!r} has {arm.n}")

    @lru_cache(maxsize=64)
    def drawn(group: int) -> tuple[str, Any, Any]:
        name = s["plants"][group % len(s["plants"])]
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(DRAWN, group)))
        plant, known = drawn_plant(rng, name)
        return name, plant, rehearsed_covariance(arm, rng, known)

    def row(item: int) -> dict[str, Any]:
        name, rng = "", item_rng(plan.seed, item)
        if s["plants"]:
            name, plant, covariance = drawn(item // s["per_plant"])
            met, *ways = on_plant(arm, rng, plant, covariance)
        else:
            met, *ways = on_link(arm, rng, light=s["light"])
        out = {"plant": name, "body": met.body, "torque": float(np.linalg.norm(met.tau))}
        for way, said in zip(("first", "second"), ways, strict=True):
            out |= {f"{way}_{field}": value for field, value in said._asdict().items()}
        return out

    return one_by_one(row, SCHEMA)


KIND = Kind("isolation", SCHEMA, start, chunk=50, summary=summary)
