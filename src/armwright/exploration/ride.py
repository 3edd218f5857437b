# SPDX-License-Identifier: Apache-2.0
"""`Ride`: what a run asks of an arm that it drives, simulated or on the wire.

A run (`GridRun`, `ArmRun`) thinks; a ride moves. The run hands over a motion, lets the ride go on for a while, and is
told why it came back. Everything that has to be done in time is the ride's: observers, the alarm, and the reflex after
it. A run therefore never needs to be quick: **until the next `follow` the arm stands** (or goes on to the end of its
motion and stands there), however long Python thinks.

Units: rad and rad/s for revolute joints, m and m/s for prismatic ones; N m or N; s. All shapes (n,) are base to tool.
Wrenches are linear first, [f; m], what the world does to the arm, at the tool frame's origin in base axes.

Time. `Ride.time` is in seconds since the ride began, by the clock of the arm (the simulation's ticks, the device's
stamps). It is one clock for everything that a ride tells and records, and it never goes back. It moves on in `run` and
`listen` alone: between two calls a run sees it stand still. On the wire real time passes meanwhile: the next `follow`
takes it in at once, so the clock may jump there, and `follow` returns the instant at which its motion begins.

An alarm. When the detector's alarm **rises**, the ride
  1. latches the `RideMoment`: what was measured, felt and asked for in that sample;
  2. does its reflex: nothing in a simulation, where time stands still; on the wire it gives way at once and comes to
     rest (`reflex` "give way"), or brakes, listens and then gives way (`reflex` "listen");
  3. returns "alarm" from `run`. `time` is then the alarm's, and so is `moment()`, until the next `follow`, `run` or
     `listen`. `measured()`, `felt()` and `reference()` tell the present: after a reflex that is the arm at rest.
An alarm that is on already makes no second one: only its rise does (`alarmed` tells whether it is on). A ride that lets
its observers begin anew after a reflex lets `alarmed` fall with them. A run that goes on without `follow` after an
alarm (`run` again) goes on with its motion in a simulation, and stands on the wire: there the motion ended with the
reflex (`goes_on`).

The end. After "protective stop", "stopped by a person" or "lost" the ride is over: the arm is left alone, every later
`run` returns the same word at once without moving, `follow` does nothing, and `recording` and `passed` still tell all
that was recorded. Nothing is unlocked, resumed or sent again by a ride itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from armwright.motion.trajectory import Reference, Trajectory

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.simulation.lanes import Lanes
    from armwright.types import Array

Why = Literal["end", "alarm", "protective stop", "stopped by a person", "lost"]
"""Why `Ride.run` came back.

- "end": the time asked for has passed; the motion may go on.
- "alarm": a contact was felt, and the reflex is over.
- "protective stop": the controller stopped the arm by itself (any safety stop that no person asked for).
- "stopped by a person": dead-man released, stop pressed, e-stop, safeguard, local control, program ended by hand.
- "lost": no connection, a clock that restarted, too many gaps.
"""
ENDED: tuple[Why, ...] = ("protective stop", "stopped by a person", "lost")
"""Words after which a ride is over; also the outcomes of a run on it."""
Reflex = Literal["give way", "listen"]


class ArmMeasured(NamedTuple):
    """The arm as its sensors see it: positions q and velocities qd (n,) of the newest sample."""

    q: Array
    qd: Array


class TouchFelt(NamedTuple):
    """What the arm feels.

    Attributes:
        tau_ext: external joint torque (n,) = J_cᵀ F [N m], as the observer gives it: behind the truth by its filter.
        wrench: on the tool, [f; m] (6,) [N, N m], base axes; the moment is zero where only a force is estimated.
        covariance: of the wrench (6, 6), what is not known of friction and noise included; None where it is not told.
    """

    tau_ext: Array
    wrench: Array
    covariance: Array | None = None


class RideMoment(NamedTuple):
    """One instant of a ride: what a contact is made of.

    Attributes:
        time: of the sample [s].
        measured: q, qd (n,). felt: torque and wrench.
        desired: where the arm should have been then: q, qd, qdd (n,).
        alarmed: whether an alarm was on then: always, in an alarm's moment.
    """

    time: float
    measured: ArmMeasured
    felt: TouchFelt
    desired: Reference
    alarmed: bool


class Passed(NamedTuple):
    """Measured rows, oldest first: times t (T,) [s], positions q, velocities qd, and asked positions q_ref (T, n)."""

    t: Array
    q: Array
    qd: Array
    q_ref: Array


class Look(NamedTuple):
    """A look at the arm while it listens: time [s], measured positions q (n,), external joint torque tau_ext (n,)."""

    time: float
    q: Array
    tau_ext: Array


class Ride(Protocol):
    """An arm that a run drives; see the text of this file for time, alarms and the end.

    Attributes:
        n: joints. period: between two samples [s].
        reflex: to an alarm. A run sets it before its first `follow`: "give way" (the default) or "listen" (it then
            calls `listen` after every alarm). A simulation does neither by itself.
        lag: time before an alarm in which the arm may have touched already [s]: what was passed then is not trusted. 0
            where the run decides that itself.
        noticed_force: size of a felt tool force that nothing but a contact explains [N]: the detector's threshold, or
            what free motion was learned to feel. A force that counts without an alarm is compared with it.
        goes_on: whether `run` goes on with a motion after an alarm, as in a simulation; False where a reflex ended it:
            the arm stands, and a run that has more to do follows a motion from `reference()`.
        presses: whether the arm presses with a chosen force by a reference behind the surface. A position servo with
            integral action does not: `slide` is refused on it.
        reason: one sentence about why the ride is over, for a person; "" while it is not.
    """

    n: int
    period: float
    reflex: Reflex
    lag: float
    noticed_force: float
    goes_on: bool
    presses: bool
    reason: str

    @property
    def time(self) -> float:
        """The clock [s]; see the text of this file for when it stands still."""
        ...

    def measured(self) -> ArmMeasured:
        """Return the arm as it is now."""
        ...

    def felt(self) -> TouchFelt:
        """Return what the arm feels now."""
        ...

    @property
    def alarmed(self) -> bool:
        """Whether an alarm is on now."""
        ...

    def moment(self) -> RideMoment:
        """Return the alarm's moment, from `run` → "alarm" until the next `follow`, `run` or `listen`; else now."""
        ...

    def reference(self) -> Reference:
        """Return where a motion that is followed now has to begin: where the arm is asked to be at this moment.

        After a reflex that is where it stands, at rest.
        """
        ...

    def follow(self, motion: Trajectory | Reference) -> float:
        """Follow a motion from now on; return the instant [s] at which it begins.

        The motion begins at `reference()` (a ride on the wire refuses one that begins elsewhere). A `Reference` at rest
        is a place to stay at; on the wire it is reached at the ride's own speed limit. After the end of a motion the
        arm stays where it ends.

        Raises:
            InputError: before anything moves: the motion leaves the fence, is too fast, holds a number that is not
                finite, or begins elsewhere. The sentence says where. The arm goes on standing.
        """
        ...

    def run(self, seconds: float) -> Why:
        """Go on for so long (at least a sample), or until something happens; return why it came back.

        `KeyboardInterrupt` passes through; a ride on the wire brings the arm to rest first.
        """
        ...

    def listen(self, brake: float, seconds: float, every: float) -> tuple[Look, ...]:
        """Bring the arm to a stand within `brake` seconds and look every `every` seconds, until `seconds` have passed.

        The first look is the alarm's moment. Where the reflex has listened already (on the wire: it presses on for so
        long, up to the force cap, then gives way) its looks are returned and nothing moves.
        """
        ...

    def passed(self, since: float) -> Passed:
        """Return the measured rows from the instant `since` on [s], up to the alarm's or, without one, up to now.

        Rows of a reflex are never among them: after an alarm they end with its moment, and from the next `follow` on
        they begin there.
        """
        ...

    def torques(self, seconds: float) -> Array:
        """Return the external joint torque (T, n) [N m] felt in the last `seconds` before `moment()`; fewer if so few.

        One row per `period`, oldest first.
        """
        ...

    def gives_way(self, q: Array, tau: Array) -> Array | None:
        """Return the offset (n,) by which the controlled arm at q gives way to joint torques: K_0⁻¹ M⁻¹ tau.

        It is also the offset of the reference that presses back with them (000 eq. 5.5). None where nothing is known of
        the arm's stiffness: a position servo, or a law without K_0.
        """
        ...

    def recording(self, outcome: str, **settings: Any) -> Recording:
        """Return everything recorded so far, with an outcome and settings.

        At least ``q``, ``qd`` (measured, or true in a simulation), ``q_ref`` (T, n), ``tau_ext`` (T, n) and
        ``wrench_ext`` (T, 3 or 6), rows of reflexes included, on the ride's clock.
        """
        ...


class RideSamples(NamedTuple):
    """Rows for learning errors of a model: time (T,) [s], measured q, qd, joint torque tau, tau_ext (T, n)."""

    time: Array
    q: Array
    qd: Array
    tau: Array
    tau_ext: Array


class DoubtingRide(Ride, Protocol):
    """A ride on which a run may doubt its model (`model_doubt`): it tells torques, and takes a corrected model.

    A run on any other ride believes its model; what a load or friction would change has to be in it before.
    """

    def samples(self, since: float) -> RideSamples:
        """Return the rows from the instant `since` on [s], one per `period`, up to now."""
        ...

    def believe(self, model: Lanes) -> None:
        """Go on with another model of the arm in law and observers, which begin anew."""
        ...
