"""``gpuadvise run`` and ``watch()`` on a real GPU, with PyTorch, Numba, CuPy and a program of nvcc.

Each test prints what it measured (``pytest -s``); a package that is missing skips its tests alone.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gpu

LONGEST = 240  # seconds of one program, the start of PyTorch and its compiler included

TRAINING = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(8))).cuda()
{before}
optimizer = torch.optim.AdamW(model.parameters())
data = torch.rand(256, 1024, device="cuda")
times = []
for step in range({steps}):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    loss = model(data).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
    {inside}
print("ms", round(1e3 * sorted(times[-5:])[2], 3))
{after}
sys.exit({code})
"""
GRAPH = """
import torch
model = torch.nn.Linear(512, 512).cuda()
data = torch.rand(64, 512, device="cuda")
with torch.no_grad():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range({eager}): model(data)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(12): out = model(data)
    for _ in range(20): graph.replay()
    for _ in range({after}): model(data)
torch.cuda.synchronize()
print("sum", torch.isfinite(out.sum()).item())
"""
RANKS = """
import os
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(512, 512).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    model(torch.rand(64, 512, device="cuda")).sum().backward()
    optimizer.step()
os.write(1, f"rank {dist.get_rank()}\\n".encode())  # in one piece: two ranks share the pipe
dist.destroy_process_group()
"""
BINARY = """
#include <cstdio>
__global__ void scale(float* x, int n) { int i = blockIdx.x * 32 + threadIdx.x; if (i < n) x[i] *= 2; }
int main(int count, char** words) {
    float* x;
    cudaMalloc(&x, 1 << 24);
    for (int i = 0; i < 3; ++i) scale<<<(1 << 22) / 32, 32>>>(x, 1 << 22);
    cudaDeviceSynchronize();
    printf("words %d\\n", count - 1);
    return 6;
}
"""
NUMBA = """
import json, sys
sys.modules["torch"] = None  # what Numba alone shows
import numpy
if not hasattr(numpy, "row_stack"):  # Numba 0.62 and older ask for it, NumPy 2.4 has it no more
    numpy.row_stack = numpy.vstack
from numba import cuda
import gpuadvise
@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]
x = cuda.to_device(numpy.ones(1 << 20, numpy.float32))
out = cuda.device_array_like(x)
with gpuadvise.watch() as watch:
    for _ in range(3):
        add[(1 << 20) // 32, 32](x, x, out)
    cuda.synchronize()
assert out.copy_to_host()[5] == 2
findings = [finding.rule for finding in watch.findings]
print(json.dumps({"unseen": watch.unseen, "findings": findings, "text": str(watch)[:2000]}))
"""
CUPY = """
import json, sys
import cupy
import gpuadvise
x = cupy.ones(1 << 24, cupy.float32)
kernel = cupy.RawKernel(
    'extern "C" __global__ void triad(float* x, int n)'
    '{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 2 * x[i] + 1; }', "triad")
kernel(((1 << 24) // 32,), (32,), (x, 1 << 24))
with gpuadvise.watch() as watch:
    for _ in range(5):
        kernel(((1 << 24) // 32,), (32,), (x, 1 << 24))
    cupy.cuda.Device().synchronize()
timeline = watch.timeline.result
print(json.dumps({
    "kernels": [[kernel.name, kernel.calls, kernel.seconds] for kernel in timeline.kernels],
    "span": timeline.span_seconds,
    "findings": [finding.rule for finding in watch.findings],
    "unseen": watch.unseen,
}))
"""


@pytest.fixture(scope="module")
def python() -> str:
    """A Python with a PyTorch that sees the GPU; it need not be ours."""
    if importlib.util.find_spec("torch"):
        return sys.executable
    other = shutil.which("python3")
    asked = [other or "", "-c", "import torch; assert torch.cuda.is_available()"]
    if other is None or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("PyTorch is not installed")
    return other


def run(*words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """``gpuadvise run`` of *words*; what it said is printed."""
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", "run", *options, "--", *words],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    print(f"--- {words}: exit {done.returncode}\n{done.stdout}\n{done.stderr[-5000:]}")
    return done


def bare(*words: str) -> subprocess.CompletedProcess[str]:
    """*words* without us."""
    return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)


def written(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def training(folder: Path, steps: int = 20, code: int = 7, **more: str) -> str:
    fields = {"before": "", "inside": "", "after": ""} | more
    return written(folder, TRAINING.format(steps=steps, code=code, **fields))


def answer(kept: Path) -> dict:
    line = [sys.executable, "-m", "gpuadvise", "timeline", str(kept), "--format", "json"]
    return json.loads(subprocess.run(line, capture_output=True, check=True).stdout)["result"]


def milliseconds(said: str) -> float:
    return float(said.split("ms ")[1].split()[0])


def test_a_training_loop(python: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json.gz"
    program = training(tmp_path)
    done = run(python, program, options=("--keep", str(kept)))
    assert done.returncode == 7
    assert done.stdout.startswith("ms ")
    assert "idle" in done.stderr
    alone = bare(python, program)
    result = answer(kept)
    steps = result["steps"]
    print(f"bare step {milliseconds(alone.stdout)} ms, below run {milliseconds(done.stdout)} ms")
    print(f"recorded: {json.dumps(steps)[:1500]}")
    print(f"account: {json.dumps(result['account'])[:1500]}")
    assert steps["count"] == 3
    # Behind the window of the recording the program goes as fast as alone.
    assert milliseconds(done.stdout) < 2 * milliseconds(alone.stdout)


def test_stacks_name_the_line(python: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    waits = "def culprit(): time.sleep(0.01)"
    program = training(tmp_path, before=waits, inside="culprit()")
    done = run(python, program, options=("--stacks", "--keep", str(kept)))
    assert done.returncode == 7
    longest = max(answer(kept)["gaps"], key=lambda gap: gap["seconds"])
    print(f"the longest gap: {longest}")
    assert (longest["culprit"]["file"], longest["culprit"]["function"]) == ("program.py", "culprit")


def test_compiled_code_is_compiled_as_often_as_without(python: str, tmp_path: Path) -> None:
    program = training(
        tmp_path,
        before="model = torch.compile(model)",
        after="import torch._dynamo.utils as u; print('graphs', dict(u.counters['stats']), "
        "sum(u.counters['graph_break'].values()))",
        code=0,
    )
    alone = bare(python, program)
    print(f"alone: {alone.stdout}\n{alone.stderr[-3000:]}")
    if alone.returncode:
        pytest.skip("torch.compile does not run here")
    done = run(python, program)
    assert done.returncode == 0
    assert done.stdout.partition("graphs")[2] == alone.stdout.partition("graphs")[2]
    assert "global hooks" not in done.stderr


def test_the_programs_own_profiler_stays(python: str, tmp_path: Path) -> None:
    program = training(
        tmp_path,
        before="from torch import profiler as p\n"
        "own = p.profile(schedule=p.schedule(wait=1, warmup=1, active=5, repeat=1),"
        " on_trace_ready=lambda one: print('events', len(one.events()) > 0))\nown.start()",
        inside="own.step()",
        after="own.stop()",
    )
    done = run(python, program)
    assert done.returncode == 7
    assert "events True" in done.stdout
    late = training(
        tmp_path,
        inside="\n    if step == 6:\n        with torch.profiler.profile() as own: model(data)\n"
        "        print('events', len(own.events()) > 0)",
    )
    done = run(python, late)
    assert done.returncode == 7
    assert "events True" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("eager", "after"), [(3, 12), (5, 12)])
def test_a_graph_is_captured_in_the_warm_up_or_the_window(
    python: str, tmp_path: Path, eager: int, after: int
) -> None:
    done = run(python, written(tmp_path, GRAPH.format(eager=eager, after=after)))
    assert done.returncode == 0
    assert done.stdout == "sum True\n"
    assert "Traceback" not in done.stderr


def test_each_rank_is_recorded(python: str, tmp_path: Path) -> None:
    kept = tmp_path / "ranks"
    program = written(tmp_path, RANKS)
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    done = run(python, *torchrun, program, options=("--keep", str(kept)))
    assert done.returncode == 0
    assert sorted(done.stdout.split("\n")) == ["", "rank 0", "rank 1"]
    assert len(list(kept.iterdir())) == 2
    print(f"ranks: {json.dumps(answer(kept)['ranks'])[:1500]}")


def test_a_program_of_nvcc(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    recorders = [name for name in ("nsys", "ncu") if shutil.which(name)]
    if nvcc is None or not recorders:
        pytest.skip("nvcc, or nsys and ncu, are not on PATH")
    source, binary = tmp_path / "program.cu", tmp_path / "binary"
    source.write_text(BINARY)
    subprocess.run([nvcc, "-arch=native", "-o", str(binary), str(source)], check=True)
    kept = tmp_path / "kept"
    done = run(str(binary), "a", "b", options=("--keep", str(kept)))
    print(f"recorded by {recorders[0]}")
    assert "words 2" in done.stdout
    assert done.returncode == 6
    assert "scale" in done.stderr


def watched(program: str, *packages: str) -> dict:
    for package in packages:
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    print(done.stdout, done.stderr[-3000:])
    assert done.returncode == 0
    return json.loads(done.stdout.splitlines()[-1])


def test_watch_sees_numba_without_pytorch() -> None:
    seen = watched(NUMBA, "numba", "numpy")
    assert "tiny-blocks" in seen["findings"]
    assert seen["text"].startswith("__main__::add")
    assert any("no times are seen" in sentence for sentence in seen["unseen"])


def test_watch_sees_cupy_through_pytorch() -> None:
    seen = watched(CUPY, "cupy", "torch")
    assert [(name, calls) for name, calls, _ in seen["kernels"]] == [("triad", 5)]
    assert "tiny-blocks" in seen["findings"]
    assert seen["unseen"] == []
