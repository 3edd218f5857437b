# SPDX-License-Identifier: Apache-2.0
"""A virtual controller with a low wall, the exact model of its arm, and rides on it."""

from __future__ import annotations

import contextlib

import numpy as np

import armwright as aw
from armwright.exploration.grid.held_tool import HeldTool, paced
from armwright.identify.gear_friction import GearFriction
from armwright.identify.identified import Bands, Identified
from armwright.lab.lab_plant import as_measured, current_map
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_feeling import WireFeeling
from armwright.live.wire_limits import Fence, Watchman, WireLimits
from armwright.live.wire_ride import WireRide
from armwright.live.wire_rows import WireRows
from armwright.live.wire_socket import WireSocket
from armwright.world.world_file import world_from_text

START = np.array([2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905])  # the tool upright, 0.1 m before the wall
BANDS = (3.0, 3.0, 3.0, 1.2, 1.2, 1.2)  # [N m], wider than free motion ever was
WALL = """
name = "low wall"
title = "A low wall across the way"
[surface]
stiffness = { value = 1e5, unit = "N/m" }
damping = { value = 200.0, unit = "N s/m" }
[shapes.wall]
kind = "box"
centre = { value = [0.40, 0.0, 0.0], unit = "m" }
size = { value = [0.06, 0.5, 0.1], unit = "m" }
"""


def exact_model():
    """The lab's UR5 as it is: gains, friction and offsets of its currents."""
    arm, drives = as_measured(aw.load("ur5")), current_map(aw.load("ur5"))
    c = np.zeros((6, 5))
    c[:, 0] = [joint.friction.viscous for joint in arm.joints]
    c[:, 2] = [joint.friction.coulomb for joint in arm.joints]
    c[:, 4] = -drives.b  # τ = k i + b
    bands = Bands(np.ones(6), np.ones(6), np.array(BANDS))
    return Identified(arm, drives.k, GearFriction(c, 2e-4), 0.1 * np.ones(6), (), (), (), bands=bands)


def controller(*, wall=WALL, **options):
    """A virtual controller at the start, its currents noisy, with a world of that text or none."""
    world = world_from_text(wall, "wall") if wall else None
    return VirtualController(world=world, q0=START, current_noise=0.15, **{"seed": 5, "lockstep": True, **options})


@contextlib.contextmanager
def riding(robot, *, path=None, force=60.0, **options):
    """A ride that has started."""
    model = exact_model()
    socket = WireSocket(robot.host)
    socket.connect_all()
    limits = WireLimits(Fence(np.array([0.0, -0.5, -0.2]), np.array([0.7, 0.5, 0.6])), force=force)
    watchman = Watchman(model.robot, limits)
    feeling = WireFeeling(model, model.bands, socket.period)
    # a busy machine is no reason to fail: what a gap does is another test
    ride = WireRide(socket, feeling, watchman, WireRows(model.robot, path, {}), **{"most_gaps": 10**6, **options})
    try:
        ride.start()
        yield ride
    finally:
        ride.close()


def forward(ride, way, speed=0.05):
    """A motion of the tool along x by so much [m], from where the arm is asked to be."""
    q = ride.reference().q
    tool = HeldTool(exact_model().robot, aw.fk(exact_model().robot, q)[:3, :3])
    points = tool.place(q) + np.linspace(0.0, way, 21)[1:, None] * np.array([1.0, 0.0, 0.0])
    return paced(tool, np.vstack([q, tool.configurations(points, q, ["way"] * 20)]), 0.01 / speed, 0.01)[0]
