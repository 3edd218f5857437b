# SPDX-License-Identifier: Apache-2.0
"""Worker for Robotics Toolbox for Python: the arm as modified Denavit–Hartenberg links with its C recursion."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import roboticstoolbox as rtb
from spatialmath import SE3

from armwright.bench.protocol import case, serve, setup

folder, models = setup()
data = models["ur5"]
n = data["q"].shape[1]
links = []
for i in range(n):
    R, p, m, h = data["R0"][i], data["p0"][i], float(data["m"][i]), data["h"][i]
    alpha = float(np.arctan2(R[2, 1], R[2, 2]))
    d = float(p[2] * np.cos(alpha) - p[1] * np.sin(alpha))
    c = h / m
    central = data["I"][i] - m * (c @ c * np.eye(3) - np.outer(c, c))
    links.append(
        rtb.RevoluteMDH(
            alpha=alpha,
            a=float(p[0]),
            d=d,
            offset=float(data["offset"][i]),
            m=m,
            r=c,
            I=[central[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))],
            Jm=0,
            G=1,
            B=0,
        )
    )
q, v, x = (data[key][0].copy() for key in ("q", "qd", "x"))
for sign in (-1.0, 1.0):  # the toolbox has changed its gravity convention between releases
    arm = rtb.DHRobot(links, gravity=sign * data["gravity"])
    if np.allclose(arm.rne(q, v, x), data["tau"][0], rtol=1e-6):
        break
arm.tool = SE3(data["T_tip_tool"], check=False)
turn = np.kron(
    np.eye(2), data["T_base_root"][:3, :3].T
)  # the reference is in the base frame, the arm's own is the root


def fkj():
    arm.fkine(q)
    return arm.jacob0(q)


case("rnea/single", lambda: arm.rne(q, v, x), data["tau"][0], note="C recursion")
case("fd/single", lambda: arm.accel(q, v, x), data["qdd"][0])
case("mass/single", lambda: arm.inertia(q), data["M"][0])
case("fkj/single", fkj, turn @ data["J"][0])
some = [data[key][:50].copy() for key in ("q", "qd", "x")]
case("rnea/batch", lambda: arm.rne(*some), data["tau"][:50], items=50, note="vectorised call")
serve(version("roboticstoolbox-python"))
