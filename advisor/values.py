"""Readers of single values: numbers, sizes, times, shares, words, each with its limits.

Options of the command line, keys of a kernel description and columns of a batch are read by the
same functions and refused with the same sentences. A size, time or rate is a text with a unit,
or, where a file holds a number, that number in base units. Readers raise BadInput that names the
value and what is accepted; who calls adds the option, key or column.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import (
    parse_bytes,
    parse_hertz,
    parse_operation_rate,
    parse_operations,
    parse_rate,
    parse_seconds,
    parse_share,
    show_number,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import StrEnum

    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.transfers.links import Link


Reader: TypeAlias = "Callable[[object], Any]"
Word = TypeVar("Word", bound="StrEnum")

LARGEST = 2**63 - 1
# Largest block, grid or shared memory that a launch can have.
LARGEST_LAUNCH = 2**31 - 1
# Farthest that two lanes' addresses may lie apart, in elements.
_FARTHEST = 2**40
# More digits than any count has; int() on longer text costs quadratic time.
_LONGEST = 20
_LONGEST_MASK = 34  # 0b and 32 digits
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def whole(low: int = 0, high: int = LARGEST) -> Reader:
    """Return a reader of whole numbers from *low* to *high*, as ``integer`` reads them."""

    def read(value: object) -> int:
        number = integer(value)
        if number is None or not low <= number <= high:
            written = value if number is None or isinstance(value, str) else number
            raise BadInput(
                f"{shown(written)} is not a whole number from {low} to {high}.",
                hint=_COUNTS if number is None and _begins_with_digit(value) else None,
            )
        return number

    return read


_COUNTS = "Write a count as 1000000, 1_000_000 or 1e6."
_COUNT = whole()


def _begins_with_digit(value: object) -> bool:
    return isinstance(value, str) and value.strip()[:1].isdigit()


def integer(value: object) -> int | None:
    """Return the whole number that *value* is or writes; None for anything else.

    A text may group digits (``1_000_000``) and have an exponent (``1e6``), as other tools write.
    """
    if type(value) is int:  # most are, and a bool is none
        return value
    if isinstance(value, str):
        return whole_number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def one_of(*accepted: int) -> Reader:
    """Return a reader of one of the whole numbers *accepted*."""

    def read(value: object) -> int:
        number = integer(value)
        if number is None or number not in accepted:
            listed = and_list([str(number) for number in accepted], "or")
            raise BadInput(f"{shown(value)} is not {listed}.")
        return number

    return read


def number(low: float = 0.0, high: float = math.inf, *, above: bool = False) -> Reader:
    """Return a reader of finite numbers from *low* (*above* it, if asked) to *high*."""

    def read(value: object) -> float:
        plain = _float(value) if isinstance(value, str) else value
        real = isinstance(plain, int | float) and not isinstance(plain, bool)
        if not real or not _within(plain, low, high) or (above and plain == low):  # type: ignore[arg-type]
            raise BadInput(f"{shown(value)} is not a number {_range(low, high, above)}.")
        return float(plain)  # type: ignore[arg-type]

    return read


def _float(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 3 * _LONGEST and text.isascii() else None
    except ValueError:
        return None


def _within(value: float, low: float, high: float) -> bool:
    return abs(value) <= LARGEST and low <= value <= high  # false for nan and infinity


def _range(low: float, high: float, above: bool) -> str:
    if math.isinf(high):
        return f"above {low:g}" if above else f"from {low:g} up"
    return f"above {low:g} and up to {high:g}" if above else f"from {low:g} to {high:g}"


def size(value: object) -> int:
    """Return bytes: ``49152`` or ``"48KiB"``; raises BadInput."""
    return int(_measured(value, parse_bytes, _COUNT))


def seconds(value: object) -> float:
    """Return seconds above 0: ``0.003`` or ``"3ms"``; raises BadInput."""
    return float(_measured(value, parse_seconds, number(above=True)))


def seconds_or_none(value: object) -> float:
    """Return seconds from 0 up: ``0``, ``"0"`` or ``"3ms"``; raises BadInput."""
    if isinstance(value, str) and value.strip() == "0":
        return 0.0
    return float(_measured(value, lambda text: parse_seconds(text, zero=True), number()))


def rate(value: object) -> float:
    """Return bytes per second: ``25e9`` or ``"25GB/s"``; raises BadInput."""
    return float(_measured(value, parse_rate, number(above=True)))


def hertz(value: object) -> float:
    """Return hertz: ``1.85e9`` or ``"1.85GHz"``; raises BadInput."""
    return float(_measured(value, parse_hertz, number(above=True)))


def operations(value: object) -> float:
    """Return operations: ``2e12`` or ``"2TFLOP"``; raises BadInput."""
    return float(_measured(value, parse_operations, number(above=True)))


def operation_rate(value: object) -> float:
    """Return operations per second: ``80e12`` or ``"80TFLOP/s"``; raises BadInput."""
    return float(_measured(value, parse_operation_rate, number(above=True)))


def _measured(value: object, parse: Callable[[str], Any], plain: Reader) -> Any:
    return parse(value) if isinstance(value, str) else plain(value)


def moved_bytes(value: object) -> int:
    """Return bytes above 0: ``1e9`` or ``"24GB"``; raises BadInput."""
    return int(_measured(value, lambda text: parse_bytes(text, minimum=1), whole(1)))


def shared_size(value: object) -> int:
    """Return the bytes of shared memory that a launch can ask for; raises BadInput."""
    bytes = size(value)
    if bytes > LARGEST_LAUNCH:
        raise BadInput(f"{shown(value)} is more than {LARGEST_LAUNCH:,} bytes.")
    return bytes


class CopyAmount(NamedTuple):
    """How much a copy moves, as its bytes or as its time; the other is 0."""

    size: int = 0  # bytes
    seconds: float = 0.0


def copy(value: object) -> CopyAmount:
    """Return a copy from its size (``"256MiB"``) or its time (``"3ms"``, ``0.003``).

    A text without a unit is refused, for it could be either; a number in a file is seconds, as
    all times there. Raises BadInput.
    """
    if not isinstance(value, str):
        return CopyAmount(seconds=seconds_or_none(value))
    hint = "Write a copy as its size (256MiB, 1GB) or as its time (3ms, 250us)."
    if _float(value) is not None:
        raise BadInput(f"{shown(value)} has no unit.", hint=hint)
    try:
        if value.rstrip().endswith("s"):
            return CopyAmount(seconds=seconds_or_none(value))
        return CopyAmount(size=moved_bytes(value))
    except BadInput as error:
        raise BadInput(error.message, hint=hint) from None


class Distance(NamedTuple):
    """How far two addresses lie apart, in elements or in bytes."""

    amount: int
    in_bytes: bool = False

    def bytes_of(self, element: int) -> int:
        """Return the distance in bytes where an element has *element* of them."""
        return self.amount if self.in_bytes else self.amount * element

    def elements_of(self, element: int) -> int:
        """Return the distance in elements of *element* bytes; raises BadInput for a part of one."""
        whole_elements, rest = divmod(self.bytes_of(element), element)
        if rest:
            raise BadInput(
                f"{self.amount} bytes are not a whole number of {element}-byte elements."
            )
        return whole_elements


def distance(value: object) -> Distance:
    """Return a distance in elements (``2``) or in bytes (``"16B"``); raises BadInput."""
    number = integer(value)
    if number is not None and 0 <= number <= _FARTHEST:
        return Distance(number)
    if number is not None or not isinstance(value, str):
        raise BadInput(
            f"{shown(value)} is not a distance from 0 to 2^40 elements.", hint=_DISTANCES
        )
    try:
        return Distance(parse_bytes(value), in_bytes=True)
    except BadInput as error:
        raise BadInput(error.message, hint=_DISTANCES) from None


_DISTANCES = "Write elements as 2, or bytes with their unit as 16B or 4KiB."


def share(value: object) -> float:
    """Return a fraction: ``0.75``, ``"0.75"``, ``"75%"`` or ``"3/4"``; raises BadInput."""
    return float(_measured(value, parse_share, number(0, 1)))


def per_cent(value: object) -> int:
    """Return whole per cent of a share: ``"50%"``, ``"0.5"``, ``0.5`` or ``50``; raises BadInput.

    A whole number counts per cent, as in cudaFuncAttributePreferredSharedMemoryCarveout.
    """
    number = integer(value)
    if number is None:
        exact = 100 * share(value)
        number = round(exact)
        if not math.isclose(exact, number, abs_tol=1e-9):
            raise BadInput(f"{shown(value)} is {show_number(exact)} %, not a whole per cent.")
    if not 0 <= number <= 100:
        raise BadInput(f"{shown(value)} is not a share.", hint="Write a share as 50% or 0.5.")
    return number


def factor(low: float = 1.0, high: float = math.inf) -> Reader:
    """Return a reader of factors from *low* to *high*: ``2.5``, ``"2.5"`` or ``"2.5x"``."""
    plain = number(low, high)

    def read(value: object) -> float:
        try:
            return float(
                plain(value.strip().removesuffix("x") if isinstance(value, str) else value)
            )
        except BadInput:
            raise BadInput(f"{shown(value)} is not a factor {_range(low, high, False)}.") from None

    return read


def flag(value: object) -> bool:
    """Return true or false; raises BadInput for anything else, also for the numbers 0 and 1."""
    known = _FLAGS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(known, bool):
        raise BadInput(f"{shown(value)} is neither true nor false.")
    return known


# Numbers below are versions of CUDA, a driver or a GPU that somebody did not quote.
_VERSIONS = 1000


def text(value: object) -> str:
    """Return a text that is not empty; raises BadInput."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _VERSIONS:
        hint = "Write it in quotation marks."
        raise BadInput(f"{shown(value)} is not a text.", hint=hint)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{shown(value)} is not a text.")
    return value


def word(words: type[Word]) -> Reader:
    """Return a reader of one member of *words*."""
    read_word = one_word(*words)

    def read(value: object) -> Word:
        return words(read_word(value))

    return read


class OneWord:
    """A reader of one of *words*, in any case; a shell offers them."""

    __slots__ = ("words",)

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def __call__(self, value: object) -> str:
        """Return the word that *value* is; raises BadInput."""
        written = value.strip() if isinstance(value, str) else None
        for known in self.words:
            if written is not None and written.lower() == known.lower():
                return str(known)
        raise _unknown_word(value, self.words)


_LONGEST_PATTERN = 1000


def pattern(value: object) -> re.Pattern[str]:
    """Return the regular expression that *value* writes, which ignores case; raises BadInput."""
    written = str(value)
    if len(written) > _LONGEST_PATTERN:
        raise BadInput(f"{quoted(written)} is longer than {_LONGEST_PATTERN} characters.")
    try:
        return re.compile(written, re.IGNORECASE)
    except re.error as error:
        raise BadInput(
            f"{quoted(written)} is not a regular expression: {error.msg}.",
            hint="A word finds the names that contain it.",
        ) from None


def one_word(*words: str) -> OneWord:
    """Return a reader of one of *words*, in any case."""
    return OneWord(words)


# Letters of a word without its ending: "paged", "pageable".
_STEM = 4


def _unknown_word(value: object, words: Sequence[str]) -> BadInput:
    import difflib

    # Of two words, such as h2d and d2h, either is near to a third.
    written = str(value)[:60]
    near = difflib.get_close_matches(written, words, n=1, cutoff=0.6) if words[2:] else []
    # A word that alone begins so means the same more often than one of the same letters.
    stem = written.lower()[:_STEM]
    alike = [word for word in words if len(written) > _STEM and word.startswith(stem)]
    near = alike if len(alike) == 1 and words[2:] else near
    hint = f"Did you mean {near[0]}?" if near else f"Use {and_list(words, 'or')}."
    return BadInput(f"{shown(value)} is not known here.", hint=hint)


def shown(value: object) -> str:
    """Return *value* as a message may repeat it: short, quoted, inert."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "The number" if value > 0 else "The negative number"
    return quoted(value if isinstance(value, str) else _plain(value))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a table"
    return "null" if value is None else str(value)


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts, or one text cut at its blanks; raises BadInput."""
    return tuple(value.split()) if isinstance(value, str) else text_list(value)


def text_list(value: object) -> tuple[str, ...]:
    """Return a list of texts; raises BadInput."""
    if not isinstance(value, list):
        raise BadInput(f"{shown(value)} is not a list of texts.")
    return tuple(text(item) for item in value)


def text_table(value: object) -> dict[str, str]:
    """Return a table of texts, whole numbers as they are written; raises BadInput."""
    table = _table(value)
    if not all(isinstance(item, str) or type(item) is int for item in table.values()):
        raise BadInput("Every value of this table is a text or a whole number.")
    return {key: str(item) for key, item in table.items()}


def share_table(value: object) -> dict[str, float]:
    """Return a table of fractions, such as pipes and how busy they are; raises BadInput."""
    return {key: share(item) for key, item in _table(value).items()}


def number_table(value: object) -> dict[str, float]:
    """Return a table of numbers from 0 up; raises BadInput."""
    return {key: number()(item) for key, item in _table(value).items()}


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{shown(value)} is not a table.")
    return value


def wholes(value: object) -> tuple[int, ...]:
    """Return a list of 1 to 32 whole numbers from 0 up, one per lane; raises BadInput."""
    if not isinstance(value, list) or not 1 <= len(value) <= 32:
        raise BadInput(f"{shown(value)} is not a list of 1 to 32 indices.")
    return tuple(whole(0, 2**40)(item) for item in value)


def codes(value: object) -> tuple[int, ...]:
    """Return a list of whole numbers from 0 up, which may be empty; raises BadInput."""
    if not isinstance(value, list):
        raise BadInput(f"{shown(value)} is not a list of whole numbers.")
    return tuple(whole()(item) for item in value)


def dims(value: object) -> tuple[int, int, int]:
    """Return three dimensions from ``256``, ``[16, 16]`` or ``"16x16"``; raises BadInput."""
    if type(value) is int and 1 <= value <= LARGEST_LAUNCH:
        return value, 1, 1
    sides = [integer(part) for part in _parts(value)]
    if not 1 <= len(sides) <= 3 or not all(n and 1 <= n <= LARGEST_LAUNCH for n in sides):
        raise BadInput(
            f"{shown(value)} is not a size in threads or blocks.",
            hint=f"Write 256, 16x16 or 16x16x4, each from 1 to {LARGEST_LAUNCH}.",
        )
    x, y, z = (*(side or 1 for side in sides), 1, 1)[:3]
    return x, y, z


def block(value: object) -> tuple[int, int, int]:
    """Return the dimensions of a block, as `dims` reads them; raises BadInput for too many threads."""
    sides = dims(value)
    if math.prod(sides) > LARGEST_LAUNCH:
        raise BadInput(f"{shown(value)} has more than {LARGEST_LAUNCH:,} threads.")
    return sides


def rectangle(most: int) -> Reader:
    """Return a reader of rows and columns, each from 1 to *most*: ``"32x32"``."""
    side = whole(1, most)

    def read(value: object) -> tuple[int, int]:
        rows, by, columns = value.lower().partition("x") if isinstance(value, str) else ("", "", "")
        if not by:
            raise BadInput(
                f"{shown(value)} is not rows and columns.", hint="Write them as 32x32, rows first."
            )
        return side(rows), side(columns)

    return read


def launch_bounds(value: object) -> tuple[int, int | None]:
    """Return the threads and least blocks of ``256``, ``"256,4"`` or ``[256, 4]``; raises BadInput."""
    parts = value.split(",") if isinstance(value, str) else value
    parts = parts if isinstance(parts, list) else [parts]
    numbers = [integer(part) for part in parts]
    if not 1 <= len(parts) <= 2 or not all(n and 1 <= n <= LARGEST_LAUNCH for n in numbers):
        raise BadInput(
            f"{shown(value)} are not launch bounds.",
            hint="Write the threads and the least blocks per SM as 256,4, or the threads alone.",
        )
    return numbers[0] or 0, numbers[1] if numbers[1:] else None


def number_type(value: object) -> str:
    """Return the type that ``"fp32"``, ``"double"`` or ``"fp16_tensor"`` names; raises BadInput."""
    from gpuadvise.advisor.peaks import TENSOR, arithmetic

    kind, tensor = arithmetic(text(value))
    return f"{kind}{TENSOR if tensor else ''}"


def lane_mask(value: object) -> int:
    """Return the lanes of a warp that ``"0x0000ffff"`` names, one bit each; raises BadInput."""
    try:
        plain = isinstance(value, str) and value.isascii() and len(value) <= _LONGEST_MASK
        mask = int(str(value), 0) if plain else 0
    except ValueError:
        mask = 0
    if not 0 < mask < 2**32:
        raise BadInput(f"{shown(value)} is not a lane mask.", hint="Write 0x0000ffff.")
    return mask


def pcie(value: object) -> Link:
    """Return the link that ``"4x8"`` (generation 4, 8 lanes) names; raises BadInput."""
    from gpuadvise.advisor.transfers.links import parse_pcie

    return parse_pcie(text(value))


def driver(value: object) -> Driver:
    """Return the driver that ``"12.4"`` or ``"550.54.14"`` names; raises BadInput."""
    from gpuadvise.advisor.compatibility.drivers import parse_driver

    return parse_driver(text(value))


def _parts(value: object) -> list[Any]:
    if isinstance(value, str):
        return value.lower().split("x") if len(value) <= 3 * _LONGEST else []
    return value if isinstance(value, list) else [value]
