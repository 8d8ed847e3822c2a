"""A launch that only passes over what the launch before it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name
from gpuadvise.advisor.prose import plural, quoted
from gpuadvise.advisor.quantity import show_bytes, show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.report_launches import Handover

AGAIN = number(
    2,
    "the pair stands",
    "times in the report",
    "our judgement: what comes again is a loop. Of 17 pairs that stand once in six recorded sets six were of one computation",
    LaunchSet.SIXTH,
)
PAIR_WORTHWHILE = number(
    1.1,
    "won at least",
    "time of both / time of one kernel for both",
    "our judgement: less is not worth an hour",
    LaunchSet.SIXTH,
)


def check(handover: Handover | None = None, profile: KernelProfile | None = None) -> Verdict:
    """Advise to let the launch before do what this one does with its results."""
    if handover is None:
        counted = profile is not None and None not in (
            profile.dram_read,
            profile.global_stores.sectors,
        )
        return PASSED if counted else undecided("handover")
    if handover.bound < PAIR_WORTHWHILE:
        return PASSED
    before, size = quoted(base_name(handover.kernel)), show_bytes(round(handover.read_bytes))
    again = handover.times >= AGAIN
    often = f" ({plural(handover.times, 'time')} in the report)" if again else ""
    return Advice(
        message=(
            f"This launch reads {size}, as many as {before} wrote just before it"
            f"{often}, asks for each byte once and "
            f"computes little: a pass of its own. {show_seconds(handover.seconds)} beside "
            f"{show_seconds(handover.before_seconds)}."
        ),
        action=(
            f"{'' if again else 'If it is that output: '}{_FUSE} One kernel for both neither writes nor reads "
            f"{show_bytes(round(handover.saved_bytes))} of {show_bytes(round(handover.bytes))}."
        ),
        evidence=(
            profiled("bytes read that the launch before wrote", handover.read_bytes, "bytes"),
            profiled("time of this launch", handover.seconds, "s"),
            profiled("time of the launch before", handover.before_seconds, "s"),
            derived("bytes saved", handover.saved_bytes, "bytes"),
        ),
        gain=Gain(
            kind=GainKind.PAIR_TIME,
            upper_bound=handover.bound,
            how="the larger of time of both / time of the launch before, and bytes of both / bytes left",
        ),
        priority=None if again else Priority.LOW,
    )


_FUSE = (
    "Do it while the values are in registers: as the epilogue of a product (bias, scale, activation: cublasLt, CUTLASS), "
    "as one kernel for a chain of operations on elements (torch.compile, jax.jit, cupy.fuse), or let the launch before "
    "store that type or layout."
)
RULE = Rule(
    id="unfused-pass",
    title="Fuse the pass into the launch before",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="A pass over memory takes as long as its bytes, however little it computes.",
    when=(
        "In a report with all metrics a launch reads as many bytes of device memory (within 3 %, 8 MB or more) as the launch just "
        "before it stored, asks for each once, writes 0.2 to 2.1 times as many, with 60 instructions or fewer per 4 bytes and device memory 35 % busy or more; not where both are "
        "versions of one kernel by their names, or steps of a library's call. Low where the pair stands only once in the report."
    ),
    citations=guide("10.2.1", "9.2.1"),
    check=check,
    either=("handover", "profile"),
    examples=Examples(
        fires={
            "handover": {
                "kernel": "gemm",
                "bytes": "256MB",
                "writes": "256MB",
                "time": "120us",
                "before_reads": "64MB",
                "before_time": "400us",
                "times": 12,
            }
        },
        quiet={
            "handover": {
                "kernel": "gemm",
                "bytes": "16MB",
                "writes": "16MB",
                "time": "10us",
                "before_reads": "1GB",
                "before_time": "400us",
                "times": 12,
            }
        },
        edges=(
            {
                "handover": {
                    "kernel": "gemm",
                    "bytes": "16MB",
                    "writes": "16MB",
                    "time": "11us",
                    "before_reads": "1GB",
                    "before_time": "100us",
                    "times": 2,
                }
            },
            {
                "handover": {
                    "kernel": "gemm",
                    "bytes": "16MB",
                    "writes": "16MB",
                    "time": "9us",
                    "before_reads": "1GB",
                    "before_time": "100us",
                    "times": 2,
                }
            },
        ),
    ),
)
