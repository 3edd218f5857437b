"""Figures about detection and isolation: ``python docs/make_touch.py detection 101 102 103``, ``… isolation 201``."""

from __future__ import annotations

import sys

import numpy as np

import armwright as aw
from armwright.contact.capsules import link_capsules
from armwright.contact.isolation import isolate
from armwright.contact.isolation_noise import link_torques, torque_covariance
from armwright.contact.isolation_surface import pushes, surfaces
from armwright.contact.observers import closed_loop_error_observer, momentum_observer
from armwright.simulation.detection.study import detection_study, study_law, tool_moves

OMEGA = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])  # of the controller [rad/s]
SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # standard deviation of the torque estimate [N m]
FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]


def detection(seed: int) -> None:
    """Masses 10 % and friction 20 % off, a UR5's sensors, walls of 1e5 N/m at 0.25 m/s; thresholds of other moves."""
    arm = aw.load("ur5-kufieta-c")
    observers = {"momentum": momentum_observer(100.0), "closed-loop": closed_loop_error_observer(OMEGA**2)}
    study = detection_study(
        arm, study_law(OMEGA**2, 2.0 * OMEGA), tool_moves(arm, 24, seed=seed), observers,
        {"adaptive": lambda fit: fit.detector()}, runs=2000, free_runs=12000, learning_runs=2400,
        learning_trajectories=tool_moves(arm, 24, seed=seed + 500), seed=seed,
    )  # fmt: skip
    for curve in study.curves:
        k = int(np.argmin(np.abs(curve.scales - 1.0)))
        point, delays = curve.point(k), 1e3 * curve.delays[:, k]
        median, late = np.nanquantile(delays, [0.5, 0.99])
        sys.stdout.write(
            f"seed {seed}, {curve.observer}: {curve.alarms[k]} alarms in {curve.hours[k]:.2f} h "
            f"(95 %: at most {point.false_alarms.upper:.2f}/h), missed {100 * point.missed.value:.2f} %, "
            f"delay median {median:.1f} ms, 99 % {late:.1f} ms\n"
        )


def isolation(seed: int, runs: int = 1000) -> None:
    """Pushes of 20–100 N anywhere on a moving link of a UR5 in random postures: how often the right link is named.

    Three sets of contacts are counted: all; "loaded", which load their link's own joint by more than four standard
    deviations of the estimate; "distinct", whose exact torques leave at most 1 % for all other links together.
    """
    arm = aw.load("ur5")
    parts = link_capsules(arm)
    for name, wrong in (("perfect model", False), ("10 % mass, 20 % friction", True)):
        rng = np.random.default_rng(seed)
        right, seen = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
        for _ in range(runs):
            q = rng.uniform(-np.pi, np.pi, 6)
            face = surfaces(arm, q, parts[1:])[rng.integers(5)]
            (c,), (m,) = face.at(rng.uniform(face.low, face.high, 1), rng.uniform(-np.pi, np.pi, 1))
            t = np.cross(m, rng.normal(size=3))
            f = -m + rng.uniform(0.0, 0.5) * t / np.linalg.norm(t)
            f *= rng.uniform(20.0, 100.0) / np.linalg.norm(f)
            tau = pushes(arm, q, face.body, c[None])[0][0].T @ f
            S, error = np.diag(SENSOR**2), SENSOR * rng.normal(size=6)
            if wrong:
                S = torque_covariance(arm, q, sensor=SENSOR, mass=0.1, friction=0.2, friction_torque=FRICTION)
                error = error + rng.uniform(-0.1, 0.1, 6) @ link_torques(arm, q)
                error = error + rng.uniform(-0.2, 0.2, 6) * FRICTION
            ideal = isolate(arm, q, tau, S, locate=False, confidence=0.99)
            found = isolate(arm, q, tau + error, S, locate=False)
            loaded = abs(tau[face.body]) > 4.0 * np.sqrt(S[face.body, face.body])
            distinct = ideal.outcome == "link" and ideal.body == face.body
            which = np.array([True, loaded, distinct, found.outcome == "link"])
            seen += which
            right += which & (found.body == face.body)
        share = 100.0 * right / seen
        sys.stdout.write(
            f"seed {seed}, {name}: all {share[0]:.1f} % of {seen[0]}, loaded {share[1]:.1f} % of {seen[1]}, "
            f"distinct {share[2]:.1f} % of {seen[2]}, where the result claims to know {share[3]:.1f} % of {seen[3]}\n"
        )


if __name__ == "__main__":
    for word in sys.argv[2:]:
        {"detection": detection, "isolation": isolation}[sys.argv[1]](int(word))
