# SPDX-License-Identifier: Apache-2.0
"""Where things stand in a checkout."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
SHARED = ROOT.parent / "shared"
"""Measurements of a real arm; absent on a user's machine, and tests that need them say so."""
