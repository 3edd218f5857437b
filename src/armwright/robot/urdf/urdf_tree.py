# SPDX-License-Identifier: Apache-2.0
"""The tree that the links of a URDF form: one root, no cycle, nothing left over; mimic laws; which link is the tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from armwright.errors import InputError
from armwright.robot.urdf.urdf_elements import JointData, LinkData, Mimic
from armwright.schema.xml_text import MAX_LENGTH, MAX_RATIO, shown


@dataclass(frozen=True, slots=True)
class LinkTree:
    """Links by name, and the joints below `root`, parents first (depth first, children in file order)."""

    root: str
    links: dict[str, LinkData]
    joints: tuple[JointData, ...]

    def path(self, tip: str) -> list[JointData]:
        """Return the joints from the root to the link `tip`."""
        above = {joint.child: joint for joint in self.joints}
        path = []
        while tip in above:
            path.append(above[tip])
            tip = above[tip].parent
        return path[::-1]


def link_tree(links: list[LinkData], joints: list[JointData], *, base: str | None) -> LinkTree:
    """Check that links and joints form one tree; with `base`, keep what hangs below that link."""
    by_name: dict[str, LinkData] = {}
    for link in links:
        if link.name in by_name:
            link.node.fail(
                f"link name {shown(link.name)} is already used on line {by_name[link.name].node.line}", "unique-names"
            )
        by_name[link.name] = link
    first: dict[str, JointData] = {}
    above: dict[str, JointData] = {}
    children: dict[str, list[JointData]] = {name: [] for name in by_name}
    for joint in joints:
        if joint.name in first:
            joint.node.fail(
                f"joint name {shown(joint.name)} is already used on line {first[joint.name].node.line}", "unique-names"
            )
        first[joint.name] = joint
        for tag, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in by_name:
                joint.node.need(tag).fail(f"there is no link {shown(name)}", "known-link")
        if joint.child in above:
            joint.node.fail(
                f"link {shown(joint.child)} already hangs on joint {shown(above[joint.child].name)} "
                f"(line {above[joint.child].node.line}); a link has one parent",
                "tree",
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)
    root = _single_root(by_name, above, children)
    order = _below(root, children)
    if len(order) < len(by_name) - 1:
        reached = {root} | {joint.child for joint in order}
        stray = next(joint for joint in joints if joint.child not in reached)
        stray.node.fail(
            f"link {shown(stray.child)} cannot be reached from the root {shown(root)}: its joints form a cycle", "tree"
        )
    if base is not None:
        _known(base, by_name, "base")
        root, order = base, _below(base, children)
    return LinkTree(root, by_name, tuple(order))


def _single_root(links: dict[str, LinkData], above: dict[str, JointData], children: dict[str, list[JointData]]) -> str:
    roots = [name for name in links if name not in above]
    if not roots:
        joint = next(iter(above.values()))
        joint.node.fail("every link has a parent: the joints form a cycle; one link must be the root", "tree")
    if len(roots) > 1:
        lonely = [name for name in roots if not children[name]]
        if lonely:
            links[lonely[-1]].node.fail("no joint connects this link to the others", "orphan-link")
        links[roots[1]].node.fail(
            f"two roots, {shown(roots[0])} and {shown(roots[1])}: connect them by a joint", "single-root"
        )
    return roots[0]


def _below(root: str, children: dict[str, list[JointData]]) -> list[JointData]:
    order: list[JointData] = []
    stack = children[root][::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(children[joint.child][::-1])
    return order


def _known(name: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if name not in names:
        listed = ", ".join(label[:40] for label in names[:12]) + (", …" if len(names) > 12 else "")
        raise InputError(f"{what}: there is no link {shown(name)}; links are {listed}")


def choose_tip(tree: LinkTree, tip: str | None) -> tuple[str, str]:
    """Return the link that carries the tool, and a note where the choice was not obvious.

    Without a name: the leaf moved by most joints; among equals the one with most links above it, then the first.
    """
    inside = [tree.root] + [joint.child for joint in tree.joints]
    if tip is not None:
        _known(tip, inside, "tip")
        return tip, ""
    moving, depth = {tree.root: 0}, {tree.root: 0}
    for joint in tree.joints:
        moving[joint.child] = moving[joint.parent] + (joint.kind != "fixed")
        depth[joint.child] = depth[joint.parent] + 1
    parents = {joint.parent for joint in tree.joints}
    leaves = [name for name in inside if name not in parents]
    best = max(leaves, key=lambda name: (moving[name], depth[name]))  # max keeps the first of equals
    if len(leaves) == 1:
        return best, ""
    return best, f"Tool frame: link {shown(best)}, the deepest of {len(leaves)} leaves; name another with tip=…"


def mimic_laws(tree: LinkTree) -> dict[str, Mimic]:
    """Return for each moving joint the coordinate that drives it: chains of mimics resolved to their first leader."""
    by_name = {joint.name: joint for joint in tree.joints}
    laws: dict[str, Mimic] = {}
    for joint in tree.joints:
        if joint.kind == "fixed":
            continue
        law, seen, at = Mimic(joint.name, 1.0, 0.0), {joint.name}, joint
        while at.mimic is not None:
            element = at.node.one("mimic") or at.node
            leader = by_name.get(at.mimic.leader)
            if leader is None:
                element.fail(f"mimics {shown(at.mimic.leader)}, but there is no such joint here", "known-joint")
            if leader.name in seen:
                element.fail(f"mimics {shown(leader.name)}, which in the end mimics this joint", "mimic-cycle")
            if leader.kind != joint.kind:
                element.fail(
                    f"a {joint.kind} joint cannot mimic {shown(leader.name)}, which is {leader.kind}", "mimic-kind"
                )
            law = Mimic(leader.name, law.ratio * at.mimic.ratio, law.offset + law.ratio * at.mimic.offset)
            if not (abs(law.ratio) <= MAX_RATIO and abs(law.offset) <= MAX_LENGTH):
                element.fail("the chain of mimic multipliers grows beyond reason", "reasonable-size")
            seen.add(leader.name)
            at = leader
        laws[joint.name] = law
    return laws
