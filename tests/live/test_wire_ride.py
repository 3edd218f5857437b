# SPDX-License-Identifier: Apache-2.0
"""A ride on the wire against a virtual controller in a process of its own: bumping, limits, and what ends it."""

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.exploration.ride import Ride
from armwright.lab.net import LabError
from armwright.live.wire_limits import Fence, WireLimits
from armwright.live.wire_script import LOOKAHEAD
from armwright.motion import quintic
from armwright.motion.trajectory import Reference
from support.wire import controller, forward, riding


@pytest.fixture(scope="module", params=[False, True], ids=["125 Hz", "500 Hz"])
def robot(request):
    with controller(e_series=request.param) as virtual:
        yield virtual


@pytest.fixture(scope="module")
def bumped(robot):
    """A drive into the wall, and everything that was told about it."""
    with riding(robot) as ride:
        since = robot.truth().time
        motion = forward(ride, 0.2)
        begun = ride.follow(motion)
        why = ride.run(motion.duration)
        moment, after, passed = ride.moment(), ride.reference(), ride.passed(begun)
        still = [ride.run(0.3), ride.measured().qd]
        return {
            "why": why,
            "moment": moment,
            "after": after,
            "passed": passed,
            "still": still,
            "touches": robot.contacts(since),
            "truth": robot.truth(),
            "recording": ride.recording("alarm"),
            "time": ride.time,
        }


def test_a_wall_is_felt_and_given_way_to(bumped):
    """The touch ends by itself, the controller makes no stop, the arm stands, and the felt force points back."""
    assert bumped["why"] == "alarm"
    assert bumped["moment"].alarmed
    assert bumped["touches"]
    assert max(touch.largest for touch in bumped["touches"]) < 80.0
    assert not np.any(bumped["truth"].contact_force)
    assert bumped["truth"].safety == "NORMAL"
    assert bumped["moment"].felt.wrench[0] < -5.0
    assert bumped["still"][0] == "end"
    assert np.abs(bumped["still"][1]).max() < 0.01


def test_the_moment_is_that_of_the_touch(bumped):
    """Rows passed end with it; they are measured; the reference afterwards lies back on the way."""
    passed, moment = bumped["passed"], bumped["moment"]
    assert passed.t[-1] == moment.time
    assert (np.diff(passed.t) >= 0.0).all()
    assert np.abs(passed.q[-1] - moment.measured.q).max() < 1e-12
    nearest = np.abs(passed.q_ref - bumped["after"].q).max(axis=1).min()
    assert nearest < 1e-9
    assert bumped["time"] > moment.time


def test_a_recording_tells_reflex_and_all(bumped):
    """Its clock never falls, and it holds rows that no run was told."""
    recording = bumped["recording"]
    assert {"q", "qd", "q_ref", "tau_ext", "wrench_ext", "device_time", "kind"} <= set(recording.signals)
    assert set(np.unique(recording["kind"])) >= {1.0, 2.0}
    assert (np.diff(recording["device_time"]) > 0.0).all()


def test_no_target_is_beyond_reach(bumped, robot):
    """The controller's reference is never faster than the limit, reflex included."""
    recording = bumped["recording"]
    speed = np.abs(np.diff(recording["q_ref"], axis=0)).max(axis=1) / np.diff(recording["device_time"])
    assert speed.max() < 0.5
    far = np.abs(recording["target"] - recording["q_ref"]).max()
    assert far <= 0.5 * LOOKAHEAD + 1e-9


def test_it_is_a_ride(robot):
    """All members of the protocol are there, and stand still where nothing was asked for."""
    with riding(robot) as ride:
        for name in (*Ride.__annotations__, *(k for k in vars(Ride) if not k.startswith("_"))):
            assert hasattr(ride, name), name
        before = ride.measured().q
        assert ride.run(0.2) == "end"
        assert np.abs(ride.measured().q - before).max() < 1e-3
        assert ride.gives_way(before, np.ones(6)) is None


def test_what_leaves_the_fence_is_refused_before_it_moves(robot):
    """The sentence says what and where; a motion that begins elsewhere, or holds NaN, is refused, too."""
    with riding(robot) as ride:
        q = ride.reference().q
        with pytest.raises(InputError, match="the tool would leave the fence"):
            ride.follow(quintic(q, q + np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 8.0))
        with pytest.raises(InputError, match="away from where the arm is asked to be"):
            ride.follow(quintic(q + 0.1, q + 0.2, 3.0))
        with pytest.raises(InputError):
            ride.follow(Reference(np.full(6, np.nan), np.zeros(6), np.zeros(6)))
        assert ride.run(0.2) == "end"
        assert np.abs(ride.measured().q - q).max() < 2e-3


def test_too_fast_a_motion_is_followed_slowly(robot):
    """Its own clock is the ride's, so a run that waits for its length finds the arm at its end."""
    with riding(robot) as ride:
        q = ride.reference().q
        goal = q + np.array([0.15, 0.0, 0.0, 0.0, 0.0, 0.3])
        begun = ride.follow(quintic(q, goal, 0.3))  # joint 6 would need 1.9 rad/s
        assert ride.run(0.3) == "end"
        assert ride.time == pytest.approx(begun + 0.3, abs=0.02)
        assert ride.run(0.5) == "end"
        assert np.abs(ride.measured().q - goal).max() < 5e-3
        rows = ride.recording("end")
        speed = np.abs(np.diff(rows["q_ref"], axis=0)).max(axis=1) / np.diff(rows["device_time"])
        assert speed.max() < 0.5
        ride.follow(quintic(ride.reference().q, q, 1.0))  # back, for those who come after
        assert ride.run(1.5) == "end"


def test_registers_have_one_owner(robot):
    """A second client that wants them is told so."""
    with riding(robot), pytest.raises(LabError, match="another client writes input registers"), riding(robot):
        pass


@pytest.mark.parametrize(
    ("happens", "word", "reason"),
    [
        (lambda robot: robot.protective_stop("by a test"), "protective stop", "protective stop"),
        (lambda robot: robot.cut("rtde"), "lost", "the controller is gone"),
    ],
    ids=["protective stop", "cut"],
)
def test_a_ride_that_was_ended_stays_ended(happens, word, reason):
    """The outcome is named; nothing is sent again, and what was recorded is kept."""
    with controller(wall=False) as robot, riding(robot) as ride:
        motion = forward(ride, 0.1)
        ride.follow(motion)
        assert ride.run(0.5) == "end"
        happens(robot)
        assert ride.run(motion.duration) == word
        assert reason in ride.reason
        sent, q = ride._socket.sent, ride.measured().q
        assert ride.run(1.0) == word
        ride.follow(motion)
        assert ride._socket.sent == sent
        assert len(ride.recording(word)) > 10
        robot.until(lambda truth: np.abs(truth.qd).max() < 1e-3)
        assert np.abs(np.array(robot.truth().q) - q).max() < 0.05


def test_limits_that_are_no_limits_are_refused():
    """Hard ends of what may be asked for."""
    fence = Fence(np.zeros(3), np.ones(3))
    for wrong in ({"tool_speed": 0.2}, {"joint_speed": 1.0}, {"force": 0.0}, {"tool_speed": float("nan")}):
        with pytest.raises(InputError, match="must lie in"):
            WireLimits(fence, **wrong)
    with pytest.raises(InputError, match="low < high"):
        Fence(np.ones(3), np.zeros(3))
