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
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture
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


def boxed_in() -> GridMap:
    """Return a map whose start has obstacles on all sides."""
    return patch().with_felt((3, 11), (2, 12), (2, 10))


def boxed_in_path_is_free(planner: GridPlanner) -> bool:
    """Return whether what the planner reports from a start with no way out keeps off obstacles; no path at all does."""
    blocked = boxed_in().blocked()
    return not any(blocked[u - 1, v - 1] for u, v in planner(boxed_in(), START_CELL, GOAL_CELL).path)


def energy_of_network(sign: float, sweeps: int | None = None) -> float:
    """Return L on the wall map, at rest or earlier; defined with +½ Σ T σσ (sign = 1), derived with −½."""
    case = demo()["wall"]
    sigma, drive = activity("wall", sweeps), inputs(problem(*case))
    right = lyapunov(sigma, drive, beta)
    links = -(right + (drive * sigma).sum() - (sigma**2).sum() / (2.0 * beta))
    return float(right + (1.0 + sign) * links)


def hessian_is_below() -> bool:
    """Return whether 1/g'(g⁻¹(σ)), the varying part of L_ii, is below 1/β anywhere, g a sigmoid of greatest slope β."""
    sigma = np.linspace(0.01, 0.99, 99)
    slope = 4.0 * beta * sigma * (1.0 - sigma)  # of 1/(1 + exp(−4βu)) where it has the value σ
    return bool((1.0 / slope < 1.0 / beta - 1e-9).any())


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
        f"{planner.name}: {planner(boxed_in(), START_CELL, GOAL_CELL).message}"
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
        "6.L",
        "Lyapunov function of the network, at rest on a map",
        Formula("L = +½ Σ T_ij σ_i σ_j − Σ I_i σ_i + Σ G(σ_i)", tolerance=1e-12),
        lambda: energy_of_network(1.0),
        lambda: energy_of_network(-1.0),
        reason="the first sign is −, as the report's own ΔL has it; with + the sweeps raise L",
        faults=("(6.4): + for − before the first sum",),
        rule="to 1e-12 of L: the sum in question is small beside the others",
        notes=_energy_notes,
    ),
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
    ),
    Item(
        "6.10",
        "Hessian of L against its bound, on the diagonal",
        Claim("L_ij < −T_ij + δ_ij/β"),
        None,
        hessian_is_below,
        reason="the sign is ≥: g' is β at most, so 1/g' is 1/β at least; that is what convexity needs, and (6.11) is "
        "right",
        faults=("(6.10): < for ≥",),
        rule="the sigmoid of chapter 2 with slope β in the middle, at 99 values of σ; for the function of the code "
        "the two sides are equal",
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
        "a path that is reported keeps off obstacles",
        Claim("a collision-free path"),
        None,
        lambda: boxed_in_path_is_free(HopfieldPublished(beta)),
        reason="where all neighbours have σ = 0 the ≥ of the code steps into an obstacle and reports success",
        faults=("C.2.3: ≥ steps into obstacles where no way is left",),
        notes=_box_notes,
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
