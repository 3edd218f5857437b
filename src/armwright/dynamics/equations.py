# SPDX-License-Identifier: Apache-2.0
"""An arm's equations, to read or to use elsewhere: M, C, g, J, … as LaTeX, SymPy, C, MATLAB and NumPy.

``equations(arm, "M", "C", "g").latex()``. The arm has numbers (`Robot`) or symbols (`SymbolicRobot`); symbols become
arguments of the functions. What is written is simplified: collected for people, the cheapest form for machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple

from armwright.dynamics.coriolis import coriolis
from armwright.dynamics.crba import crba, crba_forward
from armwright.dynamics.energy import kinetic_energy, potential_energy
from armwright.dynamics.newton_euler import bias, gravity_torque, rnea
from armwright.dynamics.regressor import body_regressor, regressor
from armwright.errors import InputError
from armwright.graph.emit.printing import renamed
from armwright.graph.kernel import Kernel, make_kernel
from armwright.graph.ops import Op
from armwright.graph.simplify import cheapest, readable, without_idle
from armwright.graph.traced_program import ProgramSignal, TracedProgram, trace
from armwright.kinematics.forward import tool_pose
from armwright.kinematics.jacobians import frame_jacobian, pose_jacobian
from armwright.robot.kernels import kernel
from armwright.robot.model import Robot
from armwright.robot.symbolic import SymbolicRobot

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.types import Traced

Arm = Robot | SymbolicRobot


def energies(arm: Robot | Tree, q: Traced, qd: Traced) -> tuple[Traced, Traced]:
    """Kinetic and potential energy [J]."""
    return kinetic_energy(arm, q, qd), potential_energy(arm, q)


class EquationKind(NamedTuple):
    """One kind of equation: function, what authors call its outputs, arguments, whether inertias may be regrouped."""

    function: Callable[..., Any]
    letters: tuple[str, ...]
    arguments: tuple[str, ...]
    regroup: bool = True


MOTION = ("q", "qd", "qdd")
KINDS: dict[str, EquationKind] = {
    "inverse_dynamics": EquationKind(rnea, ("tau",), MOTION),
    "forward_dynamics": EquationKind(crba_forward, ("qdd",), ("q", "qd", "tau")),
    "mass_matrix": EquationKind(crba, ("M",), ("q",)),
    "coriolis_matrix": EquationKind(coriolis, ("C",), ("q", "qd")),
    "gravity_torque": EquationKind(gravity_torque, ("g",), ("q",)),
    "bias": EquationKind(bias, ("h",), ("q", "qd")),
    "energy": EquationKind(energies, ("K", "V"), ("q", "qd"), regroup=False),
    "regressor": EquationKind(regressor, ("Y",), MOTION, regroup=False),
    "fk": EquationKind(tool_pose, ("T",), ("q",), regroup=False),
    "jacobian": EquationKind(frame_jacobian, ("J",), ("q",), regroup=False),
    "fk_jacobian": EquationKind(pose_jacobian, ("T", "J"), ("q",), regroup=False),
}
# m, first moment and inertia about the origin of a link's frame, as `armwright.dynamics.regressor` orders them
INERTIAL_LATEX = ("m_{", "h_{x", "h_{y", "h_{z", "I_{xx", "I_{xy", "I_{yy", "I_{xz", "I_{yz", "I_{zz")
SHORT = {
    "rnea": "inverse_dynamics",
    "tau": "inverse_dynamics",
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "g": "gravity_torque",
    "h": "bias",
    "Y": "regressor",
    "T": "fk",
    "J": "jacobian",
}


def kind_named(what: str) -> str:
    """Return the full name of a kind of equation: "mass_matrix" for "M"."""
    name = SHORT.get(what, what)
    if name not in KINDS:
        raise InputError(f"there are no equations {what!r}; choose from {', '.join(KINDS)} (or {', '.join(SHORT)})")
    return name


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Equations of one arm, traced; written out in a language by its methods.

    Attributes:
        name: name of the arm, as an identifier: the prefix of functions.
        asked: the kinds, by the names under which they were asked for.
        programs: one per kind, as traced; inputs q, qd, … and then the symbols.
        parameters: the arm's symbols.
    """

    name: str
    asked: tuple[str, ...]
    programs: tuple[TracedProgram, ...]
    parameters: tuple[str, ...]

    def latex(self, *, digits: int = 6, width: int = 80) -> str:
        r"""Return LaTeX (amsmath): matrices as ``pmatrix``, entries collected, long ones broken into lines.

        Args:
            digits: significant digits of numbers.
            width: letters after which an entry goes on in a new line; what is wider stands below its matrix.
        """
        from armwright.graph.emit.latex_page import emit_matrices

        forms = [readable(program) for program in self.programs]
        letters = [KINDS[kind_named(what)].letters for what in self.asked]
        below = [""] * len(forms)
        for k, what in enumerate(self.asked):
            if kind_named(what) == "regressor":
                forms[k], below[k] = _shown_columns(forms[k])
        return emit_matrices(forms, letters, below, title=self.name, digits=digits, width=width)

    def _repr_latex_(self) -> str:
        """Return what notebooks show: the display alone, without what only LaTeX understands."""
        text = self.latex(digits=4)
        return text[text.index(r"\begin{align*}") :].removesuffix("\\endgroup\n")

    def sympy(self) -> dict[str, Any]:
        """Return SymPy matrices and expressions by letter: ``equations(arm, "M").sympy()["M"]``.

        Symbols are real and named q1, qd1, …, m1, …
        """
        from armwright.graph.emit.sympy_source import to_sympy

        out: dict[str, Any] = {}
        for what, program in zip(self.asked, self.programs, strict=True):
            form = readable(program)
            whole = to_sympy(form, fractions=bool(self.parameters)).expanded().values()
            out |= zip(KINDS[kind_named(what)].letters, whole, strict=True)
        return out

    def functions(self, *, to_read: bool = False) -> tuple[TracedProgram, ...]:
        """Return the programs as they are exported: simplified, ``<arm>_<what>``, with only the symbols they need."""
        forms = [readable(p) if to_read else cheapest(p, multiply_out=True) for p in self.programs]
        return tuple(
            renamed(without_idle(form, self.parameters), name=f"{self.name}_{what}")
            for what, form in zip(self.asked, forms, strict=True)
        )

    def source(self, target: str, *, name: str | None = None) -> str:
        """Return one file with all functions, in the language `target`: c, matlab, numpy, jax, sympy or latex.

        Args:
            target: the language.
            name: name of the file without its ending; the arm's by default, or that of the only function.
        """
        from armwright.graph.emit import sources

        if target == "latex":
            return self.latex()
        functions = self.functions(to_read=target == "sympy")
        alone = functions[0].name if len(functions) == 1 else self.name
        return sources(functions, target, name=name or alone, prefix=f"{self.name}_", values=self.parameters)

    def kernel(self, what: str) -> Kernel:
        """Return one of the equations compiled, with the symbols as further arguments (batch axes included)."""
        names = [kind_named(asked) for asked in self.asked]
        if kind_named(what) not in names:
            raise InputError(f"kernel: {what!r} is not among the equations asked for ({', '.join(self.asked)})")
        return make_kernel(self.programs[names.index(kind_named(what))])


def equations(arm: Arm, *what: str) -> Equations:
    """Derive equations of an arm, to be written as LaTeX, SymPy, C, MATLAB or NumPy.

    Args:
        arm: a `Robot`, whose numbers are folded in, or a `SymbolicRobot`, whose symbols stay.
        *what: "M", "C", "g", "h" (bias), "tau", "Y" (regressor), "T" (tool pose), "J", "energy", or the names of the
            functions of the library: "mass_matrix", …; M, C and g if omitted.

    >>> aw.equations(aw.planar("RR"), "M", "g").latex()
    """
    if not isinstance(arm, Robot | SymbolicRobot):
        raise InputError(f"arm must be a Robot or a SymbolicRobot, got {arm!r:.60} ({type(arm).__name__})")
    asked = what or ("mass_matrix", "coriolis_matrix", "gravity_torque")
    asked = tuple(dict.fromkeys(word if word in ("rnea", *KINDS) else kind_named(word) for word in asked))
    parameters = arm.parameters if isinstance(arm, SymbolicRobot) else ()
    programs = tuple(_program(arm, kind_named(word), word) for word in asked)
    return Equations(_identifier(arm.name), asked, programs, parameters)


def _shown_columns(program: TracedProgram) -> tuple[TracedProgram, str]:
    r"""Leave out the columns of a regressor that are 0, and write the parameters that belong to the others."""
    (signal,), (result,) = program.outputs, program.results
    n, width = signal.shape
    zero = {k for k, node in enumerate(program.nodes) if node.op is Op.CONST and node.value == 0.0}
    shown = [c for c in range(width) if any(k not in zero for k in result[c::width])]
    bodies = width // 10 if width == 10 * n else (width - 4 * n) // 10
    names = [f"{letter},{i + 1}}}" for i in range(bodies) for letter in INERTIAL_LATEX]
    names += [f"{letter},{i + 1}}}" for letter in ("F_{v", "F_{c", "I_{r", "F_{r") for i in range(n)]
    words = " & ".join(names[c].replace("{,", "{") for c in shown)
    rows = [result[r * width + c] for r in range(n) for c in shown]
    out = replace(program, outputs=(ProgramSignal(signal.name, (n, len(shown))),), results=(tuple(rows),))
    return out, rf"\tau &= Y \, \begin{{pmatrix}} {words} \end{{pmatrix}}^\top"


def _identifier(name: str) -> str:
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
    return text if text and not text[0].isdigit() else f"arm_{text}".rstrip("_")


def _program(arm: Arm, kind: str, name: str) -> TracedProgram:
    function, letters, arguments, regroup = KINDS[kind]
    if isinstance(arm, Robot):
        program = kernel(arm, function, regroup=regroup).program
    else:
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(arguments, (arm.n,))
        shapes |= dict.fromkeys(arm.parameters, ())
        program = trace(_of_symbols(arm, body_regressor if kind == "regressor" else function, arguments), shapes)
    return renamed(program, name=name, outputs=letters)


def _of_symbols(arm: SymbolicRobot, function: Callable[..., Any], arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Return `function` as one of q, … and of the arm's symbols by name."""

    def of_symbols(**values: Traced) -> Any:
        tree = arm.tree({name: values[name] for name in arm.parameters})
        return function(tree, *(values[label] for label in arguments))

    every = [Parameter(label, Parameter.KEYWORD_ONLY) for label in (*arguments, *arm.parameters)]
    of_symbols.__signature__ = Signature(every)  # type: ignore[attr-defined]  # tracing calls by name
    return of_symbols
