# case: a bound below
import torch


def below(x):
    return torch.max(x, torch.zeros_like(x))  # expect: full-size-constants


# case: a bound above, from a size
def above(x, y):
    return torch.min((y.shape[-1] - 1) * torch.ones_like(x), x)  # expect: full-size-constants


# case: chosen by a mask
def masked(x, mask):
    return torch.where(mask, x, torch.zeros_like(x))  # expect: full-size-constants


# case: by a name
def scores(e, adjacency):
    low = -9e15 * torch.ones_like(e)
    return torch.where(adjacency > 0, e, low)  # expect: full-size-constants


# case: filled
def filled(x, mask):
    return torch.where(mask, torch.full_like(x, -1e9), x)  # expect: full-size-constants


# case: maximum
def relu(x):
    return torch.maximum(torch.zeros_like(x), x)  # expect: full-size-constants


# case: the second of a function
def twice(x, y):
    a = torch.max(x, torch.zeros_like(x))  # expect: full-size-constants
    return a, torch.max(y, torch.zeros_like(y))


# case: clamped
def clamped(x):
    return x.clamp(min=0)


# case: a number
def number(x, mask):
    return torch.where(mask, x, 0.0)


# case: two tensors
def larger(x, y):
    return torch.max(x, y)


# case: an axis
def along(x):
    return torch.max(x, 1)


# case: used again
def again(x):
    zero = torch.zeros_like(x)
    return torch.max(x, zero) + zero


# case: written into
def written(x, i):
    y = torch.zeros_like(x)
    y[i] = 1
    return torch.max(x, y)


# case: both are constants, a mask as numbers
def ones(x):
    return torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))


# case: times a tensor
def scaled(x, y):
    return torch.max(x, y * torch.ones_like(x))


# case: filled with what a tensor holds
def of_tensor(x, y):
    return torch.max(x, torch.full_like(x, y))


# case: random numbers
def random(x):
    return torch.max(x, torch.rand_like(x))


# case: indices alone
def indices(x):
    return torch.where(x > 0)


# case: a parameter
def given(x, zeros):
    return torch.max(x, zeros)


# case: a name that stands for a name
def renamed(x, y):
    low = y
    return torch.max(x, low)
