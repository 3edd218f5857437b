# SPDX-License-Identifier: Apache-2.0
"""One iteration of iLQR (DDP with the dynamics linearised) over a whole horizon, compiled.

    minimise Σ_k ½ (x_k − g_k)ᵀ Q_k (x_k − g_k) + ½ (u_k − w_k)ᵀ R_k (u_k − w_k) + ½ ρ |x_k beyond [lower_k, upper_k]|²

with x_(k+1) = step(x_k, u_k), k = 0 … N, Q and R diagonal, and |u_k| ≤ limit held exactly. The sweep back from the end
keeps the quadratic value function ½ xᵀV x + vᵀx of Gauss–Newton and gives u = u_k + α k_k + K_k (x − x_k); the torques'
limits are met by an active set (Tassa, Mansard and Todorov 2014, with the set found in `ROUNDS` rounds). The sweep
forward tries `STEPS` step lengths α at once, one in each lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from armwright.errors import NotSupportedError
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, Slots, Stage, stage, traced_stage
from armwright.spatial.linear import ltdl_solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

STEPS = 8  # step lengths that are tried at once: 1, 1/2, … 1/128
ROUNDS = 2  # of finding which torques are at their limit, before the solve that counts
FAR_BOUND = 1e30  # stands for "no bound" in tables, which hold finite numbers


class Stepped(Protocol):
    """What an optimiser asks of a plant with the state [q, q̇, …]; `armwright.simulation.Loop` is one."""

    @property
    def robot(self) -> Robot:
        """The arm."""

    @property
    def n(self) -> int:
        """Number of joints."""

    @property
    def size(self) -> int:
        """Length m of the state."""

    @property
    def period(self) -> float:
        """Time of a step [s]."""

    def step(self) -> Kernel:
        """Kernel (x, u) → x₊."""

    def derivative(self, *names: str) -> Kernel:
        """Kernel (x, u) → x₊, ∂x₊/∂x, ∂x₊/∂u."""


class NodeColumns(NamedTuple):
    """Where the numbers of a node stand in a row of both tables: slices of goal, Q, w, R, lower and upper."""

    goal: slice
    Q: slice
    w: slice
    R: slice
    lower: slice
    upper: slice


def node_slots(n: int, m: int) -> dict[str, int]:
    """Sizes of what is given for every node, in the order of the tables' columns."""
    return {"goal": m, "Q": m, "w": n, "R": n, "lower": m, "upper": m}


def _columns(slots: dict[str, int]) -> dict[str, slice]:
    ends = np.cumsum([0, *slots.values()]).tolist()
    return {name: slice(a, b) for name, a, b in zip(slots, ends[:-1], ends[1:], strict=True)}


def _stage(function: Callable[[Slots], Slots], shapes: dict[str, tuple[int, ...]], name: str) -> Stage:
    return stage(traced_stage(function, shapes, name), "before")


def _slack(s: Slots) -> tuple[Traced, Traced]:
    """How far x is above its upper and below its lower bounds, each (m,)."""
    return np.maximum(s["x"] - s["upper"], 0.0), np.maximum(s["lower"] - s["x"], 0.0)


def forward_plan(plant: Stepped) -> LoopPlan:
    """Roll out u = clip(u_k + α k + K (x − x_k)) over the nodes and sum the cost up; a lane for every α."""
    n, m = plant.n, plant.size
    program: Any = plant.step().program
    if [signal.name for signal in program.inputs] != ["x", "u"]:
        names = ", ".join(signal.name for signal in program.inputs)
        raise NotSupportedError(f"optimal motion: the plant's step must take x and u alone, this one takes {names}")
    node = node_slots(n, m)
    row = {**node, "x_ref": m, "u_ref": n, "k": n, "K": n * m}
    own = {"alpha": 1, "limit": n, "rho": 1, "cost": 1}

    def policy(s: Slots) -> Slots:
        u = s["u_ref"] + s["alpha"][0] * s["k"] + s["K"] @ (s["x"] - s["x_ref"])
        return {"u": np.minimum(np.maximum(u, -s["limit"]), s["limit"])}

    def cost(s: Slots) -> Slots:
        dx, du = s["x"] - s["goal"], s["u"] - s["w"]
        above, below = _slack(s)
        beyond = above @ above + below @ below
        return {"cost": s["cost"] + 0.5 * (dx @ (s["Q"] * dx) + du @ (s["R"] * du) + s["rho"][0] * beyond)}

    acting = {k: (row[k],) for k in ("x_ref", "u_ref", "k")} | {"K": (n, m), "x": (m,), "alpha": (1,), "limit": (n,)}
    counting: dict[str, tuple[int, ...]] = {k: (v,) for k, v in node.items()}
    counting |= {"x": (m,), "u": (n,), "rho": (1,), "cost": (1,)}
    onward = stage(
        traced_stage(lambda s: {"x": 1.0 * s["x_next"]}, {"x_next": (m,)}, "onward"), "inside", writes={"x": "x"}
    )
    return LoopPlan(
        {**program.plan.slots, **own, **row},
        (_stage(policy, acting, "policy"), _stage(cost, counting, "cost"), *program.plan.stages, onward),
        shared=tuple(row),
        record=("x", "u", "cost"),
        flowing=True,
    )


def backward_plan(n: int, m: int, *, boxed: bool) -> LoopPlan:
    """One node of the sweep back; its rows begin with the last node, whose A and B are zero."""
    node = node_slots(n, m)
    row = {**node, "A": m * m, "B": m * n, "x": m, "u": n}
    own = {"V": m * m, "v": m, "p": m, "mu": 1, "rho": 1, "limit": n, "expected": 2}
    work = {"VA": m * m, "VB": m * n, "qx": m, "qu": n, "Qxx": m * m, "Quu": n * n, "Qux": n * m}
    gains = {"k": n, "K": n * m, "gradient": n}
    shape: dict[str, tuple[int, ...]] = {k: (v,) for k, v in {**row, **own, **work, **gains}.items()}
    shape |= {"A": (m, m), "B": (m, n), "V": (m, m), "VA": (m, m), "VB": (m, n)}
    shape |= {"Qxx": (m, m), "Quu": (n, n), "Qux": (n, m), "K": (n, m)}

    def part(function: Callable[[Slots], Slots], name: str, *reads: str) -> Stage:
        return _stage(function, {k: shape[k] for k in reads}, name)

    def slopes(s: Slots) -> Slots:
        above, below = _slack(s)
        lx = s["Q"] * (s["x"] - s["goal"]) + s["rho"][0] * (above - below)
        lu = s["R"] * (s["u"] - s["w"])
        p = s["p"]
        return {
            "qx": lx + s["A"].T @ s["v"],
            "qu": lu + s["B"].T @ s["v"],
            "gradient": lu + s["B"].T @ p,
            "p": lx + s["A"].T @ p,
        }

    def curvature(s: Slots) -> Slots:
        above, below = _slack(s)
        touching = np.where((above > 0.0) | (below > 0.0), s["rho"][0], 0.0)
        return {"Qxx": _symmetric(s["A"].T, s["VA"], s["Q"] + touching)}

    def mixed(s: Slots) -> Slots:
        return {"Quu": _symmetric(s["B"].T, s["VB"], s["R"]), "Qux": s["B"].T @ s["VA"]}

    def solve(s: Slots) -> Slots:
        H = np.array([[s["Quu"][i, j] + (s["mu"][0] if i == j else 0.0) for j in range(n)] for i in range(n)])
        free: list[Any] = [1.0] * n
        d: Any = np.zeros(n)
        if boxed:
            low, high = -s["limit"] - s["u"], s["limit"] - s["u"]
            for _ in range(ROUNDS):
                d = ltdl_solve(*_freed(H, s["qu"], free, d))
                out = [(d[i] > high[i]) | (d[i] < low[i]) for i in range(n)]
                free = [np.where(out[i], 0.0, free[i]) for i in range(n)]
                d = np.minimum(np.maximum(d, low), high)
        A, right = _freed(H, s["qu"], free, d)
        columns = np.concatenate([right[:, None], -np.array(free)[:, None] * s["Qux"]], axis=1)
        found = ltdl_solve(A, columns)
        k = found[:, 0]
        if boxed:
            k = np.minimum(np.maximum(k, low), high)
        first, second = k @ s["qu"], 0.5 * (k @ (s["Quu"] @ k))
        return {"k": k, "K": found[:, 1:], "expected": s["expected"] + np.array([first, second])}

    def value(s: Slots) -> Slots:
        K, k = s["K"], s["k"]
        after = s["Qux"] - s["mu"][0] * K  # rows of K are zero where a torque is at its limit
        return {
            "V": _symmetric(K.T, after, None, s["Qxx"]),
            "v": s["qx"] + K.T @ (s["Quu"] @ k + s["qu"]) + s["Qux"].T @ k,
        }

    return LoopPlan(
        {**own, **row, **work, **gains},
        (
            part(slopes, "slopes", "x", "u", "goal", "Q", "w", "R", "lower", "upper", "rho", "A", "B", "v", "p"),
            part(lambda s: {"VA": s["V"] @ s["A"]}, "VA", "V", "A"),
            part(lambda s: {"VB": s["V"] @ s["B"]}, "VB", "V", "B"),
            part(curvature, "curvature", "A", "VA", "Q", "x", "lower", "upper", "rho"),
            part(mixed, "mixed", "B", "VA", "VB", "R"),
            part(solve, "solve", "Quu", "Qux", "qu", "mu", "limit", "u", "expected"),
            part(value, "value", "K", "k", "Qux", "Qxx", "Quu", "qx", "qu", "mu"),
        ),
        shared=tuple(row),
        record=tuple(gains),
        flowing=True,
    )


def _symmetric(left: Traced, right: Traced, diagonal: Traced | None, plus: Traced | None = None) -> Traced:
    """Left @ right + diag(diagonal) + plus, which is symmetric: the upper half is computed and mirrored."""
    size = left.shape[0]
    upper: dict[tuple[int, int], Any] = {}
    for i in range(size):
        for j in range(i, size):
            upper[i, j] = left[i] @ right[:, j]
            if plus is not None:
                upper[i, j] = plus[i, j] + upper[i, j]
        if diagonal is not None:
            upper[i, i] = upper[i, i] + diagonal[i]
    return np.array([[upper[min(i, j), max(i, j)] for j in range(size)] for i in range(size)])


def _freed(H: Traced, g: Traced, free: list[Any], d: Traced) -> tuple[Traced, Traced]:
    """H d = −g for the free elements of d, the others as they are in `d`: matrix and right-hand side."""
    n = len(free)
    A = [[free[i] * free[j] * H[i, j] + (1.0 - free[i] if i == j else 0.0) for j in range(n)] for i in range(n)]
    held = [(1.0 - free[j]) * d[j] for j in range(n)]
    right = [held[i] - free[i] * (g[i] + sum((H[i, j] * held[j] for j in range(n)), start=0.0)) for i in range(n)]
    return np.array(A), np.array(right)


class Rollout(NamedTuple):
    """States (N+1, m), torques (N, n) and cost of the step length alpha."""

    x: Array
    u: Array
    cost: float
    alpha: float


class Shooting:
    """The two sweeps over N steps of a plant, with their tables.

    Attributes:
        node: where a node's numbers stand in `nodes`. nodes: (N+1, columns), what is given for every node.
        gains: k (N, n), K (N, n, m) and gradient (N, n) of the last sweep back; expected: its change of cost at α = 1
            as (linear, quadratic) part.
    """

    def __init__(self, plant: Stepped, steps: int, limit: Array) -> None:
        """Compile for `steps` steps and torques up to `limit` (n,), inf for none."""
        n, m = self.n, self.m = plant.n, plant.size
        self.steps, self.period, self.derivative = steps, plant.period, plant.derivative("x", "u")
        boxed = bool(np.isfinite(limit).any())
        self.node = NodeColumns(**_columns(node_slots(n, m)))
        self._ahead = CompiledLoop(forward_plan(plant), STEPS)
        self._back = CompiledLoop(backward_plan(n, m, boxed=boxed), 1)
        for loop in (self._ahead, self._back):
            loop.set("limit", np.minimum(limit, FAR_BOUND))
        self._ahead.set("alpha", 0.5 ** np.arange(STEPS)[:, None])
        width = self.node.upper.stop
        self.nodes = np.zeros((steps + 1, width))
        self._row_ahead, self._row_back = (_columns({k: p.slots[k] for k in p.shared}) for p in self._plans())
        self._table = np.zeros((steps + 1, len(self._ahead.plan.shared_slots)))
        self._reverse = np.zeros((steps + 1, len(self._back.plan.shared_slots)))
        ahead, back = self._plans()
        self._rolled = np.empty((self._ahead.groups, steps + 1, len(ahead.record_slots), self._ahead.width))
        self._swept = np.empty((1, steps + 1, len(back.record_slots), 1))
        self._run_ahead = self._ahead.bound(self._table, self._rolled)
        self._run_back = self._back.bound(self._reverse, self._swept)
        self._after, self._A, self._B = np.empty((steps, m)), np.empty((steps, m, m)), np.empty((steps, m, n))
        backward = self._swept[0, :0:-1, :, 0]  # nodes in order, without the last
        self.k, self.K = backward[:, :n], backward[:, n : n + n * m]
        self.gradient = backward[:, n + n * m :]

    def _plans(self) -> tuple[LoopPlan, LoopPlan]:
        return self._ahead.plan, self._back.plan

    def give(self, rho: float) -> None:
        """Take over `nodes` and the weight of what lies beyond the bounds."""
        width = self.nodes.shape[1]
        self._table[:, :width] = self.nodes
        self._reverse[:, :width] = self.nodes[::-1]
        for loop in (self._ahead, self._back):
            loop.set("rho", [rho])

    def rollout(self, x0: Array, u: Array) -> Rollout:
        """Simulate torques u (N, n) from x0 (m,)."""
        row = self._row_ahead
        self._table[:, row["k"].start : row["K"].stop] = 0.0
        self._table[:-1, row["u_ref"]] = u
        self._table[-1, row["u_ref"]] = 0.0
        return self._best(x0)

    def sweep_back(self, x: Array, u: Array, mu: float) -> tuple[float, float]:
        """Linearise about x (N+1, m), u (N, n) and sweep back; return the expected change of cost, see the class."""
        m, row = self.m, self._row_back
        self.derivative(x[:-1], u, self._after, self._A, self._B)
        table = self._reverse
        table[:0:-1, row["A"]] = self._A.reshape(self.steps, -1)
        table[:0:-1, row["B"]] = self._B.reshape(self.steps, -1)
        table[::-1, row["x"]] = x
        table[:0:-1, row["u"]] = u
        loop = self._back
        memory, plan = loop.one_memory, loop.plan
        memory[plan.offset("V") : plan.offset("V") + m * m + 2 * m] = 0.0  # V, v and p stand side by side
        memory[plan.offset("mu")] = mu
        at = plan.offset("expected")
        memory[at : at + 2] = 0.0
        self._run_back()
        return float(memory[at]), float(memory[at + 1])

    def sweep_ahead(self, x: Array, u: Array) -> Rollout:
        """Try all step lengths along the gains of the last sweep back; return the one of least cost."""
        row, table = self._row_ahead, self._table
        table[:, row["x_ref"]] = x
        table[:-1, row["u_ref"]] = u
        table[:-1, row["k"].start : row["K"].stop] = self._swept[0, :0:-1, : row["K"].stop - row["k"].start, 0]
        return self._best(x[0])

    def _best(self, x0: Array) -> Rollout:
        n, m, loop = self.n, self.m, self._ahead
        at, cost = loop.plan.offset("x"), loop.plan.offset("cost")
        loop.memory[:, at : at + m] = x0[:, None]
        loop.memory[:, cost] = 0.0
        self._run_ahead()
        costs = self._rolled[:, -1, -1, :].ravel()
        best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
        mine = self._rolled[best // loop.width, :, :, best % loop.width]
        return Rollout(mine[:, :m].copy(), mine[:-1, m : m + n].copy(), float(costs[best]), 0.5**best)
