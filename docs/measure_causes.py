# SPDX-License-Identifier: Apache-2.0
"""Push and load arms at rest, let them back off, and count what they take it for.

    python docs/measure_causes.py SEED FOLDER [FOLDER …]

A folder is that of a campaign of kind ``detection`` with the detector ``doubt``, such as docs/campaigns/doubt-ur5: its
arm, and the thresholds that it learned. 24 chains of moves, four pushes and four loads each.
"""

from __future__ import annotations

import json
import sys

from armwright.campaigns import open_store
from armwright.contact.doubt.doubt_learning import DoubtFit
from armwright.detection.cause_study import cause_study
from armwright.detection.detection_settings import experiment
from armwright.statistics import share


def main() -> None:
    """Print a line per folder and cause."""
    seed = int(sys.argv[1])
    for folder in sys.argv[2:]:
        store = open_store(folder)
        study = experiment(store.plan.settings, store.plan.seed)
        fit = DoubtFit.from_dict(json.loads(store.prepared)["doubt"])
        for found in cause_study(study.bench, fit, seed=seed):
            called = found.causes.get("load", 0)
            limits = share(called, found.noticed)
            sys.stdout.write(
                f"{study.bench.robot.name}: {found.what}, {found.runs} runs, {found.noticed} noticed, called load "
                f"{called} ({100 * limits.low:.1f}–{100 * limits.high:.1f} %); all: {found.causes}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
