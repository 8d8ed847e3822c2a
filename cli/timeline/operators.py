"""Operators of a recorded run, as fields and in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_flops, show_rate, show_seconds, show_share
from gpuadvise.advisor.timelines.operator_roof import share_of_roof
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Tone, known, left_out, table
from gpuadvise.cli.timeline import modules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.operators import FusionCandidate, Operators
    from gpuadvise.advisor.timelines.traced_operator import TracedOperator

_NS = 1e9
_MOST_FUSIONS = 5
_LEAST_FUSION = 0.01  # of the operators' time
_LOW = 0.5  # of the roof


def record(listed: Operators, device: Device | None, limit: int | None) -> dict[str, Any]:
    """Return the operators as JSON values: seconds, bytes, rates, shares of 0 to 1."""
    queue = (
        "median_delay_seconds=median_delay_ns longest_delay_seconds=longest_delay_ns longest_queue"
    )

    def operator(one: TracedOperator, whole_ns: int) -> dict[str, Any]:
        return _operator(one, whole_ns, device)

    return {
        "operators": [operator(one, listed.total_ns) for one in listed.operators[:limit]],
        "fusions": [
            {**asdict(one), "saved_seconds": _saved(one, device)} for one in listed.fusions[:limit]
        ],
        "queue": listed.queue
        and {**named_fields(listed.queue, queue), "full_seconds": listed.queue.full_ns / _NS},
        "memory": [asdict(step) for step in listed.memory],
        "creep_bytes": listed.creep_bytes,
        **modules.records(listed, device, limit, operator),
    }


def _operator(one: TracedOperator, whole_ns: int, device: Device | None) -> dict[str, Any]:
    call = "name=call.name kind=work.kind shapes=call.shapes dtype=call.dtype"
    return {
        **named_fields(one, f"{call} calls kernels seconds"),
        "share": one.total_ns / whole_ns if whole_ns else 0.0,
        **named_fields(one, "flop_rate byte_rate"),
        "of_roof": None if device is None else share_of_roof(one, device),
        "tensor_share": one.tensor_share,
    }


def _saved(one: FusionCandidate, device: Device | None) -> float | None:
    """Return the seconds that the bytes take at the memory's bandwidth."""
    bandwidth = device.memory_bandwidth if device else None
    return one.saved_bytes / bandwidth if bandwidth else None


def blocks(listed: Operators, device: Device | None, top: int) -> list[Block]:
    """Return the tables of operators, fusions, the queue and memory."""
    if not listed.operators:
        told = "No kernel names its operator: record with activities=[CPU, CUDA]."
        return [Heading("Operators"), Line(told)]
    shown = listed.operators[: top or None]
    screen: list[Block] = [Heading("Operators by time"), _table(shown, listed, device)]
    screen += left_out(len(listed.operators) - len(shown), "operator", "--limit 0 lists all")
    if not any(one.call.shapes for one in shown):
        screen.append(Line("Rates need shapes: record with record_shapes=True.", Tone.FAINT))
    screen += modules.module_blocks(listed.modules, device, top)
    if listed.modules is None:
        screen.append(Line("Modules need stacks: record with with_stack=True.", Tone.FAINT))
    screen += modules.annotation_blocks(listed.annotations, listed.kernel_ns, top)
    return [*screen, *_fusions(listed, device), *_queue(listed), *_memory(listed)]


def _table(shown: Sequence[TracedOperator], listed: Operators, device: Device | None) -> Block:
    def roof(one: TracedOperator) -> Cell:
        share = None if device is None else share_of_roof(one, device)
        low = share is not None and share < _LOW
        return Cell(known(share, show_share), Tone.POOR if low else Tone.PLAIN)

    whole = listed.total_ns
    return table(
        shown,
        (">share", lambda one: show_share(one.total_ns / whole) if whole else "-"),
        (">time", lambda one: show_seconds(one.seconds)),
        (">calls", lambda one: f"{one.calls:,}"),
        (">FLOP/s", lambda one: show_flops(one.flop_rate) if one.flop_rate else "-"),
        (">bytes/s", lambda one: show_rate(one.byte_rate) if one.byte_rate else "-"),
        (">of the roof", roof),
        (">tensor cores", lambda one: show_share(one.tensor_share) if one.tensor_ns else "-"),
        (Column("operator", below=True), lambda one: f"{one.call.name} {_shapes(one)}".rstrip()),
    )


def _shapes(one: TracedOperator) -> str:
    """Return the shapes of its first tensors: ``1024x64, 64x4096 half``."""
    sizes = ["x".join(map(str, shape)) for shape in one.call.shapes if shape][:2]
    dtype = (one.call.dtype or "").removeprefix("c10::").lower()
    return f"{', '.join(sizes)} {dtype}".strip()


def _fusions(listed: Operators, device: Device | None) -> list[Block]:
    worth = [
        (one, saved)
        for one in listed.fusions[:_MOST_FUSIONS]
        for saved in [_saved(one, device)]
        if saved is None or saved * _NS >= _LEAST_FUSION * listed.total_ns
    ]
    if not worth:
        return []
    rows = table(
        worth,
        (">saves", lambda row: show_bytes(round(row[0].saved_bytes))),
        (">time", lambda row: known(row[1], show_seconds)),
        (">times", lambda row: f"{row[0].times:,}"),
        (Column("operators", below=True), lambda row: f"{row[0].first}, {row[0].second}"),
    )
    told = (
        "What the first writes and the second reads again, at the memory's bandwidth: "
        "torch.compile makes them one kernel."
    )
    return [Heading("Passes that could be one"), rows, Line(told, Tone.FAINT)]


def _queue(listed: Operators) -> list[Block]:
    queue = listed.queue
    if queue is None:
        return []
    told = (
        f"A kernel starts {show_seconds(queue.median_delay_ns / _NS)} after its launch (median; "
        f"{show_seconds(queue.longest_delay_ns / _NS)} at most), with up to "
        f"{plural(queue.longest_queue, 'kernel')} queued."
    )
    if queue.full_ns:
        told += (
            f" For {show_seconds(queue.full_ns / _NS)} the queue is full, and each launch waits for a kernel "
            "to begin: the host is ahead as far as it can be."
        )
    return [Heading("Launch queue"), Line(told)]


def _memory(listed: Operators) -> list[Block]:
    if not listed.memory:
        return []
    peak = max(listed.memory, key=lambda step: step.peak_bytes)
    sentence = f"At most {show_bytes(peak.peak_bytes)} are allocated, in {peak.step}."
    if listed.creep_bytes is not None:
        sentence += (
            f" Each step leaves {show_bytes(listed.creep_bytes)} behind: something keeps tensors, "
            "such as losses with their graph (loss.detach())."
        )
    return [Heading("Memory"), Line(sentence)]
