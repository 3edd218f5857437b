# SPDX-License-Identifier: Apache-2.0
"""The arm under its torques as an ordinary differential equation, written once and traced into every integrator.

State x = [q, qd, states of the drives, states of the friction]. Between control ticks the commanded torque is held
(zero-order hold), or the law acts continuously, as the documents' Simulink models did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.terms import coulomb_sign
from armwright.graph import derivative_matrix
from armwright.robot.tree import Tree, present
from armwright.simulation.drives import Drive
from armwright.simulation.friction_models import FrictionModel
from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from armwright.types import Scalar, Traced

Command = Callable[[Any, Any, Any], Any]
Acting = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class System:
    """Everything that acts on the arm.

    Attributes:
        tree: the arm (its entries may be symbols: parameters that differ between lanes).
        command: commanded joint torque as a function of (t, q, qd); t is the time since the tick began.
        drive: motors between command and joint; None for ideal torque sources.
        friction: friction model; None for the robot's own viscous and Coulomb friction.
        wrenches: external wrenches (t, q, qd) → (nb, 6) at link origins or (6,) at the tool, base axes; None for none.
        external: external joint torque (t, q, qd, tau) → (n,), what the world does to the arm; None for none.
        dry: level of dry friction (t, q, qd, tau) → (n,) beyond the arm's own Coulomb friction; None for none.
        extra: name → slice of x for states beyond q and qd.
        creeps: solving for dry friction, honour the dead zones of the arm's Coulomb friction.
    """

    tree: Tree
    command: Command
    drive: Drive | None = None
    friction: FrictionModel | None = None
    wrenches: Command | None = None
    external: Acting | None = None
    dry: Acting | None = None
    extra: Mapping[str, slice] = field(default_factory=dict)
    creeps: bool = False

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.tree.n

    @property
    def has_dry_friction(self) -> bool:
        """Whether some friction is set-valued at rest."""
        own = self.friction.has_dry_part if self.friction is not None else present(self.tree.coulomb)
        return bool(own) or self.dry is not None

    def dry_friction(self, t: Scalar, x: Traced) -> list[Traced]:
        """Largest dry friction torque of every joint at state x, n values."""
        q, qd = x[: self.n], x[self.n : 2 * self.n]
        own = self.tree.coulomb if self.friction is None else self.friction.dry_bound(qd)
        if self.dry is None:
            return list(own)
        level = self.dry(t, q, qd, self._driven(t, x)[0])
        return [np.maximum(a + b, 0.0) for a, b in zip(own, level, strict=True)]

    def _driven(self, t: Scalar, x: Traced) -> tuple[Traced, list[Traced]]:
        """Return the torque of the drives (n,) and the derivatives of their states."""
        q, qd = x[: self.n], x[self.n : 2 * self.n]
        tau = self.command(t, q, qd)
        if self.drive is None:
            return tau, []
        tau, rates = self.drive.torque(tau, qd, self.states(x, self.drive.state_names))
        return tau, [rates[name] for name in self.drive.state_names]

    def torques(self, t: Scalar, x: Traced, *, dry: bool = True) -> tuple[Traced, list[Traced], Traced | None]:
        """Return joint torque less friction (n,), derivatives of the extra states, and the external wrenches."""
        n = self.n
        q, qd = x[:n], x[n : 2 * n]
        tau, rest = self._driven(t, x)
        given = tau
        if self.friction is not None:
            lost, rates = self.friction.torque(qd, self.states(x, self.friction.state_names), dry=dry)
            rest += [rates[name] for name in self.friction.state_names]
            tau = tau - lost
        if self.external is not None:
            tau = tau + self.external(t, q, qd, given)
        if self.dry is not None and dry:
            tau = tau - self.dry(t, q, qd, given) * coulomb_sign(self.tree, qd)
        return tau, rest, None if self.wrenches is None else self.wrenches(t, q, qd)

    def states(self, x: Traced, names: tuple[str, ...]) -> dict[str, Any]:
        """States of drive or friction in x, by name."""
        return {name: x[self.extra[name]] for name in names}

    def needed(self, q: Traced, qd: Traced, qdd: Traced, wrenches: Traced | None, *, dry: bool) -> Traced:
        """Torque that the motion needs (n,), with the robot's own friction unless a model replaces it."""
        external: dict[str, Any] = (
            {} if wrenches is None else {"wrench" if np.ndim(wrenches) == 1 else "wrenches": wrenches}
        )
        tree = self.tree if dry else replace(self.tree, coulomb=np.zeros(self.n))
        return rnea(tree, q, qd, qdd, friction=self.friction is None, **external)

    def mass_matrix(self, q: Traced) -> Traced:
        """M(q) with the rotors (n, n)."""
        return crba(self.tree, q)

    def derivative(self, t: Scalar, x: Traced) -> Traced:
        """ẋ = f(t, x)."""
        n = self.n
        q, qd = x[:n], x[n : 2 * n]
        tau, rest, wrenches = self.torques(t, x)
        missing = tau - self.needed(q, qd, np.zeros(n), wrenches, dry=True)
        return np.concatenate([qd, ltdl_solve(self.mass_matrix(q), missing), *rest])

    def without_dry_friction(self, t: Traced, x: Traced) -> tuple[Traced, Traced, Traced]:
        """Return torque less bias without dry friction (n,), mass matrix, and derivatives of the extra states."""
        n = self.n
        q, qd = x[:n], x[n : 2 * n]
        tau, rest, wrenches = self.torques(t, x, dry=False)
        missing = tau - self.needed(q, qd, np.zeros(n), wrenches, dry=False)
        return missing, self.mass_matrix(q), np.concatenate(rest) if rest else np.zeros(0)

    def linearised(self, t: Traced, x: Traced) -> tuple[Traced, Traced, Traced, Traced]:
        """Return f, M, ∂(M·qdd, ṙ)/∂x and ∂(M·qdd, ṙ)/∂t with M held, for a linearly implicit step (traced only)."""
        n = self.n
        q, qd = x[:n], x[n : 2 * n]
        tau, rest, wrenches = self.torques(t, x)
        M = self.mass_matrix(q)
        qdd = ltdl_solve(M, tau - self.needed(q, qd, np.zeros(n), wrenches, dry=True))
        # held while differentiating: a choice that is always the same keeps it from folding into M·(M⁻¹·tau) = tau
        a = np.array([np.where(np.abs(w) >= 0.0, w, 0.0) for w in qdd])
        balance = np.concatenate([tau - self.needed(q, qd, a, wrenches, dry=True), *rest])
        time = np.array([t], dtype=object)
        return (
            np.concatenate([qd, qdd, *rest]),
            M,
            derivative_matrix(balance, x, held=a),
            derivative_matrix(balance, time, held=a)[:, 0],
        )
