# case: swish
import math

import torch
import torch.nn.functional as F


def swish(x):
    return x * torch.sigmoid(x)  # expect: unfused-activations


# case: swish by a method
def swish_method(x):
    return x.sigmoid() * x  # expect: unfused-activations


# case: GELU
def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))  # expect: unfused-activations


# case: GELU by tanh
def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * torch.pow(x, 3))))  # expect: unfused-activations


# case: mish
def mish(x):
    return x * torch.tanh(F.softplus(x))  # expect: unfused-activations


# case: swish in a model
class Swish(torch.nn.Module):
    def forward(self, h):
        return h * torch.sigmoid(h)  # expect: unfused-activations


# case: fused
def fused(x):
    return F.silu(x)


# case: a gate
def gate(x, y):
    return x * torch.sigmoid(y)


# case: a steeper gate
def quick(x):
    return x * torch.sigmoid(1.702 * x)


# case: a sigmoid alone
def sigmoid(x):
    return torch.sigmoid(x)


# case: half a normal distribution
def share(x):
    return 0.5 * (1 + x.abs())


# case: tanh of another form
def other(x):
    return 0.5 * x * (1 + torch.tanh(x))


# case: a sum
def total(x):
    return x + torch.sigmoid(x)


# case: two gates
def two(x, y):
    return x * y * torch.sigmoid(x)


# case: a product of numbers
def area(a, b):
    return 0.5 * a * b


# case: tanh of something else
def tanh(x):
    return x * torch.tanh(x)


# case: many factors
def many(a, b, c, x):
    return a * b * c * x * torch.sigmoid(x)


# case: a sigmoid of NumPy's
def numbers(x, sigmoid):
    return x * sigmoid(x)


# ---
# case: compiled
import torch


@torch.compile
def compiled(x):
    return x * torch.sigmoid(x)
# ---
# case: the root of a mean of squares
import torch


def norm(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)  # expect: unfused-activations


# case: a logarithm of a softmax
def entropy(logits, targets):
    shares = (logits / 0.1).softmax(dim=-1)
    return -(targets * torch.log(shares + 1e-20)).sum()  # expect: unfused-activations


# ---
# case: the distribution function of the normal
import torch


def phi(x):
    return 0.5 * (1.0 + torch.erf(x.cuda() / 2**0.5))
