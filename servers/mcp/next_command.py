"""The command that records what is still missing, ready to run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import gpuadvise
from gpuadvise.advisor.facts.library_kernels import base_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.api.answers.timeline import TimelineKernel

Goal = Literal["slow", "run", "kernel", "lines", "memory", "compare"]
# ncu runs each launch some 40 times: a few say what all do.
_LAUNCHES = 3
_KERNELS = 3
# Launches that may still compile or try algorithms.
_WARM = 10
_ADMIN = (
    "ERR_NVGPUCTRPERM: counters are for administrators. Run it with sudo, or have the driver loaded with "
    "NVreg_RestrictProfilingToAdminUsers=0 (in a container also --cap-add SYS_ADMIN). Without counters nsys and "
    "PyTorch's profiler still record times: next_command with goal run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hot:
    """A kernel worth a profile, and how often it ran."""

    name: str
    launches: int


def wanted_command(files: Sequence[str], *, goal: Goal, program: str, kernel: str) -> str:
    """Return what to record next and the line for it, as Markdown.

    *files* is the evidence so far; *kernel* names the one to look at, where that is known.
    """
    words = " ".join(program.split()) or "./app"
    known = _known(files)
    hot = [Hot(name=kernel, launches=0)] if kernel else _hot(files, known)
    match _step(goal, known, hot):
        case "run":
            lines = _record_run(words)
        case "lines":
            lines = _profile(words, hot, with_lines=True)
        case "memory":
            lines = _memory(words)
        case "compare":
            lines = _compare(words, hot)
        case _:
            lines = _profile(words, hot, with_lines=False)
    return "\n".join(lines)


def _step(goal: Goal, known: set[str], hot: Sequence[Hot]) -> Goal:
    """Return what to record: with *goal* slow what the evidence lacks, from the run to the lines."""
    if goal != "slow":
        return goal
    if "counters" in known:
        return "compare" if "lines" in known else "lines"
    return "kernel" if hot else "run"


def _known(files: Sequence[str]) -> set[str]:
    """Return what *files* hold: a run, counters of kernels, their lines."""
    if not files:
        return set()
    known: set[str] = set()
    for kernel in gpuadvise.read(*files).kernels:
        profile: Any = kernel.facts.get("profile") or {}
        known |= {"run"} if "timeline" in kernel.facts else set()
        known |= {"counters"} if profile else set()
        known |= {"lines"} if profile.get("lines") else set()
    if "counters" in known and any(
        action.line for action in gpuadvise.ledger(*files).result.actions
    ):
        known.add("lines")  # a source beside the report tells them
    return known


def _hot(files: Sequence[str], known: set[str]) -> list[Hot]:
    """Return the kernels of a recorded run that take most of its time, else those of a report."""
    if "run" in known:
        rows: Sequence[TimelineKernel] = gpuadvise.timeline(*files, limit=0).result.kernels or ()
        longest = [(row.name, row.calls) for row in rows]
    elif "counters" in known:
        longest = [
            (row.name or "", row.launches) for row in gpuadvise.ledger(*files).result.kernels
        ]
    else:
        return []
    launches: dict[str, int] = {}
    for name, calls in longest:
        base = base_name(name)
        launches[base] = launches.get(base, 0) + calls
    plain = [name for name in launches if name.isidentifier()]
    return [Hot(name=name, launches=launches[name]) for name in plain[:_KERNELS]]


def _record_run(program: str) -> list[str]:
    python = any(word.endswith(".py") or "python" in word for word in program.split())
    lines = ["First record the run: where the time goes, and which kernels matter."]
    if python:
        lines += _code(f"gpuadvise run --keep trace.json -- {program}")
        lines.append(
            "It records some steps of a PyTorch program after its first ones. For your own loop: "
            "torch.profiler.profile(activities=[CPU, CUDA]) over 3 steps behind 10 others, "
            'export_chrome_trace("trace.json").'
        )
    lines.append("Any program:" if not python else "Without PyTorch:")
    lines += _code(
        f"nsys profile --trace=cuda,nvtx,osrt --force-overwrite=true -o run {program}",
        "nsys export --type=sqlite --force-overwrite=true -o run.sqlite run.nsys-rep",
    )
    lines.append(
        f"Then: judge {'trace.json or ' if python else ''}run.sqlite. It needs no counters."
    )
    return lines


def _profile(program: str, hot: Sequence[Hot], *, with_lines: bool) -> list[str]:
    what = "the lines of the source" if with_lines else "what the units of the GPU do"
    names = ", ".join(each.name for each in hot)
    lines = [f"Record {what}{f' in {names}' if names else ''}."]
    if with_lines:
        lines.append("Compile with nvcc -lineinfo (Triton and torch.compile have lines already).")
    lines += _code(" ".join(_ncu(program, hot, with_lines=with_lines)))
    if any(each.launches > _WARM for each in hot):
        lines.append("--launch-skip passes over launches that may compile or try algorithms.")
    lines += [_ADMIN, "Then: judge report.ncu-rep, with the source file beside it for the line."]
    return lines


def _ncu(program: str, hot: Sequence[Hot], *, with_lines: bool) -> Iterator[str]:
    yield "ncu --set full"
    if with_lines:
        yield "--import-source yes"
    if hot:
        pattern = f"^({'|'.join(each.name for each in hot)})$"
        yield f"--kernel-name {shlex.quote(f'regex:{pattern}')}"
    fewest = min((each.launches for each in hot), default=0)
    skip = _WARM * len(hot) if fewest > _WARM + _LAUNCHES else 0
    if skip:
        yield f"--launch-skip {skip}"
    yield f"--launch-count {_LAUNCHES * max(1, len(hot))}"
    yield f"-f -o report {program}"


def _memory(program: str) -> list[str]:
    return [
        "Record what memory holds, and when it was allocated.",
        *_code(
            f"nsys profile --trace=cuda,nvtx --cuda-memory-usage=true --force-overwrite=true -o run {program}",
            "nsys export --type=sqlite --force-overwrite=true -o run.sqlite run.nsys-rep",
        ),
        "Then: timeline run.sqlite, and advise run.sqlite.",
    ]


def _compare(program: str, hot: Sequence[Hot]) -> list[str]:
    return [
        "Nothing is missing: do the first action of judge, then record the same again and compare.",
        *_code("mv report.ncu-rep before.ncu-rep", " ".join(_ncu(program, hot, with_lines=True))),
        "Then: compare before.ncu-rep report.ncu-rep.",
    ]


def _code(*commands: str) -> list[str]:
    return ["```sh", *commands, "```"]
