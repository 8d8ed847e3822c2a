"""A launch that only passes over what the launch before it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.framework_operators import operation_name
from gpuadvise.advisor.facts.library_kernels import base_name, is_product
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.quantity import show_bytes, show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.report_launches import Handover, PassChain

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


LOUD_CHAIN = number(
    4,
    "launches in a row that pass over arrays of one size, in other shapes",
    "for a loud finding",
    "of 7 such chains of 3 in the labelled sets 2 were of one computation; the one of 4 was, as were 4 of one shape",
    LaunchSet.NINTH,
)


def check(
    handover: Handover | None = None,
    pass_chain: PassChain | None = None,
    profile: KernelProfile | None = None,
) -> Verdict:
    """Advise to let the launch before do what this one does with its results, or one kernel what a chain of passes does."""
    if pass_chain is not None and pass_chain.bound >= PAIR_WORTHWHILE:
        return _joined(pass_chain)
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
        priority=None if again or is_product(handover.kernel) else Priority.LOW,
    )


def _joined(chain: PassChain) -> Advice:
    names = and_list(
        list(dict.fromkeys(quoted(operation_name(kernel)) for kernel in chain.kernels))
    )
    steps = len(set(chain.kernels)) == 1
    arrays = (
        f"arrays of {show_bytes(round(chain.array_bytes))}"
        if chain.array_bytes
        else "memory with one shape of launch"
    )
    return Advice(
        message=(
            f"{plural(len(chain.kernels), 'launch', 'launches')} in a row ({names}) each pass once over {arrays} "
            f"and compute little: together {show_seconds(chain.seconds)}, the longest {show_seconds(chain.longest_seconds)}."
        ),
        action=_STEPS if steps else _JOIN,
        evidence=(
            derived("launches in a row", len(chain.kernels), "launches"),
            profiled("bytes that they move", chain.bytes, "bytes"),
            derived(
                "bytes that one kernel moves at least",
                chain.ends_bytes or chain.most_bytes,
                "bytes",
            ),
            profiled("time of all", chain.seconds, "s"),
            profiled("time of the longest", chain.longest_seconds, "s"),
        ),
        gain=None if steps or chain.longest_seconds < STARTING else _gain(chain),
        priority=None if chain.one_shape or len(chain.kernels) >= LOUD_CHAIN else Priority.LOW,
    )


def _gain(chain: PassChain) -> Gain:
    return Gain(
        kind=GainKind.CHAIN_TIME,
        upper_bound=chain.bound,
        how="the larger of time of all / time for what the first reads and the last writes at the best rate, and bytes of all / those",
    )


_STEPS = (
    "If each goes on with what the one before stored, do several steps in one launch, in registers or shared memory as far as "
    "a block holds what they exchange; a library has scans and sorts (CUB) and transforms (cuFFT) in few passes."
)
_JOIN = (
    "If they work on the same arrays, do all of it in one kernel while the values are in registers: torch.compile, jax.jit "
    "and cupy.fuse write it, and a library may have it (fused optimizers, softmax). It leaves out what they write for each other."
)
_FUSE = (
    "Do it while the values are in registers: as the epilogue of a product (bias, scale, activation: cublasLt, CUTLASS), "
    "as one kernel for a chain of operations on elements (torch.compile, jax.jit, cupy.fuse), or let the launch before "
    "store that type or layout."
)


def _pair(**other: object) -> dict[str, object]:
    pair = {
        "bytes": "16MB",
        "writes": "16MB",
        "time": "10us",
        "before_reads": "1GB",
        "before_time": "100us",
    }
    return {"handover": {"kernel": "gemm", **pair, "times": 2, **other}}


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
        "versions of one kernel by their names, or steps of a library's call. Low where the pair stands only once in the report and the first is no product. Or launches in a row: operators of PyTorch or "
        "CuPy on as many elements each, of types that follow each other (a GELU or softmax at the end may be what replaces the others); a sum of each row and the pass that "
        "loads a value per row beside its array; a kernel that works in place on what the one before stored; one kernel, a step or stage by its name, again and again; or three or more that load "
        "arrays of one size (8 MB or more) once each, store one or sum them up, and compute as little, no kernel twice; low where they are three "
        "that are not of one shape (grid and block; of PyTorch in each template). On a page that counts no requests: of one shape, or a sum and a pass by their names (`row_mean`, `row_minus`), with issue slots 50 % busy or less."
    ),
    citations=guide("10.2.1", "9.2.1"),
    check=check,
    either=("handover", "pass_chain", "profile"),
    examples=Examples(
        fires=_pair(
            bytes="256MB",
            writes="256MB",
            time="120us",
            before_reads="64MB",
            before_time="400us",
            times=12,
        ),
        quiet=_pair(before_time="400us", times=12),
        edges=(_pair(time="11us"), _pair(time="9us")),
    ),
)
