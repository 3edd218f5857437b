# SPDX-License-Identifier: Apache-2.0
"""One HTML file in which an arm lives: opened from a disk, without a server, without Python, without a network.

The loop of the arm becomes WebAssembly (`graph/emit/wasm_module.py`), which the file carries with the scene of our
other pages. It is simulated in real time, pulled at any link, and shows what its observer feels of that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.monitor import as_chain
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.computed_torque import computed_torque
from armwright.errors import InputError
from armwright.graph.emit.wasm_module import wasm_module
from armwright.recording.replay import replay_page as pages
from armwright.recording.replay.scene_spec import robot_spec, world_spec
from armwright.robot.load import load, robots
from armwright.simulation.arm_page.page_plan import page_loop, page_plan
from armwright.simulation.pulled_link import posture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.graph.loop_plan import LoopPlan
    from armwright.graph.tick_program import TickProgram
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

FREQUENCY = 12.0
"""Natural frequency that the sliders of the gains begin at [rad/s]."""
OBSERVER_GAIN = 40.0
"""Of the observer [1/s]: 63 % of a push is felt after 25 ms."""
THRESHOLD, EFFORT_SHARE = 2.0, 0.01
"""Of the detector: 2 N m, and 1 % of what a joint can do."""
OWN = ("wasm_arm.js", "sway.js", "arm.js")
STYLES = ("theme.css", "vendor/uplot.css", "controls.css")


@dataclass(frozen=True, eq=False, repr=False)
class ArmPage:
    """A page.

    Attributes:
        text: the file. module: the WebAssembly in it.
        plan: of the module. program: of a tick.
        figures: sizes [bytes] by name.
    """

    text: str
    module: bytes
    plan: LoopPlan
    program: TickProgram
    figures: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the arm and the sizes."""
        sizes = ", ".join(f"{name} {size / 1000:.0f} kB" for name, size in self.figures.items())
        return f"ArmPage({self.program.robot}: {sizes})"

    def write(self, path: str | Path) -> Path:
        """Write the file."""
        return pages.write_page(path, self.text)


@names_culprit
def arm_page(
    robot: Robot | str,
    law: Law | None = None,
    monitors: Sequence[Monitor] = (),
    *,
    world: World | None = None,
    q0: ArrayLike | None = None,
    frequency: float = FREQUENCY,
    rate: float = 1000.0,
    title: str = "",
) -> ArmPage:
    """Return a page in which an arm lives.

    Args:
        robot: the arm, or the name of one in the catalogue.
        law: with gains kp and kd (n,) that belong to `frequency`; the page's sliders scale them. Computed torque if
            omitted.
        monitors: an observer and a detector; generalised momentum and a threshold per joint if omitted.
        world: what the arm can touch; its shapes are drawn.
        q0: posture (n,) at which it stands [rad or m].
        frequency: natural frequency that the gains stand for [rad/s].
        rate: ticks per second.
        title: of the page; the arm's name if omitted.

    >>> aw.arm_page("ur5").write("ur5.html")
    """
    arm = load(robot) if isinstance(robot, str) else robot
    n = arm.n
    start = posture(arm) if q0 is None else np.asarray(q0, dtype=np.float64)
    if start.shape != (n,) or not np.isfinite(start).all():
        raise InputError(f"page: q0 must be ({n},) finite numbers, got shape {start.shape}")
    if not (np.isfinite(frequency) and frequency > 0.0):
        raise InputError(f"page: frequency must be positive, got {frequency}")
    given = computed_torque(frequency**2, 2.0 * frequency) if law is None else law
    chosen, tuned = _with_sliders(given, n)
    chain = as_chain(monitors) if monitors else (momentum_observer(OBSERVER_GAIN), joint_detector(thresholds(arm)))
    loop = page_loop(arm, chosen, chain, world, rate=rate)
    plan, program = page_plan(loop, start, world)
    module = wasm_module(plan)
    first = np.zeros(plan.size)
    for name, value in program.starts.items():
        first[plan.positions((name,))] = np.ravel(value)
    pack = pages.Packed()
    content: dict[str, Any] = {
        "title": title or _title(arm),
        "robot": robot_spec(arm),
        "world": world_spec(world),
        "bodies": [np.ravel(T).tolist() for T in arm.tree.T_body_link],
        "posture": start.tolist(),
        "period": program.period,
        "places": {name: [plan.offset(name), size] for name, size in plan.slots.items()},
        "outputs": _outputs(program),
        "thresholds": _thresholds_of(chain, n),
        "parts": list(program.parts),
        "gains": {name: np.ravel(given.gains[name] * np.ones(n)).tolist() for name in tuned},
        "frequency": frequency,
        "kilobytes": round(len(module) / 1000.0, 1),
        "first": pack.array(first, exact=True),
        "module": pack.raw(module),
    }
    text = _page(content, pack)
    figures = {"page": len(text.encode()), "module": len(module)}
    return ArmPage(text, module, plan, program, figures)


def _title(robot: Robot) -> str:
    """Return what the catalogue calls an arm, without what it says about it; the arm's name elsewhere."""
    title = next((entry.title for entry in robots() if entry.name == robot.name), "")
    return re.split(r"[,(]", title)[0].strip() or robot.name


def thresholds(robot: Robot) -> Array:
    """Thresholds of a detector of torques that nobody learned (n,) [N m]: 2 N m, and 1 % of the effort limit."""
    effort = np.array([joint.limits.effort for joint in robot.joints])
    return np.asarray(THRESHOLD + EFFORT_SHARE * np.where(np.isfinite(effort), effort, 0.0))


def _with_sliders(law: Law, n: int) -> tuple[Law, tuple[str, ...]]:
    """Return the law with those of kp and kd that it has as numbers of the loop, and their names."""
    names = tuple(k for k in ("kp", "kd") if k in law.gains and law.gains[k].shape in ((), (1,), (n,)))
    rows = {k: np.broadcast_to(law.gains[k], (1, n)) for k in names}
    return replace(law, gains={**law.gains, **rows}), names


def _outputs(program: TickProgram) -> dict[str, str | None]:
    """Return the slots of what monitors say: the estimate, and level and alarm of the detector if there is one."""
    names = [f"out_{port.name}" for port in program.outputs]
    return {word: next((k for k in names if k.endswith(word)), None) for word in ("tau_ext", "level", "alarm")}


def _thresholds_of(monitors: Sequence[Monitor], n: int) -> list[float] | None:
    """Return the thresholds of a detector that has one per joint."""
    found = next((m.gains["thresholds"] for m in monitors if "thresholds" in m.gains), None)
    return None if found is None else np.broadcast_to(found, (n,)).tolist()


@cache
def _own_file(name: str) -> str:
    return (resources.files("armwright.simulation.arm_page") / "page" / name).read_text(encoding="utf-8")


@cache
def _modules() -> str:
    return pages.Packed().text(
        {name: pages.page_file(name) for name in (*pages.DRAWING, "ui.js", "grip.js")}
        | {name: _own_file(name) for name in OWN}
    )


def _page(content: dict[str, Any], pack: pages.Packed) -> str:
    look = "\n".join([*(pages.page_file(name) for name in STYLES), _own_file("arm.css")])
    parts = pages.ReplayParts(_own_file("arm.html"), pages.carried("arm", _modules(), pack.text(content)))
    return pages.html_page(content["title"], (), parts, look, compiled=True)
