"""The answer of ``gpuadvise timeline``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    FLOP_PER_SECOND,
    SECONDS,
    AnswerDeclaration,
    Count,
    Keywords,
    May,
    NotNegative,
    Record,
    Share,
    record,
)

IdleCause = Literal[
    "host-work",
    "synchronization",
    "launch",
    "copy",
    "allocation",
    "module-load",
    "other-call",
    "start-up",
    "profiler",
    "queued",
]


@record
class TimelineIdle(Record):
    """Idle, in the answer of ``timeline``."""

    cause: IdleCause
    """Why, in a word."""
    gaps: Count
    """Times in which the GPU did nothing."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""


@record
class TimelineAccount(Record):
    """Account, in the answer of ``timeline``: the first five add up to the span."""

    computing_seconds: Annotated[NotNegative, SECONDS]
    """A kernel ran that does not communicate, seconds."""
    exposed_communication_seconds: Annotated[NotNegative, SECONDS]
    """Kernels that communicate ran, and none that computes."""
    exposed_copy_seconds: Annotated[NotNegative, SECONDS]
    """Copies ran, and no kernel."""
    memset_seconds: Annotated[NotNegative, SECONDS]
    """Memsets ran, and neither kernel nor copy."""
    idle_seconds: Annotated[NotNegative, SECONDS]
    """Time in which the GPU did nothing."""
    start_up_seconds: Annotated[NotNegative, SECONDS]
    """Idle time of what a program does once."""
    first_steps_seconds: Annotated[NotNegative, SECONDS]
    """The GPU's work in first steps that take many times as long as later ones."""
    steady_seconds: Annotated[NotNegative, SECONDS]
    """The span without the program's start, idle time and first steps: what is judged."""
    before_seconds: Annotated[NotNegative, SECONDS]
    """From the host's first call to the GPU's first work, beside the span."""
    after_seconds: Annotated[NotNegative, SECONDS]
    """From the GPU's last work to the host's last call, beside the span."""
    outside_calls_seconds: Annotated[NotNegative, SECONDS]
    """Of these two, in calls: contexts, allocations, first launches, and what frees them."""


@record
class TimelineLimiter(Record):
    """Limiter, in the answer of ``timeline``: what takes the time of all that was recorded."""

    name: Literal[
        "start-up",
        "host-code",
        "waits",
        "allocation",
        "data-loading",
        "launches",
        "communication",
        "ranks",
        "copies",
        "pageable-copies",
        "few-blocks",
        "one-kernel",
        "many-kernels",
    ]
    """What it is, in a word."""
    subject: str | None
    """The kernel, the call or the host's doing that takes most of it."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time it takes."""
    share: Share
    """Share of the span and of the time before and after it, 0 to 1."""


@record
class TimelineKernel(Record):
    """Kernel, in the answer of ``timeline``."""

    name: str
    """Its name."""
    calls: Count
    """How often it ran."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    share: NotNegative
    """Share of the whole, 0 to 1.

    Of the span.
    """
    median_seconds: Annotated[NotNegative, SECONDS]
    """Median time."""
    longest_seconds: Annotated[NotNegative, SECONDS]
    """The longest one."""
    grid: Annotated[tuple[int, ...], Keywords(minItems=3, maxItems=3)] | None
    """Grid dimensions, or blocks in the grid."""
    block: Annotated[tuple[int, ...], Keywords(minItems=3, maxItems=3)] | None
    """Block dimensions, or threads per block."""
    cluster: Annotated[tuple[int, ...], Keywords(minItems=3, maxItems=3)] | None
    """Blocks per cluster."""
    registers: Count | None
    """Registers per thread."""
    static_smem: Annotated[Count, BYTES]
    """Static shared memory per block, bytes."""
    dynamic_smem: Annotated[Count, BYTES] | None
    """Dynamic shared memory per block, bytes."""
    local_memory: Annotated[Count, BYTES] | None
    """Local memory of a launch, bytes."""
    occupancy: Share | None
    """Resident warps / warps that fit, 0 to 1."""
    limiters: tuple[str, ...] | None
    """What limits the blocks of an SM; all that tie."""
    blocks_per_sm: Count | None
    """Blocks that are resident on an SM at a time."""
    waves: float | None
    """Rounds in which the grid runs."""
    streams: Count
    """Streams."""
    in_graphs: Count
    """Launches of it that were part of graphs."""
    reported_occupancy: float | None
    """Occupancy that the file states."""


@record
class TimelineRow(TimelineKernel):
    """A kernel, and which recording it is of: a line of CSV."""

    file: str
    """The recording: its file, in the folder that was named."""
    gpu: Count
    """Number of the GPU."""
    rank: Count | None
    """Rank in the program."""


@record
class TimelineCopies(Record):
    """Copies, in the answer of ``timeline``."""

    direction: Literal["h2d", "d2h", "d2d", "h2h", "p2p", "unknown"]
    """Way of the copy: h2d, d2h, d2d."""
    source: str
    """Kind of memory it comes from."""
    target: str
    """Kind of memory it goes to."""
    asynchronous: bool | None
    """Copies that did not block the host."""
    calls: Count
    """How often it ran."""
    bytes: Annotated[Count, BYTES]
    """Bytes moved."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    median_bytes: Annotated[Count, BYTES]
    """Median size of a copy."""
    largest_bytes: Annotated[Count, BYTES]
    """The largest copy."""
    rate: float | None
    """Bytes or operations per second."""
    link_rate: Annotated[float, BYTES_PER_SECOND] | None
    """What the link reaches, bytes/s.

    What large pinned copies reach on the link.
    """
    streams: Count
    """Streams."""


@record
class TimelineOverlap(Record):
    """Overlap, in the answer of ``timeline``."""

    achieved: Share
    """Hidden copy time / copy time that could hide."""
    traced_seconds: Annotated[NotNegative, SECONDS]
    """Time that the traced passes took."""
    possible_seconds: Annotated[NotNegative, SECONDS]
    """Copy time that could run beside kernels.

    The busiest engine's time: no staging is faster.
    """
    predicted_seconds: Annotated[NotNegative, SECONDS]
    """What the model predicts, seconds."""
    streams: Count
    """Streams."""
    passes: Count
    """Rounds of copy and kernel."""
    pageable: bool
    """Whether the host memory is pageable."""
    assumed: May[tuple[str, ...]] = None
    """What the prediction takes for granted, as no GPU is known."""


@record
class TimelineCollective(Record):
    """Collective, in the answer of ``timeline``."""

    operation: Literal[
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "broadcast",
        "reduce",
        "gather",
        "scatter",
        "send-receive",
        "barrier",
        "other",
    ]
    """What it does."""
    bytes: Annotated[Count, BYTES] | None
    """Size as nccl-tests counts it."""
    dtype: str | None
    """Type of the elements."""
    group_size: Count | None
    """Ranks that take part."""
    calls: Count
    """How often it ran."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    median_seconds: Annotated[NotNegative, SECONDS]
    """Median time."""
    shortest_seconds: Annotated[NotNegative, SECONDS]
    """The shortest run, which waited the least."""
    algorithm_rate: Annotated[float, BYTES_PER_SECOND] | None
    """Size / time of the shortest run."""
    bus_rate: Annotated[float, BYTES_PER_SECOND] | None
    """What each link carried in the shortest run."""


@record
class TimelineCommunication(Record):
    """Communication, in the answer of ``timeline``."""

    seconds: Annotated[NotNegative, SECONDS]
    """At least one kernel communicated, seconds."""
    hidden_seconds: Annotated[NotNegative, SECONDS]
    """Communication while another kernel computed."""
    exposed_seconds: Annotated[NotNegative, SECONDS]
    """Communication while no kernel computed."""
    collectives: tuple[TimelineCollective, ...]
    """Collectives by operation, size and group."""


@record
class TimelineRankWait(Record):
    """Wait of a rank, in the answer of ``timeline``."""

    rank: Count
    """Rank of the process."""
    span_seconds: Annotated[NotNegative, SECONDS]
    """First to last activity, seconds."""
    waited_seconds: Annotated[NotNegative, SECONDS]
    """Time it waited for other ranks."""
    exposed_wait_seconds: Annotated[NotNegative, SECONDS]
    """The part of it in which no kernel computed."""
    caused_seconds: Annotated[NotNegative, SECONDS]
    """How long others waited for it, in the mean."""
    last_in: Count
    """Collectives to which it came last."""


@record
class TimelineBalance(Record):
    """Balance of ranks, in the answer of ``timeline``."""

    collectives: Count
    """Collectives that were compared."""
    unmatched: Count
    """Collectives of some ranks only."""
    stragglers: tuple[Count, ...]
    """Ranks that the others wait for, worst first."""
    saved_seconds: Annotated[NotNegative, SECONDS]
    """What even work saves at most."""
    share: Share
    """Share of the whole, 0 to 1.

    Of the mean span.
    """
    speedup: float | None
    """Bound on the whole."""
    waits: tuple[TimelineRankWait, ...]
    """Waits of each rank."""


@record
class TimelineOperator(Record):
    """Operator, in the answer of ``timeline``."""

    name: str
    """Its name."""
    kind: Literal["product", "convolution", "attention", "norm", "elementwise", "other"]
    """What its work is counted as."""
    shapes: tuple[tuple[int, ...], ...]
    """Shapes of its inputs."""
    dtype: str | None
    """Type of the first tensor."""
    calls: Count
    """How often it ran."""
    kernels: Count
    """Kernels that it launched."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time of its kernels, seconds."""
    share: Share
    """Share of the whole, 0 to 1.

    Of all operators' kernel time.
    """
    flop_rate: Annotated[float, FLOP_PER_SECOND] | None
    """FLOP/s, by its shapes."""
    byte_rate: Annotated[float, BYTES_PER_SECOND] | None
    """Bytes/s that it moves at least, by its shapes."""
    of_roof: float | None
    """Rate / what the GPU attains for its work."""
    tensor_share: Share
    """Its time in kernels that use tensor cores, 0 to 1."""


@record
class TimelineFusion(Record):
    """Candidate for fusion, in the answer of ``timeline``."""

    first: str
    """The operator that writes."""
    second: str
    """The operator that may read it."""
    times: Count
    """How often they follow each other."""
    saved_bytes: Annotated[NotNegative, BYTES]
    """Bytes that are written and read again."""
    saved_seconds: Annotated[NotNegative, SECONDS] | None
    """The same at the memory's bandwidth."""


@record
class TimelineQueue(Record):
    """Launch queue, in the answer of ``timeline``."""

    median_delay_seconds: Annotated[NotNegative, SECONDS]
    """Median time from launch to start."""
    longest_delay_seconds: Annotated[NotNegative, SECONDS]
    """Longest time from launch to start."""
    longest_queue: Count
    """Most kernels launched and not begun."""
    full_seconds: Annotated[NotNegative, SECONDS]
    """Time with so many that a further launch waits (1,024)."""


@record
class TimelineStepMemory(Record):
    """Memory of a step, in the answer of ``timeline``."""

    step: str
    """Name of the step."""
    peak_bytes: Annotated[Count, BYTES]
    """The most that was allocated."""
    end_bytes: Annotated[Count, BYTES]
    """What was allocated at its end."""


@record
class TimelineModule(Record):
    """Module of PyTorch, in the answer of ``timeline``."""

    path: tuple[str, ...]
    """Its name, behind those of the modules around it."""
    kernels: Count
    """Kernels that it launched itself, not by a module inside of it."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time of these, seconds."""
    share: Share
    """Share of the whole, 0 to 1.

    Of all kernels' time.
    """
    backward_seconds: Annotated[NotNegative, SECONDS]
    """Of this time, in the backward pass."""
    with_inner_seconds: Annotated[NotNegative, SECONDS]
    """Its time with that of the modules inside of it."""
    flop_rate: Annotated[float, FLOP_PER_SECOND] | None
    """FLOP/s, by the shapes of its operators, over all its own time."""
    byte_rate: Annotated[float, BYTES_PER_SECOND] | None
    """Bytes/s that its operators move at least, over all its own time."""
    of_roof: float | None
    """Rate / what the GPU attains, of its operators whose work is known, by their time."""
    tensor_share: Share
    """Its own time in kernels that use tensor cores, 0 to 1."""
    operators: tuple[TimelineOperator, ...]
    """Operators that it called itself; their shares are of its own time."""


@record
class TimelineAnnotation(Record):
    """Annotation of the program, in the answer of ``timeline``."""

    path: tuple[str, ...]
    """Its name, behind those of the annotations around it."""
    kernels: Count
    """Kernels launched inside of it."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time of these, seconds."""
    share: Share
    """Share of the whole, 0 to 1.

    Of all kernels' time.
    """
    own_seconds: Annotated[NotNegative, SECONDS]
    """Of this time, what stands in no annotation inside of it."""


@record
class TimelineOperators(Record):
    """Operators, in the answer of ``timeline``."""

    operators: tuple[TimelineOperator, ...]
    """Operators by the time of their kernels."""
    fusions: tuple[TimelineFusion, ...]
    """Passes over memory that follow each other."""
    queue: TimelineQueue | None
    """Kernels between launch and start."""
    memory: tuple[TimelineStepMemory, ...]
    """Memory by step, where it was recorded."""
    creep_bytes: Annotated[Count, BYTES] | None
    """Bytes that each step leaves behind."""
    modules: tuple[TimelineModule, ...]
    """Modules by the time that they launched themselves, where the trace names them."""
    outside_modules_seconds: Annotated[NotNegative, SECONDS] | None
    """Time of kernels that no module launched; None where the trace names none."""
    backward_in_modules: bool | None
    """Whether the backward pass counts to its modules; None: there is none, or no modules."""
    annotations: tuple[TimelineAnnotation, ...]
    """Annotations by the time of the kernels launched inside of them."""


@record
class TimelineMemoryCategory(Record):
    """Category of memory, in the answer of ``timeline``."""

    category: Literal[
        "parameter",
        "optimizer-state",
        "input",
        "temporary",
        "activation",
        "gradient",
        "autograd-detail",
        "unknown",
    ]
    """What the memory is for, as PyTorch tells it."""
    bytes: Annotated[Count, BYTES]
    """What it held when most was allocated in all."""
    most_bytes: Annotated[Count, BYTES]
    """The most that it held at any time."""


@record
class TimelineMemory(Record):
    """Memory timeline, in the answer of ``timeline``."""

    file: str
    """Name of the file."""
    peak_bytes: Annotated[Count, BYTES]
    """The most that was allocated."""
    peak_seconds: Annotated[NotNegative, SECONDS]
    """When that was, behind the first time in the file."""
    seconds: Annotated[NotNegative, SECONDS]
    """From the first time in the file to the last."""
    categories: tuple[TimelineMemoryCategory, ...]
    """Memory by category, the largest at the peak first."""


@record
class TimelineCulprit(Record):
    """Culprit, in the answer of ``timeline``: what the host did through most of a gap."""

    name: str
    """Its name."""
    kind: Literal["operator", "annotation", "frame", "range"]
    """What names it: an operator, an annotation, a frame of Python, a range of NVTX."""
    file: str | None
    """File of the program's line that called it, without a folder."""
    line: Count | None
    """The line in that file."""
    function: str | None
    """The function around that line."""


@record
class TimelinePhase(Record):
    """Phase of a step, in the answer of ``timeline``."""

    phase: Literal["data", "forward", "backward", "optimizer", "communication", "prefill", "decode"]
    """What it is for."""
    kernel_seconds: Annotated[NotNegative, SECONDS]
    """Time of the kernels that it launched, seconds."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds.

    From its first kernel to its last; of data, idle time while a loader is asked.
    """


@record
class TimelineStep(Record):
    """Step, in the answer of ``timeline``: its parts add up to its time."""

    number: Count
    """Number of the step."""
    start_seconds: Annotated[float, SECONDS]
    """When it starts.

    From the GPU's first activity; negative where the host began before.
    """
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    computing_seconds: Annotated[NotNegative, SECONDS]
    """A kernel ran that does not communicate, seconds."""
    exposed_communication_seconds: Annotated[NotNegative, SECONDS]
    """Kernels that communicate ran, and none that computes."""
    exposed_copy_seconds: Annotated[NotNegative, SECONDS]
    """Copies or memsets ran, and no kernel."""
    idle_seconds: Annotated[NotNegative, SECONDS]
    """Time in which the GPU did nothing."""
    phases: tuple[TimelinePhase, ...]
    """Its phases, where the recording tells them."""


@record
class TimelineSteps(Record):
    """Steps, in the answer of ``timeline``."""

    source: Literal["profiler", "ranges", "kernels"]
    """What tells them: the profiler's marks, a range of NVTX, or a kernel that comes once in each."""
    range: str | None
    """Name of that range, its numbers as ``#``."""
    count: Count
    """How many there are."""
    median_seconds: Annotated[NotNegative, SECONDS]
    """Median time."""
    shortest_seconds: Annotated[NotNegative, SECONDS]
    """The shortest one."""
    longest_seconds: Annotated[NotNegative, SECONDS]
    """The longest one."""
    slowest: Count
    """Number of the longest step."""
    slowest_for: Literal["computing", "communication", "copies", "idle"]
    """Of what the longest step has most beyond the median."""
    slowest_for_seconds: Annotated[float, SECONDS]
    """How much that is."""
    phases: tuple[TimelinePhase, ...]
    """Median of each phase, where the recording tells them."""
    steps: tuple[TimelineStep, ...]
    """One record per step, in order of time."""


@record
class TimelineGap(Record):
    """Gap, in the answer of ``timeline``."""

    start_seconds: Annotated[NotNegative, SECONDS]
    """When it starts."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    cause: IdleCause
    """Why, in a word."""
    after_wait: bool
    """Whether the gap follows a call that waited for the GPU.

    The host had waited for the GPU.
    """
    culprit: TimelineCulprit | None
    """What the host did through most of it; null: the recording does not name it."""


@record
class TimelineIdlePlace(Record):
    """Idle place, in the answer of ``timeline``: what the host did in gaps, and from which line."""

    culprit: str
    """What the host did."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds.

    Of the gaps that are listed, what it takes.
    """
    share: Share
    """Share of the whole, 0 to 1.

    Of the span.
    """
    file: str | None
    """File of the program's line that called it, without a folder."""
    line: Count | None
    """The line in that file."""
    function: str | None
    """The function around that line."""


@record
class TimelineSynchronization(Record):
    """Synchronization, in the answer of ``timeline``."""

    name: str
    """Its name."""
    calls: Count
    """How often it ran."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    median_seconds: Annotated[NotNegative, SECONDS]
    """Median time."""
    longest_seconds: Annotated[NotNegative, SECONDS]
    """The longest one."""


@record
class TimelineGraph(Record):
    """Graph, in the answer of ``timeline``: all replays of graphs with so many kernels."""

    replays: Count
    """How often it was replayed."""
    kernels: Count
    """Kernels in one replay."""
    seconds: Annotated[NotNegative, SECONDS]
    """From the first kernel of each replay to its last, seconds."""
    kernel_seconds: Annotated[NotNegative, SECONDS]
    """Time of its kernels, seconds."""
    host_seconds: Annotated[NotNegative, SECONDS]
    """Time of the host in the calls that launched it."""
    single_launches_seconds: Annotated[NotNegative, SECONDS] | None
    """What as many launches of single kernels take the host; null: none was recorded."""


@record
class TimelineInference(Record):
    """Inference of a language model, in the answer of ``timeline``."""

    prefill_passes: Count
    """Prompts, or batches of them, that were computed."""
    prompt_tokens: Count | None
    """Tokens of all prompts; null: no shapes tell them."""
    prefill_seconds: Annotated[NotNegative, SECONDS]
    """From the first kernel of each prompt to its last."""
    decode_passes: Count
    """Passes that compute the next token of each request."""
    requests: Count | None
    """Requests of one such pass; null: no shapes tell them."""
    decode_seconds: Annotated[NotNegative, SECONDS]
    """From the first kernel of such passes to the last before a prompt."""
    tokens_per_second: float | None
    """Tokens of all requests that such passes made in a second."""


@record
class TimelineLaunches(Record):
    """Launches, in the answer of ``timeline``."""

    kernels: Count
    """One record per kernel.

    Runs seen on the GPU.
    """
    kernel_launches: Count
    """Launches of single kernels."""
    graph_launches: Count
    """Launches of CUDA graphs."""
    graph_kernels: Count
    """Kernels that ran in CUDA graphs."""
    hidden_graphs: bool
    """Whether graphs were recorded as one row each.

    Graphs were launched, their kernels not recorded.
    """
    graphs: tuple[TimelineGraph, ...]
    """Replays of graphs, where their kernels are joined with the calls."""
    host_seconds: Annotated[NotNegative, SECONDS]
    """Time the host spent in launches."""


@record
class TimelineProduct(Record):
    """Product, in the answer of ``timeline``."""

    operator: str
    """The operator that did it."""
    rows: Count
    """Rows of the result."""
    columns: Count
    """Columns of the result."""
    inner: Count
    """Columns of the first matrix, rows of the second."""
    batch: Count
    """Matrices in one call."""
    dtype: str
    """Number type."""
    calls: Count
    """How often it ran."""


@record
class TimelineWhatIf(Record):
    """What if, in the answer of ``timeline``."""

    change: Literal[
        "pin-memory",
        "merge-copies",
        "overlap-copies",
        "launch-graphs",
        "wait-less",
        "shorten-host-work",
        "reuse-memory",
        "shorten-calls",
        "fuse-kernels",
        "hide-communication",
        "keep-on-gpu",
        "avoid-copies",
        "speed-up-kernel",
        "prefetch-memory",
        "use-tensor-cores",
        "leave-fp64",
        "pad-products",
        "keep-layout",
        "fuse-attention",
        "fuse-passes",
        "even-ranks",
        "replace-operators",
    ]
    """What would be changed."""
    subject: str | None
    """What it is about."""
    saved_seconds: Annotated[NotNegative, SECONDS]
    """Time it would save, at most."""
    share: Share
    """Share of the whole, 0 to 1."""
    speedup: float | None
    """Time before / time after.

    Of the whole span; null: nothing bounds it.
    """
    how: str
    """What to do, or how it was computed."""


@record
class TimelineRecord(Record):
    """Record, in the answer of ``timeline``."""

    file: str
    """The file it is in."""
    recorder: Literal["pytorch", "nsight-systems", "jax"]
    """Who recorded it: pytorch, nsys, jax."""
    gpu: Count
    """Number of the GPU."""
    gpu_name: str | None
    """Name of the GPU in the file."""
    rank: Count | None
    """Rank of the process in a distributed run."""
    span_seconds: Annotated[NotNegative, SECONDS]
    """From the first event to the last.

    First to last activity.
    """
    busy_seconds: Annotated[NotNegative, SECONDS]
    """Time in which kernels or copies ran.

    Anything ran.
    """
    kernel_seconds: Annotated[NotNegative, SECONDS]
    """Time in which kernels ran.

    At least one kernel ran.
    """
    copy_seconds: Annotated[NotNegative, SECONDS]
    """Time in which copies ran.

    At least one copy ran.
    """
    overlapped_copy_seconds: Annotated[NotNegative, SECONDS]
    """Copy time in which a kernel ran as well.

    A copy and a kernel ran together.
    """
    memset_seconds: Annotated[NotNegative, SECONDS]
    """Time in which memory was set."""
    idle_seconds: Annotated[NotNegative, SECONDS]
    """Time in which the GPU did nothing."""
    idle: tuple[TimelineIdle, ...]
    """Time without work, by cause.

    All gaps by cause.
    """
    idle_in: tuple[TimelineIdlePlace, ...]
    """What the host did in the gaps that are listed, the longest time first; at most 50."""
    account: TimelineAccount
    """The span, each nanosecond counted once."""
    limiter: TimelineLimiter | None
    """What limits the run; null: nothing takes time."""
    too_short: bool
    """Whether too little ran to judge a run by."""
    kernels: tuple[TimelineKernel, ...]
    """One record per kernel."""
    copies: tuple[TimelineCopies, ...]
    """Copies by direction and kind of memory."""
    overlap: TimelineOverlap | None
    """Copies and kernels at the same time."""
    gaps: tuple[TimelineGap, ...]
    """Times in which the GPU did nothing.

    The longest, in order of time; at most 200.
    """
    steps: TimelineSteps | None
    """What the GPU did in each step; null: nothing tells them, or there are fewer than three."""
    synchronizations: tuple[TimelineSynchronization, ...]
    """Calls in which the host waited.

    Calls in which the host waited for the GPU.
    """
    inference: TimelineInference | None
    """Prompts and the tokens after them; null: nothing tells them."""
    launches: TimelineLaunches
    """Launches and what they cost the host."""
    communication: TimelineCommunication | None
    """What kernels send between GPUs.

    Kernels that communicate with other GPUs; null: there are none.
    """
    products: tuple[TimelineProduct, ...]
    """Matrix products with their shapes.

    Matrix products with their shapes, where the recording has them.
    """
    what_if: tuple[TimelineWhatIf, ...]
    """What each change would save.

    What one change could save at most; changes do not add up.
    """
    skipped_events: Count
    """Events that could not be read."""


@record
class TimelineResult(TimelineRecord):
    """What ``timeline`` answers."""

    others: tuple[TimelineRecord, ...]
    """The other timelines of these files."""
    ranks: TimelineBalance | None
    """How ranks waited for each other.

    null: fewer than two ranks of these files ran the same collective.
    """
    operators: TimelineOperators | None
    """Operators of PyTorch, with --operators."""
    memory_timelines: tuple[TimelineMemory, ...]
    """What memory held by category, of files of PyTorch's memory timeline."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """Parts of the files that could not be read, and why."""


@record
class TimelineInput(Record):
    """What ``timeline`` was asked."""

    files: tuple[str, ...]


DECLARATION = AnswerDeclaration(
    command="timeline",
    title="gpuadvise timeline --format json",
    description="Seconds, bytes, bytes per second, shares and occupancy from 0 to 1. null is not known. The fields of result are those of the GPU with the longest span; others holds the same fields of each further GPU or rank.",
    input=TimelineInput,
    results=(TimelineResult,),
    rows=(TimelineRow,),
)
