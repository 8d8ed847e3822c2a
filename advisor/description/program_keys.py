"""The keys of the program around a kernel: what it does, what a recording of it shows, its other launches."""

from __future__ import annotations

from gpuadvise.advisor import values as v
from gpuadvise.advisor.description.keys import COUNT
from gpuadvise.advisor.description.tables import Key, KeyTable, one_or_more
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts import application as app
from gpuadvise.advisor.facts import report_launches as launched
from gpuadvise.advisor.facts import timeline as traced
from gpuadvise.advisor.facts.ranks import RankWaits
from gpuadvise.advisor.facts.step_memory import StepMemory

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

STEP_MEMORY = KeyTable(
    StepMemory,
    {
        "steps": Key("steps", v.whole(2)),
        "growth": Key("growth_bytes", v.size),
        "allocated": Key("allocated_bytes", v.size),
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
    "in_turn",
    "host_idle",
    "host_copy",
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
    "communication",
    "link_copy",
    "exposed_communication",
    "rank_wait",
    "queueing_idle",
    "release_idle",
    "load_idle",
    "launch_overhead",
    "recording",
    "median_kernel",
    "exposed_copy",
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
    "concatenation",
    "sort",
    "embedding_gradient",
    "many_tensors",
    "fill",
    "double_passes",
    "lone_updates",
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
        "lone_updates_of_a_step": Key("lone_updates", v.whole()),
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

MAPPED = KeyTable(
    app.Mapped, {"bytes": Key("bytes", v.size), "reads": Key("reads", v.number(above=True))}
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
