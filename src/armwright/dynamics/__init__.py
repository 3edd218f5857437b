# SPDX-License-Identifier: Apache-2.0
"""Forces and accelerations: one file per formulation, what they share in `terms`, what users call in `public`.

The names below are of two kinds. Compiled, with batches: `inverse_dynamics`, `forward_dynamics`, `mass_matrix`, … .
Plain functions of one configuration, to read next to their document, to compile or to call on floats: `rnea`, `crba`,
`aba`, `mrnea`, and the ``…_inverse`` and ``…_forward`` of the other formulations in their files.
"""

from armwright.dynamics.aba import aba
from armwright.dynamics.actuator_side import actuator_side
from armwright.dynamics.bounds import Certificate, MassMatrixBounds, gravity_bound, mass_matrix_bounds
from armwright.dynamics.centroidal import centroidal_matrix, centroidal_momentum
from armwright.dynamics.compare_methods import compare
from armwright.dynamics.crba import crba
from armwright.dynamics.equations import Equations, equations
from armwright.dynamics.methods import METHODS
from armwright.dynamics.mrnea import mrnea
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.public import (
    base_parameters,
    bias,
    coriolis_matrix,
    dynamics_derivatives,
    energy,
    forward_dynamics,
    forward_dynamics_kernel,
    gravity_torque,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_dynamics_kernel,
    joint_reactions,
    mass_matrix,
    parameter_names,
    parameters,
    random_states,
    regressor,
)

__all__ = [
    "METHODS",
    "Certificate",
    "Equations",
    "MassMatrixBounds",
    "aba",
    "actuator_side",
    "base_parameters",
    "bias",
    "centroidal_matrix",
    "centroidal_momentum",
    "compare",
    "coriolis_matrix",
    "crba",
    "dynamics_derivatives",
    "energy",
    "equations",
    "forward_dynamics",
    "forward_dynamics_kernel",
    "gravity_bound",
    "gravity_torque",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_kernel",
    "joint_reactions",
    "mass_matrix",
    "mass_matrix_bounds",
    "mrnea",
    "parameter_names",
    "parameters",
    "random_states",
    "regressor",
    "rnea",
]
