"""``gpuadvise skill``: when to use which command, and how to read it, for agents that have a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = """\
  gpuadvise skill
  gpuadvise skill > .claude/skills/gpuadvise/SKILL.md"""


class Route(NamedTuple):
    """What somebody asks, and the command to start with."""

    when: str
    line: str


# When a harness should open the page at all: it decides by this text alone.
WHEN = (
    "Find what limits CUDA kernels, GPU training or inference runs, and what to change first. Use to profile, and when a kernel, "
    "PyTorch, Triton or JAX program on an NVIDIA GPU is slow; for ncu, nsys or torch profiler files; for occupancy, "
    "registers, spills, bank conflicts, coalescing, memory or compute bound, copies and overlap; for wheels and no kernel image "
    "errors; to check a claimed speed-up. Not for wrong results, installing drivers, AMD or Apple GPUs, or code "
    "that runs on the CPU alone."
)
ROUTES = (
    Route("kernel slow, ncu report or its CSV page", "gpuadvise advise report.ncu-rep kernel.cu --format ledger"),
    Route("training or inference step slow, torch profiler trace, nsys SQLite, GPU idle, data loader", "gpuadvise timeline trace.json"),
    Route("nothing recorded yet, profile a program", "gpuadvise run --keep trace.json -- python train.py"),
    Route("source review of .cu or .py before it runs, synchronisation, item() in a loop", "gpuadvise lint FILE..."),
    Route("occupancy of registers, block size, shared memory", "gpuadvise occupancy --regs 72 --block 256 --gpu h100"),
    Route("spills and registers of a cubin, library, build log", "gpuadvise kernels FILE --sort registers"),
    Route("two builds or versions differ, regression", "gpuadvise diff OLD NEW"),
    Route("no kernel image, wheel or library on another GPU or driver", "gpuadvise compat FILE --gpu l4"),
    Route("claimed time, speed-up or TFLOPS plausible, memory or compute bound, roofline", "gpuadvise roofline --flops 2e9 --bytes 24GB --time 5ms --dtype fp32 --gpu h100"),
    Route("copies, streams, pinned memory, overlap with kernels", "gpuadvise overlap --h2d 64MiB --kernel 3ms --gpu h100"),
    Route("GPU figures: SMs, bandwidth, peaks, L2 of a card", "gpuadvise gpus h100-sxm h200"),
    Route("a term: wave, sector, carveout", "gpuadvise explain WORD"),
    Route("a rule that an answer names", "gpuadvise rules ID"),
)  # fmt: skip
_READING = """\
- A ledger row: time, share of the run, SM and memory speed of light in per cent, occupancy, bound class (compute,
  memory, latency, balanced, comm), then whether the kernel can be faster and whether it should be fused. null is
  not known: record more, never guess.
- Start with action 1. "about 1.4x" is what such repairs won, "at most" a bound. A gain "of all" counts for the run.
- Quote the numbers you rest on. Change one thing, record again, compare durations: a share of a roof can fall
  while the kernel gets faster.
- No report of the kernel yet: `ncu --set full --import-source yes -k regex:NAME -c 3 -o report ./app`, and
  `-lineinfo` in the build for lines.
- Missing counters (ERR_NVGPUCTRPERM) need an administrator; timelines do not.
- Short answers: --limit N; one value: --get FIELD (--get list names them); data: --format json.
- Exit codes: 0 ran, 1 a threshold that you set was met, 2 bad input, 3 something is not there. Errors say what to write.
- No GPU is needed but for device, doctor, measure and run. Without --gpu the GPU here is meant, else a default.
"""


def command() -> Exit:
    """Print the page: front matter that says when to use it, routes, reading, all commands."""
    stream(f"{line}\n" for line in _page())
    return Exit.RAN


def page() -> str:
    """Return the page as Markdown."""
    return "".join(f"{line}\n" for line in _page())


def _page() -> Iterator[str]:
    from gpuadvise.cli.app import QUESTIONS

    yield from ("---", "name: gpuadvise", f"description: {WHEN}", "---", "")
    yield from (
        "# gpuadvise",
        "",
        "## Which command first",
        "",
        "| when | start with |",
        "| --- | --- |",
    )
    yield from (f"| {route.when} | `{route.line}` |" for route in ROUTES)
    yield from ("", "`gpuadvise FILE` alone picks the command by the file's content.", "")
    yield from ("## How to read the answers", "", _READING.rstrip(), "", "## All commands", "")
    for title, rows in QUESTIONS.items():
        yield f"- {title} {', '.join(f'`{row.name}`' for row in rows)}"
    yield from ("", "`gpuadvise COMMAND --help` has options and examples.")
