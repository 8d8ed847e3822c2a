"""The tables of a kernel description: the keys of each record, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor import values as v
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.description.tables import Key, KeyTable
from gpuadvise.advisor.facts import timing
from gpuadvise.advisor.facts.access import Access, Space
from gpuadvise.advisor.facts.code import Compiled, LaunchBounds, Observation
from gpuadvise.advisor.transfers.copies import Direction

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.compatibility.survey import Survey


def code_images(value: object) -> Survey:
    """Return the images that ``["sm_80", "compute_90"]`` lists, as one module; raises BadInput."""
    from gpuadvise.advisor.compatibility.survey import survey

    named = value.replace(",", " ") if isinstance(value, str) else value
    return survey(_image(target) for target in v.texts(named))


def _image(target: str) -> Entry:
    from gpuadvise.advisor.binaries.model import Content, Entry, Place

    ptx = target.lower().startswith("compute_")
    return Entry(
        content=Content.PTX if ptx else Content.SASS,
        place=Place(path="description"),
        capability=parse_capability(target),
        size=0,
        module=0,
    )


def launch_bounds(value: object) -> LaunchBounds:
    """Return launch bounds from ``256`` or ``[256, 4]``; raises BadInput."""
    threads, blocks = v.launch_bounds(value)
    return LaunchBounds(threads=threads, blocks=blocks)


def _copies(fields: dict[str, Any]) -> dict[str, Any]:
    """Return *fields* of a pipeline with each copy as its bytes or its seconds."""
    for way in ("to_device", "to_host"):
        if (amount := fields.pop(way, None)) is not None:
            fields |= {f"{way}_bytes": amount.size, f"{way}_seconds": amount.seconds}
    return fields


def _distances(fields: dict[str, Any]) -> dict[str, Any]:
    """Return *fields* of an access with the stride in words and the offset in bytes."""
    word = fields["word_bytes"]
    if "stride" in fields:
        fields["stride"] = fields["stride"].elements_of(word)
    if "offset_bytes" in fields:
        fields["offset_bytes"] = fields["offset_bytes"].bytes_of(word)
    return fields


COUNT = v.whole(1)

# The launch: named like the options of `gpuadvise occupancy`.
LAUNCH = {
    "regs": Key("registers", v.whole(1, 65_536)),
    "block": Key("block_dim", v.block),
    "grid": Key("grid_dim", v.dims),
    "smem": Key("static_shared", v.shared_size),
    "dynamic_smem": Key("dynamic_shared", v.shared_size),
    "max_dynamic_smem": Key("max_dynamic_shared", v.shared_size),
    "carveout": Key("carveout", v.per_cent),
    "barriers": Key("barriers", v.whole(0, 2**31 - 1)),
    "cluster": Key("cluster_dim", v.dims),
    "nonportable_cluster": Key("nonportable_cluster", v.flag),
}

TRAFFIC = KeyTable(
    timing.Traffic,
    {
        "read": Key("read_bytes", v.size),
        "write": Key("written_bytes", v.size),
        "time": Key("seconds", v.seconds),
        "reported_rate": Key("reported_rate", v.rate),
    },
)

WORK = KeyTable(
    timing.Work,
    {
        "flops": Key("flops", v.operations),
        "bytes": Key("bytes", v.size),
        "dtype": Key("dtype", v.number_type),
        "tensor": Key("tensor", v.flag),
        "time": Key("seconds", v.seconds),
    },
)

PIPELINE = KeyTable(
    timing.Pipeline,
    {
        "h2d": Key("to_device", v.copy),
        "kernel": Key("kernel_seconds", v.seconds_or_none),
        "d2h": Key("to_host", v.copy),
        "streams": Key("streams", COUNT),
        "per_op": Key("per_operation_seconds", v.seconds_or_none),
        "divisible": Key("divisible", v.flag),
        "host": Key("host_seconds", v.seconds),
    },
    _copies,
)

COMPILED = KeyTable(
    Compiled,
    {
        "spill_stores": Key("spill_store_bytes", v.size),
        "spill_loads": Key("spill_load_bytes", v.size),
        "stack": Key("stack_bytes", v.size),
        "spills_exact": Key("spills_exact", v.flag),
        "fp64_instructions": Key("fp64_instructions", v.whole()),
        "instructions": Key("instructions", v.whole()),
        "debug": Key("debug", v.flag),
    },
)

OBSERVATION = KeyTable(
    Observation,
    {
        "fault": Key("fault", v.text),
        "file": Key("file", v.text),
        "line": Key("line", COUNT),
        "column": Key("column", COUNT),
        "seen": Key("seen", v.text),
        "kernel": Key("kernel", v.text),
        "detail": Key("detail", v.text_table),
    },
)

TRANSFER = KeyTable(
    timing.Transfer,
    {
        "direction": Key("direction", v.word(Direction)),
        "bytes": Key("bytes", v.size),
        "memory": Key("memory", v.word(timing.HostMemory)),
        "time": Key("seconds", v.seconds),
        "count": Key("count", COUNT),
        "blocking": Key("blocking", v.flag),
    },
)

ACCESS = KeyTable(
    Access,
    {
        "name": Key("name", v.text),
        "space": Key("space", v.word(Space)),
        "word": Key("word_bytes", v.whole(1, 4096)),
        "stride": Key("stride", v.distance),
        "offset": Key("offset_bytes", v.distance),
        "indices": Key("indices", v.wholes),
        "row_bytes": Key("row_bytes", v.size),
        "alignment": Key("alignment", v.one_of(1, 2, 4, 8, 16)),
        "distinct": Key("distinct_addresses", v.whole(1, 32)),
        "local_2d": Key("local_2d", v.flag),
        "textured": Key("textured", v.flag),
        "bytes": Key("array_bytes", v.size),
    },
    _distances,
)
