# SPDX-License-Identifier: Apache-2.0
"""The catalogue against the numbers of its documents: poses, mass matrices, gravity torques, inverse dynamics.

Golden values were recomputed independently of Armwright from the documents' own parameters; where a document prints
a number, that is the one compared with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy import cos, pi, sin

import armwright as aw
from armwright.robot.check import mass_and_gravity
from armwright.robot.model import Robot

ZERO = np.zeros(6)


def near(actual: object, expected: object, atol: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def symmetric(rows: list[list[float]]) -> np.ndarray:
    """Fill a matrix from its upper triangle."""
    n = len(rows)
    M = np.zeros((n, n))
    for i, row in enumerate(rows):
        M[i, i:] = row
        M[i:, i] = row
    return M


def torque(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, rotors: bool = False) -> np.ndarray:
    return np.asarray(aw.inverse_dynamics(robot, q, qd, qdd, friction=False, rotors=rotors))


@pytest.mark.parametrize("entry", aw.robots(), ids=lambda entry: entry.name)
def test_every_sheet_loads_with_title_and_sources(entry) -> None:
    twin = entry.name in ("cea-published", "puma560-published")
    if twin:
        with pytest.warns(aw.ArmwrightWarning):
            robot = aw.load(entry.name, implausible="warn")
    else:
        robot = aw.load(entry.name)
    assert (robot.name, robot.n) == (entry.name, entry.n)
    assert entry.title
    assert entry.source
    assert robot.notes.strip()
    assert [f for f in aw.check(robot) if f.rule == "provenance"] == []
    assert any(f.severity == "error" for f in aw.check(robot)) == twin
    assert robot.is_chain


# --- Ragazzon (000) -------------------------------------------------------------------------------------------------


def test_ragazzon_kinematics() -> None:
    robot = aw.load("ur5-ragazzon")
    T = aw.fk(robot, ZERO)
    near(T[:3, 3], [-0.81743, -0.191, -0.0038], 1e-12)
    near(T[:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], 1e-15)
    near(aw.fk(robot, [2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905])[:3, 3], [0.176322, 0.013036, -0.000009], 6e-7)


def test_ragazzon_tensors() -> None:
    tensors = np.array([np.diag(body.inertia) for body in aw.load("ur5-ragazzon").bodies])
    expected = [
        [7.872366e-3, 3.852967e-3, 7.872366e-3],
        [8.563320e-3, 2.098013e-1, 2.098013e-1],
        [1.600775e-3, 4.676075e-2, 4.676075e-2],
        [1.158833e-3, 8.866337e-4, 1.158833e-3],
        [1.091003e-3, 8.347369e-4, 1.091003e-3],
        [8.209900e-5, 8.209900e-5, 1.217592e-4],
    ]
    np.testing.assert_allclose(tensors, expected, rtol=2e-6)


@pytest.mark.parametrize(
    ("name", "diagonal", "g2", "g3"),
    [
        ("ur5-ragazzon", (3.39101, 3.25846, 0.56678, 0.01347, 0.00220, 0.00012), -51.490, -14.613),
        ("ur5-ragazzon-published", (1.01777, 0.88499, 0.04914, 0.00238, 0.00201, 0.00012), -23.266, 0.0),
    ],
)
def test_ragazzon_at_zero(name: str, diagonal: tuple[float, ...], g2: float, g3: float) -> None:
    robot = aw.load(name)
    near(np.diag(aw.mass_matrix(robot, ZERO)), diagonal, 5.1e-6)
    near(aw.gravity_torque(robot, ZERO), [0, g2, g3, 0, 0, 0], 5.1e-4)


def ragazzon_printed(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and g of the report's appendix, in closed form (constants of m11, m22 refitted, they are lost in print)."""
    _, q2, q3, q4, q5, _ = q
    a, b = q2 + q3 + q4, q3 + q4
    double = 5.2884830122e-4 * cos(2 * q5)
    m34 = 0.00291008553822 - double
    m13 = 0.00202230028 * cos(a) + 7.293408e-4 * (cos(a - q5) - cos(a + q5))
    m13 += 2.6442415061e-4 * (cos(a - 2 * q5) - cos(a + 2 * q5))
    m12 = m13 + 0.267177491 * sin(q2) + 0.00284376 * (sin(q2 + q5) + sin(q2 - q5))
    m15 = -0.00201419266994 * cos(a) - 7.293408e-4 * (cos(a + q5) + cos(a - q5))
    m15 += 0.00284376 * (sin(q2 - q5) - sin(q2 + q5))
    m16 = 6.08795974e-5 * (cos(a + q5) - cos(a - q5))
    lean = 0.00284376 * (sin(b + q5) - sin(b - q5))
    m24 = m34 - 0.007778078 * sin(b) + lean
    m22 = 0.885518424 - double - 0.015556156 * sin(b) + 2.0 * lean
    m25 = 0.00284376 * (sin(b - q5) + sin(b + q5))
    m26 = 1.217591948e-4 * cos(q5)
    m11 = 0.578636171 + 0.0029173632 * cos(q5) + 0.413642135 * cos(2 * q2) + 0.0225799868 * cos(2 * q2 + 2 * q3)
    m11 += -1.32212075e-4 * (cos(2 * a + 2 * q5) + cos(2 * a - 2 * q5)) + 2.64424151e-4 * cos(2 * q5)
    m11 += -4.62956149e-6 * cos(2 * a) - 0.007778078 * (sin(2 * q2 + b) + sin(b))
    m11 += 0.00284376 * (sin(2 * q2 + b + q5) - sin(2 * q2 + b - q5)) + lean
    m23 = m24 - 0.00291008553822 + 0.0496708343882
    M = symmetric(
        [
            [m11, m12, m13, m13, m15, m16],
            [m22, m23, m24, m25, m26],
            [0.04967083438822 - double, m34, 0.0, m26],
            [m34, 0.0, m26],
            [0.00201419266993, 0.0],
            [1.217591948e-4],
        ]
    )
    g3 = 9.81 * (0.01830136 * sin(a) + 0.0066912 * (sin(a - q5) - sin(a + q5)))
    g5 = -0.0066912 * 9.81 * (sin(a - q5) + sin(a + q5))
    return M, np.array([0.0, g3 - 2.37167 * 9.81 * cos(q2), g3, g3, g5, 0.0])


def test_ragazzon_published_equals_the_printed_closed_forms() -> None:
    robot = aw.load("ur5-ragazzon-published")
    for q in np.random.default_rng(0).uniform(-pi, pi, (20, 6)):
        M, g = ragazzon_printed(q)
        near(aw.mass_matrix(robot, q), M, 2e-9)
        near(aw.gravity_torque(robot, q), g, 1e-12)


def test_ragazzon_omission_is_as_large_as_found() -> None:
    correct, published = aw.load("ur5-ragazzon"), aw.load("ur5-ragazzon-published")
    q = np.random.default_rng(0).uniform(-pi, pi, (20000, 6))
    assert 29.0 < np.abs(aw.gravity_torque(correct, q) - aw.gravity_torque(published, q)).max() < 29.45
    assert 2.4 < np.abs(aw.mass_matrix(correct, q) - aw.mass_matrix(published, q)).max() < 2.61


# --- UR5, official, and Kufieta (004) ---------------------------------------------------------------------------------


def test_ur5_official() -> None:
    robot = aw.load("ur5")
    near(aw.fk(robot, ZERO)[:3, 3], [-0.81725, -0.19145, -0.005491], 1e-12)
    near(aw.gravity_torque(robot, ZERO), [0, -53.80, -15.64, 0, 0, 0], 5e-3)


Q_W = np.array([2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0.0])
QD_W = np.array([0.5, -0.4, 0.3, 0.8, -0.6, 1.0])
QDD_W = np.array([1.0, 0.5, -0.8, 1.2, -1.0, 2.0])
KUFIETA = {
    "a": (
        [0, -52.1848, -14.2555, 0, 0, 0],
        [0, 31.413869, 11.129465, 0.590679, -0.038622, 0],
        [1.557322, 31.842848, 10.788814, 0.641177, -0.040501, 0.000426],
    ),
    "b": (
        [0, -54.1113, -16.1820, 0, 0, 0],
        [0, 32.990839, 12.706435, 0.743452, -0.135792, 0],
        [1.651616, 33.411750, 12.302903, 0.799721, -0.142036, 0.000426],
    ),
    "c": (
        [0, -54.1113, -16.1820, 0, 0, 0],
        [0, 32.988204, 12.703799, 0.740816, -0.148783, 0],
        [1.727337, 33.494933, 12.297489, 0.795627, -0.155582, 0.000426],
    ),
}


@pytest.mark.parametrize("model", "abc")
def test_kufieta_torques(model: str) -> None:
    robot = aw.load(f"ur5-kufieta-{model}")
    g_zero, g, tau = KUFIETA[model]
    near(aw.gravity_torque(robot, ZERO), g_zero, 5.1e-5)
    near(aw.gravity_torque(robot, Q_W), g, 6e-7)
    near(torque(robot, Q_W, QD_W, QDD_W), tau, 6e-7)


def test_kufieta_kinematics() -> None:
    robot = aw.load("ur5-kufieta-c")
    near(aw.fk(robot, ZERO)[:3, 3], [-0.81725, -0.19145, -0.00549], 1e-12)
    near(aw.fk(robot, [0, -pi / 2, 0, -pi / 2, 0, 0])[:3, 3], [0, -0.19145, 1.00106], 1e-12)
    T = aw.fk(robot, Q_W)
    near(T[:3, 3], [-0.177337, 0.582157, 0.259316], 6e-7)
    R = [[0.707749, 0.256108, 0.658408], [-0.559532, -0.365760, 0.743736], [0.431296, -0.894779, -0.115566]]
    near(T[:3, :3], R, 6e-7)


def test_kufieta_mass_matrix_and_tensors_of_model_c() -> None:
    robot = aw.load("ur5-kufieta-c")
    near(
        aw.mass_matrix(robot, Q_W),
        symmetric(
            [
                [1.611877, -0.226267, 0.080560, -0.016904, 0.010956, -0.000016],
                [2.121255, 0.559320, 0.066375, -0.013912, 0.000134],
                [0.616867, 0.002185, 0.000450, 0.000134],
                [0.014875, -0.003180, 0.000134],
                [0.002850, 0.0],
                [0.000139],
            ]
        ),
        6e-7,
    )
    coriolis = torque(robot, Q_W, QD_W, ZERO) - aw.gravity_torque(robot, Q_W)
    near(coriolis, [0.324314, 0.025996, -0.275477, 0.018978, -0.003773, 0.000044], 6e-7)
    printed = {
        "c": [[0.0067, 0.0064, 0.0067], [0.0149, 0.3564, 0.3553], [0.0025, 0.0551, 0.0546]],
        "a": [[0.0084, 0.0064, 0.0084], [0.0078, 0.2100, 0.2100], [0.0016, 0.0462, 0.0462]],
    }  # (5.8), (5.7)
    for model, rows in printed.items():
        near([np.diag(body.inertia) for body in aw.load(f"ur5-kufieta-{model}").bodies[:3]], rows, 5.1e-5)
    near(robot.bodies[2].inertia[0, 2], 0.0034, 5e-5)


# --- Fedorov's IRB 140 (002) ------------------------------------------------------------------------------------------

Q_T = np.array([0.3, -0.4, 0.5, -0.6, 0.7, -0.8])
QD_T = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.6])
QDD_T = np.array([1.0, 0.8, -0.6, 0.4, -0.2, 0.5])
R_C = np.array([[0.0, 0, 1], [0, -1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("q", "flange", "g"),
    [
        ((0, 0, 0, 0, 0, 0), (0.515, 0, 0.712), (0, -23.63229, -23.63229, 0, -0.28449, 0)),
        ((0, pi / 2, -pi / 2, 0, 0, 0), (0.875, 0, 0.352), (0, -158.83371, -23.63229, 0, -0.28449, 0)),
        ((0, pi, -pi / 2, 0, 0, 0), (0.070, 0, -0.453), (0, 0, 0, 0, 0, 0)),
        ((pi / 2, 0, -pi / 2, pi, pi / 2, -pi), (0, 0.005, 1.092), (0, 0.28449, 0.28449, 0, -0.28449, 0)),
        ((pi, 0, 0, pi, pi / 2, -pi), (-0.450, 0, 0.777), (0, -23.3478, -23.3478, 0, 0, 0)),
    ],
)
def test_irb140_configurations(q: tuple[float, ...], flange: tuple[float, ...], g: tuple[float, ...]) -> None:
    robot = aw.load("irb140")
    near(aw.fk(robot, q)[:3, 3], flange, 1e-12)
    near(aw.gravity_torque(robot, q), g, 1e-9)


def test_irb140_random_state() -> None:
    robot = replace(aw.load("irb140"), T_tip_tool=np.eye(4))  # the thesis's tool; the sheet's is ABB's tool0
    T = aw.fk(robot, Q_T)
    near(T[:3, 3], [0.345107, 0.082005, 0.606294], 6e-7)
    R = [[0.783817, -0.598373, 0.166074], [-0.138296, 0.092519, 0.986060], [-0.605396, -0.795858, -0.010234]]
    near(T[:3, :3] @ R_C.T, R, 6e-7)
    near(aw.gravity_torque(robot, Q_T), [0, 29.217353, -23.432560, -0.102967, -0.160391, 0], 6e-7)
    near(torque(robot, Q_T, QD_T, QDD_T), [2.171053, 33.318086, -23.421675, -0.040820, -0.167843, 0.000193], 6e-7)
    coriolis = torque(robot, Q_T, QD_T, ZERO) - aw.gravity_torque(robot, Q_T)
    near(coriolis, [0.014310, 0.112517, 0.124521, 0.007005, 0.003622, 0.000069], 6e-7)


def test_irb140_holding_torque_and_mass_matrices() -> None:
    robot = aw.load("irb140")
    q = np.array([0, pi / 2, -pi / 2, 0, 0, 0])
    near(aw.gravity_torque(robot, q), 9.81 * np.array([0, -(2.409 + 13.782), -2.409, 0, -0.029, 0]), 1e-12)  # (5.18)
    wrist = [[0.166280, 0, 0.000968], [0.002279, 0], [0.000968]]
    near(
        aw.mass_matrix(robot, ZERO),
        symmetric(
            [
                [2.669537, 0.309540, 0, 0, 0, 0],
                [5.989551, 1.119477, 0, 0.013299, 0],
                [1.119477, 0, 0.013299, 0],
                *wrist,
            ]
        ),
        6e-7,
    )
    near(
        aw.mass_matrix(robot, q),
        symmetric(
            [
                [10.952759, 0, 0, 0, 0, 0],
                [7.724031, 1.986717, 0, 0.023739, 0],
                [1.119477, 0, 0.013299, 0],
                *wrist,
            ]
        ),
        6e-7,
    )


def test_irb140_published_is_the_same_arm_but_for_the_mirrored_offset() -> None:
    arm, printed = aw.load("irb140"), aw.load("irb140-published")
    sign = np.diag([1.0, -1, -1, 1, 1, 1])
    for q in np.random.default_rng(3).uniform(-pi, pi, (5, 6)):
        theta = np.array([q[0], pi / 2 - q[1], -q[2], q[3], q[4] + pi, q[5]])
        near(aw.fk(printed, theta)[:3, 3], aw.fk(arm, q)[:3, 3], 1e-12)
        near(sign @ aw.gravity_torque(printed, theta), aw.gravity_torque(arm, q), 1e-10)
        M, P = aw.mass_matrix(arm, q), sign @ aw.mass_matrix(printed, theta) @ sign
        near(np.delete(P - M, 0, axis=0)[:, 1:], np.zeros((5, 5)), 1e-12)
        near(P[0, 0], M[0, 0], 1e-12)
        assert abs(P[0, 1] - M[0, 1]) > 1e-3 or abs(cos(q[1])) < 0.01


# --- RL15 (001) -------------------------------------------------------------------------------------------------------

Q_G = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
QD_G = np.array([0.5, -0.3, 0.4, 1.0, -0.8, 1.2])
QDD_G = np.array([1.0, -2.0, 1.5, 0.5, -1.0, 2.0])


def test_rl15_golden_state() -> None:
    robot = aw.load("rl15")
    near(aw.fk(robot, ZERO)[:3, 3], [1.025, 0, 0.715], 1e-12)
    near(aw.fk(robot, Q_G)[:3, 3], [1.187529684, 0.367345979, 0.749424644], 6e-10)
    near(
        aw.mass_matrix(robot, Q_G, rotors=False),
        symmetric(
            [
                [177.548916544, 0.329820292, 0.015792266, 1.878033048, -1.560389557, -0.001810731],
                [200.901143850, 103.588885782, 0.933584033, 1.206599163, -0.001455011],
                [81.095944424, 0.743451193, 1.549680143, -0.001455011],
                [0.534664167, -0.000328527, 0.003059369],
                [0.699010100, 0.0],
                [0.004],
            ]
        ),
        6e-10,
    )
    bias = [19.549956122, 856.967274569, 483.224161870, 6.973747369, 14.168153324, -0.002627890]
    near(torque(robot, Q_G, QD_G, ZERO), bias, 6e-10)
    total = [198.958705099, 610.135418666, 396.525234640, 8.373568489, 11.819911293, 0.005818569]
    near(torque(robot, Q_G, QD_G, QDD_G), total, 6e-10)
    near(aw.gravity_torque(robot, Q_G), [0, 829.831357519, 476.629006408, 6.451766261, 14.784017450, 0], 6e-10)
    near(aw.gravity_torque(robot, ZERO), [0, 475.0810344, 499.012137, -1.553904, 21.351465, 0], 6e-8)


def test_rl15_motors() -> None:
    robot = aw.load("rl15")
    K, rotor = robot.actuators.gear, robot.actuators.rotor_inertia
    near(K[3:, 3:], [[24 / 14 * 78, 0, 0], [24 / 14, 24 / 14 * 1.6 * 120 * 10 / 15, 0], [-1, 160 / 3, 160 / 3]], 1e-12)
    near(np.diag(K) ** 2 * rotor, [60.5, 127.4, 59.5, 14.3, 48.1, 1.99], 0.06)
    near(aw.mass_matrix(robot, Q_G) - aw.mass_matrix(robot, Q_G, rotors=False), K.T @ np.diag(rotor) @ K, 1e-10)
    near(robot.actuators.speed_limit / np.diag(K), [2.749, 2.464, 2.772, 2.663, 1.623, 6.676], 6e-4)


def test_rl15_origin_reads_the_other_meaning() -> None:
    tensors = [np.diag(body.inertia) for body in aw.load("rl15-origin").bodies[1:4]]
    near(tensors, [[1.087, 4.084, 4.581], [2.741, 2.840, 0.478], [0.668, 0.230, 0.678]], 6e-4)


# --- CEA (003) --------------------------------------------------------------------------------------------------------

Q_I = np.array([-1.0, 0, -1, -1, -1, -1]) * pi / 2
Q_F = np.array([0, pi / 4, 0, pi / 2, pi / 2, 0])


def test_cea_kinematics() -> None:
    robot = aw.load("cea")
    near(aw.fk(robot, Q_I)[:3, 3], [-0.1, -0.7, 0.3], 1e-12)
    near(aw.fk(robot, Q_F)[:3, 3], [0.636396, -0.1, 1.136396], 6e-7)
    q = np.random.default_rng(4).uniform(-pi, pi, (50, 6))
    q1, q2, q3, q4, q5, _ = q.T
    c23, s23 = cos(q2 + q3), sin(q2 + q3)
    x = 0.7 * cos(q2) + 0.2 * c23 + 0.1 * (cos(q5) * c23 - cos(q4) * sin(q5) * s23)
    y = -0.1 * sin(q4) * sin(q5)
    z = 0.5 + 0.7 * sin(q2) + 0.2 * s23 + 0.1 * (cos(q5) * s23 + cos(q4) * sin(q5) * c23)
    expected = np.stack([cos(q1) * x - sin(q1) * y, sin(q1) * x + cos(q1) * y, z], axis=-1)
    near(aw.fk(robot, q)[:, :3, 3], expected, 1e-14)


def test_cea_mass_matrices() -> None:
    robot = aw.load("cea")
    near(
        aw.mass_matrix(robot, Q_I),
        symmetric(
            [
                [6.435, 0, 0, -0.07, 0, 0],
                [7.165, 0.91, 0, 0, 0.01],
                [1.01, 0, 0, 0.01],
                [0.119, 0, 0],
                [0.069, 0],
                [0.059],
            ]
        ),
        1e-12,
    )
    near(
        aw.mass_matrix(robot, Q_F),
        symmetric(
            [
                [5.0825, 0.070711, 0, 0.049497, -0.014142, 0],
                [9.685, 2.17, 0, 0, 0.01],
                [1.01, 0, 0, 0.01],
                [0.119, 0, 0],
                [0.069, 0],
                [0.059],
            ]
        ),
        6e-7,
    )
    q_max = np.array([0, pi / 2, 0, pi / 2, pi / 2, pi / 2])
    near(np.linalg.eigvalsh(aw.mass_matrix(robot, q_max))[[0, -1]], [0.058859, 10.198511], 6e-7)  # mu1, mu2 of Q14


def test_cea_torques() -> None:
    robot = aw.load("cea")
    near(aw.gravity_torque(robot, Q_I), [0, 99.5715, 0, 0, 0, 0], 1e-10)
    near(aw.gravity_torque(robot, Q_F), [0, 82.893774, 12.486092, 0, 0, 0], 6e-7)
    qd = np.array([0.5, 1, -0.5, 0.5, 1, -0.5])
    for q, expected in (
        (Q_I, [0.745, -1.26, -1.575, -0.015, 0.01, 0]),
        (Q_F, [-4.084541, 1.146180, 0.231805, 0.025607, -0.005732, -0.010303]),
    ):
        near(torque(robot, q, qd, ZERO) - aw.gravity_torque(robot, q), expected, 6e-7)
    friction = aw.inverse_dynamics(robot, Q_I, qd, ZERO) - aw.inverse_dynamics(robot, Q_I, qd, ZERO, friction=False)
    near(friction, [5, 10, -5, 5, 10, -5], 1e-12)
    near(np.diag(robot.tree.armature), [0.1, 0.1, 0.1, 0.049, 0.049, 0.049], 1e-15)


# --- public arms and our own ------------------------------------------------------------------------------------------


def test_puma560_equals_the_published_model() -> None:
    """Inertia and gravity load at the nominal pose as the Robotics Toolbox prints them (mdl_puma560, qn)."""
    with pytest.warns(aw.ArmwrightWarning, match="triangle|largest"):
        robot = aw.load("puma560-published", implausible="warn")
    q = np.array([0, pi / 4, pi, 0, pi / 4, 0])
    near(
        aw.mass_matrix(robot, q),
        symmetric(
            [
                [3.6594, -0.4044, 0.1006, -0.0025, 0, 0],
                [4.4137, 0.3509, 0, 0.0024, 0],
                [0.9378, 0, 0.0015, 0],
                [0.1925, 0, 0],
                [0.1713, 0],
                [0.1941],
            ]
        ),
        5.1e-5,
    )
    near(aw.gravity_torque(robot, q), [0, 31.6399, 6.0351, 0, 0.0283, 0], 5.1e-5)
    difference = aw.mass_matrix(robot, q) - aw.mass_matrix(aw.load("puma560"), q)
    near(difference[1:3, 1:3], np.full((2, 2), 0.02), 1e-14)  # 0.086 against 0.066 about parallel axes 2 and 3


def test_panda_home() -> None:
    robot = aw.load("panda")
    near(aw.fk(robot, np.zeros(7)), [[1, 0, 0, 0.088], [0, -1, 0, 0], [0, 0, -1, 0.926], [0, 0, 0, 1]], 1e-15)
    ready = [0, -pi / 4, 0, -3 * pi / 4, 0, pi / 2, pi / 4]
    near(aw.fk(robot, ready)[:3, 3], [0.306891, 0, 0.590282], 6e-7)
    assert sum(body.mass for body in robot.bodies) == pytest.approx(16.062132)


def test_planar_arms_follow_the_textbook() -> None:
    robot = aw.load("planar2")
    inertia = (3 * 0.05**2 + 1.0) / 12.0
    for q in np.random.default_rng(5).uniform(-pi, pi, (5, 2)):
        m22 = inertia + 0.25
        m12 = m22 + 0.5 * cos(q[1])
        near(aw.mass_matrix(robot, q), [[2 * inertia + 1.5 + cos(q[1]), m12], [m12, m22]], 1e-14)
        g2 = 0.5 * 9.81 * cos(q[0] + q[1])
        near(aw.gravity_torque(robot, q), [1.5 * 9.81 * cos(q[0]) + g2, g2], 1e-13)
    near(aw.fk(aw.load("planar3"), [pi / 2, 0, 0])[:3, 3], [0, 2.5, 0], 1e-15)


def test_sdt_has_the_published_axes() -> None:
    robot = aw.load("sdt")
    for q in np.random.default_rng(6).uniform(-pi, pi, (5, 4)):
        T = aw.kinematics.fk_all(robot, q)
        c, s = cos(q[0] + q[1]), sin(q[0] + q[1])
        near(T[0][:3, 2], [0, 0, 1], 1e-15)
        near(T[1][:3, 2], [s, -c, 0], 1e-15)
        near(T[2][:3, 2], [c * cos(q[2]), s * cos(q[2]), sin(q[2])], 1e-15)
        near(T[1][:3, 3], T[3][:3, 3], 1e-15)  # yaw, pitch and roll meet in one point


@pytest.mark.parametrize("name", ["ur5", "irb140", "rl15", "cea", "panda", "sdt"])
def test_checks_own_mass_matrix_is_the_same(name: str) -> None:
    robot = aw.load(name)
    for q in np.random.default_rng(8).uniform(-2, 2, (3, robot.n)):
        M, g = mass_and_gravity(robot.tree, q)
        near(aw.mass_matrix(robot, q), M, 1e-11 * np.abs(M).max())
        near(aw.gravity_torque(robot, q), g, 1e-11 * max(1.0, np.abs(g).max()))
