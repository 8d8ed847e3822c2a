"""GPUs of several compute capabilities in one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device


def check(devices: tuple[Device, ...]) -> Verdict:
    """Advise when the GPUs differ in compute capability."""
    kinds = sorted({device.capability for device in devices})
    if len(kinds) < 2:
        return PASSED
    listed = and_list([f"{device.name} ({device.capability})" for device in devices])
    targets = " ".join(f"sm_{kind.major}{kind.minor}" for kind in kinds)
    return Advice(
        message=f"This machine has {len(kinds)} generations of GPUs: {listed}.",
        action=(
            f"Build for all of them ({targets}), choose the device by its properties instead of "
            "index 0 (cudaChooseDevice or cudaSetDevice), and query limits per device."
        ),
        evidence=(derived("compute capabilities", and_list([str(kind) for kind in kinds])),),
    )


RULE = Rule(
    id="mixed-generations",
    title="Expect different GPUs in one process",
    topic=Topic.DEPLOYMENT,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE,),
    why="Limits, features and code images differ between generations.",
    when="The visible GPUs have more than one compute capability.",
    citations=guide("17.1", "15.1"),
    check=check,
    examples=Examples(fires={"devices": ["h200", "rtx4090"]}, quiet={"devices": ["h200", "h200"]}),
)
