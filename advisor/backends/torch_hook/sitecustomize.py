"""Record a few steps, or the waits for the GPU, of a PyTorch program that knows nothing of it.

Python imports a module of this name as it starts. This one waits for the program to import torch,
counts its steps (of the first optimizer, else of the outermost module), and after a warm-up has
PyTorch's profiler record some of them to GPUADVISE_RUN_FOLDER; or it counts where PyTorch waits for the
GPU. It runs in the program's own Python, which may be older than ours, and whatever fails here must not
reach the program.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_FOLDER = "GPUADVISE_RUN_FOLDER"
_WARMUP = "GPUADVISE_RUN_WARMUP"
_STEPS = "GPUADVISE_RUN_STEPS"
_STACKS = "GPUADVISE_RUN_STACKS"
_WAITS = "GPUADVISE_RUN_WAITS"
# How PyTorch's synchronisation debug mode begins its warnings: of a wait, and of itself.
_WAITED = "called a synchronizing CUDA operation"
_PROTOTYPE = "Synchronization debug mode is a prototype feature"
_MOST_FRAMES = 8  # of the user's code that are kept of a stack
_MOST_STACKS = 5000
_SECONDS_BETWEEN_WRITES = 2  # what a killed program loses at most
_HERE = os.path.abspath(__file__)


class TorchFinder:
    """Finds torch as everybody does, and tells *then* when it was imported.

    Libraries ask whether torch could be imported long before they do, so it finds it any number of times.
    """

    def __init__(self, then: Any) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of torch with a loader that tells; None for all else."""
        if name != "torch":
            return None
        finders = [finder for finder in sys.meta_path if finder is not self]
        asked = (finder.find_spec(name, path, target) for finder in finders)
        spec = next((spec for spec in asked if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        load, then = spec.loader.exec_module, self.then

        def exec_module(module: Any) -> None:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            load(module)
            try:
                then(module)
            except Exception as fault:
                _note(fault)

        vars(spec.loader)["exec_module"] = exec_module
        return spec


class StepRecorder:
    """Counts steps, and records some of them after a warm-up."""

    def __init__(self, torch: Any, folder: str, warmup: int, steps: int, stacks: bool) -> None:
        self.torch = torch
        self.folder = folder
        self.first, self.last = warmup, warmup + steps
        self.stacks = stacks
        self.count = 0
        self.depth = 0  # of modules that are running
        self.optimizer: int | None = None  # whose steps count
        self.profiler: Any = None
        self.others: Any = ()  # the program's own profilers
        self.acting = False  # what PyTorch's profiler does now was asked for here
        self.stepped_at: float | None = None
        self.before: list[float] = []  # seconds from step to step, without the profiler
        self.recorded: list[float] = []  # and with it
        self.process = os.getpid()

    def watch(self) -> None:
        """Be told of optimizers' steps, of modules' calls and of the program's own profilers."""
        from importlib import import_module

        compiles = getattr(getattr(self.torch, "compiler", None), "is_compiling", lambda: False)

        # Compiled code must not hold the counting: it would be compiled again at each new count.
        def enter(module: Any, inputs: Any) -> None:
            if not compiles():
                self.enter()

        def leave(module: Any, inputs: Any, outputs: Any) -> None:
            if not compiles():
                self.leave()

        def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
            if not compiles():
                self.stepped(optimizer)

        _silence_hook_warning()
        modules = import_module("torch.nn.modules.module")
        modules.register_module_forward_pre_hook(enter)
        modules.register_module_forward_hook(leave)
        optimizers = import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_post_hook(stepped)
        self._watch_other_profilers(import_module("torch.autograd.profiler").profile)

    def _watch_other_profilers(self, kind: Any) -> None:
        """Learn of each *kind* that the program makes: only one profiler can run."""
        from functools import wraps
        from weakref import WeakSet

        make, self.others = kind.__init__, WeakSet()

        @wraps(make)
        def made(profiler: Any, *args: Any, **kwargs: Any) -> None:
            if not self.acting and os.getpid() == self.process:
                self.others.add(profiler)
                if self.profiler is not None:
                    self.count = self.last
                    self.act(self.end)
                    _note(
                        "The program started PyTorch's profiler itself, which ended this recording"
                    )
            make(profiler, *args, **kwargs)

        kind.__init__ = made

    def enter(self) -> None:
        """Count one module in."""
        self.depth += 1

    def leave(self) -> None:
        """Count one module out; the outermost is a step where nothing is trained."""
        self.depth = max(0, self.depth - 1)
        if not self.depth and self.optimizer is None and not self.torch.is_grad_enabled():
            self.step()

    def stepped(self, optimizer: Any) -> None:
        """Count a step of the first optimizer."""
        if self.optimizer is None:
            self.optimizer = id(optimizer)
            if os.getpid() == self.process:
                self.act(self.forget)  # what was evaluated before the training is no step of it
        if self.optimizer == id(optimizer):
            self.depth = 0  # a module that failed did not count itself out
            self.step()

    def step(self) -> None:
        """Begin, go on or end as the count says; another process than the first is left alone."""
        if os.getpid() != self.process or self.count >= self.last:
            return
        if self.count + 2 >= self.first and self.busy():
            return  # a step later, then
        self.count += 1
        self.time()
        if self.count == self.last:
            self.act(self.end)
        elif self.profiler is not None:
            self.act(self.profiler.step)
        elif self.count in (self.first - 1, self.first):
            self.act(self.begin)

    def time(self) -> None:
        """Note what the host took from the step before to this one, but for those at which a recording begins."""
        now, before = time.perf_counter(), self.stepped_at
        if before is not None and self.profiler is None:
            self.before.append(now - before)
        elif before is not None and self.count > self.first:
            self.recorded.append(now - before)
        self.stepped_at = now

    def act(self, action: Any) -> None:
        """Do what changes the recording; nothing more is tried where it fails."""
        self.acting = True
        try:
            action()
        except Exception as fault:
            self.count, self.profiler = self.last, None
            _note(fault)
        finally:
            self.acting = False

    def busy(self) -> bool:
        """Return whether a profiler can neither start nor stop now."""
        cuda = self.torch.cuda
        if cuda.is_available() and cuda.is_initialized() and cuda.is_current_stream_capturing():
            return True
        if self.profiler is None and any(map(_records, self.others)):
            _note("The program runs PyTorch's profiler itself")
            return True
        return False

    def begin(self) -> None:
        """Start PyTorch's profiler, a step early where there is one: its first is slow."""
        profiler, early = self.torch.profiler, self.count < self.first
        activities = [profiler.ProfilerActivity.CPU]
        if self.torch.cuda.is_available():
            activities.append(profiler.ProfilerActivity.CUDA)
        else:
            _note("PyTorch sees no GPU here")
        action = profiler.ProfilerAction
        # Without it newer versions warn that they forget earlier cycles; there is one.
        kept = {"acc_events": True} if "acc_events" in _parameters(profiler.profile) else {}
        self.profiler = profiler.profile(
            **kept,
            activities=activities,
            record_shapes=True,
            with_stack=self.stacks,
            # With a schedule steps are marked.
            schedule=lambda step: action.WARMUP if early and not step else action.RECORD,
        )
        self.profiler.start()

    def end(self) -> None:
        """Stop the profiler and write what it recorded, whole or not at all, and how long steps took."""
        import json

        profiler, self.profiler = self.profiler, None
        if profiler is None:
            return
        if self.torch.cuda.is_available():
            self.torch.cuda.synchronize()
        profiler.stop()
        rank = os.environ.get("RANK", "0")
        name = f"rank{rank if rank.isdigit() else 0}-{os.getpid()}.json"
        target = os.path.join(self.folder, name)
        profiler.export_chrome_trace(target + ".part.json")
        os.rename(target + ".part.json", target)
        with open(os.path.join(self.folder, f"pace-{self.process}.json"), "w") as file:
            json.dump({"before": self.before, "recorded": self.recorded}, file)

    def forget(self) -> None:
        """Begin anew, and write what is recorded then over what was written."""
        profiler, self.profiler = self.profiler, None
        self.count, self.stepped_at, self.before, self.recorded = 0, None, [], []
        if profiler is not None:
            profiler.stop()

    def finish(self) -> None:
        """End a recording that the program's end cuts short, if it holds a step."""
        if os.getpid() == self.process:
            self.act(self.end if self.count > self.first else self.forget)
            self.count = self.last


def _records(profiler: Any) -> bool:
    """Return whether *profiler* records now, or will without being asked again."""
    return getattr(profiler, "enabled", True) and getattr(profiler, "kineto_results", None) is None


def _parameters(kind: Any) -> Any:
    from inspect import signature

    return signature(kind).parameters


def _silence_hook_warning() -> None:
    """Leave out what torch.compile says of global hooks: these take an extra call well."""
    import warnings

    warnings.filterwarnings("ignore", message=".*there are global hooks on modules")


_noted: set[str] = set()


class FiltersWithFirst(list):  # type: ignore[type-arg]
    """The filters of warnings: one stays before all that the program adds or resets."""

    def __init__(self, filters: Any, first: Any) -> None:
        super().__init__([first, *(item for item in filters if item is not first)])
        self.first = first

    def insert(self, at: Any, item: Any) -> None:
        """Insert behind the first."""
        super().insert(max(int(at), 1), item)

    def __getitem__(self, at: Any) -> Any:
        """Return an item; a slice, which catch_warnings takes, keeps the first as well."""
        found = super().__getitem__(at)
        return FiltersWithFirst(found, self.first) if isinstance(at, slice) else found

    def __setitem__(self, at: Any, items: Any) -> None:
        """Set items; resetwarnings sets a slice to nothing."""
        super().__setitem__(at, items)
        if isinstance(at, slice):
            super().__setitem__(slice(None), FiltersWithFirst(self, self.first))


class WaitRecorder:
    """Counts where the host waits for the GPU, by the warnings of PyTorch's synchronisation debug mode."""

    def __init__(self, torch: Any, folder: str) -> None:
        self.torch = torch
        self.folder = folder
        self.process = os.getpid()
        self.started_in = os.getcwd()
        self.counts: dict[Any, int] = {}  # by stack of the user's code and the library's function
        self.uncounted = 0  # of stacks beyond the bound
        self.written = 0.0
        self.libraries: dict[str, bool] = {}  # by file name

    def watch(self) -> None:
        """Be told of waits from the moment on at which the program first uses CUDA; nothing else asks for CUDA."""
        import re
        import warnings

        if not hasattr(self.torch.cuda, "set_sync_debug_mode"):
            _note("PyTorch is older than 1.10, which does not tell where it waits")
            return
        show = warnings._showwarnmsg  # type: ignore[attr-defined]

        def showwarnmsg(message: Any) -> None:
            text = str(message.message)
            if text.startswith(_WAITED):
                self.count(sys._getframe(1))
            elif not text.startswith(_PROTOTYPE):
                show(message)

        vars(warnings)["_showwarnmsg"] = showwarnmsg
        first = ("always", re.compile(f"{_WAITED}|{_PROTOTYPE}"), UserWarning, None, 0)
        vars(warnings)["filters"] = FiltersWithFirst(warnings.filters, first)
        self.torch.cuda._lazy_call(self.begin)

    def begin(self) -> None:
        """Have PyTorch warn; it calls this once CUDA is initialised."""
        try:
            self.torch.cuda.set_sync_debug_mode("warn")
        except Exception as fault:
            _note(fault)

    def count(self, frame: Any) -> None:
        """Count a wait in the function *frame*; another process than the first is left alone."""
        try:
            if os.getpid() != self.process:
                return
            stack = self.stack_of(frame)
            if stack not in self.counts and len(self.counts) >= _MOST_STACKS:
                self.uncounted += 1
                return
            self.counts[stack] = self.counts.get(stack, 0) + 1
            if time.monotonic() - self.written > _SECONDS_BETWEEN_WRITES:
                self.write("used")
        except Exception as fault:
            _note(fault)

    def stack_of(self, frame: Any) -> Any:
        """Return the frames of the user's own code, the innermost first, and the library's function that they called.

        Where all of it is a library's, its frames stand for the user's.
        """
        own: list[Any] = []
        foreign: list[Any] = []
        while frame is not None and len(own) < _MOST_FRAMES:
            file = frame.f_code.co_filename
            place = (file, frame.f_lineno, frame.f_code.co_name)
            if file not in self.libraries:
                self.libraries[file] = _is_library(file)
            if not self.libraries[file]:
                own.append(place)
            elif not own and len(foreign) < _MOST_FRAMES:
                foreign.append(place)
            frame = frame.f_back
        through = foreign[-1][2] if own and foreign else None
        return tuple(own or foreign), through

    def finish(self) -> None:
        """Write what was counted as the program ends."""
        if os.getpid() != self.process:
            return
        try:
            cuda = self.torch.cuda
            state = "used" if cuda.is_initialized() else "unused"
            if state == "unused" and not cuda.is_available():
                state = "missing"
            self.write(state)
        except Exception as fault:
            _note(fault)

    def write(self, gpu: str) -> None:
        """Write the counts, whole or not at all; *gpu* is used, unused or missing."""
        import json

        self.written = time.monotonic()
        stacks = [
            {
                "count": count,
                "through": through,
                "frames": [
                    [os.path.join(self.started_in, file), line, name] for file, line, name in frames
                ],
            }
            for (frames, through), count in list(self.counts.items())
        ]
        target = os.path.join(self.folder, f"waits-{self.process}.json")
        with open(target + ".part", "w") as file:
            json.dump({"gpu": gpu, "stacks": stacks, "uncounted": self.uncounted}, file)
        os.replace(target + ".part", target)


def _is_library(file: str) -> bool:
    """Return whether *file* belongs to Python or to an installed package, or is none."""
    if file.startswith("<") or os.path.abspath(file) == _HERE:
        return True
    parts = file.replace("\\", "/").split("/")
    if "site-packages" in parts or "dist-packages" in parts:
        return True
    return os.path.abspath(file).startswith(os.path.dirname(os.__file__) + os.sep)


def _note(fault: object) -> None:
    """Keep why nothing was recorded, for whoever ran this; the same once."""
    if str(fault) in _noted:
        return
    _noted.add(str(fault))
    try:
        with open(os.path.join(os.environ[_FOLDER], "fault.txt"), "a") as file:
            kind = f"{type(fault).__name__}: " if isinstance(fault, Exception) else ""
            file.write(f"{kind}{str(fault)[:300]}\n")
    except (OSError, KeyError):
        pass


def _mark(name: str) -> None:
    """Leave an empty file of that *name*, for whoever ran this."""
    try:
        with open(os.path.join(os.environ[_FOLDER], name), "w"):
            pass
    except OSError:
        pass


def _after_import(torch: Any) -> None:
    import atexit

    recorder: Any
    if os.environ.get(_WAITS) == "1":
        recorder = WaitRecorder(torch, os.environ[_FOLDER])
    else:
        recorder = StepRecorder(
            torch,
            os.environ[_FOLDER],
            int(os.environ.get(_WARMUP, "5")),
            int(os.environ.get(_STEPS, "3")),
            os.environ.get(_STACKS) == "1",
        )
    _mark("torch-imported")
    recorder.watch()
    atexit.register(recorder.finish)


def _go_on() -> None:
    """Import the sitecustomize that this one stands before, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    before = list(sys.path)
    sys.path[:] = [path for path in before if os.path.abspath(path or ".") != here]
    this = sys.modules.pop("sitecustomize", None)
    from importlib import import_module

    try:
        import_module("sitecustomize")  # not this one
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this
    finally:
        sys.path[:] = before


if __name__ == "sitecustomize":
    if os.environ.get(_FOLDER):
        _mark("python-started")
        sys.meta_path.insert(0, TorchFinder(_after_import))
    _go_on()
