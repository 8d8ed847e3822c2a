# case: of three expressions
from torch import nn


class Expressions(nn.Module):
    def __init__(self, n):
        self.q_proj = nn.Linear(n, n)
        self.k_proj = nn.Linear(n, n)
        self.v_proj = nn.Linear(n, n)

    def forward(self, x):
        return attend(self.q_proj(x + 1), self.k_proj(x), self.v_proj(x))


# case: of another object
def project(layers, x):
    return layers.q(x), layers.k(x), layers.v(x)


# case: functions
def call(q, k, v, x):
    return q(x), k(x), v(x)


# case: no layer
class Strings(nn.Module):
    def __init__(self, n):
        self.head = nn.Linear(n, n)

    def forward(self, x):
        return self.query(x), self.key(x), self.value(x)


# case: with more arguments
class More(nn.Module):
    def __init__(self, n):
        self.query = nn.Linear(n, n)
        self.key = nn.Linear(n, n)
        self.value = nn.Linear(n, n)

    def forward(self, x, scale):
        return self.query(x, scale), self.key(x, scale), self.value(x, scale)


# ---
# case: keys and values of another input
from torch import nn


class Across(nn.Module):
    def __init__(self, n):
        self.to_q = nn.Linear(n, n)
        self.to_k = nn.Linear(n, n)
        self.to_v = nn.Linear(n, n)

    def forward(self, x, context):
        q = self.to_q(x)
        k = self.to_k(context)  # expect: separate-projections
        return attend(q, k, self.to_v(context))
