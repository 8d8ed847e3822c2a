"""Idle time of a recorded run that no other rule names, and what held the GPU up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.application import Allocations
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
from gpuadvise.advisor.facts.timing import HostMemory, Transfer
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding

RULE = next(rule for rule in RULES if rule.id == "idle-gaps")


def found(*causes: IdleCause, **fields: Any) -> tuple[Finding, ...]:
    given: dict[str, Any] = {"span_seconds": 1.0, "busy_seconds": 0.5, "kernels": 100}
    timeline = TracedRun(**given | {"launches": 100, "idle_causes": causes} | fields)
    return tuple(run((RULE,), Facts(timeline=timeline)).findings)


@pytest.mark.parametrize(
    ("cause", "words", "medium"),
    [
        ("host-work", "the host works between two launches", False),
        ("launch", "the next kernel is launched, or begins", False),
        ("profiler", "recording holds the host up", False),
        ("synchronization", "the host waits in a call", True),
        ("copy", "inside of calls that copy", True),
        ("allocation", "allocates or frees memory", True),
        ("other-call", "other calls of CUDA", True),
    ],
)
def test_each_cause_is_said(cause: str, words: str, medium: bool) -> None:
    assert found(IdleCause(cause=cause, seconds=0.09)) == ()
    (low,) = found(IdleCause(cause=cause, seconds=0.15))
    assert low.priority is Priority.LOW
    assert words in low.advice.message
    assert "15 % of the span" in low.advice.message
    (more,) = found(IdleCause(cause=cause, seconds=0.25))
    assert more.priority is (Priority.MEDIUM if medium else Priority.LOW)
    bound = None if more.advice.gain is None else more.advice.gain.upper_bound
    assert bound == (None if cause == "profiler" else pytest.approx(1 / 0.75))


def test_what_another_rule_names_is_not_said_twice() -> None:
    waits = IdleCause(cause="synchronization", seconds=0.3)
    copies = IdleCause(cause="copy", seconds=0.2)
    allocations = IdleCause(cause="allocation", seconds=0.15)
    often = {"waits": 50, "wait_idle_seconds": 0.3}
    (said,) = found(waits, copies, allocations, **often)
    assert "calls that copy" in said.advice.message
    (said,) = found(waits, copies, allocations, values_read=50, **often)
    assert "allocates" in said.advice.message
    again = {"allocation_idle_seconds": 0.15, "values_read": 50, **often}
    assert found(waits, copies, allocations, **again) == ()
    assert found(IdleCause(cause="launch", seconds=0.9), kernels=0) == ()


def test_a_run_of_few_short_kernels_is_too_short_to_bound() -> None:
    work = IdleCause(cause="host-work", seconds=0.99)
    few = {"kernels": 4, "busy_seconds": 1e-4, "host_idle_seconds": 0.99, "host_gaps": 3}
    (said,) = found(work, **few)
    assert said.priority is Priority.LOW
    assert said.advice.gain is None
    assert "4 kernels in 100 us are too few" in said.advice.message


HOST: dict[str, Any] = {"host_idle_seconds": 0.4, "host_gaps": 4, "has_stacks": True}


def host_bound(**culprit: Any) -> Finding:
    (said,) = found(IdleCause(cause="host-work", seconds=0.4, **culprit), **HOST)
    assert said.priority is Priority.HIGH
    return said


def test_the_line_that_held_the_gpu_up_is_the_findings_place() -> None:
    said = host_bound(
        culprit="collate_fn", culprit_seconds=0.38, file="data.py", line=41, function="collate_fn"
    )
    assert "380 ms of it: collate_fn, data.py:41." in said.advice.message
    assert said.advice.location is not None
    assert (said.advice.location.file, said.advice.location.line) == ("data.py", 41)
    other = host_bound(
        culprit="zoom", culprit_seconds=0.38, file="data.py", line=41, function="resize"
    )
    assert "380 ms of it: zoom, resize, data.py:41." in other.advice.message


@pytest.mark.parametrize(
    ("culprit", "said", "unsaid"),
    [
        ({"culprit": "f", "loader": "itself"}, "num_workers=4", "workers already"),
        ({"culprit": "f", "loader": "workers"}, "workers already", "num_workers=4"),
        ({"culprit": "zoom"}, "no torch.cuda.synchronize()", "num_workers"),
        ({}, "no torch.cuda.synchronize()", "num_workers"),
    ],
)
def test_workers_are_for_loaders_that_have_none(
    culprit: dict[str, Any], said: str, unsaid: str
) -> None:
    action = host_bound(**culprit).advice.action
    assert said in action
    assert unsaid not in action


def test_no_more_of_an_idle_time_is_said_than_there_is() -> None:
    """Gaps short of long have the same culprit: what it takes in all is more than the long ones."""
    said = host_bound(culprit="poll", culprit_seconds=0.45, file="data.py", line=41)
    assert "In all the GPU is idle for 450 ms in: poll, data.py:41." in said.advice.message
    assert "of it" not in said.advice.message


@pytest.mark.parametrize(
    ("start_up", "words"),
    [
        (0.0, "40 % of the span"),
        (0.01, "40 % of the span"),
        (0.2, "40 % of the 1 s that are judged"),
    ],
)
def test_what_a_share_is_of_is_said_where_a_start_is_left_out(start_up: float, words: str) -> None:
    work = IdleCause(cause="host-work", seconds=0.4)
    messages = [
        said.advice.message for said in found(work, **HOST | {"start_up_seconds": start_up})
    ]
    assert any(words in message for message in messages)


def test_waits_beside_long_work_of_the_host_are_not_laid_to_it() -> None:
    """The finding about that work has its line; of the waits none is known."""
    rule = next(rule for rule in RULES if rule.id == "frequent-synchronization")
    work = IdleCause(
        cause="host-work", seconds=0.4, culprit="save", culprit_seconds=0.4, file="t.py", line=7
    )
    waits = {"waits": 50, "wait_idle_seconds": 0.08, "host_idle_seconds": 0.4}
    given: dict[str, Any] = {"span_seconds": 1.0, "busy_seconds": 0.5, "kernels": 100}
    for gaps, place in ((4, None), (0, 7)):
        run_facts = TracedRun(**given, **waits, host_gaps=gaps, idle_causes=(work,))
        (said,) = run((rule,), Facts(timeline=run_facts)).findings
        location = said.advice.location
        assert (location and location.line) == place
        assert ("save" in said.advice.message) == (place is not None)


def test_stacks_are_asked_for_where_pytorch_could_have_kept_them() -> None:
    work = IdleCause(cause="host-work", seconds=0.4)
    for stacks, asked in ((False, True), (True, False), (None, False)):
        (said,) = found(work, **HOST | {"has_stacks": stacks})
        assert ("with_stack=True" in said.advice.action) == asked


@pytest.mark.parametrize(
    ("rule", "cause", "facts"),
    [
        (
            "frequent-synchronization",
            "synchronization",
            {"timeline": {"waits": 50, "wait_idle_seconds": 0.3}},
        ),
        (
            "launch-bound",
            "launch",
            {"timeline": {"launch_idle_seconds": 0.4, "busy_seconds": 0.1}},
        ),
        (
            "repeated-allocations",
            "allocation",
            {
                "allocations": Allocations(per_iteration=1, iterations=50),
                "timeline": {"allocation_idle_seconds": 0.3},
            },
        ),
        (
            "pageable-transfers",
            "copy",
            {
                "device": find("h200-sxm"),
                "link": default_link_model(find("h200-sxm")),
                "transfers": (
                    Transfer(
                        direction=Direction.H2D,
                        bytes=1 << 30,
                        memory=HostMemory.PAGEABLE,
                        seconds=0.2,
                    ),
                ),
            },
        ),
    ],
)
def test_findings_of_a_run_have_the_line_that_waits(
    rule: str, cause: str, facts: dict[str, Any]
) -> None:
    idle = IdleCause(
        cause=cause,
        seconds=0.3,
        culprit="aten::to",
        culprit_seconds=0.2,
        file="train.py",
        line=96,
        function="train",
    )
    given: dict[str, Any] = {"span_seconds": 1.0, "busy_seconds": 0.5, "kernels": 1000}
    given |= {"launches": 1000, "idle_causes": (idle,)} | facts.pop("timeline", {})
    rules = tuple(each for each in RULES if each.id == rule)
    (said,) = run(rules, Facts(timeline=TracedRun(**given), **facts)).findings
    assert said.advice.location is not None
    assert (said.advice.location.file, said.advice.location.line) == ("train.py", 96)
    assert "200 ms of it: aten::to, train, train.py:96." in said.advice.message
