# SPDX-License-Identifier: Apache-2.0
"""What the running arm thinks is wrong with its own model: the load and the friction that would explain what it feels.

It learns while the arm moves ("sway" is enough); an arm that stands tells little, because dry friction holds what a
load weighs. What is felt for longer than the filter's patience is taken for an error of the model, not for a hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.doubt.doubt_filter import STARVED, TESTS, DoubtFilter
from armwright.contact.doubt.doubt_watch import DoubtWatch, sample_ticks
from armwright.exploration.model_doubt import clearly_wrong, errors_of
from armwright.studio.pulled_arm import PULL_OBSERVER_GAIN, PULL_RATE

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

UNLIKELY = 1e-6
"""Probability with which a sample without contact is taken for one, if errors are normal."""


class LiveDoubt:
    """Watches one running arm, tick by tick."""

    def __init__(self, model: Robot) -> None:
        """Begin with nothing but the prior.

        Args:
            model: what law and observer take the arm to be.
        """
        from scipy.special import chdtri  # imported here: an arm that knows itself does not need it

        period = 1.0 / PULL_RATE
        self._model, self._ticks = model, sample_ticks(period)
        self._filter = DoubtFilter(model, sample=self._ticks * period, patience=STARVED)
        limits = np.full(TESTS, np.sqrt(chdtri(model.n, UNLIKELY)))
        self._watch = DoubtWatch(self._filter, period, PULL_OBSERVER_GAIN, limits=limits)
        self._rows: list[tuple[Array, Array, Array]] = []

    def add(self, q: Array, qd: Array, tau: Array) -> None:
        """Take a tick: measured state (n,) at its beginning, and the torque (n,) during it."""
        self._rows.append((q, qd, tau))
        if len(self._rows) == self._ticks:
            q, qd, tau = (np.array(part)[None] for part in zip(*self._rows, strict=True))
            self._watch.run(np.arange(self._ticks) / PULL_RATE, q, qd, tau, None)
            self._rows.clear()

    def reopen(self) -> None:
        """Doubt load and friction anew: the arm has become another."""
        self._filter.reopen(np.ones(1, dtype=bool))

    def said(self) -> str:
        """Return what is clearly wrong with the model, in words; nothing where nothing is."""
        known = self._filter.known()
        if not clearly_wrong(self._filter.layout, known):
            return ""
        return str(errors_of(self._model, self._filter.layout, known))
