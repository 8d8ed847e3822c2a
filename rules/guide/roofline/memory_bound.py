"""A kernel that does too little arithmetic per byte to reach the compute peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import NEARLY_BUSY
from gpuadvise.advisor.facts.pass_savings import pass_seconds, saved_by_fused_passes
from gpuadvise.advisor.quantity import show_flops, show_number, show_seconds
from gpuadvise.advisor.roofline import FAR_FROM_ROOF, Bound
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import ROOFLINE, guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.roofline import Roofline

QUARTER = number(4.0, "bytes of FP32 per byte of FP8", "", "four bytes become one")

# Of a recorded run: from here on passes over memory are much of what it does.
MOST = number(
    0.3,
    "elementwise kernels",
    "share of the span",
    "our judgement: fusing most of them wins a fifth of the run",
    LaunchSet.RECORDED,
)


def check(
    roofline: Roofline | None = None,
    work: Work | None = None,
    profile: KernelProfile | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise when arithmetic intensity is below the ridge and the roof is not reached yet."""
    if timeline is not None:
        return _recorded(timeline)
    if roofline is None or work is None:
        return PASSED
    share = roofline.share
    if roofline.bound is not Bound.MEMORY or profile is not None:
        return PASSED  # a profile shows the limit itself
    if share is not None and not FAR_FROM_ROOF <= share < NEARLY_BUSY:
        return PASSED  # at its roof; or limited by something else: far-from-roof
    return Advice(
        message=(
            f"{show_number(roofline.intensity)} FLOP per byte is below the ridge point of "
            f"{show_number(roofline.ridge)}: memory allows {show_flops(roofline.attainable)} of the "
            f"{show_flops(roofline.peak)} peak ({work.dtype})."
        ),
        action=(
            f"Move fewer bytes: fuse this kernel with its neighbours so that intermediate results "
            f"stay in registers, reuse data from shared memory, or store narrower types (half the "
            f"bytes: {show_number(2 * roofline.intensity)} FLOP per byte; a quarter: "
            f"{show_number(4 * roofline.intensity)}). More arithmetic speed would change nothing."
        ),
        evidence=(
            derived("arithmetic intensity", roofline.intensity, "FLOP/byte"),
            derived("ridge point", roofline.ridge, "FLOP/byte"),
            derived("attainable", roofline.attainable, "FLOP/s"),
        ),
        gain=_gain(roofline),
    )


def _recorded(timeline: TracedRun) -> Verdict:
    # Where attention is written out, `unfused-attention` is about its softmax.
    seconds, saved = pass_seconds(timeline), saved_by_fused_passes(timeline)
    if saved is None:
        return PASSED
    return Advice(
        message=(
            "Kernels that do one operation on each element, or reduce or normalise rows, take "
            f"{show_seconds(seconds)}, {of_span(timeline, seconds)}: each reads "
            "its data from device memory and writes it back."
        ),
        action=(
            "Fuse them, so that a chain of operations reads and writes once: torch.compile(model), "
            "in TensorFlow tf.function(jit_compile=True), or a kernel in Triton. Attention written as a product, softmax, dropout and a product: "
            "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, "
            "dropout_p=p), which keeps the scores on the chip. Half the bytes per element: "
            "torch.autocast('cuda', torch.bfloat16)."
        ),
        evidence=(
            traced("time of elementwise kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(
            timeline,
            saved,
            "their time but for the shortest of them: fused, they are one pass",
        ),
        priority=Priority.MEDIUM if timeline.share(seconds) >= MOST else Priority.LOW,
    )


def _gain(roofline: Roofline) -> Gain:
    fewer = min(QUARTER, roofline.ridge / roofline.intensity)
    how = "a quarter of the bytes: 4, or ridge point / intensity where that is less"
    if roofline.share is None:
        return Gain(kind=GainKind.KERNEL_TIME, upper_bound=fewer, how=how)
    share = min(1.0, roofline.share)
    return Gain(
        kind=GainKind.KERNEL_TIME,
        upper_bound=fewer / share,
        how=f"{how}; / {show_number(share)}, the share of the roof reached",
    )


RULE = Rule(
    id="memory-bound",
    title="Move fewer bytes per operation",
    topic=Topic.ROOFLINE,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.APPLICATION, Kind.DEVICE),
    family=Family.ROOFLINE,
    why="Below the ridge point the time of a kernel is its bytes divided by the bandwidth.",
    when=(
        "FLOP per byte are below peak / bandwidth. With a time: only from 50 % to 75 % of the "
        "roof; less is not the fault of memory, more is as good as it gets. Or kernels of PyTorch "
        "for one operation on each element take three tenths of a recorded run (medium), or a tenth (low)."
    ),
    citations=(*guide("9.2", "8.2"), ROOFLINE),
    check=check,
    either=("roofline", "timeline"),
    examples=Examples(
        fires={"gpu": "h200", "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32"}},
        quiet={"gpu": "h200", "work": {"flops": 1e13, "bytes": "12GB", "dtype": "fp32"}},
        edges=(
            {
                "gpu": "h200",
                "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "3.35ms"},
            },
            {
                "gpu": "h200",
                "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": "3.3ms"},
            },
        ),
    ),
)
