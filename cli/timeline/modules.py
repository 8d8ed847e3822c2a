"""The GPU's time by module and by annotation, as fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import inert
from gpuadvise.advisor.quantity import show_flops, show_rate, show_seconds, show_share
from gpuadvise.advisor.timelines.operator_roof import module_share_of_roof
from gpuadvise.cli.blocks import Block, Cell, Column, Heading, Line, Tone, known, left_out, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.annotations import AnnotatedTime
    from gpuadvise.advisor.timelines.modules import ModuleTimes, TracedModule
    from gpuadvise.advisor.timelines.operators import Operators
    from gpuadvise.advisor.timelines.traced_operator import TracedOperator

_NS = 1e9
_LOW = 0.5  # of the roof
_INNER = " > "


def records(
    listed: Operators,
    device: Device | None,
    limit: int | None,
    operator_record: Callable[[TracedOperator, int], dict[str, Any]],
) -> dict[str, Any]:
    """Return modules and annotations as JSON values: seconds, rates, shares of 0 to 1."""
    times = listed.modules
    return {
        "modules": [
            _module(one, listed.kernel_ns, device, limit, operator_record)
            for one in (times.modules[:limit] if times else ())
        ],
        "outside_modules_seconds": None if times is None else times.outside_ns / _NS,
        "backward_in_modules": None if times is None else times.backward_joined,
        "annotations": [
            {
                **named_fields(one, "path kernels seconds"),
                "share": one.total_ns / listed.kernel_ns if listed.kernel_ns else 0.0,
                "own_seconds": one.own_seconds,
            }
            for one in listed.annotations[:limit]
        ],
    }


def _module(
    one: TracedModule,
    whole_ns: int,
    device: Device | None,
    limit: int | None,
    operator_record: Callable[[TracedOperator, int], dict[str, Any]],
) -> dict[str, Any]:
    return {
        **named_fields(one, "path kernels"),
        "seconds": one.total_ns / _NS,
        "share": one.total_ns / whole_ns if whole_ns else 0.0,
        "backward_seconds": one.backward_ns / _NS,
        "with_inner_seconds": one.with_inner_ns / _NS,
        **named_fields(one, "flop_rate byte_rate"),
        "of_roof": None if device is None else module_share_of_roof(one, device),
        "tensor_share": one.tensor_share,
        "operators": [
            operator_record(operator, one.total_ns) for operator in one.operators[:limit]
        ],
    }


def module_blocks(times: ModuleTimes | None, device: Device | None, top: int) -> list[Block]:
    """Return the table of modules, and what no module launched."""
    if times is None:
        return []
    working = [one for one in times.modules if one.total_ns]
    if not working:
        return []
    shown = working[: top or None]
    joined = times.backward_joined

    def roof(one: TracedModule) -> Cell:
        share = None if device is None else module_share_of_roof(one, device)
        low = share is not None and share < _LOW
        return Cell(known(share, show_share), Tone.POOR if low else Tone.PLAIN)

    def mostly(one: TracedModule) -> str:
        return one.operators[0].call.name if one.operators else "-"

    rows = table(
        shown,
        (">share", lambda one: show_share(one.total_ns / times.total_ns)),
        (">time", lambda one: show_seconds(one.total_ns / _NS)),
        (">backward", lambda one: show_seconds(one.backward_ns / _NS) if one.backward_ns else "-"),
        (">FLOP/s", lambda one: show_flops(one.flop_rate) if one.flop_rate else "-"),
        (">bytes/s", lambda one: show_rate(one.byte_rate) if one.byte_rate else "-"),
        (">of the roof", roof),
        ("mostly", mostly),
        (Column("module", below=True), lambda one: inert(_INNER.join(one.path))),
    )
    told = "Time by the innermost module."
    if joined is False:
        told += " Of the forward pass only: nothing joins the backward pass with its modules here."
    if times.outside_ns:
        outside = show_share(times.outside_ns / times.total_ns)
        told += (
            f" {outside} of the kernels' time is outside of modules: the optimizer, the "
            "loss, or what was launched before the recording began."
        )
    return [
        Heading("Modules by time"),
        rows,
        *left_out(len(working) - len(shown), "module", "--limit 0 lists all"),
        Line(told, Tone.FAINT),
    ]


def annotation_blocks(
    annotations: tuple[AnnotatedTime, ...], kernel_ns: int, top: int
) -> list[Block]:
    """Return the table of annotations."""
    shown = annotations[: top or None]
    if not shown or not kernel_ns:
        return []
    rows = table(
        shown,
        (">share", lambda one: show_share(one.total_ns / kernel_ns)),
        (">time", lambda one: show_seconds(one.seconds)),
        (">own", lambda one: show_seconds(one.own_seconds) if one.own_ns else "-"),
        (">kernels", lambda one: f"{one.kernels:,}"),
        (Column("annotation", below=True), lambda one: inert(_INNER.join(one.path))),
    )
    return [
        Heading("Annotations by time"),
        rows,
        *left_out(len(annotations) - len(shown), "annotation", "--limit 0 lists all"),
        Line(
            "Time of the kernels launched inside; own: inside of no other annotation.", Tone.FAINT
        ),
    ]
