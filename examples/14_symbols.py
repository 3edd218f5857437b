# SPDX-License-Identifier: Apache-2.0
"""The equations of an arm with m1, l1, I1, … left as symbols: LaTeX, SymPy, C, and numbers last."""

import numpy as np

import armwright as aw

# The textbook's two-link arm.
arm = aw.planar("RR")
print(aw.equations(arm, "M", "C", "g").latex())

# Your own: a DH table whose entries are numbers, symbols, expressions of symbols, or names of symbols.
m, length = aw.symbols("m l")
rod = m * length**2 / 12
scara = aw.SymbolicRobot.from_dh(
    #  theta  d    a      alpha
    [[0.0, "h", length, 0.0], [0.0, 0.0, length, np.pi], [0.0, 0.0, 0.0, 0.0]],
    kinds="RRP",
    masses=[m, m, "m3"],
    coms=[[-length / 2, 0.0, 0.0], [-length / 2, 0.0, 0.0], [0.0, 0.0, 0.0]],
    inertias=[[0.0, rod, rod], [0.0, rod, rod], [0.0, 0.0, 0.0]],
    gravity=[0.0, 0.0, -aw.symbols("g")],
    name="scara",
)
made = aw.equations(scara, "M", "g", "J")
print(made.latex())
print("C:", next(line for line in made.source("c").splitlines() if line.startswith("void scara_mass_matrix(")))
print("operations:", [(f.name, f.counts.mul, f.counts.add) for f in made.functions()])

# Numbers for the symbols give an ordinary robot, compiled as any other.
robot = scara.robot(m=2.0, l=0.4, m3=0.5, h=0.3, g=9.81)
q = np.array([0.3, -0.8, 0.1])
print("M =\n", aw.mass_matrix(robot, q).round(4))

# Or keep them as inputs of the compiled function: 1000 loads at once.
kernel = made.kernel("M")
loads = np.linspace(0.0, 5.0, 1000)
values = {"q": q, "m": 2.0, "l": 0.4, "m3": loads, "h": 0.3, "g": 9.81}
M = kernel(**{signal.name: values[signal.name] for signal in kernel.program.inputs})
print("M11 without and with a load of 5 kg:", M[[0, -1], 0, 0].round(3))
