"""The warp that ``access`` and ``banks`` are asked about, from option texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.pattern import Pattern, gathered, only_lanes, strided
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.values import whole
from gpuadvise.cli.options import named, read

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDEX = whole(0, 2**40)
# A list of a million indices takes some 8 MB.
_LARGEST_LIST = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The options that describe a warp, as typed; ``None`` is not given."""

    word: str
    stride: str | None = None
    offset: str = "0"
    threads: str | None = None
    mask: str | None = None
    align: str | None = None
    row_threads: str | None = None
    pitch: str | None = None
    indices: str | None = None


def element_bytes(words: Words) -> int:
    """Return the size of the element that each lane takes; raises BadInput."""
    size: int = read("word", words.word)
    return size


def patterns(words: Words) -> list[Pattern]:
    """Return one pattern per warp: one, or one for each 32 indices. Raises BadInput."""
    if words.indices is not None:
        return _gathered(words, words.indices)
    element = element_bytes(words)
    rows = words.row_threads
    if rows is not None and words.pitch is None:
        raise BadInput("--row-threads needs --pitch.", hint="It says how far apart rows lie.")
    stride = words.stride or "1"
    pattern = strided(
        element,
        stride_bytes=distance("stride", stride.removeprefix("-"), element),
        offset_bytes=distance("offset", words.offset, element),
        row_threads=read("row_threads", rows),
        pitch_bytes=distance("pitch", words.pitch or "0", element),
        alignment=_alignment(words),
    )
    if stride.startswith("-"):  # the same addresses, the last lane's first
        pattern = replace(pattern, starts=pattern.starts[::-1])
    return [active(words, pattern)]


def distance(name: str, text: str, element: int) -> int:
    """Return the bytes of option *name*: a distance in elements (``2``) or bytes (``16B``)."""
    size: int = read(name, text).bytes_of(element)
    return size


def _gathered(words: Words, listed: str) -> list[Pattern]:
    if words.stride is not None or words.row_threads is not None:
        raise BadInput("--indices gives the addresses: leave out --stride and --row-threads.")
    if words.offset != "0" or words.pitch is not None:
        raise BadInput("--indices gives the addresses: leave out --offset and --pitch.")
    element, alignment = element_bytes(words), _alignment(words)
    numbers = indices(listed)
    groups = (numbers[first : first + WARP_SIZE] for first in range(0, len(numbers), WARP_SIZE))
    return [active(words, gathered(element, group, alignment=alignment)) for group in groups]


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


def _alignment(words: Words) -> int | None:
    alignment: int | None = read("align", words.align)
    return alignment


def active(words: Words, pattern: Pattern) -> Pattern:
    """Return the lanes of *pattern* that ``--threads`` and ``--mask`` leave; raises BadInput."""
    if words.threads is not None:
        count = read("threads", words.threads)
        pattern = only_lanes(pattern, (1 << count) - 1)
    if words.mask is None:
        return pattern
    return only_lanes(pattern, read("mask", words.mask))


def shown_lanes(lanes: Iterable[int]) -> str:
    """Return lanes as ranges: ``0-15 20 24-31``."""
    runs: list[tuple[int, int]] = []
    for lane in sorted(lanes):
        if runs and lane == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], lane)
        else:
            runs.append((lane, lane))
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
