"""The GPU of a recording, as the recording describes it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.entries import by_capability, entries
from gpuadvise.advisor.catalogue.lookup import LONGEST, identify
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.device import Device

MOST_MULTIPROCESSORS = 4096
_BUILT_FOR = re.compile(
    r"(?:^|_)sm(\d{2,3})_|(?:^|::|_)(volta|turing|ampere|hopper)_", re.IGNORECASE
)
_ARCHITECTURES = {"volta": 7, "turing": 7, "ampere": 8, "hopper": 9}
_MIB = 1 << 20
_LATEST_MAJOR, _LATEST_MINOR = 99, 9


def traced_device(
    *, name: object, major: object, minor: object, sm_count: object, memory_bytes: object
) -> Device | None:
    """Return the device that these words of a file describe; None where they are unusable.

    What the file says of the GPU (a slice has fewer multiprocessors) goes before the catalogue.
    """
    version = _whole(major, 1, _LATEST_MAJOR), _whole(minor, 0, _LATEST_MINOR)
    if version[0] is None or version[1] is None or not isinstance(name, str):
        return None
    sms = _whole(sm_count, 1, MOST_MULTIPROCESSORS)
    memory = _whole(memory_bytes, 1, 2**50)
    if memory is not None and memory < _MIB:  # older exports of Nsight Systems count MiB
        memory *= _MIB
    capability = Capability(version[0], version[1])
    try:
        device = identify(name[:LONGEST], sm_count=sms, memory_bytes=memory)
        if device is None or device.capability != capability:
            device = by_capability(capability)
    except BadInput:
        return None
    return replace(
        device,
        name=name[:LONGEST],
        sm_count=sms or device.sm_count,
        memory_bytes=memory or device.memory_bytes,
    )


def named_device(name: object) -> Device | None:
    """Return the catalogue's GPU of this name, for files that say no more of it; None: not known."""
    try:
        return identify(name[:LONGEST]) if isinstance(name, str) else None
    except BadInput:
        return None


def likely_gpus(multiprocessors: int, kernels: Iterable[str]) -> list[str]:
    """Return what the catalogue's GPUs of so many *multiprocessors* are called, in its order.

    Names of *kernels* tell the architecture: ``sm90_xmma_gemm...``, ``ampere_sgemm...``.
    """
    votes: dict[int, int] = {}
    for name in kernels:
        if match := _BUILT_FOR.search(name):
            major = int(match[1][:-1]) if match[1] else _ARCHITECTURES[match[2].lower()]
            votes[major] = votes.get(major, 0) + 1
    majors = {major for major, count in votes.items() if count == max(votes.values())}
    fitting = [
        gpu.device
        for gpu in entries()
        if gpu.device.sm_count == multiprocessors
        and (not majors or gpu.device.capability.major in majors)
    ]
    return [device.name for device in fitting]


def _whole(value: object, least: int, most: int) -> int | None:
    """Return *value* where it is a whole number of this range; ``true`` is none."""
    return value if type(value) is int and least <= value <= most else None
