"""The answer of ``gpuadvise whatif``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated

from gpuadvise.api.answers.fields import (
    BYTES,
    SECONDS,
    AnswerDeclaration,
    Count,
    Record,
    Share,
    record,
)


@record
class WhatifCandidate(Record):
    """Candidate, in the answer of ``whatif``."""

    arch: str
    """Target of the code: sm_90, compute_80."""
    block: Count
    """Block dimensions, or threads per block."""
    register_cap: Count | None
    """The cap the compiler was given."""
    registers: Count
    """Registers per thread."""
    local_bytes: Annotated[Count, BYTES]
    """Local memory of a thread, bytes."""
    spill_stores: Count
    """Bytes of registers stored to local memory."""
    spill_loads: Count
    """Bytes loaded back after a spill."""
    static_smem: Annotated[Count, BYTES]
    """Static shared memory per block, bytes."""
    code_bytes: Annotated[Count, BYTES]
    """Bytes of machine code."""
    blocks_per_sm: Count
    """Blocks that are resident on an SM at a time."""
    warps_per_sm: Count
    """Warps resident on an SM."""
    occupancy: Share
    """Resident warps / warps that fit, 0 to 1."""
    limiters: tuple[str, ...]
    """What limits the blocks of an SM; all that tie."""
    dropped: str | None
    """Why it is out of the race."""
    seconds: Annotated[float, SECONDS] | None
    """Time, seconds.

    Of one launch, the median; null where it was not measured.
    """
    seconds_low: Annotated[float, SECONDS] | None
    """Lower end of the spread, seconds."""
    seconds_high: Annotated[float, SECONDS] | None
    """Upper end of the spread, seconds."""


@record
class WhatifPick(WhatifCandidate):
    """Pick, in the answer of ``whatif``."""

    why: str
    """Why it matters, or why it was chosen."""


@record
class WhatifResult(Record):
    """What ``whatif`` answers."""

    kernel: str
    """The kernel that was compiled."""
    launched_blocks: tuple[Count, ...]
    """Threads per block of the launches in the file."""
    fixed_block: str | None
    """Why the code holds for no other block size; null where nothing says so."""
    compiled: Count
    """Whether the compiler was run for every candidate."""
    candidates: tuple[WhatifCandidate, ...]
    """Every combination that was compiled."""
    pick: WhatifPick | None
    """The candidate to begin with."""
    worth_measuring: tuple[WhatifCandidate, ...]
    """Candidates to time on a GPU."""
    won: WhatifCandidate | None
    """The candidate that won a measurement; null without --measure."""


DECLARATION = AnswerDeclaration(
    command="whatif",
    title="JSON answer of gpuadvise whatif",
    description="Bytes and registers per thread, shared memory per block. register_cap: null for the compiler's own choice. dropped: why a candidate is not worth running, null where it is. pick: null where nothing can be launched.",
    results=(WhatifResult,),
    rows=(WhatifCandidate,),
)
