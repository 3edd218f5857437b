# SPDX-License-Identifier: Apache-2.0
"""The Hopfield planner: 000's figures (E2), the corrected network against independent shortest paths, stability."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra as scipy_dijkstra

from armwright.errors import ArmwrightWarning, InputError
from armwright.planning import AStar, Dijkstra, Hopfield
from armwright.planning.grid.hopfield import link_matrix, lyapunov, path_cost, stability
from armwright.planning.grid.hopfield_sweeps import relax, sweep
from armwright.planning.grid.neighbourhood import Neighbourhood, moore, neighbourhood, von_neumann
from armwright.planning.grid.path_plan import problem
from armwright.studies.doc000_collision.hopfield_published import HopfieldPublished, display, inputs
from armwright.studies.doc000_collision.setting import patch


def serpentine():
    cells = []
    for u, gap in zip((4, 7, 10, 13, 16), (19, 2, 19, 2, 19), strict=True):
        cells += [(u, v) for v in range(1, 21) if v != gap]
    return patch().with_felt(*cells)


WALL = [(10, v) for v in range(1, 13)]
U_TRAP = [(13, v) for v in range(6, 15)] + [(u, v) for v in (6, 14) for u in range(8, 13)]
E2 = {
    "empty": (patch(), (2, 11), (18, 7), 20, 1.60e-16),
    "wall": (patch().with_felt(*WALL), (2, 11), (18, 7), 24, 2.01e-19),
    "u-trap": (patch().with_felt(*U_TRAP), (2, 11), (18, 7), 24, 2.49e-20),
    "serpentine": (serpentine(), (2, 2), (19, 19), 102, 1.24e-94),
}


@pytest.mark.parametrize("name", E2)
def test_demo_maps_of_000(name):
    where, start, goal, steps, sigma = E2[name]
    planner = HopfieldPublished()
    plan = planner(where, start, goal)
    assert plan.status == "found" and plan.steps == steps and plan.sweeps == 199
    activity = planner.activity(where, goal)
    assert activity[start[0] - 1, start[1] - 1] == pytest.approx(sigma, rel=4e-3)  # three digits are printed
    doubled = HopfieldPublished(sweeps=398).activity(where, goal)
    some = activity > 0
    assert (np.abs(doubled - activity)[some] <= 1e-12 * activity[some]).all() and (doubled[~some] == 0).all()
    for other in (Hopfield(), Hopfield("sum"), Dijkstra(), AStar()):
        found = other(where, start, goal)
        assert found.steps == steps and found.excess == 0 and found.path[0] == start and found.path[-1] == goal


def test_published_tie_rule_walks_the_documents_zigzag():
    plan = HopfieldPublished()(patch(), (2, 11), (18, 7))
    tail = ((14, 10), (15, 10), (15, 9), (16, 9), (16, 8), (17, 8), (17, 7), (18, 7))
    assert plan.path == tuple((u, 11) for u in range(2, 15)) + tail
    picture = display(patch(), plan, (2, 11), (18, 7))
    assert picture[17, 6] == 2 and picture[1, 10] == 0.75 and picture[5, 10] == 0.5 and picture[0, 0] == 0
    straight = np.array(Hopfield()(patch(), (2, 11), (18, 7)).path)
    turns = np.abs(np.diff(straight, n=2, axis=0)).any(axis=1)
    assert turns.sum() == 1  # the corrected one keeps its direction where lengths are equal


def test_boxed_in_start_goes_through_a_wall_as_published_and_is_refused_by_the_correct_planner():
    box = patch().with_felt((3, 11), (2, 12), (2, 10))
    published = HopfieldPublished()(box, (2, 11), (18, 7))
    assert published.ok and published.path[1] == (2, 12) and "through obstacles: (2, 12)" in published.message
    for planner in (Hopfield(), Hopfield("sum"), Dijkstra(), AStar()):
        plan = planner(box, (2, 11), (18, 7))
        assert plan.status == "unreachable" and plan.path == () and plan.cost == np.inf and not plan.ok


def test_published_gives_up_where_the_goal_is_walled_in_and_the_walk_meets_the_ring():
    walled = patch().with_felt((17, 7), (19, 7), (18, 6), (18, 8))
    assert HopfieldPublished()(walled, (2, 11), (18, 7)).status == "gave up"
    assert Hopfield()(walled, (2, 11), (18, 7)).status == "unreachable"


@pytest.mark.parametrize(
    "shape, self_link, low, high",
    [((20, 20), False, -3.955, 3.955), ((18, 18), False, -3.945, 3.945), ((20, 20), True, -2.955, 4.955)],
)
def test_eigenvalues_of_000_corrected(shape, self_link, low, high):
    s = stability(shape, self_link=self_link)
    assert (s.lambda_min, s.lambda_max) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
    assert s.beta_bound == pytest.approx(0.2018 if self_link else 0.2528, abs=1e-3) and s.holds(0.1)


@pytest.mark.parametrize("hood", ["von_neumann", "moore", [[1, 2], [-1, -2], [1, 0], [-1, 0]]])
@pytest.mark.parametrize("shape", [(5, 6), (1, 4)])
def test_eigenvalues_agree_with_a_dense_solver_and_bound_every_map(hood, shape):
    values = np.linalg.eigvalsh(link_matrix(shape, hood).toarray())
    s = stability(shape, hood)
    assert (s.lambda_min, s.lambda_max) == (pytest.approx(values[0], abs=1e-12), pytest.approx(values[-1], abs=1e-12))
    keep = np.random.default_rng(0).random(values.size) > 0.3
    part = np.linalg.eigvalsh(link_matrix(shape, hood).toarray()[np.ix_(keep, keep)])
    assert part[0] >= s.lambda_min - 1e-12 and part[-1] <= s.lambda_max + 1e-12


def test_lyapunov_function_falls_with_every_sweep_below_the_bound():
    rng = np.random.default_rng(3)
    blocked = rng.random((12, 9)) < 0.2
    blocked[2, 2] = False
    drive = np.where(blocked, -1000.0, 0.0)
    drive[2, 2] = 1000.0
    beta = 0.95 * stability(blocked.shape).beta_bound
    values = [lyapunov(sweep(drive, von_neumann(2), beta, n, least=n)[0], drive, beta) for n in range(1, 40)]
    assert (np.diff(values) <= 1e-15 * np.abs(values[0])).all() and values[-1] < values[0]


def random_maps(seed, count, shape, filled=(0.05, 0.45)):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        blocked = rng.random(shape) < rng.uniform(*filled)
        free = np.argwhere(~blocked)
        start, goal = (tuple(int(x) for x in free[rng.integers(len(free))]) for _ in range(2))
        yield blocked, start, goal


def compare(seed, count, shape):
    """Count solvable maps; every answer against scipy's own search on an explicit graph."""
    T = link_matrix(shape)
    solvable = 0
    for blocked, start, goal in random_maps(seed, count, shape):
        free = np.flatnonzero(~blocked.reshape(-1))
        place = {int(c): i for i, c in enumerate(free)}
        a, b = (place[int(np.ravel_multi_index(c, shape))] for c in (start, goal))
        shortest = scipy_dijkstra(T[free][:, free], unweighted=True, indices=b)[a]
        plan = Hopfield()(blocked, start, goal)
        assert plan.ok == bool(np.isfinite(shortest))
        if plan.ok:
            solvable += 1
            path = np.array(plan.path)
            assert plan.steps == shortest == plan.cost and not blocked[tuple(path.T)].any()
            assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()
        else:
            assert plan.status == "unreachable"
    return solvable


def test_correct_network_finds_shortest_paths():
    assert compare(0, 1200, (20, 20)) > 600
    assert compare(1, 150, (9, 7, 8)) > 75


@pytest.mark.slow
@pytest.mark.thorough
def test_correct_network_finds_shortest_paths_on_ten_thousand_maps():
    assert compare(2, 10_000, (20, 20)) > 5000


def test_published_network_is_sometimes_longer_and_the_sum_network_says_by_how_much():
    longer = 0
    rng = np.random.default_rng(7)
    for _ in range(250):
        blocked = rng.random((20, 20)) < rng.uniform(0.1, 0.35)
        blocked[[0, -1]] = blocked[:, [0, -1]] = True
        blocked[1, 10] = blocked[17, 6] = False
        shortest = Hopfield()(blocked, (1, 10), (17, 6))
        if not shortest.ok:
            continue
        steep = Hopfield("sum", beta=0.2)(blocked, (1, 10), (17, 6))
        assert steep.excess == steep.cost - shortest.cost >= 0 and steep.steps == steep.cost
        longer += steep.excess > 0
        assert HopfieldPublished(beta=0.2, sweeps=1000)(blocked, (1, 10), (17, 6)).steps >= shortest.steps
    assert 0 < longer < 40


def reference(blocked, start, hood):
    """Costs from `start` by plain relaxation, diagonal steps only where the box they span is free."""
    cost = {start: 0.0}
    changed = True
    while changed:
        changed = False
        for cell, c in list(cost.items()):
            for offset, price in zip(hood.offsets.tolist(), hood.costs.tolist(), strict=True):
                box = itertools.product(
                    *(range(min(x, x + o), max(x, x + o) + 1) for x, o in zip(cell, offset, strict=True))
                )
                new = tuple(x + o for x, o in zip(cell, offset, strict=True))
                inside = all(0 <= x < s for x, s in zip(new, blocked.shape, strict=True))
                if inside and not any(blocked[b] for b in box) and c + price < cost.get(new, np.inf) - 1e-12:
                    cost[new] = c + price
                    changed = True
    return cost


@pytest.mark.parametrize("shape", [(6, 7), (4, 4, 4)])
def test_diagonal_steps_never_squeeze_between_blocked_cells(shape):
    hood = moore(len(shape))
    for blocked, start, goal in random_maps(5, 12, shape):
        cost = reference(blocked, start, hood)
        for planner in (Hopfield(hood="moore"), Dijkstra("moore"), AStar("moore")):
            plan = planner(blocked, start, goal)
            assert plan.cost == pytest.approx(cost.get(goal, np.inf), abs=1e-9)
            if plan.ok:
                assert path_cost(list(plan.path), hood) == pytest.approx(plan.cost)
        sum_plan = Hopfield("sum", hood="moore")(blocked, start, goal)
        assert sum_plan.ok == (goal in cost) and (not sum_plan.ok or sum_plan.excess > -1e-9)


def long_serpentine(n):
    blocked = np.zeros((n, n), dtype=bool)
    for k, u in enumerate(range(1, n - 1, 2)):
        blocked[u] = True
        blocked[u, -1 if k % 2 == 0 else 0] = False
    return blocked


def test_nothing_underflows_on_long_paths():
    blocked = long_serpentine(81)
    for planner in (Hopfield(), Hopfield("sum"), Hopfield("sum", beta=0.1)):
        plan = planner(blocked, (0, 0), (80, 80))
        assert plan.steps == plan.shortest > 3300 and np.isfinite(plan.field[~blocked]).all()
        assert plan.field[0, 0] < -3300  # a plain double would be 0 from log σ = −745 on


def test_both_ways_to_settle_the_sum_network_agree(monkeypatch):
    where, start, goal, *_ = E2["serpentine"]
    plain = Hopfield("sum", beta=0.1)(where, start, goal)
    monkeypatch.setattr("armwright.planning.grid.hopfield.LINEAR_ABOVE", 1.0)
    scaled = Hopfield("sum", beta=0.1)(where, start, goal)
    free = ~where.blocked()
    np.testing.assert_allclose(scaled.field[free], plain.field[free], rtol=1e-12, atol=1e-11)
    assert np.exp(scaled.field[1, 1]) == pytest.approx(1.241055364e-94, rel=1e-9)


def test_without_llvm_the_same_numbers(monkeypatch):
    cases = [(b, s, g, h) for h in ("von_neumann", "moore") for b, s, g in random_maps(11, 15, (9, 8))]

    def answers():
        out = []
        for blocked, start, goal, hood in cases:
            links = neighbourhood(hood, 2)
            p = problem(blocked, start, goal)
            out += [relax(blocked, links, goal)[0], sweep(inputs(p), links, 0.05, 60, least=60)[0]]
            out += [np.array(Hopfield(d, hood=hood)(blocked, start, goal).path) for d in ("max", "sum")]
        return out

    compiled = answers()
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    monkeypatch.setattr("armwright.graph.kernel._warned", False)
    with pytest.warns(ArmwrightWarning, match="NumPy tape"):
        plain = answers()
    for a, b in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_ends_that_are_blocked_and_grids_of_one_cell():
    blocked = np.zeros((4, 5), dtype=bool)
    blocked[1, 1] = True
    for planner in (Hopfield(), Hopfield("sum"), Dijkstra(), AStar()):
        assert planner(blocked, (1, 1), (0, 0)).status == "start blocked"
        assert planner(blocked, (0, 0), (1, 1)).status == "goal blocked"
        one = planner(np.zeros((1, 1)), (0, 0), (0, 0))
        assert one.ok and one.path == ((0, 0),) and one.cost == 0
        assert planner(np.zeros(7, dtype=bool), (1,), (5,)).steps == 4
    assert HopfieldPublished()(np.zeros((1, 1)), (0, 0), (0, 0)).path == ((0, 0),)


@pytest.mark.parametrize(
    "where, start, goal, text",
    [
        (np.full((3, 3), np.nan), (0, 0), (1, 1), "mask holds"),
        (np.zeros((0, 3)), (0, 0), (1, 1), "at least one cell"),
        (np.zeros((3, 3)), (0, 3), (1, 1), r"start: \(0, 3\) is outside"),
        (np.zeros((3, 3)), (0, 0), (-1, 1), r"goal: \(-1, 1\) is outside"),
        (np.zeros((3, 3)), (0, np.nan), (1, 1), "start: expected 2 integers"),
        (np.zeros((3, 3)), (0.5, 1), (1, 1), "start: expected 2 integers"),
        ("map", (0, 0), (1, 1), "GridMap"),
        (np.broadcast_to(np.False_, (10**5, 10**5)), (0, 0), (1, 1), "more than"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_bad_problems_are_refused(where, start, goal, text):
    for planner in (Hopfield(), HopfieldPublished(), Dijkstra()):
        with pytest.raises(InputError, match=text):
            planner(where, start, goal)


def test_bad_options_are_refused():
    with pytest.raises(InputError, match=r"not below the bound 0\.25"):
        Hopfield("sum", beta=0.26)(np.zeros((20, 20)), (0, 0), (1, 1))
    for make, text in [
        (lambda: Hopfield("mean"), "dynamics"),
        (lambda: Hopfield(beta=np.nan), "beta"),
        (lambda: Hopfield(hood="hex")(np.zeros((3, 3)), (0, 0), (1, 1)), "neighbourhood"),
        (lambda: Hopfield(hood=von_neumann(3))(np.zeros((3, 3)), (0, 0), (1, 1)), "3 axes"),
        (lambda: Neighbourhood("x", np.array([[1, 0]]), np.ones(1)), "opposite"),
        (lambda: Neighbourhood("x", np.array([[1.5, 0]]), np.ones(1)), "integers"),
    ]:
        with pytest.raises(InputError, match=text):
            make()
