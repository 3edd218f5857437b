# SPDX-License-Identifier: Apache-2.0
"""WebAssembly gives the numbers of the strict loop, to the last bit, in a JavaScript engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque
from armwright.errors import NotSupportedError
from armwright.graph.emit import wasm_module as emitter
from armwright.graph.emit.own_functions import DOUBLE, strict_exp, strict_sincos, strict_tanh
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage, traced_stage
from armwright.graph.ops import LEAVES, Op
from support.emit import SAMPLES, programs
from support.wasm import WasmRun, run_wasm

RNG = np.random.default_rng(3)
ENDS = [0.0, -0.0, 1e-310, 710.0, -720.0, -745.1, 1e300, -1e300, np.inf, -np.inf, np.nan]
HARD = np.concatenate([RNG.normal(size=500), RNG.normal(size=100) * 1e-8, RNG.uniform(-700.0, 700.0, 500), ENDS])
Q0 = np.array([0.3, -0.9, 1.2, -0.6, 0.8, 0.2])


def one(function, inputs=1):
    part = stage(traced_stage(lambda s: {"y": np.array([function(*s["x"])])}, {"x": (inputs,)}, "tick"), "before")
    return LoopPlan({"x": inputs, "y": 1}, (part,), shared=("x",), record=("y",))


def as_plan(program):
    inputs, outputs = [s.name for s in program.inputs], [f"out_{s.name}" for s in program.outputs]
    slots = dict(zip(inputs + outputs, [s.size for s in (*program.inputs, *program.outputs)], strict=True))
    writes = {s.name: f"out_{s.name}" for s in program.outputs}
    return LoopPlan(slots, (stage(program, "before", {}, writes),), shared=tuple(inputs), record=tuple(outputs))


def strict(plan, rows, start=None):
    loop = CompiledLoop(plan, strict=True)
    for name, value in (start or {}).items():
        loop.set(name, np.ravel(value))
    return loop.run(len(rows), shared=np.ascontiguousarray(rows))[0][0]


def test_our_own_functions_are_the_reference_to_the_last_bit(tmp_path):
    near = HARD[np.abs(HARD) < DOUBLE.far]
    cases = [
        (np.exp, HARD, strict_exp),
        (np.tanh, HARD, strict_tanh),
        (np.sin, near, lambda x: strict_sincos(x)[0]),
        (np.cos, near, lambda x: strict_sincos(x)[1]),
        (lambda x: np.sin(x) - 2.0 * np.cos(x), near, lambda x: strict_sincos(x)[0] - 2.0 * strict_sincos(x)[1]),
    ]
    made = run_wasm([WasmRun(one(function), x[:, None]) for function, x, _ in cases], tmp_path)
    for (function, x, reference), y in zip(cases, made, strict=True):
        np.testing.assert_array_equal(y[:, 0], reference(x), err_msg=str(function))


def test_what_the_host_is_asked_for_is_near_the_truth(tmp_path):
    far = np.array([DOUBLE.far, -3e7, 1e15])
    positive = np.abs(HARD[np.isfinite(HARD)]) + 1e-3
    made = run_wasm(
        [
            WasmRun(one(np.sin), far[:, None]),
            WasmRun(one(np.log), positive[:, None]),
            WasmRun(one(np.arctan2, 2), HARD[:1000].reshape(500, 2)),
        ],
        tmp_path,
    )
    for got, truth in zip(
        made, (np.sin(far), np.log(positive), np.arctan2(*HARD[:1000].reshape(500, 2).T)), strict=True
    ):
        np.testing.assert_allclose(got[:, 0], truth, rtol=5e-16, atol=5e-16)


def test_choices_fall_as_in_the_loop(tmp_path):
    ends = np.array([(a, b) for a in ENDS for b in ENDS])
    plans = [one(np.minimum, 2), one(np.maximum, 2), one(lambda a, b: np.where((a < b) | ~(a == b), a, b), 2)]
    for plan, y in zip(plans, run_wasm([WasmRun(plan, ends) for plan in plans], tmp_path), strict=True):
        expected = strict(plan, ends)
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(expected[~np.isnan(y)]))


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=st.lists(programs(), min_size=12, max_size=12))
def test_random_programs_with_every_operation(made, tmp_path_factory):
    plans = [as_plan(program) for program in made]
    runs = [WasmRun(plan, SAMPLES) for plan in plans]
    for plan, y in zip(plans, run_wasm(runs, tmp_path_factory.mktemp("wasm")), strict=True):
        asks = {node.op for part in plan.stages for node in part.program.nodes} & {Op.LOG, Op.ATAN2}
        near = {"rtol": 1e-9, "atol": 1e-12} if asks else {"rtol": 0.0, "atol": 0.0}  # of the host's last bit
        np.testing.assert_allclose(y, strict(plan, SAMPLES), **near)


def test_every_operation_is_written_or_refused_by_name():
    written = {*emitter._SIMPLE, *emitter.OWN, Op.LOG, Op.ATAN2, Op.SIN, Op.COS, Op.MIN, Op.MAX, Op.SELECT}
    assert written | LEAVES == set(Op)


def test_ten_seconds_of_an_arm_are_the_strict_loop(tmp_path):
    """UR5 with computed torque, momentum observer, detector and RK4: in every row, every number."""
    bands = np.full((5, 6), 0.1)
    loop = aw.Loop.of(
        aw.load("ur5"),
        computed_torque(400.0, 40.0),
        external=lambda arm, t, q, qd, tau: np.where((t > 3.0) & (t < 3.5), 6.0, 0.0) * np.ones(6),
        monitors=(momentum_observer(30.0), two_speed_detector(bands, bands)),
        stop_on_alarm=False,
        strict=True,
    )
    program = loop.session(q0=Q0).program("tick")
    t = 1e-3 * np.arange(10_000)[:, None]
    reference = {
        "q_ref": Q0 + 0.4 * np.sin(t),
        "qd_ref": 0.4 * np.cos(t) * np.ones(6),
        "qdd_ref": -0.4 * np.sin(t) * np.ones(6),
    }
    (record,) = run_wasm([WasmRun(program.plan, np.hstack(list(reference.values())), program.starts)], tmp_path)
    out = program.run(reference)
    for name, where in program.columns(program.outputs).items():
        np.testing.assert_array_equal(record[:, where], out[name].reshape(len(t), -1), err_msg=name)
    assert (out["alarm"] >= 0.0).any() and (out["alarm"] < 0.0).any()
    assert (tmp_path / "0.wasm").stat().st_size <= 20_000


def test_stages_write_what_they_read_and_run_in_order(tmp_path):
    swap = stage(traced_stage(lambda s: {"a": s["b"], "b": s["a"]}, {"a": (1,), "b": (1,)}, "swap"), "before")
    grow = stage(traced_stage(lambda s: {"a": 2.0 * s["a"] + s["k"]}, {"a": (1,), "k": (1,)}, "grow"), "before")
    plan = LoopPlan({"a": 1, "b": 1, "k": 1}, (swap, grow), shared=("k",), record=("a", "b"))
    rows, start = np.array([[1.0], [10.0], [100.0]]), {"a": [3.0], "b": [5.0]}
    (made,) = run_wasm([WasmRun(plan, rows, start)], tmp_path)
    assert made.tolist() == [[11.0, 3.0], [16.0, 11.0], [122.0, 16.0]]
    np.testing.assert_array_equal(made, strict(plan, rows, start))


def test_names_that_clash_are_refused():
    part = one(np.sin).stages[0]
    with pytest.raises(NotSupportedError, match="names of their own"):
        emitter.wasm_module(LoopPlan({"x": 1, "y": 1}, (part, part)))
