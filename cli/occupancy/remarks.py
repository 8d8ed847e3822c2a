"""What else must be known: calls that are needed, waves, bounds, where the numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.limits import SharedMode
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.occupancy.words import ENOUGH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.cli.occupancy.case import Case


def remarks(case: Case) -> list[str]:
    """Return the remarks on *case*, sources last."""
    parts = (
        _refusal,
        _enough,
        _grid,
        _opt_in,
        _no_carveout,
        _reserve,
        _bounds,
        _cluster,
        _caveat,
        _extrapolated,
        _sources,
    )
    return [sentence for part in parts for sentence in part(case)]


def _refusal(case: Case) -> Iterator[str]:
    fault = case.found.fault
    if fault is None:
        return
    if fault.failure.code is None:
        yield "No program gets that far: the compiler refuses it."
        return
    before = f" (before CUDA 13: {fault.formerly})" if fault.formerly else ""
    yield f"The launch returns {fault.failure}, {fault.failure.code}{before}."


def _enough(case: Case) -> Iterator[str]:
    if case.steps and case.found.occupancy >= ENOUGH:
        yield (
            f"From about {show_share(ENOUGH)} on more occupancy seldom helps (best practices "
            "guide, Thread and Block Heuristics): measure before you trade registers for it."
        )


def _grid(case: Case) -> Iterator[str]:
    grid, sms = case.grid, case.device.sm_count
    if grid:
        least, most = ("at least ", "up to ") if case.clusters is not None else ("", "")
        yield (
            f"Grid: {plural(grid.blocks, 'block')} in {least}{_waves(grid.waves)} waves of "
            f"{most}{grid.wave_size:,}; tail efficiency {show_share(grid.tail_efficiency)}."
            f"{' All are resident at once.' if grid.cooperative else ''}"
        )
        if sms and grid.blocks < sms:
            yield f"{sms - grid.blocks:,} of {plural(sms, 'SM')} get no block of this grid."
    elif case.found.launch.grid_dim and sms is None:
        yield "Waves need the number of SMs: name a GPU with --gpu instead of --cc."


def _waves(count: float) -> str:
    return f"{count:,.2f}" if count >= 1 else f"{count:.2g}"


def _opt_in(case: Case) -> Iterator[str]:
    size = case.found.needs_optin
    if size:
        yield (
            "Needed before the launch: cudaFuncSetAttribute(kernel, "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize, {size})."
        )


def _no_carveout(case: Case) -> Iterator[str]:
    mode = case.device.limits.shared_memory_config_mode
    if case.found.launch.carveout is not None and mode is not SharedMode.CARVEOUT:
        capability = case.device.capability
        yield f"Compute capability {capability} has no carveout to prefer: --carveout changes nothing."


def _bounds(case: Case) -> Iterator[str]:
    bounds, registers = case.bounds, case.found.launch.registers or 0
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


def _cluster(case: Case) -> Iterator[str]:
    if case.clusters is not None and case.found.launchable:
        yield (
            f"At most {case.clusters:,} clusters are resident: an upper bound, since a cluster "
            "stays in one GPC and their sizes differ from chip to chip; "
            "cudaOccupancyMaxActiveClusters tells on the device."
        )


def _caveat(case: Case) -> Iterator[str]:
    if case.found.caveat:
        yield case.found.caveat


def _extrapolated(case: Case) -> Iterator[str]:
    if case.device.extrapolated:
        yield (
            f"Compute capability {case.device.capability} is not known: these are the limits of "
            "the nearest older one."
        )


def _reserve(case: Case) -> Iterator[str]:
    found, reserve = case.found, case.device.limits.shared_memory_reserved_per_block
    used = found.launch.static_shared + found.launch.dynamic_shared
    if used and reserve:
        yield (
            f"Shared memory of a block: {used:,} bytes of the kernel and {reserve:,} reserved by "
            f"the system, in units of {case.device.limits.shared_memory_allocation_unit}."
        )


def _sources(case: Case) -> Iterator[str]:
    device = case.device
    limits = device.sources.get("registers_per_sm") or device.sources.get("limits")
    known = [f"limits: {limits or 'catalogue: capabilities.toml'}"]
    if case.grid or case.clusters is not None:
        known.append(f"SMs: {device.sources.get('sm_count', 'not told')}")
    yield f"Sources: {'; '.join(known)}; launch: you."
