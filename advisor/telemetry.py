"""What a GPU does at one moment: clocks, power, heat, load, link, errors, processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ProcessKind(StrEnum):
    """What a process uses the GPU for."""

    COMPUTE = "compute"
    GRAPHICS = "graphics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process on the GPU; *name* is text of whoever started it."""

    pid: int
    kind: ProcessKind
    name: str | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """One reading by NVML in base units; ``None`` means not offered, ``reasons`` says why.

    Utilisation is the share (0 to 1) of the last sampling period in which anything ran;
    it says nothing about how many SMs were busy.
    """

    sm_clock_hz: int | None = None
    sm_clock_max_hz: int | None = None
    memory_clock_hz: int | None = None
    memory_clock_max_hz: int | None = None
    performance_state: int | None = None  # 0 is the fastest, 15 the slowest
    clock_event_reasons: tuple[str, ...] | None = None  # why clocks are not higher, in words
    power_watts: float | None = None
    power_limit_watts: float | None = None  # the one in force
    power_limit_default_watts: float | None = None
    power_limit_min_watts: float | None = None  # what an administrator may set
    power_limit_max_watts: float | None = None
    temperature_celsius: int | None = None
    memory_temperature_celsius: int | None = None
    temperature_slowdown_celsius: int | None = None
    temperature_shutdown_celsius: int | None = None
    gpu_utilisation: float | None = None
    memory_utilisation: float | None = None  # share of time memory was read or written
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None  # by programs; driver's own part is the next field
    memory_reserved_bytes: int | None = None
    memory_free_bytes: int | None = None
    pcie_generation: int | None = None  # falls to 1 when idle, to save power
    pcie_generation_max: int | None = None
    pcie_lanes: int | None = None
    pcie_lanes_max: int | None = None
    ecc_enabled: bool | None = None
    ecc_enabled_after_reboot: bool | None = None
    ecc_corrected: int | None = None  # since the driver was loaded
    ecc_uncorrected: int | None = None
    ecc_corrected_lifetime: int | None = None
    ecc_uncorrected_lifetime: int | None = None
    row_remap_pending: bool | None = None
    row_remap_failed: bool | None = None
    rows_remapped_corrected: int | None = None  # because of corrected errors
    rows_remapped_uncorrected: int | None = None
    pages_retired_single_bit: int | None = None  # before Ampere, instead of rows
    pages_retired_double_bit: int | None = None
    page_retirement_pending: bool | None = None
    clock_limit_seconds: Mapping[str, float] = field(default_factory=dict)  # what held clocks back
    xids: tuple[int, ...] | None = None  # codes in the kernel's log, oldest first
    persistence_mode: bool | None = None
    compute_mode: str | None = None
    processes: tuple[Process, ...] | None = None
    power_limit_requested_watts: float | None = None  # as an administrator set it
    recovery_action: str | None = None  # what the driver wants done, in nvidia-smi's words
    reasons: Mapping[str, str] = field(default_factory=dict)


IDLE_REASON = "the GPU is idle"
NO_RECOVERY = "none"
POWER_REASON = "the power limit is reached"
# Why a clock is below its most, by nvidia-smi's names.
CLOCK_REASONS = {
    "gpu_idle": IDLE_REASON,
    "applications_clocks_setting": "clocks were set by an administrator",
    "sw_power_cap": POWER_REASON,
    "hw_slowdown": "hardware slowdown: too hot, or the power supply asked for it",
    "sync_boost": "another GPU of its synchronised-boost group is slower",
    "sw_thermal_slowdown": "software thermal slowdown: the GPU or its memory is too hot",
    "hw_thermal_slowdown": "hardware thermal slowdown: the GPU is far too hot",
    "hw_power_brake_slowdown": "the power supply asked for less (power brake)",
    "display_clocks_setting": "a display setting limits the clock",
}


def link_is_idle(telemetry: Telemetry) -> bool:
    """Return whether the PCIe link runs below its maximum only because nothing uses the GPU.

    An idle GPU lets its link fall back to generation 1 to save power; that is no fault.
    """
    slower = (telemetry.pcie_generation or 0) < (telemetry.pcie_generation_max or 0)
    idle = IDLE_REASON in (telemetry.clock_event_reasons or ())
    return slower and (idle or telemetry.gpu_utilisation == 0)
