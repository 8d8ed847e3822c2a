"""The live GPU a command is about, with as few questions as possible.

The kernel driver's list or NVML tells which GPUs there are; the catalogue completes what it
knows. Only for a GPU that is not in the catalogue is the CUDA driver asked as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.choose import Depth
from gpuadvise.advisor.backends.kernel_list import listed
from gpuadvise.advisor.backends.live import identities, live_machine
from gpuadvise.advisor.backends.merge import merged
from gpuadvise.advisor.backends.visible import MASK, order_is_known, visible
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.readings import NvmlReport
    from gpuadvise.advisor.gpu import Gpu, Machine


First = tuple["Gpu | None", "Machine | None", tuple[str, ...]]


def machine_at(depth: Depth, environ: Mapping[str, str]) -> Machine:
    """Return the GPUs of this machine; for their identity the CUDA driver is a last resort."""
    if depth is Depth.IDENTITY:
        machine = merged(identities(), None, environ)
        if machine.gpus and all(gpu.device.id or gpu.identity.mig for gpu in machine.gpus):
            return machine
    return live_machine(telemetry=depth is Depth.TELEMETRY, environ=environ)


def first_visible(depth: Depth, environ: Mapping[str, str]) -> First:
    """Return the first GPU that CUDA would see here, its machine, and what kept others away."""
    if depth is Depth.IDENTITY:
        for ask in (listed, identities):
            if first := _first(ask(), environ):
                return first
    return _by_driver(depth, environ)


def _first(report: NvmlReport, environ: Mapping[str, str]) -> First | None:
    """Return the first visible GPU of *report* if it is a known product, None if in doubt."""
    seen = visible(report.gpus, environ)
    if report.gpus and not seen:
        return None, None, (_hidden(report, environ),)
    if not seen or not order_is_known(report.gpus, environ):
        return None
    machine = merged(replace(report, gpus=(report.gpus[seen[0]],)), None, environ)
    known = machine.gpus and machine.gpus[0].device.id
    return (machine.gpus[0], machine, ()) if known else None


def _by_driver(depth: Depth, environ: Mapping[str, str]) -> First:
    machine = live_machine(telemetry=depth is Depth.TELEMETRY, environ=environ)
    numbered = [gpu for gpu in machine.gpus if gpu.identity.cuda_index is not None]
    first = min(numbered, key=lambda gpu: gpu.identity.cuda_index or 0, default=None)
    gpu = first or next(iter(machine.gpus), None)
    return gpu, machine, () if gpu else machine.problems


def _hidden(report: NvmlReport, environ: Mapping[str, str]) -> str:
    lost = [gpu.problem for gpu in report.gpus if gpu.problem]
    if len(lost) == len(report.gpus):
        return f"No GPU of this machine answers: {lost[0]}."
    return f"{MASK}={quoted(environ.get(MASK, ''))} hides every GPU of this machine."
