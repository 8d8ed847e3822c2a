"""Arrays of a thread that live in local memory, since registers have no index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.local_memory import local_share
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import compiler_said
from gpuadvise.rules.guide.measurement.debug_build import is_debug
from gpuadvise.rules.local_memory import RARE, SMALL_FRAME, declared, local_evidence, weighed
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Compiled
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_ACTION = "Unroll the loops over the array so that every index is a constant, or move it to shared memory."


def check(
    spill_bytes: int | None = None,
    stack_bytes: int | None = None,
    compiled: Compiled | None = None,
    profile: KernelProfile | None = None,
    local_arrays: tuple[str, ...] | None = None,
    compile_flags: tuple[str, ...] | None = None,
) -> Verdict:
    """Advise when local memory holds no spilled registers and is used all the same; not of a debug build."""
    if is_debug(compile_flags, compiled):
        return PASSED  # debug-build says that variables stay in local memory there
    counted = local_share(profile) if profile else None
    if spill_bytes or (profile is not None and profile.spill_requests):
        return PASSED  # register-spills comes first
    if profile is not None and counted is not None:
        return PASSED if counted < RARE else weighed(_profiled(counted), profile, counted)
    if stack_bytes and spill_bytes is not None:
        return _framed(stack_bytes, declared(local_arrays), compiled)
    return undecided("stack_bytes") if stack_bytes is None else PASSED


def _profiled(share: float) -> Advice:
    return Advice(
        message=(
            f"{show_share(share)} of the executed instructions go to local memory: arrays indexed by a variable, "
            "or a stack."
        ),
        action=f"{_ACTION} -Xptxas -v says how many bytes spill.",
        evidence=(local_evidence(share),),
    )


def _framed(stack: int, arrays: str, compiled: Compiled | None) -> Advice:
    count = compiled.local_instructions if compiled else None
    seen = "" if count is None else f" Its own code loads and stores local memory {count:,} times."
    counted = compiler_said("local loads and stores in the code", count or 0)
    return Advice(
        message=(
            f"A stack frame of {plural(stack, 'byte')} per thread without 1 byte of spills: most "
            f"often an array indexed by a variable, which registers cannot hold.{arrays}{seen}"
        ),
        action=f"{_ACTION} Math functions in double precision also use some 40 bytes.",
        evidence=(
            compiler_said("stack frame", stack, "bytes"),
            *(() if count is None else (counted,)),
        ),
        priority=Priority.LOW if stack <= SMALL_FRAME else None,
    )


RULE = Rule(
    id="local-arrays",
    formerly="register-spills",
    title="Index local arrays by constants",
    topic=Topic.MEMORY,
    priority=Priority.HIGH,
    kinds=(Kind.BINARY, Kind.PROFILE),
    family=Family.SPILLS,
    why="Local memory is device memory: an access that misses the cache takes hundreds of cycles.",
    when=(
        "The kernel has a stack frame and spills nothing, or a profile counts requests to local memory, none of them "
        "for spilled registers; low for up to 64 bytes of frame, and where a profile counts few; not for a debug build."
    ),
    citations=(*guide("10.2.4", "9.2.3"), programming_guide("Local Memory")),
    author_only=True,
    check=check,
    either=("stack_bytes", "profile"),
    examples=Examples(
        fires={"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 128}},
        quiet={"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 0}},
        edges=(
            {"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 8}},
            {"compiled": {"spill_stores": 0, "spill_loads": 0, "stack": 0}},
        ),
    ),
)
