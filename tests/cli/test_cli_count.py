# SPDX-License-Identifier: Apache-2.0
"""Operation counts: the documents' tables as printed, their audit, and that our own counts are what the code does."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.dynamics.crba import crba, crba_forward
from armwright.dynamics.mrnea import mrnea_forward
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError
from armwright.robot.kernels import kernel
from armwright.studies import operation_counts as study


@pytest.fixture(scope="module")
def rl15():
    return study.bare(aw.load("rl15"))


def test_the_printed_law_values_are_those_of_twelve_joints():
    laws = [row for row in study.TABLE_2 if row.law is not None]
    assert len(laws) == 3
    for row in laws:
        assert row.at(12) == row.printed
        assert row.at(6) != row.printed
        assert row.at(6)[0] < study.TABLE_1[6][0]  # at n = 6 all three need fewer multiplications than ERFD


def test_table_1_does_not_grow_linearly(rl15):
    rows = [{"n": n, "printed": pair} for n, pair in study.TABLE_1.items()]
    assert study.growth(rows) == pytest.approx(2.49, abs=0.005)
    ours = study.table_1(rl15)
    assert [row["n"] for row in ours] == [3, 4, 5, 6]
    for row in ours:  # each way of counting finds less to do than the one before
        assert row["compiled"][0] < row["lean"][0] <= row["as_published"][0]


def test_counts_shrink_from_loops_to_compiled_code(rl15):
    forward = [(function, "q qd tau") for function in (crba_forward, mrnea_forward)]
    for function, signature in (*forward, (rnea, "q qd qdd"), (crba, "q")):
        counted = study.tally(function, rl15, signature)
        assert counted.loops.flops > counted.hand.flops > counted.compiled.flops


def test_the_compiled_count_is_that_of_the_kernel_that_runs(rl15):
    counted = study.tally(rnea, rl15, "q qd qdd")
    assert counted.compiled == kernel(rl15, rnea, regroup=True).counts


def test_loops_are_counted_as_written():
    """A 3×3 product by loops is 27 multiplications and 18 additions, whatever is in it."""
    robot = aw.load("planar2")

    def product(arm, q):
        c, s = np.cos(q[0]), np.sin(q[0])
        R = np.array([[c, -s, 0.0 * c], [s, c, 0.0 * c], [0.0 * c, 0.0 * c, 1.0 + 0.0 * c]])
        return R @ R

    counted = study.tally(product, robot, "q", regroup=False)
    extra = 5  # the five products with 0 that fill the matrix
    assert (counted.loops.mul, counted.loops.trig) == (27 + extra, 2)
    assert counted.loops.add in (18 + 1, 27 + 1)  # NumPy starts its sums from 0 or from the first product
    assert (counted.hand.mul, counted.hand.add, counted.hand.trig) == (8, 4, 2)
    assert (counted.compiled.mul, counted.compiled.add, counted.compiled.trig) == (3, 2, 2)


def test_exponentials_cost_more_than_twice_newton_euler():
    rows = study.table_6_2(aw.load("irb140"))
    assert rows[1]["printed"] / rows[0]["printed"] == pytest.approx(2.43, abs=0.005)
    for way in ("loops", "by_hand", "compiled"):
        assert rows[1][way] > 2 * rows[0][way]
        assert rows[0][way] < rows[0]["printed"]


def test_truncated_arm_keeps_the_first_joints():
    robot = aw.load("ur5")
    short = study.truncated(robot, 3)
    assert short.n == 3
    q = np.array([0.3, -0.4, 0.5])
    whole = aw.fk(robot, np.array([*q, 0.0, 0.0, 0.0]), frame=robot.bodies[2].name)
    assert np.allclose(aw.fk(short, q), whole, atol=1e-15)
    with pytest.raises(InputError, match="1…6"):
        study.truncated(robot, 7)


def test_count_command_prints_all_formulations_and_the_three_tables(capsys):
    assert main(["count", "planar2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {row["formulation"] for row in answer["formulations"]} == set(aw.METHODS)
    assert set(answer["documents"]) == {"001 Table 1", "001 Table 2", "002 Table 6.2"}
    assert main(["count", "planar2", "--no-documents"]) == 0
    text = capsys.readouterr().out
    assert "walker-orin-2" in text
    assert "Table" not in text
