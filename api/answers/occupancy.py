"""The answer of ``gpuadvise occupancy``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.fields import (
    BYTES,
    AnswerDeclaration,
    Count,
    Keywords,
    May,
    Record,
    Share,
    record,
)


@record
class OccupancyFigures(Record):
    """What the model says about one launch.

    Limits are the blocks per SM that each resource allows, null for no limit; limiters are all
    whose limit is the answer.
    """

    blocks_per_sm: Count
    """Blocks that are resident on an SM at a time."""
    warps_per_sm: Count
    """Warps resident on an SM."""
    threads_per_sm: Count
    """Threads resident on an SM."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""
    limiters: Annotated[
        tuple[Literal["warps", "blocks", "registers", "shared_memory", "barriers"], ...],
        Keywords(uniqueItems=True),
    ]
    """What limits the blocks of an SM; all that tie."""
    limits: Annotated[
        Mapping[str, Count | None],
        Keywords(required=("warps", "blocks", "registers", "shared_memory", "barriers")),
    ]
    """Blocks that each resource allows; null: no limit."""
    launchable: bool
    """Whether a block fits at all."""
    reason: str | None
    """Why, in a sentence."""
    carveout_bytes: Annotated[Count, BYTES]
    """Shared memory per SM that the driver sets aside.

    Shared memory that the SM is switched to.
    """
    registers_per_block: Count | None
    """Registers of a block."""
    shared_memory_per_block: Annotated[Count, BYTES]
    """Shared memory of a block, bytes.

    As allocated, the reserve included.
    """
    needs_optin: Count | None
    """Whether dynamic shared memory needs the opt-in attribute.

    Bytes that MaxDynamicSharedMemorySize must be raised to before the launch.
    """


@record
class OccupancyStep(Record):
    """Step, in the answer of ``occupancy``."""

    resource: Literal["warps", "blocks", "registers", "shared_memory", "barriers"]
    """What to change."""
    unit: Literal[
        "threads_per_block",
        "registers_per_thread",
        "shared_memory_per_block",
        "shared_memory_per_sm",
        "barriers_per_block",
    ]
    """Unit of the value."""
    from_: Count
    """The value now."""
    to: Count
    """The value to set."""
    blocks_per_sm: Count
    """Blocks that are resident on an SM at a time."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""
    how: str
    """What to do, or how it was computed."""
    confidence: Literal["unlikely", "likely", "compiled"]
    """How sure the step is: unlikely, likely or compiled.

    How sure it is that the step makes the kernel faster: unlikely means compile and look.
    """
    together_with: Annotated[
        tuple[Literal["warps", "blocks", "registers", "shared_memory", "barriers"], ...],
        Keywords(uniqueItems=True),
    ]
    """What must change with it."""


@record
class OccupancyRuntimeError(Record):
    """Runtime error, in the answer of ``occupancy``."""

    cause: str
    """Why, in a word."""
    name: str
    """Its name."""
    code: Count | None
    """Number of the error."""
    formerly: str | None = None
    """The error's name in older toolkits.

    The name before CUDA 13, where it was another.
    """
    asked: Count
    """The value that was asked for."""
    allowed: Count
    """The largest value that the device allows."""


@record
class OccupancySize(Record):
    """Size, in the answer of ``occupancy``."""

    block: Count
    """Threads per block."""
    blocks_per_sm: Count
    """Blocks that are resident on an SM at a time."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""


@record
class OccupancySuggestedBlocks(Record):
    """Suggested blocks, in the answer of ``occupancy``."""

    runtime_helper: OccupancySize
    """What the runtime's own helper suggests."""
    guide: tuple[OccupancySize, ...]
    """What the guide's own formula gives."""


@record
class OccupancyLaunchBounds(Record):
    """Launch bounds, in the answer of ``occupancy``."""

    threads: Count
    """Threads per block."""
    blocks: Count | None
    """Blocks per SM that the bounds ask for."""
    register_budget: Count | None
    """Registers per thread that the bounds allow."""
    ignored: str | None
    """Whether the launch bounds have no effect."""
    over_budget: Count
    """Whether the registers exceed what the bounds allow."""


@record
class OccupancyClusters(Record):
    """Clusters resident on the whole GPU at a time.

    Source: of this GPU's driver, measured on another GPU of this product, or a bound; largest:
    blocks of the largest cluster that can start, where the driver was asked.
    """

    count: Count
    """How many."""
    source: Literal["driver", "measured", "bound"]
    """Whose count: driver, measured (another GPU of this product) or bound."""
    blocks_per_sm: Count
    """Blocks per SM of a launch with clusters."""
    upper_bound: Count
    """The most there can be, however the SMs are grouped."""
    largest: Count | None
    """Blocks of the largest cluster that can start; the driver's."""


@record
class OccupancyCarveout(Record):
    """How the answer divides an SM's memory, and the least shared memory with the same blocks.

    Null where an SM has no carveout or no block can start.
    """

    bytes: Annotated[Count, BYTES]
    """Shared memory per SM that the answer assumes."""
    l1_bytes: Annotated[Count, BYTES] | None
    """L1 per SM that it leaves."""
    smallest_bytes: Annotated[Count, BYTES]
    """Least shared memory per SM that holds as many blocks."""
    smallest_per_cent: Annotated[int, Keywords(minimum=0, maximum=100)]
    """Carveout that asks for the least."""
    smallest_l1_bytes: Annotated[Count, BYTES] | None
    """L1 per SM that the least leaves."""


@record
class OccupancyAnswer(Record):
    """What the driver answers for a kernel of as many registers, and why it does not."""

    registers: Count | None
    """Registers of the kernel that it was asked about."""
    blocks_per_sm: Count | None
    """Blocks that are resident on an SM at a time."""
    clusters: Count | None
    """Clusters that it counts."""
    largest_cluster: Count | None
    """Blocks of the largest cluster that can start."""
    problem: str | None
    """Why it did not answer."""


@record
class OccupancyDriverCheck(Record):
    """Driver check, in the answer of ``occupancy``."""

    compared: Count
    """Whether a live driver was asked."""
    differences: tuple[
        Annotated[Mapping[str, object], Keywords(required=("limit", "model", "driver"))], ...
    ]
    """Where the driver says something else."""
    answer: May[OccupancyAnswer] = None
    """The driver's answer for such a kernel.

    The driver's answer for a kernel of as many registers as its compiler gave, and why there is
    none.
    """


@record
class OccupancyResult(OccupancyFigures):
    """What ``occupancy`` answers."""

    next_steps: tuple[OccupancyStep, ...]
    """What would raise occupancy, with what it gives."""
    wave_size: Count | None = None
    """Blocks that the whole GPU holds at a time."""
    waves: float | None
    """Rounds in which the grid runs."""
    tail_efficiency: Share | None
    """Blocks / blocks of as many full waves."""
    fits_cooperative: bool | None = None
    """Whether the whole grid is resident at a time."""
    clusters_upper_bound: Count | None = None
    """Clusters that fit at a time, at most."""
    clusters_count: Count | None = None
    """Rows of a batch: the clusters that its waves rest on."""
    clusters_source: Literal["driver", "measured", "bound", None] = None
    """Rows of a batch: where that count comes from, as clusters.source."""
    runtime_error: OccupancyRuntimeError | None = None
    """The error that CUDA would return."""
    fixes: tuple[str, ...]
    """Changes after which the launch works.

    Smallest change first.
    """
    warps_per_block: May[Count] = None
    """Warps of a block."""
    headroom: Annotated[Mapping[str, Count | None], Keywords(required=("regs", "dynamic_smem"))]
    """What may be added without losing a block.

    The most a kernel may take at the same blocks per SM, each alone.
    """
    suggested_blocks: OccupancySuggestedBlocks | None
    """Block sizes to try."""
    launch_bounds: OccupancyLaunchBounds | None = None
    """What the launch bounds allow."""
    clusters: OccupancyClusters | None = None
    """Clusters that are resident on the whole GPU at a time.

    Clusters resident on the whole GPU at a time. source: of this GPU's driver, measured on another
    GPU of this product, or a bound; largest: blocks of the largest cluster that can start, where
    the driver was asked.
    """
    waves_are_bounds: bool | None = None
    """Whether waves, tail and idle SMs are those of the fewest waves.

    The size of a wave is an upper bound, and so waves, tail_efficiency and idle_sms are those of
    the fewest waves.
    """
    idle_sms: Count | None = None
    """SMs that no block is left for.

    SMs that no block of a wave is left for; with clusters there may be more.
    """
    chosen_block: Count | None = None
    """Block size that was chosen, where none was given.

    The block size, where none was given and one was chosen.
    """
    carveout: OccupancyCarveout | None = None
    """How an SM's memory is divided between shared memory and L1.

    How the answer divides an SM's memory, and the least shared memory with the same blocks; null
    where an SM has no carveout or no block can start.
    """
    caveat: str | None = None
    """What the answer leaves out.

    Why the answer is an upper bound.
    """
    extrapolated: May[bool] = None
    """Whether limits are those of the nearest known capability."""
    driver_check: May[OccupancyDriverCheck] = None
    """What the live driver says of it."""


@record
class OccupancySwept(OccupancyFigures):
    """One value of a sweep, with its own field, and what the model says about it."""

    KEYWORDS: ClassVar = {
        "anyOf": [
            {"required": ["block"]},
            {"required": ["regs"]},
            {"required": ["dynamic_smem"]},
            {"required": ["barriers"]},
            {"required": ["compute_capability"]},
        ]
    }


@record
class OccupancySweep(Record):
    """What one --sweep, or --all-cc, in the answer of ``occupancy``."""

    sweep: tuple[OccupancySwept, ...]
    """One row per value."""


@record
class OccupancyTier(Record):
    """Tier, in the answer of ``occupancy``."""

    warps_per_sm: Count
    """Warps resident on an SM."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""
    launches: Count
    """Launches that reach it."""
    spans: Mapping[str, Annotated[tuple[Count, ...], Keywords(minItems=2, maxItems=2)]]
    """Least and greatest value of each figure there.

    Least and greatest value of each axis at this occupancy.
    """


@record
class OccupancyRow(Record):
    """One launch of several --sweep.

    Its figures under their option's key, and no limiters where no block can start.
    """

    KEYWORDS: ClassVar = {"additionalProperties": False}
    regs: May[Count] = None
    """Registers per thread."""
    block: May[Count] = None
    """Block dimensions, or threads per block."""
    dynamic_smem: May[Annotated[Count, BYTES]] = None
    """Dynamic shared memory per block, bytes."""
    barriers: May[Count] = None
    """Named barriers that a block uses."""
    blocks_per_sm: Count
    """Blocks that are resident on an SM at a time."""
    warps_per_sm: Count
    """Warps resident on an SM."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""
    limiters: Annotated[
        tuple[Literal["warps", "blocks", "registers", "shared_memory", "barriers"], ...],
        Keywords(uniqueItems=True),
    ]
    """What limits the blocks of an SM; all that tie."""


@record
class OccupancyGrid(Record):
    """Several --sweep.

    Every combination. tiers gather the launches by occupancy, the fullest first; roomiest are
    those of the fullest that leave the kernel most registers or shared memory.
    """

    launches: Count
    """Launches that several --sweep make together."""
    tiers: tuple[OccupancyTier, ...]
    """The occupancies that these launches reach, the fullest first."""
    roomiest: tuple[OccupancyRow, ...]
    """The fullest launches that leave the kernel most registers or shared memory."""
    sweep: tuple[OccupancyRow, ...]
    """One row per value."""


@record
class OccupancyInputAxis(Record):
    """Input axis, in the answer of ``occupancy``."""

    axis: Literal["block", "regs", "dynamic_smem", "barriers"]
    first: Count
    last: Count
    values: Count
    """How many."""


@record
class OccupancyInput(Record):
    """What ``occupancy`` was asked."""

    regs: Annotated[int, Keywords(minimum=1)] | None
    block: (
        Annotated[tuple[Annotated[int, Keywords(minimum=1)], ...], Keywords(minItems=3, maxItems=3)]
        | None
    )
    smem: Count
    dynamic_smem: Count | None
    smem_per_thread: May[Count] = None
    """Bytes of dynamic_smem that come with each thread of the block."""
    elements: Count | None = None
    """What the grid has a thread for, each."""
    barriers: Count
    cluster: Annotated[
        tuple[Annotated[int, Keywords(minimum=1)], ...], Keywords(minItems=3, maxItems=3)
    ]
    nonportable_cluster: May[bool] = None
    grid: (
        Annotated[tuple[Annotated[int, Keywords(minimum=1)], ...], Keywords(minItems=3, maxItems=3)]
        | None
    )
    carveout: Annotated[int, Keywords(minimum=0, maximum=100)] | None
    cache: Literal["none", "shared", "l1", "equal"]
    launch_bounds: Annotated[tuple[int | None, ...], Keywords(minItems=2, maxItems=2)] | None
    no_opt_in: bool
    sweep: May[Literal["block", "regs", "dynamic_smem", "barriers"]] = None
    axes: May[tuple[OccupancyInputAxis, ...]] = None
    """With several --sweep: what varies, the last fastest."""


DECLARATION = AnswerDeclaration(
    command="occupancy",
    title="JSON answer of gpuadvise occupancy",
    description="Sizes in bytes, shares from 0 to 1, counts per SM unless the name says block. null is not known, not asked, or no limit. With --sweep or --all-cc, result holds one row per value; a line of --batch has the fields of $defs/answer.",
    input=OccupancyInput,
    named={"answer": OccupancyFigures},
    results=(
        OccupancyResult,
        OccupancySweep,
        OccupancyGrid,
    ),
)
