# SPDX-License-Identifier: Apache-2.0
"""Commands that are a campaign underneath: in a folder of the user's, or in one that is thrown away."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.output import tell

if TYPE_CHECKING:
    from armwright.campaigns import Plan


def campaign_rows(plan: Plan, out: Path | None, jobs: int | None) -> tuple[Any, bool]:
    """Run a campaign; return a table of the rows with a result (None without any), and whether it was interrupted."""
    from armwright.campaigns import open_store, run_campaign
    from armwright.campaigns.summary import results
    from armwright.campaigns.table import arrow
    from armwright.cli.campaign_progress import shown

    if out is not None and out.exists() and not out.is_dir():
        fail(f"{out}: not a folder")
    arrow()  # said before thresholds are learned, not after
    engine, interrupted = "serial" if jobs == 1 else "processes", False
    with nullcontext(out) if out is not None else tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            with shown() as show:
                run_campaign(plan, folder, engine=engine, workers=jobs, progress=show)
        except KeyboardInterrupt:
            interrupted = True
            if not (folder / "campaign.json").exists():
                return None, True
            if out is not None:
                tell(f"what is done is kept, go on with: armwright campaign resume {out}")
        good, bad = results(open_store(folder))
    for row in bad.to_pylist():
        tell(f"item {row['item']} has no result ({row['status']}): {row['message']}")
    return good, interrupted
