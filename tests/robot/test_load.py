# SPDX-License-Identifier: Apache-2.0
"""A load at rest: found with the uncertainty it is said to have, warned of, and compensated."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.contact.observers import estimate_load
from armwright.dynamics import gravity_torque
from armwright.errors import InputError

Q = np.array([0.3, -1.2, 1.4, -0.9, 1.2, 0.2])


def weight(robot, q, mass, com):
    """External torque at rest by a load that the model does not know."""
    return gravity_torque(robot, q) - gravity_torque(robot.with_payload(mass, com), q)


def test_a_load_is_found_from_several_configurations_and_compensated(ur5):
    q = Q + 0.6 * np.random.default_rng(0).normal(size=(6, 6))
    com = np.array([0.03, -0.02, 0.11])
    found = estimate_load(ur5, q, weight(ur5, q, 2.0, com), 1e-3)
    assert found.mass == pytest.approx(2.0, rel=1e-4) and found.misfit < 1e-2
    np.testing.assert_allclose(found.centre, com, atol=1e-4)
    new = q + 0.3
    np.testing.assert_allclose(
        gravity_torque(found.added_to(ur5), new), gravity_torque(ur5.with_payload(2.0, com), new), atol=1e-3
    )


def test_its_uncertainty_is_what_it_says(ur5):
    """Masses over their standard deviations are standard normal, in one configuration, with noise as stated."""
    rng = np.random.default_rng(1)
    z, masses = [], []
    for _ in range(400):
        q, mass = Q + 0.5 * rng.normal(size=(1, 6)), rng.uniform(0.0, 3.0)
        said = mass * weight(ur5, q, 1.0, [0.0, 0.0, 0.05]) + 0.3 * rng.normal(size=(1, 6))  # linear in the mass
        found = estimate_load(ur5, q, said, 0.3)
        z.append((found.mass - mass) / found.mass_std)
        masses.append(found.mass_std)
    assert np.std(z) == pytest.approx(1.0, abs=0.15) and abs(np.mean(z)) < 0.2
    one = estimate_load(ur5, Q, weight(ur5, Q, 1.0, [0.0, 0.0, 0.0]), 0.3)
    assert (
        one.moment_std.max() > 1.0
    )  # gravity in one configuration leaves a direction of the centre as unsure as before


def test_the_warning_comes_with_a_load_and_not_with_noise(ur5):
    rng = np.random.default_rng(2)
    q = Q + 0.4 * rng.normal(size=(3, 6))
    noise = 0.3 * rng.normal(size=(3, 6))
    quiet = estimate_load(ur5, q, noise, 0.3)
    assert quiet.warning() is None and quiet.added_to(ur5) is ur5 and np.isnan(quiet.centre).all()
    for carried, model, more in (
        (weight(ur5, q, 2.0, [0.0, 0.0, 0.05]), ur5, "more"),
        (-weight(ur5, q, 2.0, [0.0, 0.0, 0.05]), ur5.with_payload(2.0, [0.0, 0.0, 0.05]), "less"),
    ):
        text = estimate_load(model, q, carried + noise, 0.3).warning()
        assert "thresholds were learned with another load" in text and more in text


def test_bad_input_is_refused(ur5):
    for q, tau, std in ((Q[:3], Q[:3], 1.0), (Q, Q[:5], 1.0), (Q, Q, 0.0), (Q, Q * np.nan, 1.0), (Q, Q, np.eye(6))):
        with pytest.raises(InputError, match="load"):
            estimate_load(ur5, q, tau, std)
