"""Operators of a recorded run, as fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_flops, show_rate, show_seconds, show_share
from gpuadvise.advisor.timelines.operator_roof import share_of_roof
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Table, Tone, header, left_out

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.operators import FusionCandidate, Operators, TracedOperator

_NS = 1e9
_MOST_FUSIONS = 5
_LEAST_FUSION = 0.01  # of the operators' time
_LOW = 0.5  # of the roof


def record(listed: Operators, device: Device | None, limit: int | None) -> dict[str, Any]:
    """Return the operators as JSON values: seconds, bytes, rates, shares of 0 to 1."""
    queue = listed.queue
    return {
        "operators": [_operator(one, listed, device) for one in listed.operators[:limit]],
        "fusions": [_fusion(one, device) for one in listed.fusions[:limit]],
        "queue": None
        if queue is None
        else {
            "median_delay_seconds": queue.median_delay_ns / _NS,
            "longest_delay_seconds": queue.longest_delay_ns / _NS,
            "longest_queue": queue.longest_queue,
        },
        "memory": [
            {"step": step.step, "peak_bytes": step.peak_bytes, "end_bytes": step.end_bytes}
            for step in listed.memory
        ],
        "creep_bytes": listed.creep_bytes,
    }


def _operator(one: TracedOperator, listed: Operators, device: Device | None) -> dict[str, Any]:
    return {
        "name": one.call.name,
        "kind": str(one.work.kind),
        "shapes": [list(shape) for shape in one.call.shapes],
        "dtype": one.call.dtype,
        "calls": one.calls,
        "kernels": one.kernels,
        "seconds": one.seconds,
        "share": one.total_ns / listed.total_ns if listed.total_ns else 0.0,
        "flop_rate": one.flop_rate,
        "byte_rate": one.byte_rate,
        "of_roof": None if device is None else share_of_roof(one, device),
        "tensor_share": one.tensor_share,
    }


def _fusion(one: FusionCandidate, device: Device | None) -> dict[str, Any]:
    return {
        "first": one.first,
        "second": one.second,
        "times": one.times,
        "saved_bytes": one.saved_bytes,
        "saved_seconds": _saved(one, device),
    }


def _saved(one: FusionCandidate, device: Device | None) -> float | None:
    """Return the seconds that the bytes take at the memory's bandwidth."""
    bandwidth = device.memory_bandwidth if device else None
    return one.saved_bytes / bandwidth if bandwidth else None


_COLUMNS = header(
    ">share", ">time", ">calls", ">FLOP/s", ">bytes/s", ">of the roof", ">tensor cores",
    Column("operator", below=True),
)  # fmt: skip


def blocks(listed: Operators, device: Device | None, top: int) -> list[Block]:
    """Return the tables of operators, fusions, the queue and memory."""
    if not listed.operators:
        return [
            Heading("Operators"),
            Line("No kernel names its operator: record with activities=[CPU, CUDA]."),
        ]
    shown = listed.operators[: top or None]
    screen: list[Block] = [
        Heading("Operators by time"),
        Table(_COLUMNS, tuple(_row(one, listed, device) for one in shown)),
    ]
    screen += left_out(len(listed.operators) - len(shown), "operator", "--limit 0 lists all")
    if not any(one.call.shapes for one in shown):
        screen.append(Line("Rates need shapes: record with record_shapes=True.", Tone.FAINT))
    return [*screen, *_fusions(listed, device), *_queue(listed), *_memory(listed)]


def _row(one: TracedOperator, listed: Operators, device: Device | None) -> tuple[Cell, ...]:
    roof = None if device is None else share_of_roof(one, device)
    tone = Tone.POOR if roof is not None and roof < _LOW else Tone.PLAIN
    return (
        Cell(show_share(one.total_ns / listed.total_ns) if listed.total_ns else "-"),
        Cell(show_seconds(one.seconds)),
        Cell(f"{one.calls:,}"),
        Cell(show_flops(one.flop_rate) if one.flop_rate else "-"),
        Cell(show_rate(one.byte_rate) if one.byte_rate else "-"),
        Cell("-" if roof is None else show_share(roof), tone),
        Cell(show_share(one.tensor_share) if one.tensor_ns else "-"),
        Cell(f"{one.call.name} {_shapes(one)}".rstrip()),
    )


def _shapes(one: TracedOperator) -> str:
    """Return the shapes of its first tensors: ``1024x64, 64x4096 half``."""
    sizes = ["x".join(map(str, shape)) for shape in one.call.shapes if shape][:2]
    dtype = (one.call.dtype or "").removeprefix("c10::").lower()
    return f"{', '.join(sizes)} {dtype}".strip()


def _fusions(listed: Operators, device: Device | None) -> list[Block]:
    rows = []
    for one in listed.fusions[:_MOST_FUSIONS]:
        saved = _saved(one, device)
        if saved is not None and saved * _NS < _LEAST_FUSION * listed.total_ns:
            continue
        rows.append(
            (
                Cell(show_bytes(round(one.saved_bytes))),
                Cell("-" if saved is None else show_seconds(saved)),
                Cell(f"{one.times:,}"),
                Cell(f"{one.first}, {one.second}"),
            )
        )
    if not rows:
        return []
    columns = header(">saves", ">time", ">times", Column("operators", below=True))
    return [
        Heading("Passes that could be one"),
        Table(columns, tuple(rows)),
        Line(
            "What the first writes and the second reads again, at the memory's bandwidth: "
            "torch.compile makes them one kernel.",
            Tone.FAINT,
        ),
    ]


def _queue(listed: Operators) -> list[Block]:
    queue = listed.queue
    if queue is None:
        return []
    return [
        Heading("Launch queue"),
        Line(
            f"A kernel starts {show_seconds(queue.median_delay_ns / _NS)} after its launch (median; "
            f"{show_seconds(queue.longest_delay_ns / _NS)} at most), with up to "
            f"{plural(queue.longest_queue, 'kernel')} queued."
        ),
    ]


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
