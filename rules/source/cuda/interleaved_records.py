"""Records of a few elements that each thread takes one element at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import WORD
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.array_access import (
    accesses_of,
    array_access,
    bytes_of,
    element_bytes,
    field_taken,
    goes_on,
    steps_on,
)
from gpuadvise.advisor.source.lane_stride import (
    ELEMENT_BYTES,
    is_address,
    is_kernel_with_lanes,
    lanes_along_x,
)
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import FEWEST_LANES, SPARSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_MULTIPLE = re.compile(rb"\*\s*[\dA-Z]|[\dA-Z]\s*\*|<<|\]\s*\.|\[\s*\w+\s*\(")
_FEWEST_TAKEN = number(2, "elements of a record that a thread takes, at least", "", "our judgement")
_LONGEST_RECORD = number(
    128, "bytes of a record, less than", "bytes", "from there on uncoalesced-access speaks of rows"
)
_WIDTHS = (4, 2)  # words of vectors that one load takes
_LAYOUT = "Keep one array for each field, or let the block load its records side by side into shared memory first."


@dataclass(slots=True)
class _Record:
    """What a thread takes of its record in one array: *elements* as they are written, *apart* bytes from the next thread's."""

    array: Variable
    first: Node
    size: int
    apart: int
    stored: bool
    is_walked: bool = False
    elements: set[str] = field(default_factory=set)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find arrays of which each thread takes several elements of a record of its own; one for loads, one for stores."""
    if not is_kernel_with_lanes(context) or not context.function.matches(_MULTIPLE):
        return
    if lanes_along_x(context) < FEWEST_LANES:
        return
    found = [record for record in _records(context).values() if _is_costly(record)]
    for word, stored in (("Loads", False), ("Stores", True)):
        records = [record for record in found if record.stored is stored]
        if not records:
            continue
        most = max(records, key=lambda record: record.apart // record.size)
        names = and_list([record.array.name for record in records])
        yield context.diagnostic(
            "interleaved-records", records[0].first,
            f"{word} of {names} take one element at a time of records of up to {most.apart} bytes, one for each thread: each of a warp "
            f"touches up to {most.apart // most.size} times the sectors that its elements fill.",
            _action(records), apart=f"{most.apart} bytes",
        )  # fmt: skip


def _is_costly(record: _Record) -> bool:
    """Whether a thread takes several elements of a record, and uncoalesced-access says nothing of it."""
    if record.apart >= _LONGEST_RECORD:
        return False
    used = record.apart if record.is_walked else len(record.elements) * record.size
    if used < _FEWEST_TAKEN * record.size:
        return False
    # Of what is sparser uncoalesced-access speaks.
    return record.apart < SECTOR or used * SPARSE > record.apart


def _records(context: RuleContext) -> dict[str, _Record]:
    """Return what is taken of each array whose elements lie as far apart for neighbouring threads at every access."""
    records: dict[str, _Record] = {}
    others: set[str] = set()
    for access in accesses_of(context):
        reached = None if is_address(context, access) else array_access(context, access)
        if reached is None:
            continue
        array, stride = reached.parameter, reached.stride
        kind = array.type.rstrip("*")
        bytes_ = bytes_of(context, array)
        taken = field_taken(access) if kind in context.file.names.structs else None
        size = bytes_ if taken is None else element_bytes(context, _kind_of(context, kind, taken))
        if access.kind == "pointer_expression" and size:  # it may be cast to one of vectors
            size = max(size, element_bytes(context, context.type_of(access)))
        apart = abs(stride.number) * bytes_
        if stride.is_zero:
            continue
        known = records.get(array.name)
        other = bool(stride.factors) or not size or apart <= size
        if other or (known is not None and known.apart != apart):
            if known is None or not context.are_exclusive(access, known.first):
                others.add(array.name)
            continue
        if reached_by_elected_lanes(context, access):
            continue
        record = records.setdefault(
            array.name,
            _Record(array=array, first=access, size=size, apart=apart, stored=_is_stored(access)),
        )
        record.elements.add("".join(context.at(taken or access).split()))
        record.is_walked |= goes_on(context, access, stride) or steps_on(context, access)
    return {name: record for name, record in records.items() if name not in others}


def _kind_of(context: RuleContext, structure: str, name: Node) -> str:
    return context.file.names.structs[structure].get(context.at(name), "")


def _is_stored(access: Node) -> bool:
    """Whether *access*, or a field of it, is assigned to."""
    while access.parent is not None and access.parent.kind in (
        "field_expression",
        "parenthesized_expression",
    ):
        access = access.parent
    above = access.parent
    return (
        above is not None and above.kind == "assignment_expression" and above.children[0] is access
    )


def _action(records: list[_Record]) -> str:
    """Return what to write: vectors where all records are of numbers of four bytes that vectors of two or four hold."""
    vector, *others = {_vector(record) for record in records}
    if others or not vector:
        return _LAYOUT
    whole = all(vector.endswith(str(record.apart // record.size)) for record in records)
    taken = f"Take each record at once as {vector}" if whole else f"Load records by {vector}"
    return f"{taken}; memory of cudaMalloc begins at a multiple of its size, and so must rows."


def _vector(record: _Record) -> str:
    """Return the widest vector of which the record is a whole number; empty where none is."""
    kind, count = record.array.type.rstrip("*"), record.apart // record.size
    width = next((width for width in _WIDTHS if count % width == 0), 0)
    if record.array.written and width:
        return f"vectors of {width} {record.array.written}"
    return f"{kind}{width}" if width and ELEMENT_BYTES.get(kind) == record.size == WORD else ""


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void lengths(float *out, const float *points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = points[2 * i], y = points[2 * i + 1];      // two loads, each of every other word
    out[i] = sqrtf(x * x + y * y);
}""",
        """\
__global__ void lengths(float *out, const float2 *points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = points[i];                                // one load of neighbouring words
    out[i] = sqrtf(p.x * p.x + p.y * p.y);
}""",
    ),
)
RULE = source_rule(
    id="interleaved-records",
    title="Load records at once, or keep one array for each field",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="A load of every second word moves twice the sectors, and L1 has to keep them until the other words are loaded.",
    when="Each thread takes two elements or more of a record of less than 128 bytes, one load each.",
    citations=guide("10.2.1"),
    seen="points[3 * i + 1]",
    action=_LAYOUT,
)
