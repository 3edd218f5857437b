# SPDX-License-Identifier: Apache-2.0
"""Published arms: a golden state of RL15 (001), and operation counts that must not grow."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.dynamics import public as api
from armwright.dynamics.crba import crba
from armwright.dynamics.methods import METHODS
from armwright.robot.kernels import kernel
from armwright.robot.load import load
from support.arms import close

Q = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
QD = np.array([0.5, -0.3, 0.4, 1.0, -0.8, 1.2])
QDD = np.array([1.0, -2.0, 1.5, 0.5, -1.0, 2.0])
H = np.array(
    [
        [177.548916544, 0.329820292, 0.015792266, 1.878033048, -1.560389557, -0.001810731],
        [0.0, 200.901143850, 103.588885782, 0.933584033, 1.206599163, -0.001455011],
        [0.0, 0.0, 81.095944424, 0.743451193, 1.549680143, -0.001455011],
        [0.0, 0.0, 0.0, 0.534664167, -0.000328527, 0.003059369],
        [0.0, 0.0, 0.0, 0.0, 0.699010100, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.004],
    ]
)
BIAS = [19.549956122, 856.967274569, 483.224161870, 6.973747369, 14.168153324, -0.002627890]
TORQUE = [198.958705099, 610.135418666, 396.525234640, 8.373568489, 11.819911293, 0.005818569]
BIAS_LOADED = [122.364689730, 594.765359027, 325.196815830, 27.564370066, -6.372750284, 10.097434870]
GRAVITY = [0.0, 829.831357519, 476.629006408, 6.451766261, 14.784017450, 0.0]
ACCELERATION = [0.410746911, -3.458324302, 0.462369139, -1.177339884, -7.255013896, 250.653603106]
PLACES = 6e-10  # the document prints nine decimals


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.mass])
def test_rl15_mass_matrix(rl15, method):
    assert np.abs(api.mass_matrix(rl15, Q, method, rotors=False) - (H + np.triu(H, 1).T)).max() < PLACES


def test_rl15_torques(rl15):
    assert np.abs(api.bias(rl15, Q, QD, friction=False) - BIAS).max() < PLACES
    assert np.abs(api.gravity_torque(rl15, Q) - GRAVITY).max() < PLACES
    tool = np.eye(4)
    tool[:3, 3] = 0.12, 0.12, 0.35
    exerted = np.array([100.0, 100.0, -150.0, 0.0, 0.0, 0.0])  # f_e: what the arm does to the world
    assert np.abs(api.bias(rl15.with_tool(tool), Q, QD, -exerted, friction=False) - BIAS_LOADED).max() < PLACES
    for name in (m.name for m in METHODS.values() if m.inverse):
        tau = api.inverse_dynamics(rl15, Q, QD, QDD, method=name, friction=False, rotors=False)
        assert np.abs(tau - TORQUE).max() < PLACES


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.forward])
def test_rl15_accelerations(rl15, method):
    qdd = api.forward_dynamics(rl15, Q, QD, [100, 200, 150, 5, 5, 1], method=method, friction=False, rotors=False)
    close(qdd, ACCELERATION, 1e-11)


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.forward])
def test_rl15_with_coupled_motors(rl15, method):
    assert np.count_nonzero(np.triu(rl15.tree.armature, 1)) > 0
    tau = api.inverse_dynamics(rl15, Q, QD, QDD)
    close(api.forward_dynamics(rl15, Q, QD, tau, method=method), QDD, 1e-10)


def test_ur5_operation_counts_do_not_grow():
    ur5 = load("ur5")
    rnea = api.inverse_dynamics_kernel(ur5, friction=False, rotors=False).counts
    assert rnea.flops <= 314
    assert kernel(ur5, crba, regroup=True, rotors=False).counts.flops <= 174
    composite = api.forward_dynamics_kernel(ur5, "crba", friction=False, rotors=False).counts
    articulated = api.forward_dynamics_kernel(ur5, "aba", friction=False, rotors=False).counts
    assert composite.flops <= 600 < articulated.flops <= 825
    assert api.forward_dynamics_kernel(ur5) is api.forward_dynamics_kernel(ur5, "crba")
