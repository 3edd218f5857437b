# SPDX-License-Identifier: Apache-2.0
"""`track_path`: laws of following a path with feedback and a secondary task, on arms of two to seven joints."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armwright as aw
from armwright.motion import PathError, path_tracking, track_path
from armwright.motion import line as straight
from armwright.motion.path_tracking import STABLE_BELOW

PANDA, UR5, PLANAR, CEA = aw.load("panda"), aw.load("ur5"), aw.load("planar3"), aw.load("cea")
Q7 = np.array([0.3, 0.4, -0.2, -1.9, 0.1, 2.0, 0.5])
Q6 = np.array([0.0, -1.4, 1.8, -0.4, 1.57, 0.0])
Q3 = np.array([0.3, 0.5, 0.4])
SAMPLES = 101


def poses(arm, q, move, turn, count=SAMPLES):
    """A line of the tool by `move` (3,) while it turns by `turn` (3,): (count, 4, 4)."""
    T = aw.fk(arm, q)
    end = T.copy()
    end[:3, 3] += move
    end[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ T[:3, :3]
    return straight(T, end).at(np.linspace(0.0, 1.0, count)).T


ARMS = {
    "ur5": (UR5, Q6, poses(UR5, Q6, [0.0, 0.1, -0.05], [0.3, 0.2, -0.4]), {}),
    "panda": (PANDA, Q7, poses(PANDA, Q7, [0.1, 0.1, 0.0], [0.0, 0.3, 0.2]), {"prefer": "limits", "weight": 5.0}),
    "planar": (PLANAR, Q3, poses(PLANAR, Q3, [-0.5, 0.4, 0.0], [0.0, 0.0, 0.0])[:, :3, 3], {"axes": ["x", "y"]}),
    "drill": (UR5, Q6, poses(UR5, Q6, [0.0, 0.1, 0.1], [0.0, 0.0, 0.5]), {"axes": ["x", "y", "z", "rx", "ry"]}),
}


@pytest.mark.parametrize("name", ARMS)
def test_the_error_decays_as_promised(name):
    """e(t) = e(0) exp(−K t), every component, from a start well off the path."""
    arm, q, path, options = ARMS[name]
    start = q + 0.08 * np.cos(np.arange(arm.n))
    run = track_path(arm, path, 0.01, start, gain=4.0, tolerance=1.0, **options)
    assert np.abs(run.error[0]).max() > 0.01
    assert np.abs(run.error - run.error[0] * np.exp(-4.0 * run.t)[:, None]).max() < 1e-7
    assert not run.damped.any()


@pytest.mark.parametrize("name", ARMS)
def test_from_a_start_on_the_path_it_stays_there(name):
    arm, q, path, options = ARMS[name]
    run = track_path(arm, path, 0.01, q, **options)
    assert run.position_error.max() < 1e-7 and run.rotation_error.max() < 1e-7
    asked = [k for k, axis in enumerate(("x", "y", "z")) if axis in run.axes]
    goal = path[..., :3, 3] if path.ndim == 3 else path
    assert np.abs(aw.fk(arm, run.q)[:, :3, 3] - goal)[:, asked].max() < 1e-7
    assert np.allclose(run.margin, np.minimum(run.q - arm.lower, arm.upper - run.q), rtol=0.0, atol=0.0)


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_the_order_of_the_integrators(integrator, order):
    """Without feedback what is off the path is the integrator's; it falls with the step to its order."""
    path = poses(CEA, np.array([-0.5, 0.0, -0.5, -0.5, -0.5, -0.5]) * np.pi, [0.3, 0.2, 0.3], [0, 0, 0], 21)[:, :3, 3]
    q0, off = np.array([-0.5, 0.0, -0.5, -0.5, -0.5, -0.5]) * np.pi, []
    for substeps in (4, 8):
        run = track_path(
            CEA,
            path,
            0.05,
            q0,
            gain=0.0,
            prefer="limits",
            weight=2.0,
            integrator=integrator,
            substeps=substeps,
            tolerance=np.inf,
        )
        off.append(run.position_error[-1])
    assert np.log2(off[0] / off[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_the_order_with_feedback_on_a_target_that_moves(integrator, order):
    """From a start off the path, what is missing to e(0) exp(−K t) is the integrator's."""
    _, q, path, _ = ARMS["ur5"]
    start, missing = q + 0.05, []
    for substeps in (4, 8):
        run = track_path(UR5, path[::10], 0.1, start, gain=5.0, integrator=integrator, substeps=substeps, tolerance=1.0)
        missing.append(np.linalg.norm(run.error[-1] - run.error[0] * np.exp(-5.0 * run.t[-1])))
    assert np.log2(missing[0] / missing[1]) == pytest.approx(order, abs=0.3)


def test_the_secondary_task_disturbs_the_tool_by_the_integrator_alone():
    """Heun: a hundred times the weight, and the tool is off by no more than its step explains."""
    arm, q, path, _ = ARMS["panda"]
    weight = np.array([0.0, 1.0, 10.0])
    coarse, fine = (
        track_path(arm, path, 0.01, q, gain=0.0, prefer="limits", weight=weight, integrator="heun", substeps=k).error
        for k in (1, 4)
    )
    assert np.abs(coarse).max() < 1e-4
    ratio = np.abs(coarse).max(axis=(1, 2)) / np.abs(fine).max(axis=(1, 2))
    assert (ratio > 14.0).all()  # 4² = 16: second order, whatever the weight


def test_the_cost_falls():
    """At rest H falls all the time; along a path its end falls with the weight."""
    still = np.repeat(aw.fk(PANDA, Q7)[None], 201, axis=0)
    for prefer in ("limits", "manipulability", PANDA.neutral()):
        run = track_path(PANDA, still, 0.01, Q7, prefer=prefer, weight=2.0)
        assert (np.diff(run.cost) < 0.0).all() and run.position_error.max() < 1e-6
    arm, q, path, _ = ARMS["panda"]
    ends = track_path(arm, path, 0.01, q, prefer="limits", weight=np.array([0.0, 1.0, 5.0, 20.0])).cost[:, -1]
    assert (np.diff(ends) < 0.0).all()


def test_euler_is_the_loop_written_out():
    """The same steps with NumPy's pseudo-inverse; 003's H, its mid-range and its factor 2."""
    q = np.array([-0.5, 0.0, -0.5, -0.5, -0.5, -0.5]) * np.pi
    path = np.linspace(aw.fk(CEA, q)[:3, 3], [0.2, -0.4, 0.7], 101)
    middle, width = (CEA.upper + CEA.lower) / 2, CEA.upper - CEA.lower
    run = track_path(
        CEA,
        path,
        2e-3,
        q,
        gain=50.0,
        prefer=lambda q: (((q - middle) / width) ** 2).sum(),
        weight=3.0,
        integrator="euler",
        tolerance=0.1,
    )
    plain = [q]
    for k in range(100):
        J = aw.jacobian(CEA, q)[:3]
        pseudo = np.linalg.pinv(J)
        wanted = (path[k + 1] - path[k]) / 2e-3 + 50.0 * (path[k] - aw.fk(CEA, q)[:3, 3])
        aside = -3.0 * 2.0 * (q - middle) / width**2
        q = q + 2e-3 * (pseudo @ wanted + aside - pseudo @ (J @ aside))
        plain.append(q)
    assert np.abs(run.q - plain).max() < 1e-11
    assert np.abs(np.diff(run.q, axis=0) / 2e-3 - run.qd[:-1]).max() < 1e-9
    assert run.cost == pytest.approx((((np.array(plain) - middle) / width) ** 2).sum(axis=1))


def test_lanes_are_single_runs_and_the_tape_is_the_loop(monkeypatch):
    arm, q, path, _ = ARMS["panda"]
    shifted = path.copy()
    shifted[:, 2, 3] -= np.linspace(0.0, 0.05, SAMPLES)
    weight = np.linspace(0.0, 8.0, 9)
    both = np.stack([path, shifted])[:, None]
    run = track_path(arm, both, 0.01, q, prefer="limits", weight=weight, substeps=2)
    assert run.q.shape == (2, 9, SAMPLES, 7) and run.within_limits.shape == (2, 9)
    one = track_path(arm, shifted, 0.01, q, prefer="limits", weight=weight[4], substeps=2)
    assert np.abs(run.q[1, 4] - one.q).max() < 1e-12
    monkeypatch.setattr(path_tracking, "backend", lambda: "tape")
    tape = track_path(arm, shifted, 0.01, q, prefer="limits", weight=weight[3:5], substeps=2)
    assert np.abs(tape.q[1] - one.q).max() < 1e-11


def test_substeps_are_finer_samples():
    """Between samples the target moves evenly and turns along the great circle."""
    arm, q, path, options = ARMS["ur5"]
    coarse = track_path(arm, path[::5], 0.05, q, gain=5.0, substeps=5, **options)
    fine = track_path(arm, path, 0.01, q, gain=5.0, **options)
    assert np.abs(coarse.q - fine.q[::5]).max() < 1e-10


def test_a_start_is_found():
    _, _, path, options = ARMS["planar"]
    run = track_path(PLANAR, path, 0.01, **options)
    assert run.position_error.max() < 1e-6
    T = track_path(UR5, ARMS["ur5"][2], 0.01)
    assert T.position_error.max() < 1e-6 and T.within_limits


def test_the_trajectory_goes_through_the_samples():
    arm, q, path, options = ARMS["panda"]
    run = track_path(arm, path, 0.01, q, **options)
    at = run.trajectory.evaluate(run.t)
    assert np.abs(at.q - run.q).max() < 1e-12 and np.abs(at.qd - run.qd).max() < 1e-9
    middle = run.trajectory.evaluate(run.t[:-1] + 0.005).q
    target = straight(path[0], path[-1]).at(np.linspace(0.005, 0.995, SAMPLES - 1)).T
    assert np.abs(aw.fk(arm, middle) - target).max() < 1e-5
    with pytest.raises(aw.InputError, match=r"of one path, this is a batch of shape \(2,\)"):
        _ = track_path(arm, path, 0.01, q, gain=np.array([1.0, 2.0])).trajectory


def test_a_singularity_is_passed_damped_or_refused():
    """Through the base of a folded arm with equal links: undamped the joints would have to turn at once."""
    arm, q = aw.load("planar2"), np.array([0.3, 2.5])
    p = aw.fk(arm, q)[:3, 3]
    path = np.linspace(p, -p, 201)
    run = track_path(arm, path, 0.01, q, axes=["x", "y"])
    assert 0 < run.damped.sum() < 20 and run.damped[100] and 1e-5 < run.position_error.max() < 1e-3
    assert "damped at" in repr(run)
    with pytest.raises(PathError, match="near a singularity") as refused:
        track_path(arm, path, 0.01, q, axes=["x", "y"], damping=0.0)
    assert refused.value.reason == "singular" and refused.value.sigma == pytest.approx(np.linalg.norm(p), rel=0.05)


def test_what_is_out_of_reach_is_named_with_its_place():
    p = aw.fk(PLANAR, Q3)[:3, 3]
    with pytest.raises(PathError, match=r"path: at 8\d\d.\d mm \(sample 4\d, .* out of reach of 'planar3' by") as lost:
        track_path(PLANAR, np.linspace(p, [3.0, 0.0, 0.0], 101), 0.01, Q3, axes=["x", "y"])
    assert lost.value.reason == "reach" and np.abs(lost.value.q[1:]).max() < 0.3  # stretched


def test_too_little_gain_is_named():
    """Euler without feedback drifts off a line that rk4 keeps."""
    arm, q, path, options = ARMS["panda"]
    with pytest.raises(PathError, match="give a higher gain, more substeps") as lost:
        track_path(arm, path[::10], 0.1, q, gain=0.0, integrator="euler", **options)
    assert lost.value.reason == "lag"
    track_path(arm, path[::10], 0.1, q, gain=0.0, **options)
    free = track_path(arm, path[::10], 0.1, q, gain=0.0, integrator="euler", tolerance=np.inf, **options)
    assert free.position_error.max() > 1e-3


@pytest.mark.parametrize(("integrator", "terms"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_a_gain_at_the_edge(integrator, terms):
    """A small error is multiplied by Σ (−K h)ᵏ/k! each step; where that reaches 1 in size, the gain is refused."""
    arm, q, path, _ = ARMS["ur5"]
    limit = STABLE_BELOW[integrator] / 0.01
    with pytest.raises(aw.InputError, match=rf"gain: .* cannot be stable.*stable below {limit:.4g} 1/s"):
        track_path(arm, path, 0.01, q, gain=limit, integrator=integrator)

    def factor(z):
        return sum((-z) ** k / factorial(k) for k in range(terms + 1))

    assert abs(factor(STABLE_BELOW[integrator])) == pytest.approx(1.0, abs=1e-3)
    still = np.repeat(path[:1], 21, axis=0)
    run = track_path(arm, still, 0.01, q + 1e-6, gain=0.97 * limit, integrator=integrator, tolerance=0.01)
    expected = run.error[0] * factor(0.97 * STABLE_BELOW[integrator]) ** np.arange(21)[:, None]
    assert np.abs(run.error - expected).max() < 1e-3 * np.abs(run.error[0]).max()


REFUSED = [
    ({"path": np.full((5, 3), np.nan)}, "path: every entry must be finite"),
    ({"path": np.zeros((5, 2))}, r"path: expected points \(..., 3\) or poses"),
    ({"path": np.zeros((1, 3))}, "path: expected two samples or more"),
    ({"path": np.ones((5, 4, 4))}, "path: the last row of a pose"),
    ({"step": 0.0}, "step: must be finite and > 0"),
    ({"q0": np.zeros(6)}, r"q0: expected shape \(..., 7\)"),
    ({"q0": np.full(7, np.inf)}, "q0: every entry must be finite"),
    ({"q0": Q7 + 0.1}, r"q0: the tool starts .* mm and .* rad off the first sample"),
    ({"gain": -1.0}, "gain: must be ≥ 0"),
    ({"weight": -1.0, "prefer": "limits"}, "weight: must be ≥ 0"),
    ({"weight": 300.0, "prefer": Q7}, "weight: 300 1/s with steps of 0.01 s cannot be stable"),
    ({"integrator": "rk5"}, "integrator: expected 'euler', 'heun' or 'rk4'"),
    ({"substeps": 0}, "substeps: expected a whole number ≥ 1"),
    ({"substeps": 1.5}, "substeps: expected a whole number ≥ 1"),
    ({"tolerance": 0.0}, "tolerance: expected a number > 0"),
    ({"damping": np.nan}, "damping: expected a finite number"),
    ({"axes": ["x", "q"]}, "axes: expected some of x, y, z, rx, ry, rz"),
    ({"weight": np.zeros(0), "prefer": "limits"}, r"batch: nothing to do, the batch has shape \(0,\)"),
    ({"q0": np.zeros((0, 7))}, r"batch: nothing to do, the batch has shape \(0,\)"),
    ({"q0": np.stack([Q7] * 3), "weight": np.ones(2)}, "batch: leading axes do not fit"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_refusals(options, says):
    arm, q, path, _ = ARMS["panda"]
    given = {"path": path, "step": 0.01, "q0": q} | options
    with pytest.raises(aw.InputError, match=says):
        track_path(arm, given.pop("path"), given.pop("step"), given.pop("q0"), **given)


def test_a_turn_that_could_go_either_way_is_refused():
    _, q, path, _ = ARMS["ur5"]
    turned = path[:3].copy()
    turned[2, :3, :3] = turned[2, :3, :3] @ np.diag([-1.0, -1.0, 1.0])
    with pytest.raises(aw.InputError, match=r"path: the target turns by 3.* rad between two samples"):
        track_path(UR5, turned, 0.01, q)


def test_it_cannot_be_traced_and_says_what_can():
    with pytest.raises(aw.TraceError, match="call `joint_rates`"):
        aw.compile(lambda q: track_path(UR5, np.zeros((3, 3)), 0.1, q).q, shapes={"q": 6})


def test_it_says_what_came_of_it():
    arm, q, path, options = ARMS["panda"]
    assert "limits kept" in repr(track_path(arm, path, 0.01, q, **options))
    line = np.linspace([-0.1, -0.7, 0.3], [0.64, -0.1, 1.14], 301)
    q_i = np.array([-0.5, 0.0, -0.5, -0.5, -0.5, -0.5]) * np.pi
    run = track_path(CEA, line, 5e-3, q_i)
    assert not run.within_limits and "joint_5 beyond its limit by 0.3" in repr(run)  # 003, Q10
