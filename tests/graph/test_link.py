# SPDX-License-Identifier: Apache-2.0
"""Linked stages give the numbers of the stages one by one, to the last bit; nothing is folded across their border."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.graph.link import link, ordered, split_signals
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage, traced_stage
from armwright.graph.ops import Op


def first(s):
    return {"b": np.array([0.1, 3.0]) * s["a"], "unused": np.exp(s["a"])}


def second(s):
    return {"c": np.array([s["b"][0] * 7.0 + s["k"][0], np.sin(s["b"][1]) / s["a"][0]]), "k": s["k"] + s["b"][:1]}


A = stage(traced_stage(first, {"a": (2,)}, "first"), "before")
B = stage(traced_stage(second, {"a": (2,), "b": (2,), "k": (1,)}, "second"), "before")
PLAN = LoopPlan({"a": 2, "b": 2, "k": 1, "c": 2, "unused": 2}, (A, B), shared=("a",), record=("c", "k"))


def run(plan, rows):
    loop = CompiledLoop(plan, strict=True)
    record, _ = loop.run(len(rows), shared=rows)
    return record[0]


def test_inputs_are_what_is_read_before_it_is_written_and_dead_code_is_gone():
    program = link(PLAN, PLAN.stages, ["c", "k"])
    assert [s.name for s in program.inputs] == ["a", "k"]
    assert Op.EXP not in {node.op for node in program.nodes}


def test_a_linked_loop_is_equal_to_its_stages_to_the_last_bit():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    linked = stage(link(PLAN, PLAN.stages, ["c", "k"]), "before")
    one = LoopPlan({"a": 2, "k": 1, "c": 2}, (linked,), shared=("a",), record=("c", "k"))
    np.testing.assert_array_equal(run(one, rows), run(PLAN, rows))


def test_constants_of_two_stages_are_not_merged():
    program = link(PLAN, PLAN.stages, ["c"])
    constants = {node.value for node in program.nodes if node.op is Op.CONST}
    assert {0.1, 7.0} <= constants  # folded, 0.7000000000000001 times a would be rounded otherwise


def test_a_stage_that_occurs_twice_runs_twice():
    grow = stage(traced_stage(lambda s: {"x": s["x"] * s["x"] + 1.0}, {"x": (1,)}, "grow"), "inside")
    plan = LoopPlan({"x": 1}, (grow, grow, grow))
    program = link(plan, plan.stages, ["x"])
    assert program.counts.mul == 3


def test_pieces_get_names_and_unread_inputs_are_added():
    program = split_signals(link(PLAN, PLAN.stages, ["c", "k"]), {"a": [("left", ()), ("right", (1,))]})
    assert [tuple(s) for s in program.inputs] == [("left", ()), ("right", (1,)), ("k", (1,))]
    more = ordered(
        program, [program.inputs[2], program.inputs[1], program.inputs[0], program.inputs[0]._replace(name="z")]
    )
    assert [s.name for s in more.inputs] == ["k", "right", "left", "z"]
    assert more.counts == program.counts


def test_refusals_name_what_is_wrong():
    with pytest.raises(InputError, match="nothing: no such slot; slots are a, b"):
        link(PLAN, PLAN.stages, ["nothing"])
    program = link(PLAN, PLAN.stages, ["c"])
    with pytest.raises(InputError, match="reads k"):
        ordered(program, program.inputs[:1])
    with pytest.raises(InputError, match="a has 2 elements, its pieces 1"):
        split_signals(program, {"a": [("left", (1,))]})
