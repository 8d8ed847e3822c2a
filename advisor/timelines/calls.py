"""What the host's calls of the CUDA and HIP interfaces are for, by their names."""

from __future__ import annotations

import re
from enum import StrEnum

# Nsight Systems adds the version that introduced a runtime call: cudaLaunchKernel_v7000.
_VERSION = re.compile(r"_v\d{4,5}(_ptsz|_ptds)?$")
_PREFIX = re.compile(r"^(cuda|cu|hip)(?=[A-Z])")
# Shorter launches, copies that are only queued and small calls are part of giving work; longer
# ones hold the host up.
_PROMPT_NS = 20_000


class CallKind(StrEnum):
    """What a call is for."""

    LAUNCH = "launch"
    GRAPH_LAUNCH = "graph-launch"
    SYNCHRONIZATION = "synchronization"
    COPY = "copy"
    MEMSET = "memset"
    ALLOCATION = "allocation"
    RELEASE = "release"
    MODULE_LOAD = "module-load"
    OTHER = "other"


LAUNCHES = (CallKind.LAUNCH, CallKind.GRAPH_LAUNCH)
_QUEUEING = (*LAUNCHES, CallKind.MEMSET, CallKind.OTHER)
_KINDS = (
    (re.compile(r"GraphLaunch"), CallKind.GRAPH_LAUNCH),
    # A function of the host that a stream calls is no kernel.
    (re.compile(r"(Ext|Module|)Launch(?!HostFunc)(Cooperative)?(Kernel|Grid)?"), CallKind.LAUNCH),
    (re.compile(r"\w*Synchronize"), CallKind.SYNCHRONIZATION),
    (re.compile(r"Memcpy"), CallKind.COPY),
    (re.compile(r"Memset"), CallKind.MEMSET),
    (
        re.compile(r"(Malloc|HostAlloc|HostMalloc|MemAlloc|MemHostAlloc|MemCreate|MemMap)"),
        CallKind.ALLOCATION,
    ),
    (re.compile(r"(Free|HostFree|MemFree|MemRelease|MemUnmap)"), CallKind.RELEASE),
    (re.compile(r"(ModuleLoad|LibraryLoad|LinkComplete|LinkAdd)"), CallKind.MODULE_LOAD),
)


def plain_name(name: str) -> str:
    """Return the name of a call without the version that a recorder added."""
    return _VERSION.sub("", name)


def call_kind(name: str) -> CallKind:
    """Return what the call *name* is for."""
    bare = _PREFIX.sub("", plain_name(name))
    return next((kind for pattern, kind in _KINDS if pattern.match(bare)), CallKind.OTHER)


def blocks_host(name: str) -> bool:
    """Return whether the copy call *name* returns only when the copy is done or staged."""
    return "Async" not in name


def waits_to_free(name: str) -> bool:
    """Return whether the call *name*, which frees memory, waits for the GPU's work to end."""
    return "Free" in name and "Async" not in name


def prompt_ns(name: str) -> int:
    """Return up to how long a call of *name* is part of giving the GPU its work; -1: never is."""
    kind = call_kind(name)
    queued = kind is CallKind.COPY and not blocks_host(name)
    return _PROMPT_NS if queued or kind in _QUEUEING else -1
