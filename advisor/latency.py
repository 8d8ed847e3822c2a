"""How much must be in flight to hide a latency: warps for arithmetic, bytes for memory.

Programming Guide, "Multiprocessor Level", and Little's law: concurrency = latency x rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.word_size import WARP_SIZE

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.limits import Limits

# Guide, "Global Memory": hundreds of cycles, 400 to 600 in its throughput chapter.
GLOBAL_LATENCY_CYCLES = 500
# A latency is that of an idle memory; the busier it is, the longer a load waits. Kernels on an H200,
# 64 warps per SM, with 4, 8 and 16 bytes per thread under way (a copy by 4-byte words, two arrays by
# 4-byte words, a copy by 16-byte words) reached 54, 69 and 88 % of its bandwidth (docs/memory.md).
# Pairs: bytes in flight, as a multiple of what bandwidth x 500 cycles asks for, and that share.
REACHED = ((0.89, 0.54), (1.78, 0.69), (3.56, 0.88))
# From here on memory is well used: the share that ``bandwidth`` calls good.
WELL_USED = 0.8
# Guide, "Multiprocessor Level": typically 4 cycles on cc 7.x. Later capabilities have the same
# four schedulers and no documented figure: whoever uses this one for them must say so.
VOLTA_LATENCY_CYCLES = 4
# Warp instructions per cycle and SM where that is not one per scheduler: cc 1.x takes four
# cycles per warp, the schedulers of cc 2.x two; cc 2.1 and 3.x issue pairs of independent
# instructions. The second number is the length of such a group.
_ISSUE = {1: (0.25, 1), 2: (1.0, 1), 3: (8.0, 2)}
_ISSUE_FERMI_SMALL = (2.0, 2)  # cc 2.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ArithmeticHiding:
    """What hides the latency of dependent arithmetic on one SM."""

    latency_cycles: float
    issue_width: float  # warp instructions per cycle and SM
    instructions: int  # in flight per SM
    warps: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHiding:
    """What keeps device memory busy: bytes in flight, and the warps that supply them."""

    latency_seconds: float
    bytes_in_flight: float  # whole device
    bytes_per_sm: float
    warps_per_sm: int


def reached_share(per_sm: float, needed: float) -> float:
    """Return the share of the bandwidth that *per_sm* bytes in flight reach, as they do on an H200.

    *needed* are the bytes per SM of ``hide_memory`` at GLOBAL_LATENCY_CYCLES. Between the measured
    points by the logarithm, below them in proportion, above them the last.
    """
    multiple = per_sm / needed
    first, share = REACHED[0]
    if multiple <= first:
        return share * multiple / first
    for (below, low), (above, high) in pairwise(REACHED):
        if multiple <= above:
            return low + (high - low) * log2(multiple / below) / log2(above / below)
    return REACHED[-1][1]


def well_used_bytes(needed: float) -> float:
    """Return the bytes in flight per SM with which an H200's memory would be well used.

    *needed* as for ``reached_share``.
    """
    (below, low), (above, high) = REACHED[-2:]
    return float(needed * below * (above / below) ** ((WELL_USED - low) / (high - low)))


def issue_width(capability: Capability, limits: Limits) -> tuple[float, int]:
    """Return warp instructions per cycle and SM, and how many of one warp issue together."""
    if (capability.major, capability.minor) == (2, 1):
        return _ISSUE_FERMI_SMALL
    return _ISSUE.get(capability.major, (float(limits.warp_schedulers), 1))


def hide_arithmetic(
    capability: Capability,
    limits: Limits,
    *,
    latency_cycles: float | None = None,
    parallel_instructions: float = 1,
) -> ArithmeticHiding | None:
    """Return the warps that hide arithmetic latency; None when the latency is not known.

    *parallel_instructions* is the number of independent instructions in a row of each warp;
    fewer warps do when it is above 1. Raises BadInput for a latency of 0 cycles or less, and for
    fewer than 1 instruction.
    """
    latency = limits.arithmetic_latency_cycles if latency_cycles is None else latency_cycles
    if latency is None:
        return None
    if not latency > 0 or not parallel_instructions >= 1:
        raise BadInput("A latency is above 0 cycles and a warp has 1 or more instructions.")
    width, group = issue_width(capability, limits)
    instructions = ceil(latency * width)
    warps = ceil(instructions / max(parallel_instructions, group))
    return ArithmeticHiding(
        latency_cycles=latency,
        issue_width=width,
        instructions=instructions,
        warps=warps,
        threads=warps * WARP_SIZE,
    )


def hide_memory(
    bandwidth: float, latency_seconds: float, sm_count: int, *, bytes_per_thread: float = 4
) -> MemoryHiding:
    """Return what saturates *bandwidth* bytes/s at *latency_seconds*, by Little's law.

    *bytes_per_thread* is what each thread has outstanding: word size x independent loads. Raises
    BadInput for a figure that is not above 0.
    """
    if not all(value > 0 for value in (bandwidth, latency_seconds, sm_count, bytes_per_thread)):
        raise BadInput("Bandwidth, latency, SMs and bytes per thread are above zero.")
    flying = bandwidth * latency_seconds
    per_sm = flying / sm_count
    return MemoryHiding(
        latency_seconds=latency_seconds,
        bytes_in_flight=flying,
        bytes_per_sm=per_sm,
        warps_per_sm=ceil(per_sm / (bytes_per_thread * WARP_SIZE)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyCase:
    """What hides latency on one device; None where a needed fact is not known."""

    device: Device
    ilp: int
    bytes_per_thread: int
    arithmetic: ArithmeticHiding | None
    memory: MemoryHiding | None
    warps: int | None = None
    assumed: bool = False  # the arithmetic latency is that of cc 7.x
    idle_latency: bool = False  # the memory latency is that of an idle memory, given by nobody

    @property
    def served(self) -> float | None:
        """Share of the warps that hide both latencies which is resident; None if it is not known."""
        needed = [
            *([self.arithmetic.warps] if self.arithmetic else []),
            *([self.memory.warps_per_sm] if self.memory else []),
        ]
        if self.warps is None or not needed:
            return None
        return min(1.0, self.warps / max(needed))

    @property
    def hidden(self) -> bool | None:
        """Whether the resident warps hide arithmetic latency; None if either is not known."""
        if self.warps is None or self.arithmetic is None:
            return None
        return self.warps >= self.arithmetic.warps

    @property
    def resident(self) -> int:
        """The warps per SM that were given, or the most there can be."""
        return self.warps or self.device.limits.max_warps_per_sm

    @property
    def memory_share(self) -> float | None:
        """The share of the bandwidth that those warps reach; None: a fact is not known.

        By Little's law where the latency was given, else as kernels on an H200 did.
        """
        if self.memory is None:
            return None
        flying = float(self.resident * WARP_SIZE * self.bytes_per_thread)
        if self.idle_latency:
            return reached_share(flying, self.memory.bytes_per_sm)
        return min(1.0, flying / self.memory.bytes_per_sm)

    @property
    def memory_hidden(self) -> bool | None:
        """Whether those warps use memory well; None: a fact is not known."""
        share = self.memory_share
        return None if share is None else share >= (WELL_USED if self.idle_latency else 1)

    @property
    def bytes_needed(self) -> float | None:
        """The bytes that each thread of those warps must keep in flight to use memory well."""
        if self.memory is None:
            return None
        per_sm = self.memory.bytes_per_sm
        wanted = well_used_bytes(per_sm) if self.idle_latency else per_sm
        return wanted / (WARP_SIZE * self.resident)
