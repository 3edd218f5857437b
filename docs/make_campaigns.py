# SPDX-License-Identifier: Apache-2.0
"""Put figures of campaigns into the documentation: ``python docs/make_campaigns.py isolation [--from FOLDER]``.

Each word is a figure of a page, made of the campaigns that `FIGURES` names. Run those first, each by
``armwright campaign run docs/campaigns/NAME.toml``; ``--from`` says where their folders are, docs/campaigns by default.
Figures are never typed by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from armwright.campaigns import open_store
from armwright.campaigns.compare_explorations import comparison_of
from armwright.campaigns.kinds.detection_kind import column, study_of
from armwright.campaigns.kinds.detection_kind import summary as detection_summary
from armwright.campaigns.kinds.isolation_kind import summary as isolation_summary
from armwright.campaigns.kinds.learning_kind import summary as learning_summary
from armwright.campaigns.summary import results
from armwright.exploration.exploration_result import HARD_FORCE
from armwright.exploration.grid.compare_worlds import draw_comparison
from armwright.statistics import rate, share

DOCS = Path(__file__).resolve().parent
EXPLORE, DETECT = DOCS / "howto" / "explore.md", DOCS / "howto" / "detect.md"
MEDIANS = ("contacts", "impulse_ns", "largest_force_n", "largest_force_n_p95", "tool_path_m", "arrival_s")
FINAL = ("unreachable", "boxed in")


def said(count: int, total: int) -> str:
    """A share with its exact 95 % interval."""
    found = share(count, total)
    return f"{count} of {total} ({100.0 * found.low:.1f}–{100.0 * found.high:.1f} %)" if total else "0 of 0"


def rows_of(heads: str, rows: list[list[Any]]) -> list[str]:
    """A table in Markdown; heads are parted by " | "."""
    rule = "|" + "---|" * len(heads.split(" | "))
    return [f"| {heads} |", rule, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]


def rounded(value: float) -> str:
    """Two digits that count, without an exponent."""
    return f"{float(f'{value:.2g}'):g}" if np.isfinite(value) else "–"


def worlds(stores: list[Any]) -> list[str]:
    """How the variants ended, and medians; and the picture."""
    rows = results(stores[0])[0].to_pylist()
    found = comparison_of(rows)
    ends, figures = [], []
    for outcome, s in zip(found.outcomes, found.summaries(), strict=True):
        t = outcome.table()
        narrow = f"{t['narrow']['reached']} / {t['narrow']['declared unreachable']}"
        solved = f"{t['solvable']['reached']} of {sum(t['solvable'].values())}"
        closed = f"{t['unsolvable']['declared unreachable']} of {sum(t['unsolvable'].values())}"
        ends.append([s["label"], solved, narrow, closed, len(outcome.missed()), s["false_alarms"]])
        delay = rounded(1e3 * s["median_delay_s"])
        figures.append([s["label"], *(rounded(s[name]) for name in MEDIANS), delay])
    heads = "variant | solvable: reached | narrow: reached / declared | unsolvable: declared | wrong | false alarms"
    more = "variant | contacts | impulse [N s] | largest force [N] | its 95 % | path [m] | time [s] | delay [ms]"
    draw_comparison(found, DOCS / "img" / "worlds.png")
    noisy = [row for row in rows if "noise" in row["variant"]]
    alarms, hours = sum(row["false_alarms"] for row in noisy), sum(row["simulated_s"] for row in noisy) / 3600.0
    limits = rate(alarms, hours)
    words = f"{alarms} in {hours:.1f} hours, {limits.low:.2g} to {limits.high:.2g} per hour at 95 %"
    middle = ["", f"False alarms with noise and learned thresholds, all variants together: {words}.", ""]
    middle += [f"Medians over the {len(found.common())} worlds that every variant crossed:", ""]
    picture = ["", "![random worlds: outcomes and spreads](../img/worlds.png)"]
    return [*rows_of(heads, ends), *middle, *rows_of(more, figures), *picture]


def learning(stores: list[Any]) -> list[str]:
    """Random worlds with thresholds that were learned anew again and again."""
    rows = results(stores[0])[0].to_pylist()
    (outcome,) = comparison_of(rows).outcomes
    learnings, bad = {row["learn_seed"] for row in rows}, {row["learn_seed"] for row in rows if row["false_alarms"]}
    alarms, hours = sum(row["false_alarms"] for row in rows), sum(row["simulated_s"] for row in rows) / 3600.0
    delays = [row["median_delay_s"] for row in rows if row["median_delay_s"] is not None]
    counts = f"{alarms} in {hours:.2f} h (at most {rate(alarms, hours).high:.1f} per hour at 95 %)"
    wrong = said(len(outcome.missed()), len(rows))
    row = [
        f"{len(learnings)}, {len(bad)} with a false alarm",
        len(rows),
        wrong,
        counts,
        f"{1e3 * np.median(delays):.1f} ms",
    ]
    return rows_of("learnings | worlds | wrong | false alarms | median delay", [row])


def detection(stores: list[Any]) -> list[str]:
    """Walls met by arms that are not as declared; thresholds of other moves."""
    out = []
    total: dict[str, list[float]] = {}
    for store in stores:
        learned, table = json.loads(store.prepared), results(store)[0]
        free = np.array(table["met"].to_pylist()) == "free"
        moves = table["move"].to_numpy()[free]
        for curve in study_of(table, store.plan.settings).curves:
            level = table[column(curve.observer, curve.detector, "before")].to_numpy()[free]
            false = f"{curve.alarms[0]} on {len(set(moves[level >= 1.0]))} of {len(set(moves))} moves"
            point, late = curve.point(0), 1e3 * np.nanquantile(curve.delays[:, 0], [0.5, 0.99])
            name = f"{curve.observer} / {curve.detector}"
            margin = f"{learned[curve.observer]['margin']:.2f}" if curve.detector == "absolute" else "–"
            limit = f"{rate(point.alarms, point.hours).high:.2f} per hour"
            missed = f"{int(np.isinf(curve.delays).sum())} of {len(curve.delays)}"
            delay = f"{late[0]:.1f} / {late[1]:.1f} ms"
            out.append([store.plan.seed, f"{point.hours:.1f} h", name, margin, false, limit, delay, missed])
            sums = total.setdefault(name, [0, 0.0])
            sums[0], sums[1] = sums[0] + point.alarms, sums[1] + point.hours
    heads = "seed | free motion | observer / detector | margin | false alarms | at most (95 %) | delay, median / 99 %"
    words = [
        f"{name} {n:.0f} in {h:.1f} hours, at most {rate(int(n), h).high:.2f} per hour"
        for name, (n, h) in total.items()
    ]
    return [*rows_of(f"{heads} | missed", out), "", f"False alarms together (95 %): {'; '.join(words)}."]


def worth(stores: list[Any]) -> list[str]:
    """How many learnings caused false alarms on moves that were not rehearsed."""
    table = results(stores[0])[0]
    rows: dict[str, list[str]] = {}
    for row in learning_summary(table)["learnings"]:
        rows.setdefault(f"{row['observer']} / {row['detector']}", []).append(said(row["count"], row["of"]))
    inside, outside = (int(table[name].to_numpy().sum()) for name in ("inside", "outside"))
    hours = float(table["hours"].to_numpy().sum())
    heads = "observer / detector | learnings with a false alarm within what was rehearsed | beyond it"
    judged = f"Judged on {inside} moves within, {hours:.1f} hours of motion, and {outside} beyond."
    return [*rows_of(heads, [[name, *cells] for name, cells in rows.items()]), "", judged]


def isolation(stores: list[Any]) -> list[str]:
    """How often the link is named."""
    links = isolation_summary(results(stores[0])[0])["links"]
    names = {"distinct": "*distinct* contacts", "loaded": "*loaded* contacts", "claimed": "*claimed*"}
    rows = []
    for name in (*names, "all"):
        cells = [f"{r['count']} of {r['of']} ({100.0 * r['value']:.1f} %)" for r in links if r["pushes"] == name]
        rows.append([names.get(name, "all, observable or not"), *cells])
    return rows_of("right link | perfect model | 10 % mass, 20 % friction", rows)


def certainty(stores: list[Any]) -> list[str]:
    """How often the named place is right, by the certainty that was claimed; noise as declared."""
    found = [isolation_summary(results(store)[0]) for store in stores]
    bins = [[row for row in each["certainty"] if row["way"] == "first"] for each in found]
    rows = []
    for pair in zip(*bins, strict=True):
        cells = [f"{100.0 * pair[0]['from']:.0f}–{100.0 * pair[0]['to']:.0f} %"]
        for r in pair:
            right = f"{100.0 * r['value']:.0f} % ({100.0 * r['low']:.0f}–{100.0 * r['high']:.0f}) of {r['of']}"
            cells.append(f"{right}, claimed {100.0 * r['claimed']:.0f} %" if r["of"] else "–")
        rows.append(cells)
    off = [said(each["places"][0]["count"], each["places"][0]["of"]) for each in found]
    rows.append(["*located* and more than 3 cm off", *off])
    return rows_of("claimed | 20–100 N on any link: right | 5–200 N anywhere: right", rows)


def plants(stores: list[Any]) -> list[str]:
    """How often a *located* place is wrong on plants that are not as declared."""
    places = isolation_summary(results(stores[0])[0])["places"]
    rows = []
    ways = ([r for r in places if r["way"] == way] for way in ("first", "second", "third"))
    for level, change, grown in zip(*ways, strict=True):
        cells = [said(r["count"], r["of"]) for r in (level, change, grown)]
        rows.append([level["plant"], level["pushes"], *cells])
    heads = "plant | pushes | level, sensor noise: wrong of located | change, rehearsed | change that grew as one"
    return rows_of(heads, rows)


def arm_worlds(stores: list[Any]) -> list[str]:
    """Verdicts of the whole arm beside the oracle's, and how true its marks are."""
    rows, out = results(stores[0])[0].to_pylist(), []
    for reaction in dict.fromkeys(row["variant"] for row in rows):
        these = [row for row in rows if row["variant"] == reaction]
        ends = [row["outcome"] for row in these if row["truth"] == "solvable"]
        reached, wrong = sum(end == "reached" for end in ends), sum(end in FINAL for end in ends)
        marks, false = (sum(row[name] for row in these) for name in ("sure_marks", "false_marks"))
        out.append([reaction, said(reached, len(ends)), said(wrong, len(ends)), said(false, marks)])
    heads = "reaction | solvable worlds reached | wrong verdicts there | sure marks > 3 cm from every surface"
    return rows_of(heads, out)


def rooms(stores: list[Any]) -> list[str]:
    """Verdicts in rooms with inside corners by reaction, forces, and how long the tool stood in contact."""
    rows = results(stores[0])[0].to_pylist()
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["variant"].rsplit(", ", 1)[1], []).append(row)
    gentle = {(r["world"], r["variant"].rsplit(", ", 1)[0]): r for r in parts["back off"]}
    table = []
    for reaction, these in parts.items():
        closed = [row for row in these if row["truth"] == "unsolvable"]
        solvable = [row for row in these if row["truth"] == "solvable"]
        through = sum(row["reached"] or row["outcome"] == "pushed through" for row in closed)
        ratio = max(
            row["largest_force_n"] / gentle[row["world"], row["variant"].rsplit(", ", 1)[0]]["largest_force_n"]
            for row in these
        )
        ends = ["–", "–"]
        if reaction != "stop":
            ends = [said(sum(row["outcome"] in FINAL for row in closed), len(closed))]
            ends += [said(sum(row["reached"] for row in solvable), len(solvable))]
        worst, stood = (max(row[name] for row in these) for name in ("largest_force_n", "longest_stand_s"))
        late = sum(row["outcome"] == "out of time" for row in these)
        cells = [reaction, said(through, len(closed)), *ends, late, f"{worst:.0f}", f"{ratio:.2f}", f"{stood:.1f}"]
        table.append([*cells, sum(row["false_alarms"] for row in these)])
    heads = "reaction | no way: went through | no way: said so | a way: reached | out of time | largest force [N] | "
    heads += "most × back off | longest stand [s] | false alarms"
    hard = sum(row["largest_force_n"] > HARD_FORCE for row in rows)
    count = len({row["world"] for row in rows})
    closing = f"{len(rows)} runs in {count} rooms. More than {HARD_FORCE:g} N: {said(hard, len(rows))}."
    return [*rows_of(heads, table), "", closing]


WORLD_WORDS = {
    "load": "unknown load, 0–3 kg",
    "coulomb": "missing Coulomb friction, up to 5 N m",
    "both": "both",
    "friction": "friction × 1–1.4",
}


def doubt(stores: list[Any]) -> list[str]:
    """False alarms, slow pushes and loads of arms that doubt their model, an arm per column."""
    columns = []
    for store in stores:
        table = results(store)[0]
        found = detection_summary(table)
        (whole,) = found["detectors"]
        alarms, slow = whole["false_alarms_per_hour"], whole["delay_median_s"]
        (curve,) = study_of(table, store.plan.settings).curves
        late = curve.point(0).missed
        loads = {row["world"]: row for row in found["loads"]}
        seen = "below" if whole["false_alarms"] == 0 else f"{alarms['value']:.2g}, {alarms['low']:.2g} to"
        high = f"{slow['high'] * 1e3:.0f}" if np.isfinite(slow["high"]) else "–"
        columns.append(
            [f"{row['false_alarms']} in {row['hours']:.1f} h" for row in found["worlds"]]
            + [
                f"{seen} {alarms['high']:.2g}",
                f"{slow['value'] * 1e3:.0f} [{slow['low'] * 1e3:.0f}, {high}]",
                f"{100 * late.value:.1f} [{100 * late.low:.1f}, {100 * late.high:.1f}]",
                *(
                    f"{row['rms_kg']:.2f}; {100 * row['held']['value']:.0f} [{100 * row['held']['low']:.0f}, "
                    f"{100 * row['held']['high']:.0f}]"
                    for row in loads.values()
                ),
            ]
        )
    worlds = [WORLD_WORDS[row["world"]] for row in found["worlds"]]
    names = [f"false alarms, {world}" for world in worlds]
    names += ["all, per hour", "slow push: median [ms]", "slow push: not within 1 s [%]"]
    names += [f"load after 6 s, {world}: rms [kg]; interval held [%]" for world in worlds]
    heads = " | ".join(["95 % intervals are exact", *(f"{arm_of(store)} ({store.plan.seed})" for store in stores)])
    settings = stores[0].plan.settings
    pushes = sum(int((np.array(results(store)[0]["met"].to_pylist()) == "contact").sum()) for store in stores)
    closing = f"{settings['moves']} chains per arm, {pushes} pushes in all; seeds in brackets."
    return [*rows_of(heads, [list(row) for row in zip(names, *columns, strict=True)]), "", closing]


def arm_of(store: Any) -> str:
    """Name of a campaign's arm."""
    return str(store.plan.settings.get("robot", "ur5-kufieta-c"))


def doubt_walls(stores: list[Any]) -> list[str]:
    """Hard walls met by arms without load and friction errors, doubting or not."""
    rows = []
    for store in stores:
        cells = [store.plan.settings["preset"], store.plan.seed]
        curves = {curve.detector: curve for curve in study_of(results(store)[0], store.plan.settings).curves}
        for name in ("two-speed", "doubt"):
            delay, missed = curves[name].point(0).delay, int(np.isinf(curves[name].delays).sum())
            cells.append(f"{1e3 * delay.value:.1f} [{1e3 * delay.low:.1f}, {1e3 * delay.high:.1f}]")
            cells.append(f"{missed} of {len(curves[name].delays)}")
        rows.append(cells)
    return rows_of("preset | seed | two-speed: median [ms] | missed | doubt: median [ms] | missed", rows)


FIGURES = {
    "rooms": (rooms, ("rooms",)),
    "worlds": (worlds, ("worlds-grid",)),
    "learning": (learning, ("worlds-learning",)),
    "detection": (detection, ("detection-wall-1", "detection-wall-2", "detection-wall-3")),
    "worth": (worth, ("learning-moves",)),
    "isolation": (isolation, ("isolation-links",)),
    "certainty": (certainty, ("isolation-links", "isolation-light")),
    "plants": (plants, ("isolation-plants",)),
    "arm-worlds": (arm_worlds, ("worlds-arm",)),
    "doubt": (doubt, ("doubt-ur5", "doubt-ur10e", "doubt-panda", "doubt-xarm7", "doubt-irb140")),
    "doubt-walls": (doubt_walls, ("doubt-wall-torque", "doubt-wall-cb3", "doubt-wall-e-series")),
}

if __name__ == "__main__":
    word, place = sys.argv[1], Path(sys.argv[3]) if sys.argv[2:3] == ["--from"] else DOCS / "campaigns"
    make, names = FIGURES[word]
    opened = [open_store(place / name) for name in names]
    for store in opened:
        if store.missing():
            sys.exit(f"{store.folder}: not done; go on with: armwright campaign resume {store.folder}")
    begin, end = f"<!-- {word}: begin -->", f"<!-- {word}: end -->"
    page = DETECT if word.startswith("doubt") else EXPLORE
    before, rest = page.read_text(encoding="utf-8").split(begin)
    runs = [f"armwright campaign run docs/campaigns/{name}.toml" for name in names]
    table = "\n".join(["```sh", *runs, f"python docs/make_campaigns.py {word}", "```", "", *make(opened)])
    page.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}", encoding="utf-8")
