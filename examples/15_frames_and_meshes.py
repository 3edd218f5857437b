# SPDX-License-Identifier: Apache-2.0
"""Other people's files: frames by name, an arm from MuJoCo's XML, capsules around meshes."""

import tempfile
from pathlib import Path

import numpy as np

import armwright as aw
from armwright.world import fitted_capsules, link_shapes

MJCF = """<mujoco model="crane">
  <compiler angle="degree"/>
  <default><joint damping="0.5" armature="0.05"/></default>
  <worldbody>
    <body name="mast" pos="0 0 0.5">
      <joint name="turn" axis="0 0 1" range="-170 170"/>
      <geom type="capsule" fromto="0 0 0 0.8 0 0" size="0.05" density="500"/>
      <body name="rope" pos="0.8 0 0">
        <joint name="lower" type="slide" axis="0 0 -1" range="0 0.4"/>
        <geom type="sphere" size="0.04"/>
        <site name="hook" pos="0 0 -0.1"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""
URDF = """<robot name="bar">
  <link name="base"/>
  <link name="bar"><collision><origin xyz="0.2 0 0"/><geometry><mesh filename="bar.obj"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint>
  <link name="tip"/>
  <joint name="end" type="fixed"><parent link="bar"/><child link="tip"/><origin xyz="0.4 0 0"/></joint>
</robot>"""

crane = aw.load(MJCF)
q = np.array([0.5, 0.2])
print(crane, "frames:", ", ".join(crane.frame_names))
print("hook at", aw.fk(crane, q, "hook")[:3, 3].round(3), "M =", aw.mass_matrix(crane, q).round(3).tolist())

# A camera on the mast: named once, known to every function of kinematics.
T = np.eye(4)
T[:3, 3] = 0.4, 0.0, 0.1
seen = crane.with_frame("camera", T, parent="mast")
print("camera at", aw.fk(seen, q, "camera")[:3, 3].round(3), "J =\n", aw.jacobian(seen, q, "camera").round(2))

with tempfile.TemporaryDirectory() as folder:
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.03, 0.03) for z in (-0.03, 0.03)]
    faces = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["f " + " ".join(map(str, face)) for face in faces]
    Path(folder, "bar.obj").write_text("\n".join(lines), encoding="utf-8")
    file = Path(folder, "bar.urdf")
    file.write_text(URDF, encoding="utf-8")
    bar = aw.load(file)  # no inertia: kinematics work, dynamics say what is missing
    (fitted,) = fitted_capsules(bar, link_shapes(bar, file))
    print(f"capsule of radius {fitted.capsule.radius:.3f} m, off the mesh by at most {1000 * fitted.error:.0f} mm")
    try:
        aw.gravity_torque(bar, [0.1])
    except aw.ArmwrightError as error:
        print("refused:", error)
