"""What a rule is; with what `advice` holds, all that a module with a rule of its own needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gpuadvise.rules.advice import (
    PASSED,
    Advice,
    Citation,
    Confidence,
    Evidence,
    Failed,
    Gain,
    GainKind,
    Location,
    Missing,
    Outcome,
    Passed,
    Priority,
    Skipped,
    Undecided,
    Verdict,
    undecided,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

    from gpuadvise.advisor.facts.counted_lines import LineCount

__all__ = (
    "PASSED",
    "Advice",
    "Category",
    "Check",
    "Citation",
    "Confidence",
    "Conflict",
    "Description",
    "Evidence",
    "Examples",
    "Failed",
    "Family",
    "Gain",
    "GainKind",
    "Kind",
    "Location",
    "Missing",
    "Outcome",
    "Passed",
    "Priority",
    "Rule",
    "Skipped",
    "Threshold",
    "Topic",
    "Undecided",
    "Verdict",
    "undecided",
)

Description: TypeAlias = "Mapping[str, object]"  # a kernel description, as in kernel.toml


class Category(StrEnum):
    """What a finding is about: a gate on speed can leave the others out."""

    CORRECTNESS = "correctness"  # the program is wrong or fails, or its results may be
    PERFORMANCE = "performance"
    PROCESS = "process"  # how to work


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


# What only a rule that is asked, or explained, needs.
OF_THE_MODULE = ("check", "examples", "why", "when", "citations", "thresholds", "line_count")


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
    measured_as: str | None = (
        None  # the rule that finds in a profile what this one sees in a source
    )
    silenced_by: tuple[str, ...] = ()  # rules of which a loud finding explains what this one sees
    conflicts_with: tuple[Conflict, ...] = ()
    author_only: bool = False  # of a library's kernel, only its author can take the advice
    caller_side: bool = False  # or whoever launches it can, with no word on the library first
    fewer_launches: bool = False  # fewer launches win more than one launch can be shortened by
    launch_may_work: bool = False  # what would make the launch fail may be set already, unseen
    shape_decides: bool = False  # a launch's shape and time, as a timeline has them, are enough
    module: str | None = None  # of a rule out of the catalogue: whose RULE has all of it
    names: tuple[str, ...] = field(init=False)  # its id, and *formerly*: others may name it by each
    parameters: tuple[str, ...] = field(init=False)  # every fact that *check* looks at
    needs: tuple[str, ...] = field(init=False)  # those without which it cannot run
    required: frozenset[str] = field(init=False)  # the same, to compare quickly
    heads: tuple[str, ...] = field(
        init=False, default=()
    )  # all that it folds into, the nearest first

    def __post_init__(self) -> None:
        """Read the manifest off the signature once: the engine asks for it all the time."""
        code, defaults = self.check.__code__, self.check.__defaults__ or ()
        parameters = code.co_varnames[: code.co_argcount]
        own = (self.id,) if self.formerly is None else (self.id, self.formerly)
        object.__setattr__(self, "names", own)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "needs", parameters[: len(parameters) - len(defaults)])
        object.__setattr__(self, "required", frozenset(self.needs))

    if not TYPE_CHECKING:  # which would allow every name

        def __getattr__(self, name: str) -> object:
            """Return what the catalogue does not hold of this rule: its module is loaded for it."""
            if name not in OF_THE_MODULE or self.module is None:
                raise AttributeError(f"a rule has no {name!r}", name=name, obj=self)
            whole = import_module(self.module).RULE
            for held in OF_THE_MODULE:
                object.__setattr__(self, held, getattr(whole, held))
            return getattr(whole, name)

    @property
    def category(self) -> Category:
        """What it is about; a finding that makes the program fail is about correctness all the same."""
        if self.process:
            return Category.PROCESS
        return Category.CORRECTNESS if self.broken or self.correctness else Category.PERFORMANCE
