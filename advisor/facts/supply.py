"""How a user supplies each fact: the sentence behind every ``not evaluated``."""

from __future__ import annotations

_PROFILE = (
    "Give a profile: `ncu --csv --page details --set full ./app > report.csv`, "
    "then --ncu report.csv."
)
_RAW = (
    "Give the raw page of a profile: `ncu --csv --page raw --set full ./app > raw.csv`, "
    "then --ncu raw.csv."
)
_PTXAS = (
    "Give what `ptxas -v` prints: --spill-stores 8 --spill-loads 8 --stack 0, "
    "or run `gpuadvise kernels FILE --advise`."
)
_LIVE = "Run on the machine with the GPU, with --device 0, or give --from SNAPSHOT."

HOW = {
    "kernel": "Give the kernel a `name` in the kernel description.",
    "device": "Name the GPU: --gpu h100, --cc 9.0 or --device 0.",
    "sm_count": "Name the GPU: --gpu h100. A capability alone does not say how many SMs it has.",
    "memory_bandwidth": "Name the GPU: --gpu h100. A capability alone does not say its bandwidth.",
    "persisting_l2": (
        "Run on the GPU itself (--device 0), or give `persisting_l2` in the kernel description."
    ),
    "fp64_ratio": "Name a GPU whose FP32 and FP64 peaks are known: --gpu h100.",
    "link": "Name the GPU: --gpu h100 or --device 0.",
    "launch": "Give the block size: --block 256.",
    "registers": "Give the registers per thread: --regs 32.",
    "launched": "Give GPU and block size: --gpu h100 --block 256.",
    "occupancy": "Give GPU, registers and block size: --gpu h100 --regs 32 --block 256.",
    "launch_bounds": "Give the launch bounds: --launch-bounds 256,4.",
    "grid": "Give the grid size: --grid 1024.",
    "elements": "Give the number of elements: --elements 1000000.",
    "barriers_used": "Say whether the kernel calls __syncthreads(): --syncs.",
    "arithmetic_latency": (
        "Give the cycles a dependent instruction waits: --latency 4. NVIDIA "
        "documents them up to compute capability 7.5."
    ),
    "independent_instructions": "Give the independent instructions per thread (ILP): --ilp 2.",
    "concurrent": "Say whether kernels run in several streams: --concurrent.",
    "traffic": "Give bytes and time: --read 1GB --write 1GB --time 800us.",
    "work": "Give operations and bytes: --flops 2e12 --bytes 3GB --time 5ms.",
    "roofline": (
        "Give operations, bytes, a data type and a GPU: --flops 2e12 --bytes 3GB "
        "--dtype fp32 --gpu h100."
    ),
    "transfers": "List the copies as [[kernel.transfers]] in the kernel description.",
    "transfer_seconds": (
        "Give the times of the copies: --h2d 3ms --d2h 1ms, or `time` in each [[kernel.transfers]]."
    ),
    "blocking_copies": "Say `blocking = true` or `false` in each [[kernel.transfers]].",
    "pipeline": "Give the times of one pass: --h2d 3ms --kernel-time 2ms.",
    "run_seconds": "Give the end-to-end time: --total-time 20ms.",
    "scaling": "Give the fractions: --parallel 0.9 --processors 132.",
    "offload": "Describe [kernel.offload] in the kernel description.",
    "stages": "List the pipeline's steps as [[kernel.stages]] in the kernel description.",
    "accesses": (
        "Describe how a warp addresses memory: --word 4 --stride 1, or [[kernel.accesses]]."
    ),
    "global_accesses": "Describe how a warp addresses global memory: --word 4 --stride 2.",
    "shared_accesses": 'Describe the access: [[kernel.accesses]] with space = "shared".',
    "constant_accesses": (
        'Describe the access: [[kernel.accesses]] with space = "constant" and `distinct`.'
    ),
    "row_accesses": (
        "Give the width of a row: --row-bytes 4000, or `row_bytes` in [[kernel.accesses]]."
    ),
    "scattered_accesses": "Say `local_2d = true` in [[kernel.accesses]] where it applies.",
    "reuse": "Describe [kernel.reuse] in the kernel description.",
    "hot_region": "Describe [kernel.hot_region] in the kernel description.",
    "tile": "Describe [kernel.tile] in the kernel description.",
    "allocations": "Describe [kernel.allocations] in the kernel description.",
    "managed": "Describe [kernel.managed] in the kernel description.",
    "pinned": "Describe [kernel.pinned] in the kernel description.",
    "mapped": "Describe [kernel.mapped] in the kernel description.",
    "compile_flags": 'Give the compiler\'s flags: --compile-flags "-O3 -use_fast_math".',
    "compiled": _PTXAS,
    "spill_bytes": _PTXAS,
    "spill_requests": _PROFILE,
    "stack_bytes": _PTXAS,
    "fp64_share": (
        "Give instruction counts: `fp64_instructions` and `instructions` in [kernel.compiled]."
    ),
    "code": (
        "Give the device code of the program: --code sm_80,compute_90, or `gpuadvise compat FILE`."
    ),
    "driver": "Give the driver: --driver 12.4, or run with --device 0.",
    "observations": (
        "List what a reader of sources saw as [[kernel.observations]] in the kernel description."
    ),
    "profile": _PROFILE,
    "sector_efficiency": _RAW,
    "bank_efficiency": _RAW,
    "active_threads": _PROFILE,
    "stalls": _RAW,
    "telemetry": _LIVE,
    "sanitized": "Say `sanitized = true` or `false` in the kernel description, or add --all.",
    "mig": _LIVE,
    "devices": _LIVE,
    "environment": "Add --environment where the program runs.",
}
