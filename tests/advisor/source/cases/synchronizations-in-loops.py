# case: in every iteration
import torch

for x in batches:
    y = model(x)
    torch.cuda.synchronize()  # expect: synchronizations-in-loops


# ---
# case: once at the end
import torch


def run():
    for x in batches:
        model(x)
    torch.cuda.synchronize()


# ---
# case: to measure time
import time

import torch


def timed():
    for x in batches:
        start = time.perf_counter()
        model(x)
        torch.cuda.synchronize()
        print(time.perf_counter() - start)


# ---
# case: by events
import torch


def by_events():
    start = torch.cuda.Event(enable_timing=True)
    for x in batches:
        start.record()
        torch.cuda.synchronize()


# ---
# case: now and then
import torch


def now_and_then():
    for i, x in enumerate(batches):
        if i % 100 == 0:
            torch.cuda.synchronize()


# ---
# case: imported by name
import torch


def by_name():
    from torch.cuda import synchronize

    while True:
        model(x)
        synchronize()  # expect: synchronizations-in-loops


# ---
# case: a benchmark
import torch


def benchmark_model():
    for _ in range(9):
        model(x)
        torch.cuda.synchronize()


# ---
# case: another object's method
import torch


def others():
    for x in batches:
        stream.synchronize()


# ---
# case: nested loops
import torch


def nested():
    for epoch in range(9):
        for x in batches:
            model(x)
        torch.cuda.synchronize()  # expect: synchronizations-in-loops


# ---
# case: a warm-up
import torch


def warmup():
    for _ in range(9):
        torch.cuda.synchronize()


# ---
# case: in the else of a loop
import torch


def in_else():
    for x in batches:
        model(x)
    else:
        torch.cuda.synchronize()


# ---
# case: a profiler runs
import torch


def traced():
    with torch.profiler.profile() as p:
        for x in batches:
            torch.cuda.synchronize()

# ---
# case: a helper of the file takes the time
import torch
from utils import Timer


def helped():
    timer = Timer()
    for x in batches:
        model(x)
        torch.cuda.synchronize()
        timer.lap()
# ---
# case: only for a clock
import time

import torch


class Detector:
    def process(self, images):
        out = self.model(images)
        torch.cuda.synchronize()  # expect: synchronizations-in-loops
        forward_time = time.time()
        return self.decode(out), forward_time


# case: behind a switch
class Switched:
    def process(self, images):
        out = self.model(images)
        if self.timed:
            torch.cuda.synchronize()
            self.times.append(time.time())
        return out


# case: a timer
class GpuTimer:
    def stop(self):
        torch.cuda.synchronize()
        return time.time()


# case: once in an epoch
class Callback:
    def on_train_epoch_start(self, trainer):
        torch.cuda.synchronize()
        self.begin = time.time()
