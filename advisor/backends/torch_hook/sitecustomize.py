"""Record a few steps of a PyTorch program that knows nothing of it.

Python imports a module of this name as it starts. This one waits for the program to import torch,
counts its steps (of the first optimizer, else of the outermost module), and after a warm-up has
PyTorch's profiler record some of them to GPUADVISE_RUN_FOLDER. It runs in the program's own Python,
which may be older than ours, and whatever fails here must not reach the program.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_FOLDER = "GPUADVISE_RUN_FOLDER"
_WARMUP = "GPUADVISE_RUN_WARMUP"
_STEPS = "GPUADVISE_RUN_STEPS"
_STACKS = "GPUADVISE_RUN_STACKS"


class TorchFinder:
    """Finds torch as everybody does, and tells *then* when it was imported."""

    def __init__(self, then: Any) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of torch with a loader that tells; None for all else."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return None
        load, then = spec.loader.exec_module, self.then

        def exec_module(module: Any) -> None:
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
        self.process = os.getpid()

    def watch(self) -> None:
        """Be told of optimizers' steps and of modules' calls."""
        from importlib import import_module

        modules = import_module("torch.nn.modules.module")
        modules.register_module_forward_pre_hook(self.enter)
        modules.register_module_forward_hook(self.leave)
        optimizers = import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_post_hook(self.stepped)

    def enter(self, module: Any, inputs: Any) -> None:
        """Count one module in."""
        self.depth += 1

    def leave(self, module: Any, inputs: Any, outputs: Any) -> None:
        """Count one module out; the outermost is a step where nothing is trained."""
        self.depth = max(0, self.depth - 1)
        if not self.depth and self.optimizer is None and not self.torch.is_grad_enabled():
            self.step()

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Count a step of the first optimizer."""
        if self.optimizer is None:
            self.optimizer = id(optimizer)
            self.count = min(self.count, self.first)
        if self.optimizer == id(optimizer):
            self.depth = 0  # a module that failed did not count itself out
            self.step()

    def step(self) -> None:
        """Begin, go on or end as the count says; another process than the first is left alone."""
        if os.getpid() != self.process or self.count > self.last:
            return
        self.count += 1
        try:
            if self.count == self.first:
                self.begin()
            elif self.profiler is not None and self.count == self.last:
                self.end()
            elif self.profiler is not None:
                self.profiler.step()
        except Exception as fault:
            self.count, self.profiler = self.last + 1, None
            _note(fault)

    def begin(self) -> None:
        """Start PyTorch's profiler."""
        profiler = self.torch.profiler
        activities = [profiler.ProfilerActivity.CPU]
        if self.torch.cuda.is_available():
            activities.append(profiler.ProfilerActivity.CUDA)
        else:
            _note("PyTorch sees no GPU here")
        self.profiler = profiler.profile(
            activities=activities,
            record_shapes=True,
            with_stack=self.stacks,
            schedule=lambda step: profiler.ProfilerAction.RECORD,  # so that steps are marked
        )
        self.profiler.start()

    def end(self) -> None:
        """Stop the profiler and write what it recorded, whole or not at all."""
        profiler, self.profiler = self.profiler, None
        if self.torch.cuda.is_available():
            self.torch.cuda.synchronize()
        profiler.stop()
        rank = os.environ.get("RANK", "0")
        name = f"rank{rank if rank.isdigit() else 0}-{os.getpid()}.json"
        target = os.path.join(self.folder, name)
        profiler.export_chrome_trace(target + ".part.json")
        os.rename(target + ".part.json", target)

    def finish(self) -> None:
        """End a recording that the program's end cuts short, if it holds a step."""
        if self.profiler is not None and os.getpid() == self.process:
            self.count = self.last + 1
            try:
                self.end()
            except Exception as fault:
                _note(fault)


def _note(fault: object) -> None:
    """Keep why nothing was recorded, for whoever ran this."""
    try:
        with open(os.path.join(os.environ[_FOLDER], "fault.txt"), "a") as file:
            kind = f"{type(fault).__name__}: " if isinstance(fault, Exception) else ""
            file.write(f"{kind}{str(fault)[:300]}\n")
    except (OSError, KeyError):
        pass


def _after_import(torch: Any) -> None:
    import atexit

    recorder = StepRecorder(
        torch,
        os.environ[_FOLDER],
        int(os.environ.get(_WARMUP, "5")),
        int(os.environ.get(_STEPS, "3")),
        os.environ.get(_STACKS) == "1",
    )
    with open(os.path.join(os.environ[_FOLDER], "torch-imported"), "w"):
        pass
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
    _go_on()
    if os.environ.get(_FOLDER):
        sys.meta_path.insert(0, TorchFinder(_after_import))
