# SPDX-License-Identifier: Apache-2.0
"""The law that follows forces: what it promises of energy, speed, rest and pressing, however it feels."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import armwright as aw
from armwright import control
from armwright.cli import main
from armwright.contact import with_observer
from armwright.contact.observers import closed_loop_error_observer, disturbance_observer, momentum_observer
from armwright.control.admittance import Yielding, yielding_speed
from armwright.errors import InputError
from armwright.motion.trajectory import Reference
from armwright.robot.load import load
from armwright.simulation import with_storage, with_wrench

CEA, UR5 = load("cea"), load("ur5").with_rotors(0.1)
Q, QD = np.array([0.3, -1.1, 1.2, 0.4, 0.9, -0.5]), np.array([0.5, -0.4, 0.7, 0.3, -0.6, 0.8])
AT = np.array([0.0, -1.4, 1.8, -0.4, 1.57, 0.0])
KP, KD = control.inertia_gains(UR5, AT, 30.0)
WRENCH = np.array([5.0, -3.0, 2.0, 0.4, 0.3, -0.2])
PUSH = np.array([12.0, -8.0, 5.0, 0.0, 0.0, 0.0])
FEELS = ("error", "sensor", "observer")
STILL = Reference(Q + 0.05, np.zeros(6), np.zeros(6))
MOVED = {"moved": np.array([0.1, -0.05, 0.02, 0.03, -0.1, 0.2]), "speed": np.array([0.3, -0.2, 0.1, -0.4, 0.2, 0.5])}


def simulated(feel, wrench, duration, **gains):
    """A UR5 that follows a force, through the momentum observer where it feels by one."""
    law = control.admittance(KP, KD, **gains, feel=feel)
    watch = [momentum_observer(100.0)] if feel == "observer" else []
    return law, aw.simulate(UR5, law, None, duration, q0=AT, wrench=wrench, monitors=watch)


@pytest.mark.parametrize("feel", FEELS)
@pytest.mark.parametrize("press", [np.zeros(6), np.array([3.0, 1.0, -2.0, 0.1, 0.2, 0.3])], ids=["follow", "press"])
def test_energy_comes_from_who_pushes(feel, press):
    """V̇ = −żᵀ(JᵀDJ + D_q)ż − dᵀ|ż| − q̃̇ᵀK_d q̃̇ + q̇ᵀtau_ext + żᵀJᵀF along the arm's own motion."""
    D, dead, h, dt = np.array([30.0, 40.0, 50.0, 3.0, 4.0, 5.0]), 0.3, 1e-6, 1e-8
    law = control.admittance(
        80.0, 12.0, D, inertia=0.7, joint_damping=0.4, dead_zone=dead, press=press, feel=feel, friction="none"
    )
    tau_ext = aw.jacobian(CEA, Q).T @ WRENCH
    told = {"sensor": {"wrench": WRENCH}, "observer": {"tau_ext": tau_ext}, "error": {}}[feel]
    action = control.evaluate_law(law, CEA, 0.0, Q, QD, STILL, MOVED, dt=dt, **told)
    qdd = aw.forward_dynamics(CEA, Q, QD, action.tau, WRENCH)

    def V(s):
        kept = {k: MOVED[k] + s * (action.memory[k] - MOVED[k]) / dt for k in MOVED}
        return control.storage(law, CEA, 0.0, Q + s * QD, QD + s * qdd, STILL, kept)

    rate = (8.0 * (V(h) - V(-h)) - (V(2 * h) - V(-2 * h))) / (12.0 * h)
    J, z = aw.jacobian(CEA, Q), MOVED["speed"]
    ed = QD - z
    friction = aw.bias(CEA, Q, QD) - aw.bias(CEA, Q, QD, friction=False)
    lost = (J @ z) @ (D * (J @ z)) + 0.4 * z @ z + dead * np.abs(z).sum() + 12.0 * ed @ ed
    lost += friction @ (QD if feel == "error" else ed)
    gained = QD @ tau_ext + z @ (J.T @ press)
    assert rate == pytest.approx(gained - lost, rel=1e-6)


def test_the_moved_body_is_never_richer_than_it_was_pushed():
    """½żᵀBż grows by no more than dt żᵀ(u − Dż) in a tick, of whatever length, for forces of every size."""
    rng = np.random.default_rng(0)
    for dt in (1e-4, 1e-3, 1e-1, 10.0):
        for _ in range(50):
            J, speed, u = rng.normal(size=(6, 6)), rng.normal(size=6), 10.0 ** rng.uniform(-2, 3) * rng.normal(size=6)
            body = Yielding(0.0, 0.0, 30.0, 0.5, 1.0, 0.0, np.zeros(6), np.zeros(6), speed)
            new = yielding_speed(body, J, u, dt)
            D = 30.0 * J.T @ J + np.eye(6)
            assert 0.25 * (new @ new - speed @ speed) <= dt * new @ (u - D @ new) + 1e-9 * abs(u @ new) * dt
            held = yielding_speed(body._replace(dead_zone=np.abs(u) + 1e-9, speed=0.0 * speed), J, u, dt)
            assert not held.any()


@pytest.mark.parametrize("feel", FEELS)
def test_a_constant_force_leads_the_tool_with_its_share_of_the_damping(feel):
    _, run = simulated(feel, PUSH, 1.0, damping=[200.0] * 3 + [20.0] * 3, joint_damping=0.0)
    twist = aw.twist(UR5, run["q"][-1], run["qd"][-1])
    np.testing.assert_allclose(twist[:3], PUSH[:3] / 200.0, atol=0.015 * np.abs(PUSH).max() / 200.0)
    assert np.abs(twist[3:]).max() < 0.005  # rad/s: nothing turns the tool


@pytest.mark.parametrize("feel", FEELS)
def test_the_dead_zone_holds_the_arm_where_it_is(feel):
    felt = np.abs(aw.jacobian(UR5, AT).T @ PUSH)
    most = 1.5 if feel == "error" else 1.1  # a sudden push swings on the spring that it is felt by
    _, run = simulated(feel, PUSH, 1.0, damping=100.0, dead_zone=most * felt.max())
    assert not run["memory_moved"].any()
    np.testing.assert_allclose(run["q"][-1] - AT, aw.jacobian(UR5, run["q"][-1]).T @ PUSH / KP, atol=1e-6)  # the spring
    _, run = simulated(feel, PUSH, 1.0, damping=100.0, dead_zone=0.9 * felt.max())
    assert np.abs(run["memory_moved"][-1]).max() > 1e-3


def wall(stiffness):
    """A spring 20 mm beside the tool, against motion along −y."""
    y = aw.fk(UR5, AT)[1, 3] - 0.02

    def pushes(arm, q):
        return np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]) * (stiffness * np.maximum(y - aw.fk(arm, q)[1, 3], 0.0))

    return pushes


FORCE = np.array([0.0, -20.0, 0.0, 0.0, 0.0, 0.0])
CALM = {"damping": [400.0] * 3 + [40.0] * 3, "press": FORCE}


@pytest.mark.parametrize("feel", FEELS)
@pytest.mark.parametrize("stiffness", [2e3, 2e4, 1e5])
def test_pressing_comes_to_the_set_force(feel, stiffness):
    around = wall(stiffness)
    force = with_wrench(simulated(feel, around, 4.0, **CALM)[1], around)["wrench"][:, 1]
    assert force[0] == 0.0 and force[-1] == pytest.approx(20.0, abs=0.01)
    assert force.max() < 30.0  # [N] at the first touch


@pytest.mark.parametrize("feel", FEELS)
def test_with_a_dead_zone_the_set_force_is_right_to_within_what_the_joints_do_not_feel(feel):
    around, dead = wall(2e4), 1.0
    run = with_wrench(simulated(feel, around, 3.0, **CALM, dead_zone=dead)[1], around)
    left = aw.jacobian(UR5, run["q"][-1]).T @ (run["wrench"][-1] + FORCE)
    assert 1e-3 < np.abs(left).max() <= dead + 0.05


def test_a_late_estimate_wants_more_damping_than_the_arms_own_error():
    """D below k T: an observer that is 10 ms late bounces off a stiff wall for ever; felt by its error it is calm."""
    around, light = wall(1e5), {"damping": [50.0] * 3 + [40.0] * 3, "press": FORCE}
    late, own = (
        with_wrench(simulated(feel, around, 3.0, **light)[1], around)["wrench"][2000:, 1]
        for feel in ("observer", "error")
    )
    assert np.ptp(late) > 40.0 and np.ptp(own) < 0.1


def test_storage_never_grows_where_nobody_pushes():
    law = control.admittance(KP, KD, 50.0, dead_zone=0.2)
    run = with_storage(aw.simulate(UR5, law, AT, 1.0, q0=AT + 0.05, rate=4000.0), law)
    assert np.diff(run["storage"]).max() <= 1e-6 * run["storage"][0]
    assert run["storage"][-1] < 1e-3 * run["storage"][0]


def test_a_law_with_its_observer_is_one_law():
    law = control.admittance(KP, KD, 100.0, feel="observer")
    watch = momentum_observer(100.0)
    one = with_observer(law, watch)
    inside = aw.simulate(UR5, one, None, 0.2, q0=AT, wrench=PUSH)
    beside = aw.simulate(UR5, law, None, 0.2, q0=AT, wrench=PUSH, monitors=[watch])
    np.testing.assert_array_equal(inside["q"], beside["q"])
    np.testing.assert_allclose(inside["memory_felt_torque"][:-1], beside["tau_ext"][:-1], rtol=1e-12, atol=1e-12)
    carried = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes
    again = aw.simulate(UR5, carried, None, 0.2, q0=AT, wrench=PUSH)
    np.testing.assert_array_equal(again["q"], inside["q"])
    kernel, rest = control.law_kernel(one, UR5, dt=1e-3), Reference(AT, np.zeros(6), np.zeros(6))
    memory = control.initial_memory(one, 6)
    by_hand = control.evaluate_law(one, UR5, 0.0, AT + 0.01, QD, rest, dt=1e-3)
    compiled = kernel(0.0, AT + 0.01, QD, *rest, *memory.values())
    np.testing.assert_allclose(compiled[0], by_hand.tau, rtol=1e-9, atol=1e-9)
    assert set(by_hand.memory) == set(memory) and "void" in kernel.source("c")


def test_any_law_can_be_told_what_an_observer_feels():
    def lenient(q, qd, ref, tau_ext, kp, kd):
        return kp * (ref.q - q) - kd * qd - 0.5 * tau_ext

    law = control.as_law(lenient, kp=KP, kd=KD)
    run = aw.simulate(UR5, law, AT, 0.3, q0=AT, wrench=PUSH, monitors=[disturbance_observer(50.0)])
    assert np.abs(run["memory_felt_torque"][-1]).max() > 1.0
    with pytest.raises(InputError, match=r"law 'lenient' feels through an observer .* monitors=\[momentum_observer"):
        aw.simulate(UR5, law, AT, 0.1, q0=AT)
    with pytest.raises(InputError, match="reads q_ref; within a law it can read arm, t, dt, q, qd, tau"):
        with_observer(law, closed_loop_error_observer(100.0))
    with pytest.raises(InputError, match="has no parameter tau_ext"):
        with_observer(control.pd(1.0, 1.0), momentum_observer(50.0))
    with pytest.raises(InputError, match="with the output tau_ext"):
        with_observer(law, law)


def test_gains_are_checked():
    for wrong, said in (
        ({"inertia": 0.0}, "inertia"),
        ({"dead_zone": -1.0}, "dead_zone"),
        ({"press": 5.0}, r"press: expected a wrench \(6,\)"),
        ({"feel": "touch"}, "feel"),
        ({"damping": [1.0, 2.0]}, "damping"),
    ):
        with pytest.raises(InputError, match=said):
            control.admittance(**{"kp": 1.0, "kd": 1.0, "damping": 1.0, **wrong})


COMMAND = ["simulate", "ur5", "--law", "admittance", "--gain", "damping=200,200,200,20,20,20", "--duration", "0.5"]
START = ["--q0", "0,-1.4,1.8,-0.4,1.57,0", "--frequency", "100"]


def test_the_command_pushes_and_follows(capsys, tmp_path):
    for name, more in {
        "error": [],
        "momentum": ["--observer", "momentum"],
        "sensor": ["--gain", "feel=sensor"],
        "later": ["--observer", "momentum"],
    }.items():
        push = "12,-8,5@0.4-0.5" if name == "later" else "12,-8,5"
        file = tmp_path / f"{name}.npz"
        assert main([*COMMAND, *START, *more, "--push", push, "--out", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["law"] == "admittance"
        run = aw.Recording.load(file)
        way = aw.fk(load("ur5"), run["q"])[:, :3, 3]
        going = (way[-1] - way[0]) @ PUSH[:3] / np.linalg.norm(PUSH)
        expected = (0.1 if name == "later" else 0.5) * np.linalg.norm(PUSH) / 200.0  # m, less the time to set out
        assert 0.5 * expected < going < 1.2 * expected, name
        assert ("tau_ext" in run) == bool(name in ("momentum", "later"))
    assert main([*COMMAND, *START, "--push", "1,2"]) == 2 and "fx,fy,fz" in capsys.readouterr().err
    assert main([*COMMAND, *START, "--push", "1,2,3@2-1"]) == 2 and "end after" in capsys.readouterr().err
    assert main([*COMMAND, *START, "--push", "1,2,3", "--world", "bench"]) == 2 and "exclude" in capsys.readouterr().err
    assert main([*COMMAND, *START, "--observer", "closed-loop"]) == 2 and "tracking error" in capsys.readouterr().err


def test_the_command_feels_with_an_observer_whatever_the_law(tmp_path):
    file = tmp_path / "run.npz"
    for observer in ("momentum", "closed-loop"):
        words = ["simulate", "ur5", *START, "--duration", "0.1", "--push", "10,0,0", "--observer", observer]
        assert main([*words, "--out", str(file)]) == 0
