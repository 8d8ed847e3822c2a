"""Blocks with a thread for each item, however many there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.launches import side_nodes
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Names of sizes that somebody chose, in multiples of a warp as a rule.
_CHOSEN = re.compile(
    r"thread|(?<!per_)block|tpb|tile|warp|group|^bs$|^[a-mo-zA-MO-Z]$|dim$|size_[xyz]",
    re.IGNORECASE,
)
_OPERATORS = frozenset("*+-")
_ACTION = (
    "Launch a fixed multiple of 32, such as 128 or 256 threads, that loop over the items or guard them by if (i < n); or round up: "
    "(n + 31) / 32 * 32."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches whose blocks have as many threads as there are items; one per number of a function."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    reported: set[str] = set()
    for launch in context.launches.of(context.function):
        if launch.threads is not None:
            continue
        sides = _sides(context, launch)
        known = [context.constant(side) for side in sides]
        if any(value is not None and value % WARP_SIZE == 0 for value in known):
            continue
        count = next((side for side in sides if _is_count(context, side)), None)
        if count is None or not all(
            value is not None or _is_count(context, side)
            for side, value in zip(sides, known, strict=True)
        ):
            continue
        words = " x ".join(context.at(side) for side in sides if context.constant(side) != 1)
        if words in reported:
            continue
        reported.add(words)
        yield context.diagnostic(
            "data-sized-blocks", launch.node,
            f"The block has a thread for each of {words} items: where that is no multiple of 32, its last warp is partly idle, and above "
            "1,024 the launch fails.",
            _ACTION,
        )  # fmt: skip


def _sides(context: RuleContext, launch: SourceLaunch) -> list[Node]:
    """Return the sides of the block, also of a variable whose sides are set one by one, or that is a number."""
    block = bare(launch.block)
    sides = side_nodes(context.file, context.function, block)
    if block.kind != "identifier":
        return sides or [block]
    name = context.at(block)
    changes = [
        change
        for change in context.function.nodes("assignment_expression")
        if change.end <= launch.node.start
        and len(change.children) == 2
        and context.root_name(change.children[0]) == name
    ]
    if changes:
        last = {context.at(change.children[0]): change.children[1] for change in changes}
        return [*last.values()]
    return sides or [block]


def _is_count(context: RuleContext, side: Node) -> bool:
    """Whether *side* is a number of items: parameters and members, added or multiplied."""
    side = bare(context.settled(side))
    if side.kind == "binary_expression" and len(side.children) == 2:
        if context.file.operator(side) not in _OPERATORS:
            return False
        counts = [child for child in side.children if context.constant(child) is None]
        return bool(counts) and all(_is_count(context, child) for child in counts)
    if side.kind not in ("identifier", "field_expression"):
        return False
    words = re.split(r"\.|->", context.at(side))[-1]
    if _CHOSEN.search(words) or context.file.is_constant(side, context.function):
        return False
    if side.kind == "field_expression":
        return True
    variable = context.file.variable(words, side, context.function)
    return variable is not None and (variable.parameter or variable.value is not None)


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void launch(int rows, int columns) {
    kernel<<<rows, columns>>>(data, columns);             // 100 columns: 28 lanes idle; 1,100: an error
}""",
        """\
void launch(int rows, int columns) {
    kernel<<<rows, 128>>>(data, columns);                 // for (int c = threadIdx.x; c < columns; c += blockDim.x)
}""",
    ),
)
RULE = source_rule(
    id="data-sized-blocks",
    title="Choose the size of blocks, not the data",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A block whose threads follow the data leaves lanes idle, or is too small or too large for the GPU.",
    when="A launch takes its threads per block from a number of items, neither rounded nor fixed.",
    citations=guide("11.3"),
    seen="kernel<<<rows, columns>>>(data)",
    action=_ACTION,
)
