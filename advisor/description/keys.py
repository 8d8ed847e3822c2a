"""The tables of a kernel description: the keys of each record, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor import values as v
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.description.tables import Key, KeyTable, LateTable, one_or_more
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts import application as app
from gpuadvise.advisor.facts import report_launches as launched
from gpuadvise.advisor.facts import timeline as traced
from gpuadvise.advisor.facts import timing
from gpuadvise.advisor.facts.access import Access, Space
from gpuadvise.advisor.facts.code import Compiled, LaunchBounds, Observation
from gpuadvise.advisor.facts.ranks import RankWaits
from gpuadvise.advisor.transfers.copies import Direction

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.compatibility.survey import Survey


def _profile() -> KeyTable:
    from gpuadvise.advisor.description.measured_keys import PROFILE

    return PROFILE


def _telemetry() -> KeyTable:
    from gpuadvise.advisor.description.measured_keys import TELEMETRY

    return TELEMETRY


def _topology() -> KeyTable:
    from gpuadvise.advisor.description.measured_keys import TOPOLOGY

    return TOPOLOGY


PROFILE, TELEMETRY, TOPOLOGY = map(LateTable, (_profile, _telemetry, _topology))


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
FACTOR = v.number(above=True)

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

SCALING = KeyTable(
    app.Scaling,
    {
        "parallel": Key("parallel", v.share),
        "processors": Key("processors", COUNT),
        "target": Key("target", v.factor()),
        "grows": Key("grows", v.flag),
    },
)

OFFLOAD = KeyTable(
    app.Offload,
    {
        "host_time": Key("host_seconds", v.seconds),
        "kernel_time": Key("kernel_seconds", v.seconds),
        "transfer_time": Key("transfer_seconds", v.seconds_or_none),
        "operations": Key("operations", COUNT),
        "elements": Key("elements", COUNT),
    },
)

REUSE = KeyTable(
    app.Reuse,
    {
        "factor": Key("factor", v.number(1)),
        "tile": Key("tile_bytes", v.size),
        "bytes": Key("total_bytes", v.size),
        "staged": Key("staged", v.flag),
    },
)

HOT_REGION = KeyTable(
    app.HotRegion,
    {
        "bytes": Key("bytes", v.size),
        "passes": Key("passes", v.number(1)),
        "pinned": Key("pinned", v.flag),
        "streamed": Key("streamed_bytes", v.size),
    },
)

TILE = KeyTable(
    app.Tile,
    {
        "bytes": Key("bytes", v.size),
        "element": Key("element_bytes", COUNT),
        "through": Key("through", v.word(app.TilePath)),
        "row_stride": Key("row_stride_bytes", v.size),
    },
)

ALLOCATIONS = KeyTable(
    app.Allocations,
    {
        "per_iteration": Key("per_iteration", v.whole(0)),
        "iterations": Key("iterations", COUNT),
        "stream_ordered": Key("stream_ordered", v.flag),
        "pool_keeps_memory": Key("pool_keeps_memory", v.flag),
    },
)

PRODUCT = KeyTable(
    traced.TracedProduct,
    {
        **{name: Key(name, COUNT) for name in ("rows", "columns", "inner", "batch", "calls")},
        "dtype": Key("dtype", v.text),
        "time": Key("seconds", v.seconds),
    },
)


_IDLE = (
    "launch_idle",
    "host_idle",
    "wait_idle",
    "allocation_idle",
    "copy_idle",
    "copy_wait_idle",
    "start_up",
    "before",
    "after",
    "outside_calls",
    "queued",
    "silent_before",
    "silent_after",
    "frame_period",
    "exposed_communication",
    "rank_wait",
    "queueing_idle",
    "release_idle",
    "load_idle",
    "launch_overhead",
    "median_kernel",
    "migration",
    "single_precision",
    "short_products",
    "double_precision",
    "unaligned",
    "layout",
    "elementwise",
    "fused",
    "softmax",
    "fused_attention",
    "waited",
    "busy",
)
_TRACED_COUNTS = (
    "kernels",
    "launches",
    "graph_launches",
    "host_gaps",
    "waits",
    "values_read",
    "collectives",
    "lost_launches",
)

IDLE_CAUSE = KeyTable(
    traced.IdleCause,
    {
        "cause": Key("cause", v.text),
        "time": Key("seconds", v.seconds),
        "culprit": Key("culprit", v.text),
        "culprit_time": Key("culprit_seconds", v.seconds),
        "file": Key("file", v.text),
        "line": Key("line", COUNT),
        "function": Key("function", v.text),
        "loader": Key("loader", v.text),
        "communicates": Key("communicates", v.flag),
    },
)

TIMELINE = KeyTable(
    traced.TracedRun,
    {
        "span": Key("span_seconds", v.seconds),
        **{name: Key(f"{name}_seconds", v.seconds_or_none) for name in _IDLE},
        "values_read_time": Key("values_read_seconds", v.seconds_or_none),
        **{name: Key(name, v.whole()) for name in _TRACED_COUNTS},
        "hidden_graphs": Key("hidden_graphs", v.flag),
        "has_stacks": Key("has_stacks", v.flag),
        "calls_pytorch": Key("calls_pytorch", v.flag),
        "sampled": Key("sampled", v.flag),
        "has_tensor_cores": Key("has_tensor_cores", v.flag),
        "recorder": Key("recorder", v.text),
        "outside_call": Key("outside_call", v.text),
        "products": Key("products", one_or_more(PRODUCT)),
        "idle_causes": Key("idle_causes", one_or_more(IDLE_CAUSE)),
        "start_cause": Key("start_cause", lambda raw: IDLE_CAUSE.value(raw, ())),
        "before_cause": Key("before_cause", lambda raw: IDLE_CAUSE.value(raw, ())),
        **{
            name: Key(f"{name}_seconds", v.seconds_or_none)
            for name in (
                "saved_without_waits",
                "saved_without_copy_calls",
            )
        },
    },
)

RANKS = KeyTable(
    RankWaits,
    {
        "count": Key("count", v.whole(2)),
        "span": Key("span_seconds", v.seconds),
        "waited": Key("waited_seconds", v.seconds_or_none),
        "late": Key("late", v.wholes),
        "collectives": Key("collectives", v.whole()),
        "exposed": Key("exposed_seconds", v.seconds_or_none),
        "computing": Key("computing_seconds", v.seconds_or_none),
    },
)

MANAGED = KeyTable(
    app.Managed,
    {
        "bytes": Key("bytes", v.size),
        "prefetched": Key("prefetched", v.flag),
        "advised": Key("advised", v.flag),
        "taken_back": Key("taken_back", v.size),
    },
)

PINNED = KeyTable(
    app.Pinned, {"bytes": Key("bytes", v.size), "host_memory": Key("host_bytes", v.size)}
)

MAPPED = KeyTable(app.Mapped, {"bytes": Key("bytes", v.size), "reads": Key("reads", FACTOR)})

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

HANDOVER = KeyTable(
    launched.Handover,
    {
        "kernel": Key("kernel", v.text),
        "bytes": Key("read_bytes", v.size),
        "writes": Key("written_bytes", v.size),
        "time": Key("seconds", v.seconds),
        "before_reads": Key("before_read_bytes", v.size),
        "before_time": Key("before_seconds", v.seconds),
        "reads_beside": Key("other_bytes", v.size),
        "times": Key("times", COUNT),
    },
)


def _chained(value: object) -> tuple[str, ...]:
    """Return the kernels of a chain, each as it is named; raises BadInput."""
    kernels = v.text_list(value)
    if len(kernels) < 2:
        raise BadInput("A chain has 2 kernels or more.")
    return kernels


PASS_CHAIN = KeyTable(
    launched.PassChain,
    {
        "kernels": Key("kernels", _chained),
        "array": Key("array_bytes", v.size),
        "bytes": Key("bytes", v.size),
        "most_bytes": Key("most_bytes", v.size),
        "time": Key("seconds", v.seconds),
        "longest": Key("longest_seconds", v.seconds),
        "one_shape": Key("one_shape", v.flag),
        "least": Key("least_seconds", v.seconds),
        "ends": Key("ends_bytes", v.size),
    },
)

OTHER_LAUNCH = KeyTable(
    launched.OtherLaunch,
    {
        "block": Key("block", v.block),
        "grid": Key("grid", v.dims),
        "time": Key("seconds", v.seconds),
        "registers": Key("registers", v.whole(1)),
        "name": Key("name", v.text),
    },
)

STAGE = KeyTable(
    app.Stage,
    {
        "name": Key("name", v.text),
        "on": Key("place", v.word(app.StagePlace)),
        "in": Key("input_bytes", v.size),
        "out": Key("output_bytes", v.size),
        "host_needed": Key("host_needed", v.flag),
        "time": Key("seconds", v.seconds),
        "device_time": Key("device_seconds", v.seconds),
    },
)
