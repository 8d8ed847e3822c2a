# case: in a model
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Policy(nn.Module):
    def forward(self, x):
        return Categorical(logits=self.net(x))  # expect: validated-distributions


# ---
# case: two of one function
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Actor(nn.Module):
    def forward(self, x):
        first = Normal(self.mean(x), self.std(x))  # expect: validated-distributions
        second = Normal(self.mean(x), 1)
        return first, second


# ---
# case: by the name of its module
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Head(nn.Module):
    def forward(self, x):
        return Independent(D.Normal(x, x.exp()), 1)  # expect: validated-distributions


# ---
# case: in a step of training
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


def update(agent, optimizer, batches):
    for batch in batches:
        policy = Categorical(agent(batch.to("cuda")))  # expect: validated-distributions
        loss = -policy.log_prob(batch).mean()
        loss.backward()
        optimizer.step()


# ---
# case: for each sample
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


def generate(net, x, steps):
    out = []
    for t in range(steps):
        x = torch.distributions.OneHotCategorical(net(x)).sample()  # expect: validated-distributions
        out.append(x)
    return out


# ---
# case: a class of the file
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class FixedNormal(torch.distributions.Normal):
    def mode(self):
        return self.mean


class Gaussian(nn.Module):
    def forward(self, x):
        return FixedNormal(self.mean(x), self.log_std.exp())  # expect: validated-distributions


# ---
# case: what acts
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


def act(net, state):
    return torch.distributions.Bernoulli(logits=net(state)).sample()  # expect: validated-distributions


# ---
# case: without the check
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Quiet(nn.Module):
    def forward(self, x):
        return Categorical(logits=self.net(x), validate_args=False)


# ---
# case: a class without it
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Unchecked(torch.distributions.Normal):
    def __init__(self, mean, std):
        super().__init__(mean, std, validate_args=False)


class Fast(nn.Module):
    def forward(self, x):
        return Unchecked(x, x.exp())


# ---
# case: of numbers
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Noise(nn.Module):
    def forward(self, x):
        return x + Normal(0.0, 1.0).sample(x.shape)


# ---
# case: of tensors of the host
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Prior(nn.Module):
    def forward(self, x):
        return Normal(torch.zeros(8), torch.ones(8)).sample()


# ---
# case: made once
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Kept(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.noise = Normal(scale, scale)


# ---
# case: options from elsewhere
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Open(nn.Module):
    def forward(self, x):
        return Categorical(logits=x, **self.options)


# ---
# case: at the top
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


prior = Normal(scale, scale)


# ---
# case: what wraps another
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Wrapped(nn.Module):
    def forward(self, made):
        return Independent(made, 1)


# ---
# case: of another library
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Other(nn.Module):
    def forward(self, x):
        return tfp.distributions.Normal(x, x)


# ---
# case: the divergence of two
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


class Between(nn.Module):
    def forward(self, first, second):
        return torch.distributions.kl_divergence(first, second)


# ---
# case: what sets up
import torch
import torch.distributions as D
from torch import nn
from torch.distributions import Categorical, Independent, Normal


def build_prior(size):
    return Normal(size, size)


# ---
# case: switched off for all
import torch

torch.distributions.Distribution.set_default_validate_args(False)


class Policies(torch.nn.Module):
    def forward(self, x):
        return torch.distributions.Categorical(logits=x)


# ---
# case: only where Python checks
import torch


class Debugged(torch.nn.Module):
    def forward(self, x):
        return torch.distributions.Categorical(logits=x) if __debug__ else x
