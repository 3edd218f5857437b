# SPDX-License-Identifier: Apache-2.0
"""Functions that keep state in Python are called at every tick, or refused: tracing them would freeze it silently."""

from __future__ import annotations

import functools
import itertools
import random
import threading
import time
import types
import warnings
from collections import deque

import numpy as np
import pytest

import armwright as aw
from armwright import contact, control
from armwright.contact import observers
from armwright.graph.purity import traced_purely
from armwright.simulation import simulate

ROBOT = aw.load("planar2")
TARGET, START = [0.3, -0.2], [0.1, 0.0]
TICKS = 20
COUNT = 0
NOTED = types.SimpleNamespace(calls=0)


class Integrator:
    """A PI law as people write it first."""

    made = 0

    def __init__(self):
        self.total, self.calls, self.log = np.zeros(2), 0, []

    def rebinding(self, q, qd, ref, dt):
        self.total = self.total + dt * (ref.q - q)
        return 20.0 * (ref.q - q) - 2.0 * qd + 50.0 * self.total

    def in_place(self, q, qd, ref, dt):
        self.total += dt * (ref.q - q)
        return 20.0 * (ref.q - q) - 2.0 * qd + 50.0 * self.total

    def late(self, q, qd):
        self.calls += 1
        return (-5.0 if self.calls > 10 else -2.0) * qd - q

    def in_a_list(self, q, qd):
        self.log.append(1)
        return -0.1 * len(self.log) * qd - q

    def on_the_class(self, q, qd):
        Integrator.made += 1
        return -0.1 * Integrator.made * qd - q

    def __call__(self, q, qd):
        self.calls += 1
        return -0.1 * self.calls * qd - q


class Slotted:
    __slots__ = ("calls",)

    def __init__(self):
        self.calls = 0

    def law(self, q, qd):
        self.calls += 1
        return -0.1 * self.calls * qd - q


def with_global(q, qd):
    global COUNT
    COUNT += 1
    return -0.1 * COUNT * qd - q


def with_namespace(q, qd):
    NOTED.calls += 1
    return -0.1 * NOTED.calls * qd - q


def with_default(q, qd, *, kept=[0]):  # noqa: B006 - the point
    kept[0] += 1
    return -0.1 * kept[0] * qd - q


def with_attribute(q, qd):
    with_attribute.calls += 1
    return -0.1 * with_attribute.calls * qd - q


with_attribute.calls = 0


def with_closure():
    calls = 0

    def law(q, qd):
        nonlocal calls
        calls += 1
        return -0.1 * calls * qd - q

    return law


def with_enclosed(kept, change):
    def law(q, qd):
        return -0.1 * change(kept) * qd - q

    return law


def popped(line):
    line.append(line[0] + 1)
    return line.popleft()


def counted(where):
    where["n"] = where.get("n", 0) + 1
    return where["n"]


MAKERS = {
    "attribute": lambda: Integrator().rebinding,
    "attribute in place": lambda: Integrator().in_place,
    "counter with a late effect": lambda: Integrator().late,
    "list in an attribute": lambda: Integrator().in_a_list,
    "class attribute": lambda: Integrator().on_the_class,
    "callable object": Integrator,
    "slots": lambda: Slotted().law,
    "partial of a method": lambda: functools.partial(Integrator().late),
    "global": lambda: with_global,
    "namespace": lambda: with_namespace,
    "default": lambda: with_default,
    "attribute of the function": lambda: with_attribute,
    "closure": with_closure,
    "deque": lambda: with_enclosed(deque([1, 2]), popped),
    "dictionary": lambda: with_enclosed({}, counted),
    "generator of numpy": lambda: with_enclosed(np.random.default_rng(1), lambda rng: rng.normal()),
    "random state": lambda: with_enclosed(np.random.RandomState(1), lambda rng: rng.normal()),
    "numpy.random": lambda: with_enclosed(None, lambda _: np.random.normal()),  # noqa: NPY002
    "random": lambda: with_enclosed(None, lambda _: random.random()),
    "clock": lambda: with_enclosed(None, lambda _: 1e-12 * time.perf_counter_ns()),
    "iterator": lambda: with_enclosed(itertools.count(), next),
}


def forget():
    global COUNT
    COUNT = NOTED.calls = with_attribute.calls = Integrator.made = 0
    with_default.__kwdefaults__["kept"][0] = 0
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)


def by_hand(make, ticks):
    """The torques of a called law: a law that is certainly not traced, as it asks for a float."""
    law = make()

    def called(q, qd, ref, dt):
        float(q[0])
        wanted = {"q": q, "qd": qd, "ref": ref, "dt": dt}
        code = getattr(law, "func", law)
        code = getattr(code, "__func__", vars(type(code)).get("__call__", code))
        code = code if isinstance(code, types.FunctionType) else law
        names = code.__code__.co_varnames[: code.__code__.co_argcount]
        return law(**{k: v for k, v in wanted.items() if k in names})

    return called


EXACT = [name for name in MAKERS if name not in ("clock", "iterator")]


@pytest.mark.parametrize("name", MAKERS)
def test_a_law_that_keeps_state_is_called_and_the_user_is_told_how_to_write_it(name):
    forget()
    told = r"(keeps state in Python|another result).*memory=.*called from Python"
    if name == "attribute in place":  # symbols cannot even be written there
        told = "cannot be traced .*called from Python"
    with pytest.warns(aw.ArmwrightWarning, match=told):
        run = simulate(ROBOT, MAKERS[name](), TARGET, TICKS * 1e-3, q0=START, qd0=[1.0, -1.0])
    torques = run["tau"][:TICKS]
    assert np.isfinite(torques).all()
    if name in EXACT:
        forget()
        with pytest.warns(aw.ArmwrightWarning, match="cannot be traced"):
            expected = simulate(ROBOT, by_hand(MAKERS[name], TICKS), TARGET, TICKS * 1e-3, q0=START, qd0=[1.0, -1.0])
        np.testing.assert_array_equal(torques, expected["tau"][:TICKS])  # as if it had never been traced


@pytest.mark.parametrize("options", [{"count": 3}, {"continuous": True}], ids=str)
def test_where_python_cannot_be_called_it_is_refused(options):
    law = Integrator()
    with pytest.raises(aw.TraceError, match=r"law 'rebinding' keeps state in Python \(.*total.*memory="):
        simulate(ROBOT, law.rebinding, TARGET, 0.01, q0=START, **options)
    np.testing.assert_array_equal(law.total, np.zeros(2))  # as it was


def test_the_advice_works():
    def integrating(q, qd, ref, dt, total):
        total = total + dt * (ref.q - q)
        return 20.0 * (ref.q - q) - 2.0 * qd + 50.0 * total, {"total": total}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = simulate(ROBOT, control.as_law(integrating, memory={"total": 0.0}), TARGET, 0.05, q0=START)
    with pytest.warns(aw.ArmwrightWarning, match="keeps state"):
        called = simulate(ROBOT, Integrator().rebinding, TARGET, 0.05, q0=START)
    np.testing.assert_allclose(called["q"], traced["q"], atol=1e-12)
    assert np.abs(traced["tau"] - traced["tau"][0]).max() > 0.01


def cached(law):
    known = {}

    def remembering(q, qd):
        known.setdefault("gain", 2.0)
        return law(q, qd, known["gain"])

    return remembering


def damp(q, qd, gain):
    return -gain * qd - q


def test_a_harmless_cache_is_called_unless_vouched_for():
    with pytest.warns(aw.ArmwrightWarning, match=r"known.*armwright\.pure"):
        called = simulate(ROBOT, cached(damp), TARGET, 0.02, q0=START)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = simulate(ROBOT, aw.pure(cached(damp)), TARGET, 0.02, q0=START)
        method = aw.pure(types.MethodType(lambda self, q, qd: damp(q, qd, self.setdefault("gain", 2.0)), {}))
        simulate(ROBOT, method, TARGET, 0.02, q0=START, count=2)
    np.testing.assert_allclose(called["q"], traced["q"], atol=1e-12)


@functools.lru_cache
def stiffness(kind):
    return {"soft": 3.0}[kind]


class Fixed:
    """Holds numbers, changes nothing: stays traced."""

    def __init__(self):
        self.kp, self.scratch = np.array([3.0, 4.0]), 0.0

    def law(self, q, qd, ref):
        self.scratch = 0.0  # the same as before
        return self.kp * (ref.q - q) - qd


@pytest.mark.parametrize(
    "law",
    [
        Fixed().law,
        lambda q, qd: -stiffness("soft") * q - qd,
        lambda arm, q, qd, ref: aw.dynamics.rnea(arm, q, qd, 10.0 * (ref.q - q)),
        control.damping(lambda t: 1.0 + t),
        control.computed_torque(100.0, 20.0),
    ],
    ids=["object", "lru_cache", "model", "schedule", "library"],
)
def test_laws_that_keep_nothing_are_traced(law):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(ROBOT, law, TARGET, 0.01, q0=START)


def counting():
    calls = [0]

    def function(q):
        calls[0] += 1
        return np.array([q[0] + calls[0], q[1]])

    return function, calls


def test_compiled_functions_events_forces_and_monitors_are_refused():
    function, calls = counting()
    with pytest.raises(aw.TraceError, match=r"keeps state in Python .calls"):
        aw.compile(function, ROBOT)
    assert calls == [0]
    with pytest.raises(aw.TraceError, match="another result"):
        aw.compile(lambda q: q + time.perf_counter_ns(), ROBOT)
    aw.compile(aw.pure(counting()[0]), ROBOT)
    with pytest.raises(aw.TraceError, match="law 'function' keeps state"):
        control.law_kernel(counting()[0], ROBOT)
    pd, (step, _) = control.pd(10.0, 2.0), counting()
    with pytest.raises(aw.TraceError, match="external keeps state"):
        simulate(ROBOT, pd, TARGET, 0.01, external=counting()[0])
    with pytest.raises(aw.TraceError, match="event 'near' keeps state"):
        simulate(ROBOT, pd, TARGET, 0.01, events={"near": lambda q: step(q)[0]})
    monitor = contact.Monitor("mine", lambda q: {"level": step(q)}, outputs=("level",))
    with pytest.raises(aw.TraceError, match=r"mine.*keeps state"):
        simulate(ROBOT, pd, TARGET, 0.01, monitors=[monitor])
    rest = np.zeros((4, 2))
    with pytest.raises(aw.TraceError, match=r"mine.*keeps state"):
        contact.run_monitors(monitor, ROBOT, np.arange(4) * 1e-3, rest, rest, rest)
    noisy = observers.momentum_observer(5.0, friction=lambda qd: np.random.normal() * qd)  # noqa: NPY002
    with pytest.raises(aw.TraceError, match=r"keeps state in Python .numpy.random"):
        simulate(ROBOT, pd, TARGET, 0.01, monitors=[noisy])


@pytest.mark.parametrize("traced", [True, False])
def test_what_is_measured_cannot_be_changed_in_place(traced):
    def law(q, qd, ref):
        if not traced:
            float(q[0])
        q -= ref.q
        return -q - qd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(aw.InputError, match=r"law 'law' changes what it was given in place .*q = q.copy"):
            simulate(ROBOT, law, TARGET, 0.01, q0=START)


def test_numbers_that_another_thread_draws_are_not_laid_at_the_functions_door():
    """The generators of the process are everybody's: that one moved while tracing does not tell who moved it."""
    traced = 0

    def meanwhile():
        """Draw as another thread would, in the midst of the first trace."""
        nonlocal traced
        traced += 1
        if traced == 1:
            thread = threading.Thread(target=random.random)
            thread.start()
            thread.join()
        return "program"

    def innocent(q):
        return 2.0 * q

    random.seed(5)
    assert traced_purely([innocent], meanwhile, str, "innocent") == "program"
    with pytest.raises(aw.TraceError, match=r"keeps state in Python \(random changed"):
        traced_purely([innocent], random.random, str, "guilty")
