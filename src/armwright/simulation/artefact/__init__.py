# SPDX-License-Identifier: Apache-2.0
"""A controller, or a controller with its arm, as files that run without this library."""

from armwright.simulation.artefact.artefact import Artefact, export
from armwright.simulation.artefact.form import Form
from armwright.simulation.artefact.tunable_loop import TUNABLE, tunable_loop

__all__ = ["TUNABLE", "Artefact", "Form", "export", "tunable_loop"]
