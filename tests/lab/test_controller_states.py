# SPDX-License-Identifier: Apache-2.0
"""States of the controller in virtual time: how long changes take, stops that are played, and what a pause keeps."""

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller.controller import (
    CONTROLLER_TICK,
    REDUCED_SHARE,
    REDUCED_TOOL_SPEED,
    Controller,
)
from armwright.lab.controller.controller_states import (
    DURATIONS,
    CommandPlace,
    ControllerEvent,
    ControllerState,
    SafetyMode,
)
from armwright.lab.controller.published import status_bits, values
from armwright.lab.lab_plant import LabPlant
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.stand import ScriptConnection
from support.lab import run_for
from support.patience import until
from support.scripts import run_text

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
FAR = f"movej({[1.2, *HOME[1:].tolist()]}, a=1.4, v=0.6)"
S, E = ControllerState, ControllerEvent


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def c(compiled):
    compiled.live.reset(HOME)
    compiled.live.inputs["push"][...] = 0.0
    made = Controller(compiled)
    ScriptHost(made)
    return made


def passed(c, until, most=3.0):
    """The states that the controller goes through until one of them, and the seconds that it takes."""
    seen, begun = [c.state], c.ticks
    while c.state is not until:
        c.tick()
        if c.state is not seen[-1]:
            seen.append(c.state)
        assert (c.ticks - begun) * CONTROLLER_TICK < most, seen
    return seen, (c.ticks - begun) * CONTROLLER_TICK


@pytest.mark.parametrize(
    ("first", "event", "way"),
    [
        (S.OFF, E.POWER_ON, [S.POWERING, S.IDLE]),
        (S.OFF, E.RELEASE, [S.STARTING, S.RELEASING, S.READY]),
        (S.IDLE, E.RELEASE, [S.RELEASING, S.READY]),
        (S.READY, E.POWER_OFF, [S.UNPOWERING, S.OFF]),
        (S.PLAYING, E.STOP, [S.STOPPING, S.READY]),
        (S.STOPPED, E.UNLOCK, [S.UNLOCKING, S.READY]),
        (S.READY, E.RESTART, [S.BOOTING, S.OFF]),
        (S.FAULT, E.RESTART, [S.BOOTING, S.OFF]),
    ],
)
def test_changes_take_their_time_and_pass_through_the_states_between(c, first, event, way):
    c.state = first
    assert c.handle(event)
    seen, taken = passed(c, way[-1])
    assert seen == way
    assert taken == pytest.approx(sum(DURATIONS.get(state, 0.0) for state in way), abs=3 * CONTROLLER_TICK)
    assert all(DURATIONS[state] > 0.1 for state in way[:-1])  # a client that sees a state ten times a second sees it


def test_an_emergency_stop_brakes_the_arm_then_takes_its_power_until_it_is_released(c):
    run_text(c, FAR)
    run_for(c, 0.5)
    assert c.reference.qd[0] > 0.5
    c.press_emergency_stop()
    assert c.safety is SafetyMode.ROBOT_EMERGENCY_STOP and c.program is None
    passed(c, S.LOCKED)
    at = np.array(c.plant.live.q)
    assert values(c)["robot_mode"] == 3 and status_bits(c.state, c.safety)[1] == 1 << 6 | 1 << 7 | 1 << 10
    assert not c.handle(E.POWER_ON) and not c.handle(E.RESTART)
    run_text(c, FAR)
    run_for(c, 0.1)
    assert np.allclose(c.plant.live.q, at, atol=1e-9) and c.ignored == 1
    c.handle(E.EMERGENCY_OVER)
    assert c.state is S.OFF and c.safety is SafetyMode.NORMAL
    c.handle(E.RELEASE)
    passed(c, S.READY)
    assert np.allclose(c.plant.live.q, at, atol=2e-3)


def test_the_plants_emergency_stop_has_a_mode_of_its_own_and_is_remembered_while_it_is_pressed(c):
    c.state = S.FAULT
    c.press_emergency_stop(system=True)
    assert c.state is S.FAULT
    c.handle(E.RESTART)
    passed(c, S.LOCKED)
    assert c.safety is SafetyMode.SYSTEM_EMERGENCY_STOP
    c.handle(E.EMERGENCY_OVER)
    assert c.state is S.OFF


@pytest.mark.parametrize(
    ("held", "go_on", "mode"),
    [(E.GUARD_OPEN, E.GUARD_CLOSED, SafetyMode.SAFEGUARD_STOP), (E.PAUSE, E.PLAY, SafetyMode.NORMAL)],
)
def test_a_safeguard_or_a_pause_holds_a_move_under_way_and_lets_it_go_on(c, held, go_on, mode):
    run_text(c, FAR)
    run_for(c, 0.6)
    c.handle(held)
    assert c.safety is mode and values(c)["runtime_state"] == 4
    fastest = 0.0
    for _ in range(250):
        before = c.reference.qd
        c.tick()
        fastest = max(fastest, float(np.abs(c.reference.qd - before).max()) / CONTROLLER_TICK)
    at = np.array(c.plant.live.q)
    run_for(c, 0.5)
    assert np.allclose(c.plant.live.q, at, atol=1e-4) and 0.2 < at[0] < 1.0
    assert fastest < 5.0  # it slows down; it does not freeze [rad/s²]
    assert c.handle(go_on)
    passed(c, S.READY, most=6.0)
    run_for(c, 0.3)
    assert np.allclose(c.plant.live.q[0], 1.2, atol=2e-3)


def test_with_an_open_safeguard_nothing_begins_to_move(c):
    c.handle(E.GUARD_OPEN)
    assert c.state is S.GUARDED
    run_text(c, FAR)
    run_for(c, 0.2)
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3) and c.ignored == 1
    c.handle(E.POWER_OFF)
    passed(c, S.OFF)
    assert c.safety is SafetyMode.SAFEGUARD_STOP
    c.handle(E.RELEASE)
    passed(c, S.GUARDED)  # it still stands open
    c.handle(E.GUARD_CLOSED)
    assert c.state is S.READY


def test_a_paused_program_behind_an_open_safeguard_stays_paused_when_it_closes(c):
    run_text(c, FAR)
    run_for(c, 0.3)
    c.handle(E.PAUSE)
    c.handle(E.GUARD_OPEN)
    assert not c.handle(E.PLAY)
    c.handle(E.GUARD_CLOSED)
    assert c.state is S.PAUSED and c.handle(E.PLAY)


def test_reduced_mode_limits_joints_and_tool_also_of_a_move_under_way(c):
    run_text(c, f"movej({[-3.0, *HOME[1:].tolist()]}, a=3, v=3)")
    run_for(c, 0.9)
    assert c.plant.look().target_speed[:3] @ c.plant.now.target_speed[:3] > REDUCED_TOOL_SPEED**2
    c.reduce(True)
    assert c.safety is SafetyMode.REDUCED
    run_for(c, 0.25)  # it slows down first
    assert c.moving
    while c.moving:
        c.plant.look()
        assert np.linalg.norm(c.plant.now.target_speed[:3]) < 1.05 * REDUCED_TOOL_SPEED
        assert (np.abs(c.reference.qd) < 1.05 * REDUCED_SHARE * c.most_speed).all()
        c.tick()
    run_for(c, 0.3)
    assert np.allclose(c.plant.live.q[0], -3.0, atol=2e-3)


def test_in_recovery_no_program_plays(c):
    assert c.handle(E.BEYOND) and c.safety is SafetyMode.RECOVERY
    run_text(c, FAR)
    run_for(c, 0.2)
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3)
    c.handle(E.WITHIN)
    assert c.state is S.READY


def test_in_local_control_the_network_does_not_move_the_arm(c):
    port = ScriptConnection(c)
    c.place = CommandPlace.LOCAL
    port.take(bytearray(FAR.encode() + b"\n"))
    run_for(c, 0.2)
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3) and any("local control" in m for m in c.messages)
    c.place = CommandPlace.REMOTE
    port.take(bytearray(FAR.encode() + b"\n"))
    until(lambda: c.tick() or c.program is not None, "it is compiled")
    run_for(c, 0.2)
    assert c.plant.live.q[0] > 0.01


def test_every_safety_mode_has_its_bit():
    bits = [status_bits(S.READY, mode)[1] & ~(1 << 10) for mode in SafetyMode]
    assert bits[:5] == [1, 2, 4, 8, 16]
    assert bits[5:] == [1 << 5 | 1 << 7, 1 << 6 | 1 << 7, 1 << 8, 1 << 9]
