"""Watching a program: PyTorch's profiler and Numba's launches, by stand-ins that record what they are asked."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import traces

import gpuadvise

if TYPE_CHECKING:
    from collections.abc import Iterator


class Profile:
    """As torch.profiler.profile: a trace of kernels that each copy waits for."""

    running = 0

    def __init__(self, *, activities: list[str], record_shapes: bool, acc_events: bool) -> None:
        self.activities = activities

    def start(self) -> None:
        Profile.running += 1

    def stop(self) -> None:
        Profile.running -= 1

    def export_chrome_trace(self, path: str) -> None:
        events = [traces.kernel(at, 9) for at in range(0, 400, 10)]
        with open(path, "w", encoding="utf-8") as file:
            file.write(traces.kineto(events))


def stand_in(monkeypatch: pytest.MonkeyPatch, *, gpu: bool) -> None:
    torch = ModuleType("torch")
    calls: list[str] = []
    cuda = SimpleNamespace(
        is_available=lambda: gpu, synchronize=lambda: calls.append("wait"), calls=calls
    )
    vars(torch)["cuda"] = cuda
    profiler = ModuleType("torch.profiler")
    vars(profiler).update(profile=Profile, ProfilerActivity=SimpleNamespace(CPU="cpu", CUDA="cuda"))
    vars(torch)["profiler"] = profiler
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.profiler", profiler)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    stand_in(monkeypatch, gpu=True)
    yield sys.modules["torch"]
    assert Profile.running == 0


def test_a_stretch_is_recorded_and_judged_when_asked(torch: ModuleType) -> None:
    with gpuadvise.watch(gpu="h200") as w:
        assert Profile.running == 1
    assert torch.cuda.calls == ["wait", "wait"]
    assert w.timeline.result.kernel_seconds == pytest.approx(40 * 9e-6)
    assert w.findings == w.advice.findings
    assert w.advice is w.advice
    assert str(w) == str(w.advice)
    assert "<div>" in w._repr_html_()
    assert w._repr_markdown_()
    assert w.unseen == ()


def test_a_function_keeps_its_last_watch(torch: ModuleType) -> None:
    @gpuadvise.watch
    def step(add: int) -> int:
        """Add."""
        return add + 1

    @gpuadvise.watch(gpu="h200")
    def other() -> str:
        return "done"

    assert step.watched is None  # type: ignore[attr-defined]
    assert (step(1), step.__doc__) == (2, "Add.")
    assert step.watched.timeline.result.kernels  # type: ignore[attr-defined]
    assert other() == "done"
    assert other.watched.gpu == "h200"  # type: ignore[attr-defined]


def test_what_the_program_raises_goes_on_and_ends_the_recording(torch: ModuleType) -> None:
    watching = gpuadvise.watch()
    with pytest.raises(ZeroDivisionError), watching:
        _ = 1 / 0
    assert watching.timeline.result.kernels
    with gpuadvise.watch():  # another may begin
        pass


def test_one_watch_at_a_time(torch: ModuleType) -> None:
    with gpuadvise.watch(), pytest.raises(gpuadvise.GpuAdviseError, match="Another watch"):
        gpuadvise.watch().__enter__()


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, gpu=False)
    with gpuadvise.watch() as w, pytest.raises(gpuadvise.GpuAdviseError, match="has not ended"):
        _ = w.findings
    with pytest.raises(gpuadvise.GpuAdviseError, match="recorded no work of a GPU") as error:
        _ = w.findings
    assert error.value.hint == "PyTorch sees no GPU here: nothing ran on one."


class Kernel:
    """As numba.cuda.dispatcher._Kernel, as far as a watch asks it."""

    entry_name = "_ZN8__main__3addE"
    regs_per_thread = 72
    shared_mem_per_block = 1024
    local_mem_per_thread = 0
    launched = 0

    def launch(self, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
        Kernel.launched += 1


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr("gpuadvise.api.watch.find_spec", lambda name: None)
    cuda, dispatcher = ModuleType("numba.cuda"), ModuleType("numba.cuda.dispatcher")
    vars(cuda)["get_current_device"] = lambda: SimpleNamespace(name=b"NVIDIA H200")
    vars(dispatcher)["_Kernel"] = Kernel
    monkeypatch.setitem(sys.modules, "numba.cuda", cuda)
    monkeypatch.setitem(sys.modules, "numba.cuda.dispatcher", dispatcher)
    return cuda


def test_numba_tells_launches_and_no_times(numba: ModuleType) -> None:
    before = Kernel.launch
    with gpuadvise.watch() as w:
        for _ in range(3):
            Kernel().launch((), (8, 1, 1), (100, 1, 1), 0, 2048)
    assert (Kernel.launch, Kernel.launched) == (before, 3)
    assert w.advice.input["files"][0].endswith("watch.ndjson")
    assert str(w).startswith("__main__::add ")
    assert {"partial-warp", "underfilled-device"} & {finding.rule for finding in w.findings}
    assert w.advice.device is not None
    assert w.advice.device.name == "NVIDIA H200 SXM 141 GB"
    with pytest.raises(gpuadvise.GpuAdviseError, match="no times are seen"):
        _ = w.timeline


def test_what_cannot_be_seen_is_said(numba: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    with gpuadvise.watch() as w:
        pass
    assert any("CuPy" in sentence for sentence in w.unseen)
    monkeypatch.delitem(sys.modules, "numba.cuda.dispatcher")
    with gpuadvise.watch() as w:
        pass
    assert w.unseen[0].startswith("Neither PyTorch nor Numba")
    with pytest.raises(gpuadvise.GpuAdviseError, match="recorded no work"):
        _ = w.findings


def test_a_gpu_that_numba_does_not_name(numba: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(numba, "get_current_device")
    with gpuadvise.watch(gpu="l4") as w:
        Kernel().launch((), (8,), (100,))
    assert w.advice.device is not None
    assert w.advice.device.name == "NVIDIA L4"


def test_a_recording_goes_with_its_watch(torch: ModuleType) -> None:
    with gpuadvise.watch() as w:
        pass
    folder = Path(w._folder or "")
    assert folder.is_dir()
    del w
    assert not folder.exists()
