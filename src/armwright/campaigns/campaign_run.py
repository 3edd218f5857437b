# SPDX-License-Identifier: Apache-2.0
"""`run_campaign`: an engine computes what is missing, chunk by chunk; what is there stays.

The engine `serial` is here: this process, one chunk after another. An item that crashes takes the process with it, so
it is for small campaigns. The others are in `engines`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.campaigns.chunk_file import Chunk
from armwright.campaigns.kind import Kind, kind_of, nothing
from armwright.campaigns.store import Store, create_store, open_store
from armwright.campaigns.work import PreparedWork, checked_worker, prepared_here
from armwright.choices import ENGINES
from armwright.errors import InputError, SimulationError

if TYPE_CHECKING:
    from distributed import Security


def serial(store: Store, chunks: Sequence[tuple[int, int]], *, mixed: bool = False) -> Iterator[Chunk]:
    """Yield the chunks, in order."""
    worker = checked_worker(store.plan, store.kind, store.prepared, store.digest, "" if mixed else store.canary)
    for first, last in chunks:
        yield worker.chunk(first, last)


LEAST_HOPELESS = 8  # items without a result before a campaign stops: fewer may be bad luck


@dataclass
class Hope:
    """Whether a campaign has any result yet; one without stops after its first chunk.

    Attributes:
        store: the campaign.
        first_run: whether it began with no rows at all: what was begun goes on, whatever its rows are.
        seen: items so far. failed: those without a result.
    """

    store: Store
    first_run: bool
    seen: int = 0
    failed: int = 0

    def take(self, chunk: Chunk, todo: int) -> None:
        """Count a chunk; raise `SimulationError` if no item has a result and more are to come."""
        self.seen, self.failed = self.seen + chunk.last - chunk.first, self.failed + chunk.failed
        if not self.first_run or self.failed < self.seen or not LEAST_HOPELESS <= self.seen < todo:
            return
        rows = self.store.read(chunk.first, chunk.last)
        words = Counter(str(text) for text in rows.column("message").to_pylist())
        said, times = words.most_common(1)[0]
        raise SimulationError(
            f"none of the first {self.seen} items has a result, so the other {todo - self.seen} were not begun; "
            f"{times} of {len(rows)} say: {said}. Mend the settings and take another folder, or go on regardless: "
            f"armwright campaign resume {self.store.folder}"
        )


@dataclass(frozen=True)
class Progress:
    """Progress of a campaign.

    Attributes:
        done: items whose rows are there.
        items: items of the plan.
        failed: items without a result among those of this run.
        todo: items that this run (its shard) set out to do.
        preparing: what all items share is being made, before the first of them.
    """

    done: int
    items: int
    failed: int
    todo: int
    preparing: bool = False


def run_campaign(
    plan: CampaignPlan,
    folder: str | Path,
    *,
    kind: Kind | None = None,
    engine: str = "processes",
    workers: int | None = None,
    shard: tuple[int, int] = (1, 1),
    scheduler: str | None = None,
    security: Security | None = None,
    insecure: bool = False,
    mixed: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Store:
    """Run a campaign, or continue the one in the folder.

    Args:
        plan: what to do.
        folder: where its rows go; a folder that has the same campaign already is continued.
        kind: a kind of your own, which the plan has to name; by default what is known under the plan's name. Engines
            other than "serial" import it in other processes: keep it as a variable of the module that has its start.
        engine: a name of `armwright.choices.ENGINES`: "serial" (this process), "processes" (this machine), "dask"
            (several hosts).
        workers: processes; one per core by default.
        shard: (i, n): only every n-th chunk, from the i-th on, for batch queues; all shards may share one folder.
        scheduler: address of a dask scheduler; a cluster on this machine by default.
        security: dask's `Security`, for the TLS of a scheduler; a cluster on this machine makes its own.
        insecure: whether the connection to the scheduler may be plain: whoever reaches it can run code as you.
        mixed: whether machines whose arithmetic differs may take part.
        progress: called before preparing, at the beginning and after every chunk.

    Example:
        >>> store = run_campaign(read_plan("campaign.toml"), "out/campaign", engine="processes")
    """
    i, n = shard
    if not 1 <= i <= n:
        raise InputError(f"shard must be i/n with 1 ≤ i ≤ n, got {i}/{n}")
    ENGINES.check(engine, lambda valid: InputError(f"engine must be one of {valid}; got {engine!r}"))
    if scheduler is not None and engine != "dask":
        raise InputError(f"a scheduler needs the engine dask, got {engine!r}")
    report = progress or (lambda now: None)

    def prepare(plan: CampaignPlan, kind: Kind) -> PreparedWork:
        if kind.prepare is not nothing:
            report(Progress(0, plan.items, 0, plan.items, preparing=True))
        return _prepare(engine)(plan, kind)

    store = create_store(folder, plan, kind=kind_of(plan, kind), prepare=prepare)
    store.tidy()
    mine, missing = set(islice(store.chunks(), i - 1, None, n)), store.missing()
    chunks = [chunk for chunk in missing if chunk in mine]
    done, failed, todo = store.plan.items - _items(missing), 0, _items(chunks)
    report(Progress(done, store.plan.items, failed, todo))
    hope = Hope(store, first_run=len(missing) == sum(1 for _ in store.chunks()))
    remote = {"scheduler": scheduler, "security": security, "insecure": insecure}
    with closing(_computed(store, chunks, engine, workers or os.cpu_count() or 1, mixed, remote)) as found:
        for chunk in found:
            store.write(chunk)
            hope.take(chunk, todo)
            done, failed = done + chunk.last - chunk.first, failed + chunk.failed
            report(Progress(done, store.plan.items, failed, todo))
    return store


def resume_campaign(folder: str | Path, *, kind: Kind | None = None, **options: Any) -> Store:
    """Continue the campaign in a folder; options as in `run_campaign`.

    Example:
        >>> resume_campaign("out/campaign", engine="processes")
    """
    return run_campaign(open_store(folder, kind=kind).plan, folder, kind=kind, **options)


def _items(chunks: Sequence[tuple[int, int]]) -> int:
    return sum(last - first for first, last in chunks)


def _prepare(engine: str) -> Callable[[CampaignPlan, Kind], PreparedWork]:
    if engine == "serial":
        return prepared_here
    from armwright.campaigns.engines.processes import prepared_apart

    return prepared_apart


def _computed(
    store: Store, chunks: Sequence[tuple[int, int]], engine: str, workers: int, mixed: bool, remote: dict[str, Any]
) -> Generator[Chunk]:
    if not chunks:
        return
    if engine == "serial":
        yield from serial(store, chunks, mixed=mixed)
    else:
        options = remote if engine == "dask" else {}
        yield from ENGINES.find(engine)(store, chunks, workers, mixed=mixed, **options)
