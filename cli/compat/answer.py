"""The fields of ``compat``: the contract that scripts rely on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.compatibility.explain import headline
from gpuadvise.advisor.compatibility.fit import NEW_ABI_CUDA, Outcome, fit, made_by_newer
from gpuadvise.advisor.compatibility.gencode import fix_for
from gpuadvise.advisor.compatibility.releases import branch_for_cuda, show
from gpuadvise.advisor.compatibility.targets import virtual
from gpuadvise.advisor.compatibility.verdict import judge, needed_cuda
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table
from gpuadvise.cli.compat import text
from gpuadvise.cli.compat.request import driver_for
from gpuadvise.cli.compat.text import TONES
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.survey import Holding, Survey
    from gpuadvise.advisor.compatibility.verdict import Verdict
    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.compat.request import Held


def result(verdict: Verdict, survey: Survey, what: str, gpu: str) -> dict[str, Any]:
    """Return what becomes of the code in *survey*, and what would mend it."""
    complete = is_complete(verdict)
    lacking = not is_complete(judge(survey, verdict.gpu))  # whatever the driver
    needed = needed_cuda(survey, verdict.gpu)
    return {
        "verdict": str(verdict.outcome),
        "complete": complete,
        "summary": headline(verdict, what, gpu, needed),
        "driver": driver_fields(verdict.driver),
        "needed_driver": needed_fields(needed),
        "modules": counted(verdict),
        "files": files(verdict),
        "entries": [entry_fields(h, verdict) for h in survey.holdings],
        "fix": fix_fields(verdict.gpu) if lacking else None,
    }


def is_complete(verdict: Verdict) -> bool:
    """Return whether every module has machine code for the GPU."""
    return 0 < verdict.total == verdict.count(Outcome.RUNS)


def driver_fields(driver: Driver | None) -> dict[str, Any] | None:
    """Return the driver that was judged; None: a recent one."""
    return {"cuda": show(driver.cuda), "version": driver.version} if driver else None


def needed_fields(cuda: Version | None) -> dict[str, Any] | None:
    """Return the oldest driver that will do, by CUDA version and first branch."""
    return cuda and {"cuda": show(cuda), "branch": branch_for_cuda(cuda)}


def counted(verdict: Verdict) -> dict[str, int]:
    """Return how many modules run, must be compiled, and fail."""
    return {
        "total": verdict.total,
        **{str(outcome): verdict.count(outcome) for outcome in Outcome},
        "not_loadable": verdict.unloadable.total(),
    }


def files(verdict: Verdict) -> list[dict[str, Any]]:
    """Return the same counts for each file, or each member of an archive or wheel."""
    counts: dict[str, Counter[Outcome]] = {}
    for judged in verdict.modules:
        outcome = Outcome.FAILS if verdict.blocked else judged.outcome
        counts.setdefault(judged.modules.path, Counter())[outcome] += judged.modules.times
    return [
        {
            "file": path,
            "verdict": str(next(outcome for outcome in Outcome if found[outcome])),
            **{str(outcome): found[outcome] for outcome in Outcome},
        }
        for path, found in sorted(counts.items())
    ]


def entry_fields(holding: Holding, verdict: Verdict) -> dict[str, Any]:
    """Return one kind of entry, and what the driver makes of it."""
    entry = holding.entry
    one = fit(entry, verdict.gpu, verdict.driver)
    return {
        "kind": str(entry.content),
        "target": _target(entry),
        "ptx_version": show(entry.ptx_version) if entry.ptx_version else None,
        "first_toolkit": show(NEW_ABI_CUDA) if made_by_newer(entry) else None,
        "count": holding.times,
        "bytes": holding.size,
        "link_input": entry.link_input,
        "verdict": str(Outcome.FAILS if verdict.blocked else one.outcome),
        "reason": verdict.blocked or one.reason,
    }


def _target(entry: Entry) -> str | None:
    if entry.capability is None:
        return None
    machine = entry.content in (Content.SASS, Content.STUB)
    return entry.capability.target if machine else virtual(entry.capability)


def fix_fields(gpu: Capability) -> dict[str, Any]:
    """Return the compiler options that would add the missing code."""
    fix = fix_for(gpu)
    return {
        "gencode": list(fix.gencode),
        "cmake": fix.cmake,
        "torch": fix.torch,
        "first_toolkit": show(fix.first_toolkit) if fix.first_toolkit else None,
        "last_toolkit": show(fix.last_toolkit) if fix.last_toolkit else None,
    }


_WORSE = {"jit": ("jit", "fails"), "fails": ("fails",), None: ()}


def gpu_answer(held: Held, options: Mapping[str, Any], choice: Choice) -> Answer:
    """Return what becomes of *held* on the GPU of *choice*."""
    gpu = choice.device
    driver = driver_for(options["driver"], choice)
    verdict = judge(held.survey, gpu.capability, driver)
    found = result(verdict, held.survey, held.name, _called(gpu))
    return Answer(
        command="compat",
        device=device_block(gpu),
        input=options,
        result=found,
        rows=found["entries"],
        blocks=lambda: text.blocks(found, device_line(gpu)),
        notes=(*choice.notes, *held.notes),
        exit=_exit(found["verdict"], options, held),
    )


def matrix_answer(held: Held, options: Mapping[str, Any]) -> Answer:
    """Return what becomes of *held* on each GPU of the catalogue."""
    driver = read("driver", options["driver"])
    found = matrix(held.survey, driver)
    summary = summary_of(found, held.name)
    best = next(
        word for word in ("runs", "jit", "fails") if any(r["verdict"] == word for r in found)
    )
    return Answer(
        command="compat",
        device=None,
        input=options,
        result={
            "verdict": best,
            "summary": summary,
            "driver": driver_fields(driver),
            "matrix": found,
        },
        rows=gpu_rows(found),
        blocks=lambda: blocks(found, summary),
        notes=held.notes,
        exit=_exit(best, options, held),
    )


def _exit(verdict: str, options: Mapping[str, Any], held: Held) -> Exit:
    if verdict in _WORSE[options["fail_on"]]:
        return Exit.THRESHOLD
    return Exit.UNAVAILABLE if held.damage else Exit.RAN


def _called(gpu: Device) -> str:
    if gpu.name == f"compute capability {gpu.capability}":
        return gpu.name
    return f"{gpu.name} ({gpu.capability})"


# GPUs named of each capability; the others are counted.
_NAMED = 3


def matrix(survey: Survey, driver: Driver | None) -> list[dict[str, Any]]:
    """Return the verdict on each capability of the catalogue, newest first, with its GPUs."""
    gpus: dict[Capability, list[str]] = {}
    for each in entries():
        gpus.setdefault(each.device.capability, []).append(each.device.name)
    return [_row(survey, gpu, gpus[gpu], driver) for gpu in sorted(gpus, reverse=True)]


def _row(
    survey: Survey, gpu: Capability, names: list[str], driver: Driver | None
) -> dict[str, Any]:
    verdict = judge(survey, gpu, driver)
    return {
        "compute_capability": str(gpu),
        "gpus": names,
        "verdict": str(verdict.outcome),
        "complete": is_complete(verdict),
        **counted(verdict),
        "reason": verdict.blocked,
    }


def gpu_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each GPU, as CSV and NDJSON list them."""
    return [{"gpu": name, **row, "gpus": None} for row in rows for name in row["gpus"]]


def blocks(records: Sequence[Mapping[str, Any]], summary: str) -> list[Block]:
    """Return the verdicts as a table, one line for each capability."""
    columns = (
        Column("cc"),
        Column("verdict"),
        *(Column(name, right=True) for name in ("runs", "jit", "fails")),
        Column("GPUs"),
    )
    rows = tuple(
        (
            Cell(row["compute_capability"]),
            Cell(row["verdict"], TONES[row["verdict"]]),
            *(Cell(f"{row[name]:,}") for name in ("runs", "jit", "fails")),
            Cell(_named(row["gpus"])),
        )
        for row in records
    )
    return [Line(summary), Table(columns=columns, rows=rows)]


def summary_of(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    """Return one sentence: on how many of the catalogue's GPUs it runs."""
    counts = {str(outcome): 0 for outcome in Outcome}
    for row in rows:
        counts[row["verdict"]] += len(row["gpus"])
    total = sum(counts.values())
    return (
        f"{what} runs on {counts['runs']:,} of {plural(total, 'GPU')} of the catalogue, "
        f"on {counts['jit']:,} after compilation by the driver, on {counts['fails']:,} not at all."
    )


def _named(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED:,} more")
    return and_list(shown)
