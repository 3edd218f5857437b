# SPDX-License-Identifier: Apache-2.0
"""Try the page in which an arm lives: opened from a file in Chromium, timed, pulled by a mouse, photographed.

    python tools/trial_page.py --folder trial

Needs playwright (extra `browser`) and Chromium (`make tools`).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from trial_embedded import Trial

import armwright as aw
from armwright.simulation.arm_page import arm_page
from armwright.world import load_world

READY = "__arm.endShow(); __arm.pause(); __arm.run(2000)"
PLACE = """(body) => {
  const T = __arm.scene.poses.links[body], p = [0.2, 0, 0];
  return __arm.scene.project([0, 4, 8].map((r) => T[r] * p[0] + T[r + 1] * p[1] + T[r + 2] * p[2] + T[r + 3]));
}"""
LIMITS = {"page": 1_000_000, "module": 20_000, "speed": 0.4}


def seconds(page, script: str) -> float:
    """Time of the processor that a script takes in the page's thread: the clock would count what others do."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        return {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    began = spent()
    page.evaluate(script)
    return spent() - began


def main() -> int:
    """Run all of it."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("out/page"))
    asked = parser.parse_args()
    trial = Trial(asked.folder.resolve(), 0)
    trial.folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    options = ["--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=options)
        for name, world in (("free", None), ("bench", load_world("bench"))):
            made = arm_page(aw.load("ur5"), world=world)
            file = made.write(trial.folder / f"{name}.html")
            size, module = made.figures["page"], made.figures["module"]
            trial.say(f"{name}: page [bytes]", size, size <= LIMITS["page"])
            trial.say(f"{name}: module [bytes]", module, world is not None or module <= LIMITS["module"])
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(file.as_uri())
            page.wait_for_selector("#arm[data-ready]", timeout=120_000)
            page.evaluate(READY)
            count = 100_000 if world is None else 5_000
            speeds = [count / seconds(page, f"__arm.run({count})") / 1e6 for _ in range(5)]
            told = f"{max(speeds):.3f} (of {', '.join(f'{v:.3f}' for v in speeds)})"
            good = max(speeds) >= (LIMITS["speed"] if world is None else 0.001)
            trial.say(f"{name}: million ticks a second of CPU in Chromium", told, good)
            page.evaluate("__arm.pause(); __arm.reset()")
            x, y = page.evaluate(PLACE, 2)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 70.0, y + 60.0, steps=6)
            page.evaluate("__arm.run(1500)")
            state = page.evaluate("__arm.state()")
            true, felt = ([round(v, 1) for v in state[word]] for word in ("true", "felt"))
            trial.say(
                f"{name}: pulled by the mouse [N]: true {true}, felt", felt, state["held"] == 2 and state["alarm"]
            )
            page.screenshot(path=str(trial.folder / f"{name}.png"))
            page.mouse.up()
            page.close()
        browser.close()
    print(f"{trial.wrong} of what was tried is wrong" if trial.wrong else "all of what was tried is right")
    return min(trial.wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
