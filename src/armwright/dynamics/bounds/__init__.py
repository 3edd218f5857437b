# SPDX-License-Identifier: Apache-2.0
"""Bounds that are proved: interval arithmetic on traced graphs, and branch and bound on top of it."""

from armwright.dynamics.bounds.certificate import Certificate
from armwright.dynamics.bounds.certify import MassMatrixBounds, gravity_bound, mass_matrix_bounds
from armwright.dynamics.bounds.interval import Enclosure
from armwright.dynamics.bounds.rounding import rounding_bound

__all__ = ["Certificate", "Enclosure", "MassMatrixBounds", "gravity_bound", "mass_matrix_bounds", "rounding_bound"]
