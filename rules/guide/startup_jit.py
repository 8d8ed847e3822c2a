"""Code that the driver must compile when the program starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.compatibility.fit import Outcome
from gpuadvise.advisor.compatibility.gencode import fix_for
from gpuadvise.advisor.compatibility.verdict import judge
from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import PASSED, Advice, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device


def check(
    device: Device,
    code: Survey,
    driver: Driver | None = None,
    environment: Mapping[str, str] | None = None,
) -> Verdict:
    """Advise when only PTX fits the device."""
    verdict = judge(code, device.capability, driver)
    if verdict.outcome is not Outcome.JIT:
        return PASSED
    disabled = (environment or {}).get("CUDA_CACHE_DISABLE") == "1"
    return Advice(
        message=(
            f"Of {plural(len(entries_of(code)), 'kind')} of images none is machine code for {device.name} "
            f"({device.capability}): the driver compiles PTX at "
            + ("every start, as CUDA_CACHE_DISABLE=1 is set." if disabled else "the first start.")
        ),
        action=(
            f"Build with {fix_for(device.capability).gencode[0]}. Otherwise keep the cache: "
            "CUDA_CACHE_DISABLE unset, CUDA_CACHE_MAXSIZE large enough (up to 4 GiB), "
            "CUDA_CACHE_PATH on a disk that lasts."
        ),
        evidence=(given("kinds of images", len(entries_of(code)), "images"),),
    )


RULE = Rule(
    id="startup-jit",
    title="Avoid compiling at program start",
    topic=Topic.DEPLOYMENT,
    priority=Priority.LOW,
    kinds=(Kind.BINARY, Kind.DEVICE),
    why="Compiling a large library from PTX takes seconds to minutes.",
    when="The only code that fits the GPU is PTX.",
    citations=guide("18.4", "16.4"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "code": ["sm_80", "compute_80"]},
        quiet={"gpu": "h200", "code": ["sm_80", "sm_90", "compute_90"]},
    ),
)
