"""An answer under its published names: the fields of ``gpuadvise occupancy --format json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.grid import Waves
    from gpuadvise.advisor.occupancy.next_steps import NextStep


def record(result: Occupancy) -> dict[str, Any]:
    """Return the fields of *result* as JSON values; sizes in bytes, occupancy 0 to 1."""
    return {
        "blocks_per_sm": result.blocks_per_sm,
        "warps_per_sm": result.warps_per_sm,
        "threads_per_sm": result.threads_per_sm,
        "occupancy": result.occupancy,
        "limiters": [limiter.value for limiter in result.limiters],
        "limits": {name.value: most for name, most in result.limits.items()},
        "launchable": result.launchable,
        "reason": result.reason,
        "carveout_bytes": result.carveout_bytes,
        "registers_per_block": result.registers_per_block,
        "shared_memory_per_block": result.shared_memory_per_block,
        "needs_optin": result.needs_optin,
    }


def step_record(step: NextStep) -> dict[str, Any]:
    """Return *step* as JSON values; ``unit`` says what ``from`` and ``to`` count."""
    return {
        "resource": step.resource.value,
        "unit": step.knob.value,
        "from": step.start,
        "to": step.to,
        "blocks_per_sm": step.after.blocks_per_sm,
        "occupancy": step.after.occupancy,
        "how": step.how,
        "confidence": step.confidence.value,
        "together_with": [resource.value for resource in step.together_with],
    }


def waves_record(waves: Waves) -> dict[str, Any]:
    """Return *waves* as JSON values."""
    return {
        "wave_size": waves.wave_size,
        "waves": waves.waves,
        "tail_efficiency": waves.tail_efficiency,
        "fits_cooperative": waves.cooperative,
        "waves_are_bounds": waves.bound,
        "idle_sms": waves.idle_sms,
    }
