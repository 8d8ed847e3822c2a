"""The kernels of each group as a table."""

from __future__ import annotations

from itertools import takewhile

from gpuadvise.advisor.binaries.kernel_counts import LOW
from gpuadvise.advisor.binaries.kernel_groups import KernelGroup
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, header, left_out
from gpuadvise.cli.render.row_encoder import RowEncoder, same

GROUP = RowEncoder(same("", *KernelGroup.__slots__))
_COLUMNS = header(">kernels", ">code", ">spilling", ">regs", ">lowest occupancy", ">below 50 %")


def groups_page(groups: list[KernelGroup], listed: list[KernelGroup], by: str) -> list[Block]:
    """Return the *listed* groups as a table, and what all hold together."""
    kernels = sum(group.kernels for group in groups)
    sizes = [group.code_bytes for group in groups]
    code = "" if None in sizes else f", {show_bytes(sum(size or 0 for size in sizes))} of code"
    head = f"{plural(kernels, 'kernel')} in {plural(len(groups), 'group')}{code}."
    blocks: list[Block] = [Line(head, Tone.STRONG)]
    if listed:
        columns = (*_COLUMNS, Column(by, below=True))
        shared = _shared_folder(listed) if by == "file" else ""
        rows = (_row(group, group.group.removeprefix(shared)) for group in listed)
        blocks.append(Table(columns, tuple(rows)))
    return [*blocks, *left_out(len(groups) - len(listed), "group", "--limit 0 shows all")]


def _shared_folder(groups: list[KernelGroup]) -> str:
    """Return the folder that all files are in, with its last slash; nothing for files here."""
    if len(groups) < 2:
        return ""
    folders = [group.group.partition("!")[0].split("/")[:-1] for group in groups]
    shared = [
        names[0] for names in takewhile(lambda own: len({*own}) == 1, zip(*folders, strict=False))
    ]
    return "/".join(shared) + "/" if shared else ""


def _row(group: KernelGroup, name: str) -> tuple[Cell, ...]:
    lowest = group.lowest_occupancy
    return (
        Cell(f"{group.kernels:,}"),
        Cell("-" if group.code_bytes is None else show_bytes(group.code_bytes)),
        Cell(f"{group.spilling:,}", Tone.POOR if group.spilling else Tone.PLAIN),
        Cell("-" if group.most_registers is None else f"{group.most_registers:,}"),
        Cell("-", Tone.FAINT)
        if lowest is None
        else Cell(show_share(lowest), Tone.POOR if lowest < LOW else Tone.GOOD),
        Cell(f"{group.below_half:,}"),
        Cell(name),
    )
