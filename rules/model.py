"""What a rule is, what it may answer, and what a finding looks like outside."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

    from gpuadvise.advisor.facts.counted_lines import LineCount

Description: TypeAlias = "Mapping[str, object]"  # a kernel description, as in kernel.toml


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


class Category(StrEnum):
    """What a finding is about: a gate on speed can leave the others out."""

    CORRECTNESS = "correctness"  # the program is wrong or fails, or its results may be
    PERFORMANCE = "performance"
    PROCESS = "process"  # how to work


class Confidence(StrEnum):
    """How sure it is that a finding is right, whatever its priority."""

    CERTAIN = "certain"  # it follows from what the program, the driver or the guide states
    LIKELY = "likely"  # what was measured shows it, by thresholds that labelled launches hold
    POSSIBLE = "possible"  # a launch, a description or a name alone suggests it


class Topic(StrEnum):
    """Where in the guide a rule belongs."""

    APPLICATION = "application"
    MEASUREMENT = "measurement"
    TRANSFERS = "transfers"
    MEMORY = "memory"
    EXECUTION = "execution"
    INSTRUCTIONS = "instructions"
    CONTROL_FLOW = "control-flow"
    ROOFLINE = "roofline"
    DEPLOYMENT = "deployment"
    DEVICE_STATE = "device-state"


class Family(StrEnum):
    """What a rule's advice changes: decides which limits of a kernel it can lift."""

    RESIDENCY = "residency"  # more warps per SM
    COALESCING = "coalescing"  # fewer sectors
    WIDTH = "width"  # wider, fewer accesses
    BANKS = "banks"  # fewer passes of shared memory
    REUSE = "reuse"  # fewer requests for the same data
    SPILLS = "spills"  # less local memory
    DIVERGENCE = "divergence"  # more lanes at work
    ARITHMETIC = "arithmetic"  # another unit or precision
    PRODUCTS = "products"  # tensor cores, which also fetch their operands in tiles
    LATENCY = "latency"  # shorter or overlapped waits
    ATOMICS = "atomics"
    GRID = "grid"  # more or evener blocks
    ROOFLINE = "roofline"  # what work and time alone say
    COPIES = "copies"  # between host and device


class Kind(StrEnum):
    """The kinds of evidence a rule can rest on."""

    LAUNCH = "launch"
    DEVICE = "device"
    NVML = "nvml"
    BINARY = "binary"
    SOURCE = "source"
    PROFILE = "profile"
    TIMING = "timing"
    PATTERN = "pattern"
    APPLICATION = "application"


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
    """

    kind: GainKind
    upper_bound: float
    how: str
    of_kernel: float | None = None
    share: float | None = None


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
        """Return the same advice with *changes*: in half of the time that `replace` takes."""
        return Advice(**(dict(zip(_PARTS, _PARTS_OF(self), strict=True)) | changes))


_PARTS = tuple(each.name for each in fields(Advice))
_PARTS_OF = attrgetter(*_PARTS)


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


class Check(Protocol):
    """A plain function: facts in, by parameter name, and a verdict out."""

    __code__: CodeType
    __defaults__: tuple[Any, ...] | None
    __call__: Callable[..., Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number that decides, in *unit*, with the document or reason it comes from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Kernel descriptions that show a rule at work; *edges* are just inside and just outside."""

    fires: Description
    quiet: Description
    edges: tuple[Description, Description] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another *rule* whose action cannot be taken as well, and how to decide between the two.

    *implied* says no more than *rule* does, so that it is left out beside the two.
    """

    rule: str
    decide: str
    implied: str | None = None


# Compared and hashed by identity: the engine keeps answers by rule, kernel after kernel.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One recommendation of the guide, made decidable.

    The parameters of *check* are fields of Facts: those without a default are needed, of those
    in *either* one is. *why* is one sentence that a finding repeats. Other rules are named by their
    ids, which `relations.related` resolves when a list of rules is made.
    """

    id: str
    title: str
    topic: Topic
    priority: Priority
    kinds: tuple[Kind, ...]
    why: str
    when: str
    citations: tuple[Citation, ...]
    check: Check
    examples: Examples
    thresholds: tuple[Threshold, ...] = ()
    either: tuple[str, ...] = ()
    family: Family | None = None
    line_count: LineCount | None = None  # whose lines a report names; None: by the family
    broken: bool = False  # the program is wrong or fails: before all that is merely slow
    correctness: bool = False  # or its results may be wrong, but nothing fails because of it alone
    process: bool = False  # about how to work, not about the program: a note
    confidence: Confidence | None = None  # of its findings; None: by what they rest on
    recommendation: bool = False  # one of the guide's eighteen prioritised recommendations
    formerly: str | None = None  # the rule that said this before: its id picks this one as well
    folds_into: str | None = (
        None  # the next more telling rule on the same fact, whose evidence it becomes
    )
    silenced_by: tuple[str, ...] = ()  # rules of which a loud finding explains what this one sees
    conflicts_with: tuple[Conflict, ...] = ()
    author_only: bool = False  # of a library's kernel, only its author can take the advice
    caller_side: bool = False  # or whoever launches it can, with no word on the library first
    fewer_launches: bool = False  # fewer launches win more than one launch can be shortened by
    launch_may_work: bool = False  # what would make the launch fail may be set already, unseen
    shape_decides: bool = False  # a launch's shape and time, as a timeline has them, are enough
    parameters: tuple[str, ...] = field(init=False)  # every fact that *check* looks at
    needs: tuple[str, ...] = field(init=False)  # those without which it cannot run
    required: frozenset[str] = field(init=False)  # the same, to compare quickly
    heads: tuple[str, ...] = field(
        init=False, default=()
    )  # all that it folds into, the nearest first

    def __post_init__(self) -> None:
        """Read the manifest off the signature once: the engine asks for it all the time."""
        code, defaults = self.check.__code__, self.check.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        object.__setattr__(self, "parameters", names)
        object.__setattr__(self, "needs", names[: len(names) - len(defaults)])
        object.__setattr__(self, "required", frozenset(self.needs))

    @property
    def names(self) -> tuple[str, ...]:
        """Its id, and that of the rule that said this before, which other rules may name for it."""
        return (self.id,) if self.formerly is None else (self.id, self.formerly)

    @property
    def category(self) -> Category:
        """What it is about; a finding that makes the program fail is about correctness all the same."""
        if self.process:
            return Category.PROCESS
        return Category.CORRECTNESS if self.broken or self.correctness else Category.PERFORMANCE
