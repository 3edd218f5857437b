"""Bounds that are proved: interval arithmetic on traced graphs, and branch and bound on top of it."""

from armwright.studies.bounds.certificate import Certificate
from armwright.studies.bounds.certify import certified_bounds
from armwright.studies.bounds.interval import Enclosure
from armwright.studies.bounds.rounding import rounding_bound

__all__ = ["Certificate", "Enclosure", "certified_bounds", "rounding_bound"]
