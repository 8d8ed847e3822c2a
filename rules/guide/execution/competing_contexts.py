"""Several processes that compute on one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry

MPS_SERVER = "nvidia-cuda-mps-server"


def check(telemetry: Telemetry) -> Verdict:
    """Advise when more than one compute process shares the GPU without MPS."""
    from gpuadvise.advisor.telemetry import ProcessKind

    if telemetry.processes is None:
        return unread(telemetry, "processes")
    computing = [p for p in telemetry.processes if p.kind is ProcessKind.COMPUTE]
    if len(computing) < 2 or any(MPS_SERVER in (p.name or "") for p in computing):
        return PASSED
    return Advice(
        message=f"{len(computing)} processes compute on this GPU, in turns.",
        action=(
            "Run them under the Multi-Process Service (nvidia-cuda-mps-control -d), merge them "
            "into one process with streams, or give each a GPU or a MIG slice of its own."
        ),
        evidence=(measured("compute processes", len(computing), "processes"),),
    )


RULE = Rule(
    id="competing-contexts",
    title="Use one context per GPU",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.NVML,),
    why="Contexts of different processes are time-sliced: their kernels never run side by side.",
    when="More than one compute process uses the GPU, and none of them is an MPS server.",
    thresholds=(Threshold(name="processes", value=1, unit="processes", source="guide 11.6"),),
    citations=guide("11.6", "10.3"),
    check=check,
    examples=Examples(
        fires={
            "telemetry": {
                "processes": [{"pid": 1001, "kind": "compute"}, {"pid": 1002, "kind": "compute"}]
            }
        },
        quiet={"telemetry": {"processes": []}},
        edges=(
            {
                "telemetry": {
                    "processes": [{"pid": 1, "kind": "compute"}, {"pid": 2, "kind": "compute"}]
                }
            },
            {"telemetry": {"processes": [{"pid": 1, "kind": "compute"}]}},
        ),
    ),
)
