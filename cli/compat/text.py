"""What ``compat`` says to a person: the answer first, then what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TONES = {"runs": Tone.GOOD, "jit": Tone.POOR, "fails": Tone.BAD, "none": Tone.FAINT}
_ELSEWHERE = "Code that a package compiles where it runs (Triton, NVRTC, Numba) is not in the file."
# A wheel with more members than this is listed by the JSON answer.
_MOST_FILES = 40


def blocks(result: Mapping[str, Any], gpu: str) -> list[Block]:
    """Return the answer as a person reads it."""
    tone = (
        TONES[result["verdict"]] if result["complete"] or result["verdict"] != "runs" else Tone.POOR
    )
    found: list[Block] = [Line(result["summary"], tone)]
    if result["entries"]:
        found.append(_facts(result, gpu))
    several = len(result["answers"]) > 1
    if several:
        found += [Heading("Files"), _answers(result["answers"])]
    elif len(result["files"]) > 1:
        found += [Heading("Files"), _files(result["files"])]
    if result["entries"] and not several:
        found += [Heading("Device code"), *_entries(result["entries"])]
    if result["fix"]:
        found += _fix(result["fix"])
    if (
        result["entries"]
        and not result["complete"]
        and any(each["file"].endswith((".so", ".pyd")) for each in result["files"])
    ):
        found.append(Line(_ELSEWHERE, Tone.FAINT))
    return found


def _facts(result: Mapping[str, Any], gpu: str) -> LabelledFacts:
    driver, needed = result["driver"], result["needed_driver"]
    newest = result["newest_driver"]
    recent = f"any up to CUDA {newest['cuda']}" if newest else "any recent one"
    judged = recent if driver is None else f"CUDA {driver['cuda']}"
    version = f"driver {driver['version']}" if driver and driver["version"] else ""
    rows = [
        Fact(label="GPU", value=Cell(gpu)),
        Fact(label="Driver", value=Cell(judged), remark=version or _driver_hint(driver)),
    ]
    if needed:
        branch = f"driver {needed['branch']}" if needed["branch"] else ""
        if newest and newest["branch"] and branch:
            branch += f" to {newest['branch']}, the last for this GPU"
        rows.append(
            Fact(label="Needs", value=Cell(f"CUDA {needed['cuda']} or later"), remark=branch)
        )
    return LabelledFacts(tuple(rows))


def _driver_hint(driver: Mapping[str, Any] | None) -> str:
    return "" if driver else "--driver 12.4 or --driver 550.54.14 judges another"


def _answers(answers: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (Cell(each["verdict"], TONES[each["verdict"]]), Cell(each["file"]), Cell(each["summary"]))
        for each in answers
    )
    return Table(columns=(Column("verdict"), Column("file"), Column("why", below=True)), rows=rows)


def _files(files: Sequence[Mapping[str, Any]]) -> Table:
    titles = ("file", "runs", "jit", "fails")
    rows = tuple(
        (Cell(each["file"], TONES[each["verdict"]]), *(_count(each[name]) for name in titles[1:]))
        for each in files[:_MOST_FILES]
    )
    left = len(files) - len(rows)
    more = ((Cell(f"and {left:,} more"), *(Cell("") for _ in titles[1:])),) if left else ()
    columns = (Column("file"), *(Column(title, right=True) for title in titles[1:]))
    return Table(columns=columns, rows=rows + more)


def _entries(entries: Sequence[Mapping[str, Any]]) -> list[Block]:
    shown = [each for each in entries if not each["link_input"] and each["kind"] != "stub"]
    shown = shown or list(entries)
    columns = (
        Column("kind"),
        Column("target"),
        Column("made with"),
        Column("count", right=True),
        Column("size", right=True),
        Column("verdict"),
        Column("reason"),
    )
    hidden = sum(each["count"] for each in entries) - sum(each["count"] for each in shown)
    more = (
        f"and {hidden:,} inputs of a device link or empty images, which no driver loads as they are"
    )
    table = Table(columns=columns, rows=tuple(map(_entry, shown)))
    return [table, Line(more, Tone.FAINT)] if hidden else [table]


def _entry(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        Cell(entry["kind"]),
        Cell(entry["target"] or "-"),
        Cell(_made_with(entry)),
        _count(entry["count"]),
        Cell(show_bytes(entry["bytes"])),
        Cell(entry["verdict"], TONES[entry["verdict"]]),
        Cell(entry["reason"], Tone.FAINT),
    )


def _made_with(entry: Mapping[str, Any]) -> str:
    if entry["ptx_version"]:
        return f"PTX {entry['ptx_version']}"
    return f"CUDA {entry['first_toolkit']} or later" if entry["first_toolkit"] else "-"


def _count(count: int) -> Cell:
    return Cell(f"{count:,}")


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
