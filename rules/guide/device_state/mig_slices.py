"""A GPU that is divided into slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device


def check(mig: bool, device: Device) -> Verdict:
    """Advise when the device is a slice of a GPU."""
    if not mig:
        return PASSED
    sms = f" and has {device.sm_count} SMs of its own" if device.sm_count else ""
    return Advice(
        message=f"{device.name} is 1 slice of a GPU{sms}: all answers here are about the slice.",
        action=(
            "Size grids for the slice, not for the whole GPU, and compare bandwidth with the "
            "slice's share; peer access and graphics are not available."
        ),
        evidence=(measured("MIG mode", "on"),),
    )


RULE = Rule(
    id="mig-slices",
    title="Size the work for the slice",
    topic=Topic.DEVICE_STATE,
    priority=Priority.LOW,
    kinds=(Kind.NVML,),
    why="A slice has its own share of SMs, memory, L2 and copy engines.",
    when="NVML reports MIG mode as on.",
    citations=guide("18.1.2"),
    check=check,
    examples=Examples(fires={"gpu": "h200", "mig": True}, quiet={"gpu": "h200", "mig": False}),
)
