# SPDX-License-Identifier: Apache-2.0
"""``montecarlo``: an arm under a law with an unknown payload and friction, one simulation per item, in lanes.

kind = "montecarlo"
items = 10000
[settings]
robot = "puma560"                           # its sheet has friction; a factor on none is refused
law = "computed_torque"                     # any law of `armwright.control`
gains = { kp = 100.0, kd = 20.0 }
start = [0, 0.6, -0.6, 0, 0.5, 0]           # [rad]
goal = [0.8, 0.2, 0.2, -0.9, 1.0, 0.4]
duration = 2.0                              # [s]
payload = [0.0, 3.0]                        # [kg], uniform
friction = [0.8, 1.2]                       # factor on the sheet's friction, uniform
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright import control
from armwright.campaigns.campaign_plan import CampaignPlan, item_rng
from armwright.campaigns.kind import Kind, Rows, settings_of
from armwright.errors import InputError
from armwright.motion import quintic
from armwright.robot.load import load
from armwright.simulation import simulate

if TYPE_CHECKING:
    from armwright.robot.model import Robot

DEFAULTS: Mapping[str, Any] = {
    "robot": "ur5",
    "law": "computed_torque",
    "gains": {"kp": 100.0, "kd": 20.0},
    "start": [0.0, -1.6, 1.4, 0.0, 0.5, 0.0],
    "goal": [0.8, -1.0, 1.0, -0.9, 1.0, 0.4],
    "duration": 2.0,
    "payload": [0.0, 3.0],
    "friction": [1.0, 1.0],
    "rate": 1000.0,
}
SCHEMA = dict.fromkeys(("payload", "friction", "error_max", "error_end", "torque_max"), "float64")


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Load the arm and the law; items differ in payload and friction."""
    s = settings_of(plan, DEFAULTS)
    robot, law = load(s["robot"]), getattr(control, s["law"])(**s["gains"])
    _check_friction(robot, s["friction"])
    spare = _arm(robot, s["payload"][1] + 1.0, s["friction"][1] + 1.0)
    path = quintic(np.array(s["start"]), np.array(s["goal"]), s["duration"])

    def rows(first: int, last: int) -> dict[str, Any]:
        draws = np.array([item_rng(plan.seed, k).uniform(size=2) for k in range(first, last)])
        payload, factor = (a + (b - a) * u for (a, b), u in zip((s["payload"], s["friction"]), draws.T, strict=True))
        arms = [_arm(robot, m, f) for m, f in zip(payload.tolist(), factor.tolist(), strict=True)]
        # numbers that all lanes share are compiled in and round differently: one arm more shares none, in any chunk
        runs = simulate([*arms, spare], law, path, model=robot, rate=s["rate"])
        error, torque = (np.abs(runs[name][: len(arms)]) for name in ("error", "tau"))
        worst = (error.max(axis=(1, 2)), error[:, -1].max(axis=1), torque.max(axis=(1, 2)))
        return dict(zip(SCHEMA, (payload, factor, *worst), strict=True))

    return rows


def _check_friction(robot: Robot, factor: list[float]) -> None:
    """Raise `InputError` for a factor on friction that the arm does not have: every row would be the same."""
    low, high = factor
    has_some = bool(np.any(robot.tree.viscous) or np.any(robot.tree.coulomb))  # of joints and motors
    if not has_some and (low, high) != (1.0, 1.0):
        raise InputError(
            f"settings: friction = {list(factor)} is a factor on the friction of {robot.name!r}, whose description has "
            "none; leave it out, or take an arm that has friction (puma560, cea, rl15, or a sheet of your own)"
        )


def _arm(robot: Robot, payload: float, factor: float) -> Robot:
    arm = robot.with_payload(payload)
    joints = tuple(
        replace(
            j, friction=replace(j.friction, viscous=factor * j.friction.viscous, coulomb=factor * j.friction.coulomb)
        )
        for j in arm.joints
    )
    return replace(arm, joints=joints, actuators=replace(arm.actuators, viscous=factor * arm.actuators.viscous))


UNITS = {"payload": "kg", "error_max": "rad", "error_end": "rad", "torque_max": "N m"}
KIND = Kind("montecarlo", SCHEMA, start, version=3, chunk=200, units=UNITS)
