"""The case, the result and the text of ``gpuadvise latency``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.latency import (
    GLOBAL_LATENCY_CYCLES,
    VOLTA_LATENCY_CYCLES,
    WELL_USED,
    LatencyCase,
    MemoryHiding,
    hide_arithmetic,
    hide_memory,
    well_used_bytes,
)
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds, show_share
from gpuadvise.advisor.values import integer, seconds, whole
from gpuadvise.cli.blocks import Block, Cell, Fact, LabelledFacts, Line, Tone
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.options import OPTIONS, named, pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device


_MOST_PARALLEL = 1024  # a schedule is counted in whole instructions, an average need not be


class LatencyOptions(NamedTuple):
    """What the warps of an SM do; ``None`` is not given."""

    latency: Annotated[int | None, pick("latency")] = None  # cycles
    ilp: Annotated[str, pick("ilp")] = "1"
    memory_latency: Annotated[str | None, pick("memory_latency")] = None
    word: Annotated[int, pick("word")] = 4  # bytes
    loads: Annotated[int, pick("loads")] = 1
    warps: Annotated[int | None, pick("warps")] = None


def examined(device: Device, options: LatencyOptions) -> LatencyCase:
    """Return what the options ask of *device*; raises BadInput."""
    ilp = named("--ilp", whole(1, _MOST_PARALLEL), options.ilp)
    size = options.word * options.loads
    warps, most = options.warps, device.limits.max_warps_per_sm
    cycles, assumed = _cycles(device, options.latency)
    return LatencyCase(
        device=device,
        ilp=ilp,
        bytes_per_thread=size,
        arithmetic=hide_arithmetic(
            device.capability, device.limits, latency_cycles=cycles, parallel_instructions=ilp
        ),
        memory=_memory(device, options.memory_latency, size),
        warps=None if warps is None else named("--warps", whole(1, most), str(warps)),
        assumed=assumed,
        idle_latency=options.memory_latency is None,
    )


def _cycles(device: Device, given: int | None) -> tuple[int | None, bool]:
    """Return the latency of dependent arithmetic, and whether it is an older capability's."""
    if given is not None:
        return given, False
    known = device.limits.arithmetic_latency_cycles
    if known is None and device.capability.major > 7:
        return VOLTA_LATENCY_CYCLES, True
    return known, False


def _memory(device: Device, latency: str | None, size: int) -> MemoryHiding | None:
    seconds = _seconds(device, latency)
    if seconds is None or device.memory_bandwidth is None or device.sm_count is None:
        return None
    return hide_memory(device.memory_bandwidth, seconds, device.sm_count, bytes_per_thread=size)


def _seconds(device: Device, text: str | None) -> float | None:
    """Return the latency of global memory: a time, or cycles of the SM clock."""
    if text is not None and integer(text) is None:
        return named("--memory-latency", seconds, text)
    cycles = GLOBAL_LATENCY_CYCLES
    if text is not None:
        cycles = named("--memory-latency", OPTIONS["latency"].read, text)
    return cycles / device.sm_clock_hz if device.sm_clock_hz else None


def result(case: LatencyCase) -> dict[str, Any]:
    """Return the ``result`` of the JSON document."""
    arithmetic, most = case.arithmetic, case.device.limits.max_warps_per_sm
    needed = "warps_needed=warps threads_needed=threads instructions_needed=instructions"
    return {
        **named_fields(arithmetic, f"{needed} latency_cycles"),
        "latency_assumed": case.assumed,
        **named_fields(arithmetic, "issue_width"),
        "occupancy_needed": arithmetic and arithmetic.warps / most,
        "max_warps": most,
        "hidden": case.hidden,
        **named_fields(case.memory, "memory_latency=latency_seconds bytes_in_flight bytes_per_sm"),
        **named_fields(case.memory, "memory_warps_needed=warps_per_sm"),
        **named_fields(case, "bytes_per_thread_needed=bytes_needed memory_share memory_hidden"),
    }


def blocks(case: LatencyCase) -> list[Block]:
    """Return what a person reads."""
    facts = (*_arithmetic(case), *_memory_facts(case))
    page: list[Block] = [_verdict(case), Line(device_line(case.device)), LabelledFacts(facts)]
    return page + [Line(sentence) for sentence in _remarks(case)]


def _verdict(case: LatencyCase) -> Line:
    """Return the answer in a sentence: how many warps hide the latencies."""
    if case.arithmetic is None:
        return Line("Which latency is to be hidden is not known.", Tone.STRONG)
    needed = plural(case.arithmetic.warps, "warp")
    most = case.device.limits.max_warps_per_sm
    said = f"{needed} per SM, of {most}, hide the latency of arithmetic"
    wanted = case.bytes_needed
    if wanted is not None:
        said += (
            f"; {_bytes(wanted)} under way per thread of {case.resident} warps hide that of memory"
        )
    return Line(f"{said}.", Tone.STRONG)


def _bytes(count: float) -> str:
    return plural(math.ceil(count), "byte")


def _arithmetic(case: LatencyCase) -> Iterator[Fact]:
    needed = case.arithmetic
    if needed is None:
        yield Fact("arithmetic", Cell("not known"), "--latency gives it")
        return
    most = case.device.limits.max_warps_per_sm
    yield Fact(
        "arithmetic",
        Cell(f"{plural(needed.warps, 'warp')} per SM"),
        f"{needed.latency_cycles:g} cycles x {needed.issue_width:g} per cycle"
        f"{f' / {case.ilp}' if case.ilp > 1 else ''}; {show_share(needed.warps / most)} occupancy",
    )


def _memory_facts(case: LatencyCase) -> Iterator[Fact]:
    needed, rate = case.memory, case.device.memory_bandwidth
    if needed is None or rate is None:
        yield Fact("memory", Cell("not known"), "--gpu names a GPU with its clocks")
        return
    idle = ", the latency of an idle memory" if case.idle_latency else ""
    yield Fact(
        "memory",
        Cell(f"{show_bytes(round(needed.bytes_in_flight))} in flight"),
        f"{show_rate(rate)} x {show_seconds(needed.latency_seconds)}{idle}",
    )
    # One number of warps: those that an idle memory asks for leave a busy one waiting.
    per_sm = well_used_bytes(needed.bytes_per_sm) if case.idle_latency else needed.bytes_per_sm
    warps = math.ceil(per_sm / (WARP_SIZE * case.bytes_per_thread))
    keeps = f"keep a busy memory at {show_share(WELL_USED)}: " if case.idle_latency else ""
    yield Fact(
        "per SM",
        Cell(show_bytes(round(per_sm))),
        f"{keeps}{plural(warps, 'warp')} of 32 x {case.bytes_per_thread} bytes",
    )


def _remarks(case: LatencyCase) -> Iterator[str]:
    if case.assumed:
        yield "Its arithmetic latency is not documented: the 4 cycles of cc 7.x are assumed."
    if case.hidden is not None:
        verdict = "hide" if case.hidden else "do not hide"
        yield f"{plural(case.warps or 0, 'resident warp')} {verdict} arithmetic latency."
    share, wanted = case.memory_share, case.bytes_needed
    if share is None or wanted is None:
        return
    held = f"{plural(case.resident, 'warp')} with {plural(case.bytes_per_thread, 'byte')} per thread under way"
    how = "as kernels on an H200 did" if case.idle_latency else "by Little's law"
    if case.memory_hidden:
        yield f"{held} hide the latency of memory: {show_share(share)} of the bandwidth, {how}."
        return
    yield (
        f"{held} do not hide the latency of memory: about {show_share(share)} of the bandwidth, {how}. "
        f"Each thread needs about {_bytes(wanted)} (wider words, or several independent loads)."
    )
