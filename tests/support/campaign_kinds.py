# SPDX-License-Identifier: Apache-2.0
"""Kinds for tests: rows that are known in advance, and items that raise, crash, hang and wait for a gate."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

from armwright.campaigns import Kind, item_rng
from armwright.errors import InputError
from armwright.statistics import share
from support.patience import until


def _value(plan, item):
    return float(item_rng(plan.seed, item).normal())


def _start(plan, prepared):
    bad = plan.settings
    if "wrong" in bad:
        raise ValueError(f"wrong is {bad['wrong']}")

    def rows(first, last):
        for item in range(first, last):
            if item == bad.get("raises") or item < bad.get("raises below", 0):
                raise ValueError(f"item {item} cannot be")
            if item == bad.get("crashes"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if item == bad.get("killed once") and not os.path.exists(bad["mark"]):
                open(bad["mark"], "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            if item == bad.get("hangs"):
                time.sleep(3600.0)
            if "gate" in bad and item >= bad["gated from"]:
                if "began" in bad:
                    open(bad["began"], "w").close()
                until(lambda: os.path.exists(bad["gate"]), "the gate opens")
        return {"value": [_value(plan, k) for k in range(first, last)], "prepared": [len(prepared)] * (last - first)}

    return rows


def _prepare(plan):
    if plan.settings.get("prepare") == "mistaken":
        raise InputError("faulty: prepare must not be mistaken")
    if plan.settings.get("prepare") == "raises":
        raise KeyError("nothing there")
    if plan.settings.get("prepare") == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if plan.settings.get("prepare") == "pool":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(bytes.fromhex, ("3132",))
    return b"12345"


KIND = Kind("faulty", {"value": "float64", "prepared": "int64"}, _start, chunk=10, prepare=_prepare)


def _judge_start(plan, prepared):
    def rows(first, last):
        draws = [item_rng(plan.seed, item).uniform(size=2) for item in range(first, last)]
        return {
            "met": ["contact" if k % 4 == 0 else "free" for k in range(first, last)],
            "good": [bool(b < 0.75) for _, b in draws],
            "a_b_delay": [float(a) if k % 4 == 0 else None for k, (a, _) in enumerate(draws, first)],
        }

    return rows


def _judge(table):
    names = {"observer": "a", "detector": "<b>"}
    found = share(3, 4)._asdict()
    row = {**names, "scale": 1.0, "found": found, "runs_with_false_alarm": share(0, len(table))._asdict()}
    return {"detectors": [row], "roc": [row, {**row, "scale": 2.0, "found": share(1, 4)._asdict()}]}


JUDGED = Kind(
    "judged", {"met": "string", "good": "bool", "a_b_delay": "float64"}, _judge_start, chunk=50, summary=_judge
)


def _missing_start(plan, prepared):
    def rows(first, last):
        return {"delay": [0.1 * k if k % 6 == 0 else None for k in range(first, last)], "size": [1.0] * (last - first)}

    return rows


MISSES = Kind("misses", {"delay": "float64", "size": "float64"}, _missing_start, chunk=50, judged=frozenset({"delay"}))
