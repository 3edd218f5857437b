# SPDX-License-Identifier: Apache-2.0
"""A recording as a pandas table: a row per sample, a column per component, named after the joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armwright.optional import need

if TYPE_CHECKING:
    from armwright.recording.recording import Recording


def column_names(recording: Recording, name: str) -> tuple[str, ...]:
    """Names of a signal's columns, ``q_elbow`` …; ``q_0`` … where its labels are not one each; the name of a scalar."""
    signal = recording.signals[name]
    labels = recording.labels(name)
    if not signal.shape or len(set(labels)) < len(labels):
        return signal.names(name)
    return tuple(f"{name}_{label}" for label in labels)


def to_pandas(recording: Recording) -> Any:
    """Return a ``pandas.DataFrame`` over the time [s] (extra ``[table]``); ``frame.attrs["units"]`` has the units."""
    pandas = need("pandas", "table", "a table of a recording")
    columns, units = {}, {}
    for name, signal in recording.signals.items():
        for column, values in zip(column_names(recording, name), signal.flat().T, strict=True):
            columns[column], units[column] = values, signal.unit
    frame = pandas.DataFrame(columns, index=pandas.Index(recording.time, name="t"))
    frame.attrs["units"] = units
    return frame
