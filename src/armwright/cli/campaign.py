# SPDX-License-Identifier: Apache-2.0
"""``armwright campaign``: many runs, on this machine or on several, that can be stopped and resumed.

While a campaign runs, one line says how far it is: rewritten on a terminal, a line now and then in a log. Commands that
are a campaign underneath (`campaign_rows`) keep it in a folder of the user's, or in one that is removed afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import ENGINES
from armwright.cli.failures import fail, guarded
from armwright.cli.option_groups import grouped
from armwright.cli.option_words import Json, names_of, out_option
from armwright.cli.output import INTERRUPTED, NEGATIVE, say, say_json, say_json_line, table, tell

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from armwright.campaigns import CampaignPlan, Progress, Store

IN_LOG, ON_TERMINAL = 5.0, 0.2  # [s] between lines


def duration(seconds: float) -> str:
    """Write a duration as people say it: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(now: Progress, start: int, elapsed: float) -> str:
    """Say items done, rate, failures and time left; `start` items were there `elapsed` seconds ago."""
    if now.preparing:
        return "preparing: what all items share is made once, such as thresholds that are learned"
    text = f"{now.done} of {now.items} items"
    rate = (now.done - start) / elapsed if elapsed > 0.0 else 0.0
    if rate > 0.0:
        text += f", {rate:.3g} per second"
    text += f", {now.failed} without a result"
    left = now.todo - (now.done - start)
    return text + (f", {duration(left / rate)} left" if rate > 0.0 and left > 0 else "")


@contextlib.contextmanager
def shown() -> Iterator[Callable[[Progress], None]]:
    """Yield what `run_campaign` calls with its progress."""
    live = sys.stderr.isatty()
    every = ON_TERMINAL if live else IN_LOG
    began = last = time.monotonic()
    start: int | None = None
    shows = False

    def show(now: Progress) -> None:
        nonlocal began, last, start, shows
        at = time.monotonic()
        if start is None and not now.preparing:
            start, began = now.done, at
        if start is not None and at - last < every and now.done - start < now.todo:
            return
        last, shows = at, True
        text = line(now, start or 0, at - began)
        if live:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"\r\x1b[K{text}")
                sys.stderr.flush()
        else:
            tell(text)

    try:
        yield show
    finally:
        if live and shows:
            tell("")


def campaign_rows(plan: CampaignPlan, out: Path | None, jobs: int | None) -> tuple[Any, bool]:
    """Run a campaign; return a table of the rows with a result (None without any), and whether it was interrupted."""
    from armwright.campaigns import open_store, run_campaign
    from armwright.campaigns.chunk_file import arrow
    from armwright.campaigns.summary import results

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


def _pem(name: str, help: str) -> OptionInfo:  # noqa: A002 (typer's word)
    return typer.Option(name, metavar="FILE.pem", help=help)


app = typer.Typer(
    name="campaign",
    help="Many runs, with a seed per item, that can be stopped and gone on with.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the campaign.")]


@dataclass(frozen=True)
class HostOptions:
    """Processes of this host, and whom it trusts."""

    workers: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Processes; one per core by default.", min=1, max=1024)
    ] = None
    tls_ca: Annotated[Path | None, _pem("--tls-ca", "Certificate of the authority, for tls://.")] = None
    tls_cert: Annotated[Path | None, _pem("--tls-cert", "This host's certificate.")] = None
    tls_key: Annotated[Path | None, _pem("--tls-key", "Its key.")] = None
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow plain tcp://: whoever reaches it runs code.")] = (
        False
    )


WHERE = names_of(ENGINES, {name: entry.help for name, entry in ENGINES.entries.items()})


@dataclass(frozen=True)
class EngineOptions:
    """Who computes the items, and which of them."""

    engine: Annotated[str, typer.Option(help=f"{WHERE}.")] = "processes"
    shard: Annotated[str, typer.Option(metavar="I/N", help="Every N-th chunk from the I-th on, for batch queues.")] = (
        "1/1"
    )
    scheduler: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of a dask scheduler, tls://HOST:PORT.")
    ] = None
    mixed: Annotated[bool, typer.Option("--mixed", help="Allow workers whose arithmetic differs.")] = False

    def on(self, host: HostOptions) -> dict[str, Any]:
        """Return both groups as `run_campaign` takes them, or end with what would be valid."""
        from armwright.campaigns.engines.dask_engine import check_address, security_of

        if self.scheduler is not None:
            check_address(self.scheduler, insecure=host.insecure)
        first, _, count = self.shard.partition("/")
        if not (first.isdigit() and count.isdigit()):
            fail(f"--shard {self.shard}: must be i/n, such as 2/10")
        return {
            "engine": self.engine,
            "workers": host.workers,
            "shard": (int(first), int(count)),
            "scheduler": self.scheduler,
            "security": security_of(self.scheduler, host.tls_ca, host.tls_cert, host.tls_key),
            "insecure": host.insecure,
            "mixed": self.mixed,
        }


@app.command()
@guarded
@grouped
def run(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file (TOML).")],
    out: Annotated[Path | None, out_option("FOLDER", "The file's name without .toml by default.")] = None,
    engine: EngineOptions,
    host: HostOptions,
    json: Json = False,
) -> None:
    """Run a campaign; a folder that has it already is gone on with."""
    from armwright.campaigns import read_plan

    options = engine.on(host)
    _drive(read_plan(file), out or file.with_suffix(""), options, json)


@app.command()
@guarded
@grouped
def resume(folder: Folder, engine: EngineOptions, host: HostOptions, json: Json = False) -> None:
    """Go on with a campaign that was stopped."""
    from armwright.campaigns import open_store

    options = engine.on(host)
    _drive(open_store(folder).plan, folder, options, json)


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
    """Ask the rows with one SELECT (DuckDB); nothing is written."""
    from armwright.campaigns.campaign_query import ask, cell, json_rows

    names, rows = ask(folder, sql)
    if json:
        say_json(json_rows(names, rows))
    else:
        table(sql, names, [[cell(value) for value in row] for row in rows], left=0)


@app.command()
@guarded
def report(
    folder: Folder,
    out: Annotated[Path | None, out_option("FILE.html", "Page; report.html in the folder by default.")] = None,
    json: Json = False,
) -> None:
    """Write a page about the rows: outcomes with exact intervals, quantiles, ROC, pictures."""
    from armwright.campaigns.campaign_report import campaign_report
    from armwright.campaigns.campaign_tables import cell
    from armwright.statistics import CONVENTION

    path, tables = campaign_report(folder, out)
    if json:
        say_json({"file": str(path), "intervals": CONVENTION, **tables})
        return
    rows = [(row["column"], row["outcome"], row["items"], cell(row["share"], share=True)) for row in tables["outcomes"]]
    table(f"outcomes; {CONVENTION}", ("column", "outcome", "items", "share"), rows, left=2)
    say(f"wrote {path}")


@app.command()
@guarded
def record(
    folder: Folder,
    item: Annotated[int, typer.Argument(help="Number of the item.", min=0)],
    out: Annotated[Path, out_option("FILE.mcap", "Recording.")] = Path("item.mcap"),
    json: Json = False,
) -> None:
    """Run one item again and keep its recording; its row has to come out as it stands in the campaign."""
    from armwright.campaigns.summary import record_item

    record_item(folder, item, out)
    if json:
        say_json({"item": item, "file": str(out)})
    else:
        say(f"wrote {out}")


@app.command()
@guarded
@grouped
def worker(
    *,
    scheduler: Annotated[str, typer.Argument(metavar="URL", help="Address of the dask scheduler, tls://HOST:PORT.")],
    bind: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Address of this host to listen on; the one that reaches the scheduler."),
    ] = None,
    host: HostOptions,
    json: Json = False,
) -> None:
    """Compute for campaigns of a dask scheduler on another host, until it is gone."""
    from armwright.campaigns.engines.dask_engine import check_address, security_of, serve_scheduler

    def ready(bound: str, count: int) -> None:
        if json:
            say_json_line({"scheduler": scheduler, "bind": bound, "workers": count})
        else:
            say(f"{count} workers on {bound} for {scheduler}; Ctrl-C ends them")

    check_address(scheduler, insecure=host.insecure)
    options: dict[str, Any] = {"workers": host.workers, "bind": bind, "insecure": host.insecure}
    options["security"] = security_of(scheduler, host.tls_ca, host.tls_cert, host.tls_key)
    try:
        serve_scheduler(scheduler, **options, ready=ready)
    except KeyboardInterrupt:
        fail("interrupted; chunks under way are computed by others", INTERRUPTED, kind="Interrupted", answered=True)


def _drive(plan: CampaignPlan, folder: Path, options: dict[str, Any], json: bool) -> None:
    from armwright.campaigns import run_campaign

    failed = 0
    try:
        with shown() as show:

            def progress(now: Progress) -> None:
                nonlocal failed
                failed = now.failed
                show(now)

            store = run_campaign(plan, folder, progress=progress, **options)
    except KeyboardInterrupt:
        begun = (folder / "campaign.json").exists()
        again = f"what is done is kept, go on with: armwright campaign resume {folder}"
        fail(f"interrupted; {again if begun else 'nothing was done yet'}", INTERRUPTED, kind="Interrupted")
    _report(store, json, failed)


def _report(store: Store, json: bool, failed: int | None = None) -> None:
    """Say how far a campaign is and, after a run, how many of its items have no result."""
    missing = store.missing()
    left = sum(last - first for first, last in missing)
    done = store.plan.items - left
    if json:
        found = {"kind": store.plan.kind, "items": store.plan.items, "done": done, "chunks_left": len(missing)}
        say_json({"folder": str(store.folder), **found} | ({} if failed is None else {"failed": failed}))
        return
    say(f"{store.folder}: {done} of {store.plan.items} items of kind {store.plan.kind}")
    if failed:
        sql = "select item, status, message from rows where status <> 'done'"
        say(f'items without a result in this run: {failed}; see: armwright campaign query {store.folder} "{sql}"')
    if left:
        say(f"go on with: armwright campaign resume {store.folder}")
