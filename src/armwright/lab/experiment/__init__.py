# SPDX-License-Identifier: Apache-2.0
"""004's whole experiment from one file: devices, moves, recording, clocks, identification, wrenches, report."""

from armwright.lab.experiment.experiment_file import Experiment, read_experiment
from armwright.lab.experiment.experiment_procedure import ExperimentOutcome, conduct

__all__ = ["Experiment", "ExperimentOutcome", "conduct", "read_experiment"]
