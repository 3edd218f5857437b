# SPDX-License-Identifier: Apache-2.0
"""The one statistics: known values, coverage, and what is said of nothing, of everything and of what never came."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.statistics import quantile, rate, share
from support.places import ROOT


@pytest.mark.parametrize("room", ["campaigns", "cli", "detection", "exploration", "studio"])
def test_results_have_no_other_statistics(room):
    """Quantiles, medians and intervals of results come from one module; percentiles for a picture's axes need not."""
    by_hand = re.compile(r"np\.(nan)?(quantile|percentile|median)\(|betaincinv|gammaincinv|\b(beta|chi2|norm)\.ppf")
    for file in (ROOT / "src" / "armwright" / room).rglob("*.py"):
        if "pictures" not in file.parts:
            assert not by_hand.search(file.read_text(encoding="utf-8")), file


def test_limits_are_those_of_tables():
    """0 of 100 is below 2.95 % and no event in an hour below 2.996, one-sided at 95 %; others central."""
    assert share(0, 100).high == pytest.approx(0.02951, abs=5e-6)
    assert share(7, 7).low == pytest.approx(0.05 ** (1 / 7), rel=1e-12)
    assert share(3, 40)[1:] == pytest.approx((0.01574, 0.20386), abs=1e-5)
    assert rate(0, 1.0).high == pytest.approx(-math.log(0.05), rel=1e-12)
    assert rate(10, 1.0)[1:] == pytest.approx((4.7954, 18.3904), rel=1e-4)
    assert quantile(np.arange(1000.0), 0.5) == (499.5, 468.0, 531.0)  # ranks 469 and 532 of 1,000, as in tables


@pytest.mark.parametrize(("n", "q"), [(6, 0.5), (40, 0.5), (200, 0.95), (59, 0.05)])
def test_limits_of_quantiles_cover_as_often_as_they_claim(n, q):
    """Whatever the distribution: here a skew one."""
    rng = np.random.default_rng(1)
    true, runs = -math.log(1.0 - q), 1500
    found = [quantile(rng.exponential(size=n), q) for _ in range(runs)]
    low = sum(i.low > true for i in found) / runs
    high = sum(i.high < true for i in found) / runs
    assert max(low, high) < 0.025 + 3.0 * math.sqrt(0.025 / runs)


@pytest.mark.parametrize("p", [0.02, 0.5])
def test_limits_of_shares_and_rates_cover_as_often_as_they_claim(p):
    """Summed over all outcomes: exact, no dice."""
    n = 60
    outcomes = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    missed = sum(w for k, w in enumerate(outcomes) if not share(k, n).low <= p <= share(k, n).high)
    assert missed <= 0.05 + 1e-12
    expected = n * p
    chances = [math.exp(-expected) * expected**k / math.factorial(k) for k in range(80)]
    assert sum(w for k, w in enumerate(chances) if not rate(k, n).low <= p <= rate(k, n).high) <= 0.05 + 1e-12


def test_what_never_came_counts_and_what_was_not_judged_does_not():
    found = quantile([1.0, 2.0, 3.0, math.inf, math.inf, math.inf, math.inf, math.nan], 0.5)
    assert found.value == found.high == math.inf and found.low == 1.0
    assert quantile([1.0, 2.0, 3.0, math.nan], 0.5).value == 2.0
    assert all(map(math.isnan, quantile([math.nan], 0.5)))


def test_too_few_values_leave_an_end_open():
    assert quantile([1.0, 2.0, 3.0], 0.5) == (2.0, -math.inf, math.inf)
    assert quantile(np.arange(8.0), 0.95).high == math.inf
    nothing = share(0, 0)
    assert math.isnan(nothing.value) and nothing[1:] == (0.0, 1.0)


@pytest.mark.parametrize(
    "call", [lambda: share(3, 2), lambda: rate(1, 0.0), lambda: rate(-1, 1.0), lambda: quantile([1.0], 1.5)]
)
def test_impossible_counts_are_refused(call):
    with pytest.raises(InputError, match="must be"):
        call()
