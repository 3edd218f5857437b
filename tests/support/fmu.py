# SPDX-License-Identifier: Apache-2.0
"""An exported FMU in the hands of fmpy, an importer that nobody here wrote: set, step, get by name."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest


def fmpy():
    """The package; the test is skipped where it is not installed."""
    return pytest.importorskip("fmpy", reason="fmpy, which imports FMUs, is not installed: pip install fmpy")


class Imported:
    """An instance of an FMU; variables are arrays in both versions, which 2.0 has as elements."""

    def __init__(self, file, *, exchange=False, start=0.0):
        """Extract, instantiate, and stop before the initialization."""
        package = fmpy()
        from fmpy import fmi2, fmi3

        self.about = package.read_model_description(str(file))
        folder = f"{file}.open"
        if not Path(folder).exists():  # a library that is in use must not be written anew
            package.extract(str(file), unzipdir=folder)
        self.version = self.about.fmiVersion[0]
        kinds = {("2", False): fmi2.FMU2Slave, ("2", True): fmi2.FMU2Model}
        kinds |= {("3", False): fmi3.FMU3Slave, ("3", True): fmi3.FMU3Model}
        half = self.about.modelExchange if exchange else self.about.coSimulation
        self.fmu = kinds[self.version, exchange](
            guid=self.about.guid, unzipDirectory=folder, modelIdentifier=half.modelIdentifier, instanceName="it"
        )
        self.fmu.instantiate()
        self.start, self.time, self.exchange = start, start, exchange
        self.references = {}
        for v in self.about.modelVariables:
            name, _, index = v.name.partition("[")
            self.references.setdefault(name if index and not v.name.startswith("der(") else v.name, []).append(
                v.valueReference
            )
        self.sizes = {v.name: int(np.prod([int(d.start) for d in v.dimensions])) for v in self.about.modelVariables}

    def begin(self):
        """Initialize."""
        if self.version == "2":
            self.fmu.setupExperiment(startTime=self.start)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=self.start)
        self.fmu.exitInitializationMode()
        return self

    def put(self, **values):
        """Set variables."""
        for name, value in values.items():
            flat = np.ravel(value).tolist()
            if self.version == "2":
                self.fmu.setReal(self.references[name], flat)
            else:
                self.fmu.setFloat64(self.references[name], flat)

    def get(self, name):
        """Return a variable as an array."""
        if self.version == "2":
            return np.array(self.fmu.getReal(self.references[name]))
        return np.array(self.fmu.getFloat64(self.references[name], nValues=self.sizes[name]))

    def step(self, h):
        """Run a step of co-simulation."""
        self.fmu.doStep(self.time, h)
        self.time += h

    def event(self, **values):
        """Model exchange: set inputs at an event, update; return when the next one is."""
        self.put(**values)
        update = self.fmu.newDiscreteStates if self.version == "2" else self.fmu.updateDiscreteStates
        *_, defined, time = update()
        assert defined
        return time

    def onward(self, time):
        """Model exchange: go on in continuous time, to the next event."""
        self.fmu.enterContinuousTimeMode()
        self.fmu.setTime(time)
        self.fmu.enterEventMode()


@contextlib.contextmanager
def silent():
    """FMUs and importers that are asked for what is wrong print about it; nobody needs that in a test's output."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield
