# case: AdamW, as it is
import torch

optimizer = torch.optim.AdamW(model.parameters())  # expect: unfused-optimizers
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: Adam, as it is
import torch

optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # expect: unfused-optimizers
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: imported
import torch

from torch.optim import AdamW

optimizer = AdamW(model.parameters())  # expect: unfused-optimizers
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: the module imported
import torch

from torch import optim

optimizer = optim.Adam(model.parameters())  # expect: unfused-optimizers
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: two: the first is named
import torch

first = torch.optim.Adam(model.parameters())  # expect: unfused-optimizers
optimizer = torch.optim.Adam(model.parameters())
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: an attribute
import torch

class Trainer:
    def __init__(self, model):
        self.optimizer = torch.optim.AdamW(model.parameters())  # expect: unfused-optimizers

    def fit(self, loader):
        for x in loader:
            self.model(x.cuda()).mean().backward()
            self.optimizer.step()
# ---
# case: fused
import torch

optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: fused as a variable says
import torch

optimizer = torch.optim.AdamW(model.parameters(), fused=flag)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: another form is chosen
import torch

optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: for CUDA graphs
import torch

optimizer = torch.optim.Adam(model.parameters(), capturable=True)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: options from elsewhere
import torch

optimizer = torch.optim.AdamW(model.parameters(), **options)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: another optimiser
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: on the host
import torch

device = "cpu"
optimizer = torch.optim.Adam(model.parameters())
for x in loader:
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
# ---
# case: it trains elsewhere
import torch

optimizer = torch.optim.Adam(model.parameters())  # expect: unfused-optimizers
model.cuda()
# ---
# case: a device that the caller chooses
import torch

class Policy(torch.nn.Module):
    def optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
# ---
# case: one number is learnt
import torch

optimizer = torch.optim.Adam([log_alpha], lr=1e-3)
# ---
# case: of another library
import torch
from apex.optimizers import FusedAdam

optimizer = FusedAdam(model.parameters())
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: one of its own
import torch

class Adam:
    pass


optimizer = Adam()
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: differentiable
import torch

optimizer = torch.optim.Adam(model.parameters(), differentiable=True)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: one that is not Adam's family
import torch

optimizer = torch.optim.RMSprop(model.parameters())
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()


# ---
# case: told to a trainer
import torch

TrainingArguments(output_dir="out", optim="adamw_torch")  # expect: unfused-optimizers

# ---
# case: a fused one of a trainer
import torch

TrainingArguments(output_dir="out", optim="adamw_torch_fused")

# ---
# case: for those who give none
import torch


class Trainer:
    def __init__(self, model, optimizer=None):
        if optimizer is None:
            self.optimizer = torch.optim.Adam(model.parameters())
# ---
# case: a model of narrow layers
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, actions))


policy = Policy(4, 2).cuda()
policy = policy.cuda()
optimizer = torch.optim.Adam(policy.parameters())
# ---
# case: a model with a wide layer
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 1024), nn.ReLU(), nn.Linear(1024, actions))


network = Network(4, 2).cuda()
optimizer = torch.optim.Adam(network.parameters())  # expect: unfused-optimizers
# ---
# case: a model with convolutions
import torch
from torch import nn


class Images(nn.Module):
    def __init__(self, actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 64, 3), nn.Linear(128, actions))


images = Images(2).cuda()
optimizer = torch.optim.Adam(images.parameters())  # expect: unfused-optimizers
