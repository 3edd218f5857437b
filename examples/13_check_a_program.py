# SPDX-License-Identifier: Apache-2.0
"""Check a robot program against what the motors can do: where they cannot follow, why, and what would work."""

from pathlib import Path

import armwright as aw

robot = aw.load("rl15")
program = aw.read_program(Path(__file__).parent / "programs" / "lola15dd.irl")

for override in (1.0, 1.3):
    run = aw.run_program(robot, program, override=override, start_q=[0.0] * 6)  # without a start: from its first target
    print(f"override {override}: {run.verdict}")
    for move in run.moves:
        joint = robot.joints[move.limiting].name
        print(
            f"  line {move.line}: {move.duration:5.3f} s, {joint} at {100 * move.use:5.1f} % of its {move.cause}, "
            f"possible up to override {override * move.override:.3f}, off by {1e3 * move.summary.path:6.3f} mm"
        )

for words in run.advice:
    print(words)

# run.report("report.html") writes all of it with pictures, to be played; run.recording.save("cycles.csv") every cycle.
