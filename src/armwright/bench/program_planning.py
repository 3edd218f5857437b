# SPDX-License-Identifier: Apache-2.0
"""How long planning takes as a program grows: rings of blended lines, best of a few turns.

python -m armwright.bench.program_planning [robot] [repeats]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from armwright.kinematics import fk
from armwright.programs import Distance, Fraction, Move, Pose, Program, Stop, ToolRate, plan_program
from armwright.robot.load import load
from armwright.robot.model import Robot

START = {"ur5": np.array([0.0, -1.2, 1.5, -1.8, -1.5, 0.3]), "rl15": np.radians([10.0, 20.0, -20.0, 10.0, -60.0, 5.0])}


def ring(robot: Robot, n: int, *, blend: bool, rated: bool) -> Program:
    """Return n lines of 50 mm and more, with corners rounded or not, accelerations of the tool or of the joints."""
    q = START.get(robot.name, np.zeros(robot.n))
    T, moves = fk(robot, q), []
    for k in range(1, n + 1):
        a, there = 2.0 * np.pi * k / 7.0, T.copy()
        there[:3, 3] += 0.05 * np.array([np.cos(a) - 1.0, np.sin(a), 0.4 * np.sin(2.3 * a)])
        acceleration = Fraction(1.0) if rated else ToolRate(1.0)
        moves.append(
            Move("line", Pose(there), ToolRate(0.2), acceleration, Distance(0.01) if blend else Stop(), line=k)
        )
    return Program(tuple(moves), start_q=q)


def main() -> None:
    """Print milliseconds a program and a move."""
    robot = load(sys.argv[1] if len(sys.argv) > 1 else "rl15")
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print(f"{'corners':10} {'acceleration':14} {'moves':>6} {'ms':>9} {'ms/move':>8}")
    for blend, rated in ((True, False), (False, False), (True, True)):
        for n in (10, 100, 1000):
            program, best = ring(robot, n, blend=blend, rated=rated), np.inf
            for _ in range(repeats):
                begin = time.perf_counter()
                plan_program(robot, program)
                best = min(best, 1e3 * (time.perf_counter() - begin))
            words = "rounded" if blend else "stops", "of the joints" if rated else "of the tool"
            print(f"{words[0]:10} {words[1]:14} {n:6d} {best:9.1f} {best / n:8.3f}")


if __name__ == "__main__":
    main()
