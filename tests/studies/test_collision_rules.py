# SPDX-License-Identifier: Apache-2.0
"""What the report of 000 leaves open about its run, against figures of an independent program."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.cli import main
from armwright.contact.detectors import norm_detector
from armwright.errors import InputError
from armwright.exploration.explore_options import Budget, Sensing
from armwright.kinematics import jacobian
from armwright.robot.load import load
from armwright.studies.doc000_collision.rules import Published, explore_published
from armwright.world.world import World

ARMS = ("ur5-ragazzon-published", "ur5-ragazzon")
HOLD, LEVEL = Published(table="hold"), Published(trigger="level")


@pytest.mark.parametrize("arm, weakest, strongest", [(ARMS[0], 0.54, 0.8), (ARMS[1], 1.6, 2.0)])
def test_a_held_table_explains_the_tracking_error_of_the_report(arm, weakest, strongest):
    """Free motion: ‖q̃‖∞ of 0.9–1.0e-3 rad, and phantom forces (norm of all six components) to match."""
    run = explore_published(arm, World(name="empty"), HOLD, budget=Budget(50.0))
    assert run.outcome == "reached" and not run.contacts
    assert 0.9e-3 < np.abs(run.recording["error"]).max() < 1.0e-3
    J = jacobian(load("ur5-ragazzon"), run.recording["q"])
    wrench = np.linalg.solve(np.swapaxes(J, 1, 2), run.recording["tau_ext"][..., None])[..., 0]
    assert weakest < np.linalg.norm(wrench, axis=1).max() < strongest


@pytest.mark.parametrize("arm", ARMS)
def test_a_held_table_makes_the_estimate_jitter_so_that_triggers_need_hysteresis(arm):
    sharp = norm_detector(12.0, of="wrench_ext", release=1.0)
    jittery = explore_published(arm, "A", HOLD, budget=Budget(50.0, 121), sensing=Sensing(detector=sharp))
    calm = explore_published(arm, "A", HOLD, budget=Budget(50.0))
    assert calm.outcome == "reached" and len(calm.contacts) == 11 == len(set(calm.cells))
    assert calm.arrival == pytest.approx({ARMS[0]: 34.7, ARMS[1]: 36.3}[arm], abs=0.1)
    assert len(jittery.contacts) > 2 * len(calm.contacts)
    if arm == ARMS[1]:
        assert jittery.outcome == "contact budget", "more than 120 triggers without finishing"


@pytest.mark.parametrize("world", ["A", "B"])
@pytest.mark.parametrize("arm", ARMS)
def test_a_level_trigger_fires_at_every_tick(arm, world):
    run = explore_published(arm, world, LEVEL, budget=Budget(50.0, 121))
    assert run.outcome == "contact budget"
    assert run.contacts[-1].time - run.contacts[0].time == pytest.approx(0.24, abs=1e-9)
    assert len(set(run.cells)) <= 2


@pytest.mark.parametrize("arm", ARMS)
def test_actual_positions_are_marked_and_started_from(arm):
    """The marked cell is that of the arm, and the arm does not arrive, as the report says of this way."""
    run = explore_published(arm, "A", Published(place="actual"), budget=Budget(20.0))
    grid = run.maps[0].grid
    assert run.outcome == "out of time" and run.settings["place"] == "actual"
    assert all(tuple(grid.cell(contact.actual)) == contact.cell for contact in run.contacts)
    k = int(np.searchsorted(run.recording.time, run.contacts[0].time)) + 1
    gap = np.linalg.norm(run.recording["tool_ref"][k] - run.contacts[0].actual)
    assert gap < 2e-3 < np.linalg.norm(run.contacts[0].desired - run.contacts[0].actual)


def test_words_are_checked():
    for wrong in ({"trigger": "maybe"}, {"table": "round"}, {"place": "near"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Published(**wrong)
    assert main(["run", "collision", "--trigger", "level"]) == 2
    assert main(["run", "collision", "--published", "--table", "round"]) == 2
    assert main(["run", "collision", "--published", "--trigger", "level", "--contacts", "5", "--json"]) == 1
