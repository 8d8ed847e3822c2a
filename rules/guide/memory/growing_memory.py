"""Memory that each step of a program leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, traced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.step_memory import StepMemory

_MOST_STEPS = number(
    100_000,
    "steps until the GPU's memory is full, at most",
    "steps",
    "our judgement: few runs take more",
)


def check(step_memory: StepMemory, device: Device | None = None) -> Verdict:
    """Advise when nearly each step leaves a like amount of memory behind."""
    growth = step_memory.growth_bytes
    if not growth:
        return PASSED
    memory = device.memory_bytes if device else None
    left = None if memory is None else max(0, memory - step_memory.allocated_bytes) // growth
    if left is not None and left > _MOST_STEPS:
        return PASSED
    full = "" if left is None else _full(left)
    return Advice(
        message=(
            f"Each step leaves {show_bytes(growth)} of the GPU's memory allocated, over "
            f"{plural(step_memory.steps, 'recorded step')}: {show_bytes(step_memory.allocated_bytes)} at the end "
            f"of the last.{full}"
        ),
        action=(
            "Let go of what a step makes: keep losses and metrics as numbers (total += loss.detach(), and .item() once "
            "at the end), since a loss that is kept keeps the activations of its step; put outputs that are collected on the host "
            "(.detach().cpu()); bound caches. torch.cuda.memory._record_memory_history() and _dump_snapshot() show which lines "
            "allocated what stays. Where it is meant to grow, as a cache of keys and values, it has to end before the memory does."
        ),
        evidence=(
            traced("left by a step", growth, "bytes"),
            traced("steps", step_memory.steps, "steps"),
            traced("allocated", step_memory.allocated_bytes, "bytes"),
            *(() if left is None else (derived("steps until it is full", left, "steps"),)),
        ),
    )


def _full(left: int) -> str:
    if not left:
        return " The GPU's memory is full by now."
    return f" The GPU's memory is full after {plural(left, 'more step')}, or sooner."


RULE = Rule(
    id="growing-memory",
    title="Let go of what each step keeps",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    why="Memory that grows in each step runs out, in a long run after hours of work.",
    when=(
        "In a recorded run four of five steps or more leave a like amount of memory allocated behind them, a thousandth of it "
        "or more, and the GPU's memory is full after 100,000 of them."
    ),
    citations=(
        cited(
            "PyTorch documentation",
            "Frequently Asked Questions: My model reports out of memory",
            "https://docs.pytorch.org/docs/stable/notes/faq.html",
        ),
    ),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h100",
            "step_memory": {"steps": 5, "growth": "16MiB", "allocated": "1.5GiB"},
        },
        quiet={
            "gpu": "h100",
            "step_memory": {"steps": 5, "growth": "0", "allocated": "1.5GiB"},
        },
        edges=(
            {
                "gpu": "h100",
                "step_memory": {"steps": 5, "growth": "1MiB", "allocated": "1GiB"},
            },
            {
                "gpu": "h100",
                "step_memory": {"steps": 5, "growth": "512KiB", "allocated": "100MiB"},
            },
        ),
    ),
)
