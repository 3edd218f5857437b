# SPDX-License-Identifier: Apache-2.0
"""Functions compiled for one arm: the bridge between `Robot` and the graph.

A public function of an arm at a state looks its kernel up here. Given a `Robot` and numbers it runs compiled; given
symbols the kernel becomes part of what is traced. The arm that a law or a monitor is handed is a `Tree`: for it the
source of the function itself is run, so that one name serves inside and outside of a traced function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError, TraceError
from armwright.graph.array import has_symbols
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.kernel_arguments import over_rows
from armwright.graph.purity import traced_purely
from armwright.graph.traced_program import ProgramSignal
from armwright.robot.model import Robot, robot_needed
from armwright.robot.tree import Tree, robot_of, tree_of

ARM_NAMES = ("arm", "robot")
Needs = Literal["joints", "bodies", "robot"]
"""What a function must know of an arm: what the joints show of it (geometry and regrouped inertia, as every `Tree` has
it), every body's own inertia, or more than a tree holds."""


@names_culprit
def compile(  # noqa: A001 - the verb the whole product is about
    function: Callable[..., Any],
    robot: Robot | None = None,
    *,
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    regroup: bool = False,
    check_finite: bool = True,
    name: str | None = None,
    **constants: Any,
) -> Kernel:
    """Compile a NumPy function of one configuration into a kernel.

    Args:
        function: plain NumPy code. A first parameter called ``arm`` or ``robot`` receives the robot.
        robot: the arm whose constants are folded in; gives shapes to q, qd, qdd, tau (n,), wrench (6,),
            wrenches (nb, 6), point (3,) and T (4, 4).
        shapes: shapes of other array parameters, as tuples or sizes: ``shapes={"x": 3}``.
        regroup: let the function see base inertial parameters: fewer operations, same tau, M and qdd; not for
            reactions.
        check_finite: raise on NaN and infinities in the inputs.
        name: name of the kernel; the function's by default.
        **constants: values for the function's remaining parameters, folded in.

    Example:
        ``k = aw.compile(lambda q, x: np.sin(q) @ x, shapes={"q": 3, "x": 3})``
    """
    if isinstance(robot, Tree):
        robot = as_robot(robot, "compile")
    arguments, arm = _signature(function, robot, shapes or {}, constants)
    folded = dict(constants)
    if arm is not None and robot is not None:
        folded[arm] = tree_of(robot, regroup=True) if regroup else robot
    return traced_purely(
        [function],
        lambda: compile_function(function, arguments, constants=folded, check_finite=check_finite, name=name),
        lambda made: made.program.digest,
        f"{getattr(function, '__name__', 'function')!r}",
    )


def _signature(
    function: Callable[..., Any],
    arm: Robot | Tree | None,
    shapes: Mapping[str, int | tuple[int, ...]],
    constants: Mapping[str, Any],
) -> tuple[dict[str, tuple[int, ...]], str | None]:
    """Return the arrays that a function takes, with the shapes of one state, and the name of its arm if it has one."""
    sizes: dict[str, tuple[int, ...]] = {}
    if arm is not None:
        sizes = dict.fromkeys(("q", "qd", "qdd", "tau"), (arm.n,))
        bodies = arm.nb if isinstance(arm, Tree) else len(arm.bodies)
        sizes |= {"wrench": (6,), "wrenches": (bodies, 6), "point": (3,), "T": (4, 4)}
    for label, shape in shapes.items():
        sizes[label] = (shape,) if isinstance(shape, int) else tuple(shape)
    arguments: dict[str, tuple[int, ...]] = {}
    name = None
    for parameter in inspect.signature(function).parameters.values():
        label = parameter.name
        if label in constants or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if label in ARM_NAMES and arm is not None:
            name = label
        elif label in sizes and (parameter.default is parameter.empty or label in shapes):
            arguments[label] = sizes[label]
        elif parameter.default is parameter.empty:
            raise InputError(
                f"{getattr(function, '__name__', 'function')}: parameter {label!r} needs a shape "
                f"(shapes={{{label!r}: …}}) or a value ({label}=…)"
            )
    return arguments, name


@overload
def kernel(robot: Robot, function: Callable[..., Any], **options: Any) -> Kernel: ...
@overload
def kernel(robot: Tree, function: Callable[..., Any], **options: Any) -> TreeFunction: ...
def kernel(
    robot: Robot | Tree,
    function: Callable[..., Any],
    *,
    regroup: bool = False,
    check_finite: bool = True,
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    name: str | None = None,
    needs: Needs = "joints",
    **constants: Any,
) -> Kernel | TreeFunction:
    """Return the kernel of `function` for `robot`, compiled once per robot and set of options.

    `name` is what its errors call it: that of the public function through which the user meets it. For a tree it is the
    function itself, bound to the tree, if that holds what the function `needs`.

    Optional array parameters (``wrench=None``) become inputs only if `shapes` names them: ``shapes={"wrench": 6}``.
    """
    key = (function, regroup, check_finite, tuple((shapes or {}).items()), name, tuple(constants.items()))
    try:
        found: Kernel | None = robot.known.get(key)  # type: ignore[union-attr]  # a tree has none: see below
    except (AttributeError, TypeError) as error:  # not a robot, or options that are not plain values
        if isinstance(robot, Tree):
            options = {"regroup": regroup, "check_finite": check_finite, "shapes": shapes, "name": name, **constants}
            return _for_tree(robot, function, needs, shapes or {}, constants, options)
        wrong = robot_needed(robot) or f"options must be plain values ({error})"
        raise InputError(f"{name or function.__name__}: {wrong}") from error
    return found or robot.memo(key, _compiled, function, shapes, regroup, check_finite, name, constants)  # type: ignore[union-attr]


def _compiled(
    robot: Robot,
    function: Callable[..., Any],
    shapes: Mapping[str, int | tuple[int, ...]] | None,
    regroup: bool,
    check_finite: bool,
    name: str | None,
    constants: Mapping[str, Any],
) -> Kernel:
    return compile(function, robot, shapes=shapes, regroup=regroup, check_finite=check_finite, name=name, **constants)


@dataclass(frozen=True, slots=True)
class TreeFunction:
    """A function of an arm at a state, bound to the tree of that arm: what `kernel` gives for a tree.

    Attributes:
        name: of the public function, for messages.
        inputs: what it is called with, one state.
        function: of these arrays.
        compiled: the kernel of the same function for calls with numbers alone; None where the tree is no robot's own.
    """

    name: str
    inputs: tuple[ProgramSignal, ...]
    function: Callable[..., Any]
    compiled: Callable[[], Kernel] | None

    def __call__(self, *arrays: Any) -> Any:
        """Evaluate on symbols or numbers; leading batch axes broadcast."""
        if self.compiled is not None and not has_symbols(*arrays):
            return self.compiled()(*arrays)
        return over_rows(self.function, self.name, self.inputs, arrays)


def _for_tree(
    tree: Tree,
    function: Callable[..., Any],
    needs: Needs,
    shapes: Mapping[str, int | tuple[int, ...]],
    constants: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Kernel | TreeFunction:
    robot, name = robot_of(tree), options["name"] or function.__name__
    if needs != "joints" and robot is not None:
        return kernel(robot, function, **options)
    if needs == "robot" or (needs == "bodies" and tree.parts is not None):
        raise NotSupportedError(_unknown(tree, name))
    arguments, arm = _signature(function, tree, shapes, constants)
    fixed = {**constants, **({} if arm is None else {arm: tree})}

    def of_state(*arrays: Any) -> Any:
        return function(**dict(zip(arguments, arrays, strict=True)), **fixed)

    inputs = tuple(ProgramSignal(label, shape) for label, shape in arguments.items())
    compiled = None if robot is None else lambda: kernel(robot, function, **options)
    return TreeFunction(name, inputs, of_state, compiled)


def _unknown(tree: Tree, name: str) -> str:
    if tree.parts is None:
        return f"{name}: an arm of symbols has neither motors nor joint frames of its own; give it a Robot"
    return (
        f"{name}: needs every body's own inertia, and the arm here is a variation of {tree.parts['name']!r} (a batch "
        "of arms that differ, a load told at run time) of which only what the joints show is known; give it a Robot"
    )


def as_robot(arm: Robot | Tree, name: str) -> Robot:
    """Return the robot itself where a function needs it; `name` is the function, for the message."""
    robot = robot_of(arm) if isinstance(arm, Tree) else arm
    if robot is None:
        raise NotSupportedError(_unknown(arm, name))  # type: ignore[arg-type]  # only a tree has no robot
    return robot


def refuse_symbols(name: str, why: str, *values: Any) -> None:
    """Raise `TraceError` if there are symbols among `values`: for functions that cannot be traced, and what to do."""
    if has_symbols(*values):
        raise TraceError(f"{name} cannot be traced: {why}")
