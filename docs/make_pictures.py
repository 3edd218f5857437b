# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation, from the library: ``python docs/make_pictures.py [speed]``."""

from __future__ import annotations

import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import armwright as aw
from armwright.control import damping, pd_gravity
from armwright.motion import quintic
from armwright.recording import Signal
from armwright.recording.pictures.style import COLOURS, LIMIT, STYLE
from armwright.simulation import with_energy

FOLDER = Path(__file__).resolve().parent / "img"
WIDTH, FRAMES, SPEED = 640, 8, 4.0  # of the moving picture: pixels, per second, times as fast as the arm
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


def pictures_of_the_report(still: Path, moving: Path) -> None:
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
        page.screenshot(path=still)
        film_of_the_replay(page, moving)
        browser.close()


def film_of_the_replay(page: Any, path: Path) -> None:
    """The whole run, `SPEED` times as fast, as a GIF that plays wherever a README is shown."""
    end = page.evaluate("__replay.content.events.at(-1).time")
    frames = []
    for time in np.arange(0.0, end, SPEED / FRAMES):
        page.evaluate("time => __replay.seek(time)", float(time))
        page.wait_for_timeout(40)  # two frames of the browser
        shot = Image.open(BytesIO(page.locator("#replay canvas").first.screenshot())).convert("RGB")
        frames.append(shot.resize((WIDTH, shot.height * WIDTH // shot.width)))
    colours = frames[-1].quantize(64)
    flat = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    times = [round(1000 / FRAMES)] * (len(flat) - 1) + [2500]  # the end stays for a while
    flat[0].save(path, save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=True)


def picture_of_speed(path: Path) -> None:
    """How many times longer others take: the first table of the page on speed, drawn."""
    lines = (FOLDER.parent / "speed.md").read_text(encoding="utf-8").splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    peers = table[0][2:]
    rows = [row for row in table[2:] if len(row) == len(table[0])]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(9.0, 5.4))
        for k, peer in enumerate(peers):
            at = [
                (i, float(found[1]))
                for i, row in enumerate(rows)
                if (found := re.search(r"\(([\d.]+) ×\)", row[2 + k]))
            ]
            axes.plot([x for _, x in at], [i for i, _ in at], "o", color=COLOURS[k], label=peer)
        axes.axvline(1.0, color=LIMIT, linewidth=1.0)
        axes.set(xscale="log", xlim=(0.7, 500.0), xlabel="times as long as Armwright takes (1: as fast)")
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200, 500], ["1", "2", "5", "10", "20", "50", "100", "200", "500"])
        axes.invert_yaxis()
        axes.grid(axis="x", which="major")
        axes.legend(loc="upper center", bbox_to_anchor=(0.35, -0.13), ncols=4, frameon=False)
        axes.set_title("UR5, one thread, against others in the same run", loc="left")
        figure.savefig(path, dpi=100, bbox_inches="tight")
        plt.close(figure)


if __name__ == "__main__":
    picture_of_speed(FOLDER / "speed.png")
    if sys.argv[1:] == ["speed"]:
        sys.exit()
    pictures_of_the_report(FOLDER / "report.png", FOLDER / "explore.gif")
    pd_run_of_003().plot(["errors", "torques"], FOLDER / "pd_003.png", title="003: PD + gravity, stiff integrator")
    drop_test_of_000().plot(
        ["angle", "energy"], FOLDER / "drop_000.png", title="000: drop test, published model", together=True
    )
