"""A program without code that this GPU can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.advisor.prose import and_list
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device


def check(device: Device, code: Survey, driver: Driver | None = None) -> Verdict:
    """Advise when no image of the program runs on the device and none can be compiled for it."""
    from gpuadvise.advisor.compatibility.explain import carried, headline
    from gpuadvise.advisor.compatibility.fit import Outcome
    from gpuadvise.advisor.compatibility.gencode import fix_for
    from gpuadvise.advisor.compatibility.releases import show
    from gpuadvise.advisor.compatibility.verdict import judge

    verdict = judge(code, device.capability, driver)
    if verdict.outcome is not Outcome.FAILS or verdict.blocked:
        return PASSED  # a driver that does not know the GPU is outdated-driver's matter
    fix = fix_for(device.capability, driver)
    up_to = f", with a toolkit up to CUDA {show(fix.last_toolkit)}" if fix.last_toolkit else ""
    name = f"{device.name} (compute capability {device.capability})"
    return Advice(
        message=headline(verdict, "The program", name),
        action=f"Build with {' '.join(fix.gencode)}{up_to}.{_port(code)}",
        evidence=(
            given("device code", carried(entries_of(code))),
            of_device(device, "capability", "compute capability", str(device.capability)),
        ),
    )


def _port(code: Survey) -> str:
    """Return what a build alone does not mend: instructions that only one GPU has."""
    special = sorted(
        {e.capability for e in entries_of(code) if e.capability and e.capability.variant}
    )
    if not special:
        return ""
    listed = and_list([target.target for target in special])
    return f" What was written for {listed} may use instructions that this GPU has not, and then needs a port."


RULE = Rule(
    id="missing-device-code",
    title="Build for this GPU",
    topic=Topic.DEPLOYMENT,
    priority=Priority.HIGH,
    kinds=(Kind.BINARY, Kind.DEVICE),
    why="The first launch fails with cudaErrorNoKernelImageForDevice.",
    when="No machine code fits the GPU, and no PTX can be compiled for it.",
    correctness=True,
    citations=guide("15.3", "14.4"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "code": ["sm_80", "sm_86"]},
        quiet={"gpu": "h200", "code": ["sm_80", "compute_80"]},
    ),
)
