"""Facts that follow from other facts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.access import Space
from gpuadvise.advisor.facts.bag import Facts, known_facts
from gpuadvise.advisor.facts.busy import peak_of
from gpuadvise.advisor.facts.limiter import UnknownLimiter, limiter_of
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.peaks import fp64_ratio
from gpuadvise.advisor.roofline import roofline
from gpuadvise.advisor.transfers.copies import Direction, copy_seconds
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Pipeline, Transfer, Work
    from gpuadvise.advisor.occupancy.launch import Launch


def completed(facts: Facts) -> Facts:
    """Return *facts* with everything that follows from them; what was given stays as it is."""
    return facts_of(known_facts(facts))


def facts_of(given: dict[str, Any]) -> Facts:
    """Return the facts *given* by name, with everything that follows from them.

    Built at once: copying a bag field by field takes longer than a rule does.
    """
    derived: dict[str, Any] = {}
    device, launch, pipeline = map(given.get, ("device", "launch", "pipeline"))
    if device:
        derived |= _of_device(device)
        if pipeline and pipeline.untimed:
            pipeline = _timed(pipeline, device)
    if launch:
        derived |= {"grid": launch.grid_dim, "registers": launch.registers}
    if device and launch:
        derived |= _occupancy(device, _bounded(launch, given.get("launch_bounds")))
    if device and "work" in given:
        derived |= _roofline(device, given["work"])
    if "accesses" in given:
        derived |= _of_accesses(given["accesses"])
    if "profile" in given:
        derived |= _of_profile(given["profile"])
    if "compiled" in given:
        derived |= _of_compiled(given["compiled"])
    derived |= _of_copies(pipeline, given.get("transfers"))
    derived |= _offload(pipeline)
    known = derived | given | {"pipeline": pipeline}
    if "limiter" not in given:
        known["limiter"] = _limiter(known)
    return Facts(**known)


# Facts of a launch that ran.
_MEASURED = frozenset({"profile", "work", "traffic"})


def _limiter(known: Mapping[str, Any]) -> Limiter | None:
    occupancy, sm_count, grid = map(known.get, ("occupancy", "sm_count", "grid"))
    wave = None
    if occupancy is not None and sm_count and grid:
        wave = waves(occupancy, sm_count, math.prod(grid))
    if _fails(known) and not known.keys() & _MEASURED:
        return UnknownLimiter(wanted="a launch that the device can run, for this one fails")
    if known.get("concurrent") and "profile" not in known:
        grid = None  # what it leaves free, other kernels take
    return limiter_of(
        profile=known.get("profile"),
        work=known.get("work"),
        roofline=known.get("roofline"),
        traffic=known.get("traffic"),
        memory_bandwidth=known.get("memory_bandwidth"),
        grid=grid,
        sm_count=sm_count,
        waves=wave.waves if wave else None,
    )


def _fails(known: Mapping[str, Any]) -> bool:
    """Return whether the device, or the launch bounds of the kernel, forbid the launch."""
    occupancy, launch, bounds = map(known.get, ("occupancy", "launch", "launch_bounds"))
    exceeded = launch is not None and bounds is not None and launch.threads > bounds.threads
    return exceeded or (occupancy is not None and not occupancy.launchable)


def _of_device(device: Device) -> dict[str, Any]:
    return {
        "sm_count": device.sm_count,
        "memory_bandwidth": device.memory_bandwidth,
        "persisting_l2": device.persisting_l2_bytes,
        "fp64_ratio": fp64_ratio(device),
        "link": default_link_model(device),
        "arithmetic_latency": device.limits.arithmetic_latency_cycles,
    }


def _bounded(launch: Launch, bounds: LaunchBounds | None) -> Launch:
    """Return *launch* of a kernel compiled with *bounds*; exceeded-launch-bounds speaks of larger blocks."""
    if bounds is None or launch.max_threads is not None or launch.threads > bounds.threads:
        return launch
    return launch.but(max_threads=bounds.threads)


def _occupancy(device: Device, launch: Launch) -> dict[str, Any]:
    """Return the occupancy; without a register count it would be an upper bound only."""
    result = occupancy(device.limits, launch)
    return {"launched": result, "occupancy": result if launch.registers is not None else None}


def _roofline(device: Device, work: Work) -> dict[str, Any]:
    peak, bandwidth = peak_of(work, device), device.memory_bandwidth
    if peak is None or not bandwidth:
        return {}
    return {"roofline": roofline(work.flops, work.bytes, peak, bandwidth, work.seconds)}


def _of_accesses(accesses: Iterable[Access]) -> dict[str, Any]:
    spaces = {space: [a for a in accesses if a.space is space] for space in Space}
    by_kind = {
        "global_accesses": spaces[Space.GLOBAL],
        "shared_accesses": spaces[Space.SHARED],
        "constant_accesses": [a for a in spaces[Space.CONSTANT] if a.distinct_addresses],
        "row_accesses": [a for a in spaces[Space.GLOBAL] if a.row_bytes],
        "scattered_accesses": [a for a in spaces[Space.GLOBAL] if a.local_2d is not None],
    }
    return {name: tuple(kept) for name, kept in by_kind.items() if kept}


def _timed(pipeline: Pipeline, device: Device) -> Pipeline:
    """Return *pipeline* with the times that its copies' bytes take over the link of *device*."""
    link = default_link_model(device)
    copies = {
        "to_device_seconds": (pipeline.to_device_bytes, Direction.H2D),
        "to_host_seconds": (pipeline.to_host_bytes, Direction.D2H),
    }
    times: dict[str, Any] = {
        name: copy_seconds(size, link, way) for name, (size, way) in copies.items() if size
    }
    return replace(pipeline, **times)


def _of_profile(profile: KernelProfile) -> dict[str, Any]:
    return {
        "sector_efficiency": _needed(profile.global_sectors_ideal, profile.global_sectors),
        "bank_efficiency": _needed(profile.shared_wavefronts_ideal, profile.shared_wavefronts),
        "active_threads": profile.active_threads,
        "spill_requests": profile.spill_requests,
        "stalls": profile.stalls or None,
    }


def _offload(pipeline: Pipeline | None) -> dict[str, Any]:
    if pipeline is None or pipeline.untimed or pipeline.host_seconds is None:
        return {}
    from gpuadvise.advisor.facts.application import (
        Offload,  # few pipelines are compared with a host
    )

    offload = Offload(
        host_seconds=pipeline.host_seconds,
        kernel_seconds=pipeline.kernel_seconds,
        transfer_seconds=pipeline.to_device_seconds + pipeline.to_host_seconds,
        bytes=pipeline.to_device_bytes + pipeline.to_host_bytes or None,
    )
    return {"offload": offload}


def _ratio(part: float | None, whole: float | None) -> float | None:
    return min(1.0, part / whole) if part is not None and whole else None


def _needed(needed: float | None, moved: float | None) -> float | None:
    """Return the share of what was *moved* that was *needed*; where nothing moved, nothing was wasted."""
    return 1.0 if moved == 0 else _ratio(needed, moved)


def _of_compiled(compiled: Compiled) -> dict[str, Any]:
    spills = [compiled.spill_store_bytes, compiled.spill_load_bytes]
    known = [bytes for bytes in spills if bytes is not None]
    return {
        "spill_bytes": sum(known) if known else None,
        "stack_bytes": compiled.stack_bytes,
        "fp64_share": _ratio(compiled.fp64_instructions, compiled.instructions),
    }


def _of_copies(pipeline: Pipeline | None, transfers: Sequence[Transfer] | None) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    if pipeline and not pipeline.untimed:
        copies = pipeline.to_device_seconds + pipeline.to_host_seconds
        totals["transfer_seconds"] = copies
        totals["run_seconds"] = copies + pipeline.kernel_seconds
    if transfers:
        times = [t.seconds * t.count for t in transfers if t.seconds is not None]
        if len(times) == len(transfers):
            totals["transfer_seconds"] = sum(times)
        kinds = [t.blocking for t in transfers if t.blocking is not None]
        if kinds:
            totals["blocking_copies"] = sum(kinds)
    return totals
