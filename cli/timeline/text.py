"""``timeline`` in words: one screen of where the time went."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import HOST_BOUND_IDLE
from gpuadvise.advisor.prose import and_list, inert, plural
from gpuadvise.advisor.quantity import show_bytes, show_number, show_rate, show_seconds, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.advisor.timelines.activities import CopyPath, MemoryKind, Recorder
from gpuadvise.advisor.timelines.case import line_name
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.steps import PARTS, Steps, StepSource
from gpuadvise.advisor.timelines.what_if import Change, WhatIf
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    cells,
    header,
    known,
    left_out,
    table,
)
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.render.kernel_names import fitting, room
from gpuadvise.cli.timeline import communication, lanes, memory, operators, phases, ranks
from gpuadvise.cli.timeline.time_spent import time_spent
from gpuadvise.cli.unbounded import BEYOND_USE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.advisor.timelines.idle_places import IdlePlace
    from gpuadvise.advisor.timelines.memory_timeline import MemoryByCategory
    from gpuadvise.advisor.timelines.operators import Operators
    from gpuadvise.advisor.timelines.ranks import RankBalance
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies, TracedKernel

_MOST_CHANGES = 6
_MOST_CULPRITS = 3
_HELD = 0.02  # of the span, worth a line
_SLOW_STEP = 0.1  # beyond the median, worth a reason
_MOST_COPIES = 8
_MOST_GPUS = 32
_LOW = 0.5  # guide, "Occupancy": below this, latency is hard to hide
_SLOW = 0.6  # of the link: as the rule pageable-transfers
_RECORDERS = {
    Recorder.PYTORCH: "PyTorch",
    Recorder.NSIGHT_SYSTEMS: "Nsight Systems",
    Recorder.JAX: "JAX",
}
_CAUSES = {
    GapCause.HOST_WORK: "host work",
    GapCause.SYNCHRONIZATION: "waits",
    GapCause.QUEUED: "not begun though queued",
    GapCause.LAUNCH: "launches",
    GapCause.COPY: "copies",
    GapCause.ALLOCATION: "allocations",
    GapCause.MODULE_LOAD: "loading code",
    GapCause.OTHER_CALL: "other calls",
    GapCause.START_UP: "start-up",
    GapCause.PROFILER: "the profiler",
}
_DIRECTIONS = {
    CopyPath.H2D: "host to device",
    CopyPath.D2H: "device to host",
    CopyPath.D2D: "device to device",
    CopyPath.H2H: "host to host",
    CopyPath.P2P: "GPU to GPU",
    CopyPath.UNKNOWN: "unknown",
}
_CHANGES = {
    Change.PIN_MEMORY: "copy from and to pinned memory",
    Change.MERGE_COPIES: "merge small copies",
    Change.OVERLAP_COPIES: "copy while kernels run",
    Change.LAUNCH_GRAPHS: "launch graphs instead of kernels",
    Change.WAIT_LESS: "wait for the GPU less often",
    Change.SHORTEN_HOST_WORK: "shorten the host's work, or do it meanwhile",
    Change.REUSE_MEMORY: "allocate once and reuse",
    Change.SHORTEN_CALLS: "keep slow calls out of the loop",
    Change.FUSE_KERNELS: "fewer, longer kernels",
    Change.KEEP_ON_GPU: "keep data on the GPU",
    Change.AVOID_COPIES: "copy less, or while kernels run",
    Change.HIDE_COMMUNICATION: "communicate while kernels compute",
    Change.PREFETCH_MEMORY: "prefetch managed memory",
    Change.USE_TENSOR_CORES: "multiply matrices in TF32 or 16 bits",
    Change.LEAVE_FP64: "multiply matrices in FP64 on purpose alone",
    Change.PAD_PRODUCTS: "pad matrix products to multiples of 8",
    Change.KEEP_LAYOUT: "keep channels last around convolutions",
    Change.FUSE_ATTENTION: "fuse the attention",
    Change.FUSE_PASSES: "fuse passes over memory",
    Change.REPLACE_OPERATORS: "call operators that do less",
    Change.EVEN_RANKS: "give all ranks the same work",
    Change.FASTEN_KERNEL: "a faster kernel",
}


def blocks(
    cases: Sequence[TimelineCase],
    *,
    top: int,
    show: bool,
    balance: RankBalance | None = None,
    by_operator: Operators | None = None,
    memories: Sequence[MemoryByCategory] = (),
) -> list[Block]:
    """Return the screen: the first of *cases* in full, below a table where there are several."""
    case = cases[0]
    line = case.timeline
    screen: list[Block] = []
    if len(cases) > 1:
        screen += [Line(f"{plural(len(cases), 'timeline')}; the longest span first", Tone.STRONG)]
        screen += [Line(ranks.verdict(balance), Tone.STRONG)] if balance else []
        screen.append(_gpus(cases[:_MOST_GPUS]))
        screen += left_out(len(cases) - _MOST_GPUS, "timeline", "--format json has all")
        screen += ranks.blocks(balance) if balance else []
        screen.append(Line(""))
    device = device_line(line.device) if line.device else f"GPU {line.gpu}"
    rank = "" if line.rank is None else f", rank {line.rank}"
    title = f"{device}, recorded by {_RECORDERS[line.recorder]}{rank}"
    screen += [
        Line(verdict(case, cases[1:], balance), Tone.STRONG),
        Line(title),
        LabelledFacts(tuple(_facts(case))),
    ]
    if show:
        screen += [Heading("Lanes"), lanes.drawn(line), Line(lanes.KEY, Tone.FAINT)]
    if line.kernels:
        listed = line.kernels[: top or None]
        screen += [Heading("Kernels by time"), _kernels(listed, line)]
        screen += left_out(len(line.kernels) - len(listed), "kernel", "--limit 0 lists all")
    screen += operators.blocks(by_operator, line.device, top) if by_operator else []
    screen += memory.blocks(memories)
    screen += communication.blocks(line)
    if line.copies:
        screen += [Heading("Copies"), _copies(line.copies[:_MOST_COPIES], case)]
        left, many = len(line.copies) - _MOST_COPIES, "kinds of copies"
        screen += left_out(left, "kind of copies", "--format json has all", many=many)
    if line.steps is not None:
        screen += [Heading("Steps"), _steps(line.steps), Line(_slowest(line.steps), Tone.FAINT)]
        screen += phases.blocks(line.steps)
    screen += phases.graphs(line)
    if case.changes:
        screen += [Heading("What could be won at most"), _changes(case.changes[:_MOST_CHANGES])]
        told = "One change at a time; gpuadvise advise FILE says how, and judges the kernels."
        screen.append(Line(told, Tone.FAINT))
    return screen


def verdict(
    case: TimelineCase,
    beside: Sequence[TimelineCase] = (),
    balance: RankBalance | None = None,
) -> str:
    """Return where most of the span went, and the change that could win most, of *beside* too: other ranks and GPUs."""
    told = time_spent(case, balance)
    whose = max((case, *beside), key=lambda one: one.changes[0].rank if one.changes else 0.0)
    if not whose.changes:
        return told
    best = whose.changes[0]
    where = "" if whose is case else f" on {line_name(whose.timeline)}"
    return f"{told} What could win most{where}: {_CHANGES[best.change]}{_at_most(best, whose)}."


def _at_most(best: WhatIf, case: TimelineCase) -> str:
    """Return what *best* wins at most, behind its name."""
    about_kernel = best.change == Change.FASTEN_KERNEL
    if best.speedup is not None and best.speedup <= BEYOND_USE:
        return (
            f", at most {show_number(best.speedup)}x{' if it took no time' if about_kernel else ''}"
        )
    if about_kernel:
        return f", {show_share(best.saved_ns / case.timeline.steady_ns)} of the run"
    return "; nothing that the recording counts bounds it"


def _gpus(cases: Sequence[TimelineCase]) -> Table:
    return table(
        [(case.timeline, case) for case in cases],
        (">GPU", lambda row: str(row[0].gpu)),
        (">rank", lambda row: known(row[0].rank, str)),
        (">span", lambda row: show_seconds(row[0].span_seconds)),
        (">kernels", lambda row: _share(row[0].kernel_ns, row[0])),
        (">copies", lambda row: _share(row[0].copy_ns, row[0])),
        (">idle", lambda row: _share(row[0].idle_ns, row[0])),
        (Column("file", below=True), lambda row: row[1].place.rsplit("/", 1)[-1]),
    )


def _share(part: int, line: Timeline) -> str:
    return show_share(part / line.span_ns) if line.span_ns else "-"


def _facts(case: TimelineCase) -> Iterator[Fact]:
    """Yield where the span went, and how the host kept the GPU at work."""
    line = case.timeline
    yield Fact("span", Cell(show_seconds(line.span_seconds)), "first to last activity of the GPU")
    yield _part("kernels", line.kernel_ns, line, _launched(line))
    if line.communication:
        yield communication.fact(line)
    if line.copies:
        beside = f"; {show_seconds(line.overlapped_copy_seconds)} of it beside kernels"
        count = sum(copies.calls for copies in line.copies)
        yield _part("copies", line.copy_ns, line, plural(count, "copy", "copies") + beside)
    if line.memset_ns:
        yield _part("memsets", line.memset_ns, line, "")
    yield _part("idle", line.idle_ns, line, _idle(case))
    if waits := line.synchronizations:
        yield Fact(
            "host waited",
            Cell(show_seconds(sum(call.seconds for call in waits))),
            and_list([f"{plural(call.calls, 'call')} of {call.name}" for call in waits[:3]]),
        )
    yield from phases.facts(line.inference)
    yield from _held_by(line)
    yield from _overlap(case)


def _part(name: str, part: int, line: Timeline, remark: str) -> Fact:
    text = f"{show_seconds(part / 1e9)}, {_share(part, line)}"
    return Fact(name, Cell(text), remark)


def _launched(line: Timeline) -> str:
    launches = line.launches
    parts = [plural(launches.kernels, "run")]
    if launches.kernel_launches:
        parts.append(plural(launches.kernel_launches, "launch", "launches"))
    if launches.graph_launches:
        inside = "; the kernels inside were not recorded" if launches.hidden_graphs else ""
        parts.append(f"{plural(launches.graph_launches, 'launch', 'launches')} of graphs{inside}")
    return ", ".join(parts)


def _idle(case: TimelineCase) -> str:
    """Return the causes of the idle time, the longest first."""
    line = case.timeline
    parts = {_CAUSES[total.cause]: total.total_ns for total in line.idle}
    between_ns = _between_launches_ns(case)
    if between_ns:
        parts[_CAUSES[GapCause.HOST_WORK]] -= between_ns
        between = "between operators" if case.run.calls_pytorch else "between launches"
        parts[between] = between_ns
    causes = [
        f"{name} {_share(part, line)}"
        for name, part in sorted(parts.items(), key=lambda item: -item[1])
        if part >= line.span_ns / 1000
    ]
    return ", ".join(causes[:4])


def _between_launches_ns(case: TimelineCase) -> int:
    """Return the host's work in gaps that are short of long, where that is a framework's between two launches."""
    line = case.timeline
    if line.recorder is not Recorder.PYTORCH and not case.run.waits_for_launches:
        return 0
    return max(0, line.account.idle_of(GapCause.HOST_WORK) - line.long_host_gaps.total_ns)


def _held_by(line: Timeline) -> Iterator[Fact]:
    """Yield what the host did through most of the long gaps, where the recording names it, or how to have it named."""
    for place in line.idle_places[:_MOST_CULPRITS]:
        if place.total_ns >= _HELD * line.span_ns:
            text = f"{show_seconds(place.total_ns / 1e9)}, {_share(place.total_ns, line)}"
            yield Fact("idle in", Cell(text), f"{place.culprit}{_line_of(place)}")
    unknown = line.recorder is Recorder.PYTORCH and not line.has_stacks
    if unknown and line.idle_ns - line.account.start_up_ns >= HOST_BOUND_IDLE * line.steady_ns:
        told = "no line is known: record with profile(with_stack=True), which names them"
        yield Fact("idle in", Cell("-", Tone.FAINT), told)


def _line_of(place: IdlePlace) -> str:
    if place.file is None:
        return ""
    function = "" if place.function in (None, place.culprit) else f"{place.function}, "
    return f", {function}{place.file}:{place.line}"


_PARTS = {
    "computing": "kernels",
    "communication": "communication",
    "copies": "copies",
    "idle": "idle time",
}
_SOURCES = {
    StepSource.PROFILER: "as the profiler marks them",
    StepSource.RANGES: "as a range of NVTX marks them",
    StepSource.KERNELS: "each from one run of a kernel that comes once in it to the next, so that they may be layers of one pass",
}


def _steps(steps: Steps) -> Table:
    """Return the typical step, and the slowest beside it."""
    usual, slowest = steps.median_parts, steps.slowest
    median = [steps.median_ns, *(usual[part] for part in PARTS)]
    longest = [slowest.length_ns, *map(slowest.part_ns, PARTS)]
    named = ((f"median of {len(steps.steps)}", median), (f"slowest: {slowest.number}", longest))
    rows = [
        cells(name, *(show_seconds(ns / 1e9) if ns else "-" for ns in ran)) for name, ran in named
    ]
    columns = header("step", ">time", ">kernels", ">communication", ">copies", ">idle")
    return Table(columns, tuple(rows))


def _slowest(steps: Steps) -> str:
    """Return how steps are told, how they spread, and why the slowest is."""
    marked = (
        f"as the range {inert(steps.name)} of NVTX marks them"
        if steps.name
        else _SOURCES[steps.source]
    )
    told = f"Steps {marked}; {show_seconds(steps.shortest_ns / 1e9)} to {show_seconds(steps.slowest.length_ns / 1e9)}"
    part, beyond_ns = steps.slowest_for
    longer = steps.slowest.length_ns - steps.median_ns
    if longer < _SLOW_STEP * steps.median_ns:
        return f"{told}."
    return f"{told}: the slowest has {show_seconds(beyond_ns / 1e9)} more of {_PARTS[part]}."


def _overlap(case: TimelineCase) -> Iterator[Fact]:
    staging, staged = case.staging, case.staged
    if staging is None or staged is None:
        return
    possible = staged.best.seconds * staging.passes
    pinned = " from pinned memory" if staging.pageable else ""
    traced = show_seconds(staging.traced_seconds)
    assumed = f" (assumed: {and_list(staging.assumed)})" if staging.assumed else ""
    if staging.wins_with(staged.best.seconds):
        remark = f"of what could; copies and kernels took {traced}, staged{pinned} about {show_seconds(possible)}{assumed}"
    else:
        remark = "of what could; staging them would save less than 5 % of their time"
    yield Fact("overlapped", Cell(show_share(staging.achieved)), remark)


_KERNEL_COLUMNS = header(
    ">share", ">time", ">calls", ">occupancy", "limited by", Column("kernel", below=True)
)
# Characters of a name beside which limiters have their whole words, and of one in a pipe.
_WIDE_NAME, _PIPED_NAME = 30, 60
_LIMITERS = {"shared_memory": "shared memory"}
_SHORT_LIMITERS = {"shared_memory": "smem", "registers": "regs"}


def _kernels(kernels: Sequence[TracedKernel], line: Timeline) -> Table:
    rows = [_kernel(kernel, line, _LIMITERS) for kernel in kernels]
    left = room(_KERNEL_COLUMNS, rows)
    if left is not None and left < _WIDE_NAME:
        rows = [_kernel(kernel, line, _SHORT_LIMITERS) for kernel in kernels]
        left = room(_KERNEL_COLUMNS, rows)

    def make(longest: int) -> list[str]:
        names = shortened([kernel.shape.name for kernel in kernels], longest)
        several = {name for name, count in Counter(names).items() if count > 1}
        return [
            f"{name} ({_dims(kernel.shape.grid)})"
            if name in several and kernel.shape.grid
            else name
            for kernel, name in zip(kernels, names, strict=True)
        ]

    names = make(_PIPED_NAME if left is None else fitting(make, left))
    named = [(*row[:-1], Cell(name)) for row, name in zip(rows, names, strict=True)]
    return Table(_KERNEL_COLUMNS, tuple(named))


def _kernel(kernel: TracedKernel, line: Timeline, words: Mapping[str, str]) -> tuple[Cell, ...]:
    """Return the cells of a kernel, an empty one for its name."""
    resident = kernel.occupancy
    limiters = [limiter.value for limiter in resident.limiters] if resident else []
    named = ", ".join(words.get(name, name) for name in limiters)
    times = _share(kernel.total_ns, line), show_seconds(kernel.seconds), f"{kernel.calls:,}"
    return cells(*times, _occupancy(kernel, line), named, "")


def _occupancy(kernel: TracedKernel, line: Timeline) -> Cell:
    """Return ours, else the recorder's own: JAX asks the driver, PyTorch's is wrong for large blocks."""
    if kernel.occupancy:
        share = kernel.occupancy.occupancy
        return Cell(show_share(share), Tone.POOR if share < _LOW else Tone.GOOD)
    reported = kernel.shape.reported_occupancy if line.recorder is Recorder.JAX else None
    return Cell("-" if reported is None else show_share(reported), Tone.FAINT)


def _dims(dims: tuple[int, int, int]) -> str:
    """Return a grid that tells kernels of one name apart: ``96x2``."""
    kept = max((axis for axis, length in enumerate(dims, 1) if length != 1), default=1)
    return "x".join(map(str, dims[:kept]))


def _copies(copies: Sequence[TracedCopies], case: TimelineCase) -> Table:
    def of_link(one: TracedCopies) -> Cell:
        reachable = case.link_rate(one)
        share = one.rate / reachable if one.rate and reachable else None
        slow = share is not None and share < _SLOW
        return Cell(known(share, show_share), Tone.POOR if slow else Tone.PLAIN)

    return table(
        copies,
        (">time", lambda one: show_seconds(one.seconds)),
        ("direction", lambda one: _DIRECTIONS[one.kind.path]),
        ("memory", lambda one: Cell(_memory(one), Tone.POOR if one.pageable else Tone.PLAIN)),
        (">copies", lambda one: f"{one.calls:,}"),
        (">bytes", lambda one: show_bytes(one.bytes)),
        (">median", lambda one: show_bytes(one.median_bytes)),
        (">rate", lambda one: show_rate(one.rate) if one.rate else "-"),
        (">of the link", of_link),
    )


def _memory(copies: TracedCopies) -> str:
    ends = [copies.kind.source, copies.kind.target]
    if copies.on_link:
        ends = [end for end in ends if end is not MemoryKind.DEVICE] or ends
    return " to ".join(dict.fromkeys(str(end) for end in ends))


def _changes(changes: Sequence[WhatIf]) -> Table:
    return table(
        changes,
        (
            ">whole",
            lambda one: known(
                one.speedup,
                lambda times: f"{show_number(times)}x" if times <= BEYOND_USE else "no bound",
                "no bound",
            ),
        ),
        ("change", lambda one: _CHANGES[one.change]),
        (Column("if it saved", prose=True), _how),
    )


def _how(change: WhatIf) -> str:
    subject = f": {shortened([change.subject], _PIPED_NAME)[0]}" if change.subject else ""
    return f"{change.how}, {show_seconds(change.saved_ns / 1e9)}{subject}"
