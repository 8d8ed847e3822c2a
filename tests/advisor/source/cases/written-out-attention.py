# case: softmax of a product
import torch

def attend(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)  # expect: written-out-attention
    return w @ v
# ---
# case: through names
import torch

def attend(q, k, v):
    s = torch.matmul(q, k.transpose(-1, -2)) / 8
    s = s.masked_fill(m, -9)
    w = torch.nn.functional.softmax(s, dim=-1)  # expect: written-out-attention
    return torch.matmul(w, v)
# ---
# case: a method
import torch

def attend(q, k, v):
    s = q @ k.mT
    w = s.softmax(dim=-1)  # expect: written-out-attention
    return w @ v
# ---
# case: batches
import torch

def attend(q, k, v):
    s = torch.bmm(q, k.transpose(1, 2))
    w = torch.softmax(s, -1)  # expect: written-out-attention
    return torch.bmm(w, v)
# ---
# case: in a class, with dropout
import torch

class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        w = (q @ k.transpose(-2, -1)) * self.scale
        w = w.softmax(dim=-1)  # expect: written-out-attention
        w = self.drop(w)
        return (w @ v).transpose(1, 2)
# ---
# case: imported
import torch
import torch.nn.functional as F


def attend(q, k, v):
    w = F.softmax(q @ k.permute(0, 2, 1), dim=-1)  # expect: written-out-attention
    return w @ v
# ---
# case: fused
import torch

def attend(q, k, v):
    w = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return w
# ---
# case: the fused one beside it
import torch

def attend(q, k, v):
    if new:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)
    w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return w @ v
# ---
# case: weights are returned
import torch

def attend(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)  # expect: written-out-attention
    return w @ v, w
# ---
# case: a classifier
import torch

def attend(q, k, v):
    w = torch.softmax(q, dim=-1)
    return w
# ---
# case: a product that is not transposed
import torch

def attend(q, k, v):
    w = torch.softmax(q @ k, dim=-1)
    return w @ v
# ---
# case: weights are not multiplied
import torch

def attend(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return w.argmax(-1)
# ---
# case: by elements
import torch

def attend(q, k, v):
    w = torch.softmax(q * k, dim=-1)
    return w * v
# ---
# case: outside a function
import torch

w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
y = w @ v
# ---
# case: another function's
import torch

def attend(q, k, v):
    w = softmax(q @ k.transpose(-2, -1))
    return w @ v
# ---
# case: the loss
import torch

def attend(q, k, v):
    s = q @ k.T
    w = torch.nn.functional.log_softmax(s, dim=-1)
    return w.mean()
# ---
# case: pooled
import torch

def attend(q, k, v):
    w = torch.softmax(q.mean(-1), dim=-1)
    return (w[..., None] * v).sum(1)
# ---
# case: a gate
import torch

def attend(q, k, v):
    g = torch.softmax(gate(q), dim=-1)
    w = g * v
    return w
# ---
# case: einsum, one tensor with a number
import torch

def scaled(q, k, v):
    w = torch.softmax(torch.einsum("bij,i->bij", q, k), dim=-1)
    return torch.einsum("bij,bjk->bik", w, v)
# ---
# case: einsum of queries and keys
import torch
from torch import einsum

def attend(q, k, v, mask):
    sim = einsum("b i d, b j d -> b i j", q, k) * 0.125
    sim.masked_fill_(~mask, -1e9)
    attn = sim.softmax(dim=-1)  # expect: written-out-attention
    return einsum("b i j, b j d -> b i d", attn, v)
# case: a few learned queries
class Merger(torch.nn.Module):
    def forward(self, x):
        scores = torch.matmul(self.queries, x.transpose(-1, -2)) * self.scale
        weights = scores.softmax(dim=-1)
        return torch.matmul(weights, x)
# case: a layer of softmax
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = torch.nn.Softmax(dim=-1)

    def forward(self, q, k, v):
        dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        weights = self.attend(dots)  # expect: written-out-attention
        return torch.matmul(weights, v)
