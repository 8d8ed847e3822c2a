"""Code that the driver must compile when the program starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import entries_of
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given, traced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun

SLOW_LOADS = number(
    10e-3,
    "slow loading",
    "s",
    "our judgement: ten times what loading machine code takes",
    LaunchSet.RECORDED,
)


def check(
    device: Device,
    code: Survey | None = None,
    driver: Driver | None = None,
    environment: Mapping[str, str] | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise when only PTX fits the device, or a recorded run waits for code to load."""
    from gpuadvise.advisor.compatibility.fit import Outcome
    from gpuadvise.advisor.compatibility.gencode import fix_for
    from gpuadvise.advisor.compatibility.verdict import judge

    if code is None:
        return PASSED if timeline is None else _loading(device, timeline)
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


def _loading(device: Device, timeline: TracedRun) -> Verdict:
    """Advise when loading code takes longer than machine code does; all that is known is time."""
    from gpuadvise.advisor.compatibility.gencode import fix_for

    idle = timeline.load_idle_seconds
    whole = timeline.span_seconds + timeline.start_up_seconds
    if idle < SLOW_LOADS or idle < NOTICEABLE * whole:
        return PASSED
    return Advice(
        message=(
            f"The GPU is idle for {show_seconds(idle)}, {show_share(idle / whole)} of the "
            "span, while device code is loaded: machine code takes a millisecond or so, the "
            "compilation of PTX much longer."
        ),
        action=(
            f"Build with {fix_for(device.capability).gencode[0]}; `gpuadvise compat FILE` says "
            "whether the file has machine code for this GPU. If it has, call each kernel once "
            "before the part that counts, or set CUDA_MODULE_LOADING=EAGER."
        ),
        evidence=(traced("idle while code was loaded", idle, "s"), traced("span", whole, "s")),
        gain=span_gain(
            replace(timeline, span_seconds=whole), idle, "idle time while code was loaded"
        ),
    )


RULE = Rule(
    id="startup-jit",
    title="Avoid compiling at program start",
    topic=Topic.DEPLOYMENT,
    priority=Priority.LOW,
    kinds=(Kind.BINARY, Kind.DEVICE),
    why="Compiling a large library from PTX takes seconds to minutes.",
    when=(
        "The only code that fits the GPU is PTX; or a recorded run is idle for 10 ms and for a "
        "twentieth of its span while code is loaded."
    ),
    either=("code", "timeline"),
    citations=guide("18.4", "16.4"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "code": ["sm_80", "compute_80"]},
        quiet={"gpu": "h200", "code": ["sm_80", "sm_90", "compute_90"]},
        edges=(
            {"gpu": "h200", "timeline": {"span": "100ms", "load_idle": "10.1ms"}},
            {"gpu": "h200", "timeline": {"span": "100ms", "load_idle": "9.9ms"}},
        ),
    ),
)
