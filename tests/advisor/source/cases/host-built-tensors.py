# case: built on the host, moved in every iteration
import numpy as np
import torch

device = torch.device("cuda")
for i in range(9):
    z = torch.randn(64, 100).to(device)  # expect: host-built-tensors
# case: built where it is used
for i in range(9):
    z = torch.randn(64, 100, device=device)
# case: once
z = torch.randn(64, 100).to(device)
# case: from host data
for a in arrays:
    z = torch.from_numpy(a).to(device)
# case: cuda()
while True:
    mask = torch.zeros(8, 8).cuda()  # expect: host-built-tensors
# case: to the host
for i in range(9):
    z = torch.zeros(8).to("cpu")
# case: to a type
for i in range(9):
    z = torch.zeros(8).to(torch.float16)
# case: another device already
for i in range(9):
    z = torch.zeros(8, device="meta").to(device)
# case: not of PyTorch
for i in range(9):
    z = np.zeros(8).to(device)
# case: options from elsewhere
for i in range(9):
    z = torch.zeros(8, **options).to(device)
# case: unknown device
for i in range(9):
    z = torch.zeros(8).to(where)


# case: in a function that is called again and again
def noise(n):
    return torch.randn(n).to(device)  # expect: host-built-tensors


# case: where another tensor is
def jitter(weights):
    if weights.is_cuda:
        return torch.rand(weights.shape).to(weights.device)  # expect: host-built-tensors
    return weights


# case: once, when it starts
def build_noise(n):
    return torch.randn(n).to(device)


# case: filled on the host element by element
def neighbours(n):
    mask = torch.ones(n, n)
    for i in range(n):
        mask[i, : i + 3] = 0
    return mask.to(device)


# case: made once for each argument
@functools.lru_cache
def window(n):
    return torch.hann_window(n) + torch.zeros(n).to(device)


# case: now and then
def sometimes(n, step):
    if step % 100 == 0:
        return torch.randn(n).to(device)
    return None


# case: a list of values, which have to come from the host
for label in labels:
    t = torch.tensor(label).to("cuda")
# case: a name that was built before
base = torch.ones(8)
for i in range(9):
    z = base.to(device)


# case: in the forward of a model, behind a method
class Net(torch.nn.Module):
    def forward(self, x):
        state = torch.FloatTensor(2, 8).fill_(0).to(x.device)  # expect: host-built-tensors
        mask = torch.zeros(8).to(device)  # expect: host-built-tensors
        return x + state + mask


# case: once for each epoch
for epoch in range(90):
    weights = torch.ones(8).to(device)
    for x in batches:
        loss = (net(x) * weights).sum()
        loss.backward()
        optimizer.step()
# case: few rounds, all written out
for size in (3, 5):
    z = torch.ones(size).to(device)
# case: computed of what the host made
class Positions(torch.nn.Module):
    def forward(self, x):
        table = torch.exp(-torch.arange(0, 64).float() / 64)
        return x * table.to(x.device)  # expect: host-built-tensors


# case: a default of each call
def scaled_loss(x, scale=None):
    if scale is None:
        scale = torch.pow(0.4 * torch.ones(3), torch.arange(3).float()).to(x.device)  # expect: host-built-tensors
    return (x * scale).sum()


# case: made again when its size changes
class Grid(torch.nn.Module):
    def forward(self, x):
        if self.grid.shape != x.shape:
            self.grid = torch.zeros(len(x), 2).to(x.device)
        return x + self.grid
# ---
# case: to where another tensor is
import torch


class Head(torch.nn.Module):
    def forward(self, scores, actions):
        steps = torch.linspace(0, 1, 64).to(actions)  # expect: host-built-tensors
        start = torch.zeros(8).type_as(scores)  # expect: host-built-tensors
        return scores + steps, start


# case: to a type, or a device
class Typed(torch.nn.Module):
    def forward(self, scores, dtype, where):
        return torch.ones(8).to(dtype), torch.ones(8).to(torch.float16)
# ---
# case: copied into a buffer
import torch


class Noisy(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("noise", torch.zeros(size))

    def reset_noise(self):
        self.noise.copy_(self._drawn(8))  # expect: host-built-tensors

    def _drawn(self, size):
        x = torch.randn(size)
        return x.sign().mul(x.abs().sqrt())
# ---
# case: in front of the many rounds of a function
import torch


def scan(a, v):
    eye = torch.eye(8).to(a)
    done = False
    while not done:
        a, done = square(a, eye)
    return a


def classify(features, chunk):
    votes = torch.zeros(8, 10).to(features.device)
    for k in range(0, len(features), chunk):
        votes += vote(features[k : k + chunk])
    return votes
