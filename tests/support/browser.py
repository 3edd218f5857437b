# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests of pages: the system's Chromium, driven by Playwright. One a worker.

Where either is missing, tests that ask for it are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.patience import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")
# drawn in software, so that every machine draws alike; nothing of the browser's own goes out
OPTIONS = (
    "--disable-gpu",  # pages are put together in software, too: several times quicker without a graphics card
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",  # it ends what draws when that was slow, and takes all pictures in space with it
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
OWN = ("file:", "blob:", "data:", "about:")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=[*OPTIONS, *root], timeout=1e3 * PATIENCE)
        yield found
        found.close()


@contextmanager
def watched_page(browser: Any, own: tuple[str, ...] = OWN, **options: Any) -> Iterator[Any]:
    """A new page with an empty profile; afterwards nothing may have been wrong with it.

    Errors on its console, exceptions that nobody caught and requests to addresses that do not begin with one of `own`
    are failures. Options are those of a context: viewport, color_scheme, java_script_enabled, …
    """
    wrong: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(1e3 * PATIENCE)
    page = context.new_page()
    page.on("console", lambda message: message.type == "error" and wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"exception: {error}"))
    page.on("request", lambda request: request.url.startswith(own) or wrong.append(f"request: {request.url}"))
    try:
        yield page
    finally:
        context.close()
    assert wrong == []
