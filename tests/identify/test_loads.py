# SPDX-License-Identifier: Apache-2.0
"""Payloads that were not mentioned, cannot be, or cannot be weighed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from armwright.dynamics import parameters
from armwright.errors import ArmwrightWarning, InputError
from armwright.identify import Known, Load, Log, fit, payload
from armwright.identify.external_torque import point_mass
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.array([12.0, 12.0, 10.0])
ARM, SHEET = (robot.chain(tip=robot.bodies[2].name) for robot in (true_arm(), sheet_of()))


def log_of(seed=0, arm=ARM, noise=0.0):
    return simulated_log(arm, gear_friction(3), GAINS, 20.0, seed=seed, noise=noise, name=f"log {seed}")


def loaded(mass=2.0):
    return ARM.with_payload(mass, (0.05, -0.02, 0.1), 0.01 * np.eye(3))


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.05, -0.02, 0.1)])
def test_a_point_mass_in_the_tool_frame_is_what_the_arm_would_carry(com):
    added = (parameters(ARM.with_payload(1.5, com)) - parameters(ARM))[: 10 * len(ARM.bodies)]
    ours = point_mass(SimpleNamespace(robot=ARM), 1.5, com)
    np.testing.assert_allclose(ours, np.reshape(added, (-1, 10))[ARM.tip], atol=1e-12)


def test_a_payload_that_nobody_mentioned_is_found_and_said_whichever_log_carries_it():
    bare, heavy = [log_of(k) for k in (0, 2)], log_of(1, arm=loaded())
    told = fit([*bare, heavy], SHEET, gains=Known(GAINS), payloads=[None, None, Load()])
    for at in range(3):
        logs = list(bare)
        logs.insert(at, heavy)
        with pytest.warns(ArmwrightWarning, match="payload"):
            found = fit(logs, SHEET, gains=Known(GAINS))
        assert any("disagree" in text and "log 1 (2.0" in text for text in found.remarks)
        assert [p.log for p in found.payloads] == ["log 1"]
        np.testing.assert_allclose(found.beta, told.beta, rtol=1e-6, atol=1e-8)
    # what was said is done, and doubted aloud
    with pytest.warns(ArmwrightWarning, match="none carries any"):
        found = fit([bare[0], heavy], SHEET, gains=Known(GAINS), payloads=[None, None])
    assert not found.payloads and "disagree" in found.remarks[0]


def test_two_payloads_that_nobody_mentioned():
    logs = [log_of(0, arm=loaded()), log_of(1), log_of(2, arm=loaded(1.0))]
    with pytest.warns(ArmwrightWarning, match=r"Load\(\), None, Load\(\)"):
        found = fit(logs, SHEET, gains=Known(GAINS))
    np.testing.assert_allclose([p.mass.value for p in found.payloads], [2.0, 1.0], atol=0.02)


def test_a_payload_that_cannot_be_is_remarked():
    found = fit([log_of(0), log_of(1, arm=loaded())], SHEET, gains=Known(GAINS), payloads=[Load(), None])
    assert found.payloads[0].mass.value < -1.0
    assert any("log 0" in text and "cannot be" in text for text in found.remarks)


@pytest.mark.parametrize("mass", [-1.0, 0.0, np.nan, np.inf, True, "heavy"])
def test_loads_have_a_mass(mass):
    with pytest.raises(InputError, match="mass"):
        Load(mass)


def test_too_little_motion_weighs_nothing():
    model = fit(log_of(0, noise=0.05), SHEET, gains=Known(GAINS))
    with pytest.raises(InputError, match="at least 10 s"):
        payload(model, log_of(2, noise=0.05).rows(slice(0, 150)))
    log = log_of(2, noise=0.05)
    still = [np.repeat(x[600:601], len(log), axis=0) for x in (log.q, log.current)]  # standing adds nothing
    begin = log.rows(slice(0, 600))
    stands = Log(
        np.concatenate([begin.t, 6.0 + log.t]),
        np.concatenate([begin.q, still[0]]),
        np.concatenate([begin.qd, 0.0 * log.qd]),
        np.concatenate([begin.current, still[1]]),
    )
    with pytest.raises(InputError, match="at least 10 s"):
        payload(model, stands)
