# SPDX-License-Identifier: Apache-2.0
"""A run needs nothing of an arm but a `Ride`, reads nothing but what it measures and feels, and survives its end."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from armwright.detection.study_contacts import ur5_sensors
from armwright.errors import InputError
from armwright.exploration import explore
from armwright.exploration.arm.rehearse_arm import TorqueNoise
from armwright.exploration.exploration_result import OUTCOMES
from armwright.exploration.explore_on import OWN_LAW, check_fits, explore_on
from armwright.exploration.explore_options import ArmTask, Budget, ControlLoop, GridTask, Sensing, arm_task, grid_task
from armwright.exploration.grid.grid_job import grid_job
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.grid.grid_run import GridRun
from armwright.exploration.pictures.exploration_report import contact_table, exploration_report
from armwright.exploration.ride import ENDED, DoubtingRide
from armwright.exploration.simulated_ride import SimulatedRide
from armwright.exploration.surroundings import find_world, surroundings_of
from armwright.exploration.touch_sensing import arm_of, ride_of, set_up
from armwright.exploration.truth_told import truth_of
from armwright.world.shapes import Cylinder
from armwright.world.world import World
from support.places import ROOT
from support.scripted_ride import ScriptedRide
from support.syntax_trees import nodes

UR5 = arm_of("ur5")
PATCH = find_world("pillars").tool_task
WALL = World(
    tuple(
        Cylinder(name=f"post-{k}", centre=(0.3868, -0.25 + 0.04 * k, 0.0), radius=0.03, stiffness=2e4) for k in range(8)
    ),
    name="wall",
    tool_task=PATCH,
)
TASK = grid_task(GridTask(), UR5, WALL)
JOB = grid_job(UR5, TASK, None, Rules(), Budget())
QUIET = TorqueNoise(*np.stack([0.05**2 * np.eye(6)] * 2))


def on_grid(own_reflex, *, reaction="back off", **options):
    ride = ScriptedRide(UR5, WALL, JOB.q0, own_reflex=own_reflex, **options)
    return ride, explore_on(ride, UR5, TASK, reaction=reaction)


@pytest.mark.parametrize("reaction", ["back off", "retract"])
@pytest.mark.parametrize("own_reflex", [False, True])
def test_a_run_on_a_grid_needs_nothing_but_a_ride(own_reflex, reaction):
    """Marks lie on the wall, the goal is reached, and no motion begins elsewhere: the ride would refuse it."""
    ride, run = on_grid(own_reflex, reaction=reaction)
    assert run.outcome == "reached" and len(run.contacts) >= 2, run.message
    grid = run.maps[-1].grid
    for cell in np.argwhere(np.asarray(run.maps[-1].felt) > 0) + grid.first:
        away = min(np.linalg.norm(grid.centre(cell)[:2] - np.array(s.centre[:2])) - s.radius for s in WALL.shapes)
        assert away < grid.cell_size[0]
    assert ride.alarms >= len(run.contacts) and ride.reflex == "give way"


def test_an_arm_of_its_own_reflex_is_not_asked_to_go_on_with_a_motion_that_ended():
    ride, run = on_grid(True)
    began = np.array([time for time, _ in ride.motions])
    for contact in run.contacts:
        later = began[began > contact.time]
        assert len(later) and later[0] - contact.time < 1.0  # it set out at once, not after the motion's length


@pytest.mark.parametrize("own_reflex", [False, True])
def test_what_was_passed_just_before_an_alarm_is_not_trusted(own_reflex, monkeypatch):
    """Where an arm may touched already nothing is free, and no way back leads there (the ride's `lag`)."""
    ride = ScriptedRide(UR5, WALL, JOB.q0, own_reflex=own_reflex)
    ride.lag = 0.4
    run = GridRun(replace(JOB, rules=Rules("stop")), ride)
    run.drive()
    (contact,) = run.contacts
    passed = ride.passed(run.since)
    late = JOB.tool.place(passed.q[passed.t > contact.time - ride.lag])
    trail = JOB.tool.place(np.array(run.trail))
    assert len(run.trail) > 1 and len(late) > 20
    assert np.linalg.norm(trail[:, None] - late, axis=2).min() > 1e-4
    grid, before = run.maps[-1].grid, JOB.tool.place(passed.q[passed.t < contact.time - ride.lag])
    only_late = {tuple(c) for c in grid.cell(late).tolist()} - {tuple(c) for c in grid.cell(before).tolist()}
    assert only_late and not any(np.asarray(run.maps[-1].swept)[grid.index(c)] for c in only_late)


@pytest.mark.parametrize("own_reflex", [False, True])
@pytest.mark.parametrize("reaction", ["back off", "retract", "stop"])
def test_the_whole_arm_needs_nothing_but_a_ride(own_reflex, reaction):
    bench = find_world("bench")
    task = arm_task(ArmTask(), UR5, bench)
    soft = World(tuple(replace(s, stiffness=2e4) for s in bench.shapes), name="bench")
    ride = ScriptedRide(UR5, soft, task.start, links=True, own_reflex=own_reflex, threshold=5.0)
    run = explore_on(ride, UR5, replace(task, start=None), reaction=reaction, noise=QUIET)
    assert run.outcome == ("stopped" if reaction == "stop" else "reached"), run.message
    assert run.contacts and ride.reflex == "listen"
    first = run.contacts[0].places
    assert min(shape_distance(soft, point) for point in first.points) < 0.05


def shape_distance(world, point):
    from armwright.exploration.pictures.map_figures import distance_field

    return abs(float(distance_field(world, np.asarray(point)[None])[0]))


@pytest.mark.parametrize("word", ENDED)
@pytest.mark.parametrize("at", [0.0, 3.0, 9.0])
def test_the_end_of_a_ride_is_an_outcome_that_keeps_everything(word, at):
    whole = on_grid(True)[1]
    ride, run = on_grid(True, over=(at, word))
    assert run.outcome == word and word in OUTCOMES
    assert "the script says" in run.message
    same = [c for c in whole.contacts if c.time < at]
    assert [c.cell for c in run.contacts] == [c.cell for c in same] and len(run.maps) == 1 + len(same)
    assert ride.beyond_end == 0 and abs(run.recording.duration - at) < 0.5
    assert run.metrics()["outcome"] == word


@pytest.mark.parametrize("word", ENDED)
def test_the_end_of_a_ride_ends_the_whole_arm_too(word):
    task = arm_task(ArmTask(), UR5, find_world("bench"))
    ride = ScriptedRide(UR5, find_world("bench"), task.start, links=True, own_reflex=True, over=(1.0, word))
    run = explore_on(ride, UR5, task, noise=QUIET)
    assert run.outcome == word and run.contacts == () and len(run.touch_maps) == 1


def test_a_motion_that_the_ride_refuses_ends_the_run_where_the_arm_stands():
    low, high = np.array([0.0, -0.4, -0.2]), np.array([0.33, 0.4, 0.6])
    _, run = on_grid(True, fence=(low, high))
    assert run.outcome == "out of reach" and "leaves the fence" in run.message
    assert len(run.recording) == 0 and not run.contacts


def test_nobody_tells_the_truth_about_a_ride_and_the_result_says_so(tmp_path):
    _, run = on_grid(True)
    assert not run.truth_known and run.world is None
    assert all(np.isnan(c.true).all() and np.isnan(c.began) and c.touched == "not known" for c in run.contacts)
    figures = run.metrics()
    for name in ("false_alarms", "largest_force_n", "impulse_ns", "in_contact_at_end", "median_delay_s"):
        assert np.isnan(figures[name]), name
    assert figures["largest_felt_n"] > 12.0
    assert {row[-1] for row in contact_table(run)[1]} == {"not known"}
    page = exploration_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "false alarm" not in page and "not known" in page


def simulated(sensing=None, reaction="back off"):
    """Return a simulated ride on layout A as `explore` makes it, the job, and who tells the truth."""
    world = find_world("A")
    task = grid_task(GridTask(), UR5, world)
    around = surroundings_of(UR5, UR5, world, "tool")
    job = grid_job(UR5, task, None, Rules(reaction), Budget())
    sensing = replace(sensing or Sensing(), observer="closed-loop", load="none")
    setup = set_up(UR5, around, ControlLoop(), sensing, job.q0, held=False, seed=0)
    return ride_of(setup, None)[0], task, truth_of(around, UR5, "tool")


@pytest.mark.parametrize("sensors", [None, ur5_sensors()])
def test_explore_is_a_run_on_a_simulated_ride_bit_for_bit(sensors):
    sensing = Sensing(sensors=sensors, load="none")
    ride, task, truth = simulated(sensing)
    here, there = explore_on(ride, UR5, task, truth=truth), explore("ur5", "A", sensing=sensing)
    assert set(here.recording) == set(there.recording)
    for name in there.recording:
        assert here.recording[name].tobytes() == there.recording[name].tobytes(), name
    for a, b in zip(here.contacts, there.contacts, strict=True):
        assert a.cell == b.cell and a.began == b.began and a.link == b.link and (a.true == b.true).all()


class Veiled:
    """A ride of which nothing can be asked but what `Ride` has."""

    ALLOWED = frozenset(
        name for kind in DoubtingRide.__mro__ for name in (*vars(kind), *vars(kind).get("__annotations__", ()))
    )

    def __init__(self, ride):
        self.__dict__["_ride"] = ride

    def __getattr__(self, name):
        if name not in self.ALLOWED:
            raise AssertionError(f"a run asked its ride for {name}")
        return getattr(self._ride, name)

    def __setattr__(self, name, value):
        assert name == "reflex"
        setattr(self._ride, name, value)


@pytest.mark.parametrize("reaction", ["back off", "retract", "slide", "stop"])
def test_a_run_asks_for_nothing_that_is_not_in_the_protocol(reaction):
    ride, task, truth = simulated(reaction=reaction)
    run = explore_on(Veiled(ride), UR5, task, reaction=reaction, truth=truth)
    assert run.outcome == ("stopped" if reaction == "stop" else "reached") and run.contacts


def test_a_simulated_ride_tells_what_sensors_say_and_not_the_truth():
    """What was swept, passed and marked used to be the plant's true state, sensors or not."""
    ride, task, _ = simulated(Sensing(sensors=ur5_sensors()))
    run = GridRun(grid_job(UR5, task, None, Rules(), Budget(6.0)), ride)
    run.drive()
    passed, recording = ride.passed(0.0), ride.recording("done")
    t = len(passed.t)
    assert np.array_equal(passed.q, recording["measured"][:t, :6]) and np.array_equal(
        passed.qd, recording["measured"][:t, 6:]
    )
    assert not np.array_equal(passed.q, recording["q"][:t])
    assert np.array_equal(ride.torques(0.1), recording["tau_ext"][t - 50 : t])
    assert np.array_equal(ride.measured().q, recording["measured"][t - 1, :6])
    for contact in run.contacts:
        assert np.isnan(contact.true).all() and not contact.link


def test_what_a_position_servo_cannot_do_is_refused():
    ride = ScriptedRide(UR5, WALL, JOB.q0, own_reflex=True)
    with pytest.raises(InputError, match=r"'slide' presses with a chosen force.*choose one of back off, retract, stop"):
        explore_on(ride, UR5, TASK, reaction="slide")
    for observer in OWN_LAW:
        with pytest.raises(InputError, match=f"'{observer}' reads contacts from the tracking error"):
            check_fits(ride, observer=observer)
        check_fits(ScriptedRide(UR5, WALL, JOB.q0), observer=observer)
    check_fits(ride, observer="momentum", reaction="retract")
    assert not ride.motions


def test_an_arm_that_stands_elsewhere_or_a_task_that_lacks_something_is_refused():
    ride = ScriptedRide(UR5, WALL, JOB.q0 + 0.1)
    with pytest.raises(InputError, match=r"the run begins at .* the arm stands at .* move it there first"):
        explore_on(ride, UR5, TASK)
    with pytest.raises(InputError, match=r"lacks where, start, goal, rotation.*grid_task"):
        explore_on(ride, UR5, GridTask())
    with pytest.raises(InputError, match="rehearsed_on"):
        explore_on(ride, UR5, arm_task(ArmTask(), UR5, find_world("bench")))
    assert not ride.motions
    with pytest.raises(InputError, match="records every tick"):
        SimulatedRide(simulated()[0].session.parts.session(JOB.q0, every=2))


def test_only_the_simulated_ride_knows_of_a_session():
    """Everything else of a run asks its ride: no file touches a loop's slots, log or reference."""
    room = ROOT / "src" / "armwright" / "exploration"
    # these make simulated sessions
    makers = {"simulated_ride.py", "touch_sensing.py", "rehearse_arm.py", "explore_grid.py"}
    files = [path for path in room.rglob("*.py") if path.name not in makers]
    assert len(files) > 20
    for path in files:
        used = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
        assert not used & {"session", "log", "following", "reference_at", "loop"} - (
            {"log"} if "np.log" in path.read_text(encoding="utf-8") else set()
        ), path
