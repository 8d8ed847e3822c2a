"""The answer of ``gpuadvise diff``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
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


@record
class DiffSide(Record):
    """Side, in the answer of ``diff``."""

    registers: Count | None
    """Registers per thread."""
    static_smem: Annotated[Count, BYTES] | None
    """Static shared memory per block, bytes."""
    stack: Annotated[Count, BYTES] | None
    """Stack of a thread, bytes."""
    frame: Annotated[Count, BYTES] | None
    """Frame of the function itself, bytes."""
    spill_stores: Count | None
    """Bytes of registers stored to local memory."""
    spill_loads: Count | None
    """Bytes loaded back after a spill."""
    spills_are: Literal["exact", "upper bound", "inferred", None]
    """Whether spills are exact or counted in instructions."""
    barriers: Count | None = None
    """Named barriers that a block uses."""
    max_threads: Count | None = None
    """Most threads per block it was compiled for."""
    code_bytes: Annotated[Count, BYTES] | None = None
    """Bytes of machine code."""
    block_threads: Count | None
    """Threads per block."""
    block_from: str | None
    """Where the block size comes from."""
    blocks_per_sm: Count | None
    """Blocks that are resident on an SM at a time."""
    occupancy: Share | None
    """Resident warps / warps that fit, 0 to 1."""
    limiters: tuple[str, ...] | None
    """What limits the blocks of an SM; all that tie."""


@record
class DiffRuns(Record):
    """A kernel in a recorded run."""

    calls: Count
    """How often it ran."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""
    median_seconds: Annotated[NotNegative, SECONDS]
    """Median time."""
    registers: Count | None
    """Registers per thread."""
    occupancy: Share | None
    """Resident warps / warps that fit, 0 to 1."""
    grid: tuple[int, ...] | None
    """Grid dimensions, or blocks in the grid."""
    block: tuple[int, ...] | None
    """Block dimensions, or threads per block."""


@record
class DiffKernel(Record):
    """Kernel, in the answer of ``diff``."""

    name: str
    """Its name."""
    demangled: str | None
    """Name as the source writes it."""
    old_name: str | None = None
    """Its name before.

    What the old build calls a renamed kernel; null for the same name.
    """
    member: str | None = None
    """File inside an archive or wheel.

    Its path in a wheel or archive, of the newer build that has it.
    """
    arch: str | None
    """Target of the code: sm_90, compute_80."""
    status: Literal[
        "worse",
        "spills more",
        "more stack",
        "trade-off",
        "better",
        "same tier",
        "unknown",
        "new",
        "removed",
        "unchanged",
        "slower",
        "faster",
        "changed",
        "more calls",
        "fewer calls",
    ]
    """What became of it: worse, better, unchanged, new, removed ..."""
    old: DiffSide | None | DiffRuns | None
    """What it was."""
    new: DiffSide | None | DiffRuns | None
    """What it is now."""


@record
class DiffCopied(Record):
    """Copied, in the answer of ``diff``."""

    calls: Count
    """How often it ran."""
    bytes: Annotated[Count, BYTES]
    """Bytes moved."""
    seconds: Annotated[NotNegative, SECONDS]
    """Time, seconds."""


@record
class DiffCopies(Record):
    """Copies, in the answer of ``diff``."""

    direction: str
    """Way of the copy: h2d, d2h, d2d."""
    source: str
    """Kind of memory it comes from."""
    target: str
    """Kind of memory it goes to."""
    old: DiffCopied | None
    """What it was."""
    new: DiffCopied | None
    """What it is now."""


@record
class DiffResult(Record):
    """What ``diff`` answers."""

    summary: str
    """The answer in a sentence."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    regression: bool
    """Whether something is worse.

    A kernel is in a worse occupancy tier; of recorded runs also: slower by 5 %.
    """
    counts: Mapping[
        Literal[
            "worse",
            "spills more",
            "more stack",
            "trade-off",
            "better",
            "same tier",
            "unknown",
            "new",
            "removed",
            "unchanged",
            "slower",
            "faster",
            "changed",
            "more calls",
            "fewer calls",
        ],
        Count,
    ]
    """How many of each outcome.

    Kernels by status.
    """
    members: May[Annotated[Mapping[str, tuple[str, ...]], Keywords(required=("old", "new"))]] = None
    """Files of the archive that only one build has.

    Members of a wheel or archive that only one of the builds has.
    """
    kernels: tuple[DiffKernel, ...]
    """One record per kernel.

    What changed, worst first; unchanged kernels only with --all.
    """
    whole: May[
        Annotated[
            Mapping[
                str,
                Annotated[
                    Mapping[str, float | None],
                    Keywords(
                        required=("span_seconds", "busy_seconds", "kernel_seconds", "idle_seconds")
                    ),
                ],
            ],
            Keywords(required=("old", "new")),
        ]
    ] = None
    """The whole run, before and after.

    Of recorded runs: the GPU with the longest span, and the time in which a kernel ran; of two
    kernel reports the time of all kernels. Where steps are known, `step_seconds` is the middle
    one, `step_mean_seconds` that of all behind the program's start, of `step_count` in all.
    """
    copies: May[tuple[DiffCopies, ...]] = None
    """Copies by direction and kind of memory.

    Of recorded runs: copies by direction and memory.
    """


DECLARATION = AnswerDeclaration(
    command="diff",
    title="gpuadvise diff --format json",
    description="Bytes per thread (stack, spills) or per block (shared memory); occupancy from 0 to 1; times in seconds. null is not known. Two recorded runs have whole and copies as well, and kernels with times.",
    results=(DiffResult,),
)
