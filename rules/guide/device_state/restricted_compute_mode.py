"""A compute mode that lets one process in, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry


def check(telemetry: Telemetry) -> Verdict:
    """Advise when the compute mode is not the default one."""
    mode = telemetry.compute_mode
    if mode is None:
        return unread(telemetry, "compute_mode")
    if mode == "default":
        return PASSED
    effect = (
        "0 processes may create a context"
        if mode == "prohibited"
        else "only 1 process at a time may create a context"
    )
    return Advice(
        message=f'The compute mode is "{mode}": {effect}.',
        action="If that is not meant, set it back: nvidia-smi -c 0 (DEFAULT), as root.",
        evidence=(measured("compute mode", mode),),
    )


RULE = Rule(
    id="restricted-compute-mode",
    title="Expect refused contexts",
    topic=Topic.DEVICE_STATE,
    priority=Priority.LOW,
    kinds=(Kind.NVML,),
    why="Other programs fail at their first CUDA call as if the device were busy.",
    when="NVML reports an exclusive or prohibited compute mode.",
    citations=guide("18.1.2", "16.1.2"),
    check=check,
    examples=Examples(
        fires={"telemetry": {"compute_mode": "exclusive process"}},
        quiet={"telemetry": {"compute_mode": "default"}},
    ),
)
