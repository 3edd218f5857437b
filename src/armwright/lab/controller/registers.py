# SPDX-License-Identifier: Apache-2.0
"""`Registers`: the inputs and outputs that clients share with the controller, and which client owns which input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

WORD = 0xFFFFFFFF
VOLTAGE_SPAN = 10.0  # [V] of an analogue output
CURRENT_FLOOR, CURRENT_SPAN = 4.0, 16.0  # [mA] of an analogue output: 4 to 20


class Registers:
    """48 integers, 48 doubles and 128 bits each way, and the lines of control box and tool.

    Attributes:
        ints, doubles, bits: what clients wrote; bit k of the number `bits` is Boolean register k.
        out_ints, out_doubles, out_bits: what the controller answers.
        digital, digital_in: output and input bits (8 standard, 8 configurable, 2 tool).
        analogue: two outputs, fractions of full scale. analogue_types: bit k is set where output k is a voltage.
        tool_voltage: of the tool's connector [V]. tool_output_mode: 0 digital outputs, 1 both for power.
        tool_pin_modes: of the tool's outputs: 1 sinking, 2 sourcing, 3 push-pull. speed: of the slider, (0, 1].
        outside: wrench (6,) of an external sensor.
    """

    def __init__(self) -> None:
        self.ints, self.out_ints = [0] * 48, [0] * 48
        self.doubles, self.out_doubles = [0.0] * 48, [0.0] * 48
        self.bits = self.out_bits = self.digital = self.digital_in = 0
        self.analogue, self.analogue_types = [0.0, 0.0], 0
        self.tool_voltage = self.tool_output_mode = 0
        self.tool_pin_modes, self.speed = [1, 1], 1.0
        self.outside = (0.0,) * 6
        self._owners: dict[str, object] = {}

    def set_out_bit(self, k: int, value: bool) -> None:
        """Set Boolean output register k, 0 … 127."""
        self.out_bits = self.out_bits & ~(1 << k) | int(value) << k

    def analogue_level(self, k: int) -> float:
        """Return what analogue output k gives: volts, or milliamperes."""
        voltage = self.analogue_types >> k & 1
        return self.analogue[k] * VOLTAGE_SPAN if voltage else CURRENT_FLOOR + CURRENT_SPAN * self.analogue[k]

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
        """Write inputs, all finite."""
        for name, value in values.items():
            if name.startswith("input_int_register_"):
                self.ints[int(name[19:])] = value
            elif name.startswith("input_double_register_"):
                self.doubles[int(name[22:])] = value
            elif name.startswith("input_bit_registers"):
                shift = 32 if name.endswith("63") else 0
                self.bits = self.bits & ~(WORD << shift) | value << shift
            elif name.startswith("input_bit_register_"):
                k = int(name[19:])
                self.bits = self.bits & ~(1 << k) | int(value) << k
        self._lines(values)

    def _lines(self, values: Mapping[str, Any]) -> None:
        for kind, shift, width in (("standard", 0, 255), ("configurable", 8, 255), ("tool", 16, 3)):
            mask = values.get(f"{kind}_digital_output_mask", 0) & width
            value = values.get(f"{kind}_digital_output", 0) & mask
            self.digital = self.digital & ~(mask << shift) | value << shift
        chosen = values.get("standard_analog_output_mask", 3) & 3
        types = values.get("standard_analog_output_type")
        if types is not None:
            self.analogue_types = self.analogue_types & ~chosen | types & chosen
        for k in (0, 1):
            level = values.get(f"standard_analog_output_{k}")
            if level is not None and chosen >> k & 1:
                self.analogue[k] = float(np.clip(level, 0.0, 1.0))
        if values.get("speed_slider_mask", 0) & 1 and "speed_slider_fraction" in values:
            self.speed = float(np.clip(values["speed_slider_fraction"], 0.01, 1.0))
        outside = values.get("external_force_torque")
        if outside is not None:
            self.outside = tuple(outside)
