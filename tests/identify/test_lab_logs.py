# SPDX-License-Identifier: Apache-2.0
"""Logs of the lab's own UR5, both series: gains that a fit states are the true ones, or it says that it cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.identify import fit, read_log
from armwright.lab import Recorder, Stand
from armwright.lab.lab_export import export
from armwright.lab.sources import RtdeSource
from armwright.lab.stand import HOME
from armwright.lab.virtual_sensors import VirtualMti, VirtualNetFt
from armwright.robot.measured import current_map
from support.lab import PORTS, address, wait_for
from support.lock_step import stand_in_step
from support.scripts import run_text

ARM = aw.load("ur5")
TRUE = current_map(ARM)
WITHIN = 0.005
"""What a stated gain may be off by, relative."""


def recorded(folder, seed, e_series, *, rests):
    """A log of moves between random poses, at rest for a while in each or not at all."""
    rng = np.random.default_rng(seed)
    stand = Stand(ARM, host=address(), ports=PORTS, fifo=False, e_series=e_series, current_noise=0.15, seed=seed)
    ft, imu = VirtualNetFt(stand, rdt_port=0, http_port=0), VirtualMti(stand, rate=100.0)
    with stand_in_step(stand, ft, imu) as step:
        c = stand.controller
        source = RtdeSource(stand.host, port=stand.ports["rtde"])
        with Recorder(folder / "run.mcap", step.followed([source]), {"place": "test"}) as recorder:
            wait_for(lambda: all(t.received for t in recorder.tallies.values()), "the robot is heard")
            goals = HOME + rng.uniform(-0.5, 0.5, (12, 6))
            pause = "\n  sleep(0.6)" if rests else ""
            blend = "" if rests else ", r=0.02"
            speeds = rng.uniform(0.4, 1.2, len(goals))
            moves = "\n".join(
                f"  movej({goal.tolist()}, a=4, v={v:.2f}{blend}){pause}" for goal, v in zip(goals, speeds, strict=True)
            )
            with c.lock:
                run_text(c, f"def moves():\n{moves}\nend")
            wait_for(lambda: c.program is None, "the moves end")
    return read_log(next(file for file in export(folder / "run.mcap", folder, "csv") if "rtde" in file.name))


CASES = [(0, False, True), (0, True, False)]
"""Seed, series, whether the arm rests between its moves."""
MORE = [(seed, e, rests) for seed in range(1, 8) for e in (False, True) for rests in (False, True)]


@pytest.mark.parametrize(
    "seed, e_series, rests", [*CASES, *(pytest.param(*case, marks=pytest.mark.thorough) for case in MORE)]
)
def test_stated_gains_are_the_true_ones(tmp_path, seed, e_series, rests):
    found = fit(recorded(tmp_path, seed, e_series, rests=rests), ARM)
    told = [e.value for e in found.gain_estimates]
    off = {
        joint.name: value / true - 1.0
        for joint, value, true in zip(ARM.joints, told, TRUE.k, strict=True)
        if value is not None
    }
    assert all(abs(x) <= WITHIN for x in off.values())
    assert set(found.undetermined) >= {f"{joint.name}.gain" for joint in ARM.joints} - {f"{name}.gain" for name in off}
    assert off  # something is told
