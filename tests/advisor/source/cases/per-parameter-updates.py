# case: a moving average
import torch


def update_average(model, average, decay):
    for p, q in zip(model.parameters(), average.parameters()):  # expect: per-parameter-updates
        q.data.mul_(decay).add_(p.data, alpha=1 - decay)


# case: by names
class Average(torch.nn.Module):
    def forward(self, model):
        names = dict(model.named_parameters())
        for key in names:  # expect: per-parameter-updates
            if names[key].requires_grad:
                self.shadow[key].sub_(0.1 * (self.shadow[key] - names[key]))


# case: an optimiser
class Lars(torch.optim.Optimizer):
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:  # expect: per-parameter-updates
                p.add_(p.grad, alpha=-g["lr"])


# case: gradients are clipped one by one
def clip(model, most):
    for name, p in model.named_parameters():  # expect: per-parameter-updates
        norm = p.grad.norm()
        p.grad.mul_(most / norm)


# case: a target network
def soft_update(net, target, tau):
    for p, q in zip(net.parameters(), target.parameters()):  # expect: per-parameter-updates
        q.data.copy_(tau * p.data + (1 - tau) * q.data)


# case: by assignment
def follow(net, target, tau):
    for p, q in zip(net.parameters(), target.parameters()):  # expect: per-parameter-updates
        q.data = tau * p.data + (1 - tau) * q.data


# case: all at once
def update_all(model, average, decay):
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)


# case: a plain copy
def follow_hard(net, target):
    for p, q in zip(net.parameters(), target.parameters()):
        q.data.copy_(p.data)


# case: frozen
def freeze(net):
    for p in net.parameters():
        p.requires_grad = False


# case: counted
def size(net):
    total = 0
    for p in net.parameters():
        total += p.numel()
    return total


# case: made once
def init_weights(net):
    for p in net.parameters():
        p.data.mul_(0.02)


# case: scaled once
def scale_module(net, scale):
    for p in net.parameters():
        p.detach().mul_(scale)


# case: something else is updated
def work(net, total):
    for p in net.parameters():
        total.add_(1)


# case: layers, not parameters
def layers(net, x):
    for layer in net.layers:
        x = layer(x).mul_(2)
    return x


# case: at the top of a script
for p in model.parameters():
    p.data.mul_(0.5)


# case: printed
def show(net):
    for p in net.parameters():
        print(p.mul_(1))


# case: tensors of a list
def scale_all(tensors):
    for t in tensors:
        t.mul_(2)


# case: gradients are read
def norms(net):
    out = []
    for p in net.parameters():
        out.append(p.grad.norm())
    return out
# case: an average under the names of a state
class ModelEMA:
    def update(self, model):
        state = model.state_dict()
        for name, value in self.ema.state_dict().items():  # expect: per-parameter-updates
            value *= self.decay
            value += (1 - self.decay) * state[name].detach()


# ---
# case: an average that is handed each parameter, and a copy of it
import torch


def step(model, ema, loss):
    for name, param in model.cuda().named_parameters():  # expect: per-parameter-updates
        ema.update(name, param.data)


def averaged(model, ema):
    for name, param in model.named_parameters():
        param.data = ema.shadow[name].clone()


def shown(model, bar):
    for name, param in model.named_parameters():
        bar.update(param.numel())
