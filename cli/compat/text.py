"""What ``compat`` says to a person: the answer first, then what it rests on."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.dynamic_section import ABSOLUTE, RELATIVE
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    header,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TONES = {"runs": Tone.GOOD, "jit": Tone.POOR, "fails": Tone.BAD, "none": Tone.FAINT}
_ELSEWHERE = "Code that a package compiles where it runs (Triton, NVRTC, Numba) is not in the file."
_LEFT_OUT = (
    "Every module has code for this GPU, which leaves out kernels: no build option adds them."
)
_BY_GENERATION = "No GPU finds machine code for all of it: such files hold kernels for one generation of GPUs alone."
# A wheel with more members than this is listed by the JSON answer.
_MOST_FILES = 40


def blocks(result: Mapping[str, Any], gpu: str) -> list[Block]:
    """Return the answer as a person reads it."""
    tone = (
        TONES[result["verdict"]] if result["complete"] or result["verdict"] != "runs" else Tone.POOR
    )
    page: list[Block] = [Line(result["summary"], tone)]
    if result["entries"]:
        page += [_facts(result, gpu), *_libraries(result["libraries"])]
    several = len(result["answers"]) > 1
    if several:
        page += [Heading("Files"), _answers(result["answers"])]
    elif len(result["files"]) > 1:
        page += [Heading("Files"), _files(result["files"])]
    if result["entries"] and not several:
        page += [Heading("Device code"), *_entries(result)]
    if result["fix"]:
        page += _repair(result)
    elif result["verdict"] == "runs" and not result["complete"] and result["kernels"]:
        elsewhere = any(answer["better_elsewhere"] for answer in result["answers"])
        page.append(Line(_LEFT_OUT if elsewhere else _BY_GENERATION, Tone.FAINT))
    if (
        result["entries"]
        and (not result["complete"] or _packages(result["answers"]))
        and any(file["file"].endswith((".so", ".pyd")) for file in result["files"])
    ):
        page.append(Line(_ELSEWHERE, Tone.FAINT))
    return page


def _packages(answers: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a wheel or an installed package is among the files: what runs may not be in it."""
    return any(
        answer["file"].endswith(".whl") or not os.path.splitext(answer["file"])[1]
        for answer in answers
    )


def _facts(result: Mapping[str, Any], gpu: str) -> LabelledFacts:
    driver, needed = result["driver"], result["needed_driver"]
    newest = result["newest_driver"]
    recent = f"any up to CUDA {newest['cuda']}" if newest else "any recent one"
    judged = recent if driver is None else f"CUDA {driver['cuda']}"
    version = f"driver {driver['version']}" if driver and driver["version"] else ""
    hint = "" if driver else "--driver 12.4 or --driver 550.54.14 judges another"
    rows = [
        Fact("GPU", Cell(gpu)),
        Fact("Driver", Cell(judged), version or hint),
    ]
    if needed:
        bound = result["needed_driver_is"] == "lower bound"
        cuda = f"at least CUDA {needed['cuda']}" if bound else f"CUDA {needed['cuda']} or later"
        branch = f"driver {needed['branch']}" if needed["branch"] else ""
        if newest and newest["branch"] and branch:
            branch += f" to {newest['branch']}, the last for this GPU"
        rows.append(Fact("Needs", Cell(cuda), branch))
    return LabelledFacts(tuple(rows))


# What NVIDIA ships, of all that a program may ask the loader for.
_CUDA = r"lib(cu(da|blas|dnn|fft|rand|solver|sparse|pti|file|tensor)|nv|npp|nccl)"
_MOST_LIBRARIES = 12


def _is_cudas(library: str) -> bool:
    return bool(re.match(_CUDA, library))


def _libraries(libraries: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Return what the files ask the loader for of CUDA, and where it looks, as a line if there is any."""
    asking = [library for library in libraries if any(map(_is_cudas, library["needed"]))]
    names = sorted({name for library in asking for name in library["needed"] if _is_cudas(name)})
    if not names:
        return []
    paths = {tuple(library["search"]) for library in asking}
    only = _places(paths.pop()) if len(paths) == 1 else ""
    # A line of its own: as a fact it would make the column of values as wide as all these names.
    listed = and_list(names, most=_MOST_LIBRARIES)
    return [Line(f"Asks for {listed}{f', to be found in {only}' if only else ''}.", Tone.FAINT)]


def _places(search: Sequence[str]) -> str:
    """Return the folders of *search* that are named, and the number of those that are not."""
    named = [path for path in search if path not in (ABSOLUTE, RELATIVE)]
    hidden = [
        kind if search.count(kind) == 1 else plural(search.count(kind), kind.partition(" ")[2])
        for kind in (ABSOLUTE, RELATIVE)
        if kind in search
    ]
    return and_list([*([":".join(named)] if named else []), *hidden])


def _answers(answers: Sequence[Mapping[str, Any]]) -> Table:
    return table(
        answers,
        ("verdict", lambda answer: Cell(answer["verdict"], TONES[answer["verdict"]])),
        ("file", lambda answer: answer["file"]),
        (Column("why", below=True), lambda answer: answer["summary"]),
    )


def _files(files: Sequence[Mapping[str, Any]]) -> Table:
    titles = ("file", "runs", "jit", "fails")
    rows = tuple(
        (Cell(file["file"], TONES[file["verdict"]]), *(_count(file[name]) for name in titles[1:]))
        for file in files[:_MOST_FILES]
    )
    left = len(files) - len(rows)
    more = ((Cell(f"and {left:,} more"), *(Cell("") for _ in titles[1:])),) if left else ()
    return Table(header("file", *(f">{title}" for title in titles[1:])), rows + more)


def _entries(result: Mapping[str, Any]) -> list[Block]:
    entries = result["entries"]
    shown = [entry for entry in entries if not entry["link_input"] and entry["kind"] != "stub"]
    alike: dict[object, list[Mapping[str, Any]]] = {}
    for entry in shown or entries:
        key = [entry[name] for name in ("kind", "target", "verdict", "reason", "fits_gpu")]
        alike.setdefault(tuple(key), []).append(entry)
    rows = list(alike.values())
    spare = [row for row in rows if _is_spare(row[0], result)]
    rows = [row for row in rows if row not in spare]
    fitting = [row for row in rows if row[0]["fits_gpu"]]
    nearest = [row for verdict in TONES for row in fitting[::-1] if row[0]["verdict"] == verdict]
    rows = [*nearest, *(row for row in rows if not row[0]["fits_gpu"])]
    columns = header(
        "kind", "target", "made with", ">count", ">size", "verdict", Column("reason", prose=True)
    )
    reasons = [row[0]["reason"] for row in rows]
    new = [reason != before for reason, before in zip(reasons, ["", *reasons], strict=False)]
    cells = [*map(_entry, rows, new)]
    if spare:
        cells.insert(len(nearest), _spare(spare, result))
    return [Table(columns, tuple(cells))]


def _is_spare(entry: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Return whether *entry* is PTX beside machine code, which a driver takes first."""
    return bool(
        entry["kind"] == "ptx" and entry["verdict"] == "jit" and result["verdict"] == "runs"
    )


def _spare(
    rows: Sequence[Sequence[Mapping[str, Any]]], result: Mapping[str, Any]
) -> tuple[Cell, ...]:
    """Return the one row of all PTX that fits beside machine code."""
    entries = [entry for row in rows for entry in row]
    targets = list(dict.fromkeys(entry["target"] for entry in entries))
    made = sorted({_made_with(entry) for entry in entries})
    needed = (result["kernels"] or result["modules"])["jit"]
    return (
        Cell("ptx"),
        Cell(targets[0] if len(targets) == 1 else plural(len(targets), "target")),
        Cell(made[0] if len(made) == 1 else f"{made[0]} to {made[-1].rpartition(' ')[2]}"),
        _count(sum(entry["count"] for entry in entries)),
        Cell(show_bytes(sum(entry["bytes"] for entry in entries))),
        Cell("jit", TONES["jit"]) if needed else Cell("not needed", Tone.FAINT),
        Cell(
            "the driver compiles it where machine code is missing"
            if needed
            else "all of it is there as machine code",
            Tone.FAINT,
        ),
    )


def _entry(alike: Sequence[Mapping[str, Any]], new: bool) -> tuple[Cell, ...]:
    """Return the row of entries that differ in their toolkit alone; a reason is said once."""
    entry = alike[0]
    verdict = Cell(entry["verdict"], TONES[entry["verdict"]])
    if not entry["fits_gpu"]:
        unfit = "other GPU" if entry["kind"] in ("sass", "ptx") else "not loaded"
        verdict = Cell(unfit, Tone.FAINT)
    made = list(dict.fromkeys(map(_made_with, alike)))
    return (
        Cell(entry["kind"]),
        Cell(entry["target"] or "-"),
        Cell(made[0] if len(made) == 1 else f"{made[0]} to {made[-1].rpartition(' ')[2]}"),
        _count(sum(row["count"] for row in alike)),
        Cell(show_bytes(sum(row["bytes"] for row in alike))),
        verdict,
        Cell(entry["reason"] if new else "", Tone.FAINT),
    )


def _made_with(entry: Mapping[str, Any]) -> str:
    if entry["ptx_version"]:
        return f"PTX {entry['ptx_version']}"
    if entry["toolkit"]:
        return f"CUDA {entry['toolkit']}"
    return f"CUDA {entry['first_toolkit']} or later" if entry["first_toolkit"] else "-"


def _count(count: int) -> Cell:
    return Cell(f"{count:,}")


# Libraries that only NVIDIA builds, by the file names of CUDA's own packages.
_NVIDIA = r"(lib)?(cu(blas|dnn|fft|rand|solver|sparse|pti|tensor)|npp|nvjpeg|nvrtc)"


def _repair(result: Mapping[str, Any]) -> list[Block]:
    """Return how to get the missing code: compiler options, or where nobody but NVIDIA can build it."""
    names = {file["file"].rsplit("/", 1)[-1] for file in result["files"]}
    if not names or not all(re.match(_NVIDIA, name) for name in names):
        return _fix(result["fix"])
    if not any(answer["better_elsewhere"] for answer in result["answers"]):
        return []  # no GPU fares better: there is nothing to look for
    return [Line("Only NVIDIA builds this library: look for a version of it with that code.")]


def _fix(fix: Mapping[str, Any]) -> list[Block]:
    last, first = fix["last_toolkit"], fix["first_toolkit"]
    toolkit = f"nvcc {first} or later" if first else "nvcc"
    if last:
        toolkit = f"nvcc {first} to {last}" if first else f"nvcc up to {last}"
    lines = (" ".join(fix["gencode"]), fix["cmake"], fix["torch"])
    return [
        Heading(f"To build machine code for this GPU: {toolkit}, CMake, or a PyTorch extension"),
        Drawing("\n".join(f"  {line}" for line in lines)),
    ]
