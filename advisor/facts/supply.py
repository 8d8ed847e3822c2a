"""How a user supplies each fact: the sentence behind every ``not evaluated``."""

from __future__ import annotations

HOW = {
    "kernel": "Give the kernel a `name` in the kernel description.",
    "device": "Name the GPU: --gpu h100, --cc 9.0 or --device 0.",
    "sm_count": "Name the GPU: --gpu h100. A capability alone does not say how many SMs it has.",
    "launch": "Give the block size: --block 256.",
    "registers": "Give the registers per thread: --regs 32.",
    "occupancy": "Give GPU, registers and block size: --gpu h100 --regs 32 --block 256.",
    "launch_bounds": "Give the launch bounds: --launch-bounds 256,4.",
    "grid": "Give the grid size: --grid 1024.",
    "elements": "Give the number of elements: --elements 1000000.",
    "barriers_used": "Say whether the kernel calls __syncthreads(): --syncs.",
    "arithmetic_latency": (
        "Give the cycles a dependent instruction waits: --latency 4. "
        "NVIDIA documents them up to compute capability 7.5."
    ),
    "independent_instructions": "Give the independent instructions per thread (ILP): --ilp 2.",
    "concurrent": "Say whether kernels run in several streams: --concurrent.",
    "traffic": "Give bytes and time: --read 1GB --write 1GB --time 800us.",
    "work": "Give operations and bytes: --flops 2e12 --bytes 3GB --time 5ms.",
    "transfers": "List the copies as [[kernel.transfers]] in the kernel description.",
    "pipeline": "Give the times of one pass: --h2d 3ms --kernel-time 2ms.",
    "run_seconds": "Give the end-to-end time: --total-time 20ms.",
    "scaling": "Give the fractions: --parallel 0.9 --processors 132.",
    "offload": "Describe [kernel.offload] in the kernel description.",
    "stages": "List the pipeline's steps as [[kernel.stages]] in the kernel description.",
    "accesses": "Describe how a warp addresses memory: --word 4 --stride 1, or [[kernel.accesses]].",
    "reuse": "Describe [kernel.reuse] in the kernel description.",
    "hot_region": "Describe [kernel.hot_region] in the kernel description.",
    "tile": "Describe [kernel.tile] in the kernel description.",
    "allocations": "Describe [kernel.allocations] in the kernel description.",
    "managed": "Describe [kernel.managed] in the kernel description.",
    "pinned": "Describe [kernel.pinned] in the kernel description.",
    "mapped": "Describe [kernel.mapped] in the kernel description.",
    "compile_flags": 'Give the compiler\'s flags: --compile-flags "-O3 -use_fast_math".',
    "compiled": "Give what `ptxas -v` prints: --spill-stores 8 --spill-loads 8 --stack 0, or the binary.",
    "sources": "Give the source files: `gpuadvise lint FILE.cu`.",
    "profile": (
        "Give a profile: `ncu --csv --page details --set full ./app > report.csv`, "
        "then --ncu report.csv."
    ),
    "telemetry": "Run on the machine with the GPU, with --device 0, or give --from SNAPSHOT.",
    "devices": "Run on the machine with the GPUs: --device 0.",
    "environment": "Run where the program runs: --environment.",
}
