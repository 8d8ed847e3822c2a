"""A driver that is older than the GPU or the code needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.advisor.prose import capitalized
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device


def check(device: Device, driver: Driver, code: Survey | None = None) -> Verdict:
    """Advise when the driver does not know the GPU, or the PTX of the program."""
    from gpuadvise.advisor.compatibility.drivers import why_unsupported
    from gpuadvise.advisor.compatibility.fit import why_ptx_is_too_new
    from gpuadvise.advisor.compatibility.releases import FIRST_CUDA, last_driver, show, show_driver

    pair = (device.capability.major, device.capability.minor)
    of_code = [why_ptx_is_too_new(entry, driver) for entry in entries_of(code)]
    reason = why_unsupported(device.capability, driver) or next(filter(None, of_code), None)
    if reason is None:
        return PASSED
    first, last = FIRST_CUDA.get(pair), last_driver(pair)
    if first and driver.cuda < first:
        action = (
            f"Install {show_driver(first)} or a later driver: neither code from an older toolkit nor the "
            "forward-compatibility package runs on a GPU that the driver does not know."
        )
    elif last and driver.cuda > last:
        action = f"Install a driver of CUDA {show(last)} or earlier, or use a later GPU."
    else:
        action = (
            "Install the release named above or a later driver, the forward-compatibility package on "
            "data-centre GPUs, or build with an older toolkit."
        )
    return Advice(
        message=f"{capitalized(device.name)} with this driver: {reason}.",
        action=action,
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
    correctness=True,
    citations=guide("16", "14.3"),
    check=check,
    examples=Examples(
        fires={"gpu": "b200", "driver": "12.4"},
        quiet={"gpu": "h200", "driver": "12.4"},
        edges=({"gpu": "b200", "driver": "12.7"}, {"gpu": "b200", "driver": "12.8"}),
    ),
)
