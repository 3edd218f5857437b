# SPDX-License-Identifier: Apache-2.0
"""Run a campaign: what is missing is computed by an engine and written chunk by chunk; what is there stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.campaigns.plan import Plan
from armwright.campaigns.store import Store, create_store, open_store
from armwright.campaigns.table import DONE
from armwright.errors import InputError

ENGINES = ("serial", "processes", "dask")


@dataclass(frozen=True)
class Progress:
    """How far a campaign is: items done and planned, items without a result among those of this run."""

    done: int
    items: int
    failed: int


def run_campaign(
    plan: Plan,
    folder: str | Path,
    *,
    engine: str = "processes",
    workers: int | None = None,
    shard: tuple[int, int] = (1, 1),
    scheduler: str | None = None,
    security: Any = None,
    mixed: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Store:
    """Run a campaign, or go on with the one in the folder.

    Args:
        plan: what to do.
        folder: where its rows go; a folder that has the same campaign already is gone on with.
        engine: "serial" (this process), "processes" (this machine), "dask" (several hosts).
        workers: processes; one per core by default.
        shard: (i, n): only every n-th chunk, from the i-th on, for batch queues; all shards may share one folder.
        scheduler: address of a dask scheduler; a cluster on this machine by default.
        security: dask's `Security`, for TLS.
        mixed: whether machines whose arithmetic differs may take part.
        progress: called after every chunk.
    """
    store = create_store(folder, plan)
    return _go_on(store, engine, workers, shard, scheduler, security, mixed, progress)


def resume_campaign(folder: str | Path, **options: Any) -> Store:
    """Go on with the campaign in a folder; options as in `run_campaign`."""
    return run_campaign(open_store(folder).plan, folder, **options)


def _go_on(
    store: Store,
    engine: str,
    workers: int | None,
    shard: tuple[int, int],
    scheduler: str | None,
    security: Any,
    mixed: bool,
    progress: Callable[[Progress], None] | None,
) -> Store:
    i, n = shard
    if not 1 <= i <= n:
        raise InputError(f"shard must be i/n with 1 ≤ i ≤ n, got {i}/{n}")
    mine = set(list(store.chunks())[i - 1 :: n])
    chunks = [chunk for chunk in store.missing() if chunk in mine]
    done = store.plan.items - sum(last - first for first, last in store.missing())
    failed = 0
    for table in _tables(store, chunks, engine, workers or os.cpu_count() or 1, scheduler, security, mixed):
        store.write(table)
        done += len(table)
        failed += sum(status != DONE for status in table["status"].to_pylist())
        if progress is not None:
            progress(Progress(done, store.plan.items, failed))
    return store


def _tables(
    store: Store,
    chunks: Sequence[tuple[int, int]],
    engine: str,
    workers: int,
    scheduler: str | None,
    security: Any,
    mixed: bool,
) -> Iterator[Any]:
    if not chunks:
        return iter(())
    if engine == "serial":
        from armwright.campaigns.engines.serial import serial

        return serial(store, chunks, mixed=mixed)
    if engine == "processes":
        from armwright.campaigns.engines.processes import processes

        return processes(store, chunks, workers, mixed=mixed)
    if engine == "dask":
        from armwright.campaigns.engines.dask import dask

        return dask(store, chunks, workers, scheduler=scheduler, security=security, mixed=mixed)
    raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
