# SPDX-License-Identifier: Apache-2.0
"""What is true of a virtual stand, for judging what was found out about it; nothing that estimates may look here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.lab.sensing import DeviceClock
    from armwright.lab.stand import Stand


def truth_of(stand: Stand, clock: DeviceClock) -> dict[str, Any]:
    """Current map τ = k i + b, friction, the load, and the clock of the sensors (t_device = offset + (1 + drift)·t)."""
    plant = stand.controller.plant
    joints = plant.robot.joints
    return {
        "k": plant.map.k.tolist(),
        "b": plant.map.b.tolist(),
        "coulomb": [joint.friction.coulomb for joint in joints],
        "viscous": [joint.friction.viscous for joint in joints],
        "load": plant.load.tolist(),
        "clock": {"offset": clock.offset, "drift": clock.drift},
    }
