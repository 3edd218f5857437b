# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation, from the library: ``python docs/make_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import armwright as aw
from armwright.control import damping, pd_gravity
from armwright.motion import quintic
from armwright.recording import Signal
from armwright.simulation import with_energy

FOLDER = Path(__file__).resolve().parent / "img"
STIFF = {"integrator": "rodas3", "continuous": True}


def pd_run_of_003() -> aw.Recording:
    """003 §4.10: PD with gravity compensation on the CEA arm, half a second of quintic motion."""
    law = pd_gravity((5000.0, 8000, 5500, 800, 5500, 2500), (1000.0, 1000, 500, 100, 100, 500))
    return aw.simulate(aw.load("cea"), law, quintic((-1.0, 0, -1, -1, -1, -1), (0.0, 1, 0, 0, 0, 0), 0.5), 1.0, **STIFF)


def drop_test_of_000() -> aw.Recording:
    """000 §4.4: the arm is let go from zero and swings out under a damping that falls from 1 to 0.02 N m s/rad."""
    robot = aw.load("ur5-ragazzon-published")
    run = with_energy(aw.simulate(robot, damping(), None, 20.0, q0=[0.0] * 6, **STIFF))
    return run.with_signals(angle=Signal(np.degrees(run["q"]), "deg", run.labels("q")))


if __name__ == "__main__":
    pd_run_of_003().plot(["errors", "torques"], FOLDER / "pd_003.png", title="003: PD + gravity, stiff integrator")
    drop_test_of_000().plot(
        ["angle", "energy"], FOLDER / "drop_000.png", title="000: drop test, published model", together=True
    )
