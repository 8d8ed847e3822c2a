"""Convolutions whose data are turned around for the tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import saved_by_one_layout
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(timeline: TracedRun, device: Device | None = None) -> Verdict:
    """Advise where convolutions turn their data around for the tensor cores."""
    seconds, saved = timeline.layout_seconds, saved_by_one_layout(timeline, device)
    if saved is None:
        return PASSED
    return Advice(
        message=(
            f"Conversions between NCHW and NHWC around convolutions take {show_seconds(seconds)}, "
            f"{of_span(timeline, seconds)}: the tensor cores want channels "
            "last, and the data lie channels first."
        ),
        action=(
            "Keep model and data in that layout: model.to(memory_format=torch.channels_last) and "
            "x.to(memory_format=torch.channels_last). With torch.autocast('cuda', torch.bfloat16) "
            "activations have half the bytes, too."
        ),
        evidence=(
            traced("time of conversions", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(
            timeline,
            saved,
            "the conversions' time, and half of the other busy time: 16-bit numbers have half the "
            "bytes",
        ),
    )


RULE = Rule(
    id="layout-conversions",
    formerly="unused-tensor-cores",
    title="Keep channels last around convolutions",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    family=Family.PRODUCTS,
    why="Tensor cores take channels last, so that data in another layout are moved twice for each convolution.",
    when="Conversions between NCHW and NHWC take 10 % of a recorded run, and products in FP32 or FP64 do not.",
    citations=(
        cited(
            "PyTorch documentation",
            "Channels Last Memory Format",
            "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        ),
    ),
    check=check,
    examples=Examples(
        fires={"timeline": {"span": "100ms", "busy": "90ms", "layout": "20ms"}},
        quiet={"timeline": {"span": "100ms", "busy": "90ms", "layout": "1ms"}},
        edges=(
            {"timeline": {"span": "100ms", "busy": "90ms", "layout": "10.1ms"}},
            {"timeline": {"span": "100ms", "busy": "90ms", "layout": "9.9ms"}},
        ),
    ),
)
