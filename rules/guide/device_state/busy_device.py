"""A GPU that others use at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.guide.execution.competing_contexts import MPS_SERVER
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry

FULL = number(0.9, "memory in use", "share", "our judgement; guide 18.1.1 says to watch it")


def check(telemetry: Telemetry) -> Verdict:
    """Advise when other processes compute on the GPU, or its memory is nearly full."""
    from gpuadvise.advisor.telemetry import ProcessKind

    computing = [p for p in telemetry.processes or () if p.kind is ProcessKind.COMPUTE]
    if any(MPS_SERVER in (process.name or "") for process in computing):
        computing = []  # its clients may be the program itself, which shares the GPU on purpose
    share = _filled(telemetry)
    if not computing and (share is None or share < FULL):
        if telemetry.processes is None or share is None:
            return unread(telemetry, "processes", "memory_used_bytes", "memory_total_bytes")
        return PASSED
    return Advice(
        message=_seen(telemetry, len(computing), share),
        action=(
            "Wait, or choose another GPU (CUDA_VISIBLE_DEVICES), before you measure; nvidia-smi "
            "lists the processes."
        ),
        evidence=(
            measured("compute processes", len(computing), "processes"),
            measured("memory used", telemetry.memory_used_bytes or 0, "bytes"),
        ),
    )


def _filled(telemetry: Telemetry) -> float | None:
    used, total = telemetry.memory_used_bytes, telemetry.memory_total_bytes
    return used / total if used is not None and total else None


def _seen(telemetry: Telemetry, other_processes: int, share: float | None) -> str:
    if not other_processes:
        unseen = _why_none_is_named(telemetry)
        return f"{_used(telemetry)} ({show_share(share or 0)}) of its memory is in use{unseen}."
    processes = f"{plural(other_processes, 'compute process', 'compute processes')} on this GPU"
    if share is None:
        return f"{processes}."
    return f"{processes}, and {_used(telemetry)} ({show_share(share)}) of its memory in use."


def _used(telemetry: Telemetry) -> str:
    return show_bytes(telemetry.memory_used_bytes or 0)


def _why_none_is_named(telemetry: Telemetry) -> str:
    from gpuadvise.advisor.telemetry import ProcessKind

    if telemetry.processes is None:
        return "; its processes are not known"
    if any(process.kind is ProcessKind.COMPUTE for process in telemetry.processes):
        return ""  # the MPS server's
    return ", yet no compute process is listed: a container does not see those of others"


RULE = Rule(
    id="busy-device",
    title="Measure on an idle GPU",
    topic=Topic.DEVICE_STATE,
    priority=Priority.MEDIUM,
    kinds=(Kind.NVML,),
    why="Other programs take SMs, bandwidth and memory in turns, so times do not repeat.",
    when="Other compute processes run on the GPU, or at least 90 % of its memory is in use.",
    citations=guide("18.1.1", "16.1.1"),
    folds_into="competing-contexts",
    check=check,
    examples=Examples(
        fires={
            "telemetry": {"processes": [{"pid": 1001, "kind": "compute", "memory_bytes": "2GiB"}]}
        },
        quiet={
            "telemetry": {
                "processes": [],
                "memory_used_bytes": "1GiB",
                "memory_total_bytes": "80GiB",
            }
        },
        edges=(
            {"telemetry": {"memory_used_bytes": "72GiB", "memory_total_bytes": "80GiB"}},
            {
                "telemetry": {
                    "processes": [],
                    "memory_used_bytes": "71GiB",
                    "memory_total_bytes": "80GiB",
                }
            },
        ),
    ),
)
