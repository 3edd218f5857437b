# SPDX-License-Identifier: Apache-2.0
"""Kinds for tests: rows that are known in advance, and items that raise, crash and hang."""

from __future__ import annotations

import os
import signal
import time

from armwright.campaigns import Kind, item_rng


def _value(plan, item):
    return float(item_rng(plan.seed, item).normal())


def _start(plan, prepared):
    bad = plan.settings

    def rows(first, last):
        for item in range(first, last):
            if item == bad.get("raises"):
                raise ValueError(f"item {item} cannot be")
            if item == bad.get("crashes"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if item == bad.get("hangs"):
                time.sleep(3600.0)
            time.sleep(bad.get("seconds", 0.0))
        return {"value": [_value(plan, k) for k in range(first, last)], "prepared": [len(prepared)] * (last - first)}

    return rows


KIND = Kind("faulty", {"value": "float64", "prepared": "int64"}, _start, chunk=10, prepare=lambda plan: b"12345")
