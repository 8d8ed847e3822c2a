"""How loudly a finding about a recorded run is said: by the part of all that was recorded that it wins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.application import Managed
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.ranks import RankWaits
from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
from gpuadvise.advisor.facts.timing import Transfer
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.timelines.gpus import traced_device
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding

BY_NAME = {rule.id: rule for rule in RULES}


def found(rule: str, facts: Facts) -> Finding | None:
    findings = run((BY_NAME[rule],), facts).findings
    assert len(findings) <= 1
    return findings[0] if findings else None


def priority(rule: str, facts: Facts) -> Priority | None:
    one = found(rule, facts)
    return None if one is None else one.priority


def recorded(**fields: Any) -> Facts:
    given: dict[str, Any] = {"span_seconds": 1.0, "kernels": 1000, "launches": 1000}
    return Facts(timeline=TracedRun(**given | fields))


@pytest.mark.parametrize(
    ("idle", "busy", "said"),
    [
        (0.6, 0.3, Priority.HIGH),
        (0.35, 0.6, Priority.MEDIUM),
        (0.15, 0.8, Priority.LOW),
        (0.08, 0.9, None),
    ],
)
def test_late_launches_are_said_by_how_late_they_are(
    idle: float, busy: float, said: Priority | None
) -> None:
    facts = recorded(launch_idle_seconds=idle, busy_seconds=busy, median_kernel_seconds=2e-6)
    assert priority("launch-bound", facts) is said


def test_what_the_profiler_may_have_made_late_is_not_said() -> None:
    profiled = {"launch_overhead_seconds": 20e-6, "busy_seconds": 0.8}
    assert priority("launch-bound", recorded(launch_idle_seconds=0.15, **profiled)) is None
    assert priority("launch-bound", recorded(launch_idle_seconds=0.17, **profiled)) is Priority.LOW


@pytest.mark.parametrize(
    ("share", "said"), [(0.4, Priority.MEDIUM), (0.2, Priority.LOW), (0.09, None)]
)
def test_passes_over_memory_are_said_by_their_share(share: float, said: Priority | None) -> None:
    facts = recorded(busy_seconds=0.9, elementwise_seconds=share, fused_seconds=0.01)
    assert priority("memory-bound", facts) is said


@pytest.mark.parametrize(
    ("lost", "said"), [(0.11, Priority.MEDIUM), (0.095, Priority.LOW), (0.06, Priority.LOW)]
)
def test_waits_that_cost_less_than_a_tenth_are_said_quietly(lost: float, said: Priority) -> None:
    facts = recorded(busy_seconds=0.8, waits=200, wait_idle_seconds=lost)
    assert priority("frequent-synchronization", facts) is said


def test_a_replay_tells_what_waits_cost_where_they_began_no_gap() -> None:
    """The host, not its 400 waits of 4 us, keeps a loop of small kernels from the GPU."""
    facts = recorded(
        busy_seconds=0.06,
        launch_idle_seconds=0.94,
        waits=400,
        waited_seconds=0.0016,
        values_read=400,
        values_read_seconds=0.003,
        saved_without_waits_seconds=0.0016,
    )
    assert priority("frequent-synchronization", facts) is None
    unrecorded = replace(facts.timeline, waited_seconds=0.0)  # as JAX's traces hold them
    assert priority("frequent-synchronization", Facts(timeline=unrecorded)) is Priority.MEDIUM


def test_waits_beside_the_hosts_own_long_work_are_not_said_of_nothing() -> None:
    facts = recorded(
        busy_seconds=0.24,
        host_idle_seconds=0.755,
        host_gaps=29,
        waits=200,
        wait_idle_seconds=0.755,
        saved_without_waits_seconds=0.23,
    )
    assert priority("idle-gaps", facts) is Priority.HIGH
    assert priority("frequent-synchronization", facts) is None


def test_a_run_inside_of_a_long_start_is_said_quietly() -> None:
    waits = {"busy_seconds": 0.5, "waits": 200, "wait_idle_seconds": 0.4}
    assert priority("frequent-synchronization", recorded(**waits)) is Priority.MEDIUM
    late = recorded(**waits, start_up_seconds=9.0)
    assert priority("frequent-synchronization", late) is Priority.LOW


@pytest.mark.parametrize(
    ("waited", "said"),
    [(0.2, Priority.HIGH), (0.12, Priority.MEDIUM), (0.06, Priority.LOW), (0.04, None)],
)
def test_waits_for_other_ranks_are_said_by_their_share(
    waited: float, said: Priority | None
) -> None:
    ranks = RankWaits(count=8, span_seconds=1.0, waited_seconds=waited, late=(3,))
    assert priority("uneven-ranks", Facts(ranks=ranks)) is said


def test_the_waits_of_a_rank_alone_are_said_to_be_an_estimate() -> None:
    facts = recorded(exposed_communication_seconds=0.4, rank_wait_seconds=0.3, collectives=80)
    one = found("uneven-ranks", facts)
    assert one is not None
    assert "Communication takes 400 ms, 40 % of the span" in one.advice.message
    assert "may be waiting" in one.advice.message
    assert "an estimate" in one.advice.message


@pytest.mark.parametrize(
    ("kernels", "busy", "brief"),
    [(5, 0.9e-3, True), (5, 1.1e-3, False), (500, 0.09e-3, True), (500, 0.2e-3, False)],
)
def test_little_work_is_too_little_to_judge_a_run_by(
    kernels: int, busy: float, *, brief: bool
) -> None:
    line = TracedRun(span_seconds=10e-3, busy_seconds=busy, kernels=kernels, launches=kernels)
    assert line.too_short == brief


def test_a_kernel_of_a_brief_run_is_said_quietly() -> None:
    launch = Launch(threads=1, registers=16, block_dim=(1, 1, 1), grid_dim=(1, 1, 1))
    given = {"kernel": "add", "device": find("h200-sxm"), "launch": launch, "run_share": 0.9}
    assert priority("underfilled-device", completed(Facts(**given))) is Priority.HIGH
    part = completed(Facts(**given | {"run_share": 0.3}))  # of a run that something else limits
    assert priority("underfilled-device", part) is Priority.MEDIUM
    brief = completed(Facts(**given, brief_run=True))
    assert priority("underfilled-device", brief) is Priority.LOW


@pytest.mark.parametrize(
    ("name", "major", "minor", "words"),
    [
        ("Tesla V100-DGXS-32GB", 7, 0, "autocast('cuda', torch.float16)"),
        ("NVIDIA PG509-210", 8, 0, "allow_tf32"),
        ("An unheard of Turing", 7, 5, "autocast('cuda', torch.float16)"),
        ("GTX 1699", 7, 5, None),
        ("An unheard of Pascal", 6, 0, None),
    ],
)
def test_parts_without_known_peaks_have_tensor_cores_by_their_capability(
    name: str, major: int, minor: int, words: str | None
) -> None:
    device = traced_device(name=name, major=major, minor=minor, sm_count=40, memory_bytes=None)
    assert device is not None
    assert not device.peaks
    line = TracedRun(span_seconds=1.0, busy_seconds=0.9, kernels=100, single_precision_seconds=0.5)
    one = found("fp32-products", Facts(device=device, timeline=line))
    assert (one is None) == (words is None)
    if one is not None and words is not None:
        assert words in one.advice.action
        assert ("allow_tf32" in one.advice.action) == (major >= 8)
        assert one.priority is Priority.HIGH


@pytest.mark.parametrize(
    ("seconds", "said", "bound"),
    [
        (0.05, Priority.LOW, 1 / 0.95),
        (0.2, Priority.MEDIUM, 1 / 0.8),
        (9, Priority.MEDIUM, 1 / 0.4),
    ],
)
def test_pages_that_the_host_takes_back_are_said_by_what_their_faults_take(
    seconds: float, said: Priority, bound: float
) -> None:
    idle = (IdleCause(cause="host-work", seconds=0.6),)
    line = TracedRun(span_seconds=1.0, busy_seconds=0.3, kernels=50, idle_causes=idle)
    managed = Managed(
        bytes=1 << 31, prefetched=True, taken_back=1 << 30, taken_back_seconds=seconds
    )
    one = found("unprefetched-managed-memory", Facts(managed=managed, timeline=line))
    assert one is not None
    assert one.priority is said
    assert one.bound == pytest.approx(bound)


def test_pages_that_only_the_host_takes_back_are_said_quietly() -> None:
    idle = (IdleCause(cause="host-work", seconds=0.6),)
    line = TracedRun(span_seconds=1.0, busy_seconds=0.3, kernels=50, idle_causes=idle)
    managed = Managed(bytes=1 << 31, prefetched=True, taken_back=1 << 30)
    one = found("unprefetched-managed-memory", Facts(managed=managed, timeline=line))
    assert one is not None
    assert one.priority is Priority.LOW
    assert "1 GiB of managed memory come back page by page" in one.advice.message
    assert one.bound == pytest.approx(1 / 0.4)
    described = found("unprefetched-managed-memory", Facts(managed=managed))
    assert described is not None
    assert described.advice.gain is None


@pytest.mark.parametrize(
    ("seconds", "span", "said"), [(20e-3, 0.1, True), (4e-3, 5e-3, False), (20e-3, 1.0, False)]
)
def test_a_start_is_said_where_it_is_one(seconds: float, span: float, *, said: bool) -> None:
    for field in ("start_up_seconds", "before_seconds"):
        line = TracedRun(span_seconds=span, busy_seconds=span, kernels=100, **{field: seconds})
        loud = Priority.MEDIUM if field == "start_up_seconds" else Priority.LOW
        assert priority("idle-gaps", Facts(timeline=line)) is (loud if said else None)


@pytest.mark.parametrize(("before", "said"), [(0.5, Priority.MEDIUM), (0.4, Priority.LOW)])
def test_the_hosts_code_before_a_run_is_said_by_its_share(before: float, said: Priority) -> None:
    line = TracedRun(span_seconds=1.0, busy_seconds=1.0, kernels=100, before_seconds=before)
    assert priority("idle-gaps", Facts(timeline=line)) is said


def test_what_takes_most_of_a_start_is_named() -> None:
    search = IdleCause(
        cause="start-up", seconds=3.0, culprit="aten::cudnn_convolution", culprit_seconds=2.5
    )
    one = found("idle-gaps", recorded(busy_seconds=1.0, start_up_seconds=3.0, start_cause=search))
    assert one is not None
    assert "2.5 s of it in aten::cudnn_convolution" in one.advice.message


@pytest.mark.parametrize(
    ("seconds", "short", "start_up", "said"),
    [
        (0.5, 0.0, 0.0, Priority.HIGH),
        (0.5, 0.45, 0.0, Priority.LOW),  # launches of a few microseconds
        (0.5, 0.0, 9.0, Priority.LOW),  # little of all that was recorded
        (0.09, 0.0, 0.0, None),
    ],
)
def test_fp32_products_are_said_by_what_they_win(
    seconds: float, short: float, start_up: float, said: Priority | None
) -> None:
    facts = replace(
        recorded(
            busy_seconds=1.0,
            single_precision_seconds=seconds,
            short_products_seconds=short,
            start_up_seconds=start_up,
        ),
        device=find("h200-sxm"),
    )
    assert priority("fp32-products", facts) is said


@pytest.mark.parametrize(("idle", "said"), [(0.15, True), (0.1, False)])
def test_idle_time_that_recording_explains_is_not_said(idle: float, *, said: bool) -> None:
    """10,000 launches, to each of which the profiler adds 10 us."""
    facts = recorded(
        busy_seconds=0.8,
        launches=10_000,
        launch_overhead_seconds=10e-6,
        idle_causes=(IdleCause(cause="host-work", seconds=idle),),
    )
    assert (found("idle-gaps", facts) is not None) == said


@pytest.mark.parametrize(("gaps", "said"), [(0.15, Priority.LOW), (0.02, Priority.MEDIUM)])
def test_waits_whose_idle_time_is_the_hosts_work_are_said_quietly(
    gaps: float, said: Priority
) -> None:
    """A fifth of the span is idle; a replay without waits would hide the host's work too."""
    facts = recorded(
        busy_seconds=0.8,
        waits=200,
        wait_idle_seconds=0.04,
        host_idle_seconds=gaps,
        host_gaps=5,
        saved_without_waits_seconds=0.2,
    )
    one = found("frequent-synchronization", facts)
    assert one is not None
    assert one.priority is said
    assert ("in all for 5 % of the span." in one.advice.message) == (said is Priority.LOW)


@pytest.mark.parametrize(("launch_idle", "said"), [(0.5, Priority.LOW), (0.1, Priority.MEDIUM)])
def test_small_copies_of_a_run_that_waits_for_launches_are_said_quietly(
    launch_idle: float, said: Priority
) -> None:
    device = find("h200-sxm")
    copies = Transfer(direction=Direction.H2D, bytes=64, count=20_000, seconds=2e-6)
    line = TracedRun(
        span_seconds=1.0,
        busy_seconds=0.45,
        kernels=10_000,
        launches=10_000,
        median_kernel_seconds=2e-6,
        launch_idle_seconds=launch_idle,
        queueing_idle_seconds=0.1,
    )
    facts = Facts(
        device=device,
        link=default_link_model(device),
        timeline=line,
        run_seconds=1.0,
        transfers=(copies,),
    )
    assert priority("small-transfers", facts) is said


@pytest.mark.parametrize(("pytorch", "said"), [(False, False), (True, True), (None, True)])
def test_frameworks_are_told_how_to_wait_less_where_one_may_run(
    pytorch: bool | None, *, said: bool
) -> None:
    facts = recorded(waits=200, wait_idle_seconds=0.3, busy_seconds=0.5, calls_pytorch=pytorch)
    one = found("frequent-synchronization", facts)
    assert one is not None
    assert ("In PyTorch" in one.advice.action) is said


@pytest.mark.parametrize(
    ("start", "said"),
    [(0.5, Priority.HIGH), (1.1, Priority.MEDIUM), (4.5, Priority.LOW)],
)
def test_long_gaps_are_said_more_quietly_in_a_cold_run(start: float, said: Priority) -> None:
    facts = recorded(host_idle_seconds=0.5, host_gaps=10, busy_seconds=0.3, start_up_seconds=start)
    findings = run((BY_NAME["idle-gaps"],), facts).findings
    (gaps,) = (one for one in findings if "10 gaps of" in one.advice.message)
    assert gaps.priority is said


@pytest.mark.parametrize(
    ("gaps", "loader", "said"),
    [(2, None, Priority.LOW), (3, None, Priority.HIGH), (2, "itself", Priority.HIGH)],
)
def test_a_gap_or_two_of_a_test_are_said_quietly(
    gaps: int, loader: str | None, said: Priority
) -> None:
    """60 kernels of 2 us each, and a first use between two calls."""
    idle = (IdleCause(cause="host-work", seconds=3e-3, loader=loader),)
    small: dict[str, Any] = {"span_seconds": 5e-3, "busy_seconds": 0.12e-3, "kernels": 60}
    facts = recorded(**small, launches=60, host_idle_seconds=3e-3, host_gaps=gaps, idle_causes=idle)
    assert priority("idle-gaps", facts) is said


@pytest.mark.parametrize(("launches", "said"), [(700, True), (500, False)])
def test_a_millisecond_of_idle_time_for_each_launch_is_no_launchs(
    launches: int, *, said: bool
) -> None:
    facts = recorded(launch_idle_seconds=0.6, busy_seconds=0.3, kernels=launches, launches=launches)
    assert (found("launch-bound", facts) is not None) is said
