"""What a rule may answer: advice with its evidence and what it can win, or that there is none."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


class Priority(StrEnum):
    """The guide's own scale: effect times scope."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for high, 1 for medium, 2 for low: what findings are sorted by."""
        return _RANKS[self]


_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


class Confidence(StrEnum):
    """How sure it is that a finding is right, whatever its priority."""

    CERTAIN = "certain"  # it follows from what the program, the driver or the guide states
    LIKELY = "likely"  # what was measured shows it, by thresholds that labelled launches hold
    POSSIBLE = "possible"  # a launch, a description or a name alone suggests it


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One number or word that a finding rests on; *value* is in base units."""

    label: str
    value: float | int | str | bool
    unit: str
    source: str


class GainKind(StrEnum):
    """What a change makes less, or more of: a factor of 2 halves the first, and doubles the second."""

    RUN_TIME = "run time"
    KERNEL_TIME = "kernel time"
    KERNEL_THROUGHPUT = "kernel throughput"
    PAIR_TIME = "time of both launches"
    CHAIN_TIME = "time of these launches"
    GLOBAL_TRAFFIC = "global memory traffic"
    ARITHMETIC_TIME = "arithmetic time"
    SHARED_MEMORY_TIME = "shared-memory time"
    CONSTANT_TIME = "time of constant reads"
    STEP_TIME = "time of this step"
    COPY_TIME = "copy time"
    COPY_RATE = "copy rate"
    NVLINK_RATE = "NVLink rate"
    LINK_TRAFFIC = "link traffic"
    BANDWIDTH = "bandwidth"
    MEMORY_THROUGHPUT = "memory throughput"
    INSTRUCTION_RATE = "instruction rate"
    LOADS_AND_STORES = "load and store instructions"
    LANES_AT_WORK = "lanes at work"
    RESIDENT_WARPS = "resident warps"
    RESIDENT_THREADS = "resident threads"
    BLOCK_STARTS = "block starts"
    KERNELS_AT_ONCE = "kernels at once"
    SM_CLOCK = "SM clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The most a change can win: a factor of at least 1 on *kind*; bounds never add up.

    Of a run: *of_kernel* is the bound of the kernel's own time, and *share* (0-1) what it takes of the run.
    *same_precision* is the bound without fewer bits, where *upper_bound* takes these into account.
    """

    kind: GainKind
    upper_bound: float
    how: str
    of_kernel: float | None = None
    share: float | None = None
    same_precision: float | None = None

    @property
    def usual_bound(self) -> float:
        """What decides whether it is worth an hour, and what is likely: most repairs keep the precision."""
        return self.upper_bound if self.same_precision is None else self.same_precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Who says so."""

    document: str
    section: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a finding is; ``None`` where that is not known."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    kernel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a rule saw and what to do about it, both with numbers and units.

    *priority* and *confidence* are this case's own, None for the rule's. *relief* is how busy units of the kernel
    would be for the same time after the change, where it does less of their work, and *left* what
    it counts as left to such a unit, in words; *also* are the rules that say the same. What is
    *separate* was counted apart from what a louder finding on the same accesses says. What is
    *reasoned* says itself why it matters.
    """

    message: str
    action: str
    evidence: tuple[Evidence, ...]
    gain: Gain | None = None
    location: Location | None = None
    priority: Priority | None = None
    confidence: Confidence | None = None
    relief: Mapping[str, float] | None = None
    left: Mapping[str, str] | None = None
    also: tuple[str, ...] = ()
    broken: bool = False  # without it the program fails
    separate: bool = False
    reasoned: bool = False

    def but(self, **changes: Any) -> Advice:
        """Return the same advice with *changes*: in a quarter of the time that `replace` takes."""
        new = object.__new__(Advice)
        for put, value in zip(_PUTS, _PARTS_OF(self), strict=True):
            put(new, value)
        for name, value in changes.items():
            _PUT[name](new, value)
        return new


# What fills a slot of a new advice: the slots of a frozen one take it, its attributes do not.
_PUT = {each.name: getattr(Advice, each.name).__set__ for each in fields(Advice)}
_PUTS = tuple(_PUT.values())
_PARTS_OF = attrgetter(*_PUT)


@dataclass(frozen=True, slots=True)
class Passed:
    """The rule had its evidence and found nothing wrong."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """The rule had its facts, but not the values in them that decide: it could not see a fault.

    *values* name facts, or values in them as ``telemetry.xids``; *why* says what kept them out.
    """

    values: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact that a rule needs and nobody supplied; of *alternative* ones, one would do."""

    fact: str
    how: str
    alternative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The rule was not evaluated; the engine alone says so."""

    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The rule broke; the engine alone says so."""

    error: str


PASSED = Passed()


def undecided(value: str, *more: str, why: str = "") -> Undecided:
    """Return the verdict of a rule that cannot decide without *value*, and without *more*."""
    return Undecided((value, *more), why)


# PASSED beside advice: what a source shows was looked at in the profile too, and costs nothing there.
Verdict: TypeAlias = Advice | tuple[Advice | Passed, ...] | Passed | Undecided
Outcome: TypeAlias = Advice | Passed | Skipped | Failed
