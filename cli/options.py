"""The table of options: every option of every command, spelled, read and explained once.

A command picks its options by name, in its signature or in a record of options, and gets their values
(``cli/parameters.py``); what it takes as text it reads with `read`. An option means the same
in each command that has it; where the meaning needs more words there, the command gives its own
help. ``--all`` is one option with three helps: it leaves nothing out of a command's list.
"""

# No postponed annotations here: records of options are read at every start.

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from gpuadvise.advisor import values as v
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.values import Reader
from gpuadvise.cli import completion
from gpuadvise.cli.parameters import OptionSpec

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice, Depth

S = TypeVar("S")
T = TypeVar("T")


class Option(NamedTuple):  # made for the whole table at every start
    """One option.

    *key*: where a kernel description holds the value, from the outermost table inwards.
    *spellings* are those besides ``--name``; of a switch, the way to turn it off.
    """

    metavar: str  # empty: a switch
    help: str
    read: Reader = str
    key: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    complete: Callable[..., Any] | None = None


# Limits that are not a reader's own: beyond them a number is a slip of the keyboard.
_MOST_REGISTERS = 65_536  # of a whole SM
_MOST_BARRIERS = 1024
_LARGEST_ELEMENT = 4096  # bytes, as advisor.memory.word_size
_LANES = 32
_MOST_PIECES = 4096  # as advisor.transfers.pipeline
_MOST_TRIED = 128  # stream counts; devices have 128 hardware queues at most
_MOST_COLUMNS = 2**16
_MOST_ELEMENTS = 2**40
_MOST_PROCESSORS = 10**9
_MOST_CYCLES = 100_000
_MOST_PARALLEL = 1024

_LAUNCH = {
    "regs": Option("N", "Registers per thread.", v.whole(1, _MOST_REGISTERS), ("regs",)),
    "block": Option("SIZE", "Threads per block: 256 or 16x16.", v.block, ("block",)),
    "grid": Option("SIZE", "Blocks in the grid: 1024 or 64x64.", v.dims, ("grid",)),
    "smem": Option(
        "SIZE", "Static shared memory per block: 16K.", v.shared_size, ("smem",), ("--static-smem",)
    ),
    "dynamic_smem": Option(
        "SIZE", "Dynamic shared memory per block.", v.shared_size, ("dynamic_smem",)
    ),
    "smem_per_thread": Option(
        "SIZE", "Dynamic shared memory per thread of a block.", v.shared_size
    ),
    "max_dynamic_smem": Option(
        "SIZE",
        "The opt-in attribute for dynamic shared memory, where it is set.",
        v.shared_size,
        ("max_dynamic_smem",),
    ),
    "carveout": Option(
        "SHARE", "Preferred shared-memory carveout: 50% or 0.5.", v.per_cent, ("carveout",)
    ),
    "barriers": Option("N", "Named barriers used.", v.whole(0, _MOST_BARRIERS), ("barriers",)),
    "cluster": Option("SIZE", "Blocks per cluster: 2 or 2x2.", v.dims, ("cluster",)),
    "nonportable_cluster": Option(
        "", "More than 8 blocks per cluster are allowed.", v.flag, ("nonportable_cluster",)
    ),
    "launch_bounds": Option(
        "T[,B]", "Arguments of __launch_bounds__(T, B).", v.launch_bounds, ("launch_bounds",)
    ),
    "cache": Option(
        "PREFERENCE",
        "Before cc 7.0: none, shared, l1 or equal.",
        v.one_word("none", "shared", "l1", "equal"),
    ),
    "no_opt_in": Option("", "Dynamic memory beyond 48 KiB is not opted in.", v.flag),
}
_KERNEL = {
    "name": Option("NAME", "Name of the kernel.", v.text, ("name",)),
    "elements": Option("N", "Elements the kernel works on.", v.whole(1), ("elements",)),
    "syncs": Option(
        "", "The kernel uses __syncthreads().", v.flag, ("syncs",), ("--syncs/--no-syncs",)
    ),
    "concurrent": Option(
        "", "It runs beside other kernels.", v.flag, ("concurrent",), ("--concurrent/--alone",)
    ),
    "ilp": Option(
        "N", "Independent instructions in a row.", v.number(1, _MOST_PARALLEL), ("ilp",)
    ),
    "latency": Option(
        "CYCLES", "Latency of dependent arithmetic.", v.whole(1, _MOST_CYCLES), ("latency",)
    ),
    "memory_latency": Option("N|TIME", "Of global memory: cycles (500) or a time (600ns)."),
    "loads": Option("N", "Independent loads of each thread.", v.whole(1, _MOST_PARALLEL)),
    "warps": Option("N", "Warps resident on each SM.", v.whole(1)),
    "time": Option("TIME", "Time of the kernel: 550us, 3ms.", v.seconds),
    "total_time": Option("TIME", "Time of the whole run.", v.seconds, ("total_time",)),
    "read": Option("SIZE", "Bytes read from device memory.", v.size, ("traffic", "read")),
    "write": Option("SIZE", "Bytes written to device memory.", v.size, ("traffic", "write")),
    "reported_rate": Option(
        "RATE", "A bandwidth that somebody computed.", v.rate, ("traffic", "reported_rate")
    ),
    "flops": Option(
        "N", "Operations of the kernel: 2e12, 2TFLOP.", v.operations, ("work", "flops")
    ),
    "bytes": Option(
        "SIZE", "Bytes it moves to and from device memory.", v.moved_bytes, ("work", "bytes")
    ),
    "dtype": Option(
        "TYPE", "Number type: fp64, fp32, bf16, bf16_tensor, int8, ...", v.number_type,
        ("work", "dtype"), complete=completion.number_types,
    ),
    "tensor": Option(
        "", "Tensor cores, or ordinary units.", v.flag, ("work", "tensor"), ("--tensor/--no-tensor",)
    ),
    "spill_stores": Option(
        "SIZE", "Spill stores, from ptxas -v.", v.size, ("compiled", "spill_stores")
    ),
    "spill_loads": Option(
        "SIZE", "Spill loads, from ptxas -v.", v.size, ("compiled", "spill_loads")
    ),
    "stack": Option("SIZE", "Stack frame, from ptxas -v.", v.size, ("compiled", "stack")),
    "code": Option("LIST", "Device code in the program: sm_80,compute_90.", str, ("code",)),
    "compile_flags": Option("FLAGS", "Flags of the compiler.", str, ("compile_flags",)),
    "driver": Option("VERSION", "CUDA 12.4, or driver 550.54.14.", v.driver, ("driver",)),
}  # fmt: skip
_MEMORY = {
    "word": Option(
        "BYTES", "Size of the element each lane takes.", v.whole(1, _LARGEST_ELEMENT),
        ("accesses", "word"),
    ),
    "stride": Option(
        "N", "Elements between two lanes, or 12B in bytes.", v.distance, ("accesses", "stride")
    ),
    "offset": Option(
        "N", "First element, or 16B in bytes.", v.distance, ("accesses", "offset")
    ),
    "row_bytes": Option(
        "SIZE", "Width of a row of a 2-D array.", v.size, ("accesses", "row_bytes")
    ),
    "space": Option(
        "SPACE", "Memory: global, shared or constant.", str, ("accesses", "space"),
        complete=completion.words("global", "shared", "constant"),
    ),
    "threads": Option("N", "Active lanes, 1 to 32.", v.whole(1, _LANES)),
    "mask": Option("MASK", "Active lanes: 0x0000ffff.", v.lane_mask),
    "indices": Option("LIST", "Index of each lane: 0,5,9; -: stdin."),
    "align": Option("BYTES", "Alignment that the type promises.", v.whole(1, 16)),
    "row_threads": Option("N", "Lanes per row of a narrow 2-D block.", v.whole(1, _LANES)),
    "pitch": Option("N", "Elements from row to row, or 4100B in bytes.", v.distance),
    "path": Option("PATH", "Caches: l1 or l2, where both ways exist.", v.one_word("l1", "l2")),
    "pad": Option("N", "Elements added to the stride or the row.", v.whole(0, _MOST_COLUMNS)),
    "tile": Option("RxC", "A 2-D array instead of a stride.", v.rectangle(_MOST_COLUMNS)),
    "walk": Option("HOW", "Take the tile by column or by row.", v.one_word("column", "row")),
    "bank_size": Option(
        "BYTES", "4, or 8 on cc 3.x.", v.one_of(4, 8), complete=completion.words("4", "8")
    ),
    "matrix": Option("RxC", "Elements moved, instead of bytes.", v.rectangle(_MOST_ELEMENTS)),
    "copies": Option("N", "Passes over the matrix; a copy is 2.", v.whole(1, 1000)),
    "memory_clock": Option("FREQ", "Memory clock instead of a device: 1.85GHz.", v.hertz),
    "bus": Option("BITS", "Bus width to --memory-clock.", v.whole(8, 65_536)),
    "data_rate": Option(
        "N", "Transfers per clock; 2 (DDR) if not given.", v.whole(1, 16)
    ),
    "peak": Option("RATE", "Peak instead of the device's: 80TFLOP/s.", v.operation_rate),
    "bandwidth": Option("RATE", "Bandwidth instead of the device's: 8TB/s.", v.rate),
}  # fmt: skip
_TRANSFERS = {
    "h2d": Option("SIZE|TIME", "Copy to the device: 256MiB or 3ms.", v.copy, ("pipeline", "h2d")),
    "d2h": Option("SIZE|TIME", "Copy to the host: 256MiB or 3ms.", v.copy, ("pipeline", "d2h")),
    "kernel_time": Option(
        "TIME", "Time of the whole kernel beside the copies: 5ms.", v.seconds_or_none,
        ("pipeline", "kernel"), ("--kernel",),
    ),
    "host_time": Option(
        "TIME", "Time of the same work on the host: 30ms.", v.seconds, ("pipeline", "host")
    ),
    "streams": Option(
        "N", "Streams that the work is spread over.", v.whole(1, _MOST_PIECES),
        ("pipeline", "streams"),
    ),
    "chunks": Option("N", "Chunks, taken by --streams in turn.", v.whole(1, _MOST_PIECES)),
    "max_streams": Option("N", "Most pieces to try, and streams.", v.whole(1, _MOST_TRIED)),
    "granularity": Option("SIZE", "Chunks are multiples of this.", v.moved_bytes),
    "pageable": Option("", "Host memory is not pinned."),
    "pcie": Option(
        "LINK", "The slot, where it is not the GPU's best: 4x8.", v.pcie,
        complete=completion.links,
    ),
    "rate": Option("RATE", "Rate of the link, each way: 25GB/s.", v.rate),
    "per_op": Option("TIME", "Host time per copy or launch.", v.seconds_or_none),
    "copy_latency": Option("TIME", "Time of an empty copy.", v.seconds_or_none),
    "duplex": Option("FACTOR", "Slow-down of copies both ways at once: 1.2.", v.factor(1, 10)),
    "engines": Option("N", "Copy engines: asyncEngineCount.", v.whole(0, 16)),
    "ideal": Option("", "As the guide assumes: no latencies, no costs."),
    "from_timeline": Option("FILE", "Sizes, times and rates of a recorded run: see timeline."),
    "calibration": Option(
        "FILE", "Saved `measure` of this machine (JSON); none: not what `measure --save` kept."
    ),
}  # fmt: skip
_SCALING = {
    "parallel": Option(
        "SHARE", "Share of the run time that can be parallel: 75%, 0.75, 3/4.", v.share,
        ("scaling", "parallel"),
    ),
    "processors": Option(
        "N", "Processors it is spread over.", v.whole(1, _MOST_PROCESSORS),
        ("scaling", "processors"),
    ),
    "target": Option(
        "FACTOR", "Speed-up to reach: 10 or 2.5x.", v.factor(1, _MOST_PROCESSORS),
        ("scaling", "target"),
    ),
}  # fmt: skip
_FILES = {
    "arch": Option(
        "CC,...", "Only code for these targets: 90,sm_100a.", complete=completion.targets
    ),
    "filter": Option("REGEX", "Only kernels whose name matches.", v.pattern),
    "list": Option("", "Only what the containers hold; unpacks nothing."),
    "functions": Option("", "Device functions as well as kernels."),
    "advise": Option("", "Run the rules over every kernel."),
    "sort": Option(
        "ORDER",
        "matters, name, occupancy, registers, smem, stack, spills or code_bytes.",
        v.one_word(
            "matters", "name", "occupancy", "registers", "smem", "stack", "spills", "code_bytes",
            "code",
        ),
    ),
    "group_by": Option(
        "WHAT",
        "Count kernels by file, arch or prefix of the name.",
        v.one_word("file", "arch", "prefix"),
    ),
    "limit": Option("N", "Most kernels to show; 0: all.", v.whole(0, 10**9)),
    "jobs": Option(
        "N", "Processes that read one large file; 1 unless given.", v.whole(1, 64)
    ),
    "no_cache": Option("", "Judge every file anew, and keep no result."),
    "all_gpus": Option("", "Answer for every GPU of the catalogue."),
    "describe": Option("FILE", "Kernels of a kernel.toml."),
    "ncu": Option("FILE", "Launches of Nsight Compute."),
}  # fmt: skip
_RECORD = {
    "warmup": Option("N", "Steps before the recording; 5 unless given.", v.whole(1, 10**6)),
    "steps": Option("N", "Steps to record; 3 unless given.", v.whole(1, 1000)),
    "stacks": Option("", "Record Python's stacks: slower, and lines are named."),
    "keep": Option("FILE", "Leave the recording there; of several ranks a folder."),
    "runtime": Option("", "Run a program, and find its waits for the GPU as they happen."),
    "output": Option("FILE", "Of --runtime: write the answer there, not to standard error."),
}
_COMPILE = {
    "compiler": Option(
        "NAME", "For .cu files: nvrtc, or nvcc for whole ones.", v.one_word("nvrtc", "nvcc")
    ),
    "include": Option("DIR", "Where a .cu file finds headers.", spellings=("-I",)),
    "define": Option("NAME[=VALUE]", "Macro for a .cu file.", spellings=("-D",)),
    "what_if": Option("", "Compile the kernel that --filter names with register caps."),
    "kernel": Option("NAME", "A kernel of the file; of a template an instance."),
    "registers": Option(
        "N,...", "Register caps to try; auto: where they matter.",
        complete=completion.words("auto"),
    ),
    "block_define": Option("MACRO", "Macro that holds the block size."),
    "measure": Option("", "Time what is left on a live GPU; needs --arg and --elements."),
    "arg": Option("VALUE", "An argument of the kernel, in order: 64MiB:random, 4096, float:0.5."),
}  # fmt: skip
_RULES = {
    "select": Option("RULE", "Only this rule, topic, category or priority.", complete=completion.selections),
    "ignore": Option("RULE", "Not this rule, topic, category or priority.", complete=completion.selections),
    "rules": Option("DIR", "Folder of your own rules."),
    "with_ncu_rules": Option("", "Show the profiler's own rules beside ours."),
    "why": Option("", "Say how each gain was worked out."),
    "environment": Option("", "Look at CUDA_ variables of this shell."),
    "fix": Option("", "Write what is mechanical."),
    "diff": Option("", "Show what --fix would write."),
    "step": Option("N", "Only this step of it; 0: what stands before the first.", v.whole(0, 100)),
    "root": Option("FOLDER", "Only files below it may be read; default: the working folder."),
    "build": Option("FILE", "Library, cubin or build log whose kernels a hover shows."),
}  # fmt: skip
_MACHINE = {
    "telemetry": Option("", "Clocks, power, heat, load, link, processes now."),
    "load": Option("", "Put each GPU to work for up to 3 s, to judge clocks and link."),
    "report": Option(
        "FORMAT", "All of it for a ticket: markdown, json.", v.one_word("markdown", "json")
    ),
    "with_ids": Option("", "Leave UUIDs, PCI addresses and paths in."),
    "host": Option("NAME,...", "Only these machines: node07 or 'node0*'."),
    "show_hosts": Option("", "Name machines in data, where they are hashed without it."),
    "watch": Option("TIME", "Ask again after this time, again and again: 2s.", v.seconds),
    "quick": Option("", "Fewer sizes, at most 5 s."),
    "save": Option("", "Keep the result for this GPU: other commands use it, and say so."),
}  # fmt: skip
_SEVERAL = {
    "sweep": Option("WHAT", "Vary one figure."),
    "all_cc": Option("", "Answer for every compute capability."),
    "batch": Option("FILE", "One answer per line of CSV or NDJSON; -: stdin."),
}  # fmt: skip
_MANY = {
    "engine": Option(
        "NAME", "Who reads many files: local, or dask for the workers of a cluster.",
        v.one_word("local", "dask"),
    ),
    "scheduler": Option("ADDRESS", "Of --engine dask: tcp://host:8786, or its scheduler file."),
    "task_time": Option("TIME", "Most time of a worker for one file; 600s unless given.", v.seconds),
}  # fmt: skip
_GPU = {
    "gpu": Option(
        "NAME", "GPU from the catalogue: h100, rtx4090.", complete=completion.gpu_ids
    ),
    "cc": Option(
        "CC", "Compute capability: 9.0, 90, sm_90a.", complete=completion.capabilities
    ),
    "device": Option("ID", "GPU in this machine: index, UUID or PCI id."),
    "from": Option("FILE", "Saved `device --all --json`, or nvidia-smi -q -x."),
    "driver_check": Option("", "Compare with what the live driver says."),
}  # fmt: skip
_GATES = {
    "fail_under": Option("SHARE", "Exit 1 below this share: 50% or 0.5.", v.share),
    "fail_over": Option("SHARE", "Exit 1 above this share; 100%: if impossible.", v.share),
    "fail_on": Option(
        "LEVEL", "Exit 1 on high, medium, low, or performance:high.", complete=completion.priorities
    ),
    "fail_on_regression": Option("", "Exit 1 when a kernel's tier is worse."),
    "max_regs": Option("COUNT", "Exit 1 when a kernel takes more registers.", v.whole(1, 255)),
    "slower": Option("SHARE", "Of recorded runs: what counts as slower, 5% without it.", v.share),
    "fail_on_spills": Option("", "Exit 1 when a kernel spills more or takes more stack."),
    "baseline": Option("FILE", "Saved JSON: show what is new."),
    "since": Option("COMMIT", "Show what is new since this commit, branch or tag of git."),
}  # fmt: skip
_OUTPUT = {
    "sources": Option("", "On a terminal: say where the numbers come from."),
    "operators": Option(
        "", "Time, rates and tensor cores by operator of PyTorch, queue, memory, fusions."
    ),
    "show": Option("", "Draw it in the terminal."),
    "plot": Option("FILE", "Draw it into a .svg, .png or .pdf file."),
    "skeleton": Option("LANG", "Code: cuda or cuda-python.", v.one_word("cuda", "cuda-python")),
    "all": Option("", "Leave nothing out of the list."),
    "format": Option(
        "FORMAT", "text, json, csv, ndjson, markdown, html or github.", spellings=("-f",),
        complete=completion.formats,
    ),
    "get": Option(
        "FIELD", "Print one field as a bare value; may repeat; list: which there are.",
        complete=completion.fields,
    ),
}  # fmt: skip
# What each group is about, in the order of the help of a command.
TOPICS = {
    "Launch": _LAUNCH,
    "Kernel": _KERNEL,
    "Memory access": _MEMORY,
    "Copies and streams": _TRANSFERS,
    "Parallel share": _SCALING,
    "Files": _FILES,
    "Recording": _RECORD,
    "Compiling": _COMPILE,
    "Rules": _RULES,
    "This machine": _MACHINE,
    "Which GPU": _GPU,
    "Several answers": _SEVERAL,
    "Many machines": _MANY,
    "Exit code": _GATES,
    "Output": _OUTPUT,
}
OPTIONS = {name: option for topic in TOPICS.values() for name, option in topic.items()}
_TOPIC_OF = {name: title for title, topic in TOPICS.items() for name in topic}
OUTPUT = "Output"  # also the topic of what every command takes


def pick(name: str, help: str = "", *, metavar: str = "", complete: Any = None) -> Any:
    """Return option *name* for the signature of a command; *help* and *metavar* where it says more."""
    option = OPTIONS[name]
    switch = [spelling for spelling in option.spellings if "/" in spelling]
    closed_set = (
        completion.words(*option.read.words) if isinstance(option.read, v.OneWord) else None
    )
    return OptionSpec(
        spellings=(*(switch or (flag(name), *option.spellings)),),
        metavar=metavar or option.metavar or None,
        help=help or option.help,
        complete=complete or option.complete or closed_set,
        topic=_TOPIC_OF[name],
        callback=_without_uuids if name == "gpu" else None,
        read=partial(named, flag(name), option.read),
    )


def _without_uuids(text: str | None) -> str | None:
    """Return a pasted ``--gpu`` without what says whose card it is: answers repeat their input."""
    from gpuadvise.advisor.catalogue.names import without_uuids

    return None if text is None else without_uuids(text)


def flag(name: str) -> str:
    """Return option *name* as people type it: ``dynamic_smem`` is ``--dynamic-smem``."""
    return f"--{name.replace('_', '-')}"


def read(name: str, text: str | None) -> Any:
    """Return the value of option *name*, None where it is not given; raises BadInput naming it."""
    return None if text is None else named(flag(name), OPTIONS[name].read, text)


def named(label: str, reader: Callable[[S], T], text: S) -> T:
    """Return what *reader* makes of *text*; its BadInput names *label*: an option or a column."""
    try:
        return reader(text)
    except BadInput as error:
        raise BadInput(f"{label}: {error.message}", hint=error.hint) from None


Text = str | None
Gpu = Annotated[Text, pick("gpu")]
Cc = Annotated[Text, pick("cc")]
Live = Annotated[Text, pick("device")]
Snapshot = Annotated[Text, pick("from")]
FormatName = Annotated[str, pick("format")]
Get = Annotated[list[str] | None, pick("get")]
Whole = int | None
Share = float | None


class GpuOptions(NamedTuple):
    """The GPU that a question is about; nothing given: the first one here, else the default."""

    gpu: Annotated[str | None, pick("gpu")] = None
    cc: Annotated[str | None, pick("cc")] = None
    device: Annotated[str | None, pick("device")] = None
    snapshot: Annotated[str | None, pick("from")] = None

    @property
    def given(self) -> bool:
        """Whether one is named."""
        return any(value is not None for value in self)

    def asked(self) -> dict[str, str | None]:
        """Return the options by name, for ``input``."""
        return dict(zip(("gpu", "cc", "device", "from"), self, strict=True))

    def choice(self, depth: "Depth | None" = None) -> "Choice":
        """Return the GPU; *depth* is how much a live one is asked, its identity by default.

        Raises as ``choose`` does.
        """
        from gpuadvise.advisor.backends.choose import Depth, choose

        return choose(
            gpu=self.gpu,
            cc=self.cc,
            device=self.device,
            from_file=self.snapshot,
            depth=depth or Depth.IDENTITY,
        )


class EngineOptions(NamedTuple):
    """Who works over many files; ``chosen_engine`` makes one of them."""

    engine: Annotated[Literal["local", "dask"] | None, pick("engine")] = None
    scheduler: Annotated[str | None, pick("scheduler")] = None
    task_time: Annotated[float | None, pick("task_time")] = None
