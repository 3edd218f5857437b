# SPDX-License-Identifier: Apache-2.0
"""`ScriptedRide`: an arm without any simulation that is where it is asked to be, and feels how deep it is in a world.

It keeps the contract of `Ride` in both ways: without a reflex, as a simulation does, or with one of its own, as an arm
on the wire: an alarm ends the motion, the arm gives way along the way it came and stands there, and the clock goes on
while the run thinks. It refuses what a controller would: a motion that begins elsewhere, or leads beyond a fence.
"""

from __future__ import annotations

import numpy as np

from armwright.contact.ground_truth import contact_report
from armwright.contact.isolation.link_surface import pushes
from armwright.errors import InputError
from armwright.exploration.ride import ArmMeasured, Look, Passed, RideMoment, TouchFelt
from armwright.exploration.ride_steps import glide
from armwright.kinematics import fk, jacobian
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.world.arm_capsules import tool_point

GIVEN_WAY = 0.16  # [s] of its way that the arm goes back in a reflex: 8 mm at 50 mm/s
THINKING = 0.3  # [s] that pass before the next motion begins
RELEASE = 0.6  # share of the threshold below which an alarm is over


class ScriptedRide:
    """See the text of this file.

    Args:
        robot: the arm. world: where it is, touched by its tool or all its links.
        q0: where it begins (n,).
        own_reflex: whether an alarm ends the motion.
        threshold: joint torque [N m] or force on the tool [N] that makes an alarm.
        over: instant and word at which the ride ends, if any.
        fence: lowest and highest place (3,) of the tool that is allowed [m].
    """

    def __init__(
        self, robot, world, q0, *, links=False, own_reflex=False, threshold=12.0, over=None, fence=None, period=0.008
    ):
        self.robot, self.world, self.links, self.threshold = robot, world, links, threshold
        self.n, self.period, self.reflex = robot.n, period, "give way"
        self.goes_on, self.lag, self.noticed_force = not own_reflex, 0.1 if own_reflex else 0.0, 12.0
        self.presses, self.reason, self.fence = not own_reflex, "", fence
        self.over, self.motions, self.beyond_end, self.alarms = over, [], 0, 0
        self.time, self.alarmed = 0.0, False
        self._motion, self._began, self._latched, self._looks = self._at_rest(q0), 0.0, None, None
        self._thinking = False
        self.rows = {"t": [], "q": [], "qd": [], "tau": [], "trusted": []}
        self._now = np.zeros(self.n)
        self._q, self._qd = np.array(q0, dtype=float), np.zeros(self.n)

    def _at_rest(self, q):
        return Reference(np.array(q, dtype=float), np.zeros(self.n), np.zeros(self.n))

    def _evaluate(self, times):
        if isinstance(self._motion, Trajectory):
            return self._motion.evaluate(np.clip(times - self._began, 0.0, None))
        return Reference(*(np.broadcast_to(part, (len(times), self.n)) for part in self._motion))

    def _felt(self, q):
        """Return joint torques (T, n), and what is compared with the threshold (T,)."""
        capsules = None if self.links else (tool_point(self.robot),)
        found, tau = contact_report(self.robot, self.world, q, capsules=capsules), np.zeros(q.shape)
        for k in range(len(found)):
            row = int(found.step[k])
            linear, _ = pushes(self.robot, q[row], int(found.body[k]), found.point[k][None])
            tau[row] += linear[0].T @ found.force[k]
        if self.links:
            return tau, np.abs(tau).max(axis=1)
        return tau, np.linalg.norm(found.total_force, axis=1)

    def _say(self, tau):
        """Return what is felt: the force on the tool alone that would make these torques."""
        force = np.linalg.lstsq(jacobian(self.robot, self._q)[:3].T, tau, rcond=None)[0]
        return TouchFelt(np.array(tau), np.append(force, np.zeros(3)))

    def measured(self):
        return ArmMeasured(self._q.copy(), self._qd.copy())

    def felt(self):
        return self._say(self._now)

    def moment(self):
        if self._latched is not None:
            return self._latched
        return RideMoment(self.time, self.measured(), self.felt(), self.reference(), self.alarmed)

    def reference(self):
        return Reference(*(np.array(part[0]) for part in self._evaluate(np.array([self.time]))))

    def _resume(self):
        """Let the time pass that the run took to think."""
        if self._thinking:
            self.time, self._thinking = self.time + THINKING, False
        self._latched = self._looks = None

    def follow(self, motion):
        if self.reason:
            self.beyond_end += 1
            return self.time
        begin = motion.evaluate(0.0).q if isinstance(motion, Trajectory) else motion.q
        far = float(np.abs(begin - self.reference().q).max())
        if far > 1e-6 and isinstance(motion, Trajectory):
            raise InputError(f"follow: the motion begins {far:.3g} rad from where the arm is asked to be")
        if self.fence is not None:
            rows = (
                motion.evaluate(np.linspace(0.0, motion.duration, 200)).q if isinstance(motion, Trajectory) else begin
            )
            place = fk(self.robot, np.atleast_2d(rows))[:, :3, 3]
            if (place < self.fence[0]).any() or (place > self.fence[1]).any():
                raise InputError("follow: the motion leaves the fence")
        self._resume()
        self._motion, self._began = motion, self.time
        self.motions.append((self.time, motion))
        return self.time

    def run(self, seconds):
        if self.reason:
            return self.over[1]
        self._resume()
        times = self.time + self.period * np.arange(1, max(1, round(seconds / self.period)) + 1)
        if self.over is not None and self.over[0] <= times[-1]:
            times = times[times <= self.over[0]]
        ref = self._evaluate(times)
        tau, level = self._felt(ref.q) if len(times) else (np.zeros((0, self.n)), np.zeros(0))
        k = self._first_rise(level)
        rose, count = k is not None, len(times) if k is None else k + 1
        self._append(times[:count], ref, tau, trusted=True)
        if rose:
            self._alarm()
            return "alarm"
        if self.over is not None and (not count or times[-1] >= self.over[0] - self.period):
            self.reason = f"the script says {self.over[1]} at {self.over[0]:g} s"
            return self.over[1]
        return "end"

    def _first_rise(self, level):
        for k, now in enumerate(level):
            if not self.alarmed and now > self.threshold:
                self.alarmed = True
                return k
            self.alarmed = self.alarmed and now > RELEASE * self.threshold
        return None

    def _append(self, times, ref, tau, *, trusted=False):
        for k, t in enumerate(times):
            for name, value in (("t", t), ("q", ref.q[k]), ("qd", ref.qd[k]), ("tau", tau[k]), ("trusted", trusted)):
                self.rows[name].append(value)
        if len(times):
            self.time, self._now = float(times[-1]), tau[-1]
            k = len(times) - 1
            self._q, self._qd = np.array(ref.q[k]), np.array(ref.qd[k])

    def _alarm(self):
        self.alarms += 1
        if self.goes_on:
            return
        self._latched = RideMoment(self.time, self.measured(), self.felt(), self.reference(), True)
        at = self.time
        if self.reflex == "listen":
            self._looks = self._listened(0.06, 0.12, self.period)
        back = np.array(self.rows["q"])[np.array(self.rows["t"]) <= at - GIVEN_WAY]
        rest = back[-1] if len(back) else np.array(self.rows["q"][0])
        self._motion, self.alarmed, self._thinking = self._at_rest(rest), False, True
        self._append([self.time + self.period], Reference(rest[None], *np.zeros((2, 1, self.n))), np.zeros((1, self.n)))
        self.time = at  # until the next motion begins

    def _listened(self, brake, seconds, every):
        looks, now = [Look(self.time, self._q.copy(), self._now.copy())], self.reference()
        self._motion, self._began = glide(now, now.q + 0.5 * brake * now.qd, np.zeros(self.n), brake), self.time
        step = max(1, round(every / self.period))
        times = self.time + self.period * np.arange(1, round(seconds / self.period) + 1)
        ref = self._evaluate(times)
        tau, _ = self._felt(ref.q)
        self._append(times, ref, tau)
        looks += [Look(float(times[k]), np.array(ref.q[k]), tau[k]) for k in range(step - 1, len(times), step)]
        return tuple(looks)

    def listen(self, brake, seconds, every):
        if self._looks is not None:
            return self._looks
        self._resume()
        return self._listened(brake, seconds, every)

    def passed(self, since):
        t, q, qd = (np.array(self.rows[name]) for name in ("t", "q", "qd"))
        if not len(t):
            return Passed(np.zeros(0), *np.zeros((3, 0, self.n)))
        keep = np.array(self.rows["trusted"]) & (t >= since - 1e-9)
        return Passed(t[keep], q[keep], qd[keep], q[keep])

    def torques(self, seconds):
        until = self.moment().time
        t = np.array(self.rows["t"])
        return np.array(self.rows["tau"])[(t > until - seconds + 1e-9) & (t <= until + 1e-9)].reshape(-1, self.n)

    def gives_way(self, q, tau):
        return None

    def recording(self, outcome, **settings):
        t = np.array(self.rows["t"])
        q, qd, tau = (np.array(self.rows[name]).reshape(-1, self.n) for name in ("q", "qd", "tau"))
        wrench = np.zeros((len(t), 6))
        for k in np.flatnonzero(np.abs(tau).max(axis=1, initial=0.0) > 0.0):
            wrench[k, :3] = np.linalg.lstsq(jacobian(self.robot, q[k])[:3].T, tau[k], rcond=None)[0]
        signals = {
            "q": Signal(q, "rad"),
            "qd": Signal(qd, "rad/s"),
            "q_ref": Signal(q, "rad"),
            "tau_ext": Signal(tau, "N m"),
            "wrench_ext": Signal(wrench, "N"),
        }
        return Recording(t, signals, robot=self.robot, outcome=outcome, settings=settings)
