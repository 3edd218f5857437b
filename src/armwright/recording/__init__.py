# SPDX-License-Identifier: Apache-2.0
"""What happened: recordings and batches of them, the crash-safe writer, files, pictures."""

from armwright.recording.batch import Recordings
from armwright.recording.recording import Recording
from armwright.recording.signals import Event, Signal
from armwright.recording.writer import RecordingWriter

__all__ = [
    "Event",
    "Recording",
    "RecordingWriter",
    "Recordings",
    "Signal",
]


def __dir__() -> list[str]:
    return __all__
