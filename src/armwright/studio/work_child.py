# SPDX-License-Identifier: Apache-2.0
"""The child's end of `armwright.studio.work_process`: a fresh interpreter that does one task and leaves.

It reads one line of JSON, the task and its fields, and writes lines of JSON: progress, and at last the result or what
is wrong. Nothing is unpickled. It leaves when the studio is gone, and its memory is limited, so that a description that
asks for too much ends the child and nothing else.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from armwright.errors import ArmwrightError
from armwright.studio.hub import finite

MOST_WORK_MEMORY = 4 << 30  # bytes of address space: ten times what the largest arm of the studio needs


def main() -> None:
    """Do the task that comes in; see the module."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not get between the answers
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the studio's, which ends this process
    _limit_memory()
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_studio, daemon=True).start()

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(finite(message), allow_nan=False).encode() + b"\n")
        answers.flush()

    def progress(fraction: float, text: str = "") -> None:
        say({"progress": [fraction, text]})

    with contextlib.suppress(BrokenPipeError):
        say(_done(request, progress))
    os._exit(0)  # whatever threads are left have nothing more to say


def _done(request: dict[str, Any], progress: Callable[[float, str], None]) -> dict[str, Any]:
    try:
        module, _, name = request["task"].partition(":")
        task = getattr(importlib.import_module(module), name)
        return {"result": task(progress, **request["fields"])}
    except ArmwrightError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"this needs more than the {MOST_WORK_MEMORY >> 30} GiB of memory that work of a page may use"}
    except Exception as error:  # noqa: BLE001 - a process has no caller; the page is told
        return {"error": f"a defect of this program: {error!r:.200}"}


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limit, macOS does not keep it
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = MOST_WORK_MEMORY if most == resource.RLIM_INFINITY else min(MOST_WORK_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def _end_with_studio() -> None:
    """Leave at once when the studio is gone, whatever is under way: it holds the other end of the input."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdin.buffer.read(1)
    os._exit(1)


if __name__ == "__main__":
    main()
