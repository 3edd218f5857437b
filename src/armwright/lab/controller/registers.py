# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs that clients share with the controller: registers, digital and analogue lines, who owns what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Registers:
    """48 integers and 48 doubles each way, and the lines of the control box.

    Attributes:
        ints, doubles: what clients wrote. out_ints, out_doubles: what the controller answers.
        digital: output bits (8 standard, 8 configurable, 2 tool). analogue: two outputs, fractions of full scale.
        speed: of the slider, (0, 1]. outside: wrench (6,) of an external sensor.
    """

    def __init__(self) -> None:
        self.ints, self.out_ints = [0] * 48, [0] * 48
        self.doubles, self.out_doubles = [0.0] * 48, [0.0] * 48
        self.bits, self.digital, self.analogue, self.speed = [0, 0], 0, [0.0, 0.0], 1.0
        self.outside = (0.0,) * 6
        self._owners: dict[str, object] = {}

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """Take inputs for one owner; False if another has one of them. Masked lines may be shared."""
        own = [n for n in names if "_register" in n or n == "external_force_torque"]
        if any(self._owners.get(name, owner) is not owner for name in own):
            return False
        self._owners.update(dict.fromkeys(own, owner))
        return True

    def release(self, owner: object) -> None:
        """Give all inputs of an owner back."""
        self._owners = {name: who for name, who in self._owners.items() if who is not owner}

    def write(self, values: Mapping[str, Any]) -> None:
        """Take inputs; what is not finite is ignored."""
        for name, value in values.items():
            if name.startswith("input_int_register_"):
                self.ints[int(name[19:])] = value
            elif name.startswith("input_double_register_"):
                if np.isfinite(value):
                    self.doubles[int(name[22:])] = value
            elif name.startswith("input_bit_registers"):
                self.bits[name.endswith("63")] = value
        self._lines(values)

    def _lines(self, values: Mapping[str, Any]) -> None:
        for kind, shift, width in (("standard", 0, 255), ("configurable", 8, 255), ("tool", 16, 3)):
            mask = values.get(f"{kind}_digital_output_mask", 0) & width
            value = values.get(f"{kind}_digital_output", 0) & mask
            self.digital = self.digital & ~(mask << shift) | value << shift
        for k in (0, 1):
            level = values.get(f"standard_analog_output_{k}")
            if level is not None and values.get("standard_analog_output_mask", 3) >> k & 1 and np.isfinite(level):
                self.analogue[k] = float(np.clip(level, 0.0, 1.0))
        if values.get("speed_slider_mask", 0) & 1 and np.isfinite(values.get("speed_slider_fraction", 1.0)):
            self.speed = float(np.clip(values["speed_slider_fraction"], 0.01, 1.0))
        outside = values.get("external_force_torque")
        if outside is not None and np.isfinite(outside).all():
            self.outside = tuple(outside)
