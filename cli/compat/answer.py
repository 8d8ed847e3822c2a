"""The fields of ``compat``: the contract that scripts rely on."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content, Entry
from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.compatibility.explain import alternatives_of, headline
from gpuadvise.advisor.compatibility.fit import (
    NEW_ABI_CUDA,
    Outcome,
    first_driver,
    fit,
    made_by_newer,
)
from gpuadvise.advisor.compatibility.gencode import fix_for
from gpuadvise.advisor.compatibility.rebuild import (
    better_elsewhere,
    has_all,
    is_worth_building,
    needed_by_all,
)
from gpuadvise.advisor.compatibility.releases import Version, branch_for_cuda, last_driver, show
from gpuadvise.advisor.compatibility.targets import number, virtual
from gpuadvise.advisor.compatibility.verdict import Verdict, is_lower_bound, judge
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, inert, plural, quoted
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, header
from gpuadvise.cli.compat import text
from gpuadvise.cli.compat.request import Held, SharedLibrary, driver_for, with_kernel_names
from gpuadvise.cli.compat.text import TONES
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.exits import exit_of
from gpuadvise.cli.options import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Holding, Survey
    from gpuadvise.advisor.device import Device


NONE = "none"  # no device code: an answer, and nothing that a gate could judge
# From harmless to serious: the worst file decides.
_ORDER = (NONE, "runs", "jit", "fails")
_NO_CODE = (
    "{} holds no device code{}: there is nothing in it for a driver to load. What a package "
    "compiles where it runs (Triton, NVRTC, Numba) is in no file."
)


def worst(verdicts: Iterable[str]) -> str:
    """Return the most serious of *verdicts*."""
    return max(verdicts, key=_ORDER.index, default=NONE)


def result(held: Sequence[Held], gpu: Device, driver: Driver | None) -> dict[str, Any]:
    """Return what becomes of the code of each file, and of all: the worst decides."""
    judged = [file_result(file, gpu, driver) for file in held]
    answers = [file["answer"] for file in judged]
    needed = max((file["needed"] for file in judged if file["needed"] is not None), default=None)
    with_code = [answer for answer in answers if answer["verdict"] != NONE]
    return {
        "verdict": worst(answer["verdict"] for answer in answers),
        "complete": bool(with_code) and all(answer["complete"] for answer in with_code),
        "summary": answers[0]["summary"] if len(answers) == 1 else _summary(answers, _called(gpu)),
        "driver": driver_fields(driver),
        "needed_driver": needed_fields(needed),
        "needed_driver_is": _exactness(judged),
        "newest_driver": needed_fields(last_driver(number(gpu.capability))),
        "modules": _summed([answer["modules"] for answer in answers]),
        "kernels": _kernels_of([answer for answer in answers if answer["verdict"] != NONE]),
        "answers": answers,
        "files": [row for file in judged for row in file["files"]],
        "entries": [row for file in judged for row in file["entries"]],
        "fix": fix_fields(gpu.capability, driver)
        if any(file["lacking"] for file in judged)
        else None,
        "libraries": [library_fields(lib, driver) for file in held for lib in file.libraries],
    }


def _exactness(judged: Sequence[Mapping[str, Any]]) -> str | None:
    """Return how far the driver that is needed can be trusted; None: none is known."""
    known = [file for file in judged if file["needed"] is not None]
    if not known:
        return None
    return "lower bound" if any(file["lower_bound"] for file in known) else "exact"


# libcudart.so.12, libcudart.so.11.0: the runtime needs a driver of its major version.
_RUNTIME = r"libcudart\.so\.(\d{1,3})(?:\.\d+)*"


def library_fields(library: SharedLibrary, driver: Driver | None) -> dict[str, Any]:
    """Return what a library asks the loader for, and the driver that the runtime among it needs."""
    majors = [int(m[1]) for name in library.dynamic.needed if (m := re.fullmatch(_RUNTIME, name))]
    needs = first_driver((max(majors), 0)) if majors else None
    return {
        "file": library.path,
        "needed": list(library.dynamic.needed),
        "search": list(library.dynamic.search),
        "needed_driver": needed_fields(needs),
        "driver_is_enough": None if needs is None or driver is None else driver.cuda >= needs,
    }


def file_result(held: Held, gpu: Device, driver: Driver | None) -> dict[str, Any]:
    """Return what becomes of the code of one file, in parts that ``result`` puts together."""
    survey = held.survey
    verdict = judge(survey, gpu.capability, driver)
    at_best = judge(survey, gpu.capability)
    alternatives = alternatives_of(verdict)
    needed = needed_by_all(survey, gpu.capability, alternatives)
    stubs = " but empty images that compilers leave behind" if survey.unloadable else ""
    summary = (
        _NO_CODE.format(held.name, stubs)
        if held.empty
        else headline(verdict, held.name, _called(gpu), needed)
    )
    return {
        "answer": {
            "file": held.path,
            "verdict": NONE if held.empty else str(verdict.outcome),
            "complete": verdict.complete,
            "summary": summary,
            "needed_driver": needed_fields(needed),
            "modules": counted(verdict),
            "kernels": kernel_fields(verdict),
            "better_elsewhere": not has_all(at_best) and better_elsewhere(survey, at_best),
            "alternatives": [
                {
                    "cuda": str(alternative),
                    "files": list(alternative.paths),
                    "verdict": str(alternative.outcome),
                }
                for alternative in alternatives
            ],
        },
        "needed": needed,
        "lower_bound": is_lower_bound(survey, gpu.capability),
        "files": files(verdict),
        "entries": [entry_fields(h, verdict, held.path) for h in survey.holdings],
        "lacking": not held.empty and not has_all(at_best) and is_worth_building(survey, at_best),
    }


def _kernels_of(answers: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """Return the names of all files' kernels, those of each file counted; None: of one not read."""
    counts = [answer["kernels"] for answer in answers]
    return _summed(counts) if counts and None not in counts else None


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(count[name] for count in counts) for name in counts[0]}


def _summary(answers: Sequence[Mapping[str, Any]], gpu: str) -> str:
    counts = Counter(answer["verdict"] for answer in answers)
    in_part = sum(answer["verdict"] == "runs" and not answer["complete"] for answer in answers)
    phrases = {
        "{} not at all": counts["fails"],
        "{} after compilation by the driver": counts["jit"],
        "{} in part": in_part,
        "{} as they are": counts["runs"] - in_part,
        "{} without device code": counts[NONE],
    }
    parts = [text.format(f"{count:,}") for text, count in phrases.items() if count]
    worst_one = next(answer for answer in answers if answer["verdict"] == worst(counts))
    return f"Of {len(answers):,} files on {gpu}: {and_list(parts)}. {worst_one['summary']}"


def driver_fields(driver: Driver | None) -> dict[str, Any] | None:
    """Return the driver that was judged; None: a recent one."""
    return {"cuda": show(driver.cuda), "version": driver.version} if driver else None


def needed_fields(cuda: Version | None) -> dict[str, Any] | None:
    """Return a driver by its CUDA version and the first branch that supports it."""
    return cuda and {"cuda": show(cuda), "branch": branch_for_cuda(cuda)}


def counted(verdict: Verdict) -> dict[str, int]:
    """Return how many modules run, must be compiled, and fail."""
    return {
        "total": verdict.total,
        **{str(outcome): verdict.count(outcome) for outcome in Outcome},
        "not_loadable": verdict.unloadable.total(),
    }


def kernel_fields(verdict: Verdict) -> dict[str, int] | None:
    """Return how many kernel names run, must be compiled, and are missing; None: not all were read."""
    kernels = verdict.kernels
    if kernels is None or verdict.blocked:
        return None
    return {
        "total": kernels.total,
        **{str(outcome): len(kernels.of(outcome)) for outcome in Outcome},
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
            "verdict": str(next(outcome for outcome in Outcome if outcomes[outcome])),
            **{str(outcome): outcomes[outcome] for outcome in Outcome},
        }
        for path, outcomes in sorted(counts.items())
    ]


def entry_fields(holding: Holding, verdict: Verdict, path: str) -> dict[str, Any]:
    """Return one kind of entry, and what the driver makes of it."""
    entry = holding.entry
    judged = fit(entry, verdict.gpu, verdict.driver)
    return {
        "kind": str(entry.content),
        "target": _target(entry),
        "ptx_version": show(entry.ptx_version) if entry.ptx_version else None,
        "first_toolkit": show(NEW_ABI_CUDA) if made_by_newer(entry) else None,
        "count": holding.times,
        "bytes": holding.size,
        "link_input": entry.link_input,
        "verdict": str(Outcome.FAILS if verdict.blocked else judged.outcome),
        "reason": verdict.blocked or judged.reason,
        "file": path,
        "toolkit": show(entry.toolkit) if entry.toolkit else None,
        "fits_gpu": fit(entry, verdict.gpu).outcome is not Outcome.FAILS,
    }


def _target(entry: Entry) -> str | None:
    if entry.capability is None:
        return None
    machine = entry.content in (Content.SASS, Content.STUB)
    return entry.capability.target if machine else virtual(entry.capability)


def fix_fields(gpu: Capability, driver: Driver | None = None) -> dict[str, Any]:
    """Return the compiler options that would add the missing code, which *driver* can take."""
    fix = fix_for(gpu, driver)
    return {
        "gencode": list(fix.gencode),
        "cmake": fix.cmake,
        "torch": fix.torch,
        "first_toolkit": show(fix.first_toolkit) if fix.first_toolkit else None,
        "last_toolkit": show(fix.last_toolkit) if fix.last_toolkit else None,
    }


def gpu_answer(
    held: Sequence[Held], options: Mapping[str, Any], choice: Choice, *, named: bool = False
) -> Answer:
    """Return what becomes of the files on the GPU of *choice*; *named*: ``with_names`` has seen them."""
    gpu = choice.device
    driver = driver_for(options["driver"], choice)
    readable = [file for file in held if not file.unreadable]
    if not named:
        readable = [with_names([gpu.capability], driver, file) for file in readable]
    fields = result(readable, gpu, driver)
    failed = _failed({answer["file"]: _gated(answer) for answer in fields["answers"]}, options)
    return Answer(
        command="compat",
        device=device_block(gpu),
        input=options,
        result={**fields, "not_judged": _not_judged(held)},
        rows=fields["entries"],
        blocks=lambda: text.blocks(fields, device_line(gpu)),
        notes=(*choice.notes, *(note for file in held for note in file.notes), *_short(fields)),
        failed=failed,
        exit=exit_of(failed, in_part=any(file.damage for file in held)),
    )


def with_names(gpus: Iterable[Capability], driver: Driver | None, file: Held) -> Held:
    """Return *file* with the names of its kernels where they decide what one of *gpus* lacks."""
    verdicts = [judge(file.survey, gpu, driver) for gpu in gpus]
    decides = any(verdict.mixed and not alternatives_of(verdict) for verdict in verdicts)
    several = any(
        sum(entry.content is Content.SASS for entry in modules.entries) > 1
        for modules in file.survey.loadable
    )
    size = sum(holding.size for holding in file.survey.holdings)
    runs = any(verdict.outcome is not Outcome.FAILS for verdict in verdicts)
    if decides or (several and runs and size <= _MOST_UNPACKED):
        return with_kernel_names(file)
    return file


# Stored bytes whose names are read in about a second even where all modules fare alike: an image may
# lack kernels that its neighbours for other targets have.
_MOST_UNPACKED = 1 << 26


def _short(result: Mapping[str, Any]) -> list[str]:
    """Return what to say of libraries whose CUDA runtime the driver is too old for."""
    if any(library["driver_is_enough"] for library in result["libraries"]):
        return []  # one of several builds
    return [
        f"{inert(os.path.basename(library['file']))} asks for a CUDA runtime that needs CUDA "
        f"{library['needed_driver']['cuda']} (driver {library['needed_driver']['branch']} or later): "
        "the program would not start."
        for library in result["libraries"]
        if library["driver_is_enough"] is False
    ][:_MOST_NAMED]


def matrix_answer(
    held: Sequence[Held], options: Mapping[str, Any], *, named: bool = False
) -> Answer:
    """Return what becomes of the files on each GPU of the catalogue: of each, the worst.

    *named*: ``with_names`` has seen them.
    """
    driver = read("driver", options["driver"])
    readable = [file for file in held if not file.unreadable]
    if not named:
        readable = [with_names(every_capability(), driver, file) for file in readable]
    tables = {file.path: matrix(file.survey, driver) for file in readable if not file.empty}
    best = {file.path: NONE for file in readable} | {
        path: min((row["verdict"] for row in rows), key=_ORDER.index)
        for path, rows in tables.items()
    }
    rows_of_all = [_merged(rows) for rows in zip(*tables.values(), strict=True)]
    name = readable[0].name if len(readable) == 1 else f"The code of {len(readable):,} files"
    summary = summary_of(rows_of_all, name) if rows_of_all else _NO_CODE.format(name, "")
    failed = _failed(best, options)
    return Answer(
        command="compat",
        device=None,
        input=options,
        result={
            "verdict": worst(best.values()),
            "summary": summary,
            "driver": driver_fields(driver),
            "matrix": rows_of_all,
            "not_judged": _not_judged(held),
        },
        rows=gpu_rows(rows_of_all),
        blocks=lambda: blocks(rows_of_all, summary),
        notes=tuple(note for file in held for note in file.notes),
        failed=failed,
        exit=exit_of(failed, in_part=any(file.damage for file in held)),
    )


def every_capability() -> set[Capability]:
    """Return the compute capabilities of the catalogue."""
    return {entry.device.capability for entry in entries()}


def _merged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one capability's row for all files."""
    return {
        **rows[0],
        **{name: sum(row[name] for row in rows) for name in _COUNTED},
        "verdict": worst(row["verdict"] for row in rows),
        "complete": all(row["complete"] for row in rows),
        "kernels": _kernels_of(rows),
    }


_COUNTED = ("total", *map(str, Outcome), "not_loadable")
_IN_PART = "in part"
_WORSE = {"jit": ("jit", _IN_PART, "fails"), "fails": (_IN_PART, "fails")}
_MOST_NAMED = 5


def _gated(answer: Mapping[str, Any]) -> str:
    """Return the verdict of one file by the worst of its kernels, or modules where no names are known.

    Of several builds for versions of CUDA a program takes one: there the verdict itself counts.
    """
    counts = answer["kernels"] or answer["modules"]
    if answer["verdict"] in (NONE, "fails") or answer["alternatives"] or not counts["total"]:
        return str(answer["verdict"])
    if counts["fails"]:
        return _IN_PART
    return "jit" if counts["jit"] else str(answer["verdict"])


def _failed(verdicts: Mapping[str, str], options: Mapping[str, Any]) -> list[str]:
    """Return why ``--fail-on`` says no; raises BadInput where there is nothing to judge."""
    limit = options["fail_on"]
    if limit is None:
        return []
    if set(verdicts.values()) <= {NONE}:
        names = and_list([quoted(path) for path in verdicts], "or")
        raise BadInput(
            f"--fail-on has nothing to compare: there is no device code in {names}.",
            hint="Python and C++ libraries may keep it in others.",
        )
    worse = [f"{inert(path)} ({v})" for path, v in verdicts.items() if v in _WORSE[limit]]
    return [f"--fail-on {limit}: {and_list(worse, most=_MOST_NAMED)}."] if worse else []


def _not_judged(held: Sequence[Held]) -> list[dict[str, str]]:
    return not_judged.records(not_judged.of_damage(part for file in held for part in file.damage))


def _called(gpu: Device) -> str:
    if gpu.name == f"compute capability {gpu.capability}":
        return gpu.name
    return f"{gpu.name} ({gpu.capability})"


# GPUs named of each capability; the others are counted.
_NAMED = 3


def matrix(survey: Survey, driver: Driver | None) -> list[dict[str, Any]]:
    """Return the verdict on each capability of the catalogue, newest first, with its GPUs."""
    gpus: dict[Capability, list[str]] = {}
    for entry in entries():
        gpus.setdefault(entry.device.capability, []).append(entry.device.name)
    return [_row(survey, gpu, gpus[gpu], driver) for gpu in sorted(gpus, reverse=True)]


def _row(
    survey: Survey, gpu: Capability, names: list[str], driver: Driver | None
) -> dict[str, Any]:
    verdict = judge(survey, gpu, driver)
    return {
        "compute_capability": str(gpu),
        "gpus": names,
        "verdict": str(verdict.outcome),
        "complete": verdict.complete,
        **counted(verdict),
        "kernels": kernel_fields(verdict),
        "reason": verdict.blocked,
    }


def gpu_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each GPU, as CSV and NDJSON list them."""
    flat: list[dict[str, Any]] = []
    for row in rows:
        older = {**row, "gpus": None}
        # A column that came later stands behind the older ones: scripts count columns.
        last = {"kernels": older.pop("kernels")}
        flat += ({"gpu": name, **older, **last} for name in row["gpus"])
    return flat


def blocks(records: Sequence[Mapping[str, Any]], summary: str) -> list[Block]:
    """Return the verdicts as a table, one line for each capability that can use the code."""
    columns = header("cc", "verdict", ">runs", ">jit", ">fails", Column("GPUs", prose=True))
    useful = [row for row in records if row["verdict"] != Outcome.FAILS]
    by_name = all(row["kernels"] and row["kernels"]["total"] for row in useful)
    rows = tuple(
        (
            Cell(row["compute_capability"]),
            Cell(_IN_PART, Tone.POOR)
            if _lacks_kernels(row)
            else Cell(row["verdict"], TONES[row["verdict"]]),
            *(
                Cell(f"{(row['kernels'] if by_name else row)[name]:,}")
                for name in ("runs", "jit", "fails")
            ),
            Cell(and_list(row["gpus"], most=_NAMED)),
        )
        for row in useful
    )
    left = [row["compute_capability"] for row in records if row not in useful]
    page: list[Block] = [Line(summary), Table(columns, rows)] if rows else [Line(summary)]
    if left:
        page.append(Line(f"Not on compute capability {and_list(left)}.", Tone.FAINT))
    if rows:
        counted_are = "kernels, each name once" if by_name else "code modules"
        page.append(Line(f"The columns count {counted_are}.", Tone.FAINT))
    return page


def summary_of(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    """Return one sentence: on how many of the catalogue's GPUs it runs."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[_IN_PART if _lacks_kernels(row) else row["verdict"]] += len(row["gpus"])
    in_part = f"on {counts[_IN_PART]:,} in part, " if counts[_IN_PART] else ""
    return (
        f"{what} runs on {counts['runs']:,} of {plural(counts.total(), 'GPU')} of the catalogue, {in_part}"
        f"on {counts['jit']:,} after compilation by the driver, on {counts['fails']:,} not at all."
    )


def _lacks_kernels(row: Mapping[str, Any]) -> bool:
    """Return whether GPUs that run some of the kernels find nothing for others; modules alone do not tell."""
    return bool(row["verdict"] != Outcome.FAILS and row["kernels"] and row["kernels"]["fails"])
