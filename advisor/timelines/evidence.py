"""A timeline as facts: one bag for the run, and one for each kernel that takes enough of it."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.library_kernels import (
    concatenates,
    converts_layout,
    in_double_precision,
    in_single_precision,
    is_dense_embedding_gradient,
    is_elementwise,
    is_fill,
    is_fused_attention,
    is_library_product,
    is_of_pytorch,
    is_persistent_rnn,
    is_softmax,
    loads_single_halves,
    passes_in_double,
    sorts_of_pytorch,
    takes_many_tensors,
)
from gpuadvise.advisor.facts.step_memory import StepMemory, growth_of
from gpuadvise.advisor.facts.timeline import WORTH_SAYING, IdleCause, TracedProduct, TracedRun
from gpuadvise.advisor.facts.timing import HostMemory, Pipeline, Transfer
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.timelines.account import ONCE
from gpuadvise.advisor.timelines.activities import (
    CopyPath,
    MemoryKind,
    Recorder,
    launch_overhead_ns,
    recording_cost_ns,
)
from gpuadvise.advisor.timelines.avoidable import least_ns, repeated_allocation_ns
from gpuadvise.advisor.timelines.calls import CallKind, waits_to_free
from gpuadvise.advisor.timelines.communication import communicates, communicates_on_host
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.staging import STAGED, traced_staging
from gpuadvise.advisor.timelines.steps import median_low
from gpuadvise.advisor.transfers.copies import Direction, latency_share
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Allocations, Managed
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.timelines.gaps import Gap, IdleTime
    from gpuadvise.advisor.timelines.host_events import Culprit
    from gpuadvise.advisor.timelines.ranks import RankBalance
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies, TracedKernel
    from gpuadvise.advisor.transfers.links import LinkModel

_NS = 1e9
_RECORDERS = {
    Recorder.PYTORCH: "PyTorch",
    Recorder.NSIGHT_SYSTEMS: "Nsight Systems",
    Recorder.JAX: "JAX",
}
# A copy to the host of up to this many bytes is a value that the program looks at.
_VALUE_BYTES = 64
# Prefetches arrive in pieces of 2 MiB, page faults in pieces of 4 KiB to some hundreds of them.
_PREFETCHED_BYTES = 512 << 10
# Seconds that one costs: 6 us of a kernel were measured on a H200, and tens of them on older parts.
_PAGE_FAULT, _PAGE_FAULT_AT_MOST = 20e-6, 100e-6
# Of what a page takes: a gap so many times as long is the host's own work.
_MUCH_LONGER = 30
# Kernels shorter than this take what any launch takes, whatever their shape.
_SHORTEST_NS = 10_000
_MOST_KERNELS = 50
# Tiles of matrices in registers: few warps by design.
_TILE_REGISTERS = 128
_TILE_OCCUPANCY = 0.25
_MATRIX = re.compile(r"gemm|nvjet|cutlass|xmma|cublas|wgmma|conv|[dw]grad|winograd", re.IGNORECASE)
# cuBLAS and cuDNN put the architecture first: from Volta on there are tensor cores.
_SINCE_VOLTA = re.compile(r"(?:void )?(?:volta|turing|ampere|hopper|sm[789]\d|sm1\d\d)_")
# A single warp has no others to share a tile with.
_TILE_THREADS = 64
# Of the time in which a copy ran: with more in all, copies ran beside each other.
_SHARED = 1.05
# Likewise of kernels: with less, none ran beside another.
_BESIDE = 1.01
# Of all waits: with more for copies, waits are the copies'.
_MOST_WAITS = 0.5
# Of an optimizer's kernels: with more of many parameters each, it does not update one by one.
_FEW_OF_MANY_TENSORS = 0.1
# Runs of one collective of which the shortest tells what it needs; without sizes, and how they vary.
_FEWEST_OF_A_SIZE = 4
_FEWEST_COLLECTIVES = 20
_VARIES = 10
# Of a program's start an event is named that takes a tenth of it.
_NOTABLE = 10
# One or two kinds of passes may be all that a program computes; more have results in between.
_CHAIN, _CHAIN_BETWEEN_PRODUCTS = 4, 3
_PRODUCTS = 0.1  # of the span, in which matrix kernels make such results
_LINK = 0.005  # of the span, that such a kind takes at least


def facts_of_timeline(timeline: Timeline) -> Iterator[Facts]:
    """Yield the facts of the run, then of each kernel of 2 % of the span or more.

    Launches of one kernel that differ in their grids alone are one, told of the longest of them.
    """
    facts = run_facts(timeline)
    yield facts
    for kernels in _alike(timeline)[:_MOST_KERNELS]:
        if facts.timeline is not None and _tells(kernels, timeline):
            yield kernel_facts(kernels, timeline, facts.timeline)


def _alike(timeline: Timeline) -> list[list[TracedKernel]]:
    """Return the kernels with those of the same name and blocks together, the longest first.

    Grids that leave multiprocessors without work stand apart from those that fill them once, and
    more often: other advice is for them.
    """
    sms = (timeline.device.sm_count if timeline.device else None) or 0
    alike: dict[object, list[TracedKernel]] = {}
    for kernel in timeline.kernels:
        shape = kernel.shape
        blocks = prod(shape.grid or (1,))
        several = kernel.waves is not None and kernel.waves.waves > 1
        size = (blocks >= sms) + several
        key = shape.name, shape.block, shape.registers, shape.dynamic_shared, size
        alike.setdefault(key, []).append(kernel)
    groups = [sorted(kernels, key=lambda one: -one.steady_ns) for kernels in alike.values()]
    return sorted(groups, key=lambda kernels: -_total_ns(kernels))


def _total_ns(kernels: Iterable[TracedKernel]) -> int:
    return sum(kernel.steady_ns for kernel in kernels)


def facts_of_ranks(balance: RankBalance, timelines: Sequence[Timeline]) -> Facts:
    """Return how the ranks of a program, whose *timelines* these are, waited for each other."""
    from gpuadvise.advisor.facts.bag import Facts

    numbers = [one.rank for one in balance.ranks]
    return Facts(
        kernel=f"ranks {min(numbers)} to {max(numbers)}", ranks=rank_waits(balance, timelines)
    )


def rank_waits(balance: RankBalance, timelines: Sequence[Timeline]) -> RankWaits:
    """Return the waits and the communication of the mean rank."""
    from gpuadvise.advisor.facts.ranks import RankWaits

    accounts = [line.account for line in timelines]
    return RankWaits(
        count=len(balance.ranks),
        span_seconds=balance.span_ns / _NS,
        waited_seconds=balance.saved_ns / _NS,
        late=tuple(one.rank for one in balance.stragglers),
        collectives=balance.collectives,
        exposed_seconds=sum(one.communication_ns for one in accounts) / len(accounts) / _NS,
        computing_seconds=sum(one.computing_ns for one in accounts) / len(accounts) / _NS,
    )


def run_among_ranks(run: TracedRun) -> TracedRun:
    """Return *run* of one rank without what all ranks tell better: how they wait for and send to each other."""
    return replace(run, rank_wait_seconds=0.0, collectives=0)


def run_facts(timeline: Timeline) -> Facts:
    """Return what the timeline shows of the run as a whole."""
    # `timeline` asks for the run alone: the bag of all facts takes longer than a small trace.
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.derive import completed

    link = default_link_model(timeline.device)
    run = traced_run(timeline, link)
    copies = traced_transfers(timeline, run)
    has_kernels = _has_kernels(timeline)
    blocking = sum(bool(copy.blocking) for copy in copies if copy.memory is not HostMemory.PAGEABLE)
    return completed(
        Facts(
            device=timeline.device,
            link=link if timeline.device else None,  # of no known GPU there is none
            timeline=run,
            run_seconds=run.span_seconds,
            transfers=copies or None,
            blocking_copies=blocking if has_kernels else 0,
            transfer_seconds=traced_transfer_seconds(timeline, link),
            pipeline=traced_pipeline(timeline, link),
            allocations=_allocations(timeline),
            step_memory=_step_memory(timeline),
            managed=traced_managed(timeline),
        )
    )


def _step_memory(timeline: Timeline) -> StepMemory | None:
    """Return what steps left in memory; None where that was not recorded."""
    ends = [step.end_bytes for step in timeline.memory]
    if len(ends) < 2:
        return None
    return StepMemory(steps=len(ends), growth_bytes=growth_of(ends), allocated_bytes=ends[-1])


def traced_run(timeline: Timeline, link: LinkModel) -> TracedRun:
    """Return where the time went; *link* is what migrations of managed memory could reach."""
    account = timeline.account
    host_ns, host_gaps = _long_host_gaps(timeline)
    launch_ns = _launch_idle_ns(timeline, host_ns)
    # What the host does for long behind a wait is no copy's.
    after_waits_ns = timeline.idle_after_waits_ns - timeline.host_after_waits_ns
    elementwise, fused = _elementwise_seconds(timeline)
    sorts = sorts_of_pytorch({kernel.shape.name for kernel in timeline.kernels})
    lone_updates, lone_updates_seconds = _lone_updates(timeline)
    values = [copies for copies in timeline.steady_copies if _is_value(copies)]
    waits = timeline.synchronizations
    values_read = sum(copies.calls for copies in values)
    return TracedRun(
        span_seconds=timeline.steady_ns / _NS,
        start_up_seconds=(account.start_up_ns + timeline.first_steps_ns) / _NS,
        before_seconds=timeline.outside.before_code_ns / _NS,
        after_seconds=timeline.outside.after_code_ns / _NS,
        outside_calls_seconds=timeline.outside.once_ns / _NS,
        outside_call=timeline.outside.call,
        queued_seconds=timeline.outside.queued_ns / _NS,
        silent_before_seconds=timeline.outside.silent_before_ns / _NS,
        silent_after_seconds=timeline.outside.silent_after_ns / _NS,
        frame_period_seconds=None
        if timeline.frame_period_ns is None
        else timeline.frame_period_ns / _NS,
        calls_pytorch=_calls_pytorch(timeline),
        lost_launches=timeline.launches.lost,
        sampled=timeline.is_sample,
        steps=timeline.steps_again,
        start_cause=_start_cause(timeline),
        before_cause=_before(timeline),
        communication_seconds=_communication_ns(timeline) / _NS,
        link_copy_seconds=_link_copy_ns(timeline) / _NS,
        exposed_communication_seconds=timeline.exposed_communication_ns / _NS,
        rank_wait_seconds=_rank_wait_ns(timeline) / _NS,
        collectives=_collective_calls(timeline),
        busy_seconds=(timeline.busy_ns - timeline.first_steps_ns) / _NS,
        recorder=_RECORDERS[timeline.recorder],
        kernels=timeline.launches.kernels,
        median_kernel_seconds=_median_kernel_ns(timeline) / _NS,
        launches=timeline.launches.kernel_launches,
        graph_launches=timeline.launches.graph_launches,
        hidden_graphs=timeline.launches.hidden_graphs,
        launch_overhead_seconds=_launch_overhead_ns(timeline) / _NS,
        recording_seconds=_recording_ns(timeline) / _NS,
        launch_idle_seconds=launch_ns / _NS,
        in_turn_seconds=_in_turn_ns(timeline) / _NS,
        host_idle_seconds=host_ns / _NS,
        host_gaps=host_gaps,
        host_copy_seconds=timeline.host_copies_ns / _NS if host_gaps else 0.0,
        wait_idle_seconds=timeline.idle_after_waits_ns / _NS,
        allocation_idle_seconds=repeated_allocation_ns(timeline) / _NS,
        copy_idle_seconds=account.idle_of(GapCause.COPY) / _NS,
        queueing_idle_seconds=_copies_share(timeline) * launch_ns / _NS,
        copy_wait_idle_seconds=_waits_share(timeline) * after_waits_ns / _NS,
        load_idle_seconds=account.idle_of(GapCause.MODULE_LOAD) / _NS,
        idle_causes=_idle_causes(timeline),
        has_stacks=timeline.has_stacks if timeline.recorder is Recorder.PYTORCH else None,
        saved_without_waits_seconds=timeline.saved_without_waits_ns / _NS,
        saved_without_copy_calls_seconds=_without_copy_calls(timeline),
        waits=max(sum(call.again for call in waits) - _waits_for_copies(timeline), values_read),
        waited_seconds=sum(call.seconds for call in waits),
        values_read=values_read,
        values_read_seconds=sum(copies.seconds for copies in values),
        exposed_copy_seconds=timeline.exposed_copies_ns / _NS,
        migration_seconds=_migration_ns(timeline, link) / _NS,
        release_idle_seconds=launch_ns / _NS if _frees_again(timeline) else 0.0,
        has_tensor_cores=any(_SINCE_VOLTA.match(kernel.shape.name) for kernel in timeline.kernels),
        single_precision_seconds=_seconds_of(timeline.kernels, in_single_precision),
        short_products_seconds=_seconds_of(_short(timeline), in_single_precision),
        double_precision_seconds=_seconds_of(timeline.kernels, in_double_precision),
        unaligned_seconds=_seconds_of(timeline.kernels, loads_single_halves),
        layout_seconds=_seconds_of(timeline.kernels, converts_layout),
        elementwise_seconds=elementwise,
        fused_seconds=fused,
        softmax_seconds=_seconds_of(timeline.kernels, is_softmax),
        fused_attention_seconds=_seconds_of(timeline.kernels, is_fused_attention),
        concatenation_seconds=_seconds_of(timeline.kernels, concatenates),
        sort_seconds=_seconds_of(timeline.kernels, sorts.__contains__),
        embedding_gradient_seconds=_seconds_of(timeline.kernels, is_dense_embedding_gradient),
        many_tensors_seconds=_seconds_of(timeline.kernels, takes_many_tensors),
        fill_seconds=_seconds_of(timeline.kernels, is_fill),
        double_passes_seconds=_seconds_of(timeline.kernels, passes_in_double),
        lone_updates=lone_updates,
        lone_updates_seconds=lone_updates_seconds,
        products=_products(timeline),
    )


def _launch_idle_ns(timeline: Timeline, host_ns: int) -> int:
    """Return the idle time beside the host's long work, *host_ns*, and the recorder's part of launches in it."""
    account = timeline.account
    handed_on = timeline.launches.kernels + sum(copies.calls for copies in timeline.copies)
    recorder_ns = min(
        account.idle_of(GapCause.PROFILER), round(handed_on * _launch_overhead_ns(timeline))
    )
    idle_ns = account.idle_of(GapCause.LAUNCH, GapCause.HOST_WORK, GapCause.OTHER_CALL)
    return max(0, idle_ns + recorder_ns - host_ns)


def _launch_overhead_ns(timeline: Timeline) -> float:
    return launch_overhead_ns(timeline.recorder, timeline.operators_per_launch)


def _recording_ns(timeline: Timeline) -> float:
    """Return about what the recorder added to the span; 0 where it is not known."""
    if timeline.operators_per_launch is None:
        return 0.0
    return recording_cost_ns(
        calls=sum(call.calls for call in timeline.calls),
        operators=timeline.operators_per_launch * timeline.launches.kernel_launches,
        steps=timeline.steps_again,
    )


def _in_turn_ns(timeline: Timeline) -> float:
    """Return what kernels of several streams, which ran one after the other, take less side by side at most.

    Launches that come late keep them apart.
    """
    computing = [kernel for kernel in timeline.kernels if not kernel.communicates]
    apart = sum(
        kernel.steady_ns * (1 - 1 / kernel.streams) for kernel in computing if kernel.streams
    )
    beside = sum(kernel.total_ns for kernel in computing) - timeline.account.computing_ns
    return max(0.0, apart - max(0, beside))


def _calls_pytorch(timeline: Timeline) -> bool:
    """Return whether PyTorch recorded the run, or kernels of it ran."""
    return timeline.recorder is Recorder.PYTORCH or any(
        is_of_pytorch(kernel.shape.name) for kernel in timeline.kernels
    )


def _rank_wait_ns(timeline: Timeline) -> int:
    """Return what collectives of all ranks took beyond what they need, as far as nothing hid it.

    Those of first steps that are the program's start do not count.

    A collective of one size needs what the shortest of its runs took; where sizes were not recorded,
    the median run, and only what varies tenfold can be no matter of size alone.
    """
    communication = timeline.communication
    if communication is None:
        return 0
    waited = 0
    for one in communication.again:
        if not one.collective.operation.between_all or not one.shortest_ns:
            continue
        if one.collective.bytes is not None and one.calls >= _FEWEST_OF_A_SIZE:
            waited += one.total_ns - one.calls * one.shortest_ns
        elif one.calls >= _FEWEST_COLLECTIVES and one.median_ns >= _VARIES * one.shortest_ns:
            waited += max(0, one.total_ns - one.calls * one.median_ns)
    exposed = round(waited * (1 - communication.hidden_share))
    return min(exposed, timeline.exposed_communication_ns)


def _link_copy_ns(timeline: Timeline) -> int:
    """Return the longest that copies of one direction took over the link: both directions run at once."""
    ways = [
        sum(copies.total_ns for copies in timeline.copies_over_link(path))
        for path in (CopyPath.H2D, CopyPath.D2H)
    ]
    return min(max(ways), timeline.copy_ns)  # copies beside copies are counted once


def _communication_ns(timeline: Timeline) -> int:
    return timeline.communication.total_ns if timeline.communication else 0


def _collective_calls(timeline: Timeline) -> int:
    communication = timeline.communication
    return sum(one.calls for one in communication.again) if communication else 0


def _seconds_of(kernels: Iterable[TracedKernel], matches: Callable[[str], bool]) -> float:
    """Return the seconds of the *kernels* whose name *matches*."""
    return sum(kernel.steady_ns for kernel in kernels if matches(kernel.shape.name)) / _NS


def _short(timeline: Timeline) -> Iterator[TracedKernel]:
    """Yield the kernels that take what any launch takes, so that faster units hardly shorten them."""
    return (kernel for kernel in timeline.kernels if kernel.median_ns < _SHORTEST_NS)


def _elementwise_seconds(timeline: Timeline) -> tuple[float, float]:
    """Return the seconds of passes over memory, where they are a chain: several kinds of them.

    And what they take at least when they are one: as long as the shortest of them, since that
    one reads and writes what the chain does.
    """
    kinds: dict[str, float] = {}
    for kernel in timeline.kernels:
        name = kernel.shape.name
        if kernel.median_ns >= _SHORTEST_NS and is_elementwise(name):
            kinds[name] = kinds.get(name, 0.0) + kernel.steady_ns / _NS
    steady = timeline.steady_ns / _NS
    chain = [seconds for seconds in kinds.values() if seconds >= _LINK * steady]
    products = _seconds_of(timeline.kernels, lambda name: bool(_MATRIX.search(name)))
    between = products >= _PRODUCTS * steady
    several = len(chain) >= (_CHAIN_BETWEEN_PRODUCTS if between else _CHAIN)
    return (sum(kinds.values()), min(chain)) if several else (0.0, 0.0)


def _lone_updates(timeline: Timeline) -> tuple[int, float]:
    """Return the kernels of an optimizer's step, and the seconds of all steps, where each is of one parameter.

    Passes over many at once are few beside them: those that clip gradients.
    """
    work = timeline.optimizer
    if work is None:
        return 0, 0.0
    many = sum(kernel.calls for kernel in timeline.kernels if takes_many_tensors(kernel.shape.name))
    if many >= _FEW_OF_MANY_TENSORS * work.kernels:
        return 0, 0.0
    return work.kernels // work.steps, work.length_ns / _NS


def _frees_again(timeline: Timeline) -> bool:
    """Return whether the program freed memory twice or more by calls that wait for the GPU."""
    calls = timeline.calls_for(CallKind.RELEASE)
    return sum(call.again for call in calls if waits_to_free(call.name)) > 1


def _long_host_gaps(timeline: Timeline) -> tuple[int, int]:
    """Return the nanoseconds and the number of the long gaps in which the host worked.

    Where the host touches managed memory, each page that it takes back makes a gap: only such are counted as are
    much longer than that takes, and together more than twice as long as all pages.
    """
    long = timeline.long_host_gaps
    back = timeline.copies_over_link(CopyPath.D2H, managed=True)
    pages = sum(copies.calls for copies in back)
    if not pages or not long.gaps:
        return long.total_ns, long.gaps
    page_ns = round(_PAGE_FAULT_AT_MOST * _NS)
    much_longer = long.total_ns >= _MUCH_LONGER * page_ns * long.gaps
    if not much_longer or long.total_ns < 2 * page_ns * pages:
        return 0, 0
    return long.total_ns - page_ns * pages, long.gaps


def _median_kernel_ns(timeline: Timeline) -> int:
    """Return the median over all runs, each shape's runs taken as its median."""
    counts = sorted((kernel.median_ns, kernel.calls) for kernel in timeline.kernels)
    half = sum(calls for _, calls in counts) / 2
    for time, calls in counts:
        half -= calls
        if half <= 0:
            return time
    return 0


def _copies_share(timeline: Timeline) -> float:
    """Return the share of copies among all that was queued."""
    copies = sum(copies.calls for copies in timeline.steady_copies if not copies.managed)
    total = copies + timeline.launches.kernels
    return copies / total if total else 0.0


def _waits_share(timeline: Timeline) -> float:
    """Return the share of copies, for which each has a wait of its own, among all that is waited for."""
    waits = sum(call.calls for call in timeline.synchronizations)
    blocking = sum(
        copies.calls for copies in timeline.steady_copies if copies.kind.asynchronous is False
    )
    total = waits + blocking
    return min(1.0, (_waits_for_copies(timeline) + blocking) / total) if total else 0.0


def _without_copy_calls(timeline: Timeline) -> float | None:
    """Return what a replay without the calls that copy and their waits saves.

    None where most waits are for something else, and where a program may ask for no asynchronous
    copy: a blocking call waits for a pinned copy too.
    """
    ours = timeline.recorder is Recorder.PYTORCH and _waits_share(timeline) >= _MOST_WAITS
    return timeline.saved_without_waits_ns / _NS if ours else None


def _idle_causes(timeline: Timeline) -> tuple[IdleCause, ...]:
    """Return the idle time by cause, without one-time work."""
    return tuple(
        _idle_cause(timeline, idle)
        for idle in timeline.idle
        if idle.cause not in ONCE and idle.total_ns
    )


def _idle_cause(timeline: Timeline, idle: IdleTime) -> IdleCause:
    """Return idle time with what the host did for most of the gaps that are kept one by one.

    Where no event took most of them, the line of the program from which most of them were called.
    """
    kept = [gap for gap in timeline.gaps if gap.cause is idle.cause]
    kept_ns = sum(gap.length_ns for gap in kept)
    known = [gap for gap in kept if gap.culprit is not None]
    named = _most(known, lambda culprit: culprit.name, kept_ns) or _most(
        [gap for gap in known if gap.culprit is not None and gap.culprit.file is not None],
        lambda culprit: (culprit.file, culprit.line, culprit.function),
        kept_ns,
    )
    if not named:
        return IdleCause(cause=str(idle.cause), seconds=idle.total_ns / _NS)
    longest = max(_by_key(named, lambda culprit: culprit).values(), key=_length_ns)
    culprit = longest[0].culprit
    assert culprit is not None
    culprits = [gap.culprit for gap in named if gap.culprit is not None]
    if len({one.name for one in culprits}) > 1:
        asks = all(one.loader is culprit.loader for one in culprits)
        culprit = replace(
            culprit,
            name=culprit.function or culprit.name,
            loader=culprit.loader if asks else None,
        )
    covered_ns = sum(one.covered_ns for one in culprits)
    return _held_by(culprit, str(idle.cause), idle.total_ns, covered_ns)


def _most(gaps: Sequence[Gap], key: Callable[[Culprit], Hashable], kept_ns: int) -> list[Gap]:
    """Return those of the *gaps* whose culprits have one *key*, which together are half of *kept_ns*; else none."""
    longest = max(_by_key(gaps, key).values(), key=_length_ns, default=[])
    return longest if longest and 2 * _length_ns(longest) >= kept_ns else []


def _by_key(gaps: Iterable[Gap], key: Callable[[Culprit], Hashable]) -> dict[Hashable, list[Gap]]:
    """Return the *gaps* that have a culprit, by the *key* of it."""
    alike: dict[Hashable, list[Gap]] = {}
    for gap in gaps:
        if gap.culprit is not None:
            alike.setdefault(key(gap.culprit), []).append(gap)
    return alike


def _length_ns(gaps: Iterable[Gap]) -> int:
    return sum(gap.length_ns for gap in gaps)


def _start_cause(timeline: Timeline) -> IdleCause | None:
    """Return what took most of the program's start; None where no event does, or a call took longer."""
    started = timeline.outside.once_ns + timeline.account.start_up_ns
    held = [
        (gap.culprit, gap.culprit.covered_ns)
        for gap in timeline.gaps
        if gap.cause is GapCause.START_UP and gap.culprit is not None
    ]
    outside = timeline.outside
    if outside.starts and outside.culprit is not None:
        held.append((outside.culprit, outside.culprit.covered_ns))
    named: dict[str, int] = {}
    for culprit, length_ns in held:
        named[culprit.name] = named.get(culprit.name, 0) + length_ns
    name = max(named, key=named.__getitem__, default=None)
    if name is None or named[name] <= outside.call_ns or _NOTABLE * named[name] < started:
        return None
    longest, _ = max((one for one in held if one[0].name == name), key=itemgetter(1))
    return _held_by(longest, "start-up", started, named[name])


def _before(timeline: Timeline) -> IdleCause | None:
    """Return what the host did for most of the time before the GPU's first work."""
    outside = timeline.outside
    if outside.culprit is None or outside.starts:
        return None
    return _held_by(outside.culprit, "host-work", outside.before_ns, outside.culprit.covered_ns)


def _held_by(culprit: Culprit, cause: str, total_ns: int, culprit_ns: int) -> IdleCause:
    return IdleCause(
        cause=cause,
        seconds=total_ns / _NS,
        culprit=culprit.name,
        culprit_seconds=min(culprit_ns, total_ns) / _NS,  # parts of a gap have causes of their own
        file=culprit.file,
        line=culprit.line,
        function=culprit.function,
        loader=None if culprit.loader is None else str(culprit.loader),
        communicates=communicates_on_host(culprit.name),
    )


def _is_value(copies: TracedCopies) -> bool:
    return copies.kind.path is CopyPath.D2H and 0 < copies.median_bytes <= _VALUE_BYTES


def _waits_for_copies(timeline: Timeline) -> int:
    """Return how many waits belong to copies from pageable memory, of which each has its own.

    PyTorch waits for the stream after each that is not asked to be asynchronous: the copies are
    what is too many. Waits for the device are the program's own.
    """
    copied = sum(
        copies.calls
        for copies in timeline.steady_copies
        if copies.pageable and copies.kind.path is CopyPath.H2D
    )
    streams = sum(call.calls for call in timeline.synchronizations if "Stream" in call.name)
    return min(copied, streams)


def _migration_ns(timeline: Timeline, link: LinkModel) -> int:
    """Return what kernels and migrations to the GPU took beyond the time on the link, as far as faults explain it."""
    inward = timeline.copies_over_link(CopyPath.H2D, managed=True)
    if not inward:
        return 0
    size = sum(copies.bytes for copies in inward)
    beyond = max(0, timeline.kernel_ns - round(size / link.h2d_rate * _NS))
    return min(beyond, round(_PAGE_FAULT_AT_MOST * _NS) * sum(copies.calls for copies in inward))


def _products(timeline: Timeline) -> tuple[TracedProduct, ...]:
    """Return the matrix products, the time of matrix kernels shared out by what each needs at least."""
    products = [
        TracedProduct(
            rows=max(1, product.rows),
            columns=max(1, product.columns),
            inner=max(1, product.inner),
            batch=max(1, product.batch),
            dtype=product.dtype,
            calls=max(1, calls),
        )
        for product, calls in timeline.products
    ]
    needs = [_least_seconds(product, timeline.device) for product in products]
    total = sum(needs)
    matrix_ns = sum(
        kernel.steady_ns for kernel in timeline.kernels if _MATRIX.search(kernel.shape.name)
    )
    return tuple(
        TracedProduct(
            rows=product.rows,
            columns=product.columns,
            inner=product.inner,
            batch=product.batch,
            dtype=product.dtype,
            calls=product.calls,
            seconds=matrix_ns / _NS * need / total if matrix_ns else None,
        )
        for product, need in zip(products, needs, strict=True)
    )


def _least_seconds(product: TracedProduct, device: Device | None) -> float:
    """Return what *product* takes at the peaks of *device*: scores of attention are more bytes than operations.

    Without peaks, a number that is in proportion to its operations.
    """
    peaks = device.peaks if device else {}
    units = ("bf16_tensor", "fp16_tensor", "fp32") if product.half_precision else ("fp32",)
    peak = next((peaks[unit] for unit in units if unit in peaks), None)
    if device is None or not peak or not device.memory_bandwidth:
        return product.flops
    size = 2 if product.half_precision else 4
    matrices = (
        product.rows * product.inner
        + product.inner * product.columns
        + product.rows * product.columns
    )
    moved = size * matrices * product.batch * product.calls
    return max(product.flops / peak, moved / device.memory_bandwidth)


def traced_transfers(timeline: Timeline, run: TracedRun) -> tuple[Transfer, ...]:
    """Return the copies over the link that take, with the idle time around them, 2 % or more."""
    transfers = []
    count = sum(copies.calls for copies in timeline.steady_copies) or 1
    shared = sum(copies.total_ns for copies in timeline.steady_copies) > _SHARED * timeline.copy_ns
    for copies in timeline.steady_copies:
        direction = {CopyPath.H2D: Direction.H2D, CopyPath.D2H: Direction.D2H}.get(copies.kind.path)
        if direction is None or copies.managed or not copies.bytes:
            continue
        if _is_value(copies) and run.waits_often:
            continue  # the wait is what costs
        around = (run.queueing_idle_seconds + run.copy_idle_seconds) * copies.calls / count
        if run.share(copies.seconds + around) < WORTH_SAYING:
            continue
        memory = _memory(copies)
        # Of copies beside copies the time says how the link was shared, not how fast it is.
        timed = memory is not HostMemory.PINNED or not shared
        transfers.append(
            Transfer(
                direction=direction,
                bytes=max(1, round(copies.bytes / copies.calls)),
                memory=memory,
                seconds=max(copies.total_ns, 1) / _NS / copies.calls if timed else None,
                count=copies.calls,
                blocking=None if copies.kind.asynchronous is None else not copies.kind.asynchronous,
            )
        )
    return tuple(transfers)


def _memory(copies: TracedCopies) -> HostMemory | None:
    if copies.pageable:
        return HostMemory.PAGEABLE
    return (
        HostMemory.PINNED if MemoryKind.PINNED in (copies.kind.source, copies.kind.target) else None
    )


def _has_kernels(timeline: Timeline) -> bool:
    return timeline.kernel_ns >= WORTH_SAYING * timeline.span_ns


def traced_transfer_seconds(timeline: Timeline, link: LinkModel) -> float:
    """Return the copy time that would be left at the link's rate with all kernels beside it.

    Nothing of a run of copies alone, and where the link is not known.
    """
    if timeline.device is None or not _has_kernels(timeline):
        return 0.0
    ways = [
        sum(least_ns(copies, link) or 0 for copies in timeline.copies_over_link(path))
        for path in (CopyPath.H2D, CopyPath.D2H)
    ]
    return max(0, max(ways) - timeline.kernel_ns) / _NS


def traced_pipeline(timeline: Timeline, link: LinkModel) -> Pipeline | None:
    """Return one pass of copies and kernels; None where nothing worth staging is pinned."""
    staging = traced_staging(timeline, link)
    if staging is None or staging.pageable:
        return None
    work, model = staging.work, staging.link
    large = max(work.h2d_bytes, work.d2h_bytes)
    if latency_share(large, link) > 0.5 or any(copies.managed for copies in timeline.steady_copies):
        return None
    if staging.copy_seconds < WORTH_SAYING * timeline.span_seconds:
        return None
    staged = staging.achieved >= STAGED
    return Pipeline(
        kernel_seconds=work.kernel_seconds,
        to_device_seconds=work.h2d_bytes / model.h2d_rate,
        to_host_seconds=work.d2h_bytes / model.d2h_rate,
        streams=max(2, staging.streams) if staged else 1,
    )


def _allocations(timeline: Timeline) -> Allocations | None:
    from gpuadvise.advisor.facts.application import Allocations

    calls = timeline.calls_for(CallKind.ALLOCATION)
    count = sum(call.calls for call in calls)
    if count < 2 or repeated_allocation_ns(timeline) < WORTH_SAYING * timeline.span_ns:
        return None
    ordered = all("Async" in call.name or "Pool" in call.name for call in calls)
    return Allocations(
        per_iteration=1,
        iterations=count,
        stream_ordered=ordered,
        pool_keeps_memory=False if ordered else None,
    )


def traced_managed(timeline: Timeline) -> Managed | None:
    """Return the managed memory that moved to the GPU; None where none did."""
    inward = timeline.copies_over_link(CopyPath.H2D, managed=True)
    if not inward:
        return None
    from gpuadvise.advisor.facts.application import Managed

    taken_back, seconds = _taken_back(timeline)
    called = any("Prefetch" in call.name for call in timeline.calls)
    typical = median_low([copies.median_bytes for copies in inward])
    advised = any("MemAdvise" in call.name for call in timeline.calls)
    return Managed(
        bytes=sum(copies.bytes for copies in inward),
        prefetched=called or typical >= _PREFETCHED_BYTES,
        advised=advised,
        taken_back=taken_back,
        taken_back_seconds=seconds if taken_back else None,
    )


def _taken_back(timeline: Timeline) -> tuple[int, float]:
    """Return the bytes that the host fetched back by page faults, where those cost something, and what at most."""
    back = [
        copies
        for copies in timeline.copies_over_link(CopyPath.D2H, managed=True)
        if copies.median_bytes < _PREFETCHED_BYTES
    ]
    faults = sum(copies.calls for copies in back)
    if _PAGE_FAULT * faults < WORTH_SAYING * timeline.steady_ns / _NS:
        return 0, 0.0
    return sum(copies.bytes for copies in back), _PAGE_FAULT_AT_MOST * faults


def _tells(kernels: Sequence[TracedKernel], timeline: Timeline) -> bool:
    """Return whether the shape of *kernels* says something about the run's time."""
    kernel = kernels[0]
    resident = kernel.occupancy
    if resident is None or kernel.median_ns < _SHORTEST_NS:
        return False
    if communicates(kernel.shape.name) or is_persistent_rnn(kernel.shape.name):
        return False  # it takes few blocks on purpose, and they wait for each other
    if _total_ns(kernels) < WORTH_SAYING * timeline.steady_ns:
        return False
    if resident.occupancy > _TILE_OCCUPANCY or prod(kernel.shape.block or (1,)) < _TILE_THREADS:
        return True
    if (kernel.shape.registers or 0) >= _TILE_REGISTERS:
        return False
    sms = (timeline.device.sm_count if timeline.device else None) or 0
    fills = prod(kernel.shape.grid or (1,)) >= sms
    return not (fills and is_library_product(kernel.shape.name))


def kernel_facts(kernels: Sequence[TracedKernel], timeline: Timeline, run: TracedRun) -> Facts:
    """Return what the timeline shows of the first of *kernels*, which are alike, all of them as a part of *run*."""
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.derive import completed

    kernel, shape = kernels[0], kernels[0].shape
    return completed(
        Facts(
            kernel=shape.name,
            device=timeline.device,
            launch=_launch(kernel),
            run_share=run.lasting_share(_total_ns(kernels) / _NS) if timeline.span_ns else None,
            brief_run=run.too_short,
            concurrent=kernel.streams > 1 and _ran_beside_others(timeline),
            stack_bytes=shape.local_memory or None,
        )
    )


def _ran_beside_others(timeline: Timeline) -> bool:
    """Return whether kernels ran at the same time; several streams alone do not make them."""
    return sum(kernel.total_ns for kernel in timeline.kernels) > _BESIDE * timeline.kernel_ns


def _launch(kernel: TracedKernel) -> Launch | None:
    shape = kernel.shape
    if shape.block is None:
        return None
    try:
        return Launch(
            threads=prod(shape.block),
            registers=shape.registers,
            static_shared=shape.static_shared,
            dynamic_shared=shape.dynamic_shared or 0,
            max_dynamic_shared=shape.dynamic_shared,  # it ran, so the attribute was set
            block_dim=shape.block,
            grid_dim=shape.grid,
        )
    except BadInput:
        return None
