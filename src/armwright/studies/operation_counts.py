# SPDX-License-Identifier: Apache-2.0
"""Operation counts of the documents compared with ours: 001 Tables 1 and 2, 002 Table 6.2.

Three ways to count one source, from the crudest to what really runs:

* *loops*: every operation that the written loops perform, zeros and ones included;
* *by hand*: products with 0 and ±1 and sums with 0 are free, nothing is shared — the rule behind the printed tables;
* *compiled*: what is left after folding, sharing and (where exact) regrouping the inertias.

M are multiplications and divisions, A additions and subtractions, as in 001.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.aba import aba
from armwright.dynamics.crba import crba_forward
from armwright.dynamics.methods import METHODS
from armwright.dynamics.mrnea import mrnea_forward
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.poe import poe_inverse
from armwright.dynamics.walker_orin import walker_orin_forward
from armwright.errors import InputError, NotSupportedError
from armwright.graph.array import inputs_of
from armwright.graph.by_name import call_by_name
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import LEAVES, TRIGONOMETRIC, Op
from armwright.graph.traced_program import Counts, ProgramSignal, finish, trace
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Friction
from armwright.robot.tree import Tree, tree_of

if TYPE_CHECKING:
    from armwright.graph.expr import Value


class Unshared(Graph):
    """A graph that folds constants, zeros and ones but shares nothing except sines: counting by hand."""

    def node(self, op: Op, args: tuple[int, ...] = (), value: Value = None) -> Expr:
        """Append, unless it is a leaf or a sine or cosine of a known argument."""
        if op in LEAVES or op in TRIGONOMETRIC:
            return super().node(op, args, value)
        return self.nodes[self.append(op, args, value)]


class CountTally(NamedTuple):
    """One function of one arm counted three ways (`hand` and `loops` without regrouping)."""

    loops: Counts
    hand: Counts
    compiled: Counts


def pair(counts: Counts) -> tuple[int, int]:
    """Return the documents' (M, A) of a count: divisions are multiplications, signs are free."""
    return counts.mul + counts.div, counts.add


def tally(
    function: Callable[..., Any],
    robot: Robot,
    signature: str,
    *,
    regroup: bool = True,
    options: Mapping[str, Any] | None = None,
) -> CountTally:
    """Count `function(arm, …)` for one robot.

    Args:
        function: an algorithm of the library; its first parameter is the arm.
        robot: whose constants are folded in.
        signature: names of its array arguments, e.g. ``"q qd tau"``, all of shape (n,).
        regroup: whether the compiled form may regroup the inertias (exact for tau, M and qdd).
        options: further keyword arguments, constant.
    """
    shapes = dict.fromkeys(signature.split(), (robot.n,))
    constants = dict(options or {})
    tree = tree_of(robot)

    def on(arm: Tree) -> Callable[..., Any]:
        return lambda **arrays: function(arm, **arrays, **constants)

    loops = trace(named(on(tree), shapes), shapes, naive=True).counts
    lean = tree_of(robot, regroup=True) if regroup else tree
    compiled = trace(named(on(lean), shapes), shapes).counts
    return CountTally(loops, by_hand(named(on(tree), shapes), shapes), compiled)


def loops_of(function: Callable[..., Any], robot: Robot, signature: str) -> Counts:
    """Count every operation that the written loops of `function(arm, …)` perform, as in `tally`."""
    shapes, tree = dict.fromkeys(signature.split(), (robot.n,)), tree_of(robot)
    return trace(named(lambda **arrays: function(tree, **arrays), shapes), shapes, naive=True).counts


def named(function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]) -> Callable[..., Any]:
    """Give a ``**arrays`` function the signature that tracing looks for."""
    kind = inspect.Parameter.KEYWORD_ONLY
    function.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in shapes])  # type: ignore[attr-defined]
    return function


def by_hand(function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]) -> Counts:
    """Count a function of arrays by hand: 0 and ±1 are free, nothing but sines is shared."""
    graph = Unshared()
    inputs = [ProgramSignal(name, shape) for name, shape in shapes.items()]
    value = call_by_name(function, {s.name: inputs_of(graph, k, s.shape) for k, s in enumerate(inputs)})
    values = value if isinstance(value, tuple) else (value,)
    outputs = [(f"out{k}", item) for k, item in enumerate(values)]
    return finish(graph, "by_hand", inputs, outputs, single=False).counts


def truncated(robot: Robot, n: int) -> Robot:
    """Return the first n joints of a serial arm, as 001 Table 1 takes them; its tool moves to the last body kept."""
    if not robot.is_chain or not 1 <= n <= robot.n:
        raise InputError(f"{robot.name}: only a serial arm can be cut, to 1…{robot.n} joints; asked for {n}")
    return replace(
        robot,
        name=f"{robot.name}[{n}]",
        joints=robot.joints[:n],
        bodies=robot.bodies[:n],
        tip=n - 1,
        measured=None,
        T_tip_tool=robot.T_tip_tool if n == robot.n else np.eye(4),
        actuators=robot.actuators.of(range(n)),
    )


def bare(robot: Robot) -> Robot:
    """Return the same arm without friction, rotors and gears, which no printed count includes."""
    joints = tuple(replace(joint, friction=Friction()) for joint in robot.joints)
    return replace(robot, joints=joints, actuators=Actuators.none(robot.n))


class CountRow(NamedTuple):
    """Counts of one formulation for one problem; `reason` says why there are none."""

    problem: str
    formulation: str
    tally: CountTally | None
    reason: str = ""


def formulations(robot: Robot) -> list[CountRow]:
    """Count every formulation that can treat `robot`, friction and rotors included as the sheet has them."""
    rows = []
    for job, signature in (("inverse", "q qd qdd"), ("forward", "q qd tau")):
        problem = f"{job} dynamics"
        for method in METHODS.values():
            function = getattr(method, job)
            if function is None:
                continue
            try:
                rows.append(CountRow(problem, method.name, tally(function, robot, signature, options=method.options)))
            except NotSupportedError as error:
                rows.append(CountRow(problem, method.name, None, str(error)))
    return rows


TABLE_1 = {3: (241, 188), 4: (484, 376), 5: (854, 662), 6: (1356, 1038)}
"""001 Table 1: joints → (M, A) of forward dynamics by mRNEA, printed under the heading O(n)."""


@dataclass(frozen=True, slots=True)
class PrintedCount:
    """A row of 001 Table 2 with what is known about it.

    Attributes:
        method: as the table names it.
        ours: our forward dynamics by the same method and its options, None where the library has none.
        printed: (M, A) under the title "n = 6".
        meaning: what the pair really is.
        law: coefficients of M = a·n + b, A = c·n + d from the wider literature (originals not consulted), or None.
    """

    method: str
    ours: tuple[Callable[..., Any], dict[str, Any]] | None
    printed: tuple[int, int]
    meaning: str
    law: tuple[int, int, int, int] | None = None

    def at(self, n: int) -> tuple[int, int] | None:
        """Return (M, A) of the linear law at n joints."""
        if self.law is None:
            return None
        a, b, c, d = self.law
        return a * n + b, c * n + d


_ORIGINAL = "the implementation of 1982 at n = 6"
TABLE_2 = (
    PrintedCount("Walker–Orin 1", (walker_orin_forward, {"variant": 1}), (3418, 2502), _ORIGINAL),
    PrintedCount("Walker–Orin 2", (walker_orin_forward, {"variant": 2}), (2308, 1692), _ORIGINAL),
    PrintedCount("Walker–Orin 3", (walker_orin_forward, {"variant": 3}), (1627, 1255), _ORIGINAL),
    PrintedCount("Featherstone", (aba, {}), (2190, 1915), "its linear law at n = 12", (199, -198, 174, -173)),
    PrintedCount("Saha", None, (2008, 1919), "its linear law at n = 12", (191, -284, 187, -325)),
    PrintedCount("Mohan–Saha", None, (1948, 1667), "its linear law at n = 12", (173, -128, 150, -133)),
    PrintedCount(
        "ERFD (mRNEA)",
        (mrnea_forward, {"expanded": True}),
        (1356, 1038),
        "RL15 only; r, p_e, I given for nothing; half of H",
    ),
)
"""001 Table 2, titled "n = 6"."""

TABLE_6_2 = {"Newton–Euler": 16080, "product of exponentials": 39001}
"""002 Table 6.2: arithmetic operations in the final, fully expanded equations of the IRB 140."""


def table_1(robot: Robot) -> list[dict[str, Any]]:
    """Return 001 Table 1: forward dynamics by mRNEA for the first 3…6 joints of a serial arm (RL15 in the document).

    Each row has ``n``, ``printed`` (M, A), ``as_published`` (our count by hand of the expanded sums that the document
    evaluates, from q to q̈, geometry and inertia included), ``lean`` (the same method with shared recursions, by hand)
    and ``compiled``. The document's own figure leaves out the rotation of r, p_e and I into the base and half of H.
    """
    rows = []
    for n, printed in TABLE_1.items():
        if n <= robot.n:
            arm = bare(truncated(robot, n))
            published = tally(mrnea_forward, arm, "q qd tau", options={"expanded": True})
            lean = tally(mrnea_forward, arm, "q qd tau")
            rows.append(
                {
                    "n": n,
                    "printed": printed,
                    "as_published": pair(published.hand),
                    "lean": pair(lean.hand),
                    "compiled": pair(lean.compiled),
                }
            )
    return rows


def growth(rows: list[dict[str, Any]], key: str = "printed") -> float:
    """Return the exponent of M between the first and last row of `table_1`: 1 would be the O(n) of the heading."""
    first, last = rows[0], rows[-1]
    return float(np.log(last[key][0] / first[key][0]) / np.log(last["n"] / first["n"]))


def table_2(robot: Robot) -> list[dict[str, Any]]:
    """Return 001 Table 2 with its audit: per method the printed pair, what it is, its law at n = 6, and our counts.

    A last row adds what the document does not list: composite bodies in link frames with LᵀDL, our default.
    """
    arm, rows = bare(robot), []
    ours = PrintedCount("CRBA + LᵀDL, link frames", (crba_forward, {}), (0, 0), "not in the document")
    for row in (*TABLE_2, ours):
        counted = None if row.ours is None else tally(row.ours[0], arm, "q qd tau", options=row.ours[1])
        rows.append(
            {
                "method": row.method,
                "printed": row.printed if row.printed[0] else None,
                "meaning": row.meaning,
                "law_at_6": row.at(6),
                "law_at_12": row.at(12),
                "by_hand": None if counted is None else pair(counted.hand),
                "compiled": None if counted is None else pair(counted.compiled),
            }
        )
    return rows


def table_6_2(robot: Robot) -> list[dict[str, Any]]:
    """Return 002 Table 6.2: operations (M + A) of inverse dynamics, Newton–Euler against product of exponentials.

    The document counts expanded symbolic equations; the same methods evaluated as recursions need a small part of it.
    """
    arm, rows = bare(robot), []
    for (method, printed), function in zip(TABLE_6_2.items(), (rnea, poe_inverse), strict=True):
        counted = tally(function, arm, "q qd qdd")
        rows.append(
            {
                "method": method,
                "printed": printed,
                "loops": sum(pair(counted.loops)),
                "by_hand": sum(pair(counted.hand)),
                "compiled": sum(pair(counted.compiled)),
            }
        )
    return rows
