# SPDX-License-Identifier: Apache-2.0
"""The model that is returned: within physics, its figures its own, coupled motors included, and its file readable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.identify import Known, Log, fit, load_model, predict_currents, residuals, save_model
from armwright.identify.bounded_fit import LARGEST_LOAD_FRICTION
from armwright.identify.consistent_bodies import PriorBodies, pseudo_inertia
from armwright.identify.finished_fit import fastest, physical
from armwright.identify.gear_friction import DAHL, GearFriction, hysteresis
from armwright.identify.identifiable import structure
from armwright.identify.least_squares import least_squares, squares
from support.simulated_logs import gear_friction, motion, sheet_of, simulated_log, true_arm

GAINS = np.array([12.0, 12.0, 10.0])
ARM, SHEET = (robot.chain(tip=robot.bodies[2].name) for robot in (true_arm(), sheet_of()))
PRIOR = 1e-3


def rubbing(*terms, noise=0.3, seconds=20.0, seed=0):
    """A log of gears with the same friction terms on every joint."""
    return simulated_log(ARM, GearFriction(np.tile(terms, (3, 1))), GAINS, seconds, seed=seed, noise=noise)


@pytest.mark.parametrize("terms", [(0.0, 0.0, 0.0, -0.2, 0.0), (-3.0, 0.0, 5.0, 0.7, 0.0), (8.0, -9.0, 1.0, 0.0, 1.0)])
def test_friction_dissipates_and_bodies_exist_whatever_the_log_says(terms):
    log = rubbing(*terms)
    found = fit(log, SHEET, gains=Known(GAINS))
    viscous, degressive, coulomb, load, _ = found.friction.coefficients.T
    fast = fastest(least_squares((log,), SHEET, Known(GAINS), None))
    for v in np.linspace(0.0, 1.0, 20)[:, None] * fast:
        assert (viscous * v + degressive * v * v + coulomb >= 0.0).all()
    assert (viscous >= 0.0).all() and ((load >= 0.0) & (load <= LARGEST_LOAD_FRICTION)).all()
    p = aw.dynamics.parameters(found.robot)[: 10 * found.n].reshape(-1, 10)
    assert (np.linalg.eigvalsh(pseudo_inertia(p)) > 0.0).all()
    # the figures are those of the model that is returned
    seen = predict_currents(found, log)
    left = np.sqrt(np.sum((seen.measured - seen.predicted) ** 2 * seen.moving, axis=0) / seen.moving.sum(axis=0))
    np.testing.assert_allclose(found.sigma, left, rtol=5e-3)
    told = [e.value for e in found.friction_estimates if e.value is not None]
    mine = [
        c
        for c, e in zip(found.friction.coefficients.flat, found.friction_estimates, strict=True)
        if e.value is not None
    ]
    np.testing.assert_allclose(told, mine, rtol=1e-9)
    np.testing.assert_allclose(
        [e.value for e in found.base if e.value is not None],
        [b for b, e in zip(found.beta, found.base, strict=True) if e.value is not None],
        atol=1e-9,
    )


def test_the_bounded_fit_is_a_minimum():
    fitted = least_squares((rubbing(4.0, 0.0, 3.0, -0.1, 0.2),), SHEET, Known(GAINS), None)
    found, _ = physical(fitted, PRIOR)
    layout, model, theta = fitted.layout, fitted.model, found.solution.theta
    rows = found.solution.rows
    bodies = PriorBodies(model.base.regrouping, fitted.solution.theta[: layout.rank], model.sheet(), len(SHEET.bodies))

    def cost(parameters, friction):
        at = theta.copy()
        at[: layout.rank] = model.base.regrouping @ parameters
        at[layout.rank : -3] = friction
        c = friction.reshape(3, 5) * GAINS[:, None]
        if (c[:, [0, 2, 3]] < 0.0).any() or (c[:, 3] > LARGEST_LOAD_FRICTION).any():
            return np.inf
        residual = squares(fitted.grams, layout, at) / found.solution.sigma**2
        return 0.5 * float(residual.sum()) + PRIOR * rows * bodies.divergence(parameters)

    x, w = found.parameters, theta[layout.rank : -3]
    least, rng = cost(x, w), np.random.default_rng(2)
    assert np.isfinite(least)
    for size in (1e-4, 1e-3, 1e-2, 0.1):
        for _ in range(100):
            step = size * rng.normal(size=len(x)) * np.abs(x)
            turn = size * rng.normal(size=len(w)) * np.abs(w)
            # the last barrier may cost a bound 1e-6 N each
            assert cost(x + step, w + turn) >= least - 20e-6 * rows


def coupled(robot, ratio=40.0):
    """The arm with a motor of its last joint that turns with the one before, too."""
    gear = np.diag(np.full(robot.n, ratio))
    gear[-1, -2] = ratio
    inertia = np.full(robot.n, 0.4 / ratio**2)
    return replace(robot, actuators=replace(robot.actuators, gear=gear, rotor_inertia=inertia))


def coupled_log(seed=0, noise=0.0):
    arm, own = coupled(ARM), gear_friction(3).coefficients
    friction = GearFriction(own, motors=structure(arm).motors, motor_coefficients=np.array([[3.0, 2.0]]))
    t, q, qd, qdd = motion(3, 20.0, seed)
    rigid = aw.inverse_dynamics(arm, q, qd, qdd)
    h, own_h = hysteresis(qd, 0.01), hysteresis(qd @ friction.turned.T, 0.01)
    tau = rigid + friction.torque(qd, h, rigid, own_h)
    rng = np.random.default_rng(seed)
    return Log(t, q, qd, tau + noise * rng.normal(size=tau.shape), name=f"coupled {seed}"), friction


def friction_alone(found):
    return GearFriction(found.friction.coefficients)


def test_a_motor_that_turns_with_two_joints_comes_back(tmp_path):
    log, friction = coupled_log()
    sheet = coupled(SHEET)
    sheet = replace(sheet, actuators=replace(sheet.actuators, rotor_inertia=np.zeros(3)))
    found = fit([log, coupled_log(1)[0]], sheet, gains=Known(np.ones(3)), cutoff=None)
    np.testing.assert_allclose(found.friction.turned, [[0.0, 1.0, 1.0]])
    np.testing.assert_allclose(found.friction.of_motors, friction.of_motors, rtol=1e-4)
    np.testing.assert_allclose(found.friction.coefficients, friction.coefficients, atol=1e-3)
    assert (predict_currents(found, coupled_log(2)[0], cutoff=None).error < 1e-4).all()
    # nothing touches the arm, and nothing is felt
    ours, plain = (
        residuals(model, coupled_log(2)[0]) for model in (found, replace(found, friction=friction_alone(found)))
    )
    assert (ours.rms < 0.3).all() and (plain.rms[1:] > 1.0).all()
    # without the coupling both joints are wrong
    plain = fit(log, SHEET, gains=Known(np.ones(3)))
    assert (predict_currents(plain, log).error[1:] > 0.05).all()
    wild = fit(Log(log.t, log.q, log.qd, log.current[:, ::-1]), SHEET, gains=Known(np.ones(3)))
    assert any("does not describe the joint" in text for text in wild.remarks)
    # its viscous friction is in the sheet, as the motor's
    g, (viscous, _) = found.friction.turned[0], found.friction.of_motors[0]
    own = np.diag(found.friction.coefficients[:, 0])
    np.testing.assert_allclose(found.robot.tree.viscous, own + viscous * np.outer(g, g), rtol=1e-9, atol=1e-12)
    back = load_model(save_model(found, tmp_path / "arm.json"))
    np.testing.assert_allclose(back.robot.tree.viscous, found.robot.tree.viscous, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(back.friction.of_motors, found.friction.of_motors)
    np.testing.assert_array_equal(back.friction.turned, found.friction.turned)
    gear = np.diag([1.0, 1.0, 0.0])
    with pytest.raises(NotSupportedError, match="motor 3"):
        fit(log, replace(SHEET, actuators=replace(SHEET.actuators, gear=gear)), gains=Known(np.ones(3)))


def test_saving_refuses_what_loading_refuses(tmp_path):
    found = fit(rubbing(4.0, 0.0, 3.0, 0.05, 0.0), SHEET, gains=Known(GAINS))
    load_model(save_model(found, tmp_path / "arm.json"))
    body = found.robot.bodies[2]
    wide = replace(found.robot, bodies=(*found.robot.bodies[:2], replace(body, inertia=body.inertia * 1e4)))
    path = tmp_path / "wide.json"
    with pytest.raises(InputError, match="nothing was written"):
        save_model(replace(found, robot=wide), path)
    assert not path.exists()
    with pytest.warns(UserWarning, match="gyration"):
        save_model(replace(found, robot=wide), path, implausible="warn")
    with pytest.raises(InputError):
        load_model(path)
    with pytest.warns(UserWarning, match="gyration"):
        load_model(path, implausible="warn")
    negative = replace(found, friction=GearFriction(found.friction.coefficients * [1.0, 1.0, -1.0, 1.0, 1.0]))
    with pytest.raises(InputError, match="Coulomb"):
        save_model(negative, path, implausible="warn")


def with_travel_of(joint, delta, seed=0, noise=0.05):
    """A log whose joint reverses over more travel than the others."""
    travel = np.full(3, DAHL)
    travel[joint] = delta
    return simulated_log(ARM, GearFriction(gear_friction(3).coefficients, travel), GAINS, 40.0, seed=seed, noise=noise)


@pytest.mark.parametrize("joint, delta", [(0, 2e-3), (1, 5e-3), (2, 2e-3)])
def test_friction_that_reverses_slowly_is_told_and_the_others_stay_stiff(joint, delta, tmp_path):
    log = with_travel_of(joint, delta)
    found = fit(log, SHEET, gains=Known(GAINS), terms="all")
    assert found.friction.travel[joint] == delta
    assert (np.delete(found.friction.travel, joint) <= 5e-4).all()
    assert any(SHEET.joints[joint].name in text and "stiff gear" in text for text in found.remarks)
    np.testing.assert_allclose(found.friction.coefficients[:, 2], gear_friction(3).coefficients[:, 2], rtol=0.1)
    stiff = fit(log, SHEET, gains=Known(GAINS), terms="all", dahl=DAHL)
    other = with_travel_of(joint, delta, seed=7)
    errors = [predict_currents(model, other).error[joint] for model in (found, stiff)]
    assert errors[0] < 0.9 * errors[1]
    # a file and the observer know it, too
    again = load_model(save_model(found, tmp_path / "arm.json"))
    np.testing.assert_array_equal(again.friction.travel, found.friction.travel)
    level = [residuals(model, other).rms[joint] for model in (again, stiff)]
    assert level[0] < level[1]


def test_travel_is_asked_for_joint_by_joint_or_once():
    given = fit(with_travel_of(1, 2e-3), SHEET, gains=Known(GAINS), dahl=1e-3)
    np.testing.assert_array_equal(given.friction.travel, np.full(3, 1e-3))
    for wrong in ([1e-3, 1e-3], [1e-3, 1e-3, -1.0], "soft", [[1e-3]]):
        with pytest.raises(InputError, match="dahl"):
            GearFriction(np.zeros((3, 5)), wrong)
