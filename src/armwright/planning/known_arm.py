"""An arm among what it has felt: spheres at felt places, and postures that are known to touch something."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.planning.cspace import WholeArm, link_ends, self_gap
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.planning.capsules import LinkCapsules

    Array = NDArray[np.float64]


def posed_links(arm: Any, q: Any, links: LinkCapsules, pairs: tuple[tuple[int, int], ...]) -> Any:
    """Return the ends of all capsules, base frame, and the smallest gap between `pairs` of them, in one row."""
    ends = [x for pair in link_ends(arm, q, links) for x in pair]
    return np.concatenate([*ends, np.array([self_gap(arm, q, links, pairs) if pairs else 0.0 * q[0]])])


@dataclass(frozen=True, eq=False)
class KnownArm(WholeArm):
    """A `WholeArm` that also keeps away from postures in which it touched something.

    A posture q is too near to a blocked one p if no point of the arm can have moved farther than `reach` between them:
    Σ_j levers_j |q_j − p_j| ≤ reach. That distance changes no faster than any point of the arm can move, so proofs
    that a motion is free hold for these too.

    Attributes:
        postures: (k, n). reach: (k,) [m].
    """

    postures: Array = field(default_factory=lambda: np.zeros((0, 0)))
    reach: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        k = len(self.postures)
        if k and (self.postures.shape != (k, self.robot.n) or np.shape(self.reach) != (k,)):
            raise InputError(
                f"postures and reach: expected shapes ({k}, {self.robot.n}) and ({k},), got {self.postures.shape} and "
                f"{np.shape(self.reach)}"
            )

    def clearance(self, q: ArrayLike) -> Array:
        """Return how far (...,) [m] q (..., n) is from touching what is known; see `WholeArm.clearance`."""
        least = super().clearance(q)
        if not len(self.postures):
            return least
        Q = np.asarray(q, dtype=np.float64)
        return np.asarray(np.minimum(least, (self.away(Q) - self.reach).min(axis=-1)))

    def wider(self, by: float) -> KnownArm:
        """Return the same with everything kept away from by so much more [m]."""
        return replace(self, margin=self.margin + by, reach=np.asarray(self.reach) + by)

    def _block(self, Q: Array) -> Array:
        """As of any arm; balls, which are all that is felt, are measured without a call for each."""
        o = self.obstacles
        if len(o) != len(o.a) or not (o.a is o.b or np.array_equal(o.a, o.b)):
            return super()._block(Q)
        k = kernel(self.robot, posed_links, regroup=False, links=self._links, pairs=self.pairs)
        table = np.asarray(k(Q))
        m = len(self._links.body)
        least = table[:, -1] if self.pairs else np.full(len(Q), np.inf)
        if len(o.a) and m:
            ends = table[:, :-1].reshape(len(Q), m, 2, 3)
            a, d = ends[:, :, 0], ends[:, :, 1] - ends[:, :, 0]
            # |c − a − s d|² by products of matrices: no array of vectors is made
            c = o.a
            ca = np.matmul(a, c.T)
            cd = np.matmul(d, c.T)
            aa, ad, dd = np.sum(a * a, -1), np.sum(a * d, -1), np.sum(d * d, -1)
            along = cd - ad[..., None]
            s = np.clip(along / np.maximum(dd, 1e-30)[..., None], 0.0, 1.0)
            square = np.sum(c * c, -1) - 2.0 * ca + aa[..., None] + s * (s * dd[..., None] - 2.0 * along)
            gap = np.sqrt(np.maximum(square, 0.0)) - self._links.radius[:, None] - o.radius
            least = np.minimum(least, gap.min(axis=(1, 2)))
        return np.asarray(least - self.margin)

    def away(self, q: ArrayLike) -> Array:
        """Return the bound (..., k) [m] on how far any point of the arm moves from q (..., n) to the postures."""
        Q = np.asarray(q, dtype=np.float64)
        return np.asarray(np.abs(Q[..., None, :] - self.postures) @ self.levers)
