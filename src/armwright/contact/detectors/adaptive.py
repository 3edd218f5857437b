"""Thresholds that widen with the commanded speed and acceleration, where model errors show most.

    threshold_j = a_j + b_j |q̇_ref,j| + c_j |q̈_ref,j|

The desired motion is used, not the measured one: a contact must not raise its own threshold. The coefficients come
from contact-free runs (`armwright.contact.detectors.learning.learn_thresholds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.joints import worst
from armwright.contact.detectors.latch import MEMORY, latched, release_ratio
from armwright.contact.monitor import Monitor
from armwright.control.checks import gain as checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _detect(tau_ext: Any, qd_ref: Any, qdd_ref: Any, a: Any, b: Any, c: Any, release: Any, active: Any) -> Any:
    threshold = a + b * np.abs(qd_ref) + c * np.abs(qdd_ref)
    return latched(worst(np.abs(tau_ext) / threshold), release, active)


def adaptive_detector(a: ArrayLike, b: ArrayLike = 0.0, c: ArrayLike = 0.0, *, release: float = 0.7) -> Monitor:
    """Alarm while |tau_ext| of some joint exceeds a + b|q̇_ref| + c|q̈_ref|.

    Args:
        a: at rest [N m], > 0, scalar or (n,).
        b: per speed [N m s/rad], ≥ 0.
        c: per acceleration [N m s²/rad], ≥ 0.
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest |tau_ext|/threshold; ``alarm``.
    """
    gains = {"a": checked(a, "a", positive=True), "b": checked(b, "b"), "c": checked(c, "c"), "release": release_ratio(release)}
    return Monitor("adaptive", _detect, gains, MEMORY, ("alarm", "level"), adaptive_detector.__doc__ or "")
