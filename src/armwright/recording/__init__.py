# SPDX-License-Identifier: Apache-2.0
"""Recordings of runs and batches of them: the crash-safe writer, files, pictures, replays."""

from armwright.packages import former_names
from armwright.recording.batch import Recordings
from armwright.recording.formats.ros2_bag import read_bag, write_bag
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal
from armwright.recording.writer import RecordingWriter

__all__ = [
    "RecordedEvent",
    "Recording",
    "RecordingWriter",
    "Recordings",
    "Signal",
    "read_bag",
    "write_bag",
]


def __dir__() -> list[str]:
    return __all__


__getattr__ = former_names(__name__, {"Event": "RecordedEvent"})
