"""A driver that is older than the GPU or the code needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import PASSED, Advice, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device


def check(device: Device, driver: Driver, code: Survey | None = None) -> Verdict:
    """Advise when the driver does not know the GPU, or the PTX of the program."""
    from gpuadvise.advisor.compatibility.drivers import why_unsupported
    from gpuadvise.advisor.compatibility.fit import why_ptx_is_too_new
    from gpuadvise.advisor.compatibility.releases import FIRST_CUDA, show_driver

    pair = (device.capability.major, device.capability.minor)
    reasons = [why_unsupported(device.capability, driver)]
    reasons += [why_ptx_is_too_new(entry, driver) for entry in entries_of(code)]
    known = [reason for reason in reasons if reason]
    if not known:
        return PASSED
    first = FIRST_CUDA.get(pair)
    least = show_driver(first) if first and driver.cuda < first else "the release named above"
    return Advice(
        message=f"{device.name} with this driver: {known[0]}.",
        action=(
            f"Install {least} or a later driver, the forward-compatibility package on data-centre "
            "GPUs, or build with an older toolkit."
        ),
        evidence=(
            given("driver", str(driver)),
            of_device(device, "capability", "compute capability", str(device.capability)),
        ),
    )


RULE = Rule(
    id="outdated-driver",
    title="Update the driver",
    topic=Topic.DEPLOYMENT,
    priority=Priority.HIGH,
    kinds=(Kind.NVML, Kind.BINARY),
    why="A driver runs programs of its own CUDA version and older, on GPUs that it knows.",
    when="The driver is older than the GPU or the PTX of the program needs.",
    citations=guide("16", "14.3"),
    check=check,
    examples=Examples(
        fires={"gpu": "b200", "driver": "12.4"},
        quiet={"gpu": "h200", "driver": "12.4"},
        edges=({"gpu": "b200", "driver": "12.7"}, {"gpu": "b200", "driver": "12.8"}),
    ),
)
