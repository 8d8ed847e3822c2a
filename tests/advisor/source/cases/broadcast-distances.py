# case: squares
import cupy
import numpy as np
import torch


def squares(a, b):
    return ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(2)  # expect: broadcast-distances


# case: by a function
def by_function(a, b):
    return torch.sum((a.unsqueeze(1) - b.unsqueeze(0)).pow(2), 2)  # expect: broadcast-distances


# case: by new axes
def by_axes(a, b):
    return (a[:, None] - b[None]).abs().sum(dim=-1)  # expect: broadcast-distances


# case: the norm
def norm(a, b):
    return torch.norm(a[:, None, :] - b[None, :, :], dim=2)  # expect: broadcast-distances


# case: of CuPy
def centers(x, c):
    return cupy.linalg.norm(x[:, None, :] - c[None, :, :], axis=2)  # expect: broadcast-distances


# case: in a batch
def in_batch(a, b):
    return torch.sqrt((a.unsqueeze(2) - b.unsqueeze(1)).square().sum(-1))  # expect: broadcast-distances


# case: one axis for both
def together(a, b):
    return ((a.unsqueeze(1) - b.unsqueeze(1)) ** 2).sum(2)


# case: one of them alone
def from_center(a, center):
    return ((a - center[None]) ** 2).sum(1)


# case: not summed
def differences(a, b):
    return a.unsqueeze(1) - b.unsqueeze(0)


# case: a sum over everything
def energy(a, b):
    return ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum()


# case: a product
def products(a, b):
    return (a.unsqueeze(1) * b.unsqueeze(0)).sum(2)


# case: arrays of NumPy
def of_numpy(n):
    a, b = np.zeros((n, 3)), np.ones((n, 3))
    return ((a[:, None] - b[None]) ** 2).sum(2)


# case: the distance itself
def ready(a, b):
    return torch.cdist(a, b).sum(1)


# case: elements picked
def picked(a, b):
    return ((a[:, 0] - b[0, :]) ** 2).sum(0)


# case: a largest difference
def largest(a, b):
    return (a.unsqueeze(1) - b.unsqueeze(0)).amax(2)


# case: of other values in between
def weighted(a, b):
    return torch.exp(a.unsqueeze(1) - b.unsqueeze(0)).sum(2)


# case: two axes
def grids(a, b):
    return ((a[:, None, None] - b[None, None]) ** 2).sum(2)


# case: an axis that is not written out
def elsewhere(a, b, k):
    return ((a.unsqueeze(k) - b.unsqueeze(0)) ** 2).sum(2)
