"""The tables of a kernel description; docs/kernel-toml.md is written from them."""

from __future__ import annotations

from gpuadvise.advisor.description import lists
from gpuadvise.advisor.description import values as v
from gpuadvise.advisor.description.code import code_images, driver, launch_bounds, number_type
from gpuadvise.advisor.description.measurements import PROFILE, TELEMETRY
from gpuadvise.advisor.description.tables import Key, Table
from gpuadvise.advisor.facts import application as app
from gpuadvise.advisor.facts import timing
from gpuadvise.advisor.facts.code import Compiled

COUNT = v.whole(1)
FACTOR = v.number(above=True)

# The launch: named like the options of `gpuadvise occupancy`.
LAUNCH = {
    "regs": Key("registers", v.whole(1, 65_536)),
    "block": Key("block_dim", lists.dims),
    "grid": Key("grid_dim", lists.dims),
    "smem": Key("static_shared", v.size),
    "dynamic_smem": Key("dynamic_shared", v.size),
    "max_dynamic_smem": Key("max_dynamic_shared", v.size),
    "carveout": Key("carveout", v.whole(0, 100)),
    "barriers": Key("barriers", v.whole(0, 2**31 - 1)),
    "cluster": Key("cluster_dim", lists.dims),
    "nonportable_cluster": Key("nonportable_cluster", v.flag),
}

# Facts of one value each.
PLAIN = {
    "name": Key("kernel", v.text),
    "elements": Key("elements", COUNT),
    "syncs": Key("barriers_used", v.flag),
    "latency": Key("arithmetic_latency", v.whole(1, 10_000)),
    "ilp": Key("independent_instructions", v.number(1)),
    "concurrent": Key("concurrent", v.flag),
    "persisting_l2": Key("persisting_l2", v.size),
    "total_time": Key("run_seconds", v.seconds),
    "launch_bounds": Key("launch_bounds", launch_bounds),
    "compile_flags": Key("compile_flags", lists.texts),
    "code": Key("code", code_images),
    "driver": Key("driver", driver),
    "environment": Key("environment", lists.text_table),
    "mig": Key("mig", v.flag),
    "sanitized": Key("sanitized", v.flag),
}

TABLES = {
    "traffic": Table(
        timing.Traffic,
        {
            "read": Key("read_bytes", v.size),
            "write": Key("written_bytes", v.size),
            "time": Key("seconds", v.seconds),
            "reported_rate": Key("reported_rate", v.rate),
        },
    ),
    "work": Table(
        timing.Work,
        {
            "flops": Key("flops", v.number(above=True)),
            "bytes": Key("bytes", v.size),
            "dtype": Key("dtype", number_type),
            "time": Key("seconds", v.seconds),
        },
    ),
    "pipeline": Table(
        timing.Pipeline,
        {
            "h2d": Key("to_device_seconds", v.seconds_or_none),
            "kernel": Key("kernel_seconds", v.seconds_or_none),
            "d2h": Key("to_host_seconds", v.seconds_or_none),
            "streams": Key("streams", COUNT),
            "per_op": Key("per_operation_seconds", v.seconds_or_none),
            "divisible": Key("divisible", v.flag),
        },
    ),
    "scaling": Table(
        app.Scaling,
        {
            "parallel": Key("parallel", v.share),
            "processors": Key("processors", COUNT),
            "target": Key("target", v.number(1)),
            "grows": Key("grows", v.flag),
        },
    ),
    "offload": Table(
        app.Offload,
        {
            "host_time": Key("host_seconds", v.seconds),
            "kernel_time": Key("kernel_seconds", v.seconds),
            "transfer_time": Key("transfer_seconds", v.seconds_or_none),
            "operations": Key("operations", COUNT),
            "elements": Key("elements", COUNT),
        },
    ),
    "reuse": Table(
        app.Reuse,
        {
            "factor": Key("factor", v.number(1)),
            "tile": Key("tile_bytes", v.size),
            "bytes": Key("total_bytes", v.size),
            "staged": Key("staged", v.flag),
        },
    ),
    "hot_region": Table(
        app.HotRegion,
        {
            "bytes": Key("bytes", v.size),
            "passes": Key("passes", v.number(1)),
            "pinned": Key("pinned", v.flag),
            "streamed": Key("streamed_bytes", v.size),
        },
    ),
    "tile": Table(
        app.Tile,
        {
            "bytes": Key("bytes", v.size),
            "element": Key("element_bytes", COUNT),
            "through": Key("through", v.word(app.TilePath)),
            "row_stride": Key("row_stride_bytes", v.size),
        },
    ),
    "allocations": Table(
        app.Allocations,
        {
            "per_iteration": Key("per_iteration", v.whole(0)),
            "iterations": Key("iterations", COUNT),
            "stream_ordered": Key("stream_ordered", v.flag),
            "pool_keeps_memory": Key("pool_keeps_memory", v.flag),
        },
    ),
    "managed": Table(
        app.Managed,
        {
            "bytes": Key("bytes", v.size),
            "prefetched": Key("prefetched", v.flag),
            "advised": Key("advised", v.flag),
        },
    ),
    "pinned": Table(
        app.Pinned, {"bytes": Key("bytes", v.size), "host_memory": Key("host_bytes", v.size)}
    ),
    "mapped": Table(app.Mapped, {"bytes": Key("bytes", v.size), "reads": Key("reads", FACTOR)}),
    "profile": PROFILE,
    "telemetry": TELEMETRY,
    "compiled": Table(
        Compiled,
        {
            "spill_stores": Key("spill_store_bytes", v.size),
            "spill_loads": Key("spill_load_bytes", v.size),
            "stack": Key("stack_bytes", v.size),
            "spills_exact": Key("spills_exact", v.flag),
            "fp64_instructions": Key("fp64_instructions", v.whole()),
            "instructions": Key("instructions", v.whole()),
        },
    ),
}
