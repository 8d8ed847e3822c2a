"""A driver that unloads the GPU's state whenever nobody uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry


def check(telemetry: Telemetry) -> Verdict:
    """Advise when persistence mode is off."""
    if telemetry.persistence_mode is None:
        return unread(telemetry, "persistence_mode")
    if telemetry.persistence_mode:
        return PASSED
    return Advice(
        message="Persistence mode is off: the first CUDA call of a process waits 1 second or more.",
        action="Enable the persistence daemon (systemctl enable --now nvidia-persistenced), or nvidia-smi -pm 1.",
        evidence=(measured("persistence mode", "off"),),
    )


RULE = Rule(
    id="persistence-mode-off",
    title="Keep the driver loaded",
    topic=Topic.DEVICE_STATE,
    priority=Priority.LOW,
    kinds=(Kind.NVML,),
    why="Without it the driver initialises the GPU anew for each program that finds it unused.",
    when="NVML reports persistence mode as off (Linux).",
    citations=guide("18.1.2", "16.1.2"),
    check=check,
    examples=Examples(
        fires={"telemetry": {"persistence_mode": False}},
        quiet={"telemetry": {"persistence_mode": True}},
    ),
)
