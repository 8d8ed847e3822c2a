"""``with gpuadvise.watch() as w: step()``: record what a program asks of the GPU, and judge it.

Where PyTorch is installed its profiler records every kernel and copy of the process, those of CuPy
and Numba too, for it asks CUPTI. Without it only what Numba itself launches is seen: kernels, their
registers and sizes, but no times; `Watch.unseen` says what is missing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, overload
from weakref import finalize

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from gpuadvise.api.answer import Answer
    from gpuadvise.api.answers.advise import AdviseResult
    from gpuadvise.api.answers.common import Finding
    from gpuadvise.api.answers.timeline import TimelineResult

P = ParamSpec("P")
T = TypeVar("T")


class Watch:
    """A stretch of a program, recorded between ``with`` and its end.

    Judged when it is asked, for the program must not wait for it: `findings` and `advice` are what
    `advise` says, `timeline` where the time went. One watch at a time: CUPTI serves one.
    """

    def __init__(self, *, gpu: str | None = None) -> None:
        self.gpu = gpu
        self.unseen: tuple[str, ...] = ()  # what this watch cannot tell, in sentences
        self._recorder: _Recorder | None = None
        self._folder: str | None = None
        self._file: str | None = None
        self._advice: Answer[AdviseResult] | None = None
        self._timeline: Answer[TimelineResult] | None = None

    def __enter__(self) -> Watch:
        """Begin to record; raises Unavailable where another watch records."""
        if not _ONE.acquire(blocking=False):
            raise Unavailable("Another watch records: one at a time can.")
        try:
            self._recorder = _recorder()
            self._recorder.start()
        except BaseException:
            _ONE.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the recording and keep it; what the program raised goes on."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            self._folder = mkdtemp(prefix="gpuadvise-")
            finalize(self, rmtree, self._folder, ignore_errors=True)
            self._file = recorder.stop(self._folder)
            self.unseen = recorder.unseen
        finally:
            _ONE.release()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to change first, what it wins, and who says so."""
        return self.advice.findings

    @property
    def advice(self) -> Answer[AdviseResult]:
        """The whole answer of `advise`; raises GpuAdviseError where nothing was recorded."""
        if self._advice is None:
            from gpuadvise.api.calls import advise

            self._advice = advise(self._recorded(), gpu=self.gpu)
        return self._advice

    @property
    def timeline(self) -> Answer[TimelineResult]:
        """Where the time went; raises GpuAdviseError where no times were recorded."""
        if self._timeline is None:
            from gpuadvise.api.calls import timeline

            if self.unseen:
                raise Unavailable(f"There is no timeline. {self.unseen[0]}")
            self._timeline = timeline(self._recorded(), gpu=self.gpu)
        return self._timeline

    def _recorded(self) -> str:
        if self._file is None:
            ended = "recorded no work of a GPU" if self._folder else "has not ended"
            raise BadInput(f"The watch {ended}.", hint=" ".join(self.unseen) or None)
        return self._file

    def _repr_html_(self) -> str:
        return self.advice._repr_html_()

    def _repr_markdown_(self) -> str:
        return self.advice._repr_markdown_()

    def __str__(self) -> str:
        """Return what `advise` says, for people."""
        return str(self.advice)


@overload
def watch(function: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def watch(function: None = None, /, *, gpu: str | None = None) -> _Watching: ...
def watch(
    function: Callable[P, T] | None = None, /, *, gpu: str | None = None
) -> Callable[P, T] | _Watching:
    """Record what the body of a ``with``, or each call of a function, asks of the GPU.

    ``with gpuadvise.watch() as w: step()`` and then ``w.findings``. As a decorator, bare or with
    arguments, it keeps the last call's `Watch` as ``step.watched``. *gpu* names the GPU where the
    recording does not.
    """
    watching = _Watching(gpu=gpu)
    return watching if function is None else watching(function)


class _Watching(Watch):
    """A watch that is also a decorator, which makes a new one for each call."""

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def watched(*values: P.args, **named: P.kwargs) -> T:
            with Watch(gpu=self.gpu) as here:
                vars(watched)["watched"] = here
                return function(*values, **named)

        vars(watched)["watched"] = None
        return watched


_ONE = threading.Lock()


def _recorder() -> _Recorder:
    """Return what can see most here; imports PyTorch only where it is installed."""
    if sys.modules.get("torch") is not None or find_spec("torch") is not None:
        return _Torch()
    return _Numba()


class _Recorder:
    """Records a stretch of the program into a file that `advise` reads."""

    unseen: tuple[str, ...] = ()

    def start(self) -> None:
        """Begin to record."""
        raise NotImplementedError

    def stop(self, folder: str) -> str | None:
        """Return the file of the recording, in *folder*; None: nothing was there to record."""
        raise NotImplementedError


class _Torch(_Recorder):
    """PyTorch's profiler: all kernels and copies of the process, whoever launches them."""

    def __init__(self) -> None:
        self._profiler: Any = None

    def start(self) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
            torch.cuda.synchronize()  # what ran before is not part of it
        else:
            self.unseen = ("PyTorch sees no GPU here: nothing ran on one.",)
        # Without it newer versions warn that they forget earlier cycles; there is one.
        kept = {"acc_events": True} if "acc_events" in signature(profile).parameters else {}
        self._profiler = profile(activities=activities, record_shapes=True, **kept)
        self._profiler.start()

    def stop(self, folder: str) -> str | None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()  # what was launched is part of it
        self._profiler.stop()
        if self.unseen:
            return None
        path = os.path.join(folder, "watch.json")
        self._profiler.export_chrome_trace(path)
        return path


class _Launch(NamedTuple):
    """A launch as Numba knows it; sizes in bytes."""

    name: str
    regs: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    smem: int
    dynamic_smem: int
    local: int


_NO_TIMES = "Without PyTorch, whose profiler asks CUPTI, no times are seen: no timeline, no shares, no copies."
_NO_CUPY = (
    "CuPy tells nobody what it launches: its kernels are not seen. Nsight Systems records them."
)
_NOTHING = "Neither PyTorch nor Numba is loaded, so no launch is seen."


class _Numba(_Recorder):
    """Numba's own launches, which it makes in Python: resources and sizes of kernels, no times."""

    def __init__(self) -> None:
        self._launches: Counter[_Launch] = Counter()
        self._kernel: Any = None
        self._launch: Any = None

    def start(self) -> None:
        dispatcher = sys.modules.get("numba.cuda.dispatcher")
        self._kernel = getattr(dispatcher, "_Kernel", None)
        if self._kernel is None:
            return
        launch = self._launch = self._kernel.launch

        @wraps(launch)
        def noted(
            kernel: Any, args: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
        ) -> Any:
            self._launches[_launch_of(kernel, griddim, blockdim, sharedmem)] += 1
            return launch(kernel, args, griddim, blockdim, stream, sharedmem)

        self._kernel.launch = noted

    def stop(self, folder: str) -> str | None:
        if self._kernel is not None:
            self._kernel.launch = self._launch
        self.unseen = tuple(self._missing())
        if not self._launches:
            return None
        import json

        from gpuadvise.advisor.binaries.names import demangle

        path = os.path.join(folder, "watch.ndjson")
        gpu = _gpu_of_numba()
        with open(path, "w", encoding="utf-8") as file:
            for launch in self._launches:
                record = {
                    "name": inert(demangle(launch.name) or launch.name),
                    "gpu": gpu,
                    "regs": launch.regs,
                    "block": "x".join(map(str, launch.block)),
                    "grid": "x".join(map(str, launch.grid)),
                    "smem": launch.smem,
                    "dynamic_smem": launch.dynamic_smem,
                    "compiled": {"stack": launch.local},
                }
                print(json.dumps({k: v for k, v in record.items() if v is not None}), file=file)
        return path

    def _missing(self) -> Iterator[str]:
        yield _NOTHING if self._kernel is None else _NO_TIMES
        if "cupy" in sys.modules:
            yield _NO_CUPY


def _launch_of(kernel: Any, grid: Any, block: Any, dynamic: int) -> _Launch:
    return _Launch(
        name=str(getattr(kernel, "entry_name", "kernel")),
        regs=int(kernel.regs_per_thread),
        grid=tuple(map(int, grid)),
        block=tuple(map(int, block)),
        smem=int(kernel.shared_mem_per_block),
        dynamic_smem=int(dynamic),
        local=int(kernel.local_mem_per_thread),
    )


def _gpu_of_numba() -> str | None:
    """Return the name of the GPU that Numba uses; None where it does not say."""
    from gpuadvise.advisor.catalogue.lookup import find

    try:
        name = sys.modules["numba.cuda"].get_current_device().name
        return find(name.decode() if isinstance(name, bytes) else str(name)).id
    except Exception:  # whatever Numba's driver raises: the GPU here is asked instead
        return None
