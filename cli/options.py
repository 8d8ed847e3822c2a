"""Options that several commands share, spelled once."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.cli import completion

Gpu = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="NAME",
        help="GPU from the catalogue: h100, rtx4090.",
        autocompletion=completion.gpu_ids,
    ),
]
Cc = Annotated[
    str | None, typer.Option("--cc", metavar="CC", help="Compute capability: 9.0, 90, sm_90a.")
]
Live = Annotated[
    str | None,
    typer.Option("--device", metavar="ID", help="GPU in this machine: index, UUID or PCI id."),
]
Snapshot = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="Saved `device --all --format json`."),
]
FormatName = Annotated[
    str,
    typer.Option("--format", "-f", metavar="FORMAT", help="text, json, csv, ndjson or markdown."),
]
Get = Annotated[
    list[str] | None,
    typer.Option("--get", metavar="FIELD", help="Print one field as a bare value; may repeat."),
]
FailUnder = Annotated[
    str | None,
    typer.Option("--fail-under", metavar="SHARE", help="Exit 1 below this share: 50%, 0.5."),
]
Calibration = Annotated[
    str | None,
    typer.Option("--calibration", metavar="FILE", help="Saved `measure` of this machine (JSON)."),
]
Pcie = Annotated[
    str | None,
    typer.Option("--pcie", metavar="LINK", help="The slot, where it is not the GPU's best: 4x8."),
]
Word = Annotated[
    str, typer.Option("--word", metavar="BYTES", help="Size of the element each lane takes.")
]
ActiveLanes = Annotated[
    str | None, typer.Option("--threads", metavar="N", help="Active lanes, 1 to 32.")
]
LaneMask = Annotated[
    str | None, typer.Option("--mask", metavar="MASK", help="Active lanes: 0x0000ffff.")
]
Indices = Annotated[
    str | None,
    typer.Option("--indices", metavar="LIST", help="Index of each lane: 0,5,9; - is stdin."),
]
