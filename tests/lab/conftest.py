# SPDX-License-Identifier: Apache-2.0
"""A stand that several tests share, as new for each."""

import pytest

import armwright as aw
from armwright.lab.controller.controller_states import ControllerState, SafetyInputs
from armwright.lab.stand import HOME, Faults, Stand
from support.lab import PORTS, address


@pytest.fixture(scope="module")
def stand():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as running:
        yield running


@pytest.fixture
def fresh(stand):
    c = stand.controller
    with c.lock:
        c.plant.live.inputs["push"][...] = 0.0
        c.plant.live.reset(HOME)
        c.state, c.program = ControllerState.READY, None
        c.plant.tcp[...], c.inputs = 0.0, SafetyInputs()
        c.settle()
        c.messages.clear()
        c.registers.speed = 1.0
        stand.faults = Faults()
    return stand
