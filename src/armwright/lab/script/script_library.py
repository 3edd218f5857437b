# SPDX-License-Identifier: Apache-2.0
"""All functions of the language that the machine runs, by name; each takes the machine, then its arguments in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armwright.lab.script import (
    script_data,
    script_motion,
    script_registers,
    script_settings,
    script_state,
    script_talk,
    script_wire,
)

RUNS: dict[str, Callable[..., Any]] = {
    **script_data.FUNCTIONS,
    **script_motion.FUNCTIONS,
    **script_registers.FUNCTIONS,
    **script_settings.FUNCTIONS,
    **script_state.FUNCTIONS,
    **script_talk.FUNCTIONS,
    **script_wire.FUNCTIONS,
}
