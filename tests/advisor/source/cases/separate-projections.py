# case: query, key and value
import torch
from torch import nn


class One(nn.Module):
    def __init__(self, n):
        self.query = nn.Linear(n, n)
        self.key = nn.Linear(n, n)
        self.value = nn.Linear(n, n)

    def forward(self, x):
        return attend(self.query(x), self.key(x), self.value(x))  # expect: separate-projections


# ---
# case: by short names
import torch
from torch import nn


class Two(nn.Module):
    def __init__(self, n):
        self.wq, self.wk = nn.Linear(n, n), 1
        self.wq = nn.Linear(n, n)
        self.wk = nn.Linear(n, n)
        self.wv = nn.Linear(n, n)

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)  # expect: separate-projections
        return attend(q, k, v)


# ---
# case: to_q
from torch import nn


class Three(nn.Module):
    def __init__(self, n):
        self.to_q = nn.Linear(n, n, bias=False)
        self.to_k = nn.Linear(n, n, bias=False)
        self.to_v = nn.Linear(n, n, bias=False)

    def forward(self, x):
        q = self.to_q(x)  # expect: separate-projections
        k = self.to_k(x)
        v = self.to_v(x)
        return attend(q, k, v)


# ---
# case: q_proj
from torch import nn


class Four(nn.Module):
    def __init__(self, n):
        self.q_proj = nn.Linear(n, n)
        self.k_proj = nn.Linear(n, n)
        self.v_proj = nn.Linear(n, n)

    def forward(self, x):
        return attend(self.q_proj(x), self.k_proj(x), self.v_proj(x))  # expect: separate-projections


# ---
# case: linear_q
from torch import nn


class Five(nn.Module):
    def __init__(self, n):
        self.linear_q = nn.Linear(n, n)
        self.linear_k = nn.Linear(n, n)
        self.linear_v = nn.Linear(n, n)

    def forward(self, x):
        return attend(self.linear_q(x), self.linear_k(x), self.linear_v(x))  # expect: separate-projections


# ---
# case: queries, keys, values
from torch import nn


class Six(nn.Module):
    def __init__(self, n):
        self.queries = nn.Linear(n, n)
        self.keys = nn.Linear(n, n)
        self.values = nn.Linear(n, n)

    def forward(self, x):
        return attend(self.queries(x), self.keys(x), self.values(x))  # expect: separate-projections


# ---
# case: one layer
from torch import nn


class Joined(nn.Module):
    def __init__(self, n):
        self.qkv = nn.Linear(n, 3 * n)

    def forward(self, x):
        return attend(*self.qkv(x).chunk(3, -1))


# case: of two inputs
class Cross(nn.Module):
    def __init__(self, n):
        self.query = nn.Linear(n, n)
        self.key = nn.Linear(n, n)
        self.value = nn.Linear(n, n)

    def forward(self, x, context):
        return attend(self.query(x), self.key(context), self.value(x + context))


# case: convolutions
class Convolved(nn.Module):
    def __init__(self, n):
        self.q = nn.Conv2d(n, n, 1)
        self.k = nn.Conv2d(n, n, 1)
        self.v = nn.Conv2d(n, n, 1)

    def forward(self, x):
        return attend(self.q(x), self.k(x), self.v(x))  # expect: separate-projections


# case: other names
class Gates(nn.Module):
    def __init__(self, n):
        self.reset = nn.Linear(n, n)
        self.update = nn.Linear(n, n)
        self.new = nn.Linear(n, n)

    def forward(self, x):
        return self.reset(x) + self.update(x) + self.new(x)


# case: made elsewhere
class Given(nn.Module):
    def __init__(self, q, k, v):
        self.q, self.k, self.v = q, k, v

    def forward(self, x):
        return attend(self.q(x), self.k(x), self.v(x))


# case: two of three
class Pair(nn.Module):
    def __init__(self, n):
        self.key = nn.Linear(n, n)
        self.value = nn.Linear(n, n)

    def forward(self, x):
        return self.key(x) * self.value(x)


# case: in two methods
class Apart(nn.Module):
    def __init__(self, n):
        self.q_proj = nn.Linear(n, n)
        self.k_proj = nn.Linear(n, n)
        self.v_proj = nn.Linear(n, n)

    def first(self, x):
        return self.q_proj(x)

    def second(self, x):
        return self.k_proj(x), self.v_proj(x)
# ---
# case: gate and value
import torch


class Gated(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w1 = torch.nn.Linear(width, hidden)
        self.w2 = torch.nn.Linear(hidden, width)
        self.w3 = torch.nn.Linear(width, hidden)

    def forward(self, x):
        return self.w2(torch.nn.functional.silu(self.w1(x)) * self.w3(x))  # expect: separate-projections


# ---
# case: two critics, each of several layers
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, n):
        self.a1, self.b1 = None, None
        self.first = nn.Linear(n, 256)
        self.second = nn.Linear(256, 1)
        self.other_first = nn.Linear(n, 256)
        self.other_second = nn.Linear(256, 1)

    def forward(self, x):
        q = torch.relu(self.first(x))  # expect: separate-projections
        q = self.second(q)
        p = torch.relu(self.other_first(x))
        p = self.other_second(p)
        return q, p


# ---
# case: two stacks of layers
import torch
from torch import nn


class Twins(nn.Module):
    def __init__(self, n):
        self.q1 = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, 1))
        self.q2 = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.q1(x), self.q2(x)  # expect: separate-projections


# ---
# case: gated convolutions, layer by layer
import torch
from torch import nn


class Gates(nn.Module):
    def __init__(self, n, layers):
        for i in range(layers):
            self.filters.append(nn.Conv1d(n, n, 2, dilation=2**i))
            self.gates.append(nn.Conv1d(n, n, 2, dilation=2**i))

    def forward(self, x):
        for i in range(len(self.filters)):
            x = torch.tanh(self.filters[i](x)) * torch.sigmoid(self.gates[i](x))  # expect: separate-projections
        return x


# ---
# case: two networks of a step
import torch

first = Critic(8).cuda()
second = Critic(8).cuda()
for states, actions in loader:
    loss = (first(states, actions) - second(states, actions)).pow(2).mean()  # expect: separate-projections
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# ---
# case: two heads of one layer, of other shapes, of other inputs, one behind the other, or one of two
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, n):
        self.mean = nn.Linear(n, 8)
        self.deviation = nn.Linear(n, 8)
        self.near = nn.Conv2d(n, n, 3)
        self.far = nn.Conv2d(n, n, 3, dilation=2)
        self.again = nn.Conv2d(n, n, 3)
        self.norm = LayerNorm(n)
        self.norm_of_skip = LayerNorm(n)

    def forward(self, x, y):
        heads = self.mean(x), self.deviation(x)
        other_shapes = self.near(x) + self.far(x)
        other_inputs = self.near(x) + self.again(y)
        norms = self.norm(x) + self.norm_of_skip(x)
        return heads, other_shapes, other_inputs, norms


class Bound(nn.Module):
    def __init__(self, n):
        self.near = nn.Conv2d(n, n, 3)
        self.again = nn.Conv2d(n, n, 3)

    def forward(self, x, deep):
        x = self.near(x)
        x = self.again(x)
        if deep:
            x = self.near(x)
        else:
            x = self.again(x)
        return x
