# SPDX-License-Identifier: Apache-2.0
"""Exact derivatives of a whole control tick by its state, its torque and the law's gains, by the chain rule of RK4.

With x = [q, q̇, states of drives and friction], ẋ = f(x, u) and the torque u held, RK4 evaluates four slopes
k_i = f(x_i, u) at x_i = x + c_i h k_(i−1). With S_i = ∂x_i/∂(x, u) and L_i = ∂f/∂(x, u) at x_i,

    K_i = L_i [S_i; 0 I],    S_(i+1) = [I 0] + c_i h K_i,    ∂x₊/∂(x, u) = [I 0] + h/6 (K_1 + 2 K_2 + 2 K_3 + K_4)

The slope's own derivative takes no differentiation of the solve: with M q̈ + b(x) = B(x, u) held at the q̈ just solved
for, ∂q̈ = M⁻¹ ∂(B − M q̈ − b). It is traced and compiled once and run four times, the product K_i too. The first two
products use that S_1 = [I 0] and that the upper half of S_2 is [I, c h I, 0].
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import run
from armwright.control.simple_laws import zero
from armwright.errors import InputError, NotSupportedError
from armwright.graph import derivative_matrix
from armwright.graph.loop_plan import LoopPlan, Slots, Stage, stage, traced_stage
from armwright.graph.ops import Op
from armwright.graph.staged_kernel import StagedKernel, staged_kernel
from armwright.graph.staged_program import StagedProgram
from armwright.graph.traced_program import ProgramSignal
from armwright.simulation.integrators import POINTS, finished, onward
from armwright.simulation.loop_stages import LawAtWork, reference_of
from armwright.simulation.step_stages import system_of, system_slots
from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from armwright.graph.traced_program import TracedProgram
    from armwright.robot.model import Robot
    from armwright.simulation.control_loop import Loop
    from armwright.simulation.system import System
    from armwright.types import Scalar, Traced

STEP_NAMES = ("x", "u", "gains")


def step_kernel(loop: Loop) -> StagedKernel:
    """Kernel (x, u[, t, parameters, inputs]) → x₊: one control tick with the torque u held."""
    return _known(loop, ())


def step_derivative(loop: Loop, names: tuple[str, ...]) -> StagedKernel:
    """Kernel of one control tick and its derivatives, see `Loop.derivative`."""
    if not names or len(set(names)) < len(names) or not set(names) <= set(STEP_NAMES):
        raise InputError(f"derivative: names must be some of {', '.join(STEP_NAMES)}, each once, got {names}")
    return _known(loop, names)


def _known(loop: Loop, names: tuple[str, ...]) -> StagedKernel:
    """Return the kernel, made once for all loops of this arm that do not differ in what it computes."""
    _refuse(loop)
    plain = replace(loop, limits="record", events={}, monitors=(), sensors=None, strict=False)
    if "gains" not in names:
        plain = replace(plain, law=zero())  # a held torque hides the law
    key = plain.key()
    if key is None:
        return _kernel(loop.robot, plain, names)
    made: StagedKernel = loop.robot.memo(("step", names, loop.substeps, key), _kernel, plain, names)
    return made


def _refuse(loop: Loop) -> None:
    wrong = {
        f"integrator {loop.integrator!r}": loop.integrator != "rk4",
        "a law that acts continuously": loop.continuous,
        "mechanical stops (limits='clamp')": loop.limits == "clamp",
    }
    for what, refused in wrong.items():
        if refused:
            raise NotSupportedError(
                f"derivative of a step: {what} is not supported; use integrator='rk4', a held torque "
                "(continuous=False) and limits='record'"
            )


def _kernel(_: Robot, loop: Loop, names: tuple[str, ...]) -> StagedKernel:
    """Put the stages together."""
    n, m = loop.n, loop.size
    given = system_slots(loop)
    del given["tau"]
    step = _step(loop, given, bool(names))
    timed = "gains" in names or any(_reads(part.program, "t") for part in step)
    inputs: dict[str, tuple[int, ...]] = {"x": (m,)}
    outputs: dict[str, tuple[int, ...]] = {"x_next": (m,)}
    stages: list[Stage] = []
    if not timed:
        del given["t"]
        stages.append(_stage(lambda s: {"t": 0.0 * s["x"][:1]}, inputs, "at_any_time"))
    if "gains" in names:
        law = LawAtWork(loop)
        gains = {f"gain_{name}": np.shape(value) for name, value in loop.law.gains.items()}
        shapes = {"x": (m,), **{k: v for k, v in law.shapes.items() if not k.startswith("gain_")}, **gains}
        inputs |= shapes | {k: v for k, v in given.items() if k not in shapes}
        stages.append(_stage(lambda s: _law(loop, s), shapes, "law"))
        outputs["u"] = (n,)
    else:
        inputs |= {"u": (n,), **given}
    stages.append(_stage(lambda s: {"past": 0.0 * s["x"][:1], "now": 1.0 * s["x"]}, {"x": (m,)}, "start"))
    combine = _stage(_combined, {"D": (m, m + n), "one": (m, m + n)}, "combine")
    copy = _stage(lambda s: {"D": 1.0 * s["one"]}, {"one": (m, m + n)}, "copy")
    for k in range(loop.substeps):
        stages += step
        if names:
            stages.append(combine if k else copy)
    stages.append(_stage(lambda s: {"x_next": 1.0 * s["now"]}, {"now": (m,)}, "finish"))
    if names:
        wanted = {"x": (m, m), "u": (m, n)}
        shapes = {"D": (m, m + n)}
        if "gains" in names:
            shapes |= {f"by_{k}": (n, *v) for k, v in gains.items()}
            wanted |= {f"gains_{k[5:]}": (m, *v) for k, v in gains.items()}
        made = {key: shape for name in names for key, shape in wanted.items() if key.split("_", 1)[0] == name}
        outputs |= {f"by_{key}": shape for key, shape in made.items()}
        stages.append(_stage(lambda s: _parts(s, made, m), shapes, "parts"))
    slots = {name: int(np.prod(shape)) for name, shape in inputs.items()}
    for part in stages:
        slots |= {part.writes[signal.name]: signal.size for signal in part.program.outputs}
    plan = LoopPlan(slots, tuple(stages))
    takes, gives = (tuple(ProgramSignal(k, tuple(v)) for k, v in group.items()) for group in (inputs, outputs))
    return staged_kernel(StagedProgram("step", plan, takes, gives, single=len(outputs) == 1))


def _stage(
    function: Callable[[Slots], Slots],
    shapes: Mapping[str, tuple[int, ...]],
    name: str,
    writes: Mapping[str, str] | None = None,
) -> Stage:
    return stage(traced_stage(function, shapes, name), "inside", writes=writes)


def _reads(program: TracedProgram, name: str) -> bool:
    number = next((k for k, signal in enumerate(program.inputs) if signal.name == name), None)
    return any(node.op is Op.INPUT and node.value[0] == number for node in program.nodes)


def _law(loop: Loop, s: Slots) -> Slots:
    """The law's torque, and its derivatives by every gain (n, *shape)."""
    n = loop.n
    gains = {name: s[f"gain_{name}"] for name in loop.law.gains}
    memory = {name: s[f"memory_{name}"] for name in loop.law.memory}
    signals = {"arm": loop.model_in(s), "t": s["t"][0], "q": s["x"][:n], "qd": s["x"][n : 2 * n]}
    tau, _ = run(loop.law, signals | {"ref": reference_of(s["ref"], n), "dt": loop.period}, gains, memory)
    return {"u": tau} | {f"by_gain_{name}": derivative_matrix(tau, value) for name, value in gains.items()}


def _parts(s: Slots, made: Mapping[str, tuple[int, ...]], m: int) -> Slots:
    out: Slots = {}
    for key, shape in made.items():
        if key == "x":
            out["by_x"] = s["D"][:, :m]
        elif key == "u":
            out["by_u"] = s["D"][:, m:]
        else:
            law = s[f"by_gain_{key.split('_', 1)[1]}"]
            out[f"by_{key}"] = (s["D"][:, m:] @ law.reshape(law.shape[0], -1)).reshape(shape)
    return out


def _combined(s: Slots) -> Slots:
    """∂/∂(x, u) of one step after another: [A B]∘[A' B'] = [A A', A B' + B]."""
    m = s["D"].shape[0]
    after = s["one"][:, :m] @ s["D"]
    return {"D": np.concatenate([after[:, :m], after[:, m:] + s["one"][:, m:]], axis=1)}


def _step(loop: Loop, given: Mapping[str, tuple[int, ...]], slopes: bool) -> list[Stage]:
    """The stages of one RK4 step from slot "now" to itself, with its derivative in slot "one" if wanted."""
    n, m = loop.n, loop.size
    h: Any = loop.period / loop.substeps
    vector, one = (m,), (1,)
    lower = (m - n, m + n)
    moving = {"now": vector, "slope": vector, "sum": vector, "past": one}
    start = np.concatenate([np.eye(m), np.zeros((m, n))], axis=1)

    def begin(s: Slots) -> Slots:
        return {"at": 1.0 * s["now"], "at_time": 1.0 * s["past"], "sum": 0.0 * s["now"]}

    def slope(s: Slots) -> Slots:
        system = system_of(loop, {**s, "tau": s["u"]})
        if not slopes:
            return {"slope": system.derivative(s["at_time"][0], s["at"])}
        f, L = slope_and_derivative(system, s["at_time"][0], s["at"], s["u"])
        return {"slope": f, "L": L}

    def between(point: tuple[float, float]) -> Stage:
        def body(s: Slots) -> Slots:
            total, time, at = onward(s["past"][0], s["now"], h, s["sum"], s["slope"], point)
            return {"sum": total, "at": at, "at_time": np.array([time])}

        return _stage(body, moving, "onward")

    def end(s: Slots) -> Slots:
        return {"now": finished(s["now"], h, s["sum"], s["slope"]), "past": s["past"] + h}

    def first(s: Slots) -> Slots:
        K = np.concatenate([start[n : 2 * n], s["L"]], axis=0)
        return {"Ksum": 1.0 * s["L"], "S": (start + POINTS[0][1] * h * K)[n:]}

    def second(s: Slots) -> Slots:
        """K_2; the rows of S for q are [I, c h I, 0]."""
        upper = start[:n] + POINTS[0][1] * h * start[n : 2 * n]
        return {"K": _product(s["L"], upper, s["S"], m)}

    def product(s: Slots) -> Slots:
        return {"K": _product(s["L"], s["Sq"], s["S"], m)}

    def chain(point: tuple[float, float], *, after_first: bool) -> Stage:
        """From K (its lower rows) and S to the next S; K's upper rows are the rows of S for q̇."""
        weight, reach = point

        def body(s: Slots) -> Slots:
            up = s["S"][:n]
            out: Slots = {"Sq": start[:n] + reach * h * up, "S": start[n:] + reach * h * s["K"]}
            out["Ksum"] = s["Ksum"] + weight * s["K"]
            # upper rows of the sum: those of S for q̇ at each slope; at the first they are constant
            out["Usum"] = (start[n : 2 * n] if after_first else s["Usum"]) + weight * up
            return out

        shapes = {"K": lower, "S": lower, "Ksum": lower} | ({} if after_first else {"Usum": (n, m + n)})
        return _stage(body, shapes, "chain")

    def close(s: Slots) -> Slots:
        top = start[:n] + (h / 6.0) * (s["Usum"] + s["S"][:n])
        return {"one": np.concatenate([top, start[n:] + (h / 6.0) * (s["Ksum"] + s["K"])], axis=0)}

    shapes = {"at": vector, "at_time": one, "u": (n,), **given}
    at = _stage(slope, shapes, "slope")
    motion = [between(point) for point in POINTS]
    starts = _stage(begin, {"now": vector, "past": one}, "begin")
    ends = _stage(end, moving, "end")
    if not slopes:
        return [starts, at, motion[0], at, motion[1], at, motion[2], at, ends]
    times = _stage(product, {"L": lower, "Sq": (n, m + n), "S": lower}, "product")
    return [
        starts,
        at,
        _stage(first, {"L": lower}, "first"),
        motion[0],
        at,
        _stage(second, {"L": lower, "S": lower}, "second"),
        chain(POINTS[1], after_first=True),
        motion[1],
        at,
        times,
        chain(POINTS[2], after_first=False),
        motion[2],
        at,
        times,
        _stage(close, {"K": lower, "S": lower, "Ksum": lower, "Usum": (n, m + n)}, "close"),
        ends,
    ]


def _product(L: Traced, upper: Traced, lower: Traced, m: int) -> Traced:
    """L [S; 0 I] with S = [upper; lower]: (m − n, m + n)."""
    made = L[:, :m] @ np.concatenate([upper, lower], axis=0)
    return np.concatenate([made[:, :m], made[:, m:] + L[:, m:]], axis=1)


def slope_and_derivative(system: System, t: Scalar, x: Traced, u: Traced) -> tuple[Traced, Traced]:
    """Return f(x, u) (m,) and ∂f/∂(x, u) without its first n rows (m − n, m + n), which are [0 I 0] (traced only)."""
    n = system.n
    q, qd = x[:n], x[n : 2 * n]
    tau, rest, wrenches = system.torques(t, x)
    M = system.mass_matrix(q)
    qdd = ltdl_solve(M, tau - system.needed(q, qd, np.zeros(n), wrenches, dry=True))
    # held while differentiating: a choice that is always the same keeps it from folding into M·(M⁻¹·tau) = tau
    a = np.array([np.where(np.abs(w) >= 0.0, w, 0.0) for w in qdd])
    balance = np.concatenate([tau - system.needed(q, qd, a, wrenches, dry=True), *rest])
    D = np.concatenate([derivative_matrix(balance, v, held=a, mode="forward") for v in (x, u)], axis=1)
    L = np.concatenate([ltdl_solve(M, D[:n]), D[n:]], axis=0)
    return np.concatenate([qd, qdd, *rest]), L
