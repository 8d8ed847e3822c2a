"""The warp that ``access`` and ``banks`` are asked about, from option texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.pattern import Pattern, gathered, only_lanes, strided
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.values import whole
from gpuadvise.cli.options import named, pick, read

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDEX = whole(0, 2**40)
# A list of a million indices takes some 8 MB.
_LARGEST_LIST = 16 << 20


class WarpOptions(NamedTuple):
    """The options that describe a warp; ``None`` is not given."""

    word: Annotated[int, pick("word")] = 4  # bytes
    stride: Annotated[str | None, pick("stride")] = None
    offset: Annotated[str, pick("offset")] = "0"
    threads: Annotated[int | None, pick("threads")] = None
    mask: Annotated[int | None, pick("mask")] = None
    align: Annotated[int | None, pick("align")] = None
    row_threads: Annotated[int | None, pick("row_threads")] = None
    pitch: Annotated[str | None, pick("pitch")] = None
    indices: Annotated[str | None, pick("indices")] = None


def patterns(words: WarpOptions) -> list[Pattern]:
    """Return one pattern per warp: one, or one for each 32 indices. Raises BadInput."""
    if words.indices is not None:
        return _gathered(words, words.indices)
    element = words.word
    if words.row_threads is not None and words.pitch is None:
        raise BadInput("--row-threads needs --pitch.", hint="It says how far apart rows lie.")
    stride = words.stride or "1"
    pattern = strided(
        element,
        stride_bytes=distance("stride", stride.removeprefix("-"), element),
        offset_bytes=distance("offset", words.offset, element),
        row_threads=words.row_threads,
        pitch_bytes=distance("pitch", words.pitch or "0", element),
        alignment=words.align,
    )
    if stride.startswith("-"):  # the same addresses, the last lane's first
        pattern = replace(pattern, starts=pattern.starts[::-1])
    return [active(words, pattern)]


def distance(name: str, text: str, element: int) -> int:
    """Return the bytes of option *name*: a distance in elements (``2``) or bytes (``16B``)."""
    size: int = read(name, text).bytes_of(element)
    return size


def _gathered(words: WarpOptions, listed: str) -> list[Pattern]:
    if words.stride is not None or words.row_threads is not None:
        raise BadInput("--indices gives the addresses: leave out --stride and --row-threads.")
    if words.offset != "0" or words.pitch is not None:
        raise BadInput("--indices gives the addresses: leave out --offset and --pitch.")
    numbers = indices(listed)
    groups = (numbers[first : first + WARP_SIZE] for first in range(0, len(numbers), WARP_SIZE))
    return [active(words, gathered(words.word, group, alignment=words.align)) for group in groups]


def indices(text: str) -> list[int]:
    """Return the whole numbers of ``0,5,9`` or, for ``-``, of stdin; raises BadInput."""
    if text == "-":
        text = named("--indices", _listed, text)
    numbers = [named("--indices", _INDEX, part) for part in text.replace(",", " ").split()]
    if not numbers:
        raise BadInput("--indices: the list is empty.", hint="Write it as 0,5,9.")
    return numbers


def _listed(path: str) -> str:
    from gpuadvise.advisor.backends.user_files import read_small

    return read_small(path, largest=_LARGEST_LIST).decode("ascii", errors="replace")


def active(words: WarpOptions, pattern: Pattern) -> Pattern:
    """Return the lanes of *pattern* that ``--threads`` and ``--mask`` leave; raises BadInput."""
    if words.threads is not None:
        pattern = only_lanes(pattern, (1 << words.threads) - 1)
    if words.mask is None:
        return pattern
    return only_lanes(pattern, words.mask)


def shown_lanes(lanes: Iterable[int]) -> str:
    """Return lanes as ranges: ``0-15 20 24-31``."""
    runs: list[tuple[int, int]] = []
    for lane in sorted(lanes):
        if runs and lane == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], lane)
        else:
            runs.append((lane, lane))
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
