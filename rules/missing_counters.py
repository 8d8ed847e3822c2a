"""Verdicts on a recording that lacks counters: none rests on what they may have held."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.kernel_profile import KernelProfile
from gpuadvise.advisor.facts.limiter import UnknownLimiter
from gpuadvise.rules.advice import PASSED, Advice, Failed, Passed, Undecided

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from gpuadvise.rules.advice import Verdict
    from gpuadvise.rules.model import Rule

    Judged = Verdict | Failed

# What holds no number is some share, from none to all, of what the field is a share of.
_OF_MEMORY = frozenset(
    {
        "dram_busy",
        "l1_busy",
        "lsu_wavefronts_busy",
        "bank_reads_busy",
        "bank_writes_busy",
        "shared_atomics_busy",
        "memory_access_busy",
        "memory_request_busy",
    }
)
_OF_SM = frozenset({"issue_busy", "memory_pipes_busy", "pipes"})
_OF_ALL = frozenset(
    {
        "memory_busy",
        "sm_busy",
        "l2_busy",
        "l1_hit_rate",
        "l1_load_hit_rate",
        "l2_hit_rate",
        "achieved_occupancy",
    }
)
# Pipes that a recording may have had readings of.
_PIPES = ("alu", "fma", "fp16", "fp64", "lsu", "tensor", "uniform", "xu")
HOW = (
    "Record it again, with another version of Nsight Compute and with nothing else that reads the counters "
    "of this GPU: those of the recording are missing or hold no number (NaN)."
)


def settled(
    rule: Rule, known: Mapping[str, Any], judged: Callable[[Rule, Mapping[str, Any]], Judged]
) -> Judged:
    """Return what *rule* says of the *known* facts by *judged*, as far as no missing counter decides it.

    A rule that looked at one is asked again with the least and the most that it may have held. It
    is undecided where it then says another thing, and where there is no such least and most.
    """
    profile: KernelProfile = known["profile"]
    asked = _Watched.of(profile)
    said = judged(rule, {**known, "profile": asked})
    if isinstance(said, Failed | Undecided):
        return said
    looked_at = asked.looked_at
    limiter = known.get("limiter")
    if _is_clear(said) and "limiter" in rule.parameters and _lacks_units(limiter):
        return _undecided(looked_at or profile.missing)
    if not looked_at:
        return said
    extremes = [_Watched.of(filled) for filled in _extremes(profile, frozenset(looked_at))]
    answers = [judged(rule, {**known, "profile": filled}) for filled in extremes]
    beyond = any(filled.looked_at - looked_at for filled in extremes)
    if not answers or beyond or any(_is_clear(answer) != _is_clear(said) for answer in answers):
        return _undecided(looked_at)
    return said if isinstance(said, Passed) else _without_gain(said)


class _Watched(KernelProfile):
    """A profile that notes which of its missing fields are looked at."""

    __slots__ = ("looked_at",)

    looked_at: set[str]

    @classmethod
    def of(cls, profile: KernelProfile) -> _Watched:
        """Return *profile* again, with nothing looked at."""
        watched = cls(**{each.name: getattr(profile, each.name) for each in fields(KernelProfile)})
        object.__setattr__(watched, "looked_at", set())
        return watched

    def __getattribute__(self, name: str) -> Any:
        look = super().__getattribute__
        if name in look("missing"):
            look("looked_at").add(name)
        return look(name)


def _extremes(profile: KernelProfile, names: frozenset[str]) -> Iterator[KernelProfile]:
    """Yield *profile* with the least and the most that its missing fields *names* may hold.

    Nothing where one has no such bounds. No unit is busier than the busiest of several units of
    which it is one.
    """
    if not names <= _OF_MEMORY | _OF_SM | _OF_ALL:
        return
    next_to_none = 1e-6  # rules take 0 for not known
    for of_memory, of_sm, of_all in (
        (next_to_none, next_to_none, next_to_none),
        (_or_all(profile.memory_busy), _or_all(profile.sm_busy), 1.0),
    ):
        shares: dict[str, Any] = dict.fromkeys(names & _OF_MEMORY, of_memory)
        shares |= dict.fromkeys(names & _OF_SM, of_sm)
        shares |= dict.fromkeys(names & _OF_ALL, of_all)
        if "pipes" in names:
            shares["pipes"] = {**dict.fromkeys(_PIPES, of_sm), **profile.pipes}
        yield replace(profile, missing=profile.missing - names, **shares)


def _or_all(share: float | None) -> float:
    return 1.0 if share is None else share


def _is_clear(said: Judged) -> bool:
    return isinstance(said, Passed) or said in ((), (PASSED,))


def _lacks_units(limiter: object) -> bool:
    return isinstance(limiter, UnknownLimiter) and bool(limiter.unread)


def _undecided(names: Collection[str]) -> Undecided:
    return Undecided(tuple(f"profile.{name}" for name in sorted(names)), HOW)


def _without_gain(said: Judged) -> Judged:
    """Return the advice without what it can win, which the missing counters would bound."""
    if isinstance(said, Advice):
        return replace(said, gain=None)
    if isinstance(said, tuple):
        return tuple(
            replace(each, gain=None) if isinstance(each, Advice) else each for each in said
        )
    return said
