"""The answer of ``gpuadvise latency``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated

from gpuadvise.api.answers.fields import SECONDS, AnswerDeclaration, Count, Record, record


@record
class LatencyResult(Record):
    """What ``latency`` answers."""

    warps_needed: Count | None
    """Warps per SM that hide the latency."""
    threads_needed: Count | None
    """Threads per SM that hide the latency."""
    instructions_needed: Count | None
    """Independent instructions that hide the latency."""
    latency_cycles: float | None
    """Latency, in cycles."""
    latency_assumed: bool
    """Whether the latency is assumed, not given."""
    issue_width: float | None
    """Instructions an SM issues in a cycle."""
    occupancy_needed: float | None
    """Occupancy that hides the latency."""
    max_warps: Count
    """Warps that fit on an SM."""
    hidden: bool | None
    """Whether the latency of arithmetic is hidden with these warps."""
    memory_latency: Annotated[float, SECONDS] | None
    """Latency of global memory, seconds."""
    bytes_in_flight: float | None
    """Bytes that must be under way to fill the memory."""
    bytes_per_sm: float | None
    """Bytes that each SM must have under way."""
    memory_warps_needed: Count | None
    """Warps per SM that hide the latency of memory."""
    bytes_per_thread_needed: float | None
    """Bytes that each thread must have under way.

    With which memory is well used; by Little's law alone where --memory-latency was given.
    """
    memory_share: float | None
    """Share of the bandwidth that the warps reach with their bytes in flight: as kernels on an
    H200 did, or by Little's law where --memory-latency was given.
    """
    memory_hidden: bool | None
    """Whether the warps hide the latency of memory: 80 % of its bandwidth or more."""


@record
class LatencyInput(Record):
    """What ``latency`` was asked."""

    ilp: Count
    bytes_per_thread: Count
    warps: Count | None


DECLARATION = AnswerDeclaration(
    command="latency",
    title="JSON answer of gpuadvise latency",
    description="Per SM unless the name says otherwise; seconds, bytes. null where a fact of the device is not known. latency_assumed: the capability has no documented arithmetic latency and that of 7.x stands in.",
    input=LatencyInput,
    results=(LatencyResult,),
)
