# SPDX-License-Identifier: Apache-2.0
"""Send arms whose model is wrong through an empty world, and count how often the world is blamed.

    python docs/measure_doubt.py [RUNS per arm] [SEED] [ARM …]

Every run draws its errors: an unknown load of 0 to 3 kg with its centre up to 6 cm from the tool, dry friction of 0 to
5 N m (the most loaded joint; the others by their share of the arm's weight, a tenth at least) that the model lacks,
both, or friction by a factor of 1 to 1.4. Masses are 10 % and centres of mass 1 cm off on top of that, which the
correction of the model does not contain. Arms without rotors in their sheet get 0.1 kg m² per joint. Start and goal are
random configurations 0.3 to 0.8 rad apart; the whole arm moves at 0.25 m/s, seen through a UR5's sensors.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

import armwright as aw
from armwright.contact.doubt.model_errors import weight_scale
from armwright.detection import ur5_sensors
from armwright.exploration import ArmTask, Budget, ControlLoop, Sensing, explore
from armwright.statistics import share
from armwright.world import World

ARMS = ("ur5", "ur10e", "panda", "xarm7", "irb140")
KINDS = ("load", "friction", "load and friction", "friction by a factor")
ROTORS = 0.1  # [kg m²] per joint, where a sheet has none: what the lab assumes, too


def model_of(name: str) -> aw.Robot:
    """Return the arm that law and observer believe in; arms without friction get 5 % of their weight's torque."""
    robot = aw.load(name)
    robot = robot if np.any(robot.tree.armature) else robot.with_rotors(ROTORS)
    if not np.any(robot.tree.coulomb):
        size = np.maximum(weight_scale(robot), 0.1 * weight_scale(robot).max())
        robot = robot.with_friction(viscous=0.05 * size, coulomb=0.05 * size)
    return robot


def plant_of(model: aw.Robot, kind: str, rng: np.random.Generator) -> tuple[aw.Robot, float]:
    """Return an arm that differs from its model, and the load that nobody told it about [kg]."""
    bodies = tuple(
        replace(
            b,
            mass=b.mass * (1.0 + 0.1 * rng.choice([-1.0, 1.0])),
            com=np.asarray(b.com) + rng.normal(0.0, 0.01, 3) / 3**0.5,
        )
        for b in model.bodies
    )
    plant, mass = replace(model, bodies=bodies), 0.0
    size = np.maximum(weight_scale(model), 0.1 * weight_scale(model).max())
    dry, wet = np.array(model.tree.coulomb), np.diag(model.tree.viscous).copy()
    if kind == "friction by a factor":
        dry, wet = (x * rng.uniform(1.0, 1.4) for x in (dry, wet))
    elif "friction" in kind:
        dry = dry + rng.uniform(0.0, 5.0) * size / size.max()
    plant = plant.with_friction(viscous=wet, coulomb=dry)
    if "load" in kind:
        mass = float(rng.uniform(0.0, 3.0))
        plant = plant.with_payload(mass, rng.uniform(-0.06, 0.06, 3))
    return plant, mass


def ends_of(model: aw.Robot, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return start and goal (n,) within the limits."""
    low, high = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
    start = rng.uniform(low + 0.3 * (high - low), high - 0.3 * (high - low))
    step = rng.uniform(0.3, 0.8, model.n) * rng.choice([-1.0, 1.0], model.n)
    return start, np.clip(start + step, model.lower + 0.05, model.upper - 0.05)


def main() -> None:
    """Print one line per run and one per arm."""
    given = [int(word) for word in sys.argv[1:3]]
    runs, seed = (*given, *(20, 1)[len(given) :])
    for name in sys.argv[3:] or ARMS:
        model, blamed, reached, contacts, errors, covered = model_of(name), 0, 0, 0, [], []
        for k in range(runs):
            kind = KINDS[k % len(KINDS)]
            rng = np.random.default_rng([seed, ARMS.index(name) if name in ARMS else 99, k])
            plant, mass = plant_of(model, kind, rng)
            start, goal = ends_of(model, rng)
            begin = time.perf_counter()
            run = explore(
                plant,
                World((), name="empty"),
                ArmTask(start, goal),
                loop=ControlLoop(model=model),
                sensing=Sensing(sensors=ur5_sensors(), load="estimate"),
                budget=Budget(60.0),
                seed=seed * 1000 + k,
            )
            found = run.settings.get("model_errors", {})
            blamed += run.outcome in ("unreachable", "boxed in", "start in contact")
            reached += run.outcome == "reached"
            contacts += len(run.contacts)
            if found:
                errors.append(found["load"] - mass)
                covered.append(abs(errors[-1]) < 1.96 * found["load_std"])
            sys.stdout.write(
                f"{name:7} {kind:21} {run.outcome:15} contacts {len(run.contacts)} load {mass:.2f} "
                f"{found.get('load', float('nan')):5.2f} ± {found.get('load_std', float('nan')):.2f} kg  "
                f"{time.perf_counter() - begin:.0f} s  {run.message}\n"
            )
            sys.stdout.flush()
        bound = share(blamed, runs)
        rms = float(np.sqrt(np.mean(np.square(errors)))) if errors else float("nan")
        sys.stdout.write(
            f"== {name}: blamed the world {blamed} of {runs} (95 %: {100 * bound.low:.1f}–{100 * bound.high:.1f} %), "
            f"reached {reached}, false contacts {contacts}, load rms {rms:.2f} kg, interval right {sum(covered)} of "
            f"{len(covered)}\n"
        )


if __name__ == "__main__":
    main()
