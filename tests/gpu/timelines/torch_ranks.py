"""Two ranks of a training program, uneven and even: timed, then profiled, a trace for each rank.

``torch_ranks.py FOLDER`` writes FOLDER/CASE/rankN.json and adds a line to FOLDER/seconds.ndjson:
the seconds of one step without a profiler. Where there are fewer GPUs than ranks they share one:
NCCL is told that the ranks are hosts of their own, and sends over sockets.
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import distributed, nn
from torch.profiler import ProfilerActivity, profile, schedule

RANKS = 2
STEPS = 3


def model_of(width):
    """Return a stack of dense layers on the GPU."""
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(4))).cuda()


def averaged_after(width, batches):
    """Return a step that computes all gradients, then averages one after the other."""
    model, batch = model_of(width), torch.rand(batches, width, device="cuda")

    def step():
        model(batch).square().mean().backward()
        for parameter in model.parameters():
            distributed.all_reduce(parameter.grad)
            parameter.grad = None

    return step


def averaged_meanwhile(width, batches):
    """Return a step whose gradients are averaged while the others are computed."""
    model = nn.parallel.DistributedDataParallel(model_of(width), bucket_cap_mb=4)
    batch = torch.rand(batches, width, device="cuda")

    def step():
        model(batch).square().mean().backward()
        model.zero_grad()

    return step


def cases(rank):
    """Yield each case's name and step."""
    yield "uneven_ranks", averaged_after(1024, 1 << (16 if rank else 12))
    yield "even_ranks", averaged_after(1024, 1 << 14)
    yield "ddp_ranks", averaged_meanwhile(1024, 1 << 14)


def timed(step, steps):
    """Return the seconds of one step, of *steps* run together on all ranks."""
    distributed.barrier()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps


def record(name, step, rank, folder):
    """Time a case and profile it; rank 0 writes the line."""
    timed(step, 3)
    seconds = [timed(step, 5) for _ in range(3)]
    target = folder / name
    target.mkdir(exist_ok=True)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=2, active=STEPS, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(
            str(target / f"rank{rank}.json")
        ),
    ) as profiler:
        for _ in range(STEPS + 2):
            step()
            torch.cuda.synchronize()
            profiler.step()
    if rank == 0:
        line = {"case": name, "seconds": seconds, "median": statistics.median(seconds)}
        line["backend"] = distributed.get_backend()
        with (folder / "seconds.ndjson").open("a") as log:
            log.write(json.dumps(line) + "\n")
        print(name, line["median"], flush=True)


def main(rank, folder, backend):
    if torch.cuda.device_count() < RANKS:
        os.environ.update(NCCL_HOSTID=f"rank{rank}", NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1")
        os.environ.update(NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo")
    torch.cuda.set_device(rank % torch.cuda.device_count())
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", GLOO_SOCKET_IFNAME="lo")
    distributed.init_process_group(backend, rank=rank, world_size=RANKS)
    for name, step in cases(rank):
        record(name, step, rank, folder)
    distributed.destroy_process_group()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    torch.multiprocessing.spawn(main, (target, sys.argv[2]), nprocs=RANKS)
