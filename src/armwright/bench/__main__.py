# SPDX-License-Identifier: Apache-2.0
"""``python -m armwright.bench``: measure and write JSON (the ``armwright bench`` command prints it as tables).

python -m armwright.bench OUT.json [rounds] [seconds per sample set] [peer,peer,…]
"""

from __future__ import annotations

import sys
from pathlib import Path

from armwright.bench.suite import PEERS, run

if __name__ == "__main__":
    out, *rest = sys.argv[1:] or ["bench.json"]
    rounds = int(rest[0]) if rest else 25
    budget = float(rest[1]) if len(rest) > 1 else 0.04
    peers = rest[2].split(",") if len(rest) > 2 else PEERS
    run(Path(out), rounds=rounds, budget=budget, peers=peers, tell=lambda text: print(text, file=sys.stderr))
