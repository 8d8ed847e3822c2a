"""A GPU that the driver itself wants recovered before it is used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.guide.device_state.ecc_errors import shows_memory_errors
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, recovery_flags

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry

_RESET = "reset"
_ACTIONS = {
    _RESET: "End every program on the GPU and reset it: nvidia-smi --gpu-reset.",
    "reboot": "Restart the machine: the fault may have left the system in a state of its own.",
    "drain p2p": "End the programs that use this GPU together with others; the rest may go on.",
    "drain and reset": (
        "Start no new program on the GPU, let those run out that work, then reset it: nvidia-smi --gpu-reset."
    ),
}


def check(telemetry: Telemetry) -> Verdict:
    """Advise what the driver asks for, unless errors of the memory ask for the same."""
    from gpuadvise.advisor.telemetry import NO_RECOVERY

    action = telemetry.recovery_action
    if action is None:
        return unread(telemetry, "recovery_action")
    if action == NO_RECOVERY:
        return PASSED
    if action == _RESET and shows_memory_errors(telemetry):
        return PASSED
    return Advice(
        message=f'The driver asks for 1 step before this GPU is used again: "{action}".',
        action=_ACTIONS.get(
            action,
            f'Do what NVIDIA describes as recovery action "{action}"; else restart the machine.',
        ),
        evidence=(measured("recovery action", action),),
    )


RULE = Rule(
    id="pending-recovery",
    title="Recover the GPU",
    topic=Topic.DEVICE_STATE,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    broken=True,
    why="Until then programs fail on the GPU, or their results cannot be trusted.",
    when="NVML names a recovery action other than none (driver 565 or later), and ecc-errors does not ask for the "
    "same reset.",
    citations=(*recovery_flags(), *guide("18.1.1", "16.1.1")),
    check=check,
    examples=Examples(
        fires={"telemetry": {"recovery_action": "reset"}},
        quiet={"telemetry": {"recovery_action": "none"}},
    ),
)
