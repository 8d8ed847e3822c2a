"""The answer of ``gpuadvise kernels``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import FindingRow, NotJudgedRecord
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
class KernelRecord(Record):
    """Kernel record, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    name: str
    """Its name.

    As in the file, mangled.
    """
    demangled: str | None
    """Name as the source writes it."""
    arch: Annotated[str, Keywords(pattern="^sm_[0-9]{2,3}[af]?$")] | None
    """Target of the code: sm_90, compute_80."""
    entry: bool
    """Whether it is a kernel, not a device function.

    false: a device function.
    """
    registers: Count | None
    """Registers per thread."""
    static_smem: Annotated[Count, BYTES] | None
    """Static shared memory per block, bytes.

    The user's own bytes per block.
    """
    reserved_smem: Annotated[Count, BYTES] | None
    """Shared memory that the system keeps per block, bytes.

    What the image adds for the driver, not in static_smem.
    """
    dynamic_smem: bool | None
    """Dynamic shared memory per block, bytes.

    true: its module declares dynamic shared memory.
    """
    stack: Annotated[Count, BYTES] | None
    """Stack of a thread, bytes.

    Bytes per thread, callees included; null also when unbounded.
    """
    stack_unbounded: bool | None
    """Whether recursion makes the stack unbounded."""
    frame: Annotated[Count, BYTES] | None
    """Frame of the function itself, bytes.

    Bytes of the function's own stack frame.
    """
    spill_stores: Count | None
    """Bytes of registers stored to local memory."""
    spill_loads: Count | None
    """Bytes loaded back after a spill."""
    spills_are: Literal["exact", "upper bound", "inferred", None]
    """Whether spills are exact or counted in instructions."""
    max_threads: Count | None
    """Most threads per block it was compiled for."""
    max_block: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)] | None
    """Largest block it was compiled for."""
    required_block: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)] | None
    """Block size the kernel demands."""
    launched_block: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)] | None
    """Block of the recorded launch."""
    launched_dynamic_smem: Annotated[Count, BYTES] | None
    """Dynamic shared memory of the recorded launch, bytes."""
    min_blocks: Count | None
    """Blocks per SM that launch bounds ask for."""
    min_blocks_are: Literal["exact", "upper bound", "inferred", None]
    """Whether that number is exact or derived."""
    register_cap: Count | None
    """The cap the compiler was given."""
    reconfigures_registers: bool | None
    """Whether warps change their registers while they run."""
    cluster: Annotated[tuple[Count, ...], Keywords(minItems=3, maxItems=3)] | None
    """Blocks per cluster."""
    max_cluster_rank: Count | None
    """Most blocks per cluster."""
    barriers: Count | None
    """Named barriers that a block uses."""
    param_bytes: Annotated[Count, BYTES] | None
    """Bytes of the kernel's parameters."""
    constant_banks: Mapping[str, Count] | None
    """Bytes in each constant bank.

    Bytes by bank.
    """
    code_bytes: Annotated[Count, BYTES] | None
    """Bytes of machine code."""
    instructions: Count | None
    """Instructions in the machine code.

    Counted with --advise, from sm_70 on.
    """
    fp64_instructions: Count | None
    """Double-precision instructions in the machine code."""
    global_loads: Mapping[str, Count] | None
    """Loads of global memory in the code by bytes per thread; counted with --advise, from sm_70
    on, as the next five.
    """
    global_stores: Mapping[str, Count] | None
    """Stores to global memory in the code by bytes per thread."""
    local_loads: Count | None
    """Loads of local memory in the code."""
    local_stores: Count | None
    """Stores to local memory in the code."""
    atomics: Count | None
    """Whether they have atomic operations on each other's memory.

    Atomic instructions and reductions in the code.
    """
    barrier_instructions: Count | None
    """Barriers in the code."""
    divisions: Count | None
    """Divisions of floats, doubles and integers by a value that is not constant."""
    linked: bool | None
    """Whether it is linked.

    false: relocatable, callees are not counted yet.
    """
    debug: bool | None
    """Whether it was compiled for a debugger."""
    toolkit: str | None
    """Toolkit that made it."""
    block_threads: Count | None
    """Threads per block.

    The block size that the occupancy is for.
    """
    block_from: Literal["given", "launch", "required block", "launch bounds", "best", None]
    """Where the block size comes from."""
    blocks_per_sm: Count | None
    """Blocks that are resident on an SM at a time."""
    warps_per_sm: Count | None
    """Warps resident on an SM."""
    occupancy: Share | None
    """Resident warps / warps that fit, 0 to 1."""
    limiters: (
        tuple[Literal["warps", "blocks", "registers", "shared_memory", "barriers"], ...] | None
    )
    """What limits the blocks of an SM; all that tie."""
    launchable: bool | None
    """Whether a block fits at all."""
    reason: str | None
    """Why, in a sentence."""
    source: Literal["cubin", "ptx", "ptxas-log", "nvlink-log", "cuobjdump", "ncu"]
    """What the record was read from."""
    file: str
    """The file it is in."""
    member: str | None
    """File inside an archive or wheel.

    In an archive or wheel; nested members joined by !.
    """
    section: str | None
    """Section of the binary."""
    offset: Count | None
    """Byte in the file where it begins.

    Bytes from the start of the file or member.
    """
    line: Count | None
    """Line in the file."""
    num_warps: Count | None
    """Warps per block, as Triton states it.

    As Triton's JSON beside the cubin states it, like the next three.
    """
    num_ctas: Count | None
    """Blocks per cluster, as Triton states it."""
    num_stages: Count | None
    """Stages of the software pipeline, as Triton states it."""
    maxnreg: Count | None
    """Cap on registers, as Triton states it."""


@record
class EntryRecord(Record):
    """Entry record, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    content: Literal["sass", "ptx", "relocatable ptx", "lto", "tile ir", "stub", "index", "unknown"]
    """What the entry holds: machine code or PTX."""
    arch: Annotated[str, Keywords(pattern="^sm_[0-9]{1,9}[af]?$")] | None
    """Target of the code: sm_90, compute_80."""
    compression: Literal["none", "lz4", "zstd", "unknown"]
    """How the image is packed: lz4, zstd."""
    size: Count
    """Bytes in the file.

    Stored bytes.
    """
    unpacked_size: Count | None
    """Bytes after unpacking."""
    ptx_version: str | None
    """Version of PTX."""
    identifier: str | None
    """Name of the file it was compiled from."""
    options: str | None
    """Options of the compiler."""
    debug: bool
    """Whether it was compiled for a debugger."""
    link_input: bool
    """Whether it is input of a device link, not a program.

    Kept for a later device link; never loaded as it is.
    """
    module: Count | None
    """The module it belongs to.

    Offset of the container that holds it: the driver picks from each.
    """
    file: str
    """The file it is in."""
    member: str | None
    """File inside an archive or wheel.

    In an archive or wheel; nested members joined by !.
    """
    section: str | None
    """Section of the binary."""
    offset: Count | None
    """Byte in the file where it begins.

    Bytes from the start of the file or member.
    """
    line: Count | None
    """Line in the file."""


@record
class KernelGroup(Record):
    """Kernel group, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    group: str
    """What the group has in common."""
    kernels: Count
    """One record per kernel."""
    code_bytes: Annotated[Count, BYTES] | None
    """Bytes of machine code.

    Null where the size of some kernel is not known, as in a build log.
    """
    spilling: Count
    """Kernels that spill registers."""
    spill_bytes: Annotated[Count, BYTES]
    """Bytes of all spills."""
    most_registers: Count | None
    """Most registers per thread."""
    lowest_occupancy: Share | None
    """The lowest occupancy."""
    below_half: Count
    """Kernels below 50 % occupancy."""


@record
class KernelsDamage(Record):
    """Damage, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    message: str
    """What it says."""
    file: str
    """The file it is in."""
    member: str | None
    """File inside an archive or wheel.

    In an archive or wheel; nested members joined by !.
    """
    section: str | None
    """Section of the binary."""
    offset: Count | None
    """Byte in the file where it begins.

    Bytes from the start of the file or member.
    """
    line: Count | None
    """Line in the file."""


@record
class KernelsKernel(Record):
    """Kernel, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    name: str
    """Its name."""
    registers: Count | None
    """Registers per thread."""
    static_smem: Annotated[Count, BYTES] | None
    """Static shared memory per block, bytes."""
    local_bytes: Annotated[Count, BYTES] | None
    """Local memory of a thread, bytes."""
    max_threads: Count | None
    """Most threads per block it was compiled for."""
    blocks_per_sm: Count | None
    """Blocks that are resident on an SM at a time."""
    problem: str | None
    """Why the driver gives no answer."""


@record
class KernelsDifference(Record):
    """Difference, in the answer of ``kernels``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    kernel: str
    """Name of the kernel."""
    field: str
    """The field that differs."""
    ours: Count | None
    """What we say."""
    driver: Count | None
    """The driver that was named, or what the driver says."""


@record
class KernelsDriverCheck(Record):
    """What a live driver says of the same kernels."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    compared: Count
    """Whether a live driver was asked."""
    kernels: tuple[KernelsKernel, ...]
    """One record per kernel."""
    differences: tuple[KernelsDifference, ...]
    """Where the driver says something else."""


@record
class KernelsResult(Record):
    """What ``kernels`` answers."""

    kernels: tuple[KernelRecord, ...] | None
    """One record per kernel."""
    entries: tuple[EntryRecord, ...] | None
    """What the container holds."""
    groups: tuple[KernelGroup, ...] | None
    """One record per group, with --group-by.

    With --group-by, in place of the kernels.
    """
    entry_count: Count
    """Entries read."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    damage: tuple[KernelsDamage, ...]
    """What could not be read, and where."""
    driver_check: KernelsDriverCheck | None
    """What the live driver says of it."""


DECLARATION = AnswerDeclaration(
    command="kernels",
    title="JSON answer of gpuadvise kernels",
    description="Bytes per thread (stack, spills) or per block (shared memory); occupancy from 0 to 1. null is not known. Each line of --format ndjson is one kernel, or with --list one entry.",
    results=(KernelsResult,),
    rows=(KernelRecord, EntryRecord, KernelGroup, FindingRow),
)
