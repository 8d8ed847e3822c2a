"""The tools: each asks the library, and answers in Markdown. Nothing here knows the protocol.

The signature of a tool is what a client sees: plain types, with an empty value for what is not said.
Its docstring is the description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gpuadvise
from gpuadvise.advisor.errors import BadInput
from gpuadvise.servers.mcp.compare import compared
from gpuadvise.servers.mcp.markdown import USUAL_BYTES, cut, shown
from gpuadvise.servers.mcp.next_command import Goal, wanted_command
from gpuadvise.servers.mcp.plausible import verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.cli.answer import Answer as CommandAnswer

# Rows of lists where no limit is given.
_ROWS = 10


def judge(
    files: tuple[str, ...],
    gpu: str = "",
    filter: str = "",
    limit: int = 0,
    fields: tuple[str, ...] = (),
) -> str:
    """Start here when something is slow and was recorded (ncu report or its CSV, torch/nsys/JAX trace; add sources for lines): ledger per kernel (time, share, SM and memory speed of light, occupancy, bound class, faster?, fusion?) and at most three actions with expected gain."""
    answer = gpuadvise.ledger(*files, gpu=gpu or None, filter=filter or None, limit=limit or None)
    return shown(answer, fields, limit=limit)


def advise(
    files: tuple[str, ...] = (), gpu: str = "", regs: int = 0, block: str = "", grid: str = "",
    smem: str = "", filter: str = "", limit: int = 0, fields: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """List findings with evidence, gain and source for files (report, trace, binary, build log, .cu, .py), or for one launch given by regs, block, grid, smem. Longer than judge."""
    launch: dict[str, Any] = {"regs": regs or None, "block": block or None}
    launch |= {"grid": grid or None, "smem": smem or None}
    answer = gpuadvise.advise(
        *files, gpu=gpu or None, filter=filter or None, limit=limit or None,
        **{name: value for name, value in launch.items() if value is not None},
    )  # fmt: skip
    return shown(answer, fields, limit=limit)


def occupancy(
    regs: int,
    block: str = "",
    smem: str = "",
    grid: str = "",
    gpu: str = "",
    fields: tuple[str, ...] = (),
) -> str:
    """Blocks and warps per SM of a launch, what limits them, what would raise them. block: 256 or 16x16; smem: shared memory per block, 48K; without block one is chosen."""
    answer = gpuadvise.occupancy(
        regs=regs, block=block or None, smem=smem or None, grid=grid or None, gpu=gpu or None
    )
    return shown(answer, fields)


def gpus(query: str = "", fields: tuple[str, ...] = ()) -> str:
    """GPUs (cards) of the catalogue compared: SMs, memory, bandwidth, peaks. query: names (h100-sxm h200), or words that they must have; empty: all."""
    return shown(gpuadvise.gpus(*query.split()), fields)


def kernels(
    files: tuple[str, ...], gpu: str = "", filter: str = "", sort: str = "", limit: int = 0,
    fields: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """List registers, shared memory, spills and occupancy of the kernels in cubins, libraries, wheels, PTX, build logs. filter: regular expression; sort: registers, spills, ..."""
    answer = gpuadvise.kernels(
        *files, gpu=gpu or None, filter=filter or None, sort=sort or None, limit=limit or _ROWS
    )
    return shown(answer, fields, limit=limit)


def compat(
    files: tuple[str, ...], gpu: str = "", driver: str = "", fields: tuple[str, ...] = ()
) -> str:
    """Whether device code in libraries, wheels or cubins runs on a GPU, must be compiled first, or fails (no kernel image), and why. Without gpu: all of the catalogue."""
    answer = gpuadvise.compat(*files, gpu=gpu or None, driver=driver or None, all_gpus=not gpu)
    return shown(answer, fields)


def diff(old: str, new: str, filter: str = "", fields: tuple[str, ...] = ()) -> str:
    """Say what changed for each kernel between two builds (registers, spills, occupancy) or two recorded runs. For times use compare."""
    return shown(gpuadvise.diff(old, new, filter=filter or None), fields)


def lint(files: tuple[str, ...], fields: tuple[str, ...] = (), limit: int = 0) -> str:
    """Find performance faults that CUDA and PyTorch sources show before anything runs, with lines and fixes. Folders are searched."""
    return shown(gpuadvise.lint(*files), fields, limit=limit)


def timeline(
    files: tuple[str, ...], gpu: str = "", limit: int = 0, fields: tuple[str, ...] = ()
) -> str:
    """Where the time of a recorded run went (PyTorch trace, nsys SQLite, JAX): idle and why, copies, kernels, overlap, steps, what could be saved."""
    return shown(
        gpuadvise.timeline(*files, gpu=gpu or None, limit=limit or _ROWS), fields, limit=limit
    )


def overlap(
    h2d: str = "", kernel: str = "", d2h: str = "", gpu: str = "", fields: tuple[str, ...] = ()
) -> str:
    """How much staging copies beside a kernel in streams saves, and how many streams. h2d, d2h: bytes or time (64MiB, 3ms); kernel: time."""
    answer = gpuadvise.overlap(
        h2d=h2d or None, kernel=kernel or None, d2h=d2h or None, gpu=gpu or None
    )
    return shown(answer, fields)


def roofline(
    flops: str,
    bytes: str,
    time: str = "",
    dtype: str = "",
    gpu: str = "",
    fields: tuple[str, ...] = (),
) -> str:
    """Memory- or compute-bound, and the least time: flops (2e9), bytes of device memory (24GB), time, dtype (fp32, fp16, ...)."""
    answer = gpuadvise.roofline(
        flops=flops, bytes=bytes, time=time or None, dtype=dtype or None, gpu=gpu or None
    )
    return shown(answer, fields)


def plausible(time: str, flops: str = "", bytes: str = "", dtype: str = "", gpu: str = "") -> str:
    """Whether a claimed kernel time is possible: verdict against the roof of the GPU (impossible, at the roof, plausible, slow). Check a speed-up with it before you believe it."""
    return cut(verdict(time=time, flops=flops, bytes=bytes, dtype=dtype, gpu=gpu), USUAL_BYTES)


def compare(before: str, after: str, limit: int = 0) -> str:
    """Whether a change made it faster, by absolute duration per kernel and in all: two reports or traces of the same work. Percentages of a roof can fall while a kernel gets faster."""
    return cut(compared(before, after, rows=limit or _ROWS), USUAL_BYTES)


def next_command(
    files: tuple[str, ...] = (), goal: Goal = "slow", program: str = "./app", kernel: str = ""
) -> str:
    """Give the exact ncu, nsys, torch or gpuadvise line to profile a program (the user's command): what is still missing beside the evidence so far (files), or where nothing is recorded yet."""
    return cut(wanted_command(files, goal=goal, program=program, kernel=kernel), USUAL_BYTES)


def explain(word: str) -> str:
    """Explain a term of GPU performance (wave, sector, carveout, ...), or a rule that judge or advise named, with an example before and after."""
    from gpuadvise.cli.explain.command import command as of_term
    from gpuadvise.cli.rules.command import command as of_rule
    from gpuadvise.rules.guide import RULES

    is_rule = any(word == rule.id for rule in RULES)
    return cut(_text(of_rule(word) if is_rule else of_term(word.split())), USUAL_BYTES)


def _text(answer: CommandAnswer) -> str:
    from gpuadvise.cli.render import markdown

    return markdown.render(answer.blocks()).strip()


TOOLS: tuple[Callable[..., str], ...] = (
    judge, advise, next_command, compare, plausible, timeline, kernels, compat, diff, lint,
    occupancy, roofline, overlap, gpus, explain,
)  # fmt: skip
# Arguments that name files, by tool; the others' answers are computed from what was said alone.
FILES = {"files", "old", "new", "before", "after"}


def tool_named(name: str) -> Callable[..., str]:
    """Return the tool *name*; raises BadInput."""
    for tool in TOOLS:
        if tool.__name__ == name:
            return tool
    raise BadInput(f"There is no tool {name!r}.")
