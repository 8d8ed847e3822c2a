# case: an array of NumPy
import numpy as np
import torch
from torch.utils.data import DataLoader


def of_numpy(x, device):
    return torch.from_numpy(x).to(device, non_blocking=True)  # expect: pageable-async-copies


# case: through a name
def by_name(x, device):
    t = torch.from_numpy(x)
    return t.to(device, non_blocking=True)  # expect: pageable-async-copies


# case: a tensor without data
def zeros(n):
    t = torch.zeros(n)
    return t.to("cuda", non_blocking=True)  # expect: pageable-async-copies


# case: behind methods
def behind_methods():
    return torch.arange(8).repeat(2).to("cuda", non_blocking=True)  # expect: pageable-async-copies


# case: pinned
def pinned(x, device):
    return torch.from_numpy(x).pin_memory().to(device, non_blocking=True)


# case: pinned where it is made
def made_pinned(n):
    t = torch.zeros(n, pin_memory=True)
    return t.to("cuda", non_blocking=True)


# case: pinned as a variable says
def chosen(n, flag):
    t = torch.zeros(n, pin_memory=flag)
    return t.to("cuda", non_blocking=True)


# case: an attribute
class Uploader:
    def __init__(self, values):
        self.host = torch.tensor(values)
        self.buffer = torch.empty(8).pin_memory()

    def upload(self):
        return self.host.cuda(non_blocking=True)  # expect: pageable-async-copies

    # case: a pinned attribute
    def of_buffer(self):
        return self.buffer.cuda(non_blocking=True)


# case: it waits, and says so
def waits(x, device):
    return torch.from_numpy(x).to(device)


# case: chosen by a variable
def flagged(x, device, flag):
    return torch.from_numpy(x).to(device, non_blocking=flag)


# case: not known
def unknown(x, device):
    return x.to(device, non_blocking=True)


# case: pinned on one of two ways
def perhaps(x, device, fast):
    t = torch.from_numpy(x)
    if fast:
        t = t.pin_memory()
    return t.to(device, non_blocking=True)


# case: to the host
def back(x):
    return torch.from_numpy(x).to("cpu", non_blocking=True)


# case: on the GPU already
def already(n, device):
    return torch.zeros(n, device=device).to("cuda", non_blocking=True)


# case: a helper of the file makes it
def load(path):
    return torch.from_numpy(np.load(path))


def helped(path, device):
    return load(path).to(device, non_blocking=True)  # expect: pageable-async-copies


# case: a loader without pinned memory
def of_loader(data, device):
    loader = DataLoader(data, num_workers=4)
    for x, y in loader:
        yield x.to(device, non_blocking=True), y  # expect: pageable-async-copies


# case: a loader with pinned memory
def of_pinned_loader(data, device):
    loader = DataLoader(data, num_workers=4, pin_memory=True)
    for x, y in loader:
        yield x.to(device, non_blocking=True), y


# case: a loader from elsewhere
def of_foreign_loader(loader, device):
    for x, y in loader:
        yield x.to(device, non_blocking=True), y


# case: like one that is on the GPU
def alike(device, n):
    x = torch.ones(n, device=device)
    return torch.zeros_like(x).to(device, non_blocking=True)


# case: a model
def model(device):
    return torch.nn.Linear(8, 8).to(device, non_blocking=True)
