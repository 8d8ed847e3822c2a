"""Short and older ways to write a command line, as the options that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection

# (command, older name) -> name: what was written before keeps its meaning, with a note.
RENAMED = {("compat", "--matrix"): "--all-gpus", ("timeline", "--top"): "--limit"}
# Unit and largest value of bare numbers that were written before every share and time had one.
_UNITS = {"--carveout": ("%", 100), "--watch": ("s", 86_400)}

# What compilers, profilers and other libraries call an option, without dashes -> names here; the
# first that a command has is meant. Names of nvcc, ptxas, ncu, nsys, cuobjdump and
# nvidia-smi, of Triton, Numba and CuPy, and of the occupancy calculators.
_ELSEWHERE = (
    (
        "registers registers-per-thread regs-per-thread reg nregs n-regs num-regs "
        "numregs maxrregcount max-registers maxreg register-usage register",
        ("--regs", "--registers"),
    ),
    (
        "threads threads-per-block block-size blocksize block-dim blockdim tpb "
        "num-threads nthreads threadsperblock num-warps maxntid",
        ("--block",),
    ),
    (
        "blocks grid-size gridsize grid-dim griddim blocks-per-grid num-blocks blockspergrid",
        ("--grid",),
    ),
    (
        "shared shared-mem shared-memory sharedmem shared-mem-per-block shmem "
        "static-shared shared-memory-per-block static-shared-memory",
        ("--smem",),
    ),
    (
        "dynamic-shared dynamic-shared-memory dynamic-shared-mem dynamic-smem-bytes",
        ("--dynamic-smem",),
    ),
    (
        "arch gpu-architecture gpu-arch gpu-code gencode generate-code sm compute "
        "compute-capability capability target",
        ("--arch", "--cc"),
    ),
    ("gpu-name card model", ("--gpu",)),
    ("i id gpu-id gpu-index device-id devices index", ("--device",)),
    ("query-gpu query field fields jq query-compute-apps", ("--get",)),
    ("csv xml o output out export outfile markdown yaml", ("--format",)),
    ("k kernel-name kernel-regex regex name grep match", ("--filter",)),
    ("list-elf lelf list-ptx lptx list-text", ("--list",)),
    ("maxwarps resident-warps active-warps", ("--warps",)),
    ("duration runtime elapsed ms us", ("--time", "--kernel")),
    ("bytes traffic bytes-moved", ("--bytes", "--read")),
    ("topic priority rule", ("--select",)),
    ("bytes-read read-bytes dram-read loads-bytes", ("--read",)),
    ("bytes-written write-bytes dram-write", ("--write",)),
    ("element-size itemsize elem-size size-of sizeof", ("--word",)),
    ("padding", ("--pad",)),
    ("htod host-to-device copy-in to-device", ("--h2d",)),
    ("dtoh device-to-host copy-out to-host", ("--d2h",)),
    ("nstreams num-streams n-streams", ("--streams",)),
    ("pieces n-chunks num-chunks", ("--chunks",)),
    ("plot-file chart graph draw", ("--show", "--plot")),
    ("threshold min-occupancy fail", ("--fail-under", "--fail-on")),
    ("check strict", ("--fail-on", "--fail-under")),
    ("no-color no-colour colour nocolor", ("--color",)),
    ("l loop watch-interval interval", ("--watch",)),
    ("flop gflops flop-count", ("--flops",)),
    ("memory-bandwidth bw", ("--bandwidth",)),
    ("precision type data-type", ("--dtype",)),
    ("p fraction serial parallel-fraction", ("--parallel",)),
    ("n cores procs num-procs gpus", ("--processors", "--all-gpus")),
)


def meant(word: str, options: Collection[str]) -> str | None:
    """Return which of *options* the option *word* of another tool means, if any."""
    name = word.partition("=")[0].lstrip("-").replace("_", "-").lower()
    for names, here in _ELSEWHERE:
        if name in names.split():
            return next((option for option in here if option in options), None)
    return None


# What else is as often meant by such a name.
_MEANT_AS_OFTEN = {
    "--grid": " --block takes the threads of one.",
    "--format": " Into a file: > FILE.",
}


def also_meant(option: str) -> str:
    """Return a sentence on what the name of another tool may mean beside *option*; "" for nothing."""
    return _MEANT_AS_OFTEN.get(option, "")


def current(command: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return *arguments* of *command* as its options are spelled, and notes on what changed.

    Raises BadInput for ``--json`` beside another format.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, notes = list(arguments[:end]), list[str]()
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else None
        name, joined, value = word.partition("=")
        if (command, name) in RENAMED:
            words[place] = RENAMED[command, name] + joined + value
            notes.append(f"{name} is now called {RENAMED[command, name]}.")
        elif word == "--plot" and (following is None or following.startswith("-")):
            words[place] = "--show"
            notes.append("--plot without a FILE draws in the terminal: write --show.")
        elif word in _UNITS and _is_number(following, _UNITS[word][1]):
            words[place + 1] = f"{following}{_UNITS[word][0]}"
            notes.append(f"{word} {following} is read as {words[place + 1]}: write it so.")
        elif (command, word) == ("advise", "--offset") and _is_number(following):
            notes.append(f"--offset {following} counts elements: write {following}B for bytes.")
    return _with_format(words) + arguments[end:], notes


def _is_number(text: str | None, largest: int = 10**18) -> bool:
    """Return whether *text* is a bare whole number up to *largest*; 0 is the same in any unit."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > len(str(largest)):
        return False
    return 0 < int(text) <= largest


def _with_format(words: list[str]) -> list[str]:
    """Return *words* with ``--format json`` for ``--json``."""
    rest = [word for word in words if word != "--json"]
    if len(rest) == len(words):
        return words
    if any(word.startswith(("--format", "-f")) for word in rest):
        raise BadInput("--json and --format do not go together.", hint="--json is --format json.")
    return [*rest, "--format", "json"]
