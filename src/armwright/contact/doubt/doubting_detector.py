# SPDX-License-Identifier: Apache-2.0
"""The two-speed detector for an arm that may be wrong about itself: what the model is unsure of widens its thresholds.

It is `two_speed_detector` with one more memory, ``unsure`` (n,) [N m]: one standard deviation of what the doubt about
the model's errors may change within the time in which the offset is followed. Whoever estimates the errors writes it
(`doubt_filter.DoubtFilter.unsure`); while it is zero, this is a two-speed detector.

It only has to notice what comes quickly (`IMPACTS`): whoever estimates the errors tests for the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.detectors.joint_threshold import THRESHOLD_RELEASE_SHARE
from armwright.contact.detectors.two_speed import TwoSpeed, two_speed_detector
from armwright.contact.monitor import Monitor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Outputs, Traced

DEVIATIONS = 6.0
"""Standard deviations of the doubt that are added to a threshold. What a joint that sticks lets go is no normal number:
with 4 it raised false alarms when an arm stopped."""

IMPACTS = TwoSpeed(follow=20.0)
"""Its channels: what came within 50 ms. Errors of load and links need tenths of a second to change, so thresholds can
be a third of those of a detector that looks back for half a second, and hard contacts are noticed as soon as by an arm
that trusts its model."""


def _widened(plain: Callable[..., Outputs]) -> Callable[..., Outputs]:
    """Return the detector's function of one tick with one more memory, ``unsure`` (n,), added to the thresholds."""
    signature = inspect.signature(plain)

    def detect(**given: Traced) -> Outputs:
        wider = {name: _raised(given[name], given["unsure"]) for name in ("quick", "slowly")}
        return plain(**{name: wider.get(name, given[name]) for name in signature.parameters})

    named = [*signature.parameters.values(), Parameter("unsure", Parameter.KEYWORD_ONLY)]
    # monitors are called by the names in their signature; functions have the attribute, their type does not
    detect.__signature__ = Signature([p.replace(kind=Parameter.KEYWORD_ONLY) for p in named])  # type: ignore[attr-defined]
    return detect


def _raised(rows: Traced, unsure: Traced) -> Traced:
    """Return coefficients (5, n) of thresholds with their constant part raised by the doubt (n,)."""
    return np.array([rows[0] + DEVIATIONS * unsure, *(rows[k] for k in range(1, 5))])


def doubting_detector(
    quick: ArrayLike, slowly: ArrayLike, *, kind: TwoSpeed = IMPACTS, release: float = THRESHOLD_RELEASE_SHARE
) -> Monitor:
    """Return a two-speed detector with a memory ``unsure`` (n,) that widens its thresholds; see the module text."""
    plain = two_speed_detector(quick, slowly, kind=kind, release=release)
    memory = {**plain.memory, "unsure": 0.0}
    return Monitor(
        "doubting", _widened(plain.function), plain.gains, memory, plain.outputs, doubting_detector.__doc__ or ""
    )
