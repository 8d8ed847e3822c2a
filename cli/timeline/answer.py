"""The answer of ``timeline``: its fields, and those of each kernel, copy, gap and call."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list, inert, quoted_path
from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.case import among_ranks, limit_among
from gpuadvise.advisor.timelines.gpus import likely_gpus
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit, fails_under
from gpuadvise.cli.schemas import columns_of
from gpuadvise.cli.timeline import communication, lanes, memory, operators, phases, ranks, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.advisor.timelines.gaps import Gap
    from gpuadvise.advisor.timelines.idle_places import IdlePlace
    from gpuadvise.advisor.timelines.memory_timeline import MemoryByCategory
    from gpuadvise.advisor.timelines.operators import Operators
    from gpuadvise.advisor.timelines.ranks import RankBalance
    from gpuadvise.advisor.timelines.steps import Step, Steps
    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies, TracedKernel
    from gpuadvise.advisor.timelines.what_if import WhatIf
    from gpuadvise.cli.timeline.request import TimelineRequest

_NS = 1e9


def answer(
    request: TimelineRequest,
    timelines: Sequence[TimelineCase],
    balance: RankBalance | None = None,
    listed: Operators | None = None,
    left: Sequence[not_judged.NotJudged] = (),
    unlike: str | None = None,
    memories: Sequence[MemoryByCategory] = (),
) -> Answer:
    """Return the answer: the timeline with the longest span in full, the others beside it.

    *balance* says how the ranks among them waited for each other, *listed* are the operators of the
    first, where they were asked for, *left* files that nobody could read, *unlike* says why the ranks are
    not of one run, and *memories* what the GPU's memory held by category.
    """
    longest_first = sorted(timelines, key=lambda case: -case.timeline.span_ns)
    cases = among_ranks(longest_first, balance)
    first = cases[0]
    device = first.timeline.device
    kept = request.limit or None
    kernels = [kernel_record(kernel, first.timeline) for kernel in first.timeline.kernels[:kept]]
    # Columns that came later stand last: scripts count columns.
    place = {"file": first.place, **named_fields(first.timeline, "gpu rank")}
    idlest = min(cases, key=_busy)
    code, failed = fails_under(
        f"of {inert(idlest.member or idlest.file)}'s span busy",
        _busy(idlest) if idlest.timeline.span_ns else None,
        request.least_busy,
        "The recording has no time in which a GPU worked.",
    )
    in_part = any(case.timeline.notes for case in cases)
    if request.least_busy is not None and in_part and code is Exit.RAN:
        code = Exit.UNAVAILABLE  # what was left out of a file or folder may be idle
    return Answer(
        command="timeline",
        device=device_block(device) if device else None,
        input={"files": request.files, **request.gpu.asked()},
        result={
            **timeline_record(first, kept, balance),
            "others": [timeline_record(case, kept, balance) for case in cases[1:]],
            "not_judged": not_judged.records(
                [
                    *(
                        not_judged.NotJudged(path=inert(file), reason=note)
                        for file, note in dict.fromkeys(
                            (case.file, note) for case in cases for note in case.timeline.notes
                        )
                    ),
                    *left,
                ]
            ),
            "ranks": None if balance is None else ranks.record(balance),
            "operators": None if listed is None else operators.record(listed, device, kept),
            "memory_timelines": [memory.record(one) for one in memories],
        },
        rows=[{**kernel, **place} for kernel in kernels],
        columns=lambda: columns_of("timeline"),
        blocks=lambda: text.blocks(
            cases,
            top=_TEXT_LISTS if request.limit is None else request.limit,
            show=request.show,
            balance=balance,
            by_operator=listed,
            memories=memories,
        ),
        notes=[*_notes(cases), *([unlike] if unlike else []), *not_judged.notes(left)],
        failed=failed,
        exit=code,
        pictures=lambda: [lanes.time_account(first.timeline), lanes.picture(first.timeline)],
    )


def _busy(case: TimelineCase) -> float:
    """Return the share of its span in which a GPU worked."""
    return case.timeline.busy_ns / case.timeline.span_ns if case.timeline.span_ns else 0.0


def _notes(cases: Sequence[TimelineCase]) -> list[str]:
    notes = list(dict.fromkeys(note for case in cases for note in case.timeline.notes))
    damaged = next((case for case in cases if case.timeline.skipped), None)
    if damaged is not None:
        first = damaged.timeline.skipped[0]
        where = "" if damaged.member is None else f" of {quoted_path(damaged.member)}"
        notes.append(f"The first event left out{where} is number {first.event:,}: {first.reason}")
    if unknown := [case.timeline for case in cases if case.timeline.device is None]:
        notes.append(_unnamed(unknown))
    return notes


def _unnamed(lines: Sequence[Timeline]) -> str:
    """Return what is not known without the GPU of *lines*, and which one it may be."""
    recorded = all(line.recorder is Recorder.JAX for line in lines)  # which tells occupancy itself
    unknown = "occupancy and the rate of the link are"
    if recorded:
        unknown = "what limits occupancy, and the rate of the link, are"
    sentence = f"The file names no GPU, so {unknown} not known: give --gpu NAME."
    first = lines[0]
    if first.multiprocessors is None:
        return sentence
    names = likely_gpus(first.multiprocessors, [kernel.shape.name for kernel in first.kernels])
    likely = f", as {and_list(names[:_MOST_LIKELY], 'or')} has" if names else ""
    return f"{sentence} Its kernels ran on {first.multiprocessors} multiprocessors{likely}."


_MOST_LIKELY = 4
_MOST_PLACES = 50
# Kernels that a person is shown unless --limit says how many.
_TEXT_LISTS = 10


def timeline_record(
    case: TimelineCase, limit: int | None = None, balance: RankBalance | None = None
) -> dict[str, Any]:
    """Return a timeline as JSON values: seconds, bytes, bytes per second, shares of 0 to 1.

    *limit*: so many kernels, those that take most time; None: all. *balance* measures how long its
    rank waited for the others.
    """
    line, limiter = case.timeline, limit_among(case, balance)
    seconds = (
        "span_seconds busy_seconds kernel_seconds copy_seconds overlapped_copy_seconds "
        "memset_seconds=memset_ns idle_seconds"
    )
    return {
        "file": case.place,
        **named_fields(line, f"recorder gpu gpu_name=device.name rank {seconds}"),
        "idle": [named_fields(total, "cause gaps seconds=total_ns") for total in line.idle],
        "idle_in": [_idle_place(place, line) for place in line.idle_places[:_MOST_PLACES]],
        "account": named_fields(line, _ACCOUNT),
        "limiter": limiter and named_fields(limiter, "name=limiter subject seconds share"),
        "too_short": case.run.too_short,
        "kernels": [kernel_record(kernel, line) for kernel in line.kernels[:limit]],
        "copies": [_copies(copies, case) for copies in line.copies],
        "overlap": _overlap(case),
        "gaps": [_gap(gap) for gap in line.gaps],
        "steps": line.steps and _steps(line.steps),
        "synchronizations": [named_fields(calls, _CALLS) for calls in line.synchronizations],
        "inference": line.inference and named_fields(line.inference, phases.INFERENCE),
        "launches": _launches(line),
        "communication": communication.record(line),
        "products": [{**asdict(product), "calls": calls} for product, calls in line.products],
        "what_if": [_change(change, line) for change in case.changes],
        "skipped_events": line.skipped_count,
    }


_ACCOUNT = (
    "computing_seconds=account.computing_ns exposed_communication_seconds=account.communication_ns "
    "exposed_copy_seconds=account.copies_ns memset_seconds=account.memsets_ns "
    "idle_seconds=account.idle_ns start_up_seconds=account.start_up_ns "
    "first_steps_seconds=first_steps_ns steady_seconds=steady_ns before_seconds=outside.before_ns "
    "after_seconds=outside.after_ns outside_calls_seconds=outside.once_ns"
)
_CALLS = "name calls seconds median_seconds=median_ns longest_seconds=longest_ns"
_SHAPE = (
    "grid=shape.grid block=shape.block cluster=shape.cluster registers=shape.registers "
    "static_smem=shape.static_shared dynamic_smem=shape.dynamic_shared "
    "local_memory=shape.local_memory occupancy=occupancy.occupancy limiters=occupancy.limiters "
    "blocks_per_sm=occupancy.blocks_per_sm waves=waves.waves streams in_graphs "
    "reported_occupancy=shape.reported_occupancy"
)


def kernel_record(kernel: TracedKernel, line: Timeline) -> dict[str, Any]:
    """Return a kernel in one launch shape; *share* is its time of the span."""
    return {
        **named_fields(kernel, "name=shape.name calls seconds"),
        "share": kernel.total_ns / line.span_ns if line.span_ns else 0.0,
        **named_fields(kernel, f"median_seconds longest_seconds=longest_ns {_SHAPE}"),
    }


def _copies(copies: TracedCopies, case: TimelineCase) -> dict[str, Any]:
    kind = (
        "direction=kind.path source=kind.source target=kind.target asynchronous=kind.asynchronous"
    )
    sizes = "calls bytes seconds median_bytes largest_bytes rate"
    link_rate = {"link_rate": case.link_rate(copies)}
    return {**named_fields(copies, f"{kind} {sizes}"), **link_rate, "streams": copies.streams}


def _overlap(case: TimelineCase) -> dict[str, Any] | None:
    staging, staged = case.staging, case.staged
    if staging is None or staged is None:
        return None
    return {
        **named_fields(staging, "achieved traced_seconds"),
        "possible_seconds": staged.floor * staging.passes,
        "predicted_seconds": staged.best.seconds * staging.passes,
        "streams": staged.best.streams,
        **named_fields(staging, "passes pageable assumed"),
    }


def _gap(gap: Gap) -> dict[str, Any]:
    told = named_fields(
        gap, "start_seconds=start_ns seconds=length_ns cause after_wait=waited_before"
    )
    culprit = gap.culprit and {
        "name": gap.culprit.name,
        "kind": gap.culprit.kind.name.lower(),
        **named_fields(gap.culprit, "file line function"),
    }
    return {**told, "culprit": culprit}


def _idle_place(place: IdlePlace, line: Timeline) -> dict[str, Any]:
    share = {"share": place.total_ns / line.span_ns if line.span_ns else 0.0}
    told = named_fields(place, "culprit seconds=total_ns")
    return told | share | named_fields(place, "file line function")


def _steps(steps: Steps) -> dict[str, Any]:
    part, beyond_ns = steps.slowest_for
    seconds = (
        "median_seconds=median_ns shortest_seconds=shortest_ns longest_seconds=slowest.length_ns"
    )
    return {
        "source": str(steps.source),
        "range": steps.name,
        "count": len(steps.steps),
        **named_fields(steps, f"{seconds} slowest=slowest.number"),
        "slowest_for": part,
        "slowest_for_seconds": beyond_ns / _NS,
        "phases": [named_fields(one, phases.PHASE) for one in steps.median_phases],
        "steps": [_step(step) for step in steps.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    told = named_fields(
        step,
        "number start_seconds=start_ns seconds=length_ns computing_seconds=computing_ns "
        "exposed_communication_seconds=communication_ns exposed_copy_seconds=copies_ns "
        "idle_seconds=idle_ns",
    )
    return {**told, "phases": [named_fields(one, phases.PHASE) for one in step.phases]}


def _launches(line: Timeline) -> dict[str, Any]:
    counts = "kernels kernel_launches graph_launches graph_kernels hidden_graphs"
    calls = line.calls_for(CallKind.LAUNCH, CallKind.GRAPH_LAUNCH)
    return {
        **named_fields(line.launches, counts),
        "graphs": phases.graph_records(line),
        "host_seconds": sum(call.seconds for call in calls),
    }


def _change(change: WhatIf, line: Timeline) -> dict[str, Any]:
    share = {"share": change.saved_ns / line.span_ns}
    told = named_fields(change, "change subject saved_seconds=saved_ns")
    return told | share | named_fields(change, "speedup how")
