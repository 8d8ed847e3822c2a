"""Library kernels through PyTorch, inside one profiler range: profiled by record_ncu.sh."""

import torch

torch.backends.cuda.matmul.allow_tf32 = False
a = torch.randn(4096, 4096, device="cuda")
b = torch.randn(4096, 4096, device="cuda")
h = a.half()
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStart()
a + b  # element-wise
a.sum()  # reduction
torch.softmax(a, dim=1)
a @ b  # SGEMM of the library: low occupancy, busy FMA pipe
h @ h  # tensor cores
a[:, ::8].contiguous()  # strided copy
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStop()
