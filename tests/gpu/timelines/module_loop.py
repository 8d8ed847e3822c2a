"""A loop in no function: ``module_loop.py FILE`` records three of its steps with stacks."""

import sys

import numpy
import torch
from torch.profiler import ProfilerActivity, profile, schedule

layer = torch.nn.Linear(2048, 2048).cuda()
weights = numpy.random.default_rng(0).random((2048, 2048), dtype=numpy.float32)
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=0, warmup=2, active=3, repeat=1),
    with_stack=True,
    on_trace_ready=lambda profiler: profiler.export_chrome_trace(sys.argv[1]),
) as profiler:
    for _ in range(5):
        batch = numpy.sort(weights, axis=1)
        result = layer(torch.from_numpy(batch).cuda())
        torch.cuda.synchronize()
        profiler.step()
