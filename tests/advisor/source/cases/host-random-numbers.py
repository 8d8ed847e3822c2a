# case: normal numbers in each step
import numpy as np
import torch
from torch.autograd import Variable

device = torch.device("cuda")
Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
for i in range(99):
    z = torch.from_numpy(np.random.normal(0, 1, (8, 8))).to(device)  # expect: host-random-numbers
# case: drawn there
for i in range(99):
    z = torch.randn(8, 8, device=device)
# case: once
z = torch.from_numpy(np.random.normal(0, 1, (8, 8))).to(device)
# case: by a constructor of the old kind
for i in range(99):
    z = Variable(Tensor(np.random.normal(0, 1, (8, 8))))  # expect: host-random-numbers
# case: given the device
for i in range(99):
    z = torch.tensor(np.random.rand(8), device=device)  # expect: host-random-numbers
# case: through names
for i in range(99):
    noise = np.random.uniform(-1, 1, 8).astype(np.float32)
    drawn = torch.from_numpy(noise)
    z = drawn.to(device)  # expect: host-random-numbers
# case: cuda()
for i in range(99):
    z = torch.FloatTensor(np.random.randn(8)).cuda()  # expect: host-random-numbers
# case: stays on the host
for i in range(99):
    z = torch.from_numpy(np.random.rand(8))
# case: to the host
for i in range(99):
    z = torch.from_numpy(np.random.rand(8)).to("cpu")
# case: data
for a in arrays:
    z = torch.from_numpy(np.sqrt(a)).to(device)
# case: few
for i in range(3):
    z = torch.from_numpy(np.random.rand(8)).to(device)
# case: now and then
for i in range(99):
    if i % 10 == 0:
        z = torch.from_numpy(np.random.rand(8)).to(device)
# case: a choice of the host
for i in range(99):
    which = np.random.randint(8)
    z = model(which)


# case: in the forward of a model
class Noisy(torch.nn.Module):
    def forward(self, x):
        noise = torch.tensor(np.random.rand(8)).to(x.device)  # expect: host-random-numbers
        return x + noise


# case: when the model is made
class Seeded(torch.nn.Module):
    def __init__(self):
        self.start = torch.tensor(np.random.rand(8)).to(device)


# case: in a helper without a loop
def draw():
    return torch.tensor(np.random.rand(8)).to(device)


# case: Python's own
def own():
    import random

    for i in range(99):
        z = torch.tensor(random.random(), device=device)


# case: once for each epoch
def each_epoch():
    for epoch in range(90):
        start = torch.from_numpy(np.random.rand(8)).to(device)
        for x in loader:
            loss = model(x.cuda(), start).mean()
            loss.backward()
            optimizer.step()


# case: in each training step
def each_step():
    for x in loader:
        t = torch.from_numpy(np.random.rand(8)).to(device)  # expect: host-random-numbers
        loss = model(x.cuda(), t).mean()
        loss.backward()
        optimizer.step()


# case: seeded
def seeded():
    for i in range(99):
        np.random.seed(i)
        z = torch.zeros(8, device=device)


# case: a random index of the host
def pick(coords, loader):
    coords = torch.zeros(9, 2).cuda()
    for x in loader:
        chosen = np.random.choice(9, 3)
        y = coords[chosen]  # expect: host-random-numbers
        z = coords[3]
