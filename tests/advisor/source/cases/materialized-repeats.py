# case: a center for each point
import torch
from torch import nn


class Scores(nn.Module):
    def forward(self, points, center):
        centers = center.unsqueeze(1).repeat(1, points.size(1), 1)  # expect: materialized-repeats
        return (points - centers).norm(dim=-1)


# case: a feature beside each point
class Both(nn.Module):
    def forward(self, points, whole):
        n = points.size(2)
        whole = whole.view(-1, 1024, 1).repeat(1, 1, n)  # expect: materialized-repeats
        return torch.cat([whole, points], 1)


# case: an index to gather by
class Gathered(nn.Module):
    def forward(self, x, keep):
        return torch.gather(x, 1, keep.unsqueeze(-1).repeat(1, 1, x.shape[2]))  # expect: materialized-repeats


# case: a new axis by None
class Pairs(nn.Module):
    def forward(self, x, y):
        return x - y[:, None].repeat(1, x.size(1), 1)  # expect: materialized-repeats


# case: keys for each query head
class Grouped(nn.Module):
    def forward(self, x):
        xk, xv = self.wk(x), self.wv(x)
        xk = repeat_kv(xk, self.n_rep)  # expect: materialized-repeats
        xv = repeat_kv(xv, self.n_rep)
        return xk @ xv


# case: keys by a method
class Interleaved(nn.Module):
    def forward(self, q, k, v):
        k = k.repeat_interleave(self.n_rep, dim=1)  # expect: materialized-repeats
        v = v.repeat_interleave(self.n_rep, dim=1)
        return nn.functional.scaled_dot_product_attention(q, k, v)


# case: in a step of training
model = Model().cuda()
for images, labels in loader:
    mean = images.cuda().mean(dim=1, keepdim=True).repeat(1, channels)  # expect: materialized-repeats
    loss = (model(images) - mean).mean()
    loss.backward()
    optimizer.step()


# case: expanded
class Expanded(nn.Module):
    def forward(self, points, center):
        return points - center.unsqueeze(1).expand(-1, points.size(1), -1)


# case: tokens of a batch
class Tokens(nn.Module):
    def forward(self, x):
        token = self.token.unsqueeze(0).repeat(x.size(0), 1, 1)
        return torch.cat([token, x], 1)


# case: axes that are joined
class Joined(nn.Module):
    def forward(self, x):
        return x.unsqueeze(1).repeat(1, self.n, 1).view(-1, self.dim)


# case: joined later
class Later(nn.Module):
    def forward(self, x):
        y = x.unsqueeze(1).repeat(1, self.n, 1)
        return y.reshape(-1, self.dim)


# case: changed
class Changed(nn.Module):
    def forward(self, x):
        y = x.unsqueeze(1).repeat(1, self.n, 1)
        y[:, 0] = 0
        return y


# case: added to in place
class Added(nn.Module):
    def forward(self, x):
        y = x.unsqueeze(1).repeat(1, self.n, 1)
        y += 1
        return y


# case: two axes
class Tiles(nn.Module):
    def forward(self, x):
        return x.unsqueeze(1).repeat(1, self.n, self.m)


# case: three colours
class Colours(nn.Module):
    def forward(self, x):
        return self.net(x.unsqueeze(1).repeat(1, 3, 1, 1))


# case: an axis of any size
class Any(nn.Module):
    def forward(self, x):
        return x.repeat(1, self.n)


# case: values that are not heads
class Repeated(nn.Module):
    def forward(self, x, lengths):
        return torch.repeat_interleave(x, lengths, dim=0)


# case: once, when it starts
class Start(nn.Module):
    def __init__(self, x, n):
        self.table = x.unsqueeze(1).repeat(1, n, 1)


# case: a program
def show(x, n):
    print(x.unsqueeze(1).repeat(1, n, 1).shape)


# case: arrays
class Arrays:
    def stack(self, x, n):
        return x[:, None].repeat(n, 1)


# ---
# case: two axes that a view has just made
import torch


class Conditioned(torch.nn.Module):
    def forward(self, x, c):
        c = c.view(c.size(0), c.size(1), 1, 1)
        c = c.repeat(1, 1, x.size(2), x.size(3))  # expect: materialized-repeats
        return torch.cat([x, c], dim=1)


class Tiled(torch.nn.Module):
    def forward(self, x, c):
        c = c.view(c.size(0), c.size(1), 1, 2)
        c = c.repeat(1, 1, x.size(2), x.size(3))
        return torch.cat([x, c], dim=1)
