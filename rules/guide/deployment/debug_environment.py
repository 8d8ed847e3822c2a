"""Variables for debugging that stay set, and slow every program that starts here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Verdict
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Mapping

# What each does to every program (CUDA C++ Programming Guide, "CUDA Environment Variables").
SLOW = {
    ("CUDA_LAUNCH_BLOCKING", "1"): "makes each launch wait until its kernel ends",
    ("CUDA_FORCE_PTX_JIT", "1"): "compiles all kernels anew from PTX",
    ("CUDA_CACHE_DISABLE", "1"): "throws compiled PTX away after each run",
    ("CUDA_MODULE_LOADING", "EAGER"): "loads every kernel of every library at start",
    ("NVIDIA_TF32_OVERRIDE", "0"): "keeps libraries from using TF32 tensor cores",
}


def check(environment: Mapping[str, str]) -> Verdict:
    """Advise when a variable is set that slows programs and is meant for debugging."""
    slow = {name: does for (name, value), does in SLOW.items() if environment.get(name) == value}
    if not slow:
        return PASSED
    said = and_list([f"{name} {does}" for name, does in slow.items()])
    return Advice(
        message=f"{plural(len(slow), 'variable')} for debugging: {said}.",
        action=f"Unset {and_list(list(slow))} for everything but debugging.",
        evidence=tuple(
            Evidence(label=name, value=environment[name], unit="", source="environment")
            for name in slow
        ),
    )


RULE = Rule(
    id="debug-environment",
    title="Unset variables that are meant for debugging",
    topic=Topic.DEPLOYMENT,
    priority=Priority.MEDIUM,
    kinds=(Kind.DEVICE,),
    why="Such a variable changes every program that starts with it, and no program says so.",
    when="A variable is set that blocks launches, forces or forgets compilation, or bars TF32.",
    citations=(programming_guide("CUDA Environment Variables"),),
    check=check,
    examples=Examples(
        fires={"environment": {"CUDA_LAUNCH_BLOCKING": "1"}},
        quiet={"environment": {"CUDA_LAUNCH_BLOCKING": "0"}},
    ),
)
