# SPDX-License-Identifier: Apache-2.0
"""The report of what was felt in a log: one HTML page with the replay, the touched link, external torques, contacts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.html_text import html_table
from armwright.identify.felt_contacts import link_told
from armwright.identify.fit_report import timeline
from armwright.recording.pictures.html_page import Page
from armwright.recording.pictures.style import compact_png
from armwright.recording.recording import versions
from armwright.recording.replay.replay_stage import MOST_EVENTS, Arrows, Curves, ReplayStage
from armwright.recording.signals import RecordedEvent

if TYPE_CHECKING:
    from armwright.identify.feeling import FeltLog
    from armwright.identify.felt_contacts import FoundContact
    from armwright.identify.identified import Identified

HEADS = ("no.", "from [s]", "to [s]", "joint", "link", "level [-]", "force on the tool [N]", "remark")


def felt_stage(felt: FeltLog, identified: Identified, title: str = "") -> ReplayStage:
    """Return what a page replays of a log: the arm, its external torques, the touched link, the force on the tool.

    A force is drawn only where the tool was touched: read as a tool wrench, a push on another link would be a force
    that nobody applied.
    """
    ticks, robot = felt.ticks, identified.robot
    time = ticks.t - ticks.t[0]
    touched, force = np.full(len(time), -1.0), np.zeros((len(time), 3))
    names = [body.name for body in robot.bodies]
    for contact in felt.contacts:
        span = (ticks.t >= contact.start) & (ticks.t <= contact.end)
        if contact.link in names:
            touched[span] = names.index(contact.link)
        if contact.wrench is not None and contact.wrench.valid:
            force[span] = contact.wrench.wrench[:3]
    joints = tuple(joint.name for joint in robot.joints)
    slides = any(joint.kind == "prismatic" for joint in robot.joints)
    plots = (
        Curves("external torque, felt", "N·m", joints, ticks.tau_ext),
        Curves("share of the band; an alarm above 1", "–", ("largest",), ticks.level[:, None], ("felt",)),
        Curves("joint positions", "rad, m" if slides else "rad", joints, ticks.q),
    )
    events = (
        RecordedEvent(c.start - ticks.t[0], f"contact {k + 1}: {c.link or c.joint}")
        for k, c in enumerate(felt.contacts)
    )
    arrows = (Arrows("force on the tool, at its peak", force, "felt"),) if force.any() else ()
    return ReplayStage(
        robot,
        time,
        ticks.q,
        title or robot.name,
        events=tuple(events)[:MOST_EVENTS],
        plots=plots,
        arrows=arrows,
        touched=touched,
    )


def felt_report(felt: FeltLog, identified: Identified, path: str | Path, *, title: str = "") -> Path:
    """Write a self-contained page about what was felt in a log.

    Args:
        felt: what was felt in the log.
        identified: the model it was felt with.
        path: of the page.
        title: headline; the arm's name by default.
    """
    head = title or f"{identified.robot.name}: contacts in a log"
    count = len(felt.contacts)
    found = f"{count} contact{'s' if count != 1 else ''} in {60.0 * felt.minutes:.1f} s"
    lead = f"{found}, from joint motion and motor currents alone."
    begin = float(felt.ticks.t[0]) if len(felt.ticks) else 0.0
    rows = [contact_cells(k, contact, begin) for k, contact in enumerate(felt.contacts[:500])]
    page = Page(head).lead(lead)
    if rows:
        page.section("Contacts").table(HEADS, rows)
    if len(felt.ticks):
        data = compact_png(timeline(felt, identified), 110)
        caption = "External torque of each joint, its band (grey), and the contacts (red)."
        page.section("External torques").figure(data, caption)
    page.made_with(versions())
    return page.write(path, stage=felt_stage(felt, identified, head) if len(felt.ticks) else None)


def contact_cells(k: int, contact: FoundContact, begin: float) -> tuple[str, ...]:
    """Return the cells of one row, under `HEADS`; times count from `begin` [s]."""
    wrench = contact.wrench
    if wrench is None:
        force = "not at the tool"
    else:
        force = ", ".join(f"{x:.0f}" for x in wrench.wrench[:3]) if wrench.valid else "near a singularity"
    span = (f"{contact.start - begin:.2f}", f"{contact.end - begin:.2f}")
    return (str(k + 1), *span, contact.joint, link_told(contact), f"{contact.level:.2f}", force, contact.said)


def contact_table(felt: FeltLog) -> str:
    """Return what notebooks show: a row per contact."""
    begin = float(felt.ticks.t[0]) if len(felt.ticks) else 0.0
    return html_table(repr(felt), HEADS, [contact_cells(k, c, begin) for k, c in enumerate(felt.contacts)])
