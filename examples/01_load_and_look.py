# SPDX-License-Identifier: Apache-2.0
"""An arm describes itself: joints, bodies, where the numbers come from, and whether they can be true."""

import warnings

import armwright as aw

robot = aw.load("ur5")
print(f"{robot.name}: {robot.n} joints, {sum(body.mass for body in robot.bodies):.2f} kg moving")
print("masses:", robot.sources[f"bodies.{robot.bodies[0].name}.mass"].document)
for joint, body in zip(robot.joints, robot.bodies, strict=True):
    source = robot.sources[f"bodies.{body.name}.mass"]
    print(f"  {joint.name:14} carries {body.name:10} {body.mass:6.3f} kg   ({source.place})")

# Plausibility is judged, not assumed. A lab report prints an impossible tensor for body 1 of this arm; `load` refuses
# it unless told otherwise, and `check` says why.
warnings.simplefilter("ignore", aw.ArmwrightWarning)
for finding in aw.check(aw.load("cea-published", implausible="warn")):
    if finding.severity == "error":
        print(finding)

# A description is data. Changing it gives a new arm.
loaded = robot.with_payload(3.0, com=(0.0, 0.0, 0.05))
q = [0.0, -1.0, 1.2, -0.4, 0.5, 0.0]
print("holding torque, empty: ", aw.gravity_torque(robot, q).round(2))
print("holding torque, loaded:", aw.gravity_torque(loaded, q).round(2))
