"""Elements of device vectors that the host takes one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import is_set_up
from gpuadvise.advisor.source.lane_stride import is_address
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# A declaration, or a parameter, of a vector on the device.
_DEVICE_VECTOR = re.compile(
    r"device_vector\s*<[^;{}()]*>\s*&?\s*((?:\w+(?:\([^;{}]*?\))?\s*,\s*)*\w+)"
)
_SHORT = number(32, "elements that are few", "", "our judgement: half a millisecond")
_ACTION = (
    "Copy the vector once, to a thrust::host_vector or with thrust::copy, or compute on the device with thrust::transform, fill or "
    "reduce."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops of the host that read or write elements of a device vector; one per vector and way of a function."""
    function = context.function
    if function.place is not ExecutionSpace.HOST or not context.file.says(b"device_vector"):
        return
    text = context.file.text[function.node.start : function.body.end]
    vectors = {
        name
        for match in _DEVICE_VECTOR.finditer(text)
        for name in re.findall(r"(\w+)(?:\([^;]*?\))?(?:,|$)", match[1])
    }
    reported: set[tuple[str, bool]] = set()
    for access in function.nodes("subscript_expression") if vectors else ():
        name = context.at(access.children[0])
        loop = context.loop_around(access)
        if name not in vectors or loop is None or is_address(context, access):
            continue
        above = access.parent
        stored = (
            above is not None
            and above.kind == "assignment_expression"
            and above.children[0] is access
        )
        if (name, stored) in reported:
            continue
        reported.add((name, stored))
        yield context.diagnostic(
            "element-wise-copies", access,
            f"{name} lies on the device: each iteration {'writes' if stored else 'reads'} one element by a copy of its own, and waits for it.",
            _ACTION, minor=_is_short(context, loop) or is_set_up(context, loop),
        )  # fmt: skip


def _is_short(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* runs up to a number that the file says, and that is small."""
    condition = loop.part("condition")
    sides = bare(condition).children if condition is not None else ()
    return any((context.constant(side) or _SHORT) < _SHORT for side in sides)


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
float sum(const thrust::device_vector<float> &values, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i) total += values[i];      // a copy of four bytes each time
    return total;
}""",
        """\
float sum(const thrust::device_vector<float> &values, int n) {
    return thrust::reduce(values.begin(), values.begin() + n);
}""",
    ),
)
RULE = source_rule(
    id="element-wise-copies",
    title="Copy device vectors at once",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="An element of a device vector is a copy across the bus that the host waits for, some 10 microseconds for 4 bytes.",
    when="A loop of the host reads or writes elements of a thrust::device_vector by [].",
    citations=guide("10.1"),
    seen="total += values[i]",
    action=_ACTION,
)
