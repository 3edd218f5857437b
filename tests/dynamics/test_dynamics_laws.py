# SPDX-License-Identifier: Apache-2.0
"""The laws that dynamics must keep, on compiled code and random arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.dynamics import centroidal_matrix, centroidal_momentum, crba
from armwright.dynamics import public as api
from armwright.dynamics.centroidal import momentum
from armwright.dynamics.derivatives import forward_derivatives
from armwright.dynamics.energy import energy, potential_energy
from armwright.dynamics.regressor import find_base
from armwright.errors import InputError, TraceError
from armwright.kinematics import com_jacobian, fk_all
from armwright.robot.kernels import kernel
from armwright.robot.load import load
from support.arms import close, random_arm, random_state
from support.twins import pinocchio_model

KINDS = [(3, "chain", "coupled"), (4, "tree", "plain"), (2, "mimic", "coupled")]


def arms():
    return [random_arm(7 * n, n, shape=shape, drives=drives) for n, shape, drives in KINDS]


@pytest.mark.parametrize("robot", arms(), ids=[shape for _, shape, _ in KINDS])
class TestLaws:
    def test_forward_undoes_inverse(self, robot):
        q, qd, qdd, wrench, _ = random_state(robot, 1)
        close(api.forward_dynamics(robot, q, qd, api.inverse_dynamics(robot, q, qd, qdd, wrench), wrench), qdd, 1e-10)

    def test_mass_matrix_is_symmetric_positive_definite(self, robot):
        q = api.random_states(robot, 50)[0]
        M = api.mass_matrix(robot, q)
        assert np.array_equal(M, np.swapaxes(M, -1, -2))
        assert np.linalg.eigvalsh(M).min() > 0.0
        bare = api.mass_matrix(robot, q, rotors=False)
        close(M - bare, np.broadcast_to(robot.tree.armature, M.shape), 1e-12)

    def test_rate_of_mass_minus_twice_coriolis_is_skew(self, robot):
        q, qd, *_ = random_state(robot, 2)
        C = api.coriolis_matrix(robot, q, qd)
        rate = kernel(robot, crba, regroup=True).derivative("q")(q) @ qd
        S = rate - 2.0 * C
        assert np.abs(S + S.T).max() < 1e-10 * np.abs(rate).max()
        velocity_torque = api.bias(robot, q, qd, friction=False) - api.gravity_torque(robot, q)
        close(C @ qd, velocity_torque, 1e-10)

    def test_power_of_the_actuators_is_the_rate_of_energy(self, robot):
        q, qd, qdd, *_ = random_state(robot, 3)
        k = kernel(robot, energy, rotors=True).derivative(("q", "qd"))
        total_q, total_qd = k(q, qd)[-2:]
        tau = api.inverse_dynamics(robot, q, qd, qdd, friction=False)
        assert total_q @ qd + total_qd @ qdd == pytest.approx(tau @ qd, rel=1e-10)

    def test_momentum_changes_by_gravity_and_what_the_base_exerts(self, robot):
        """ḣ_G = [Σf + m g; Σn − c × Σf], with f, n of the joints at the base, about its origin (Newton and Euler)."""
        q, qd, qdd, *_ = random_state(robot, 5)
        by_q, by_qd = kernel(robot, momentum).derivative(("q", "qd"))(q, qd)[-2:]
        reaction = api.joint_reactions(robot, q, qd, qdd, frame="parent")
        at_base = np.array([k < 0 for k in robot.tree.parent])
        R, p = robot.T_base_root[:3, :3], robot.T_base_root[:3, 3]
        f, n = (R @ part for part in np.split(reaction[at_base].sum(axis=0), 2))
        n = n + np.cross(p, f)
        mass, T = np.array([body.mass for body in robot.bodies]), fk_all(robot, q)
        places = np.stack([T[i, :3, :3] @ body.com + T[i, :3, 3] for i, body in enumerate(robot.bodies)])
        com, weight = mass @ places / mass.sum(), mass.sum() * robot.gravity
        close(by_q @ qd + by_qd @ qdd, np.concatenate([f + weight, n - np.cross(com, f)]), 1e-10)

    def test_momentum_is_linear_in_speed_and_carries_the_mass(self, robot):
        q, qd, *_ = random_state(robot, 6)
        A = centroidal_matrix(robot, q)
        close(A @ qd, centroidal_momentum(robot, q, qd), 1e-12)
        close(A[:3], sum(body.mass for body in robot.bodies) * com_jacobian(robot, q), 1e-12)

    def test_gravity_torque_is_the_gradient_of_potential_energy(self, robot):
        q, *_ = random_state(robot, 4)
        close(api.gravity_torque(robot, q), kernel(robot, potential_energy).derivative("q")(q), 1e-10)

    def test_friction_takes_power_and_rests_in_the_dead_zone(self, robot):
        q, qd, qdd, *_ = random_state(robot, 5)
        loss = api.inverse_dynamics(robot, q, qd, qdd) - api.inverse_dynamics(robot, q, qd, qdd, friction=False)
        assert loss @ qd > 0.0
        zero = np.zeros(robot.n)
        close(api.inverse_dynamics(robot, q, zero, zero), api.gravity_torque(robot, q), 1e-12)
        slow = np.full(robot.n, 0.005)
        without = api.inverse_dynamics(robot, q, slow, zero, friction=False)
        close(api.inverse_dynamics(robot, q, slow, zero) - without, robot.tree.viscous @ slow, 1e-9)

    def test_regressor_times_parameters_is_the_torque(self, robot):
        q, qd, qdd = api.random_states(robot, 6, seed=6)
        Y = api.regressor(robot, q, qd, qdd)
        assert Y.shape[-1] == len(api.parameters(robot)) == len(api.parameter_names(robot))
        close(Y @ api.parameters(robot), api.inverse_dynamics(robot, q, qd, qdd), 1e-11)

    def test_base_parameters_reproduce_the_torque(self, robot):
        base = api.base_parameters(robot)
        q, qd, qdd = api.random_states(robot, 6, seed=99)
        Y = api.regressor(robot, q, qd, qdd)[..., base.independent]
        close(Y @ (base.regrouping @ api.parameters(robot)), api.inverse_dynamics(robot, q, qd, qdd), 1e-9)
        assert base.rank == len(base.names) < len(api.parameters(robot))
        close(base.regrouping[:, base.independent], np.eye(base.rank), 1e-12)

    def test_reactions_carry_the_weight_and_the_torque(self, robot):
        q, qd, qdd, wrench, _ = random_state(robot, 7)
        zero = np.zeros(robot.n)
        reactions = api.joint_reactions(robot, q, zero, zero, frame="parent")
        R = robot.T_base_root[:3, :3]
        at_root = sum(reactions[i] for i, body in enumerate(robot.bodies) if body.parent < 0)
        mass = sum(body.mass for body in robot.bodies)
        close(R @ at_root[:3], -mass * robot.gravity, 1e-10)
        # moment about the root link: potential energy tells by how much the weights turn
        moment = R @ at_root[3:]
        first = -np.array([api.energy(robot.with_gravity(g), q, zero).potential for g in np.eye(3)])
        arm = first - mass * robot.T_base_root[:3, 3]
        close(moment, -np.cross(arm, robot.gravity), 1e-9)
        along = api.joint_reactions(robot, q, qd, qdd, wrench)
        work = np.zeros(robot.n)
        for i, body in enumerate(robot.bodies):
            part = along[i, 3:] if robot.joints[body.joint].kind == "revolute" else along[i, :3]
            work[body.joint] += body.ratio * (body.axis @ part)
        close(work, api.inverse_dynamics(robot, q, qd, qdd, wrench, friction=False, rotors=False), 1e-10)

    def test_derivatives_match_finite_differences(self, robot):
        q, qd, x, wrench, _ = random_state(robot, 8)
        h = 1e-6

        def slope(function, where):
            columns = []
            for one in np.eye(robot.n):
                low, high = [q, qd, x], [q, qd, x]
                low[where], high[where] = low[where] - h * one, high[where] + h * one
                columns.append((function(robot, *high, wrench) - function(robot, *low, wrench)) / (2.0 * h))
            return np.array(columns).T

        for exact, function in (
            (api.dynamics_derivatives, api.forward_dynamics),
            (api.inverse_dynamics_derivatives, api.inverse_dynamics),
        ):
            for where, part in enumerate(exact(robot, q, qd, x, wrench)):
                close(part, slope(function, where), 1e-6)


def test_derivatives_reactions_and_regressor_agree_with_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the independent engine")
    robot = random_arm(21, 5, drives="none")
    robot = replace(robot, bodies=tuple(replace(body, T_joint_link=np.eye(4)) for body in robot.bodies))
    model = pinocchio_model(pin, robot)
    data = model.createData()
    q, qd, x, *_ = random_state(robot, 1)
    pin.computeABADerivatives(model, data, q, qd, x)
    M_inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    ours = api.dynamics_derivatives(robot, q, qd, x)
    for part, theirs in zip(ours, (data.ddq_dq, data.ddq_dv, M_inverse), strict=True):
        close(part, theirs, 1e-9)
    pin.computeRNEADerivatives(model, data, q, qd, x)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    ours = api.inverse_dynamics_derivatives(robot, q, qd, x)
    for part, theirs in zip(ours, (data.dtau_dq, data.dtau_dv, M), strict=True):
        close(part, theirs, 1e-10)
    pin.computeCentroidalMomentum(model, data, q, qd)
    close(centroidal_momentum(robot, q, qd), data.hg.vector, 1e-10)
    close(centroidal_matrix(robot, q), pin.ccrba(model, data, q, qd), 1e-10)
    pin.rnea(model, data, q, qd, x)
    close(api.joint_reactions(robot, q, qd, x), [data.f[i + 1].vector for i in range(robot.n)], 1e-10)
    theirs = pin.computeJointTorqueRegressor(model, data, q, qd, x)
    close(api.regressor(robot, q, qd, x)[:, : 10 * robot.n], theirs, 1e-10)
    kinetic = pin.computeKineticEnergy(model, data, q, qd)
    potential = pin.computePotentialEnergy(model, data, q)
    close(api.energy(robot, q, qd), [kinetic, potential, kinetic + potential], 1e-10)


def test_puma_has_its_well_known_36_base_inertial_parameters():
    robot = load("puma560")
    Y = api.regressor(robot, *api.random_states(robot, 200))[..., :60]
    assert find_base(Y.reshape(-1, 60), api.parameter_names(robot)[:60]).rank == 36


def test_bad_requests_say_what_would_be_valid():
    robot = random_arm(1, 2)
    zero = np.zeros(2)
    with pytest.raises(InputError, match="joint, link, parent"):
        api.joint_reactions(robot, zero, zero, zero, frame="world")
    with pytest.raises(InputError, match="rows"):
        find_base(np.zeros((2, 5)), list("abcde"))
    with pytest.raises(TraceError, match="dynamics_derivatives"):
        forward_derivatives(robot, zero, zero, zero)
