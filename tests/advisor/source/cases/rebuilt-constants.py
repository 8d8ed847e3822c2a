# case: a causal mask
import math

import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, scores):
        n = scores.shape[-1]
        future = torch.triu(torch.ones(n, n, device=scores.device), 1).bool() * 1  # expect: rebuilt-constants
        return scores.masked_fill(future == 1, -1e9)


# case: a table of frequencies
class Rotary(nn.Module):
    def forward(self, x):
        seq_len = x.shape[1]
        t = torch.arange(seq_len, device=x.device).float()  # expect: rebuilt-constants
        freqs = 1.0 / (10000 ** (torch.arange(0, self.dim, 2, device=x.device) / self.dim))
        angles = torch.outer(t, freqs)
        return x * angles.cos()


# case: a grid
class Warp(nn.Module):
    def forward(self, flow):
        b, _, h, w = flow.shape
        ys, xs = torch.meshgrid(
            torch.arange(h, device=flow.device),  # expect: rebuilt-constants
            torch.arange(w, device=flow.device),
        )
        return flow + torch.stack((xs, ys)).float()


# case: offsets of neighbours
class Knn(nn.Module):
    def forward(self, index):
        batch_size, num_points, _ = index.size()
        base = torch.arange(0, batch_size, device=index.device).view(-1, 1, 1) * num_points + 1  # expect: rebuilt-constants
        return index + base


# case: an embedding of positions in steps
class Sines(nn.Module):
    def forward(self, x):
        dim_t = torch.arange(self.feats, device=x.device)  # expect: rebuilt-constants
        dim_t = self.temperature ** (2 * (dim_t // 2) / self.feats)
        return x / dim_t


# case: a distance of places
class Bias(nn.Module):
    def forward(self, x):
        n = x.size(1)
        place = torch.arange(n, device=x.device)  # expect: rebuilt-constants
        apart = (place[None, :] - place[:, None]) * self.slope
        return x + apart


# case: a buffer
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("future", torch.triu(torch.ones(512, 512), 1).bool())

    def forward(self, scores):
        n = scores.shape[-1]
        return scores.masked_fill(self.future[:n, :n], -1e9)


# case: one arange
class Short(nn.Module):
    def forward(self, tokens):
        return self.wpe(torch.arange(tokens.size(1), device=tokens.device))


# case: zeros to start with
class Start(nn.Module):
    def forward(self, x):
        h = torch.zeros(x.size(0), self.dim, device=x.device)
        c = torch.zeros(x.size(0), self.dim, device=x.device)
        return self.cell(x, (h, c))


# case: of an input
class Masked(nn.Module):
    def forward(self, mask):
        y = mask.cumsum(1)
        x = mask.cumsum(2)
        return torch.stack((y / y[:, -1:], x / x[:, :, -1:]))


# case: written to
class Filled(nn.Module):
    def forward(self, x):
        m = torch.eye(3, device=x.device).unsqueeze(0).repeat(x.shape[0], 1, 1) * 2
        m[:, 0, 0] = x[:, 0]
        return m


# case: once, when it starts
class Made(nn.Module):
    def __init__(self, n):
        super().__init__()
        t = torch.arange(n)
        self.table = torch.exp(-t / n * math.log(10000.0)).sin()


# case: kept when it is there
class Lazily(nn.Module):
    def forward(self, x):
        if self.table is None:
            t = torch.arange(self.dim, device=x.device)
            self.table = torch.outer(t, t).sin() * 2
        return x * self.table


# case: random
class Random(nn.Module):
    def forward(self, x):
        noise = torch.rand(x.shape[0], device=x.device)
        return x * (noise * 2 - 1).exp()


# case: not a model
def report(n):
    t = torch.arange(n, device="cuda")
    return (t * 2 + 1).sin()


# case: with an input in it
class Timesteps(nn.Module):
    def forward(self, timesteps):
        half = timesteps.float() * 2
        return torch.cat([half.sin(), half.cos()], -1)


# case: for the first calls
class First(nn.Module):
    def forward(self, x):
        if self.calls < 16:
            t = torch.arange(self.dim, device=x.device)
            x = x + (t * 2 + 1).sin()
        return x


# case: on the host, which is another fault
class Host(nn.Module):
    def forward(self, x):
        t = torch.arange(self.dim)
        return x + (t * 2 + 1).sin().to(x.device)


# ---
# case: numbers of sizes go into the table
import torch


class Shift(torch.nn.Module):
    def forward(self, x):
        n, c, h, w = x.size()
        step = 1.0 / (h + 2)
        line = torch.linspace(step - 1.0, 1.0 - step, h, device=x.device)  # expect: rebuilt-constants
        line = line.unsqueeze(0).repeat(h, 1).unsqueeze(2)
        grid = torch.cat([line, line.transpose(1, 0)], dim=2)
        return torch.nn.functional.grid_sample(x, grid)


class Scaled(torch.nn.Module):
    def forward(self, x, given):
        step = given / 2
        line = torch.linspace(0, 1, 8, device=x.device) * step
        line = line.unsqueeze(0).repeat(8, 1) * step
        return x + torch.cat([line, line], dim=1)
# ---
# case: a table that a model has made anew in each call
import torch


def get_subsequent_mask(seq):
    size, length = seq.size()
    return (1 - torch.triu(torch.ones((1, length, length), device=seq.device), diagonal=1)).bool()  # expect: rebuilt-constants


class Transformer(torch.nn.Module):
    def forward(self, seq, pad):
        return self.decoder(seq, (seq != pad) & get_subsequent_mask(seq))


# ---
# case: a table that its caller keeps
import torch


def get_causal_mask(length, device):
    return (1 - torch.triu(torch.ones((1, length, length), device=device), diagonal=1)).bool()


class Kept(torch.nn.Module):
    def forward(self, x):
        if self.mask is None:
            self.mask = get_causal_mask(x.size(1), x.device)
        return self.decoder(x, self.mask)
