"""Common faults of a PyTorch program, each beside its repair, timed and then profiled.

``torch_faults.py FOLDER [CASE...]`` writes CASE.json (the profiler's Chrome trace) for each case
and adds a line to FOLDER/seconds.ndjson: the case's seconds without a profiler (each repeat) and
with one. A case that fails is written down with its error, and the rest go on.
``torch_faults.py capture CASE`` runs one case between cudaProfilerStart and cudaProfilerStop,
for Nsight Systems.
"""

import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

MIB = 1 << 20
CASES = {}


def case(build):
    """Register a function that prepares a case and returns what to run."""
    CASES[build.__name__] = build
    return build


def floats(byte_count, **where):
    """Return *byte_count* bytes of float32."""
    return torch.zeros(byte_count // 4, **where)


def copies(pinned, to_host):
    """Return a run of eight copies of 16 MiB."""
    host = [floats(16 * MIB, pin_memory=pinned) for _ in range(8)]
    device = [floats(16 * MIB, device="cuda") for _ in range(8)]
    sources, targets = (device, host) if to_host else (host, device)

    def run():
        for source, target in zip(sources, targets, strict=True):
            target.copy_(source)

    return run


@case
def h2d_pageable():
    return copies(False, False)


@case
def h2d_pinned():
    return copies(True, False)


@case
def d2h_pageable():
    return copies(False, True)


@case
def d2h_pinned():
    return copies(True, True)


@case
def small_copies():
    host = floats(300 * 4096, pin_memory=True).view(300, 1024)
    device = floats(300 * 4096, device="cuda").view(300, 1024)

    def run():
        for i in range(300):
            device[i].copy_(host[i], non_blocking=True)

    return run


@case
def one_copy():
    host = floats(300 * 4096, pin_memory=True)
    device = floats(300 * 4096, device="cuda")
    return lambda: device.copy_(host, non_blocking=True)


def staging(stream_count):
    """Return a run that copies in, multiplies and copies out eight chunks."""
    streams = [torch.cuda.Stream() for _ in range(stream_count)]
    host = [torch.zeros(2048, 2048, pin_memory=True) for _ in range(8)]
    device = [torch.zeros(2048, 2048, device="cuda") for _ in range(8)]
    weight = torch.zeros(2048, 2048, device="cuda")

    def run():
        for i in range(8):
            with torch.cuda.stream(streams[i % stream_count]):
                device[i].copy_(host[i], non_blocking=True)
                product = device[i] @ weight
                host[i].copy_(product, non_blocking=True)

    return run


@case
def serial():
    return staging(1)


@case
def staged():
    return staging(4)


def tiny(values, count):
    """Launch *count* kernels of a few thousand elements."""
    for _ in range(count):
        values.add_(1.0)


@case
def tiny_launches():
    values = torch.zeros(4096, device="cuda")
    return lambda: tiny(values, 1000)


@case
def graph():
    values = torch.zeros(4096, device="cuda")
    tiny(values, 3)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        tiny(values, 1000)
    return recorded.replay


def transformer():
    """Return a small encoder and one batch of it: host bound without a graph."""
    layer = nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda().half().train()
    return model, torch.randn(4, 64, 256, device="cuda", dtype=torch.half)


@case
def transformer_eager():
    model, batch = transformer()

    @torch.no_grad()
    def run():
        for _ in range(3):
            model(batch)

    return run


@case
def transformer_compiled():
    model, batch = transformer()
    compiled = torch.compile(model, mode="reduce-overhead")

    @torch.no_grad()
    def run():
        for _ in range(3):
            compiled(batch)

    for _ in range(3):
        run()
    return run


@case
def item_each_step():
    values = torch.zeros(1 << 16, device="cuda")

    def run():
        total = 0.0
        for _ in range(100):
            values.add_(1.0)
            total += values.sum().item()

    return run


@case
def item_once():
    values = torch.zeros(1 << 16, device="cuda")

    def run():
        total = torch.zeros((), device="cuda")
        for _ in range(100):
            values.add_(1.0)
            total += values.sum()
        total.item()

    return run


@case
def host_gaps():
    matrix = torch.zeros(4096, 4096, device="cuda")

    def run():
        for _ in range(5):
            matrix @ matrix
            torch.cuda.synchronize()
            time.sleep(0.005)

    return run


@case
def host_beside():
    matrix = torch.zeros(4096, 4096, device="cuda")

    def run():
        worker = threading.Thread(target=time.sleep, args=(0.005,))
        worker.start()
        for _ in range(5):
            matrix @ matrix
        worker.join()

    return run


@case
def alloc_in_loop():
    def run():
        for _ in range(50):
            scratch = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
            scratch.fill_(1)
            del scratch
            torch.cuda.empty_cache()

    return run


@case
def alloc_once():
    def run():
        scratch = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
        for _ in range(50):
            scratch.fill_(1)

    return run


def products(dtype, rows, inner, columns, tf32=False):
    """Return a run of eight matrix products."""
    a = torch.randn(rows, inner, device="cuda", dtype=dtype)
    b = torch.randn(inner, columns, device="cuda", dtype=dtype)

    def run():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for _ in range(8):
            a @ b
        torch.backends.cuda.matmul.allow_tf32 = False

    return run


@case
def gemm_fp32():
    return products(torch.float32, 4096, 4096, 4096)


@case
def gemm_tf32():
    return products(torch.float32, 4096, 4096, 4096, tf32=True)


@case
def gemm_bf16():
    return products(torch.bfloat16, 4096, 4096, 4096)


@case
def gemm_odd():
    return products(torch.bfloat16, 4095, 4095, 4095)


@case
def gemm_even():
    return products(torch.bfloat16, 4096, 4096, 4096)


def triton_add(warps):
    """Return a run of vector additions in blocks of *warps* warps, one element a thread."""
    import triton_kernels

    a, b = torch.zeros(2, 1 << 25, device="cuda")
    out = torch.empty_like(a)
    block = 32 * warps

    def run():
        for _ in range(10):
            triton_kernels.add[(a.numel() // block,)](a, b, out, BLOCK=block, num_warps=warps)

    return run


@case
def triton_one_warp():
    return triton_add(1)


@case
def triton_four_warps():
    return triton_add(4)


def resnet(fast):
    """Return two training steps of ResNet-50."""
    import torchvision

    model = torchvision.models.resnet50().cuda().train()
    images = torch.randn(32, 3, 224, 224, device="cuda")
    if fast:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    labels = torch.zeros(32, dtype=torch.long, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()

    def run():
        torch.backends.cudnn.allow_tf32 = fast
        for _ in range(2):
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=fast):
                loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()

    run()
    return run


@case
def resnet50_fp32():
    return resnet(False)


@case
def resnet50_amp_channels_last():
    return resnet(True)


def timed(run):
    """Return the seconds of one synchronised run."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def record(name, folder):
    """Time a case, profile it, and return its line."""
    run = CASES[name]()
    timed(run)
    seconds = [timed(run) for _ in range(5)]
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True
    ) as profiler:
        profiled = timed(run)
    profiler.export_chrome_trace(str(folder / f"{name}.json"))
    return {
        "case": name,
        "seconds": seconds,
        "median": statistics.median(seconds),
        "profiled": profiled,
    }


def capture(name):
    """Run one case inside the range that Nsight Systems records."""
    run = CASES[name]()
    timed(run)
    torch.cuda.cudart().cudaProfilerStart()
    timed(run)
    torch.cuda.cudart().cudaProfilerStop()


def main():
    if sys.argv[1] == "capture":
        capture(sys.argv[2])
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or list(CASES)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):  # its start-up cost
        timed(lambda: torch.zeros(1, device="cuda").add_(1))
    with (folder / "seconds.ndjson").open("a") as log:
        for name in names:
            begin = time.perf_counter()
            try:
                line = record(name, folder)
            except Exception as error:
                line = {"case": name, "error": f"{type(error).__name__}: {error}"[:300]}
            log.write(json.dumps(line) + "\n")
            log.flush()
            print(f"{name}: {time.perf_counter() - begin:.1f} s", line.get("error", ""), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "8")
    main()
