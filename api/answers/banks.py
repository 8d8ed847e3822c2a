"""The answer of ``gpuadvise banks``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.fields import BYTES, AnswerDeclaration, Count, Keywords, Record, record


@record
class BanksSwizzle(Record):
    """Swizzle, in the answer of ``banks``."""

    expression: str
    """The index to write instead."""
    mask: Count
    """Bits that are mixed in."""
    shift: Count
    """Bits it is shifted by."""


@record
class BanksResult(Record):
    """What ``banks`` answers."""

    degree: Annotated[int, Keywords(minimum=1)]
    """How many times a bank is asked in turn; 1 is no conflict."""
    suggested_padding: Count | None
    """Elements to add per row so that no bank is asked twice."""
    swizzle: BanksSwizzle | None
    """An index that ends the conflict without padding."""
    wavefronts: Count
    """Passes that shared memory needs."""
    ideal_wavefronts: Count
    """Passes without a conflict."""
    slowdown: Annotated[float, Keywords(minimum=1)]
    """How many times longer the conflict takes."""
    instructions: Count
    """Memory instructions of a warp, or instructions of a kernel."""
    width: Literal[1, 2, 4, 8, 16]
    """Bytes of one lane's instruction."""
    lanes_per_phase: Count
    """Lanes that are served in one phase."""
    busiest_banks: tuple[Count, ...]
    """The banks that most words fall into."""
    tile_bytes: Annotated[Count, BYTES] | None
    """Shared memory of the tile, bytes."""


@record
class BanksInput(Record):
    """What ``banks`` was asked."""

    word: Count
    starts: tuple[Count, ...]
    lanes: tuple[Count, ...]
    bank_size: Literal[4, 8]


DECLARATION = AnswerDeclaration(
    command="banks",
    title="JSON answer of gpuadvise banks",
    description="degree is n of an n-way conflict, 1 for none. suggested_padding counts elements added to each row; null where none helps. A swizzle keeps each element at its expression within the row.",
    input=BanksInput,
    results=(BanksResult,),
)
