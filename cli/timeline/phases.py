"""Phases of steps, inference and replays of graphs, in words and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.phases import GraphReplays, Inference, Phase
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, Line, Tone, known, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.timelines.steps import Steps
    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
_MOST_GRAPHS = 5


def blocks(steps: Steps) -> list[Block]:
    """Return the typical time of each phase of a step; nothing where no phase is told."""
    typical = steps.median_phases
    if not typical:
        return []
    whole = steps.median_ns
    shown = table(
        typical,
        ("phase", lambda one: str(one.phase)),
        (">kernels", lambda one: show_seconds(one.kernel_ns / _NS) if one.kernel_ns else "-"),
        (">first to last", lambda one: show_seconds(one.length_ns / _NS)),
        (">of the step", lambda one: show_share(one.length_ns / whole) if whole else "-"),
    )
    data = any(one.phase is Phase.DATA for one in typical)
    told = "Medians of all steps, by what launched the kernels."
    waits = " Data: the GPU is idle while a loader is asked." if data else ""
    return [Heading("Phases of a step"), shown, Line(told + waits, Tone.FAINT)]


def facts(inference: Inference | None) -> Iterator[Fact]:
    """Yield what prompts and the tokens after them took."""
    if inference is None:
        return
    passes = inference.prefill_passes
    each = show_seconds(inference.prefill_ns / _NS / passes)
    tokens = inference.prompt_tokens
    of_tokens = "" if tokens is None else f" of {show_number(tokens / passes)} tokens"
    yield Fact("prefill", Cell(f"{each} a pass"), f"{plural(passes, 'pass', 'passes')}{of_tokens}")
    rate = inference.tokens_per_second
    each = show_seconds(inference.decode_ns / _NS / max(1, inference.decode_passes))
    batch = "" if inference.batch is None else f" for {plural(inference.batch, 'request')}"
    speed = "" if rate is None else f": {show_number(rate)} tokens/s, as recorded"
    made = plural(inference.decode_passes, "pass", "passes")
    yield Fact("decode", Cell(f"{each} a pass"), f"{made}{batch}{speed}")


def graphs(line: Timeline) -> list[Block]:
    """Return the graphs that were replayed, and what their kernels would cost one by one."""
    if not line.graphs:
        return []
    single_ns = _single_launch_ns(line)

    def busy(one: GraphReplays) -> float:
        return min(1.0, one.kernel_ns / one.length_ns) if one.length_ns else 1.0

    shown = table(
        line.graphs[:_MOST_GRAPHS],
        (">replays", lambda one: f"{one.replays:,}"),
        (">kernels", lambda one: f"{one.kernels:,}"),
        (">GPU each", lambda one: show_seconds(one.length_ns / one.replays / _NS)),
        (">busy", lambda one: show_share(busy(one))),
        (">host each", lambda one: show_seconds(one.call_ns / one.replays / _NS)),
        (
            ">launched singly",
            lambda one: known(single_ns, lambda ns: show_seconds(one.kernels * ns / _NS)),
        ),
    )
    told = (
        "Launched singly: the host's time for as many launches of this recording. Where that is longer "
        "than the GPU's, the graph wins the difference."
    )
    return [Heading("Graphs"), shown, Line(told, Tone.FAINT)]


def _single_launch_ns(line: Timeline) -> int | None:
    """Return the median time of the host in the launch of a kernel; None where none was launched."""
    launches = line.calls_for(CallKind.LAUNCH)
    most = max(launches, key=lambda call: call.calls, default=None)
    return None if most is None else most.median_ns


def graph_records(line: Timeline) -> list[dict[str, Any]]:
    """Return the replays of graphs as JSON values."""
    single_ns = _single_launch_ns(line)
    seconds = "seconds=length_ns kernel_seconds=kernel_ns host_seconds=call_ns"
    return [
        {
            **named_fields(one, f"replays kernels {seconds}"),
            "single_launches_seconds": None
            if single_ns is None
            else one.replays * one.kernels * single_ns / _NS,
        }
        for one in line.graphs
    ]


INFERENCE = (
    "prefill_passes prompt_tokens prefill_seconds=prefill_ns decode_passes requests=batch "
    "decode_seconds=decode_ns tokens_per_second"
)
PHASE = "phase kernel_seconds=kernel_ns seconds=length_ns"
