# SPDX-License-Identifier: Apache-2.0
"""``armwright campaign``: many runs, on this machine or on several, that can be stopped and gone on with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail, guarded
from armwright.cli.output import INTERRUPTED, NEGATIVE, Json, say, say_json, table, tell

if TYPE_CHECKING:
    from armwright.campaigns import Plan, Progress, Store

app = typer.Typer(
    name="campaign",
    help="Many runs, with a seed per item, that can be stopped and gone on with.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Folder = Annotated[Path, typer.Argument(help="Folder of the campaign.")]
Engine = Annotated[str, typer.Option(help="serial (this process), processes (this machine) or dask (several hosts).")]
Workers = Annotated[int | None, typer.Option(help="Processes; one per core by default.", min=1, max=1024)]
Shard = Annotated[str, typer.Option(help="i/n: every n-th chunk from the i-th on, for batch queues.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a dask scheduler, tls://HOST:PORT.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow plain tcp:// to another machine.")]
Mixed = Annotated[bool, typer.Option("--mixed", help="Allow workers whose arithmetic differs.")]
EVERY = 5.0  # [s] between lines of progress


@app.command()
@guarded
def run(
    file: Annotated[Path, typer.Argument(help="Campaign file (TOML).")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; the file's name without .toml.")] = None,
    engine: Engine = "processes",
    workers: Workers = None,
    shard: Shard = "1/1",
    scheduler: Scheduler = None,
    insecure: Insecure = False,
    mixed: Mixed = False,
    json: Json = False,
) -> None:
    """Run a campaign; a folder that has it already is gone on with."""
    from armwright.campaigns import read_plan

    options = _options(engine, workers, shard, scheduler, insecure, mixed)
    _drive(read_plan(file), out or file.with_suffix(""), options, json)


@app.command()
@guarded
def resume(
    folder: Folder,
    engine: Engine = "processes",
    workers: Workers = None,
    shard: Shard = "1/1",
    scheduler: Scheduler = None,
    insecure: Insecure = False,
    mixed: Mixed = False,
    json: Json = False,
) -> None:
    """Go on with a campaign that was stopped."""
    from armwright.campaigns import open_store

    _drive(open_store(folder).plan, folder, _options(engine, workers, shard, scheduler, insecure, mixed), json)


@app.command()
@guarded
def status(folder: Folder, json: Json = False) -> None:
    """Say how far a campaign is, without reading its rows."""
    from armwright.campaigns import open_store

    _report(open_store(folder), json)


@app.command()
@guarded
def verify(folder: Folder, json: Json = False) -> None:
    """Check every file of a campaign; damaged ones are set aside and done again by ``resume`` (exit code 1)."""
    from armwright.campaigns import open_store

    wrong = open_store(folder).verify()
    if json:
        say_json({"folder": str(folder), "set_aside": wrong})
    else:
        for line in wrong:
            say(line)
        say(f"{len(wrong)} files set aside; go on with: armwright campaign resume {folder}" if wrong else "all sound")
    if wrong:
        raise typer.Exit(NEGATIVE)


@app.command()
@guarded
def query(
    folder: Folder,
    sql: Annotated[str, typer.Argument(help="SQL over the table rows, such as 'select count(*) from rows'.")],
    json: Json = False,
) -> None:
    """Ask the rows with SQL (DuckDB); nothing is written."""
    from armwright.campaigns.query import ask

    names, rows = ask(folder, sql)
    if json:
        say_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        table(sql, names, rows, left=0)


@app.command()
@guarded
def record(
    folder: Folder,
    item: Annotated[int, typer.Argument(help="Number of the item.", min=0)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Recording to write.")] = Path("item.mcap"),
    json: Json = False,
) -> None:
    """Run one item again and keep its recording; its row has to come out as it stands in the campaign."""
    from armwright.campaigns.query import record_item

    record_item(folder, item, out)
    if json:
        say_json({"item": item, "file": str(out)})
    else:
        say(f"wrote {out}")


def _options(
    engine: str, workers: int | None, shard: str, scheduler: str | None, insecure: bool, mixed: bool
) -> dict[str, Any]:
    if scheduler is not None:
        from armwright.campaigns.engines.dask import check_address

        check_address(scheduler, insecure=insecure)
    first, _, count = shard.partition("/")
    if not (first.isdigit() and count.isdigit()):
        fail(f"--shard {shard}: must be i/n, such as 2/10")
    pair = (int(first), int(count))
    return {"engine": engine, "workers": workers, "shard": pair, "scheduler": scheduler, "mixed": mixed}


def _drive(plan: Plan, folder: Path, options: dict[str, Any], json: bool) -> None:
    from armwright.campaigns import run_campaign

    try:
        store = run_campaign(plan, folder, progress=_lines(), **options)
    except KeyboardInterrupt:
        again = f"interrupted; what is done is kept, go on with: armwright campaign resume {folder}"
        fail(again, INTERRUPTED, kind="Interrupted")
    _report(store, json)


def _lines() -> Any:
    began = last = time.monotonic()
    start: int | None = None

    def show(now: Progress) -> None:
        nonlocal last, start
        start = now.done if start is None else start
        at = time.monotonic()
        if at - last < EVERY and now.done < now.items:
            return
        last = at
        speed = (now.done - start) / max(at - began, 1e-9)
        left = f", {(now.items - now.done) / speed:.0f} s left" if speed > 0 else ""
        tell(f"{now.done} of {now.items} items, {speed:.3g} per second, {now.failed} without a result{left}")

    return show


def _report(store: Store, json: bool) -> None:
    missing = store.missing()
    left = sum(last - first for first, last in missing)
    done = store.plan.items - left
    if json:
        found = {"kind": store.plan.kind, "items": store.plan.items, "done": done, "chunks_left": len(missing)}
        say_json({"folder": str(store.folder), **found})
        return
    say(f"{store.folder}: {done} of {store.plan.items} items of kind {store.plan.kind}")
    if left:
        say(f"go on with: armwright campaign resume {store.folder}")
