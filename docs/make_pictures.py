# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation, from the library: ``python docs/make_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import armwright as aw
from armwright.control import damping, pd_gravity
from armwright.motion import quintic
from armwright.recording import Signal
from armwright.simulation import with_energy

FOLDER = Path(__file__).resolve().parent / "img"
STIFF = {"integrator": "rodas3", "continuous": True}


def pd_run_of_003() -> aw.Recording:
    """003 Q20: PD with gravity compensation on the CEA arm, half a second of quintic motion."""
    law = pd_gravity((5000.0, 8000, 5500, 800, 5500, 2500), (1000.0, 1000, 500, 100, 100, 500))
    return aw.simulate(aw.load("cea"), law, quintic((-1.0, 0, -1, -1, -1, -1), (0.0, 1, 0, 0, 0, 0), 0.5), 1.0, **STIFF)


def drop_test_of_000() -> aw.Recording:
    """000, 3.3: the arm is let go from zero and swings out under a damping that falls from 1 to 0.02 N m s/rad."""
    robot = aw.load("ur5-ragazzon-published")
    run = with_energy(aw.simulate(robot, damping(), None, 20.0, q0=[0.0] * 6, **STIFF))
    return run.with_signals(angle=Signal(np.degrees(run["q"]), "deg", run.labels("q")))


def picture_of_the_report(path: Path) -> None:
    """What `make demo` leaves behind, as a browser shows it; needs Playwright (extra `browser`) and a Chromium."""
    import shutil
    import tempfile

    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        file = aw.explore(aw.load("ur5"), "layout-a").report(Path(folder) / "report.html")
        software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=software)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page.goto(file.as_uri())
        page.wait_for_selector("#replay[data-ready]")
        page.evaluate("__replay.seek(__replay.content.events[10].time + 0.02)")
        page.evaluate("__replay.scene.setView({ azimuth: 115, elevation: 30 })")
        page.wait_for_timeout(1000)  # until it is drawn at its finest
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    picture_of_the_report(FOLDER / "report.png")
    pd_run_of_003().plot(["errors", "torques"], FOLDER / "pd_003.png", title="003: PD + gravity, stiff integrator")
    drop_test_of_000().plot(
        ["angle", "energy"], FOLDER / "drop_000.png", title="000: drop test, published model", together=True
    )
