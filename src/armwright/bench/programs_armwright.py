# SPDX-License-Identifier: Apache-2.0
"""Benchmark of programs: twelve moves read, planned and run through Algorithm 1, and planning as programs grow.

Programs that grow are rings of blended lines, timed as the best of a few turns:

python -m armwright.bench.programs_armwright [robot] [repeats]
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

from armwright.bench.protocol import case
from armwright.kinematics import fk
from armwright.programs import (
    Distance,
    Fraction,
    Move,
    Pose,
    Program,
    Stop,
    ToolRate,
    plan_program,
    read_program,
    run_program,
)
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.types import Array

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
    """Print milliseconds per program and per move."""
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


PROGRAM = """program Bench;
var
  robtarg : s0  = robtarg(((786.9329, 402.9624, 632.855), (15, -60, -175.03779)), 4);
  robtarg : s1  = robtarg(position(850.5427, 0, 629.1809));
  robtarg : s2  = robtarg(((821.9198, -402.9624, 572.256), (-15, -60, -175.037)), 8);
  robtarg : s3  = robtarg(position(819.1725, -441.6397, 566.7923));
  robtarg : s4  = robtarg(((1019.6465, -571.0567, 669.5612), (-40, -60, -90)), 8);
  robtarg : s5  = robtarg(((1238.1590, -421.6189, 810.7015), (-20, -30, -90)), 4);
  robtarg : s6  = robtarg(((1317.2706, -249.063, 873.6763), (-10, -45, -175.03779)), 8);
  robtarg : s7  = robtarg(((1289.7405, -149.4378, 867.7698), (-5, -40, -175.03779)), 8);
  robtarg : s8  = robtarg(((1208.2531, 0, 835.7050), (0, -30, -175.03779)), 8);
  robtarg : s9  = robtarg(((1276.7658, 149.4378, 890.2428), (5, -45, -175.03779)), 8);
  robtarg : s10 = robtarg(position(1295.6459, 249.063, 911.1313));
  robtarg : s11 = robtarg(((1201.5523, 421.6189, 874.1061), (10, -60, -175.03779)), 8);
  robtarg : s12 = robtarg(((970.0649, 571.0567, 755.4388), (17, -60, -175.03779)), 8);
  robtarg : s13 = robtarg(position(780.8275, 441.6398, 633.2077));
  joint   : p0  = joint(mainjoint(0, 0, 0, 0, 0));
endvar
seq
  tool ((120, 120, 350), (0, 0, 0));
  move ptp s0 speed_ptp=0.6 acc_ptp=1.0 c_ptp;
  move circle s1, s2 speed=760 acc=1000 c_ori=o_pco c_speed;
  move circle s3, s4 speed=350 acc=1000 c_ori=o_pvo c_speed;
  move lin s5 speed=460 acc=1000 c_ori=o_var c_speed;
  move circle s6, s7 speed=300 acc=800 c_ori=o_var c_speed;
  move lin s8 speed=227.7 acc=900 c_ori=o_var c_cp=150.0;
  move lin s9 speed=225 acc=900 c_ori=o_var c_speed;
  move circle s10, s11 speed=695 acc=1200 c_ori=o_var c_speed;
  move lin s12 speed=620 acc=1200 c_ori=o_var c_speed;
  move circle s13, s0 speed=570 acc=1000 c_ori=o_var;
  move ptp p0 speed_ptp=1 acc_ptp=1;
  move ptp joint(mainjoint(-115.70, 55.70, 68.70)) speed_ptp=1 acc_ptp=1;
endseq
"""
"""The moves of examples/programs/lola15dd.irl, here so that they are measured where there is no checkout, too."""
SIZES = (10, 100, 1000)


def register() -> None:
    """Register the cases."""
    robot = load("rl15")
    case("loop/program_read", lambda: len(read_program(PROGRAM, "l-irl").moves), 12, note="12 moves of L-IRL")

    def check() -> float:
        outcome = run_program(robot, read_program(PROGRAM, "l-irl"))
        assert outcome.verdict.startswith("Feasible")
        return outcome.plan.duration

    case("loop/program_check", check, plan_program(robot, read_program(PROGRAM, "l-irl")).duration, note="to verdict")

    def end(program: Program) -> Array:
        return np.asarray(plan_program(robot, program).q[-1])

    for n in SIZES:
        program = ring(robot, n, blend=True, rated=False)
        case(f"loop/program_plan_{n}", partial(end, program), end(program), items=n, note="a move")


if __name__ == "__main__":
    main()
