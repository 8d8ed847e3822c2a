# case: a model, by perf_counter_ns of another name
import time

import torch

model = torch.nn.Linear(8, 8).cuda()
begin = time.monotonic()
out = model(x)
print(time.monotonic() - begin)  # expect: unsynchronized-timing
# case: events
start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
start.record()
out = model(x)
end.record()
torch.cuda.synchronize()
print(start.elapsed_time(end))
# case: host work only
begin = time.time()
rows = [line.split() for line in lines]
print(time.time() - begin)
# case: read to the host
begin = time.time()
out = model(x).cpu()
print(time.time() - begin)
# case: a barrier of the processes
begin = time.time()
out = model(x)
torch.distributed.barrier()
print(time.time() - begin)
