# SPDX-License-Identifier: Apache-2.0
"""Chapter 6 of 000: the Hopfield planner, its bounds and its optimality, and the map between cells and workspace."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armwright.planning import Dijkstra, GridMap, Hopfield
from armwright.planning.grid.hopfield import lyapunov, stability
from armwright.planning.grid.path_plan import problem
from armwright.studies.doc000_collision.hopfield_published import HopfieldPublished, display, inputs
from armwright.studies.doc000_collision.setting import GOAL_CELL, START_CELL, beta, patch
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Shown
from armwright.studies.study_pictures import new_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.planning.grid.path_plan import GridPlanner

SHAPE = (20, 20)
MAPS_TRIED = 600
EIGENVALUE = "§6.2.1: |λ_min| with self-links taken for the largest eigenvalue of T"


class MapCase(NamedTuple):
    """A map with its ends."""

    where: GridMap
    start: tuple[int, int]
    goal: tuple[int, int]


@cache
def demo() -> dict[str, MapCase]:
    """Return four maps in place of the report's, which were only in figures."""
    wall = [(10, v) for v in range(1, 13)]
    trap = [(13, v) for v in range(6, 15)] + [(u, v) for v in (6, 14) for u in range(8, 13)]
    gaps = zip((4, 7, 10, 13, 16), (19, 2, 19, 2, 19), strict=True)
    snake = [(u, v) for u, gap in gaps for v in range(1, 21) if v != gap]
    return {
        "empty": MapCase(patch(), START_CELL, GOAL_CELL),
        "wall": MapCase(patch().with_felt(*wall), START_CELL, GOAL_CELL),
        "U-trap": MapCase(patch().with_felt(*trap), START_CELL, GOAL_CELL),
        "serpentine": MapCase(patch().with_felt(*snake), (2, 2), (19, 19)),
    }


def lengths(planner: GridPlanner) -> Array:
    """Return the steps from start to goal on the four maps."""
    return np.array([float(planner(*case).steps) for case in demo().values()])


def activity(name: str, sweeps: int | None = None) -> Array:
    """Return σ of the published network on one of the four maps."""
    case = demo()[name]
    return HopfieldPublished(beta, sweeps).activity(case.where, case.goal)


def sweeps_suffice() -> bool:
    """Return whether doubling the 199 sweeps leaves σ as it is, to 1e-12 relative, on all four maps."""
    for name in demo():
        once, twice = activity(name), activity(name, 398)
        if not (np.abs(twice - once) <= 1e-12 * once).all():
            return False
    return True


@cache
def longer_paths() -> tuple[int, int]:
    """Return on how many random maps the published path is longer than the shortest, and the number of maps."""
    rng = np.random.default_rng(0)
    longer = tried = 0
    while tried < MAPS_TRIED:
        blocked = rng.random(SHAPE) < rng.uniform(0.1, 0.35)
        blocked[[0, -1]] = blocked[:, [0, -1]] = True
        blocked[1, 10] = blocked[17, 6] = False
        shortest = Dijkstra()(blocked, (1, 10), (17, 6))
        if shortest.ok:
            tried += 1
            longer += HopfieldPublished()(blocked, (1, 10), (17, 6)).steps > shortest.steps
    return longer, tried


def boxed_in(cell: tuple[int, int]) -> GridMap:
    """Return a map on which a cell has obstacles on all sides; in the ring there are some already."""
    u, v = cell
    sides = ((u - 1, v), (u + 1, v), (u, v - 1), (u, v + 1))
    return patch().with_felt(*(side for side in sides if min(side) > 1 and max(side) < SHAPE[0]))


class BoxAnswers(NamedTuple):
    """What C.2.3 says where no way exists: "Hooray!" though it went through obstacles, or "Does not converge"."""

    through: int
    refused: int


@cache
def answers(boxed: str) -> BoxAnswers:
    """Ask the printed planner with the start or the goal boxed in, at every free cell that is not beside the other."""
    counts = {"found": 0, "gave up": 0}
    for u, v in cells_of_the_patch():
        cell = (int(u), int(v))
        where = boxed_in(cell if boxed == "start" else GOAL_CELL)
        blocked = where.blocked()
        if blocked[u - 1, v - 1] or blocked[GOAL_CELL[0] - 1, GOAL_CELL[1] - 1] or cell == GOAL_CELL:
            continue
        counts[HopfieldPublished(beta)(where, cell, GOAL_CELL).status] += 1
    return BoxAnswers(counts["found"], counts["gave up"])


def keeps_off(boxed: str) -> Shown:
    """Return whether the printed planner's path from P_0 keeps off obstacles; to refuse is to keep off."""
    where = boxed_in(START_CELL if boxed == "start" else GOAL_CELL)
    plan, blocked = HopfieldPublished(beta)(where, START_CELL, GOAL_CELL), where.blocked()
    through = [cell for cell in plan.path if blocked[cell[0] - 1, cell[1] - 1]]
    seen = answers(boxed)
    return Shown(
        not through,
        f"from P_0 {f'through {through[0]}, “Hooray!”' if through else '“Does not converge”'}; of "
        f"{sum(seen)} starts {seen.through} come out through obstacles, {seen.refused} are refused",
    )


def energy_of_network(sign: float, sweeps: int | None = None) -> float:
    """Return L on the wall map, at rest or earlier; defined with +½ Σ T σσ (sign = 1), derived with −½."""
    case = demo()["wall"]
    sigma, drive = activity("wall", sweeps), inputs(problem(*case))
    right = lyapunov(sigma, drive, beta)
    links = -(right + (drive * sigma).sum() - (sigma**2).sum() / (2.0 * beta))
    return float(right + (1.0 + sign) * links)


def least_curvature() -> float:
    """Return the least of β/g'(g⁻¹(σ)), the varying part of L_ii over its bound, g a sigmoid of greatest slope β."""
    sigma = np.linspace(0.01, 0.99, 99)
    slope = 4.0 * beta * sigma * (1.0 - sigma)  # of 1/(1 + exp(−4βu)) where it has the value σ
    return float((beta / slope).min())


def _hessian_note() -> str:
    return f"1/g' is 1/β or more: {least_curvature():.3f}/β at least over 99 values of σ, the sigmoid of chapter 2"


def cells_of_the_patch() -> NDArray[np.intp]:
    """Return all cells (400, 2)."""
    return np.argwhere(np.ones(SHAPE, dtype=bool)) + 1


def map_is_its_inverse() -> bool:
    """Return whether every cell comes back from its centre."""
    grid, cells = patch().grid, cells_of_the_patch()
    return bool(np.array_equal(grid.cell(grid.centre(cells)), cells))


def _demo_notes() -> list[str]:
    out = []
    for name, case in demo().items():
        plan = HopfieldPublished(beta)(*case)
        sigma = activity(name)[case.start[0] - 1, case.start[1] - 1]
        out.append(f"{name}, {case.start} → {case.goal}: {plan.steps:.0f} steps, σ at the start {sigma:.2e}")
    path = HopfieldPublished(beta)(*demo()["empty"]).path
    out.append("empty map, by the tie rule: straight to (14, 11), then " + ", ".join(str(c) for c in path[13:]))
    return out


def _optimality_notes() -> list[str]:
    longer, tried = longer_paths()
    return [
        f"{longer} of {tried} random solvable maps have a longer path than needed (β = 0.1); σ sums over all walks, so "
        "many slightly longer routes outweigh one short corridor"
    ]


def _box_notes() -> list[str]:
    return [
        f"{what} boxed in, {planner.name}: {planner(boxed_in(cell), START_CELL, GOAL_CELL).message}"
        for what, cell in (("start", START_CELL), ("goal", GOAL_CELL))
        for planner in (HopfieldPublished(), Hopfield())
    ]


def _energy_notes() -> list[str]:
    out = []
    for text, sign in (("+", 1.0), ("−", -1.0)):
        change = np.diff([energy_of_network(sign, n) for n in range(1, 12)])
        out.append(f"with {text}: {(change > 0.0).sum()} of the first 10 sweeps raise L, by {change.max():.2e} at most")
    return out


def _bound_notes() -> list[str]:
    out = []
    for text, shape, self_link in (
        ("20×20, as coded", SHAPE, False),
        ("18×18 inside the ring", (18, 18), False),
        ("20×20 with self-link, as the equation has it", SHAPE, True),
    ):
        s = stability(shape, self_link=self_link)
        out.append(f"{text}: λ = {s.lambda_min:.3f} … {s.lambda_max:.3f}, β < {s.beta_bound:.4f}")
    return out


def _picture() -> Figure:
    figure = new_figure(7.4, 2.1)
    panels = figure.subplots(1, 4)
    for panel, (name, case) in zip(panels, demo().items(), strict=True):
        shown = display(case.where, HopfieldPublished(beta)(*case), case.start, case.goal)
        panel.imshow(shown.T, origin="lower", cmap="viridis", extent=(0.5, 20.5, 0.5, 20.5), vmin=0.0, vmax=2.0)
        panel.set_title(name, loc="left", fontsize=8)
        panel.set_xlabel("u")
        panel.set_xticks([1, 10, 20])
        panel.set_yticks([1, 10, 20])
    panels[0].set_ylabel("v")
    return figure


ITEMS: tuple[Item, ...] = (
    Item(
        "6.lam",
        "largest eigenvalue of T on 20×20",
        Numbers("3.0"),
        lambda: abs(stability(SHAPE, self_link=True).lambda_min),
        lambda: stability(SHAPE).lambda_max,
        reason="3.0 is |λ_min| with self-links; as coded λ = ±3.955, and with self-links λ_max = 4.955",
        faults=(EIGENVALUE,),
        notes=_bound_notes,
    ),
    Item(
        "6.bound",
        "bound on β for convergence to a single fixed point",
        Formula("β < 1/3"),
        lambda: 1.0 / 3.0,
        lambda: stability(SHAPE).beta_bound,
        reason="from the wrong eigenvalue: 0.2528 as coded, 0.2018 with self-links",
        faults=(EIGENVALUE,),
    ),
    Item(
        "6.beta",
        "β = 0.1 is small enough",
        Claim("converges"),
        lambda: stability(SHAPE, self_link=True).holds(beta),
        lambda: stability(SHAPE).holds(beta),
        notes=lambda: [*_energy_notes(), _hessian_note()],
    ),
    Item(
        "6.N",
        "199 sweeps are enough on the four maps",
        Claim("iterates until convergence (C.2.3)"),
        None,
        sweeps_suffice,
        rule="doubling them changes no σ by more than 1e-12 of itself",
    ),
    Item(
        "6.2a",
        "path lengths on four maps (stand-ins: the report's are lost)",
        Formula("1-norm optimal", "steps"),
        lambda: lengths(HopfieldPublished(beta)),
        lambda: lengths(Dijkstra()),
        notes=_demo_notes,
        pictures=(Picture("The four maps with the published planner's paths, drawn as the report does.", _picture),),
    ),
    Item(
        "6.2b",
        "the steepest ascent of σ is a shortest path, whatever the map",
        Claim("provides the shortest feasible path (§6.1.2)"),
        None,
        lambda: longer_paths()[0] == 0,
        rule=f"none of {MAPS_TRIED} random maps, a tenth to a third filled, has a longer path than Dijkstra's",
        reason="not always: σ counts all walks to the goal, and many longer ones can outweigh the shortest",
        faults=("§6.1.2: steepest ascent taken for the shortest path",),
        notes=_optimality_notes,
    ),
    Item(
        "6.box",
        "a path that is reported keeps off obstacles, the start boxed in",
        Claim("a collision-free path"),
        None,
        lambda: keeps_off("start"),
        reason="where all four neighbours have σ = 0 the search, which begins with v = −1 and takes what is ≥ v, takes "
        "the last of them, an obstacle, and goes on from there to the goal: “Hooray!”; begun with v = 0 and > its own "
        "test for standing still would say that there is no way",
        faults=("C.2.3: from a start that is boxed in, a step to a neighbour with σ = 0 is taken",),
        notes=_box_notes,
    ),
    Item(
        "6.boxg",
        "the same with the goal boxed in: the code says that there is no way",
        Claim("Error: Does not converge"),
        None,
        lambda: keeps_off("goal"),
        rule="from P_0; the code then walks along v until it is in the ring",
    ),
    Item(
        "6.map",
        "centres of the cells",
        Formula("x = 0.0263 u + 0.1238, y = 0.0263 v − 0.2762, z = 0", "m"),
        lambda: np.column_stack([0.0263 * cells_of_the_patch() + [0.1238, -0.2762], np.zeros(400)]),
        lambda: patch().grid.centre(cells_of_the_patch()),
        notes=lambda: ["goal cell (18, 7): (" + ", ".join(f"{x:.4f}" for x in patch().grid.centre(GOAL_CELL)) + ") m"],
    ),
    Item("6.inv", "cell of a point is the inverse of that", Claim("rounded"), None, map_is_its_inverse),
)
