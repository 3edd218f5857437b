# SPDX-License-Identifier: Apache-2.0
"""``programs``: a robot program with other loads and speeds: where its motors can still follow.

kind = "programs"
items = 500                                 # one run each
[settings]
robot = "ur5"
program = "weld.script"                     # L-IRL, URScript, RAPID, KRL or G-code
payload = [0.0, 5.0]                        # [kg], uniform; its centre from the flange: payload_at
override = [0.8, 1.5]                       # factor on the planned speed, uniform
cycle = 0.01                                # [s] of the controller
start = [0, -1.6, 1.4, 0, 0.5, 0]           # where the arm stands at first, if the program does not say
tracking = "drive"                          # how drives follow what is too much for them, see `run_program`
rule = "full"                               # of tracking = "algorithm-1": at a torque limit
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan, item_rng
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.errors import InputError
from armwright.programs import Payload, read_program, run_program
from armwright.robot.load import load
from armwright.statistics import quantile, share

DEFAULTS: Mapping[str, Any] = {
    "robot": "ur5",
    "load": {},
    "program": None,
    "payload": [0.0, 0.0],
    "payload_at": [0.0, 0.0, 0.05],
    "override": [1.0, 1.0],
    "cycle": 0.01,
    "start": None,
    "tracking": "drive",
    "rule": "full",
}
FIGURES = ("payload", "override", "duration", "late", "torque_use", "tool_error")
SCHEMA = {**dict.fromkeys(FIGURES, "float64"), "feasible": "bool", "joint": "int64"}


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Read the program; items differ in payload and override.

    Columns: duration and how late the arm arrives [s] (null if it does not, or the drive would stop before), largest
    motor torque that the plan itself takes over what there is and its joint, largest distance of the tool from its
    wish [m], up to a stop of the drive.
    """
    s = settings_of(plan, DEFAULTS)
    if not s["program"]:
        raise InputError("programs: needs a program, the path of a file")
    robot, program = load(s["robot"], **s["load"]), read_program(s["program"])

    def row(item: int) -> dict[str, Any]:
        u, v = item_rng(plan.seed, item).uniform(size=2)
        mass, faster = (a + x * (b - a) for x, (a, b) in ((u, s["payload"]), (v, s["override"])))
        load_ = Payload(mass, np.array(s["payload_at"])) if mass > 0.0 else None
        options: dict[str, Any] = {"override": faster, "payload": load_, "start_q": s["start"], "rule": s["rule"]}
        options["tracking"] = s["tracking"]
        run = run_program(robot, program, s["cycle"], **options)
        use, (wished, got) = run.wished.torque_use.max(axis=0), run.tool_positions
        late, off = run.late if np.isfinite(run.late) else None, np.linalg.norm(wished - got, axis=1).max()
        ends = run.motors if run.trip is None else run.wished
        values = (mass, faster, float(ends.time[-1]), late, float(use.max()), float(off))
        return {**dict(zip(FIGURES, values, strict=True)), "feasible": run.feasible, "joint": int(np.argmax(use))}

    return one_by_one(row, SCHEMA)


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the share that the motors can follow, and medians and 95th percentiles with their intervals."""
    good = {"figure": "feasible", **share(sum(table["feasible"].to_pylist()), len(table))._asdict()}
    medians = [(name, q, table[name].to_numpy()) for name in FIGURES[2:] for q in (0.5, 0.95)]
    return {"program": [good, *({"figure": f"{n} {q:g}", **quantile(x, q)._asdict()} for n, q, x in medians)]}


UNITS = {"payload": "kg", "duration": "s", "late": "s", "tool_error": "m"}
KIND = Kind("programs", SCHEMA, start, version=2, chunk=50, summary=summary, units=UNITS)
