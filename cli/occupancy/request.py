"""From texts, options or columns alike, to the launch that is asked about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.launch import CachePreference, Launch
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import parse_bytes
from gpuadvise.cli.args import block_dims, fails_under, named, share, whole
from gpuadvise.cli.formats import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.cli.exits import Exit
    from gpuadvise.cli.formats import Output


# The registers of a whole SM: more for one thread is a slip of the keyboard, not a question.
_MOST_REGISTERS = 65_536
_MOST = 2**31 - 1
_MOST_BARRIERS = 1024
_DIGITS = len(str(_MOST))
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """A launch, and B of ``__launch_bounds__(T, B)`` (T is the launch's ``max_threads``)."""

    launch: Launch
    min_blocks: int | None = None


def question(texts: Mapping[str, str | None], label: Callable[[str], str]) -> LaunchRequest:
    """Return the question that *texts* ask, keyed by KEYS; None is not given.

    *label* makes of a key what the user called it. Raises BadInput that names it.
    """
    given = {key: text for key, text in texts.items() if text is not None}
    values = fields(given.items(), label)
    min_blocks = values.pop("min_blocks", None)
    return LaunchRequest(launch=Launch(**values), min_blocks=min_blocks)


def fields(texts: Iterable[tuple[str, str]], label: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields of Launch (and ``min_blocks``) that *texts* give; raises BadInput."""
    values: dict[str, Any] = {}
    for key, text in texts:
        if key in _SIZES:
            values[_SIZES[key]] = _size(label(key), text)
        else:
            values.update(parsed(key, label(key), text))
    for key, field, what in NEEDED:
        if field not in values:
            raise BadInput(f"{label(key)} is missing: {what}.")
    return values


def option(key: str) -> str:
    """Return *key* as the option of the command line."""
    return f"--{key.replace('_', '-')}"


@lru_cache(maxsize=4096)  # a batch repeats itself
def parsed(key: str, label: str, text: str) -> Mapping[str, Any]:
    """Return the fields of Launch that *text* gives for *key*; raises BadInput naming *label*."""
    return PARSERS[key](label, text)


def _registers(label: str, text: str) -> Mapping[str, Any]:
    return {"registers": whole(label, text, low=1, high=_MOST_REGISTERS)}


def _block(label: str, text: str) -> Mapping[str, Any]:
    dims = block_dims(label, text)
    threads = math.prod(dims)
    if threads > _MOST:
        raise BadInput(f"{label}: {quoted(text)} has more than {_MOST:,} threads.")
    flat = threads == dims[0]
    return {"threads": threads} if flat else {"threads": threads, "block_dim": dims}


def _size(label: str, text: str) -> int:
    plain = len(text) <= _DIGITS and text.isascii() and text.isdigit()
    size = int(text) if plain else named(label, parse_bytes, text)
    if size > _MOST:
        raise BadInput(f"{label}: {quoted(text)} is more than {_MOST:,} bytes.")
    return size


def _carveout(label: str, text: str) -> Mapping[str, Any]:
    clean = text.strip()
    try:
        percent = whole(label, clean.removesuffix("%"), low=0, high=100)
    except BadInput:
        raise BadInput(
            f"{label}: {quoted(text)} is not a share of the shared memory.",
            hint="Write per cent as 50 or 50%, from 0 to 100.",
        ) from None
    return {"carveout": percent}


def _cache(label: str, text: str) -> Mapping[str, Any]:
    word = text.strip().lower()
    if word not in set(CachePreference):
        raise BadInput(
            f"{label}: {quoted(text)} is no cache preference.",
            hint="Write none, shared, l1 or equal, as cudaFuncSetCacheConfig knows them.",
        )
    return {"cache": CachePreference(word)}


def _bounds(label: str, text: str) -> Mapping[str, Any]:
    first, comma, second = text.partition(",")
    try:
        threads = whole(label, first, low=1, high=_MOST)
        blocks = whole(label, second, low=1, high=_MOST) if comma else None
    except BadInput:
        raise BadInput(
            f"{label}: {quoted(text)} are no launch bounds.",
            hint="Write the threads and the least blocks per SM as 256,4, or the threads alone.",
        ) from None
    return {"max_threads": threads, "min_blocks": blocks}


def _flag(label: str, text: str) -> bool:
    value = _FLAGS.get(text.strip().lower())
    if value is None:
        raise BadInput(f"{label}: {quoted(text)} is neither true nor false.")
    return value


# Sizes take too many values to be worth remembering.
_SIZES = {"smem": "static_shared", "dynamic_smem": "dynamic_shared"}
PARSERS: dict[str, Callable[[str, str], Mapping[str, Any]]] = {
    "regs": _registers,
    "block": _block,
    "barriers": lambda label, text: {"barriers": whole(label, text, low=0, high=_MOST_BARRIERS)},
    "cluster": lambda label, text: {"cluster_dim": block_dims(label, text)},
    "nonportable_cluster": lambda label, text: {"nonportable_cluster": _flag(label, text)},
    "grid": lambda label, text: {"grid_dim": block_dims(label, text)},
    "carveout": _carveout,
    "cache": _cache,
    "launch_bounds": _bounds,
    "no_opt_in": lambda label, text: {"optin": not _flag(label, text)},
}
KEYS = frozenset((*PARSERS, *_SIZES))
NEEDED = (
    ("regs", "registers", "the registers per thread, as the compiler's -v log prints them"),
    ("block", "threads", "the threads per block, as 256 or 16x16"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyRequest:
    """The options of one call; texts are as the user wrote them."""

    texts: Mapping[str, str | None]
    device: Mapping[str, str | None]
    sweep: str | None
    plot: bool
    all_cc: bool
    batch: str | None
    fail_under: str | None
    driver_check: bool
    output: Output

    def check(self) -> None:
        """Refuse options that do not go together; raises BadInput."""
        single = {"--driver-check": self.driver_check, "--plot": self.plot}
        many = {
            "--sweep": self.sweep is not None,
            "--all-cc": self.all_cc,
            "--batch": self.batch is not None,
        }
        wanted = [name for name, given in many.items() if given]
        if len(wanted) > 1:
            raise BadInput(f"{and_list(wanted)} do not go together.")
        for name, given in single.items():
            if given and wanted and (name, wanted[0]) != ("--plot", "--sweep"):
                raise BadInput(f"{name} and {wanted[0]} do not go together.")
        self._check_one_answer(wanted)

    def _check_one_answer(self, wanted: list[str]) -> None:
        if self.plot and self.output.format not in (Format.TEXT, Format.MARKDOWN):
            raise BadInput("--plot draws text; a table of the sweep needs no --plot.")
        if self.fail_under is not None and self.sweep is not None:
            raise BadInput("--fail-under judges one launch, not a --sweep.")
        if self.batch is not None and self.output.fields:
            raise BadInput("--get takes a field of one answer, not of a --batch.")
        if self.all_cc and any(self.device.values()):
            raise BadInput("--all-cc is about every capability; name no device with it.")

    def choice(self) -> Choice:
        """Return the device that the options name; raises BadInput or Unavailable."""
        from gpuadvise.advisor.backends.choose import choose

        named = self.device
        return choose(
            gpu=named.get("gpu"),
            cc=named.get("cc"),
            device=named.get("device"),
            from_file=named.get("from"),
        )

    @property
    def threshold(self) -> float | None:
        """The least occupancy that passes, 0 to 1; raises BadInput."""
        return None if self.fail_under is None else share("--fail-under", self.fail_under)

    def verdict(self, occupancies: Iterable[Occupancy]) -> tuple[Exit, Sequence[str]]:
        """Return the exit code for *occupancies*, and a note if one is below the threshold."""
        lowest = min(each.occupancy for each in occupancies)
        return fails_under("occupancy", lowest, self.threshold)
