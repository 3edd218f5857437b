# SPDX-License-Identifier: Apache-2.0
"""Send a UR5 through a world that nobody told it about: it bumps, maps, steps back, plans around, and arrives."""

from armwright import explore
from armwright.exploration import Sensing
from armwright.world.shapes import Cylinder
from armwright.world.world import World
from armwright.world.world_catalogue import load_world

# Three pillars between start and goal. The arm knows its own body and its motors, nothing else.
pillars = [(0.33, 0.02), (0.37, -0.02), (0.40, -0.07)]
shapes = tuple(Cylinder(name=f"pillar-{k}", centre=(x, y, 0.0), radius=0.03) for k, (x, y) in enumerate(pillars))

# What it has to do comes from another world's file: a map of cells, start and goal, and how the tool is held.
world = World(shapes, tool_task=load_world("layout-a").tool_task)

for observer, reaction in (("closed-loop", "back off"), ("momentum", "back off"), ("momentum", "slide")):
    run = explore("ur5", world, sensing=Sensing(observer), reaction=reaction)
    m = run.metrics()
    print(
        f"{observer:12s} {reaction:9s} {run.outcome} after {run.arrival:4.1f} s, {m['contacts']} contacts, felt after "
        f"{1e3 * m['median_delay_s']:3.0f} ms, impulse {m['impulse_ns']:5.1f} N s, {m['cells_felt']} cells on the map"
    )

# run.report("report.html") writes a page to be played, with every figure; run.plot("path") draws one of them.
