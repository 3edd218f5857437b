# SPDX-License-Identifier: Apache-2.0
"""Where the limits of `armwright lab run` on currents come from: simulated runs, without any device.

python docs/measure_lab_limits.py [runs]

The arm is 004's model C with its friction (6.2) and current map (6.6), on the route of `lab run`, at 125 Hz, with
0.15 A of noise that is ours. Every run is fitted by inverse regression, i = (τ_μ + τ_fr − b)/k. Printed are, for each
joint, by how much friction raises R² of torque on current, and mean and deviation of k and b over the runs.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from armwright.identify import Log, fit_current_map
from armwright.lab.experiment.acceptance import B_WITHIN, K_WITHIN, R2_GAIN
from armwright.studies.doc004_force.setting import B, K, currents, model, path


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    m, arm = path(), model("c")
    found = [fit_current_map([Log(m.t, m.q, m.qd, currents(seed))], arm) for seed in range(runs)]
    k, b = np.array([one.k for one in found]), np.array([one.b for one in found])
    gain = np.array([one.r2_friction - one.r2_rigid for one in found])
    shares, apart = k.std(axis=0, ddof=1) / K, b.std(axis=0, ddof=1)
    out = {
        "runs": runs,
        "R² gain, mean": gain.mean(axis=0),
        "R² gain, smallest": gain.min(axis=0),
        "limit of R² below the smallest": gain.min() - R2_GAIN,
        "k, mean over true": k.mean(axis=0) / K,
        "k, deviation over true": shares,
        "limits of k in deviations, joints 1–5": np.array(K_WITHIN) / shares[:5],
        "b, mean minus true": b.mean(axis=0) - B,
        "b, deviation": apart,
        "limits of b in deviations, joints 1–5": np.array(B_WITHIN) / apart[:5],
    }
    for name, value in out.items():
        sys.stdout.write(json.dumps({name: np.round(value, 4).tolist()}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
