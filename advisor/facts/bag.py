"""The bag of facts: each field is something a rule can ask for by name, declared once, here."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor import values
from gpuadvise.advisor.description import keys
from gpuadvise.advisor.description.tables import LateTable, ListOf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.description.tables import Table
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.application import (
        Allocations,
        HotRegion,
        Managed,
        Mapped,
        Offload,
        Pinned,
        Reuse,
        Scaling,
        Stage,
        Tile,
    )
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds, Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.report_launches import Handover, OtherLaunch, PassChain
    from gpuadvise.advisor.facts.step_memory import StepMemory
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Pipeline, Traffic, Transfer, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.advisor.roofline import Roofline
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology
    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.advisor.values import Reader


_PROFILE = "Give a profile: `ncu --set full -o report ./app`, then --ncu report.ncu-rep."
_RAW = (
    "Give a report with all metrics: `ncu --set full -o report ./app`, then --ncu "
    "report.ncu-rep, or its raw page as CSV."
)
_PTXAS = (
    "Give what `ptxas -v` prints: --spill-stores 8 --spill-loads 8 --stack 0, "
    "or run `gpuadvise kernels FILE --advise`."
)
_LIVE = "Run on the machine with the GPU, with --device 0, or give --from SNAPSHOT."


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """How a user supplies a fact: the sentence, and where it stands in a kernel description.

    *key* is None for facts that no key of their own gives; *toml* is an example of what gives
    this one, with its key.
    """

    how: str
    unit: str
    key: str | None
    read: Reader | Table | None
    toml: str
    of_machine: bool  # tells nothing of a kernel


def fact(
    how: str,
    *,
    unit: str = "",
    key: str | None = None,
    read: Reader | Table | None = None,
    toml: str = "",
    of_machine: bool = False,
) -> Any:
    """Return the declaration of a fact, a field that is None unless it is given.

    *how* is the sentence behind "not evaluated". *read* reads the fact from a kernel
    description, where it has the name of the field unless *key* names it; *toml* is the example
    that docs/kernel-description.md shows. *of_machine*: the fact tells nothing of a kernel.
    """
    return field(
        default=None,
        metadata={
            "how": how, "unit": unit, "key": key, "read": read, "toml": toml,
            "of_machine": of_machine,
        },
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything known about one kernel; ``None`` means not known.

    A field's name is what a rule asks for by a parameter of its check. The pages
    docs/adding-a-rule.md and docs/kernel-description.md are written from these fields.
    """

    kernel: str | None = fact(
        "Give the kernel a `name` in the kernel description.",
        key="name",
        read=values.text,
        toml='name = "blur"',
    )
    device: Device | None = fact(
        "Name the GPU: --gpu h100, --cc 9.0 or --device 0.", of_machine=True
    )
    sm_count: int | None = fact(
        "Name the GPU: --gpu h100. A capability alone does not say how many SMs it has.",
        of_machine=True,
    )
    memory_bandwidth: float | None = fact(
        "Name the GPU: --gpu h100. A capability alone does not say its bandwidth.",
        unit="bytes/s, theoretical",
        of_machine=True,
    )
    persisting_l2: int | None = fact(
        "Run on the GPU itself (--device 0), or give `persisting_l2` in the kernel description.",
        unit="bytes",
        read=values.size,
        toml="persisting_l2 = 39_321_600",
        of_machine=True,
    )
    fp64_ratio: float | None = fact(
        "Name a GPU whose FP32 and FP64 peaks are known: --gpu h100.",
        unit="FP64 per FP32 operation at peak",
        of_machine=True,
    )
    link: LinkModel | None = fact("Name the GPU: --gpu h100 or --device 0.", of_machine=True)
    launch: Launch | None = fact(
        "Give the block size: --block 256.",
        toml="""
        # The launch: named like the options of `gpuadvise occupancy`.
        regs = 72
        block = [32, 8]  # or 256, or "32x8"
        grid = 96
        smem = 0  # static shared memory
        dynamic_smem = "60KiB"
        max_dynamic_smem = "60KiB"  # the opt-in attribute, where the program sets it
        carveout = 50  # per cent
        barriers = 1
        cluster = 1
        nonportable_cluster = false
        """,
    )
    registers: int | None = fact(
        "Give the registers per thread: --regs 32.",
        unit="registers per thread",
    )
    # An unknown register count sets no limit in it.
    launched: Occupancy | None = fact("Give GPU and block size: --gpu h100 --block 256.")
    occupancy: Occupancy | None = fact(
        "Give GPU, registers and block size: --gpu h100 --regs 32 --block 256."
    )
    launch_bounds: LaunchBounds | None = fact(
        "Give the launch bounds: --launch-bounds 256,4.",
        read=keys.launch_bounds,
        toml="launch_bounds = [256, 4]",
    )
    grid: tuple[int, int, int] | None = fact("Give the grid size: --grid 1024.")
    elements: int | None = fact(
        "Give the number of elements: --elements 1000000.",
        read=keys.COUNT,
        toml="elements = 24_576",
    )
    barriers_used: bool | None = fact(
        "Say whether the kernel calls __syncthreads(): --syncs.",
        key="syncs",
        read=values.flag,
        toml="syncs = true  # calls __syncthreads()",
    )
    arithmetic_latency: int | None = fact(
        (
            "Give the cycles a dependent instruction waits: --latency 4. NVIDIA documents them "
            "up to compute capability 7.5."
        ),
        unit="cycles",
        key="latency",
        read=values.whole(1, 10_000),
        toml="latency = 4  # cycles of dependent arithmetic, where you know them",
        of_machine=True,
    )
    independent_instructions: float | None = fact(
        "Give the independent instructions per thread (ILP): --ilp 2.",
        key="ilp",
        read=values.number(1),
        toml="ilp = 2  # independent instructions per thread",
    )
    concurrent: bool | None = fact(
        "Say whether kernels run in several streams: --concurrent.",
        read=values.flag,
        toml="concurrent = false  # other kernels run beside it",
    )
    default_stream: bool | None = fact(
        "Say `default_stream = true` or `false` in the kernel description.",
        read=values.flag,
        toml="default_stream = false  # it is launched into the default stream",
    )
    launches: int | None = fact(
        "Give a profile of all launches, or `launches` in the kernel description.",
        unit="of this kernel in this shape, in the same run",
        read=keys.COUNT,
        toml="launches = 1_000",
    )
    handover: Handover | None = fact(
        "Give a report with all metrics of launches in a row: `ncu --set full -o report ./app`, then --ncu report.ncu-rep, or its raw page as CSV.",
        read=LateTable("program_keys", "HANDOVER"),
        toml="""
        # What the launch just before it wrote and this one passes over; `times` in the report, one after the other.
        handover = { kernel = "gemm", bytes = "256MB", writes = "256MB", time = "120us", before_reads = "64MB", before_time = "400us", reads_beside = "4KiB", times = 12 }
        """,
    )
    pass_chain: PassChain | None = fact(
        "Give a report with all metrics of launches in a row: `ncu --set full -o report ./app`, then --ncu report.ncu-rep, or its raw page as CSV.",
        read=LateTable("program_keys", "PASS_CHAIN"),
        toml="""
        # Launches in a row that each pass once over arrays of one size; bytes and times of all, and of the largest.
        pass_chain = { kernels = ["scale", "square", "step"], array = "64MB", bytes = "600MB", most_bytes = "256MB", time = "150us", longest = "60us", one_shape = true, least = "50us", ends = "128MB" }
        """,
    )
    faster_launches: tuple[OtherLaunch, ...] | None = fact(
        "Give a report that holds the same kernel in several block sizes or versions.",
        read=ListOf(LateTable("program_keys", "OTHER_LAUNCH")),
        toml="""
        # The same work, launched otherwise and done in less time, the fastest first.
        [[kernel.faster_launches]]
        block = 256
        grid = 4096
        time = "80us"
        registers = 32
        name = "tile<1>"
        """,
    )
    traffic: Traffic | None = fact(
        "Give bytes and time: --read 1GB --write 1GB --time 800us.",
        read=keys.TRAFFIC,
        toml="""
        # What it moves and computes.
        traffic = { read = "1GB", write = "1GB", time = "1ms", reported_rate = "2TB/s" }
        """,
    )
    work: Work | None = fact(
        "Give operations and bytes: --flops 2e12 --bytes 3GB --time 5ms.",
        read=keys.WORK,
        toml='work = { flops = 2e9, bytes = "2GB", dtype = "fp32", tensor = false, time = "1ms" }',
    )
    roofline: Roofline | None = fact(
        "Give operations, bytes, a data type and a GPU: --flops 2e12 --bytes 3GB --dtype "
        "fp32 --gpu h100."
    )
    transfers: tuple[Transfer, ...] | None = fact(
        "List the copies as [[kernel.transfers]] in the kernel description.",
        read=ListOf(keys.TRANSFER),
        toml="""
        [[kernel.transfers]]
        direction = "h2d"  # or d2h
        bytes = "64MiB"
        memory = "pinned"  # or pageable, mapped, managed
        time = "1.2ms"
        count = 10
        blocking = false
        """,
    )
    transfer_seconds: float | None = fact(
        (
            "Give the times of the copies: --h2d 3ms --d2h 1ms, or `time` in each "
            "[[kernel.transfers]]."
        ),
        unit="seconds, of all copies of one run",
    )
    blocking_copies: int | None = fact(
        "Say `blocking = true` or `false` in each [[kernel.transfers]]."
    )
    pipeline: Pipeline | None = fact(
        "Give the times of one pass: --h2d 3ms --kernel-time 2ms.",
        read=keys.PIPELINE,
        toml="""
        # One pass of copies and kernel, each part on its own; how it is staged now.
        pipeline = { h2d = "5ms", kernel = "4ms", d2h = "1ms", streams = 1, per_op = "4us", divisible = true, host = "30ms" }
        """,
    )
    run_seconds: float | None = fact(
        "Give the end-to-end time: --total-time 20ms.",
        unit="seconds",
        key="total_time",
        read=values.seconds,
        toml='total_time = "20ms"  # end to end',
    )
    timeline: TracedRun | None = fact(
        "Give a recorded run: `gpuadvise advise trace.json.gz`, of PyTorch, JAX or Nsight Systems.",
        read=LateTable("program_keys", "TIMELINE"),
        toml="""
        # A recorded run as a whole; a timeline among the files of `advise` fills this.
        [kernel.timeline]
        span = "100ms"
        busy = "90ms"
        recorder = "PyTorch"
        kernels = 900
        median_kernel = "95us"
        launches = 900
        graph_launches = 0
        hidden_graphs = false
        launch_overhead = "5us"  # what the profiler adds to a launch
        launch_idle = "4ms"  # time in which the GPU had no work, by cause
        host_idle = "3ms"
        host_gaps = 2
        host_copy = "0s"  # copies between such gaps in which the host does one thing
        wait_idle = "2ms"
        allocation_idle = "1ms"
        copy_idle = "0s"
        queueing_idle = "0s"
        copy_wait_idle = "0s"  # of that after waits, what copies are waited for
        release_idle = "0s"
        load_idle = "0s"
        start_up = "0s"  # idle beside the span: what a program does once
        before = "0s"  # the host's own code before the GPU's first work
        after = "0s"  # and behind its last
        outside_calls = "0s"  # in calls of CUDA there
        outside_call = "cudaMalloc"  # which call took most of what is done once
        queued = "0s"  # before the GPU's first work, though it had been launched
        silent_before = "0s"  # of the program, before its first call of CUDA
        silent_after = "0s"  # and behind its last
        frame_period = "40ms"  # where a clock paces the work, as a camera does
        calls_pytorch = true
        lost_launches = 0  # of kernels that the recording does not hold
        sampled = false  # most of its events were left out, so that idle time is not known
        start_cause = { cause = "start-up", time = "3s", culprit = "aten::cudnn_convolution", culprit_time = "2s" }  # most of what is done once
        before_cause = { cause = "host-work", time = "2s", culprit = "read_samples" }  # through most of what comes before
        communication = "0s"  # time in which kernels send to other GPUs, hidden or not
        in_turn = "0s"  # kernels in several streams that late launches kept apart
        link_copy = "0s"  # time in which copies cross the link, hidden or not
        exposed_communication = "0s"  # no kernel computes meanwhile
        rank_wait = "0s"  # of that, waiting for other ranks
        collectives = 0
        idle_causes = [{ cause = "launch", time = "4ms" }, { cause = "host-work", time = "3ms", culprit = "__next__", culprit_time = "2ms", file = "data.py", line = 41, function = "collate_fn", loader = "itself" }]
        has_stacks = true  # the recorder kept the lines of Python
        saved_without_waits = "1ms"  # by replays of the recorded times
        saved_without_copy_calls = "0s"
        waits = 3
        waited = "80ms"
        values_read = 1
        values_read_time = "2us"
        exposed_copy = "0s"  # of copies, while no kernel runs
        migration = "0s"
        has_tensor_cores = true  # by the names of its kernels
        single_precision = "0s"  # matrix kernels outside of tensor cores
        short_products = "0s"  # of those, in kernels of less than 10 us
        double_precision = "0s"
        unaligned = "0s"  # matrix kernels that load one or two 16-bit elements at once
        layout = "0s"  # conversions between NCHW and NHWC
        elementwise = "10ms"  # passes over memory for one operation each
        fused = "1ms"  # one pass in their place, at least
        softmax = "3ms"  # of those, passes of a softmax
        fused_attention = "0s"  # kernels of attention that store no scores
        concatenation = "0s"  # torch.cat and the like
        sort = "0s"  # of whole arrays, by PyTorch
        embedding_gradient = "0s"  # gradients with a row for each of an embedding's table
        many_tensors = "0s"  # an optimizer's passes over many parameters at once
        fill = "0s"  # fills of arrays with one value
        double_passes = "0s"  # operators in FP64 that are no products
        lone_updates = "0s"  # steps of an optimizer that updates parameter by parameter
        lone_updates_of_a_step = 0  # its kernels
        products = [{ rows = 4096, columns = 4096, inner = 4096, dtype = "bfloat16", batch = 1, calls = 100, time = "40ms" }]
        """,
    )
    run_share: float | None = fact(
        "Give a recorded run beside the kernel: `gpuadvise advise trace.json.gz report.csv`.",
        unit="share of the recorded run that the kernel takes (0-1)",
        read=values.share,
        toml="run_share = 0.4  # of the run's time, all launches of this kernel together",
    )
    brief_run: bool | None = fact(
        "Give a recorded run beside the kernel: `gpuadvise advise trace.json.gz report.csv`.",
        unit="whether too little of a run was recorded to judge it by",
        read=values.flag,
        toml="brief_run = false  # too little of that run was recorded to judge it by",
    )
    scaling: Scaling | None = fact(
        "Give the fractions: --parallel 0.9 --processors 132.",
        read=LateTable("program_keys", "SCALING"),
        toml="""
        # Amdahl and Gustafson.
        scaling = { parallel = 0.95, processors = 132, target = 10, grows = false }
        """,
    )
    offload: Offload | None = fact(
        "Give the times of both: --host-time 30ms --kernel-time 2ms --h2d 256MiB, or [kernel.offload] in the kernel description.",
        read=LateTable("program_keys", "OFFLOAD"),
        toml="""
        # Is the GPU worth its transfers?
        offload = { host_time = "100ms", kernel_time = "2ms", transfer_time = "10ms", operations = 1_000_000, elements = 1_000_000 }
        """,
    )
    stages: tuple[Stage, ...] | None = fact(
        "List the pipeline's steps as [[kernel.stages]] in the kernel description.",
        read=ListOf(LateTable("program_keys", "STAGE")),
        toml="""
        [[kernel.stages]]
        name = "filter"
        on = "device"  # or host
        in = "64MiB"
        out = "64MiB"
        host_needed = false
        time = "2ms"
        device_time = "2ms"
        """,
    )
    accesses: tuple[Access, ...] | None = fact(
        "Describe how a warp addresses memory: --word 4 --stride 1, or [[kernel.accesses]].",
        read=ListOf(keys.ACCESS),
        toml="""
        [[kernel.accesses]]
        name = "a[2 * i]"
        space = "global"  # or shared, constant
        word = 4
        stride = 2  # words between neighbouring lanes, or "8B"
        offset = 0  # words from an aligned address, or "4B"
        alignment = 4
        row_bytes = 4096
        local_2d = false
        textured = false
        bytes = "64MiB"  # of the whole array: up to 16 KiB stay in L1

        [[kernel.accesses]]
        name = "table[index[i]]"
        space = "constant"
        word = 4
        indices = [0, 5, 9, 2]  # one per lane, instead of a stride
        distinct = 4  # addresses that a warp reads
        """,
    )
    global_accesses: tuple[Access, ...] | None = fact(
        "Describe how a warp addresses global memory: --word 4 --stride 2."
    )
    shared_accesses: tuple[Access, ...] | None = fact(
        'Describe the access: [[kernel.accesses]] with space = "shared".'
    )
    constant_accesses: tuple[Access, ...] | None = fact(
        'Describe the access: [[kernel.accesses]] with space = "constant" and `distinct`.'
    )
    row_accesses: tuple[Access, ...] | None = fact(
        "Give the width of a row: --row-bytes 4000, or `row_bytes` in [[kernel.accesses]]."
    )
    scattered_accesses: tuple[Access, ...] | None = fact(
        "Say `local_2d = true` in [[kernel.accesses]] where it applies."
    )
    reuse: Reuse | None = fact(
        "Describe [kernel.reuse] in the kernel description.",
        read=LateTable("program_keys", "REUSE"),
        toml='reuse = { factor = 8, tile = "8KiB", bytes = "1GiB", staged = false }',
    )
    hot_region: HotRegion | None = fact(
        "Describe [kernel.hot_region] in the kernel description.",
        read=LateTable("program_keys", "HOT_REGION"),
        toml="""
        hot_region = { bytes = "30MiB", passes = 10, pinned = false, streamed = "1GiB" }
        """,
    )
    tile: Tile | None = fact(
        "Describe [kernel.tile] in the kernel description.",
        read=LateTable("program_keys", "TILE"),
        toml="""
        tile = { bytes = "16KiB", element = 16, through = "registers", row_stride = 4096 }
        """,
    )
    ranks: RankWaits | None = fact(
        "Give a folder with a recorded run for each rank: `gpuadvise advise traces/`.",
        read=LateTable("program_keys", "RANKS"),
        toml="""
        # How ranks waited for each other in collectives, and all communication that no kernel hides;
        # a folder of their traces fills this.
        ranks = { count = 8, span = "100ms", waited = "30ms", late = [7], collectives = 120, exposed = "35ms", computing = "60ms" }
        """,
    )
    allocations: Allocations | None = fact(
        "Describe [kernel.allocations] in the kernel description.",
        read=LateTable("program_keys", "ALLOCATIONS"),
        toml="allocations = { per_iteration = 2, iterations = 1000, stream_ordered = true, pool_keeps_memory = false }",
    )
    step_memory: StepMemory | None = fact(
        "Give a trace of PyTorch with memory and steps: profile(profile_memory=True), and prof.step() in the loop.",
        read=LateTable("program_keys", "STEP_MEMORY"),
        toml='step_memory = { steps = 5, growth = "16MiB", allocated = "1.5GiB" }',
    )
    managed: Managed | None = fact(
        "Describe [kernel.managed] in the kernel description.",
        read=LateTable("program_keys", "MANAGED"),
        toml='managed = { bytes = "2GiB", prefetched = false, advised = false, taken_back = "0" }',
    )
    pinned: Pinned | None = fact(
        "Describe [kernel.pinned] in the kernel description.",
        read=LateTable("program_keys", "PINNED"),
        toml='pinned = { bytes = "1GiB", host_memory = "64GiB" }',
    )
    mapped: Mapped | None = fact(
        "Describe [kernel.mapped] in the kernel description.",
        read=LateTable("program_keys", "MAPPED"),
        toml='mapped = { bytes = "1GiB", reads = 1 }',
    )
    compile_flags: tuple[str, ...] | None = fact(
        'Give the compiler\'s flags: --compile-flags "-O3 -use_fast_math".',
        read=values.texts,
        toml='compile_flags = "-O3 -lineinfo"',
    )
    compiled: Compiled | None = fact(
        _PTXAS,
        read=keys.COMPILED,
        toml="""
        # What `ptxas -v` prints, and counts of instructions.
        compiled = { spill_stores = 0, spill_loads = 0, stack = 0, spills_exact = true, fp64_instructions = 0, instructions = 1200, debug = false }
        """,
    )
    spill_bytes: int | None = fact(
        _PTXAS,
        unit="bytes stored and loaded per thread",
    )
    spill_requests: float | None = fact(
        _PROFILE,
        unit="requests, counted by a profiler",
    )
    stack_bytes: int | None = fact(
        _PTXAS,
        unit="bytes per thread",
    )
    fp64_share: float | None = fact(
        ("Give instruction counts: `fp64_instructions` and `instructions` in [kernel.compiled]."),
        unit="share of all instructions (0-1)",
    )
    code: Survey | None = fact(
        (
            "Give the device code of the program: --code sm_80,compute_90, or `gpuadvise compat"
            " FILE`."
        ),
        read=keys.code_images,
        toml='code = ["sm_80", "sm_90", "compute_90"]',
    )
    driver: Driver | None = fact(
        "Give the driver: --driver 12.4, or run with --device 0.",
        read=values.driver,
        toml='driver = "12.4"',
        of_machine=True,
    )
    observations: tuple[Observation, ...] | None = fact(
        "Give the source too (.cu, .py or .ipynb), or list its places as [[kernel.observations]] in the kernel description.",
        read=ListOf(keys.OBSERVATION),
        toml="""
        # What another reader of sources saw: `fault` is a rule's id.
        [[kernel.observations]]
        fault = "divergent-barriers"
        file = "blur.cu"
        line = 12
        column = 5
        seen = "__syncthreads()"
        kernel = "blur"
        detail = { note = "in a loop" }
        """,
    )
    local_arrays: tuple[str, ...] | None = fact(
        "Give the .cu file beside the binary: it declares the arrays of each thread.",
        read=values.texts,
        toml='local_arrays = "taps[64]"',
    )
    profile: KernelProfile | None = fact(
        _PROFILE,
        read=LateTable("measured_keys", "PROFILE"),
        toml="""
        # What a profiler measured; `--ncu report.ncu-rep` fills this from Nsight Compute.
        [kernel.profile]
        time = "1ms"
        waves = 4.5  # how often the grid fills the GPU
        achieved_occupancy = 0.4
        compute_throughput = 0.3
        memory_throughput = 0.7
        dram_throughput = 0.7
        l1_throughput = 0.3
        shared_atomics_throughput = 0  # of what L1 can pass on
        l2_throughput = 0.5
        issue_slots_busy = 0.2
        l1_hit_rate = 0.1
        l2_hit_rate = 0.5
        global_sectors = 8_000_000
        global_sectors_ideal = 4_000_000
        dram_read = 96_000_000         # bytes
        dram_written = 32_000_000
        host_sectors_read = 0          # of 32 bytes, over the link
        shared_wavefronts = 1000
        shared_wavefronts_ideal = 1000
        local_spill_requests = 0
        active_threads = 31.5
        unpredicated_threads = 29.0  # of those
        pipes = { fma = 0.2, lsu = 0.3, xu = 0.1 }
        stalls = { long_scoreboard = 12.0, wait = 3.0 }
        instructions = 1_000_000  # of warps
        elapsed_cycles = 1_500_000
        float_instructions = { ffma = 16_000_000 }  # of threads
        loads = { requests = 30_000, sectors = 120_000, used_bytes = 32 }
        stores = { requests = 10_000, sectors = 40_000, used_bytes = 32 }
        local_loads = { requests = 0 }
        local_stores = { requests = 0 }
        reductions = { requests = 0 }  # atomics without a result
        atomics = { requests = 0 }
        shared_loads = { requests = 1000, wavefronts = 1000, conflicts = 0 }
        shared_stores = { requests = 500 }
        shared_atomics = 0
        sm_cycles = { least = 1_400_000, mean = 1_450_000, most = 1_500_000 }
        """,
    )
    limiter: Limiter | None = fact(_PROFILE)
    sector_efficiency: float | None = fact(
        _RAW,
        unit="sectors needed / sectors moved",
    )
    bank_efficiency: float | None = fact(
        _RAW,
        unit="wavefronts needed / wavefronts taken",
    )
    active_threads: float | None = fact(
        _PROFILE,
        unit="threads per executed instruction, of 32",
    )
    stalls: Mapping[str, float] | None = fact(
        _RAW,
        unit="cycles per issue, by reason",
    )
    telemetry: Telemetry | None = fact(
        _LIVE,
        read=LateTable("measured_keys", "TELEMETRY"),
        toml="""
        # What NVML reports; `--device 0` and `--from SNAPSHOT` fill this from a machine.
        [kernel.telemetry]
        gpu_utilisation = 0.9
        memory_utilisation = 0.5
        performance_state = 0
        sm_clock_hz = 1_980_000_000
        sm_clock_max_hz = 1_980_000_000
        memory_clock_hz = 3_201_000_000
        memory_clock_max_hz = 3_201_000_000
        clock_event_reasons = ["the power limit is reached"]
        power_watts = 640
        power_limit_watts = 700
        power_limit_default_watts = 700
        power_limit_requested_watts = 700
        clock_limit_seconds = { power = 1.5 }
        temperature_celsius = 70
        temperature_slowdown_celsius = 92
        temperature_shutdown_celsius = 95
        memory_total_bytes = "140GiB"
        memory_used_bytes = "10GiB"
        memory_reserved_bytes = "500MiB"
        memory_free_bytes = "129GiB"
        pcie_generation = 5
        pcie_generation_max = 5
        pcie_lanes = 16
        pcie_lanes_max = 16
        ecc_enabled = true
        ecc_enabled_after_reboot = true
        ecc_corrected = 0
        ecc_uncorrected = 0
        row_remap_pending = false
        row_remap_failed = false
        page_retirement_pending = false
        xids = [31]
        persistence_mode = true
        compute_mode = "default"
        recovery_action = "none"
        processes = [{ pid = 1001, kind = "compute", name = "train", memory_bytes = "9GiB" }]
        """,
        of_machine=True,
    )
    topology: Topology | None = fact(
        _LIVE,
        read=LateTable("measured_keys", "TOPOLOGY"),
        toml="""
        # How the GPU is connected, as NVML tells it.
        [kernel.topology]
        nvlink_bandwidth_mode = "full"
        [[kernel.topology.nvlinks]]
        number = 0
        up = true
        resting = false
        bytes_per_second = 26_562_000_000
        to = "gpu"
        peer = 1
        replays = 0
        recoveries = 0
        crc_errors = 0
        """,
        of_machine=True,
    )
    nvlinks_fitted: int | None = fact(
        _LIVE,
        unit="NVLinks that the product has",
        read=values.whole(1),
        toml="nvlinks_fitted = 18",
        of_machine=True,
    )
    sibling_nvlinks: int | None = fact(
        _LIVE,
        unit="NVLinks up on the best connected other GPU of the same product here",
        read=values.whole(),
        toml="sibling_nvlinks = 18",
        of_machine=True,
    )
    sanitized: bool | None = fact(
        "Say `sanitized = true` or `false` in the kernel description, or add --all.",
        read=values.flag,
        toml="sanitized = true  # compute-sanitizer has been run",
        of_machine=True,
    )
    mig: bool | None = fact(_LIVE, read=values.flag, toml="mig = false", of_machine=True)
    devices: tuple[Device, ...] | None = fact(
        _LIVE, toml='devices = ["h200", "h200"]  # GPUs of the machine', of_machine=True
    )
    environment: Mapping[str, str] | None = fact(
        "Add --environment where the program runs.",
        read=values.text_table,
        toml='environment = { CUDA_VISIBLE_DEVICES = "0,1" }',
        of_machine=True,
    )


def _supply(name: str, how: str, key: str | None, read: Any, **more: Any) -> Supply:
    return Supply(how=how, key=key or (name if read else None), read=read, **more)


SUPPLY = {item.name: _supply(item.name, **item.metadata) for item in fields(Facts)}
HOW = {name: supply.how for name, supply in SUPPLY.items()}
OF_MACHINE = frozenset(name for name, supply in SUPPLY.items() if supply.of_machine)
_VALUES = attrgetter(*HOW)


def known_facts(facts: Facts) -> dict[str, Any]:
    """Return what is known of *facts*, by name."""
    values = zip(HOW, _VALUES(facts), strict=True)
    return {name: value for name, value in values if value is not None}
