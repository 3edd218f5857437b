# SPDX-License-Identifier: Apache-2.0
"""Arms with symbols: the closed forms of the textbooks, and at numbers the same as the arm with these numbers."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics.coriolis import coriolis
from armwright.dynamics.crba import crba
from armwright.dynamics.equations import KINDS, equations
from armwright.dynamics.newton_euler import bias, gravity_torque
from armwright.errors import InputError
from armwright.graph.collect import collect
from armwright.graph.derive import derivative_matrix as derivative
from armwright.graph.ops import Op
from armwright.graph.simplify import cost
from armwright.graph.traced_program import trace
from armwright.robot.kernels import kernel as kernel_of
from armwright.robot.symbolic import SymbolicRobot, planar, symbols
from support.latex import display
from support.places import ROOT

EVERY = ("M", "C", "g", "h", "tau", "energy", "J", "T")


def textbook_2r(sp):
    """M, C, g of the planar two-link arm (Spong, Hutchinson, Vidyasagar, §7.4; Siciliano et al., §7.3.2)."""
    m1, m2, l1, lc1, lc2, I1, I2, g, q1, q2, d1, d2 = sp.symbols("m1 m2 l1 lc1 lc2 I1 I2 g q1 q2 qd1 qd2", real=True)
    h = -m2 * l1 * lc2 * sp.sin(q2)
    m12 = m2 * (lc2**2 + l1 * lc2 * sp.cos(q2)) + I2
    M = sp.Matrix(
        [
            [m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * sp.cos(q2)) + I1 + I2, m12],
            [m12, m2 * lc2**2 + I2],
        ]
    )
    C = sp.Matrix([[h * d2, h * (d1 + d2)], [-h * d1, 0]])
    gravity = sp.Matrix(
        [(m1 * lc1 + m2 * l1) * g * sp.cos(q1) + m2 * lc2 * g * sp.cos(q1 + q2), m2 * lc2 * g * sp.cos(q1 + q2)]
    )
    return {"M": M, "C": C, "g": gravity}


def textbook_cart_pole(sp):
    """A pendulum on a cart, its angle counted from the direction of the cart, its centre of mass at lc2."""
    m1, m2, lc2, I2, g, q2, d2 = sp.symbols("m1 m2 lc2 I2 g q2 qd2", real=True)
    M = sp.Matrix([[m1 + m2, -m2 * lc2 * sp.sin(q2)], [-m2 * lc2 * sp.sin(q2), I2 + m2 * lc2**2]])
    C = sp.Matrix([[0, -m2 * lc2 * sp.cos(q2) * d2], [0, 0]])
    return {"M": M, "C": C, "g": sp.Matrix([0, m2 * lc2 * g * sp.cos(q2)])}


@pytest.mark.parametrize("kinds, textbook", [("RR", textbook_2r), ("PR", textbook_cart_pole)])
def test_closed_forms_are_those_of_the_textbooks(kinds, textbook):
    sp = pytest.importorskip("sympy", reason="needs SymPy")
    ours = equations(planar(kinds), "M", "C", "g").sympy()
    for letter, expected in textbook(sp).items():
        assert (ours[letter] - expected).expand() == sp.zeros(*expected.shape), letter


def test_planar_kinematics_and_energy_are_those_of_the_textbooks():
    sp = pytest.importorskip("sympy", reason="needs SymPy")
    ours = equations(planar("RRR"), "T", "J", "energy").sympy()
    q = sp.symbols("q1 q2 q3", real=True)
    lengths = sp.symbols("l1 l2 l3", real=True)
    x = sum(a * sp.cos(sum(q[: k + 1])) for k, a in enumerate(lengths))
    y = sum(a * sp.sin(sum(q[: k + 1])) for k, a in enumerate(lengths))
    assert (ours["T"][0, 3], ours["T"][1, 3]) == (x, y)
    assert (ours["J"][:2, :] - sp.Matrix([x, y]).jacobian(q)).expand() == sp.zeros(2, 3)
    assert ours["J"][5, :] == sp.ones(1, 3)
    M = equations(planar("RRR"), "M").sympy()["M"]
    qd = sp.Matrix(sp.symbols("qd1 qd2 qd3", real=True))
    assert sp.expand(ours["K"] - (qd.T * M * qd)[0] / 2) == 0


def spatial(seed: int) -> SymbolicRobot:
    """A small arm of random twists and joints whose every other number is a symbol."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    quarter = np.pi / 2
    build, columns = [(SymbolicRobot.from_dh, "tdaA"), (SymbolicRobot.from_mdh, "AatD")][seed % 2]
    rows = []
    for i in range(n):
        twist = [0.0, quarter, -quarter, 0.4][int(rng.integers(4))]
        values = {"t": [0.0, 0.3][seed % 2], "d": f"d{i + 1}", "D": f"d{i + 1}", "a": f"a{i + 1}", "A": twist}
        rows.append([values[c] for c in columns])
    coms = [[f"x{i + 1}", f"y{i + 1}", 0.0] for i in range(n)]
    Ixx, Iyy, Izz = (symbols(" ".join(f"{label}{i + 1}" for i in range(n))) for label in ("Ixx", "Iyy", "Izz"))
    return build(
        rows,
        kinds="".join(rng.choice(["R", "R", "P"], n)),
        masses=[f"m{i + 1}" for i in range(n)],
        coms=coms,
        inertias=[[Ixx[i], Iyy[i], Izz[i]] for i in range(n)],
        viscous=["b1", *[0.0] * (n - 1)],
        gravity=[0.0, 0.0, -symbols("g")],
        tool=["e1", 0.0, "e2"],
        name="small",
    )


ARMS = [planar("RRR"), planar("RPR", viscous=["b1", 0.0, "b3"]), planar("PR"), *map(spatial, (1, 2, 4, 5))]


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: repr(arm)[:40])
def test_numbers_in_the_symbols_give_the_arm_with_these_numbers(arm):
    rng = np.random.default_rng(len(arm.parameters))
    values = {name: float(rng.uniform(0.3, 1.5)) for name in arm.parameters}
    robot = arm.robot(values)
    q, qd, qdd = rng.uniform(-2, 2, (3, arm.n))
    energy = aw.energy(robot, q, qd)
    expected = {
        "M": aw.mass_matrix(robot, q),
        "C": aw.coriolis_matrix(robot, q, qd),
        "g": aw.gravity_torque(robot, q),
        "h": aw.bias(robot, q, qd),
        "tau": aw.inverse_dynamics(robot, q, qd, qdd),
        "K": energy.kinetic,
        "V": energy.potential,
        "J": aw.jacobian(robot, q),
        "T": aw.fk(robot, q),
    }
    made = equations(arm, *EVERY)
    given = {"q": q, "qd": qd, "qdd": qdd} | {name: np.float64(value) for name, value in values.items()}
    scope: dict = {}
    exec(compile(made.source("numpy"), "<generated>", "exec"), scope)
    for function in made.functions():
        results = scope[function.name](*(given[signal.name] for signal in function.inputs))
        results = results if isinstance(results, tuple) else (results,)
        for signal, value in zip(function.outputs, results, strict=True):
            np.testing.assert_allclose(value, expected[signal.name], rtol=1e-10, atol=1e-10, err_msg=function.name)
    names = {f"q_{{{k + 1}}}": float(x) for k, x in enumerate(q)}
    names |= {rf"\dot{{q}}_{{{k + 1}}}": float(x) for k, x in enumerate(qd)}
    names |= {f"{name[0]}_{{{name[1:]}}}" if len(name) > 1 else name: value for name, value in values.items()}
    shown = display(equations(arm, "M", "C", "g", "T").latex(digits=17), names)
    for letter in ("M", "C", "g", "T"):
        np.testing.assert_allclose(
            shown[letter].reshape(expected[letter].shape), expected[letter], rtol=1e-10, atol=1e-10, err_msg=letter
        )


def test_the_regressor_of_symbols_is_linear_in_the_parameters_of_the_bodies():
    arm = planar("RR")
    values = {name: 0.2 + 0.1 * k for k, name in enumerate(arm.parameters)}
    robot, state = arm.robot(values), np.random.default_rng(1).uniform(-2, 2, (3, 2))
    kernel = equations(arm, "Y").kernel("Y")
    Y = kernel(*state, *(values[signal.name] for signal in kernel.program.inputs[3:]))
    np.testing.assert_allclose(Y @ aw.dynamics.parameters(robot)[:20], aw.inverse_dynamics(robot, *state), rtol=1e-12)


def program_of(arm, function, *labels):
    """Trace a function of (tree, q, …) with the arm's symbols as inputs."""
    from armwright.dynamics.equations import _of_symbols

    shapes = dict.fromkeys(labels, (arm.n,)) | dict.fromkeys(arm.parameters, ())
    return trace(_of_symbols(arm, function, labels), shapes, name="f")


@pytest.mark.parametrize("arm", [planar("RRR"), planar("RPR"), spatial(0)], ids=["RRR", "RPR", "spatial"])
def test_laws_hold_as_identities_not_only_at_numbers(arm):
    """Ṁ − 2C is skew and C q̇ + g is the bias: the differences collect to the number 0."""

    def skewness(tree, q, qd):
        M = crba(tree, q)
        N = np.tensordot(derivative(M, q), qd, axes=1) - 2.0 * coriolis(tree, q, qd)
        return N + N.T

    def rest(tree, q, qd):
        return coriolis(tree, q, qd) @ qd + gravity_torque(tree, q) - bias(tree, q, qd, friction=False)

    for law in (skewness, rest):
        collected = collect(program_of(arm, law, "q", "qd"))
        assert {(node.op, node.value) for node in collected.nodes} == {(Op.CONST, 0.0)}, law.__name__


def test_latex_of_the_two_link_arm_reads_like_a_textbook():
    text = equations(planar("RR"), "M", "C", "g", "J").latex()
    assert r"M(q) &= \begin{pmatrix}" in text
    assert (
        r"m_{1} \, l_{c1}^{2} + m_{2} \, (l_{1}^{2} + l_{c2}^{2} + 2 \, l_{1} \, l_{c2} \, c_{2}) + I_{1} + I_{2}"
        in text
    )
    assert r"-m_{2} \, l_{1} \, l_{c2} \, s_{2} \, (\dot{q}_{1} + \dot{q}_{2})" in text
    assert r"g(q) &= \begin{pmatrix}" in text
    assert r"-l_{1} \, s_{1} - l_{2} \, s_{12} & -l_{2} \, s_{12}" in text
    assert r"c_{12} = \cos\left(q_{1} + q_{2}\right)" in text
    assert "mathrm" not in text  # no name of a function stands for a matrix
    page = (ROOT / "docs" / "howto" / "symbols.md").read_text(encoding="utf-8")
    assert f"```latex\n{equations(planar('RR'), 'M', 'C', 'g').latex()}```\n" in page


def test_notebooks_show_the_display_alone():
    for arm in (planar("RR"), aw.load("ur5")):
        shown = equations(arm)._repr_latex_()
        assert shown.startswith(r"\begin{align*}") and shown.endswith("\\end{align*}\n")
        assert "%" not in shown


def test_long_entries_stand_below_their_matrix_in_short_lines():
    from armwright.graph.emit.latex_page import breadth

    text = equations(aw.load("ur5-ragazzon"), "M", "C", "g").latex(width=60)
    assert r"M_{11} &= " in text and r"&\quad + " in text and r"\allowdisplaybreaks" in text
    longest = max(breadth(line.removesuffix(r" \\")) for line in text.split("\n") if "&=" in line or r"&\quad" in line)
    assert longest < 1.5 * 60


def test_simplifications_of_latex_reach_the_code():
    """Gravity of 000's UR5: 29 multiplications and 13 additions as the recursion traces it."""
    made = equations(aw.load("ur5-ragazzon"), "g", "C", "M", "J")
    for program, form in zip(made.programs, made.functions(), strict=True):
        assert cost(form) <= cost(program)
    gravity, coriolis_form, *_ = made.functions()
    assert gravity.counts.mul <= 9 and gravity.counts.add <= 6
    assert coriolis_form.counts.flops < 0.6 * made.programs[1].counts.flops
    assert f"{gravity.counts.mul} multiplications, {gravity.counts.add} additions" in made.source("c")
    kernel = kernel_of(aw.load("ur5-ragazzon"), gravity_torque, regroup=True)
    for target in ("c", "matlab", "numpy"):  # what is compiled from the same function elsewhere, too
        assert f"{gravity.counts.mul} multiplications, {gravity.counts.add} additions" in kernel.source(target)


@pytest.mark.parametrize("what", KINDS)
def test_every_kind_has_latex_and_code_for_an_arm_with_numbers(what):
    made = equations(aw.load("planar2"), what)
    assert r"\begin{align*}" in made.latex()
    assert f"planar2_{what}" in made.source("c")


def test_parameters_are_known_by_name_and_take_part_in_arithmetic():
    m, length = symbols("m1, l1")
    rod = planar("R", masses=[m], lengths=[length], centres=[length / 2], inertias=[m * length**2 / 12], gravity=0)
    assert rod.parameters == ("m1", "l1")
    assert equations(rod, "M").latex().count(r"\tfrac{1}{3} \, m_{1} \, l_{1}^{2}") == 1
    robot = rod.robot(m1=3.0, l1=2.0)
    assert aw.mass_matrix(robot, [0.0])[0, 0] == pytest.approx(4.0)
    assert "planar_r" in repr(rod) and "m1, l1" in repr(rod)
    assert (repr(m), repr(length - m * 2)) == ("m1", "l1 - 2*m1")


@pytest.mark.parametrize(
    "mistake, words",
    [
        (lambda: symbols("2m"), "letters"),
        (lambda: symbols("qd"), "qd"),
        (lambda: symbols(" "), "at least one"),
        (lambda: planar("RX"), "R and P"),
        (lambda: planar("RR", masses=["m1"]), r"shape \(2,\)"),
        (lambda: planar("RR", masses=[1.0, float("nan")]), "finite number nor a symbol"),
        (lambda: planar("RR").robot(m1=1.0), "no value for m2"),
        (lambda: planar("R", gravity=0).robot(m1=1, l1=1, lc1=1, I1=1, g=9.81), "no symbol g"),
        (lambda: SymbolicRobot.from_dh([[0.0, 0.0, "l1"]]), r"theta, d, a, alpha.*\(1, 4\)"),
        (lambda: SymbolicRobot.from_dh([]), "at least one row"),
        (lambda: equations(planar("RR"), "mass"), "choose from"),
        (lambda: equations("ur5"), "Robot or a SymbolicRobot"),
        (lambda: equations(planar("RR"), "M").kernel("C"), "not among"),
        (lambda: equations(planar("RR"), "M").latex(digits=0), "at least 1"),
        (lambda: equations(planar("RR"), "M").source("fortran"), "fortran"),
    ],
)
def test_mistakes_are_answered_in_words(mistake, words):
    with pytest.raises(InputError, match=words):
        mistake()
