"""GPUs put to work for a moment, so that their clocks and links can be judged."""

from __future__ import annotations

import os
from dataclasses import replace
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.live import live_machine
from gpuadvise.advisor.backends.measure.calls import DriverFault, call
from gpuadvise.advisor.backends.measure.kernels import THREADS, Kernels
from gpuadvise.advisor.backends.measure.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.gpu import Gpu, Machine

LONGEST_SECONDS = 3.0
# Links and clocks need some tenths of a second to rise from their idle state.
_WARM_UP_SECONDS = 0.8
_COPIED_BYTES = 64 << 20
_ROUNDS = 1024
# What this process itself changes: it must not be taken for another user of the GPU.
_OURS = ("processes", "memory_used_bytes", "memory_free_bytes")


def machine_at_work(environ: Mapping[str, str] = os.environ) -> Machine:
    """Return this machine as it is while every GPU that a program can use copies and computes.

    Takes at most LONGEST_SECONDS and the drivers' own start; leaves nothing behind. A GPU that cannot be
    put to work is said in ``notes``. Raises Unavailable where no GPU is visible.
    """
    idle = live_machine(telemetry=True, environ=environ)
    ordinals = [gpu.identity.cuda_index for gpu in idle.gpus if gpu.identity.cuda_index is not None]
    until, stop = monotonic() + LONGEST_SECONDS, Event()
    faults: list[str] = []
    workers = []
    for ordinal in ordinals:
        worker = Thread(target=_work, args=(ordinal, until, stop, faults))
        try:
            worker.start()
        except RuntimeError:
            faults.append(_fault(ordinal, "no thread can be started."))
        else:
            workers.append(worker)
    try:
        stop.wait(_WARM_UP_SECONDS)
        busy = live_machine(telemetry=True, environ=environ)
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    gpus = tuple(map(_without_us, busy.gpus, idle.gpus)) if len(busy.gpus) == len(idle.gpus) else ()
    return replace(busy, gpus=gpus or busy.gpus, notes=(*busy.notes, *faults))


def _without_us(busy: Gpu, idle: Gpu) -> Gpu:
    """Return *busy* with the processes and the memory that there were before this one worked."""
    if busy.telemetry is None or idle.telemetry is None:
        return busy
    before = {name: getattr(idle.telemetry, name) for name in _OURS}
    return replace(busy, telemetry=replace(busy.telemetry, **before))


def _work(ordinal: int, until: float, stop: Event, faults: list[str]) -> None:
    """Copy to GPU *ordinal* and multiply on it until time is up or *stop* is set."""
    try:
        with Session(ordinal) as session, session.scope():
            copying, computing = session.stream(), session.stream()
            host, device = session.pinned_bytes(_COPIED_BYTES), session.device_bytes(_COPIED_BYTES)
            launch = Kernels(session).launcher(
                "fma32",
                session.properties().grid(THREADS),
                computing,
                session.device_bytes(8),
                _ROUNDS,
            )
            while not stop.is_set() and monotonic() < until:
                call("cuMemcpyHtoDAsync", device, host, _COPIED_BYTES, copying)
                launch()
                call("cuStreamSynchronize", copying)
                call("cuStreamSynchronize", computing)
    except DriverFault as fault:
        faults.append(_fault(ordinal, fault.message))


def _fault(ordinal: int, why: str) -> str:
    return f"GPU {ordinal} could not be put to work: {why}"
