# SPDX-License-Identifier: Apache-2.0
"""One HTML file in which an arm lives: simulated as WebAssembly, pulled with the mouse, felt by its observer."""

from armwright.simulation.arm_page.arm_page import ArmPage, arm_page

__all__ = ["ArmPage", "arm_page"]
