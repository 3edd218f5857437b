# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a whole control tick: of the very step that simulations take, by every one of its arguments."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.control import pd_gravity
from armwright.errors import InputError, NotSupportedError
from armwright.graph import compile_function
from armwright.simulation import Drive, Loop, LuGre, Stribeck
from armwright.simulation.system import System


def smooth_friction(q, qd):
    """What dry friction is often taken to be by optimisers."""
    return -2.0 * np.tanh(8.0 * qd) - 0.5 * qd


def pulled(t, q, qd):
    return np.array([10.0 * np.sin(3.0 * t), 5.0, -4.0 * q[0], 0.2, 0.0, qd[0]])


def two_joints():
    return aw.Robot.from_dh(
        [[0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.4, 0.0]],
        masses=[2.0, 1.0],
        coms=[[-0.25, 0.0, 0.0], [-0.2, 0.0, 0.0]],
        inertias=[np.diag([0.01, 0.05, 0.05]), np.diag([0.01, 0.02, 0.02])],
        gravity=[0.0, -9.81, 0.0],
    )


def loops():
    ur5, small = aw.load("ur5"), two_joints()
    return {
        "free": Loop.of(ur5),
        "tanh friction": Loop.of(ur5, external=smooth_friction),
        "substeps": Loop.of(ur5, rate=500.0, substeps=3, external=smooth_friction),
        "wrench of time": Loop.of(small, wrench=pulled),
        "bristles": Loop.of(small, friction=LuGre(1e3, 3.0, 0.5, 2.0, 3.0, 0.1), substeps=2),
        "Stribeck": Loop.of(small, friction=Stribeck(0.5, 2.0, 3.0, 0.1, 0.3)),
        "drives": Loop.of(small, drive=Drive(np.eye(2), [30.0, 30.0], [5.0, 5.0], 0.01, [1.0, 1.0])),
    }


@pytest.fixture(scope="module")
def every():
    return loops()


def differences(function, x, scale=1e-3):
    """∂function/∂x by fourth-order central differences; `scale` is the step."""
    flat = np.ravel(x)
    columns = []
    for e in scale * np.eye(len(flat)):
        f = [function((flat + k * e).reshape(np.shape(x))) for k in (1.0, -1.0, 2.0, -2.0)]
        columns.append((8.0 * (f[0] - f[1]) - (f[2] - f[3])) / (12.0 * scale))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *np.shape(x))


def start(loop, rows=(), seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.8, 0.8, (*rows, loop.size))
    x[..., 2 * loop.n :] *= 1e-3  # bristles bend little
    u = rng.uniform(-20.0, 20.0, (*rows, loop.n))
    return x, u


NAMES = [
    "free",
    "tanh friction",
    "substeps",
    "wrench of time",
    "bristles",
    "Stribeck",
    "drives",
]


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_differences(every, name):
    loop = every[name]
    derivative, step = loop.derivative("x", "u"), loop.step()
    for seed in range(3):
        x, u = start(loop, seed=seed)
        more = [np.array([0.37])] * (len(step.program.inputs) - 2)
        after, A, B = derivative(x, u, *more)
        np.testing.assert_allclose(after, step(x, u, *more), rtol=1e-13, atol=1e-13)
        fine = 1e-6 if loop.size > 2 * loop.n else 1e-3  # bristles bend within micrometres
        for got, want in (
            (A, differences(lambda v, u=u, more=more: step(v, u, *more), x, fine)),
            (B, differences(lambda v, x=x, more=more: step(x, v, *more), u)),
        ):
            assert np.abs(got - want).max() < 1e-6 * max(1.0, np.abs(want).max())


@pytest.mark.parametrize("name", NAMES)
def test_the_step_is_that_of_a_simulation(every, name):
    loop = every[name]
    step = loop.step()
    x, _ = start(loop)
    session = loop.session(x[: loop.n], qd0=x[loop.n : 2 * loop.n], check_step=False)
    x = session.state[0].copy() if session.state.ndim == 2 else session.state.copy()
    for tick in range(3):
        more = [np.array([tick * loop.period])] * (len(step.program.inputs) - 2)
        x = step(x, np.zeros(loop.n), *more)
    session.run(3 * loop.period)
    np.testing.assert_allclose(np.ravel(session.state), x, rtol=1e-10, atol=1e-12)


def test_derivatives_are_those_of_the_whole_graph():
    """A second way: the unrolled step differentiated as one graph."""
    arm = two_joints()
    loop = Loop.of(arm, rate=200.0, external=smooth_friction)
    h = loop.period

    def whole(x, u):
        tree = loop.lanes.tree
        system = System(tree, lambda t, q, qd: u, external=lambda t, q, qd, tau: smooth_friction(q, qd))
        return loop.method.step(system, 0.0, x, h)[0]

    graph = compile_function(whole, {"x": (4,), "u": (2,)})
    slopes = graph.derivative(("x", "u"))
    rows = start(loop, (50,))
    after, A, B = loop.derivative("x", "u")(*rows)
    np.testing.assert_allclose(after, graph(*rows), rtol=1e-13, atol=1e-13)
    for got, want in zip((A, B), slopes(*rows), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def test_derivatives_by_the_gains_of_a_law():
    loop = Loop.of(two_joints(), pd_gravity([50.0, 30.0], [5.0, 3.0]))
    kernel = loop.derivative("x", "u", "gains")
    names = [signal.name for signal in kernel.program.inputs]
    assert names == ["x", "t", "ref", "gain_kp", "gain_kd"]
    rng = np.random.default_rng(2)
    x, ref, kp, kd = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 6), np.array([50.0, 30.0]), np.array([5.0, 3.0])
    t = np.zeros(1)
    after, u, A, B, by_kp, by_kd = kernel(x, t, ref, kp, kd)
    for got, want in zip((after, A, B), loop.derivative("x", "u")(x, u), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    for got, place in ((by_kp, 3), (by_kd, 4)):
        given = [x, t, ref, kp, kd]

        def at(gain, place=place, given=given):
            return kernel(*given[:place], gain, *given[place + 1 :])[0]

        np.testing.assert_allclose(got, differences(at, given[place], 1.0), rtol=1e-7, atol=1e-10)


def test_batches_backends_and_tracing_give_the_same(monkeypatch):
    loop = Loop.of(two_joints(), external=smooth_friction)
    kernel = loop.derivative("x", "u")
    x, u = start(loop, (19,))
    together = kernel(x, u)
    for row in (0, 7, 18):
        for got, want in zip(together, kernel(x[row], u[row]), strict=True):
            np.testing.assert_allclose(got[row], want, rtol=1e-12, atol=1e-14)
    whole = compile_function(lambda x, u: kernel(x, u), {"x": (4,), "u": (2,)}, name="whole")  # called with symbols
    for got, want in zip(whole(x, u), together, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
    assert "step" in kernel.source("c")
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    from armwright.graph import kernel as kernel_module

    monkeypatch.setattr(kernel_module, "_warned", True)
    other = type(kernel)(kernel.program)
    for got, want in zip(other(x, u), together, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    x[3, 1] = np.nan
    with pytest.raises(InputError, match=r"x\[3, 1\]"):
        kernel(x, u)


def test_the_product_of_many_steps_is_the_derivative_of_a_simulation():
    loop = Loop.of(two_joints(), external=smooth_friction)
    derivative, step = loop.derivative("x"), loop.step()
    x0, u = start(loop)

    def run(x):
        for _ in range(40):
            x = step(x, u)
        return x

    D, x = np.eye(4), x0
    for _ in range(40):
        x, A = derivative(x, u)
        D = A @ D
    np.testing.assert_allclose(D, differences(run, x0, 1e-3), rtol=1e-6, atol=1e-8)


def test_what_has_no_derivative_is_refused():
    arm = two_joints()
    for options in ({"integrator": "semi-implicit"}, {"limits": "clamp"}, {"continuous": True}):
        with pytest.raises(NotSupportedError, match=r"derivative of a step: .* use integrator='rk4'"):
            Loop.of(arm, **options).derivative("x")
    for names in ((), ("y",), ("x", "x")):
        with pytest.raises(InputError, match="names must be some of x, u, gains"):
            Loop.of(arm).derivative(*names)


def test_loops_that_do_not_differ_in_the_step_share_a_kernel():
    arm = two_joints()
    one = Loop.of(arm, external=smooth_friction).derivative("x", "u")
    assert Loop.of(arm, pd_gravity(5.0, 1.0), external=smooth_friction).derivative("x", "u") is one
    assert Loop.of(arm, rate=500.0, external=smooth_friction).derivative("x", "u") is not one
    assert Loop.of(arm, substeps=2, external=smooth_friction).derivative("x", "u") is not one
