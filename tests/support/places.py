# SPDX-License-Identifier: Apache-2.0
"""Where things stand in a checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
REAL_ARM = ROOT.parent / "shared" / "data" / "ur10e"
"""Measurements of a real arm; absent on a user's machine, and tests that need them say so."""

NO_REAL_ARM = "the measurements of a real UR10e are not there (../shared/data/ur10e beside the checkout)"
"""Why those tests are skipped."""
