"""Touch: shapes and worlds, contact models, observers of external torque, detectors, isolation."""

from armwright.contact.capsules import LinkCapsule, beyond_tool, link_capsules, tool_point
from armwright.contact.cylinders_000 import tool_cylinders
from armwright.contact.isolation import Isolation, isolate
from armwright.contact.isolation_noise import torque_covariance
from armwright.contact.isolation_posterior import Patches, contact_patches
from armwright.contact.model import contact_wrench
from armwright.contact.model_report import ContactReport, clearance, contact_report
from armwright.contact.monitor import Monitor, evaluate, with_gains
from armwright.contact.offline import run_monitors
from armwright.contact.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere
from armwright.contact.shapes_distance import normal, signed_distance
from armwright.contact.world import Errand, World, check_base, load_world, worlds
from armwright.contact.wrench_estimate import WrenchEstimate, tool_wrench, wrench_observer

__all__ = [
    "Box",
    "Capsule",
    "ContactReport",
    "Cylinder",
    "Errand",
    "HalfSpace",
    "Isolation",
    "LinkCapsule",
    "Mesh",
    "Monitor",
    "Patches",
    "Shape",
    "Sphere",
    "World",
    "WrenchEstimate",
    "beyond_tool",
    "check_base",
    "clearance",
    "contact_patches",
    "contact_report",
    "contact_wrench",
    "evaluate",
    "isolate",
    "link_capsules",
    "load_world",
    "normal",
    "run_monitors",
    "signed_distance",
    "tool_cylinders",
    "tool_point",
    "tool_wrench",
    "torque_covariance",
    "with_gains",
    "worlds",
    "wrench_observer",
]
