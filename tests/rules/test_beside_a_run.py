"""What a recorded run shows beside idle time: what was queued, cut, silent, paced or sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.application import Managed
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.ranks import RankWaits
from gpuadvise.advisor.facts.timeline import IdleCause
from gpuadvise.rules.model import Priority
from tests.rules.test_recorded_loudness import found, priority, recorded


@pytest.mark.parametrize(("queued", "said"), [(0.2, True), (0.1, False)])
def test_work_that_does_not_begin_is_no_fault_of_the_host(queued: float, *, said: bool) -> None:
    one = found("idle-gaps", recorded(busy_seconds=1.0, queued_seconds=queued))
    assert (one is not None) is said
    if one is not None:
        assert one.priority is Priority.LOW
        assert "reading" not in one.advice.action
        assert "does not begin" in one.advice.message


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.1, 0.0, None),
        (0.3, 0.0, Priority.LOW),
        (0.9, 0.0, Priority.LOW),  # libraries take as long to load
        (1.1, 0.0, Priority.MEDIUM),
        (0.2, 0.9, Priority.MEDIUM),
    ],
)
def test_time_without_cuda_is_said_by_its_share_and_length(
    before: float, after: float, said: Priority | None
) -> None:
    facts = recorded(busy_seconds=1.0, silent_before_seconds=before, silent_after_seconds=after)
    assert priority("idle-gaps", facts) is said


@pytest.mark.parametrize(("lost", "said"), [(120, Priority.LOW), (0, None)])
def test_a_recording_that_is_cut_is_said(lost: int, said: Priority | None) -> None:
    assert priority("idle-gaps", recorded(busy_seconds=1.0, lost_launches=lost)) is said


def paced(**fields: Any) -> Any:
    given = {
        "busy_seconds": 0.1,
        "host_idle_seconds": 0.9,
        "host_gaps": 25,
        "idle_causes": (IdleCause(cause="host-work", seconds=0.9),),
    }
    return found("idle-gaps", recorded(**given | fields))


def test_work_that_a_clock_paces_wins_nothing() -> None:
    clocked, free = paced(frame_period_seconds=0.04), paced()
    assert clocked.advice.gain is None
    assert clocked.priority is Priority.MEDIUM
    assert "every 40 ms, 25 times a second" in clocked.advice.message
    assert free.priority is Priority.HIGH
    assert free.advice.gain is not None
    busy = paced(frame_period_seconds=0.04, busy_seconds=0.6, host_idle_seconds=0.4)
    assert busy.advice.gain is not None


@pytest.mark.parametrize(("calls", "advised"), [(True, True), (None, True), (False, False)])
def test_a_program_without_pytorch_is_not_told_of_it(calls: bool | None, advised: bool) -> None:
    assert ("In PyTorch" in paced(calls_pytorch=calls).advice.action) is advised


@pytest.mark.parametrize(
    ("calls", "seconds", "said"),
    [
        (False, 0.4, Priority.MEDIUM),
        (True, 0.4, Priority.LOW),  # a framework's own, between operators
        (False, 0.2, Priority.LOW),
    ],
)
def test_the_hosts_work_of_much_of_a_recording_is_loud(
    calls: bool, seconds: float, said: Priority
) -> None:
    idle = (IdleCause(cause="host-work", seconds=seconds),)
    facts = recorded(busy_seconds=0.5, launches=10, idle_causes=idle, calls_pytorch=calls)
    assert priority("idle-gaps", facts) is said


@pytest.mark.parametrize(("back", "said"), [(100e6, Priority.MEDIUM), (300e6, Priority.LOW)])
def test_pages_that_come_back_are_no_work_of_the_host(back: float, said: Priority) -> None:
    idle = (IdleCause(cause="host-work", seconds=0.4),)
    facts = recorded(busy_seconds=0.5, launches=10, idle_causes=idle, calls_pytorch=False)
    managed = Managed(bytes=1 << 30, prefetched=True, taken_back=round(back))
    assert priority("idle-gaps", replace(facts, managed=managed)) is said


@pytest.mark.parametrize(
    ("idle", "said"), [(0.6, Priority.LOW), (0.1, Priority.HIGH)], ids=["late", "prompt"]
)
def test_products_of_a_run_that_waits_for_launches_are_no_first_step(
    idle: float, said: Priority
) -> None:
    facts = recorded(
        busy_seconds=0.4,
        single_precision_seconds=0.3,
        launch_idle_seconds=idle,
        median_kernel_seconds=2e-6,
    )
    assert priority("fp32-products", replace(facts, device=find("t4"))) is said


@pytest.mark.parametrize(("gpu", "tf32"), [("rtx-3060", False), ("a100-sxm4-80", True)])
def test_tf32_is_advised_where_it_is_faster(gpu: str, *, tf32: bool) -> None:
    facts = recorded(busy_seconds=1.0, single_precision_seconds=0.5)
    one = found("fp32-products", replace(facts, device=find(gpu)))
    assert one is not None
    assert ("tf32" in one.advice.action) is tf32
    assert ("TF32" in one.advice.message) is tf32
    assert "BF16" in one.advice.message


@pytest.mark.parametrize(("stacks", "said"), [(True, Priority.LOW), (False, Priority.HIGH)])
def test_stacks_of_a_small_run_tell_little_of_its_launches(stacks: bool, said: Priority) -> None:
    facts = recorded(
        span_seconds=4e-3,
        busy_seconds=1.2e-3,
        kernels=48,
        launches=48,
        launch_idle_seconds=2.5e-3,
        median_kernel_seconds=10e-6,
        has_stacks=stacks,
    )
    one = found("launch-bound", facts)
    assert one is not None
    assert one.priority is said
    assert ("too few to judge" in one.advice.message) is stacks


@pytest.mark.parametrize(
    ("exposed", "start_up", "said"),
    [
        (0.38, 0.0, Priority.HIGH),
        (0.25, 0.0, Priority.MEDIUM),
        (0.16, 0.5, Priority.LOW),
        (0.14, 0.0, None),
    ],
)
def test_communication_that_nothing_hides_is_said(
    exposed: float, start_up: float, said: Priority | None
) -> None:
    facts = recorded(
        busy_seconds=0.8,
        exposed_communication_seconds=exposed,
        collectives=20,
        start_up_seconds=start_up,
    )
    one = found("exposed-communication", facts)
    assert (None if one is None else one.priority) is said
    assert found("uneven-ranks", facts) is None
    if one is not None:
        # No more is hidden than there is other work.
        assert one.bound == pytest.approx(1 / (1 - min(exposed, 0.8 - exposed)))


def test_waits_of_a_rank_are_no_sending() -> None:
    """Of 40 ms exposed 20 may be waiting: both are said, each of its part."""
    facts = recorded(
        busy_seconds=0.8,
        exposed_communication_seconds=0.4,
        rank_wait_seconds=0.2,
        collectives=20,
    )
    sending, waiting = found("exposed-communication", facts), found("uneven-ranks", facts)
    assert sending is not None
    assert waiting is not None
    assert "takes 200 ms" in sending.advice.message
    assert "waits for other ranks not counted" in sending.advice.message


@pytest.mark.parametrize(
    ("exposed", "waited", "said"),
    [
        (0.5, 0.1, Priority.HIGH),
        (0.3, 0.1, Priority.MEDIUM),
        (0.3, 0.2, None),
    ],
)
def test_a_folder_of_ranks_is_told_of_what_it_sends(
    exposed: float, waited: float, said: Priority | None
) -> None:
    ranks = RankWaits(
        count=8,
        span_seconds=1.0,
        waited_seconds=waited,
        exposed_seconds=exposed,
        computing_seconds=0.3,
    )
    one = found("exposed-communication", Facts(ranks=ranks))
    assert (None if one is None else one.priority) is said
    if one is not None:
        assert one.bound == pytest.approx(1 / (1 - min(exposed - waited, 0.3)))


def test_waits_win_nothing_of_what_allocations_take() -> None:
    facts = recorded(
        busy_seconds=0.5,
        waits=200,
        wait_idle_seconds=0.3,
        saved_without_waits_seconds=0.45,
        allocation_idle_seconds=0.4,
    )
    one = found("frequent-synchronization", facts)
    assert one is not None
    assert one.bound == pytest.approx(1 / 0.9)


@pytest.mark.parametrize(
    ("softmax", "fused", "said"),
    [(0.06, 0.0, Priority.LOW), (0.04, 0.0, None), (0.06, 0.1, None)],
)
def test_softmaxes_tell_of_attention_where_no_shapes_do(
    softmax: float, fused: float, said: Priority | None
) -> None:
    facts = recorded(busy_seconds=1.0, softmax_seconds=softmax, fused_attention_seconds=fused)
    assert priority("unfused-attention", facts) is said


@pytest.mark.parametrize(("gaps", "bound"), [(2, 10.0), (3, 13.0)])
def test_few_gaps_tell_of_no_loop(gaps: int, bound: float) -> None:
    """A loop has one gap more than lie between its kernels."""
    assert paced(host_gaps=gaps).bound == pytest.approx(bound)
