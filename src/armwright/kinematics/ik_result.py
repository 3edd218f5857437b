# SPDX-License-Identifier: Apache-2.0
"""Answers of inverse kinematics: every branch found, or why there is none and how close the arm can come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import InputError
from armwright.html_text import html_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

    Mask = NDArray[np.bool_]

Status = Literal["solved", "singular", "out_of_limits", "unreachable", "not_converged"]
GOOD = ("solved", "singular")
EXACT = 1e-9
"""Error [m], [rad] of the forward kinematics up to which a configuration is a solution: what is promised."""


@dataclass(frozen=True, slots=True, eq=False)
class IKResult:
    """Answer for one target.

    Attributes:
        status: "solved"; "singular" (solved, but the preferred solution is a singular configuration: where a joint is
            free, the representative nearest to the seed is given); "out_of_limits" (solutions exist, none inside the
            limits); "unreachable" (no configuration reaches the target: shown by the closed form or the links' length,
            otherwise the best of at least 16 starts rests in a minimum); "not_converged" (the search gave up).
        solutions: (k, n), each verified by forward kinematics to 1e-9 m and rad; inside limits first, then nearest to
            the seed. Branches that differ by full turns count once, at the turn that fits the limits or is nearest.
        within_limits, singular: (k,) flags of the solutions.
        position_error, rotation_error: (k,) [m], [rad] of the solutions.
        closest: (n,) the preferred solution, or the closest approach found inside the limits when there is none.
        closest_position_error, closest_rotation_error: its errors [m], [rad] (rotation 0 if only position was asked).
        method: "ur", "spherical_wrist" or "numeric".
        message: one sentence for a person.
    """

    status: Status
    solutions: Array
    within_limits: Mask
    singular: Mask
    position_error: Array
    rotation_error: Array
    closest: Array
    closest_position_error: float
    closest_rotation_error: float
    method: str
    message: str

    @property
    def ok(self) -> bool:
        """Whether a configuration inside the limits reaches the target."""
        return self.status in GOOD

    @property
    def q(self) -> Array:
        """The preferred solution (n,); raises if there is none, so that a best guess is never taken for one."""
        if not self.ok:
            raise InputError(f"inverse kinematics: {self.message}; the closest approach is in `closest`")
        return self.closest

    def __len__(self) -> int:
        """Return the number of solutions."""
        return int(self.solutions.shape[0])

    def __repr__(self) -> str:
        """Return one line: how it ended, and by which method."""
        return f"IKResult({self.message}; {self.method})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per solution."""
        rows = [
            (", ".join(f"{x:.4f}" for x in q), "inside" if inside else "outside", "yes" if singular else "no")
            for q, inside, singular in zip(self.solutions, self.within_limits, self.singular, strict=True)
        ]
        return html_table(repr(self), ("q [rad, m]", "limits", "singular"), rows)


@dataclass(frozen=True, slots=True, eq=False)
class IKBatch:
    """Answers for targets of shape (...); index it to get one `IKResult`.

    Attributes:
        status: (...,) of str. count: (...,) number of solutions.
        solutions: (..., K, n), the first `count` rows of each target are solutions, the rest repeat `closest`.
        within_limits, singular, position_error, rotation_error: (..., K).
        closest: (..., n), with closest_position_error and closest_rotation_error (...,).
        method: "ur", "spherical_wrist" or "numeric"; reason: (...,) of str, detail for the message.
    """

    status: NDArray[np.str_]
    count: NDArray[np.int64]
    solutions: Array
    within_limits: Mask
    singular: Mask
    position_error: Array
    rotation_error: Array
    closest: Array
    closest_position_error: Array
    closest_rotation_error: Array
    method: str
    reason: NDArray[np.str_]

    @property
    def ok(self) -> Mask:
        """Where a configuration inside the limits reaches the target, (...,)."""
        return np.isin(self.status, GOOD)

    @property
    def q(self) -> Array:
        """Preferred solutions (..., n); raises if any target has none."""
        if not self.ok.all():
            missed = {status: count for status, count in self._counts().items() if status not in GOOD}
            raise InputError(f"inverse kinematics: of {self.status.size} targets, {missed}; see `status` and `closest`")
        return self.closest

    def __len__(self) -> int:
        """Return the length of the first axis of targets."""
        return int(self.status.shape[0])

    def _counts(self) -> dict[str, int]:
        """Return how many targets ended with which status."""
        return {str(s): int((self.status == s).sum()) for s in np.unique(self.status)}

    def __repr__(self) -> str:
        """Return one line: how many targets, and how they ended."""
        ends = ", ".join(f"{count} {status}" for status, count in self._counts().items()) or "none"
        return f"IKBatch({self.status.shape} targets: {ends}; {self.method})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how many targets ended with which status."""
        return html_table(repr(self), ("status", "targets"), list(self._counts().items()))

    def __iter__(self) -> Iterator[IKResult]:
        """Yield the answers target by target (flattened)."""
        return (self[index] for index in np.ndindex(self.status.shape))

    def __getitem__(self, index: int | tuple[int, ...]) -> IKResult:
        """Return the answer for one target."""
        if np.shape(self.status[index]) != ():
            raise InputError(f"index {index!r} must name one target of shape {self.status.shape}")
        k = int(self.count[index])
        status: Status = str(self.status[index])  # type: ignore[assignment]
        p, r = float(self.closest_position_error[index]), float(self.closest_rotation_error[index])
        inside = int(self.within_limits[index][:k].sum())
        text = {
            "solved": f"solved: {k} solution(s), {inside} inside the limits",
            "singular": f"singular: {k} solution(s), the preferred one is a singular configuration",
            "out_of_limits": f"out of limits: {k} solution(s), none inside; the nearest configuration inside misses "
            f"by {p:.3g} m, {r:.3g} rad",
            "unreachable": f"unreachable: the closest approach misses by {p:.3g} m, {r:.3g} rad",
            "not_converged": f"not converged: the best of the search misses by {p:.3g} m, {r:.3g} rad",
        }[status]
        why = str(self.reason[index])
        return IKResult(
            status=status,
            solutions=self.solutions[index][:k],
            within_limits=self.within_limits[index][:k],
            singular=self.singular[index][:k],
            position_error=self.position_error[index][:k],
            rotation_error=self.rotation_error[index][:k],
            closest=self.closest[index],
            closest_position_error=p,
            closest_rotation_error=r,
            method=self.method,
            message=f"{text} ({why})" if why else text,
        )

    def reshape(self, shape: tuple[int, ...]) -> IKBatch:
        """Return the same answers with target axes of another shape."""

        def fit(a: NDArray[np.generic], tail: int) -> NDArray[np.generic]:
            return a.reshape(shape + a.shape[a.ndim - tail :] if tail else shape)

        tails = dict.fromkeys(("within_limits", "singular", "position_error", "rotation_error", "closest"), 1)
        tails["solutions"] = 2
        arrays = {
            name: fit(getattr(self, name), tails.get(name, 0)) for name in self.__dataclass_fields__ if name != "method"
        }
        return IKBatch(method=self.method, **arrays)  # type: ignore[arg-type]
