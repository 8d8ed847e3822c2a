"""One profiled launch, and the code that ran, as the facts that rules judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.code import Compiled, LaunchBounds
from gpuadvise.advisor.facts.derive import completed

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Kernel
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.report_launches import Handover, OtherLaunch, PassChain


def profiled_facts(
    profile: KernelProfile,
    code: Kernel | None = None,
    device: Device | None = None,
    launches: int = 1,
    given: Facts | None = None,
    *,
    handover: Handover | None = None,
    pass_chain: PassChain | None = None,
    faster_launches: tuple[OtherLaunch, ...] | None = None,
) -> Facts:
    """Return what *profile* and *code* say of *launches* alike, beside what was *given*.

    *handover*, *pass_chain* and *faster_launches* are what other launches of the report say of this one.
    """
    base = given or Facts()
    facts = replace(
        base,
        kernel=base.kernel or profile.kernel,
        device=device,
        sm_count=profile.sm_count,
        launch=profile.launch or base.launch,
        profile=profile,
        launches=launches,
        handover=handover or base.handover,
        pass_chain=pass_chain or base.pass_chain,
        faster_launches=base.faster_launches if faster_launches is None else faster_launches,
        work=base.work or profile.work,
    )
    return completed(facts if code is None else of_code(facts, code))


def of_code(facts: Facts, code: Kernel) -> Facts:
    """Return *facts* with what the compiled *code* of the kernel says: spills, bounds, counts."""
    bounds = None
    if code.max_threads is not None:
        bounds = LaunchBounds(threads=code.max_threads, blocks=code.min_blocks)
    return replace(
        facts,
        launch_bounds=facts.launch_bounds or bounds,
        compiled=facts.compiled or compiled_of(code),
    )


def compiled_of(code: Kernel) -> Compiled:
    """Return what *code* keeps in local memory, and its double-precision use."""
    from gpuadvise.advisor.binaries.model import Exactness

    return Compiled(
        spill_store_bytes=code.spill_stores,
        spill_load_bytes=code.spill_loads,
        stack_bytes=code.stack,
        instructions=code.instructions,
        fp64_instructions=code.fp64_instructions,
        spills_exact=code.spills_are is Exactness.EXACT,
        debug=code.debug,
        local_instructions=code.mix and code.mix.local_loads + code.mix.local_stores,
        file=f"{code.place.path}!{code.place.member}" if code.place.member else code.place.path,
        defined_at=code.defined_at,
    )
