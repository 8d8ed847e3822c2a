# case: a mask of the forward
import math

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("other", given)

    def forward(self, x, mask=None):
        assert not torch.isnan(x).any()  # expect: hidden-synchronizations
        if mask is not None:
            x = x[mask]  # expect: hidden-synchronizations
            x = x[mask]
        if self.count >= 0:  # expect: hidden-synchronizations
            self.count += 1
        if self.other is None:
            return x
        return x


# case: how many are chosen
class Sparse(torch.nn.Module):
    def forward(self, adjacency):
        return adjacency.nonzero().t()  # expect: hidden-synchronizations


# case: chosen and written
class Scatter(torch.nn.Module):
    def forward(self, x, y):
        valid = (x > 0) & (y > 0)
        x[valid] = 0
        x[~valid] = torch.sin(y)[~valid]  # expect: hidden-synchronizations
        return x


# case: where alone
class Where(torch.nn.Module):
    def forward(self, x):
        picked = torch.where(x > 0)  # expect: hidden-synchronizations
        return torch.where(x > 0, x, 0), picked


# case: what is once there
class Lazy(torch.nn.Module):
    def forward(self, x):
        if not hasattr(self, "largest"):
            self.largest = x.max().item()
        if self.table is None:
            self.table = x.cpu()
        return x


# case: by its shape
class Shaped(torch.nn.Module):
    def forward(self, x, h):
        if x.size(0) == h.size(0):
            return x
        return x[: h.max().item()]  # expect: hidden-synchronizations


# case: for a report
class Reported(torch.nn.Module):
    def forward(self, x):
        return x

    def get_range(self, x):
        return x.max().item()

    def __str__(self):
        return "{}".format(self.count.max().item())


# case: a helper of the step
def mask_of(lengths):
    return torch.max(lengths).item()  # expect: hidden-synchronizations


# case: a helper that nobody knows
def span_of(lengths):
    return torch.max(lengths).item()


# case: NaN of anything
def check(values):
    if torch.isnan(values).any():  # expect: hidden-synchronizations
        raise ValueError
    return values.cuda()


# case: NaN in what is called again and again
def render(values):
    for k in values:
        if torch.isnan(values[k]).any() and debug:  # expect: hidden-synchronizations
            print(k)


# case: frames of a film
def film(poses, out):
    for pose in poses:
        frame = draw(pose)
        out.append(frame.cpu().numpy())  # expect: hidden-synchronizations


# case: weights to the host
def to_host(model, out):
    for name, value in model.state_dict().items():
        out[name] = value.cpu()


# case: skipped most of the time
def seldom(poses, out):
    for i, pose in enumerate(poses):
        if i % 10 != 0:
            continue
        out.append(draw(pose).cpu())


# case: an optimiser
class Kfac(torch.optim.Optimizer):
    def step(self):
        total = 0
        for p in self.model.parameters():
            total += p.grad.sum()
        return math.sqrt(self.clip / total)  # expect: hidden-synchronizations


# case: element by element
def letters(model, x, names):
    y = model(x.cuda())
    return [names[int(i)] for i in y]  # expect: hidden-synchronizations


# case: all elements at once
def letters_at_once(model, x, names):
    y = model(x.cuda())
    return [names[i] for i in y.tolist()]


# case: elements of a list
def of_list(words):
    return [int(i) for i in words]


# case: in steps of Lightning
class Net(torch.nn.Module):
    def validation_step(self, batch, index):
        loss = self(batch)
        return {"loss": loss.item()}  # expect: hidden-synchronizations


# case: the first batch alone
class First(torch.nn.Module):
    def show(self, x, batch_nb):
        if batch_nb == 0:
            print(x.cpu())


# case: a few named values
def values_of(results):
    for name, value in results.items():
        results[name] = torch.tensor(value).cuda().cpu()
