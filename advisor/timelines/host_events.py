"""What the host did by the names that a program and its libraries give it.

Operators, annotations, frames of Python and ranges of NVTX, as far as they take long enough to
keep a GPU waiting.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import inert
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gpuadvise.advisor.timelines.intervals import Interval

# Shorter events fill no gap that is worth a name.
LEAST_NS = 300_000
# What names a gap covers half of it; where much comes one after the other, a quarter.
_MOST, _LARGEST_OF_MANY = 2, 4
# What stands around so much of the GPU's work, from its first to its last, tells no part of it.
_NEARLY_ALL = 0.9
_MOST_NAMES = 20_000
_MOST_THREADS = 100_000
_LONGEST = 80
# PyTorch: `data.py(41): collate_fn`; JAX: `$data.py:41 collate_fn`.
_FRAME = re.compile(
    r"\$?(?P<file>(?:[A-Za-z]:)?[^():]*\.py)(?:\(|:)(?P<line>\d{1,7})\)?:? (?P<function>.{1,200})"
)
_BUILT_IN = re.compile(r"<built-in (?:method|function) ([\w.]+)[ >]")
# Folders of a path, of which nothing is shown.
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~+-]*[/\\])+(?=[\w.~+<-])")
# Frames around all of a program, and the profiler's own.
_AROUND = re.compile(r"ProfilerStep#|PyTorch Profiler|<module>$|<string>|_bootstrap")
# Operators of libraries in C++ and functions of JAX are calls, and no ranges around others.
_CALL = re.compile(r"\w+::|[\w.]+\(")
# Code of a script outside of functions: the line is the one at which the recording began.
# Functions that a library keeps to itself, or puts around others, and modules, whose functions have names.
_INTERNAL = re.compile(
    r"^nn\.Module: |: (?:_\w*|<lambda>|wrapp(?:er|ed)\w*|inner|decorate_context|fn)$"
)
_SCRIPT = re.compile(r"[^<>]*\.py\(\d+\): <module>$")
# What NVIDIA, PyTorch, Triton, JAX and TensorFlow call compiling, and calling what may be compiled first.
_COMPILER = re.compile(
    r"(?i:nvrtc)|Torch-Compiled Region|TorchDynamo|CompiledFunction|dynamo_timed|compile_inner|compile_fx|"
    r"call_user_compiler|async_compile|CachingAutotuner|GraphExecutor|backend_compile|"
    r"compile_or_get_cached|XlaCompile|triton[/\\](?:compiler|runtime[/\\](?:jit|autotuner))|"
    r"torch[/\\]_dynamo[/\\](?:convert_frame|symbolic_convert|output_graph)|"
    r"torch[/\\]_inductor[/\\](?:graph|scheduler|codegen|async_compile)"
)
_INSTALLED = re.compile(r"site-packages|dist-packages|<frozen |\blib/python\d")
_LIBRARIES = frozenset(
    {
        "torch", "torchvision", "torchaudio", "torchdata", "numpy", "PIL", "cv2", "scipy", "pandas",
        "sklearn", "skimage", "albumentations", "transformers", "tokenizers", "datasets", "accelerate",
        "diffusers", "peft", "trl", "deepspeed", "lightning", "pytorch_lightning", "timm", "einops",
        "triton", "jax", "jaxlib", "flax", "optax", "haiku", "xformers", "flash_attn", "apex",
        "huggingface_hub", "safetensors", "fsspec", "tqdm", "wandb", "IPython", "ipykernel", "matplotlib",
        "vllm", "sglang", "flashinfer", "tensorrt_llm", "megatron", "torch_xla", "nvidia", "ray", "monai", "kornia", "networkx", "sympy", "requests", "urllib3", "yaml",
    }
)  # fmt: skip


_FILES_OF_JAX = frozenset(
    {
        "api", "api_util", "array", "array_methods", "compiler", "core", "dispatch", "dtypes", "indexing",
        "lax", "lax_numpy", "linear_util", "mlir", "partial_eval", "pjit", "profiler", "pxla", "random",
        "slicing", "traceback_util", "tree_util", "ufuncs", "util", "xla_bridge", "einsum", "jaxpr_util",
    }
)  # fmt: skip


class EventKind(IntEnum):
    """What names an event of the host."""

    OPERATOR = 0
    ANNOTATION = 1
    FRAME = 2
    RANGE = 3


class Loader(StrEnum):
    """Who makes the batches of a loader; or files, which the program reads itself."""

    ITSELF = "itself"
    WORKERS = "workers"
    FILES = "files"


_LOADERS = {
    "_SingleProcessDataLoaderIter": Loader.ITSELF,
    "_MultiProcessingDataLoaderIter": Loader.WORKERS,
}
# Calls of the C library and the system that read files, as Nsight Systems names them.
_READING = re.compile(
    r"(?:f?read|pread(?:64)?v?2?|readv|f?getc|getchar|f?gets|getline|getdelim|fscanf)(?:_unlocked)?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """What held the GPU up: the innermost event over most of a gap, and the line it was called from.

    ``file`` has no folder; it, the line and the function are those of the innermost frame outside
    of libraries, None where no stack was recorded.
    """

    name: str
    kind: EventKind
    file: str | None = None
    line: int | None = None
    function: str | None = None
    loader: Loader | None = None  # where a loader of PyTorch was asked for the next batch
    compiles: bool = False  # it, or what it stands in, compiles or calls what may be compiled first
    # The innermost operator over most of the gap: its name, and when it was called and came back.
    operator: tuple[str, int, int] | None = field(default=None, compare=False)
    covered_ns: int = field(default=0, compare=False)  # of the gap, that it takes

    def is_of_one_work(self, other: Culprit) -> bool:
        """Return whether it and *other* were called from one line, or are calls of one function where no line is known."""
        if self.file is None and other.file is None:
            return self.name == other.name
        return (self.file, self.line) == (other.file, other.line)


class HostEvents:
    """The long events of the host, any number of them in any order."""

    def __init__(self) -> None:
        self._rows = SortedRuns(width=4)  # start, end, name, thread
        self._names: dict[tuple[EventKind, str], int] = {}
        self._threads: dict[Hashable, int] = {}
        self._calling: set[int] = set()
        self._seen: set[int] = set()
        self._first: dict[int, int] = {}  # start by thread
        self.has_frames = False

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, kind: EventKind, name: str, start: int, end: int, thread: Hashable) -> None:
        """Add one event; short ones, and names beyond the first thousands, are passed over."""
        if end - start < LEAST_NS:
            return
        self.has_frames = self.has_frames or kind is EventKind.FRAME
        around = _AROUND.search(name)
        if around and not (kind is EventKind.FRAME and _SCRIPT.match(name)):
            return
        key = kind, name
        number = self._names.get(key)
        if number is None:
            if len(self._names) >= _MOST_NAMES:
                return
            number = self._names[key] = len(self._names)
        place = self._thread(thread)
        self._seen.add(place)
        if not around:
            self._first[place] = min(start, self._first.get(place, start))
        self._rows.add(start, end, number, place)

    def called_from(self, thread: Hashable) -> None:
        """Remember that *thread* gave the GPU work."""
        self._calling.add(self._thread(thread))

    def _thread(self, thread: Hashable) -> int:
        if len(self._threads) >= _MOST_THREADS:
            return self._threads.get(thread, -1)
        return self._threads.setdefault(thread, len(self._threads))

    @property
    def first_ns(self) -> int | None:
        """When the first long event began of the threads that gave the GPU work; None: there is none."""
        threads = self._calling & self._seen or self._seen
        return min((self._first[thread] for thread in threads & self._first.keys()), default=None)

    def longest_of(self, operator: str, after: int) -> int:
        """Return how long the longest call of an operator took that began *after*; 0: none took long."""
        number = self._names.get((EventKind.OPERATOR, operator))
        if number is None:
            return 0
        return max(
            (
                end - start
                for start, end, name, _ in self._rows
                if name == number and start >= after
            ),
            default=0,
        )

    def culprits(
        self,
        gaps: Sequence[Interval],
        *,
        of_many: bool = False,
        work: Interval | None = None,
    ) -> list[Culprit | None]:
        """Return the culprit of each of *gaps*, which come in order of time and lie apart.

        Where *of_many* things come one after the other, the longest of a quarter counts as well. What
        stands around nearly all of the GPU's *work*, from its first to its last, names none of it.
        """
        names = list(self._names)
        around = {number for number, name in enumerate(names) if _may_be_around(*name)}
        least_around = None if work is None else _NEARLY_ALL * (work[1] - work[0])
        starts, ends = [start for start, _ in gaps], [end for _, end in gaps]
        covers: list[dict[int, _Calls]] = [{} for _ in gaps]
        threads = self._calling & self._seen or self._seen
        for start, end, number, thread in self._rows:
            if thread not in threads:
                continue
            if work is not None and least_around is not None and number in around:
                inside = min(end, work[1]) - max(start, work[0])
                if inside >= max(least_around, LEAST_NS):
                    continue
            for at in range(bisect_right(ends, start), len(gaps)):
                if starts[at] >= end:
                    break
                covered = covers[at].get(number)
                if covered is None:
                    covered = covers[at][number] = _Calls()
                covered.add(start, end, max(start, starts[at]), min(end, ends[at]))
        kinds = _Kinds(names)
        found = [
            _culprit_of(names, kinds, covers[at], (ends[at] - starts[at]) // _MOST)
            for at in range(len(gaps))
        ]
        if not of_many:
            return found
        return [
            one
            or _culprit_of(
                names, kinds, _longest(covers[at]), (ends[at] - starts[at]) // _LARGEST_OF_MANY
            )
            for at, one in enumerate(found)
        ]


class _Calls:
    """The calls of one name in a gap: how much of it they cover, and the longest of them."""

    __slots__ = ("covered_ns", "longest", "until")

    def __init__(self) -> None:
        self.covered_ns = 0
        self.until = 0
        self.longest = (0, 0)

    def add(self, start: int, end: int, begin: int, finish: int) -> None:
        """Add a call from *start* to *end*, which is in the gap from *begin* to *finish*."""
        self.covered_ns += max(0, finish - max(begin, self.until))
        self.until = max(self.until, finish)
        if end - start > self.longest[1] - self.longest[0]:
            self.longest = start, end

    @property
    def longest_ns(self) -> int:
        """How long the longest was; what stands in another is shorter."""
        return self.longest[1] - self.longest[0]


class _Kinds:
    """The numbers of names by what they tell."""

    def __init__(self, names: Sequence[tuple[EventKind, str]]) -> None:
        numbered = list(enumerate(names))
        self.asked: dict[int, Loader] = {
            number: loader
            for number, (_, name) in numbered
            for word, loader in _LOADERS.items()
            if word in name
        }
        self.asked |= {
            number: Loader.FILES
            for number, (kind, name) in numbered
            if kind is EventKind.OPERATOR and _READING.match(name)
        }
        own = {
            number
            for number, (kind, name) in numbered
            if kind is EventKind.FRAME and _is_own_frame(name)
        }
        self.scripts = {number for number in own if names[number][1].endswith("<module>")}
        self.own = own - self.scripts
        self.of_libraries = {
            number for number, (kind, _) in numbered if kind is EventKind.FRAME
        } - own
        self.internal = {
            number for number in self.of_libraries if _INTERNAL.search(names[number][1])
        }
        self.public = self.of_libraries - self.internal
        self.compilers = {number for number, (_, name) in numbered if _COMPILER.search(name)}
        self.operators = {
            number for number, (kind, _) in numbered if kind is EventKind.OPERATOR
        } - self.asked.keys()


def _may_be_around(kind: EventKind, name: str) -> bool:
    """Return whether an event may be a range around a whole program.

    No frame is, beside which all that is called in it was recorded, and no call of a library or a
    compiler, of which a recording may hold one alone.
    """
    called = _COMPILER.search(name) or (kind is EventKind.OPERATOR and _CALL.match(name))
    return kind is not EventKind.FRAME and not called


def _longest(covers: dict[int, _Calls]) -> dict[int, _Calls]:
    """Return what covers most of a gap, with what stands in it or around it."""
    if not covers:
        return {}
    start, end = max(covers.values(), key=lambda calls: calls.covered_ns).longest
    return {
        number: calls
        for number, calls in covers.items()
        if calls.longest[0] < end and calls.longest[1] > start
    }


def _culprit_of(
    names: Sequence[tuple[EventKind, str]], kinds: _Kinds, covers: dict[int, _Calls], least_ns: int
) -> Culprit | None:
    """Return what the host did for *least_ns* of a gap: by one call, or by many of one name."""
    most = {number: calls for number, calls in covers.items() if calls.covered_ns >= least_ns}
    if not most:
        return None
    within = sorted(most, key=lambda number: (most[number].longest_ns, number))
    plain = [number for number in within if number not in kinds.scripts]
    own = [number for number in plain if number in kinds.own]
    around = [number for number in within if number in kinds.scripts]
    operators = [number for number in plain if number in kinds.operators]
    frame = next(iter([*own, *around]), None)
    named = next((number for number in plain if number not in kinds.internal), within[0])
    if own and named in kinds.of_libraries:
        # What the program called tells more than what that calls inside: `save`, not the writer that it makes.
        called = within[: within.index(own[0])]
        named = next((one for one in reversed(called) if one in kinds.public), named)
    return _culprit(
        names[named],
        None if frame is None else names[frame],
        next((kinds.asked[number] for number in reversed(plain) if number in kinds.asked), None),
        compiles=any(number in kinds.compilers for number in plain),
        operator=(names[operators[0]][1], *most[operators[0]].longest) if operators else None,
        covered_ns=most[named].covered_ns,
    )


def _is_own_frame(name: str) -> bool:
    """Return whether a frame is of the program, not of Python or of a library."""
    match = _FRAME.match(name)
    if match is None or _INSTALLED.search(name):
        return False
    first = match["file"].lstrip("/\\").split("/")[0].split("\\")[0].removesuffix(".py")
    if name.startswith("$") and first in _FILES_OF_JAX:
        return False  # JAX's traces hold no folders
    return first not in sys.stdlib_module_names and first not in _LIBRARIES


def _culprit(
    event: tuple[EventKind, str],
    frame: tuple[EventKind, str] | None,
    loader: Loader | None,
    *,
    compiles: bool,
    operator: tuple[str, int, int] | None,
    covered_ns: int,
) -> Culprit:
    kind, name = event
    place = _FRAME.match(frame[1]) if frame else None
    return Culprit(
        name=_shown(name),
        kind=kind,
        file=_without_folders(place["file"]) if place else None,
        line=int(place["line"]) if place else None,
        function=inert(place["function"])[:_LONGEST] if place else None,
        loader=loader,
        compiles=compiles,
        operator=operator,
        covered_ns=covered_ns,
    )


def _shown(name: str) -> str:
    """Return a name without folders; of a frame the function."""
    match = _FRAME.match(name)
    text = match["function"] if match else name
    if builtin := _BUILT_IN.match(text):
        text = builtin[1]
    return inert(_FOLDERS.sub("", text))[:_LONGEST]


def _without_folders(path: str) -> str:
    return inert(path.replace("\\", "/").rsplit("/", 1)[-1])[:_LONGEST]
