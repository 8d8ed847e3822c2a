"""``occupancy`` in words: the headline, what limits, what to change, and what else must be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from gpuadvise.advisor.limits import SharedMode
from gpuadvise.advisor.occupancy.answer import Occupancy, Resource
from gpuadvise.advisor.occupancy.case import OccupancyCase, capacities, needs
from gpuadvise.advisor.occupancy.next_steps import Knob, NextStep
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.blocks import Block, Cell, Heading, Line, Table, Tone, header
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.occupancy.fault import LaunchFault


NOUNS = {
    Resource.WARPS: "warps",
    Resource.BLOCKS: "blocks",
    Resource.REGISTERS: "registers",
    Resource.SHARED_MEMORY: "shared memory",
    Resource.BARRIERS: "barriers",
}
# From here on more occupancy seldom helps: best practices guide, "Thread and Block Heuristics".
ENOUGH = 0.5


def tone(occupancy: Occupancy) -> Tone:
    """Return how good an occupancy is."""
    if occupancy.fault:
        return Tone.BAD
    return Tone.GOOD if occupancy.occupancy >= ENOUGH else Tone.POOR


def exact_bytes(size: int) -> str:
    """Return *size* without rounding: ``17 KiB``, or ``17,536 B``."""
    return f"{size // 1024:,} KiB" if size and size % 1024 == 0 else f"{size:,} B"


def remarks(case: OccupancyCase) -> list[str]:
    """Return the remarks on *case*."""
    parts = (
        _refusal,
        _enough,
        _empty_lanes,
        _grid,
        _opt_in,
        _no_carveout,
        _reserve,
        _carveout,
        _bounds,
        _cluster,
        _caveats,
    )
    return [sentence for part in parts for sentence in part(case)]


def _refusal(case: OccupancyCase) -> Iterator[str]:
    fault = case.occupancy.fault
    if fault is None:
        return
    if fault.failure.code is None:
        yield "No program gets that far: the compiler refuses it."
        return
    before = f" (before CUDA 13: {fault.formerly})" if fault.formerly else ""
    yield f"The launch returns {fault.failure}, {fault.failure.code}{before}."


def _enough(case: OccupancyCase) -> Iterator[str]:
    if case.occupancy.launchable and case.occupancy.occupancy < ENOUGH:
        yield (
            f"Below about {show_share(ENOUGH)} few warps are left to hide latency (best practices guide, "
            "Occupancy). A profile tells whether this kernel waits; tiled matrix kernels often do not."
        )
    if ENOUGH <= case.occupancy.occupancy < 1:
        yield (
            f"From about {show_share(ENOUGH)} on more occupancy seldom helps (best practices "
            "guide, Thread and Block Heuristics): measure before you trade registers for it."
        )


def _empty_lanes(case: OccupancyCase) -> Iterator[str]:
    """Yield what the last warp wastes: occupancy counts warps, also those that are not full."""
    warp, threads = case.occupancy.hardware.warp_size, case.occupancy.launch.threads
    empty = -threads % warp
    if case.occupancy.launchable and empty:
        lanes = threads + empty
        verb = "does" if empty == 1 else "do"
        yield (
            f"A block of {threads:,} threads is {plural(lanes // warp, 'warp')} of {warp}: "
            f"{empty:,} of {lanes:,} lanes {verb} nothing ({show_share(empty / lanes)})."
        )


def _grid(case: OccupancyCase) -> Iterator[str]:
    grid, sms = case.grid, case.device.sm_count
    if grid:
        least, most = ("at least ", "up to ") if grid.bound else ("", "")
        of = f" for {case.elements:,} elements" if case.elements else ""
        waves = f"{grid.waves:,.2f}" if grid.waves >= 1 else f"{grid.waves:.2g}"
        yield (
            f"Grid: {plural(grid.blocks, 'block')}{of} in {least}{waves} waves of "
            f"{most}{grid.wave_size:,}; tail efficiency {show_share(grid.tail_efficiency)}"
            f"{' if so many fit' if grid.bound else ''}."
            f"{' All are resident at once.' if grid.cooperative else ''}"
        )
        if sms and grid.idle_sms:
            if case.clusters is None:
                yield f"{grid.idle_sms:,} of {plural(sms, 'SM')} get no block of this grid."
            else:
                yield f"At least {grid.idle_sms:,} of {plural(sms, 'SM')} hold no block at any time."
    elif case.occupancy.launch.grid_dim and sms is None:
        yield "Waves need the number of SMs: name a GPU with --gpu instead of --cc."


def _opt_in(case: OccupancyCase) -> Iterator[str]:
    size = case.occupancy.needs_optin
    if size:
        yield (
            "Needed before the launch: cudaFuncSetAttribute(kernel, "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize, {size})."
        )


def _no_carveout(case: OccupancyCase) -> Iterator[str]:
    mode = case.device.limits.shared_memory_config_mode
    if case.occupancy.launch.carveout is not None and mode is not SharedMode.CARVEOUT:
        capability = case.device.capability
        yield f"Compute capability {capability} has no carveout to prefer: --carveout changes nothing."


def _bounds(case: OccupancyCase) -> Iterator[str]:
    bounds, registers = case.bounds, case.occupancy.launch.registers or 0
    if bounds is None:
        return
    if bounds.ignored:
        yield bounds.ignored
    if bounds.registers is None:
        yield "No number of registers satisfies the launch bounds."
        return
    over = bounds.spills(registers)
    verdict = f"{over} fewer than given: the rest may spill" if over else "enough"
    yield f"The launch bounds allow {bounds.registers} registers per thread, {verdict}."


def _cluster(case: OccupancyCase) -> Iterator[str]:
    clusters, occupancy = case.clusters, case.occupancy
    if clusters is None or not occupancy.launchable:
        return
    from gpuadvise.advisor.occupancy.clusters import ClusterSource

    limits = case.device.limits
    most = limits.max_blocks_per_sm_in_clusters
    if most is not None and occupancy.limiters == (Resource.BLOCKS,):
        yield (
            f"Of a launch with clusters an SM holds {most} blocks at most (measured on an H200), "
            f"not {limits.max_blocks_per_sm}."
        )
    resident = plural(clusters.count, "cluster")
    match clusters.source:
        case ClusterSource.DRIVER:
            yield (
                f"{resident} at a time on this GPU, by its driver; a cluster of this kernel can have "
                f"{clusters.largest} blocks."
            )
        case ClusterSource.MEASURED:
            yield (
                f"{resident} at a time on the one that was measured: a cluster stays in one GPC, "
                "and their sizes differ from chip to chip; cudaOccupancyMaxActiveClusters tells on "
                "the device."
            )
        case ClusterSource.BOUND:
            yield (
                f"At most {resident} at a time: an upper bound, since a cluster stays in one GPC and "
                "their sizes differ from chip to chip; cudaOccupancyMaxActiveClusters tells on the "
                "device."
            )
        case other:
            assert_never(other)


def _caveats(case: OccupancyCase) -> Iterator[str]:
    if case.occupancy.caveat:
        yield case.occupancy.caveat
    if case.device.extrapolated:
        yield (
            f"Compute capability {case.device.capability} is not known: these are the limits of "
            "the nearest older one."
        )


def _reserve(case: OccupancyCase) -> Iterator[str]:
    occupancy, reserve = case.occupancy, case.device.limits.shared_memory_reserved_per_block
    used = occupancy.launch.static_shared + occupancy.launch.dynamic_shared
    if used and reserve:
        yield (
            f"Shared memory of a block: {used:,} bytes of the kernel and {reserve:,} reserved by "
            f"the system, in units of {case.device.limits.shared_memory_allocation_unit}."
        )


def _carveout(case: OccupancyCase) -> Iterator[str]:
    carveout, launch = case.carveout, case.occupancy.launch
    if carveout is None or not (launch.shared_memory or launch.carveout is not None):
        return
    chosen = "no carveout given" if launch.carveout is None else f"carveout {launch.carveout} %"
    left = f", which leaves {exact_bytes(carveout.l1_bytes)} of L1" if carveout.l1_bytes else ""
    yield f"Shared memory of the SM: {exact_bytes(carveout.bytes)} assumed ({chosen}){left}."
    if carveout.smallest_bytes < carveout.bytes:
        more = carveout.smallest_l1_bytes
        leaves = f" and leave {exact_bytes(more)} of L1" if more else ""
        yield (
            f"{exact_bytes(carveout.smallest_bytes)} hold as many blocks{leaves}: "
            f"cudaFuncAttributePreferredSharedMemoryCarveout {carveout.smallest_per_cent}."
        )


def _sources(case: OccupancyCase) -> Iterator[str]:
    device = case.device
    limits = device.sources.get("registers_per_sm") or device.sources.get("limits")
    known = [f"limits: {limits or 'catalogue: capabilities.toml'}"]
    if case.grid or case.clusters is not None:
        known.append(f"SMs: {device.sources.get('sm_count', 'not known')}")
    yield f"Sources: {'; '.join(known)}; launch: your input."


# More ways out than this are a list, not advice; JSON has them all.
_MOST_FIXES = 3
_UNITS = {
    Knob.THREADS: "threads per block",
    Knob.REGISTERS: "registers per thread",
    Knob.SHARED_MEMORY: "bytes of shared memory per block",
    Knob.CARVEOUT: "bytes of shared memory per SM",
    Knob.BARRIERS: "barriers per block",
}
# Knobs whose step names a call or an option; the figures of the others say it all.
_SAYS_MORE = (Knob.REGISTERS, Knob.CARVEOUT)


def advice(case: OccupancyCase) -> list[str]:
    """Return what helps, the smallest change first."""
    if case.occupancy.fault:
        return [fix.how for fix in case.fixes[:_MOST_FIXES]]
    sizes = list(_sizes(case))
    steps = [_step(step) for step in case.next_steps if not (sizes and step.knob is Knob.THREADS)]
    return [*sizes, *steps, *_free(case)]


def _step(step: NextStep) -> str:
    after = step.after
    also = ""
    if step.together_with:
        nouns = [NOUNS[resource] for resource in step.together_with]
        also = f", together with the step of {and_list(nouns)}"
    gain = f"{plural(after.blocks_per_sm, 'block')}, {show_share(after.occupancy)}."
    change = f"{step.to:,} {_UNITS[step.knob]} instead of {step.start:,}{also}: {gain}"
    return f"{change} {step.how}" if step.knob in _SAYS_MORE else change


def _free(case: OccupancyCase) -> Iterator[str]:
    room, launch = case.room, case.occupancy.launch
    free = []
    if room.registers and room.registers > (launch.registers or 0):
        free.append(f"{room.registers} registers per thread")
    if room.dynamic_shared and room.dynamic_shared > launch.dynamic_shared:
        free.append(f"{exact_bytes(room.dynamic_shared)} of dynamic shared memory")
    if free:
        yield f"Headroom without losing a block: up to {and_list(free, 'or')}."


def _sizes(case: OccupancyCase) -> Iterator[str]:
    """Yield the block sizes that keep most warps resident, if this one does not."""
    suggestion = case.suggestion
    if not suggestion or case.occupancy.warps_per_sm >= suggestion.helper.warps_per_sm:
        return
    best = suggestion.guide or suggestion.as_full
    sizes = [f"{size.launch.threads:,}" for size in best]
    blocks = {size.blocks_per_sm for size in best}
    gain = plural(blocks.pop(), "block") + ", " if len(blocks) == 1 else ""
    yield (
        f"{and_list(sizes, 'or')} threads per block instead of {case.occupancy.launch.threads:,}: "
        f"{gain}{show_share(best[0].occupancy)}, the most of any size."
    )


COLUMNS = header("Resource", ">Per block", ">Per SM", ">Blocks that fit", "")


def screen(case: OccupancyCase, check: Mapping[str, Any] | None = None) -> list[Block]:
    """Return the headline, the limits, what to change, and what else must be known.

    *check* is the driver's agreement, if it was asked for.
    """
    occupancy = case.occupancy
    notes = remarks(case)
    if check is not None:
        notes.insert(0, driver_sentence(check))
    return [
        Line(device_line(case.device), Tone.FAINT),
        Line(headline(occupancy), tone(occupancy)),
        *_limited(case),
        *_section("What to change", advice(case)),
        *_section("Notes", notes),
        *(Line(sentence, source=True) for sentence in _sources(case)),
    ]


def driver_sentence(check: Mapping[str, Any]) -> str:
    """Return the outcome of the check in a sentence."""
    wrong: list[dict[str, Any]] = check["differences"]
    answer: dict[str, Any] | None = check.get("answer")
    agreed = f"The driver agrees with all {plural(check['compared'], 'limit')} that it tells"
    if not wrong and not answer:
        return f"{agreed}."
    if not wrong and answer and answer["problem"]:
        return f"{agreed}; of the launch it said nothing: {answer['problem']}"
    if not wrong and answer:
        clusters = (
            "" if answer["clusters"] is None else f", {plural(answer['clusters'], 'cluster')}"
        )
        said = f"{plural(answer['blocks_per_sm'], 'block')} per SM{clusters}"
        return f"{agreed}, and answers {said} for a kernel of {answer['registers']} registers."
    parts = [f"{limit['limit']} is {limit['driver']}, not {limit['model']}" for limit in wrong]
    return f"The driver differs from the model: {'; '.join(parts)}."


def _limited(case: OccupancyCase) -> list[Block]:
    """Return how many blocks fit by each resource; nothing of a launch that cannot start."""
    if case.occupancy.fault:
        return []
    chosen = [Line(_chosen(case))] if case.chosen_block else []
    return [Line(because(case.occupancy)), *chosen, Line(""), _limits(case.occupancy)]


def _chosen(case: OccupancyCase) -> str:
    """Return which block size was chosen, and which do as well."""
    threads = case.occupancy.launch.threads
    suggestion = case.suggestion
    as_full = (suggestion.guide or suggestion.as_full) if suggestion else ()
    also_full = [f"{size.launch.threads:,}" for size in as_full if size.launch.threads != threads]
    also = f"; {and_list(also_full)} keep as many warps" if len(also_full) > 1 else ""
    also = f"; {also_full[0]} keeps as many warps" if len(also_full) == 1 else also
    return f"Block size chosen, for none was given: {threads:,} threads{also}."


def headline(occupancy: Occupancy) -> str:
    """Return the answer in one line."""
    if fault := occupancy.fault:
        return impossible(fault)
    most = occupancy.hardware.max_warps_per_sm
    return (
        f"{show_share(occupancy.occupancy)} occupancy: {plural(occupancy.blocks_per_sm, 'block')} and "
        f"{occupancy.warps_per_sm} of {most} warps per SM."
    )


def impossible(fault: LaunchFault) -> str:
    """Return why no block can start, in one sentence."""
    return f"This launch is impossible: {'; '.join(filter(None, (fault.subject, fault.limit)))}."


def because(occupancy: Occupancy) -> str:
    """Return what limits it."""
    nouns = [NOUNS[resource] for resource in occupancy.limiters]
    return f"Limited by {and_list(nouns)}{' alike' if len(nouns) > 1 else ''}."


def _section(title: str, sentences: list[str]) -> list[Block]:
    return [Heading(title), *map(Line, sentences)] if sentences else []


def _limits(occupancy: Occupancy) -> Table:
    takes, has = needs(occupancy), capacities(occupancy)
    rows = []
    for resource, blocks in occupancy.limits.items():
        limits = resource in occupancy.limiters
        tone = Tone.STRONG if limits else Tone.PLAIN
        texts = (
            NOUNS[resource],
            _count(takes[resource], resource),
            _count(has[resource], resource),
        )
        last = (Cell(_count(blocks), tone), Cell("< limit" if limits else "", tone))
        rows.append((*map(Cell, texts), *last))
    return Table(COLUMNS, tuple(rows))


def _count(value: int | None, resource: Resource | None = None) -> str:
    if value is None:
        return "-"
    return exact_bytes(value) if resource is Resource.SHARED_MEMORY else f"{value:,}"
