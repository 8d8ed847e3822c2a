# case: wrapped, form 1
import torch
from torch import nn
from torch.nn import DataParallel

model = torch.nn.DataParallel(model).cuda()  # expect: data-parallel-threads
# ---
# case: wrapped, form 2
import torch
from torch import nn
from torch.nn import DataParallel

model = nn.DataParallel(model, device_ids=[0, 1])  # expect: data-parallel-threads
# ---
# case: wrapped, form 3
import torch
from torch import nn
from torch.nn import DataParallel

if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)  # expect: data-parallel-threads
# ---
# case: wrapped, form 4
import torch
from torch import nn
from torch.nn import DataParallel

model.features = torch.nn.DataParallel(model.features)  # expect: data-parallel-threads
# ---
# case: wrapped, form 5
import torch
from torch import nn
from torch.nn import DataParallel

model = DataParallel(build())  # expect: data-parallel-threads
# ---
# case: wrapped, form 6
import torch
from torch import nn
from torch.nn import DataParallel

model = torch.nn.parallel.DataParallel(model)  # expect: data-parallel-threads
# ---
# case: not wrapped, form 1
import torch
from torch import nn

model = torch.nn.parallel.DistributedDataParallel(model)
# ---
# case: not wrapped, form 2
import torch
from torch import nn

model = model.cuda()
# ---
# case: not wrapped, form 3
import torch
from torch import nn

if isinstance(model, nn.DataParallel):
    model = model.module
# ---
# case: not wrapped, form 4
import torch
from torch import nn

print(nn.DataParallel)
# ---
# case: not wrapped, form 5
import torch
from torch import nn

model = Wrapper(model)
# ---
# case: not wrapped, form 6
import torch
from torch import nn

model = deepspeed.DataParallel(model)
# ---
# case: not wrapped, form 7
import torch
from torch import nn

wrapper = DataParallelism(model)
# ---
# case: not wrapped, form 8
import torch
from torch import nn

model = other.DataParallel(model)
# ---
# case: not wrapped, form 9
import torch
from torch import nn

state = {k.replace('DataParallel', ''): v for k, v in state.items()}
# ---
# case: not wrapped, form 10
import torch
from torch import nn

model = fabric.setup(model)
# ---
# case: not wrapped, form 11
import torch
from torch import nn

names = ['DataParallel(']
# ---
# case: not wrapped, form 12
import torch
from torch import nn

def wrap(DataParallel, model):
    return model
# ---
# case: the better wrapper is known
import torch

if distributed:
    model = torch.nn.parallel.DistributedDataParallel(model)
else:
    model = torch.nn.DataParallel(model)  # expect: data-parallel-threads
# ---
# case: inference alone
import torch

net = torch.nn.DataParallel(net.eval()).cuda()  # expect: data-parallel-threads
# ---
# case: by hand, in each step
import torch

model = make_model().cuda()
for x in loader:
    loss = torch.nn.parallel.data_parallel(model, x.cuda()).mean()  # expect: data-parallel-threads
    loss.backward()
    optimizer.step()
# ---
# case: by a helper of another file
import torch

for x in loader:
    loss = utils.data_parallel_workaround(model, x.cuda()).mean()  # expect: data-parallel-threads
    loss.backward()
    optimizer.step()
# ---
# case: a setting
import torch

data_parallel = torch.cuda.device_count() > 1
