# SPDX-License-Identifier: Apache-2.0
"""`WireFeeling`: what an arm on the wire feels, sample by sample, in one compiled tick.

Momentum observer with the identified friction → force on the tool → friction bands, traced into one stage. The chain
runs at the controller's own rate, so that nothing is interpolated, and takes some microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.monitor import as_chain
from armwright.contact.monitor_run import monitor_plan
from armwright.contact.wrench_estimate import wrench_observer
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.loop import Stepper
from armwright.identify.external_torque import carrying, detector_of, observer_of
from armwright.identify.felt_contacts import torque_noise
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.identify.identified import Bands, Identified, PayloadEstimate
    from armwright.types import Array

WIRE_OBSERVER_GAIN = 50.0
"""[1/s]: 63 % of a contact after 20 ms. 20 and 100 gave the same rate of false alarms on the virtual controller."""
OUTPUTS = ("tau_ext", "resting", "wrench_ext", "band", "level", "alarm")


class FeltNow(NamedTuple):
    """Views of the newest tick: tau_ext, resting, band (n,), force on the tool (3,), level and alarm (1,)."""

    tau_ext: Array
    resting: Array
    force: Array
    band: Array
    level: Array
    alarm: Array


class WireFeeling:
    """Feels by one arm's model, bands and payload.

    Attributes:
        identified: the model. bands: what does not count as contact. now: views of the newest tick.
        robot: the arm with what it carries.
    """

    def __init__(
        self,
        identified: Identified,
        bands: Bands,
        period: float,
        *,
        payload: PayloadEstimate | ArrayLike | None = None,
        gain: float = WIRE_OBSERVER_GAIN,
    ) -> None:
        """Compile for samples that are `period` [s] apart."""
        if len(bands.motion) != identified.n:
            raise InputError(f"wire: bands of {len(bands.motion)} joints, the arm has {identified.n}")
        self.identified, self.bands, self.period = identified, bands, period
        self.robot = carrying(identified, payload)
        self._motion = 1.001 * np.asarray(bands.motion)
        self._gains, self._position = np.array(identified.gains), identified.position
        chain = as_chain((observer_of(identified, gain), wrench_observer(), detector_of(identified, bands)))
        names, shapes, plan = monitor_plan(chain, self.robot, period, ("q", "qd", "tau"), (), OUTPUTS)
        self._stepper = Stepper(plan)
        views, at = {}, 0
        for name, shape in zip(names, shapes, strict=True):
            size = int(np.prod(shape, dtype=int))
            views[name] = self._stepper.record[at : at + size]
            at += size
        self.now = FeltNow(*(views[name] for name in OUTPUTS))
        self._start = [
            (self._stepper.slot(f"memory_{k}_{label}"), np.ravel(value))
            for k, monitor in enumerate(chain)
            for label, value in initial_memory(monitor, self.robot.n).items()
        ]
        n = self.robot.n
        self._q, self._qd, self._tau = (self._stepper.shared[1 + k * n : 1 + (k + 1) * n] for k in range(3))
        self.reset()
        self._stepper.step()
        self.reset()

    def reset(self) -> None:
        """Forget everything: what comes does not follow what was."""
        for slot, value in self._start:
            slot[...] = value
        self._stepper.record[...] = 0.0
        self.now.alarm[...] = -0.5

    def feel(self, q: Array, qd: Array, current: Array) -> FeltNow:
        """Take one sample, (n,) each; return the views of its tick."""
        tau = current * self._gains
        if self._position is not None:
            tau = tau - self._position.torque(q, qd)
        self._q[...], self._qd[...], self._tau[...] = q, qd, tau
        self._stepper.step()
        return self.now

    def held(self, band: Array) -> Array:
        """Return the torque (n,) that friction may show by itself, in joints that rest, set out or turn: their band."""
        return np.where(band > self._motion, band, 0.0)

    def covariance(self, q: Array, resting: Array) -> Array:
        """Return the covariance (6, 6) of the tool's wrench at q, with joints that have rested so long [s]."""
        J = np.asarray(kernel(self.robot, frame_jacobian)(q))
        inverse = np.linalg.pinv(J.T, rcond=1e-6)
        return np.asarray(inverse @ torque_noise(self.identified, self.bands, q, resting) @ inverse.T)


class Unfelt(WireFeeling):
    """Feels nothing: for an arm of which nothing is known yet."""

    def feel(self, q: Array, qd: Array, current: Array) -> FeltNow:
        """Take one sample; return what was never felt."""
        return self.now


def surely(feeling: WireFeeling, q: Array, tau_ext: Array, band: Array) -> Array:
    """Return the force on the tool (3,) [N] of the torque that no stiction can explain."""
    sure = np.sign(tau_ext) * np.maximum(np.abs(tau_ext) - feeling.held(band), 0.0)
    J = np.asarray(kernel(feeling.robot, frame_jacobian)(q))[:3]
    return np.asarray(np.linalg.lstsq(J.T, sure, rcond=None)[0])
