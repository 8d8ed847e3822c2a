"""No limit, no finding and no all-clear rests on counters that a recording lacks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from judged_profiles import KERNEL
from masked_counters import masked, page

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import (
    BY_LOADS,
    AtRoof,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
    limiter_of,
    unread_units,
)
from gpuadvise.advisor.facts.timing import Traffic
from gpuadvise.advisor.profiles.launch_facts import profiled_facts
from gpuadvise.advisor.profiles.metrics import page_profile
from gpuadvise.advisor.profiles.ncu_csv import read_launches
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.missing_counters import HOW
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Evidence,
    Examples,
    Family,
    Gain,
    Kind,
    Priority,
    Rule,
    Topic,
    Undecided,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.report import Report

UNITS = {"dram": "dram_busy", "l2": "l2_busy", "l1/shared": "l1_busy", "issue": "issue_busy"}


def without(profile: KernelProfile, *names: str) -> KernelProfile:
    """Return *profile* as a recording has it whose counters of *names* hold no number."""
    absent: dict[str, Any] = dict.fromkeys(names)
    if "pipes" in names:
        absent["pipes"] = {}
    return replace(profile, missing=frozenset(names), **absent)


QUIET = replace(KERNEL, memory_busy=0.3, sm_busy=0.25)


def test_a_unit_below_the_roof_of_the_busiest_of_several_is_read() -> None:
    """All but L2, whose counter goes beyond that of the memory system."""
    for unit, name in UNITS.items():
        assert unread_units(without(QUIET, name)) == (("l2",) if unit == "l2" else ())
        busy = replace(QUIET, memory_busy=0.65, sm_busy=0.65)
        assert unread_units(without(busy, name)) == (unit,)
        none = replace(without(QUIET, name, "memory_busy", "sm_busy"))
        assert unread_units(none) == (unit,)
    assert unread_units(without(QUIET, "pipes")) == ()
    tensor = replace(QUIET, sm_busy=0.45)  # tensor cores are at their roof from 0.4 on
    assert unread_units(without(tensor, "pipes")) == ("pipes",)


def test_no_unit_at_its_roof_is_said_of_all_units_or_not_at_all() -> None:
    assert isinstance(limiter_of(QUIET), LatencyBound)
    assert isinstance(limiter_of(without(QUIET, "dram_busy", "l1_busy")), LatencyBound)
    limiter = limiter_of(without(QUIET, "l2_busy", "sm_busy", "issue_busy"))
    assert isinstance(limiter, UnknownLimiter)
    assert limiter.unread == ("l2", "issue")
    assert limit_sentence(limiter) == (
        "The limit is not known: the counters of the L2 cache and the warp scheduler are missing, and what "
        "they count may be the limit."
    )


@pytest.mark.parametrize(
    ("busy", "lacking", "known"),
    [
        ({"dram_busy": 0.7}, ("l2_busy",), False),
        ({"dram_busy": 0.92}, ("l2_busy",), True),
        ({"l2_busy": 0.95}, ("dram_busy",), False),  # it runs ahead of device memory
        ({"l2_busy": 0.95}, ("issue_busy", "sm_busy"), True),
        ({"l1_busy": 0.89}, ("pipes", "sm_busy"), False),
    ],
)
def test_a_unit_at_its_roof_is_the_limit_where_no_other_can_be_much_busier(
    busy: dict[str, float], lacking: tuple[str, ...], known: bool
) -> None:
    profile = replace(QUIET, memory_busy=max(busy.values()), **busy)
    whole = limiter_of(profile)
    assert isinstance(whole, AtRoof)
    limiter = limiter_of(without(profile, *lacking))
    assert limiter == whole if known else isinstance(limiter, UnknownLimiter)


def test_a_grid_that_leaves_most_sms_empty_needs_no_counters() -> None:
    lacking = without(QUIET, "l2_busy", "sm_busy", "issue_busy", "pipes")
    few = limiter_of(lacking, grid=(16, 1, 1), sm_count=132)
    assert few == TooLittleWork(blocks=16, sm_count=132, share=16 / 132)
    assert isinstance(limiter_of(lacking, grid=(128, 1, 1), sm_count=132), UnknownLimiter)


def test_bytes_in_a_time_are_a_limit_near_the_roof_only() -> None:
    names = ("dram_busy", "l2_busy", "l1_busy", "issue_busy", "pipes", "memory_busy", "sm_busy")
    for share in (0.7, BY_LOADS + 0.01):
        traffic = Traffic(read_bytes=int(share * 1e9), written_bytes=0, seconds=1e-3)
        limiter = limiter_of(without(KERNEL, *names), traffic=traffic, memory_bandwidth=1e12)
        assert isinstance(limiter, AtRoof) == (share > BY_LOADS)


def rule(check: Callable[..., Verdict], family: Family | None = None) -> Rule:
    return Rule(
        id="a",
        title="Title",
        topic=Topic.MEMORY,
        priority=Priority.HIGH,
        kinds=(Kind.PROFILE,),
        why="Because.",
        when="always",
        citations=guide("4.1.3", "3.1.3"),
        check=check,
        examples=Examples(fires={}, quiet={}),
        family=family,
    )


EVIDENCE = (Evidence(label="seen", value=0.5, unit="", source="you"),)
GAIN = Gain(kind="kernel time", upper_bound=8.0, how="1 / 0.125")
ADVICE = Advice(message="Seen.", action="Do.", evidence=EVIDENCE, gain=GAIN)


def judged(check: Callable[..., Verdict], *lacking: str, family: Family | None = None) -> Report:
    facts = profiled_facts(without(QUIET, *lacking), device=find("h200"))
    return run([rule(check, family)], facts)


def wanting(report: Report) -> list[str]:
    return [missing.fact for _, values in report.not_evaluated for missing in values]


def test_a_finding_that_hangs_on_a_missing_counter_is_none() -> None:
    def check(profile: KernelProfile) -> Verdict:
        return ADVICE if (profile.dram_busy or 0.0) < 0.2 else PASSED

    assert judged(check).findings
    report = judged(check, "dram_busy")
    assert (report.findings, wanting(report)) == ((), ["profile.dram_busy"])
    assert report.not_evaluated[0][1][0].how.endswith(HOW)
    assert report.missing_counters == ("dram",)


def test_nor_is_an_all_clear() -> None:
    def check(profile: KernelProfile) -> Verdict:
        return ADVICE if (profile.achieved_occupancy or 1.0) < 0.5 else PASSED

    assert not wanting(judged(check))
    assert wanting(judged(check, "achieved_occupancy")) == ["profile.achieved_occupancy"]


def test_the_busiest_of_several_units_bounds_the_others() -> None:
    def check(profile: KernelProfile) -> Verdict:
        return ADVICE if (profile.dram_busy or 0.0) < 0.4 else PASSED

    [finding] = judged(check, "dram_busy").findings  # memory_busy is 0.3
    assert finding.advice.gain is None
    [finding] = judged(lambda profile: (check(profile),), "dram_busy").findings
    assert finding.advice.gain is None


def test_a_rule_that_does_not_look_at_it_says_what_it_always_says() -> None:
    def check(profile: KernelProfile) -> Verdict:
        return ADVICE if profile.instructions else PASSED

    [finding] = judged(check, "dram_busy").findings
    assert finding.advice.gain == GAIN
    assert not wanting(judged(lambda profile: PASSED, "dram_busy"))


@pytest.mark.parametrize(
    "check",
    [
        lambda profile: ADVICE if not profile.global_loads else PASSED,
        lambda profile: (
            ADVICE if profile.dram_busy in (None, 0.0) or profile.global_loads else PASSED
        ),
    ],
    ids=["at once", "only at the most"],
)
def test_what_has_no_least_and_most_decides_nothing(check: Callable[..., Verdict]) -> None:
    report = judged(check, "dram_busy", "global_loads")
    assert not report.findings
    assert set(wanting(report)) <= {"profile.dram_busy", "profile.global_loads"}
    assert wanting(report)


def test_pipes_of_which_some_are_missing_may_be_anything_that_the_sm_may_be() -> None:
    def tensor(profile: KernelProfile) -> Verdict:
        return ADVICE if profile.pipes.get("tensor", 0.0) < 0.2 else PASSED

    def fma(profile: KernelProfile) -> Verdict:
        return ADVICE if profile.pipes.get("fma", 0.0) < 0.5 else PASSED

    assert not judged(tensor, "pipes").findings
    assert judged(fma, "pipes").findings  # sm_busy is 0.25


def test_what_breaks_and_what_is_undecided_stays_so() -> None:
    def broken(profile: KernelProfile) -> Verdict:
        raise ZeroDivisionError(str(profile.dram_busy))

    def undecided(profile: KernelProfile) -> Verdict:
        assert profile.dram_busy is None
        return Undecided(("profile.work",))

    assert judged(broken, "dram_busy").failures
    assert wanting(judged(undecided, "dram_busy")) == ["profile.work"]


def test_without_the_limit_nothing_is_clear_to_a_rule_that_asks_for_it() -> None:
    def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
        return ADVICE if isinstance(limiter, LatencyBound) else PASSED

    assert judged(check).findings
    report = judged(check, "l2_busy")
    assert (report.findings, wanting(report)) == ((), ["profile.l2_busy"])


def test_without_the_limit_what_would_lift_it_is_low_and_bounded_by_nothing_left() -> None:
    def check(profile: KernelProfile) -> Verdict:
        return replace(ADVICE, gain=None) if profile.instructions else PASSED

    [finding] = judged(check, family=Family.LATENCY).findings
    assert finding.priority is Priority.HIGH
    assert finding.advice.gain is not None
    [finding] = judged(check, "l2_busy", family=Family.LATENCY).findings
    assert (finding.priority, finding.advice.gain) == (Priority.LOW, None)


GROUPS = {
    "raw": {
        "shares": "throughput|pct_of_peak",
        "dram": "dram",
        "l2": "lts__",
        "l1": "l1tex",
        "sm": "^sm__",
        "gpu": "^gpu__(?!time)",
        "stalls": "stalled",
        "issue": "inst_issued|issue_active",
        "hits": "hit_rate",
        "all": "__.*\\.(avg|sum|max|min|pct|ratio)",
    },
    "details": {
        "shares": "Throughput: (?!Dur|Elap)|Busy|Bandwidth",
        "dram": "DRAM",
        "l2": "L2 ",
        "stalls": "Warp State",
        "memory": "Memory",
        "compute": "Compute",
    },
}


@cache
def recorded(form: str) -> list[Report]:
    return reports(page("pairs-1", form))


def reports(content: str) -> list[Report]:
    device = find("h200")
    return [
        run(RULES, profiled_facts(page_profile(record), device=device))
        for record in read_launches(content.splitlines(keepends=True), "x")
    ]


@pytest.mark.parametrize(
    ("form", "group"), [(form, group) for form, groups in GROUPS.items() for group in groups]
)
def test_recorded_launches_have_no_other_limit_and_no_louder_finding_without_counters(
    form: str, group: str
) -> None:
    content = masked(page("pairs-1", form), GROUPS[form][group])
    for whole, report in zip(recorded(form), reports(content), strict=True):
        assert report.missing_counters
        assert not report.failures
        assert whole.limiter is not None
        assert report.limiter is not None
        if isinstance(report.limiter, UnknownLimiter):
            assert all(
                finding.priority is Priority.LOW
                for finding in report.findings
                if finding.rule.family not in (None, Family.COPIES)
            )
        elif isinstance(report.limiter, AtRoof):
            assert report.limiter.share >= BY_LOADS or report.limiter.name == whole.limiter.name
        else:  # which wait is the longest may be unknown
            assert type(report.limiter) is type(whole.limiter)
        assert len(report.not_evaluated) >= len(whole.not_evaluated)
