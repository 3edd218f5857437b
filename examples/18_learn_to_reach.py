# SPDX-License-Identifier: Apache-2.0
"""Learn to reach, from nothing, with NumPy alone: 512 arms in the lanes of one loop try a random search's policies.

Sixty rounds take seconds; ``python 18_learn_to_reach.py 1500 learned.png`` takes two minutes and draws the outcome.
"""

import sys

import numpy as np

from armwright.envs import TaskLanes, make_task

ROUNDS, NOISE, STEP = int(sys.argv[1]) if len(sys.argv) > 1 else 60, 0.05, 0.05
PAIRS, EPISODES, STEPS = 32, 8, 60  # of a round: directions tried both ways, arms each, steps of 20 ms
lanes = TaskLanes(make_task("reach", horizon=STEPS), 2 * PAIRS * EPISODES)
n, size = lanes.task.actions, lanes.task.observations
scale = np.concatenate([np.full(n, 2.0), np.ones(n), np.full(3, 0.5), np.full(3, 0.3)])
rng = np.random.default_rng(0)


def episodes(policies, seeds):
    """Run each policy (P, n, 1 + size) from the same starts: mean returns (P,), distances (steps, P, starts) [m]."""
    lanes.begin(np.arange(lanes.count), [np.random.default_rng(s) for s in np.tile(seeds, len(policies))])
    total, distances = np.zeros(lanes.count), []
    for _ in range(STEPS):
        seen = np.column_stack([np.ones(lanes.count), lanes.look() / scale]).reshape(len(policies), -1, 1 + size)
        judged, _ = lanes.step(np.tanh(seen @ policies.transpose(0, 2, 1)).reshape(lanes.count, n))
        total += judged.reward
        distances.append(judged.figures["distance"].reshape(len(policies), -1))
    return total.reshape(len(policies), -1).mean(axis=1), np.array(distances)


def unseen(policy):
    """Distances (steps, 512) from starts that learning has not seen [m]."""
    return episodes(policy[None], np.arange(10_000_000, 10_000_000 + lanes.count))[1].reshape(STEPS, -1)


policy, curve = np.zeros((n, 1 + size)), []
before = unseen(policy)
for _ in range(ROUNDS):  # augmented random search: step along the better half of the directions
    tried = rng.normal(size=(PAIRS, *policy.shape))
    both = np.concatenate([policy + NOISE * tried, policy - NOISE * tried])
    returns, distances = episodes(both, rng.integers(2**31, size=EPISODES))
    up, down = np.split(returns, 2)
    best = np.argsort(-np.maximum(up, down))[: PAIRS // 2]
    rate = STEP / (len(best) * np.concatenate([up[best], down[best]]).std())
    policy = policy + rate * np.einsum("k,kij->ij", up[best] - down[best], tried[best])
    curve.append(float(distances[-1].mean()))
after = unseen(policy)
first, last = np.median(before[-1]), np.median(after[-1])
print(f"{ROUNDS} rounds, {ROUNDS * lanes.count * STEPS / 1e6:.1f} million steps of 20 ms")
print(f"tool to goal after {STEPS * 0.02} s, median of {lanes.count} new starts: {first:.3f} m, then {last:.3f} m")
assert last < 0.5 * first

if len(sys.argv) > 2:
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.semilogy(curve)
    left.set(xlabel="round", ylabel="distance at the end, policies tried [m]")
    time = 0.02 * np.arange(1, STEPS + 1)
    right.plot(time, after[:, :60], "C0", alpha=0.3)
    right.plot(time, np.median(before, axis=1), "k--", time, np.median(after, axis=1), "C1")
    right.set(xlabel="time [s]", ylabel="tool to goal [m]", title="60 new starts; medians before and after")
    plt.savefig(sys.argv[2])
