"""Shared memory that needs an attribute before the kernel gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import is_library_product, library_of
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.launch import CachePreference
from gpuadvise.advisor.occupancy.next_steps import Knob, next_steps
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.occupancy_words import TILE_REGISTERS, also_needed, warps_gain
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.next_steps import NextStep


def check(
    occupancy: Occupancy,
    profile: KernelProfile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
    run_share: float | None = None,
    launches: int | None = None,
    kernel: str | None = None,
) -> Verdict:
    """Advise the attribute call for dynamic memory beyond the default, or for a larger carveout."""
    needed = occupancy.needs_optin
    if needed is not None:  # what ran was launched with the call
        timed = profile or traffic or (work and work.seconds) or launches
        ran = bool(timed) or run_share is not None
        return PASSED if ran or _of_a_library(kernel) else _optin(occupancy, needed)
    launch = occupancy.launch
    preferred = launch.carveout is not None or launch.cache is not CachePreference.NONE
    if not preferred or Resource.SHARED_MEMORY not in occupancy.limiters:
        return PASSED  # without a preference the driver takes the capacity that fits best
    step = next((s for s in next_steps(occupancy) if s.knob is Knob.CARVEOUT), None)
    return _carveout(occupancy, step) if step else PASSED


def _of_a_library(kernel: str | None) -> bool:
    """Return whether a library launches the kernel, which then sets the attribute itself."""
    return kernel is not None and (library_of(kernel) is not None or is_library_product(kernel))


def _optin(occupancy: Occupancy, needed: int) -> Advice:
    default = occupancy.hardware.shared_memory_per_block
    used = occupancy.launch.static_shared + occupancy.launch.dynamic_shared
    return Advice(
        message=(
            f"A block uses {used:,} bytes of shared memory, more than the {default:,} that a "
            "launch gets by default."
        ),
        action=(
            "Before the launch call cudaFuncSetAttribute(kernel, "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize, {needed}); without it the launch "
            "fails. If the program does so, say max_dynamic_smem."
        ),
        evidence=(
            given("shared memory per block", used, "bytes"),
            derived("default limit", default, "bytes"),
        ),
        # Whoever tiles a product over so many registers has launched it before.
        priority=Priority.LOW if (occupancy.launch.registers or 0) >= TILE_REGISTERS else None,
        broken=True,
    )


def _carveout(occupancy: Occupancy, step: NextStep) -> Advice:
    return Advice(
        message=(
            f"A carveout of {show_bytes(step.start)} per SM lets it hold "
            f"{plural(occupancy.blocks_per_sm, 'block')}; {show_bytes(step.to)} would hold "
            f"{step.after.blocks_per_sm} ({show_share(step.after.occupancy)} occupancy)."
        ),
        action=f"{step.how.rstrip('.')}{also_needed(step)}.",
        evidence=(
            derived("carveout", step.start, "bytes"),
            derived("carveout for one more block", step.to, "bytes"),
        ),
        gain=warps_gain(occupancy, step),
    )


RULE = Rule(
    id="shared-memory-carveout",
    title="Set the shared-memory attributes of the kernel",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    family=Family.RESIDENCY,
    why="Beyond the default, a kernel gets shared memory only after it was asked for.",
    when=(
        "A block of a launch that is not known to have run, nor is a library's, uses more than 48 KiB without "
        "the opt-in attribute, low from 128 registers per thread on; or the carveout limits the blocks."
    ),
    thresholds=(
        Threshold(
            name="default limit",
            value=49_152,
            unit="bytes",
            source="programming guide, Shared Memory; the device's own value is used",
        ),
    ),
    citations=(programming_guide("Shared Memory"), *guide("11.4")),
    folds_into="low-occupancy",
    launch_may_work=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 256, "smem": "8KiB", "carveout": 14},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "smem": "8KiB"},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 512, "dynamic_smem": 49_153},
            {"gpu": "h200", "regs": 32, "block": 512, "dynamic_smem": 49_152},
        ),
    ),
)
