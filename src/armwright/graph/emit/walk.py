# SPDX-License-Identifier: Apache-2.0
"""How often nodes are used, how long they live, and which of them deserve a name of their own."""

from __future__ import annotations

from collections.abc import Collection

from armwright.graph.ops import BOOLEAN, LEAVES, TRIGONOMETRIC, Op
from armwright.graph.program import Node, Program

LONGEST_SUM = 12
DEEPEST = 100  # nesting of one expression; printers recurse


def is_boolean(node: Node) -> bool:
    """Whether a node is a truth value."""
    return node.op in BOOLEAN or isinstance(node.value, bool)


def last_uses(program: Program) -> list[int]:
    """Return for every node the number of the last node that reads it; outputs live to the end (``len(nodes)``)."""
    last = list(range(len(program.nodes)))
    for k, node in enumerate(program.nodes):
        for a in node.args:
            last[a] = k
    for result in program.results:
        for k in result:
            last[k] = len(program.nodes)
    return last


def used_inputs(program: Program) -> list[tuple[int, int]]:
    """Return the (input number, element) pairs that the program reads, in order."""
    return sorted(node.value for node in program.nodes if node.op is Op.INPUT)


def operands(node: Node, nodes: tuple[Node, ...]) -> tuple[int, ...]:
    """Return the operands in printing order: a constant factor comes first, a constant summand last."""
    if node.op is Op.MUL and nodes[node.args[1]].op is Op.CONST:
        return node.args[::-1]
    if node.op is Op.ADD and nodes[node.args[0]].op is Op.CONST:
        return node.args[::-1]
    return node.args


def named_nodes(
    program: Program,
    *,
    limit: int,
    keep: Collection[Op] = TRIGONOMETRIC,
    squares: bool = False,
    share: bool = True,
    whole: Collection[int] = (),
) -> list[int]:
    """Choose the nodes that are written as definitions; all others are written where they are used.

    Shared nodes are named, and those of the kinds in `keep`. A sign change is always written in place.

    Args:
        program: what is printed.
        limit: most operations in one written expression; longer ones are cut into definitions.
        keep: operations that are named even if used once.
        squares: whether ``x*x`` is written as a power, so that x occurs once.
        share: whether a node that is used several times is named for that reason.
        whole: nodes that are written as one piece; their operands do not appear.
    """
    nodes = program.nodes
    occurrences = [0] * len(nodes)
    for result in program.results:
        for k in result:
            occurrences[k] += 1
    named = [False] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        op, args, _ = nodes[k]
        if op in LEAVES:
            continue
        named[k] = op in keep or (share and occurrences[k] > 1 and op is not Op.NEG)
        times = 1 if named[k] else occurrences[k]
        if k in whole:
            continue
        for a in set(args) if squares and op is Op.MUL else args:
            occurrences[a] += times
    size = [0] * len(nodes)
    depth = [0] * len(nodes)
    for k, (op, args, _) in enumerate(nodes):
        if op in LEAVES or k in whole:
            continue
        inner = sorted({a for a in args if not named[a] and nodes[a].op not in LEAVES}, key=lambda a: -size[a])
        while inner and (1 + sum(size[a] for a in inner) > limit or depth[inner[0]] >= DEEPEST):
            named[inner.pop(0)] = True
        size[k] = 1 + sum(size[a] for a in inner)
        depth[k] = 1 + max((depth[a] for a in inner), default=0)
    return [k for k in range(len(nodes)) if named[k]]


def angle_elements(program: Program, k: int) -> list[tuple[int, int]] | None:
    """Return the input elements whose plain sum node k is, each once and of one input; None if it is anything else."""
    nodes = program.nodes
    found: list[tuple[int, int]] = []
    stack = [k]
    while stack:
        node = nodes[stack.pop()]
        if len(found) == LONGEST_SUM:
            return None
        if node.op is Op.INPUT:
            found.append(node.value)
        elif node.op is Op.ADD:
            stack.extend(node.args)
        else:
            return None
    distinct = sorted(set(found))
    return distinct if len(distinct) == len(found) and len({signal for signal, _ in distinct}) == 1 else None
