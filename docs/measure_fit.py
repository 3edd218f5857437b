# SPDX-License-Identifier: Apache-2.0
"""`fit` beside least squares on a log of any arm: fitted to the beginning, judged on the rest.

python docs/measure_fit.py ROBOT LOG [--columns map.toml] [--share 0.6] [--gains K1,K2,…] [--gravity X,Y,Z]
                           [--base LINK] [--tip LINK] [--implausible warn]

Least squares has the same filter, base columns, moving rows and gains; its friction is viscous, Coulomb and offset
("3"), with v|v| ("4"), or that of the fit ("5"). "weighted" divides the rows of a joint by its residual. An arm whose
gear matrix is given in the mapping, or in its sheet, is solved with coupled motors and without. Figures are
rms(i − î)/rms(i) of moving rows, in percent, of the part that was not fitted. Gains are 1 by default: a log of torques.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import armwright as aw
from armwright.bench.identification_peers import PLAIN, least_squares_error
from armwright.identify import Known, fit, predict_currents, read_log, read_mapping
from armwright.identify.gear_friction import TERMS

if TYPE_CHECKING:
    from armwright.identify import Log
    from armwright.robot.model import Robot
    from armwright.types import Array

FRICTION = {"3": PLAIN, "4": ("viscous", "degressive", "coulomb", "offset"), "5": TERMS}
BAR = 1.05  # a joint may be worse than the better of plain and coupled least squares by this factor


def halves(log: Log, share: float) -> tuple[Log, Log]:
    """Return the first part of a log in time, and the rest."""
    first = log.t <= log.t[0] + share * log.duration
    return log.rows(first), log.rows(~first)


def arms(robot: Robot) -> dict[str, Robot]:
    """Return the arm without coupling between its motors, and with it where it has any."""
    gear = np.asarray(robot.actuators.gear)
    plain = replace(robot, actuators=replace(robot.actuators, gear=np.diag(np.diag(gear))))
    return {"plain": plain} | ({"coupled": robot} if (gear != np.diag(np.diag(gear))).any() else {})


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def row(label: str, error: Array) -> None:
    """Print the joints' errors with their geometric mean."""
    say(f"{label:24}" + "".join(f"{x:9.2f}" for x in error) + f"    mean {np.exp(np.mean(np.log(error))):.2f}")


def main() -> None:
    """Compare on one log."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("robot")
    words.add_argument("log", nargs="+", help="a table, or several side by side")
    words.add_argument("--columns")
    words.add_argument("--share", type=float, default=0.6, help="of the log's time that is fitted")
    words.add_argument("--gains", default="")
    words.add_argument("--gravity", default="")
    words.add_argument("--base")
    words.add_argument("--tip")
    words.add_argument("--implausible", default="refuse")
    asked = words.parse_args()
    given = {key: value for key in ("base", "tip") if (value := getattr(asked, key))}
    robot = aw.load(asked.robot, implausible=asked.implausible, **given)
    if asked.gravity:
        robot = robot.with_gravity([float(x) for x in asked.gravity.split(",")])
    options: dict[str, Any] = {}
    if asked.columns:
        options["columns"] = mapping = read_mapping(asked.columns)
        if mapping.gear is not None:
            robot = replace(robot, actuators=replace(robot.actuators, gear=np.array(mapping.gear, dtype=np.float64)))
    log = read_log(asked.log if len(asked.log) > 1 else asked.log[0], **options)
    gains = np.array([float(k) for k in asked.gains.split(",")]) if asked.gains else np.ones(robot.n)
    train, test = halves(log, asked.share)
    say(f"{log.name}: {train.duration:.1f} s fitted, {test.duration:.1f} s judged [%]")
    best: dict[bool, list[Array]] = {False: [], True: []}
    for name, terms in FRICTION.items():
        for weighted in (False, True):
            for kind, arm in arms(robot).items():
                error = least_squares_error(train, test, arm, gains, terms, weighted=weighted)
                row(f"{kind} {name}{' weighted' if weighted else ''}", error)
                if name == "3":
                    best[weighted].append(error)
    start = time.process_time()
    model = fit(train, robot, gains=Known(gains))
    spent = time.process_time() - start
    error = 100.0 * predict_currents(model, test).error
    row(f"fit, {spent:.1f} s of CPU", error)
    row("fit, on its own log", 100.0 * predict_currents(model, train).error)
    for weighted, rows in best.items():
        ratio = error / np.min(rows, axis=0)
        over = [f"{j.name} {x:.2f}" for j, x in zip(robot.joints, ratio, strict=True) if x > BAR]
        say(f"over {BAR} times {'weighted' if weighted else 'ordinary'} least squares: {', '.join(over) or 'none'}")
    warned = [j.name for j in robot.joints if any(text.startswith(f"{j.name}: the residual") for text in model.remarks)]
    say(f"joints that the fit warns of: {', '.join(warned) or 'none'}")
    for text in model.remarks:
        say(f"- {text}")


if __name__ == "__main__":
    main()
