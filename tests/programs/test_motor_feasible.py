# SPDX-License-Identifier: Apache-2.0
"""What would work: overrides, motors and loads that just fit, and summaries that add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.programs.motors.motor_cycle import point_mass
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_loop import run_motors, run_variants
from armwright.programs.motors.motor_run import by_move, summarise, verdict
from armwright.programs.motors.what_works import (
    FASTEST_FACTOR,
    exact,
    feasible_override,
    largest_payload,
    needed_motors,
    sensitivity,
)
from support.motors import DT, one_joint, point_to_point, rl15, with_motors


def smooth(goal, duration, dt=DT, moves=1):
    """Quintics there and back, one per move, at rest between them; goal (n,), duration a move [s]."""
    x = np.linspace(0.0, 1.0, round(duration / dt) + 1)
    s = 10 * x**3 - 15 * x**4 + 6 * x**5
    up = np.outer(s, goal)
    parts = [up if k % 2 == 0 else up[::-1] for k in range(moves)]
    q = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
    return Demand(dt, q, move=np.repeat(np.arange(1, moves + 1), len(x) - 1))


def test_override_by_hand():
    """A wheel under torque: twice the speed takes four times the torque, so the override is sqrt(limit/peak)."""
    demand = smooth([1.0], 1.0)
    robot = one_joint(inertia=2.0, gear=10.0, torque=1e9)
    peak = np.abs(exact(robot, demand)[0].wanted).max()
    found = feasible_override(with_motors(robot, torque_limit=np.array([peak / 0.49])), demand)
    assert abs(found.program - 1.0 / 0.7) < 0.01
    assert found.limited_by == (1, 0)


def test_override_of_each_move():
    slow, quick = smooth([0.4, 0.3, -0.2, 0.3, 0.2, 0.3], 1.6), smooth([0.4, 0.3, -0.2, 0.3, 0.2, 0.3], 0.8)
    q = np.concatenate([slow.q, slow.q[-1] - quick.q[1:]])
    demand = Demand(DT, q, move=np.repeat([3, 7], [slow.cycles, quick.cycles]))
    found = feasible_override(rl15(), demand)
    assert found.moves.keys() == {3, 7}
    assert found.moves[3] > 1.7 * found.moves[7]
    assert found.program == min(found.moves.values()) and found.limited_by[0] == 7
    for factor, works in ((0.999, True), (1.002, False)):
        run = run_motors(rl15(), demand.at_override(factor * found.program))
        assert run.feasible is works


def test_override_without_and_beyond_limits():
    robot = one_joint(torque=1e12)
    assert feasible_override(robot, smooth([0.1], 5.0)).program == FASTEST_FACTOR
    weak = with_motors(rl15(), torque_limit=np.full(6, 1e-3))
    found = feasible_override(weak, smooth(np.full(6, 0.1), 1.0))
    assert found.program == 0.0


def test_motors_that_just_fit():
    """With the factors that are named nothing is flagged, with one per mille less it is."""
    demand = point_to_point(4.0)
    need = needed_motors(rl15(), demand)
    assert need.torque.max() > 1.0 and need.speed.max() > 1.0
    a = rl15().actuators
    for factor, works in ((1.0 + 1e-9, True), (0.999, False)):
        joints = tuple(
            replace(j, limits=replace(j.limits, velocity=j.limits.velocity * max(1.0, s)))
            for j, s in zip(rl15().joints, need.speed, strict=True)
        )
        better = replace(
            with_motors(rl15(), torque_limit=a.torque_limit * need.torque * factor, speed_limit=a.speed_limit * 2.0),
            joints=joints,
        )
        assert run_motors(better, demand).feasible is works


def test_payload_that_just_fits():
    demand, com = smooth([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], 0.9), (0.0, 0.0, 0.1)
    mass = largest_payload(rl15(), demand, com)
    assert mass > 1.0
    for factor, works in ((0.999, True), (1.002, False)):
        assert run_motors(rl15(), replace(demand, payload=point_mass(factor * mass, com))).feasible is works
    carrying = replace(demand, payload=point_mass(2.0, com))
    assert abs(largest_payload(rl15(), carrying, com) - (mass - 2.0)) < 0.01 * mass
    assert np.isnan(largest_payload(rl15(), point_to_point(4.0), com))
    elsewhere = replace(demand, payload=point_mass(2.0, (0.0, 0.1, 0.0)))  # joined with the load that is there
    more = largest_payload(rl15(), elsewhere, com)
    both = [2.0 + more, 0.0, 0.2 / (2.0 + more), 0.1 * more / (2.0 + more)]
    apart = 2.0 * more / (2.0 + more) * np.array([0.02, 0.01, 0.01, 0.0, 0.0, 0.01])
    assert run_motors(rl15(), replace(demand, payload=np.array([*both, *apart]))).feasible


def test_sensitivity_tells_corners_from_loads():
    """Halving Δt leaves a smooth motion as it is and doubles the demand of a corner."""
    still = sensitivity(rl15(), smooth([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], 1.5), periods=(0.5, 1.0), payloads=(0.0, 8.0))
    assert np.allclose(still[0].torque, still[1].torque, atol=0.05 * still[1].torque.max())
    assert [row.what for row in still] == ["dt", "dt", "payload", "payload"]
    assert still[3].torque[1] > still[2].torque[1]
    corner = Demand(DT, np.outer(np.concatenate([np.zeros(40), np.arange(60) * 0.002]), [1.0]))
    robot = one_joint(torque=100.0)
    use = [row.torque[0] for row in sensitivity(robot, corner, periods=(1.0, 2.0), payloads=())]
    assert 1.4 < use[0] / use[1] < 2.6


def test_payloads_add_up():
    """On top of a load of the program, the mass makes the load that both are together."""
    own = np.array([3.0, 0.01, 0.02, 0.1, 0.02, 0.03, 0.04, 0.001, 0.002, -0.001])
    demand = replace(smooth([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], 1.0), payload=own)
    row = sensitivity(rl15(), demand, periods=(), payloads=(4.0,), com=(0.05, 0.0, 0.2))[0]
    inertia = [[own[4], own[7], own[8]], [own[7], own[5], own[9]], [own[8], own[9], own[6]]]
    both = rl15().with_payload(3.0, own[1:4], inertia).with_payload(4.0, (0.05, 0.0, 0.2))
    direct = exact(both, replace(demand, payload=None))[0]
    assert np.allclose(row.torque, direct.torque_use.max(axis=0), rtol=1e-9)


def test_cycles_of_another_length_are_the_same_motion():
    demand = smooth([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], 1.0)
    other = demand.at_period(0.004)
    assert other.cycles == 250 and np.array_equal(other.q[-1], demand.q[-1])
    assert np.allclose(other.q[::5], demand.q[::2])
    rotating = Demand(DT, np.linspace(0.0, 3.0, 101)[:, None])
    assert not rotating.ends_at_rest and demand.ends_at_rest
    faster = rotating.at_override(0.77)
    assert np.allclose(np.diff(faster.q[2:], axis=0), 0.77 * 0.03)  # no braking in a cut last cycle


def test_summaries_add_up():
    demand = smooth([0.9, 0.5, -0.6, 0.4, 0.3, 0.8], 0.35, moves=3)
    run = run_motors(rl15(), demand)
    moves, whole = by_move(run), summarise(run)
    assert [m.move for m in moves] == [1, 2, 3] and sum(m.cycles for m in moves) == whole.cycles == demand.cycles
    assert np.allclose(sum(m.energy for m in moves), run.energy) and np.allclose(whole.energy, run.energy)
    assert np.allclose(sum(m.regenerated for m in moves), run.regenerated)
    assert np.array_equal(sum(m.saturated for m in moves), run.saturated.sum(axis=0))
    assert whole.position == max(m.position for m in moves) and moves[1].start == pytest.approx(moves[0].end)
    assert whole.cause == "torque" and not run.feasible
    assert np.isnan(whole.heat).all()
    with pytest.raises(InputError, match="no move 9; it has 1, 2, 3"):
        summarise(run, 9)


def test_energy_is_work_of_the_links_and_losses():
    """Without friction the shafts' work is the change of kinetic and potential energy, to the order of Δt."""
    robot = with_motors(rl15(), viscous=np.zeros(6), load_friction=np.zeros(6))
    demand = smooth([0.5, 0.4, 0.3, 0.2, 0.2, 0.1], 1.0, dt=5e-4)
    run = run_motors(robot, demand)
    before, after = (aw.energy(robot, q, np.zeros(6)).potential for q in (demand.q[0], demand.q[-1]))
    assert abs((run.energy - run.regenerated).sum() - (after - before)) < 0.01 * run.energy.sum()
    rough = run_motors(rl15(), demand)
    assert (rough.energy - rough.regenerated).sum() > (run.energy - run.regenerated).sum()


def test_verdicts_in_words():
    assert verdict(run_motors(rl15(), smooth(np.full(6, 0.2), 1.5))).startswith("feasible: the most used motor")
    text = verdict(run_motors(rl15(), point_to_point(4.0, hold=10)))
    assert text.startswith("not feasible:") and "move 0" in text and "mm" in text and "joint_" in text


def test_second_machine():
    """The centrifuge: its own data, said to be so, all of the motor model in use."""
    robot = aw.load("centrifuge")
    assert "our own" in robot.notes and robot.actuators.curve_speed.shape == (3, 3)
    t = np.arange(0.0, 10.0, DT)
    q = np.stack([0.15 * t**2, 0.9 * (1 - np.cos(0.1 * np.pi * t)) / 2, 0.3 * np.sin(0.1 * np.pi * t) ** 3], axis=1)
    run = run_motors(robot, Demand(DT, q))
    assert run.feasible and run.drives.heat_is_known.all() and run.heat[-1, 0] > 0.0
    assert "lacks" not in run.drives.says
    assert 1.0 < feasible_override(robot, run.demand).program < 2.0
    hard = run_motors(robot, run.demand.at_override(2.0))
    assert hard.saturated.any() and (np.abs(hard.torque) <= hard.limit * (1 + 1e-9)).all()
    fast = np.abs(hard.starts[1] @ robot.actuators.gear.T) > robot.actuators.curve_speed[:, 1]
    assert (
        hard.limit[fast] < np.broadcast_to(robot.actuators.torque_limit, hard.limit.shape)[fast]
    ).all() and fast.any()


def test_variants_refuse_what_does_not_fit():
    demand = smooth(np.full(6, 0.2), 0.5)
    with pytest.raises(InputError, match="2 given for 3 variants"):
        run_variants(rl15(), demand, friction=[1, 1, 1], torque=[1, 1])
    with pytest.raises(InputError, match="finite and ≥ 0"):
        run_variants(rl15(), demand, friction=[-1.0])
    with pytest.raises(InputError, match="locks it"):
        run_variants(rl15(), demand, friction=[1.0, 3.0])
    with pytest.raises(InputError, match="none given"):
        run_variants(rl15(), [])
    with pytest.raises(InputError, match="same dt"):
        run_variants(rl15(), [demand, demand.at_period(0.02)])
    with pytest.raises(InputError, match="override"):
        demand.at_override(0.0)
