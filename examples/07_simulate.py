# SPDX-License-Identifier: Apache-2.0
"""Close the loop: reference, law, arm, integrated at 1 kHz as one compiled step; recorded, judged, drawn."""

import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import armwright as aw
from armwright.control import computed_torque, frequency_gains
from armwright.motion import quintic_spline

robot = aw.load("ur5")
path = quintic_spline(
    [[0.0, -1.6, 1.4, -0.6, 0.5, 0.0], [0.8, -1.1, 0.9, -0.9, 0.9, 0.4], [0.2, -0.8, 1.2, -1.3, 0.2, 0.9]], 3.0
)
law = computed_torque(*frequency_gains(15.0))  # critically damped at 15 rad/s
off = path.evaluate(0.0).q + 0.05  # begin 3 degrees beside the reference
run = aw.simulate(robot, law, path, q0=off)
print(run)

figures = run.summary()
print("joint            peak speed   peak torque    error at start    at the end")
for i, joint in enumerate(robot.joints):
    print(
        f"{joint.name:15} {figures['peak.qd'][i]:7.2f} rad/s {figures['peak.tau'][i]:9.1f} N m "
        f"{1e3 * abs(run['error'][0, i]):10.2f} mrad {1e3 * figures['error_end'][i]:12.4f} mrad"
    )

start = time.perf_counter()
aw.simulate(robot, law, path, q0=off)
print(f"again, already compiled: {path.duration:g} s in {1e3 * (time.perf_counter() - start):.1f} ms")

folder = Path(tempfile.gettempdir())
print("recording:", run.save(folder / "armwright_run.npz"))  # or .mcap, .parquet, .csv
if find_spec("matplotlib"):
    run.plot(["joints", "errors", "torques"], folder / "armwright_run.png")
    print("picture:", folder / "armwright_run.png")
