# SPDX-License-Identifier: Apache-2.0
"""Functions compiled for one arm: the bridge between `Robot` and the graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.purity import traced_purely
from armwright.robot.model import robot_needed
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot

ARM_NAMES = ("arm", "robot")


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
    sizes: dict[str, tuple[int, ...]] = {}
    if robot is not None:
        n, bodies = robot.n, len(robot.bodies)
        sizes = {
            "q": (n,),
            "qd": (n,),
            "qdd": (n,),
            "tau": (n,),
            "wrench": (6,),
            "wrenches": (bodies, 6),
            "point": (3,),
            "T": (4, 4),
        }
    for label, shape in (shapes or {}).items():
        sizes[label] = (shape,) if isinstance(shape, int) else tuple(shape)
    arguments: dict[str, tuple[int, ...]] = {}
    folded = dict(constants)
    for parameter in inspect.signature(function).parameters.values():
        label = parameter.name
        if label in folded or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if label in ARM_NAMES and robot is not None:
            folded[label] = tree_of(robot, regroup=True) if regroup else robot
        elif label in sizes and (parameter.default is parameter.empty or label in (shapes or {})):
            arguments[label] = sizes[label]
        elif parameter.default is parameter.empty:
            raise InputError(
                f"{getattr(function, '__name__', 'function')}: parameter {label!r} needs a shape "
                f"(shapes={{{label!r}: …}}) or a value ({label}=…)"
            )
    return traced_purely(
        [function],
        lambda: compile_function(function, arguments, constants=folded, check_finite=check_finite, name=name),
        lambda made: made.program.digest,
        f"{getattr(function, '__name__', 'function')!r}",
    )


def kernel(
    robot: Robot,
    function: Callable[..., Any],
    *,
    regroup: bool = False,
    check_finite: bool = True,
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    name: str | None = None,
    **constants: Any,
) -> Kernel:
    """Return the kernel of `function` for `robot`, compiled once per robot and set of options.

    `name` is what its errors call it: that of the public function through which the user meets it.

    Optional array parameters (``wrench=None``) become inputs only if `shapes` names them: ``shapes={"wrench": 6}``.
    """
    key = (function, regroup, check_finite, tuple((shapes or {}).items()), name, tuple(constants.items()))
    try:
        found: Kernel | None = robot.known.get(key)
    except (AttributeError, TypeError) as error:  # not a robot, or options that are not plain values
        wrong = robot_needed(robot) or f"options must be plain values ({error})"
        raise InputError(f"{name or function.__name__}: {wrong}") from error
    return found or robot.memo(key, _compiled, function, shapes, regroup, check_finite, name, constants)


def _compiled(
    robot: Robot,
    function: Callable[..., Any],
    shapes: Any,
    regroup: bool,
    check_finite: bool,
    name: str | None,
    constants: Any,
) -> Kernel:
    return compile(function, robot, shapes=shapes, regroup=regroup, check_finite=check_finite, name=name, **constants)
