# case: heads in a list
import torch
from torch import nn


class Heads(nn.Module):
    def forward(self, x, adjacency):
        return torch.cat([head(x, adjacency) for head in self.heads], dim=1)  # expect: serial-kernels


# case: experts
class Experts(nn.Module):
    def forward(self, x):
        return torch.stack([expert(x) for expert in self.experts])  # expect: serial-kernels


# case: backwards in time
class Storage:
    def returns_of(self, gamma, tau):
        gae = 0
        for step in reversed(range(self.rewards.size(0))):  # expect: serial-kernels
            delta = self.rewards[step] + gamma * self.values[step + 1] - self.values[step]
            gae = delta + gamma * tau * gae
            self.returns[step] = gae + self.values[step]


# case: a cell for each step
class Recurrent(nn.Module):
    def forward(self, x, h):
        outputs = []
        for t in range(x.size(1)):  # expect: serial-kernels
            gate = torch.sigmoid(self.gate(x[:, t]))
            h = torch.tanh(self.cell(h)) * gate
            outputs.append(h)
        return torch.stack(outputs, 1)


# case: frequencies
class Embedding(nn.Module):
    def forward(self, x):
        out = [x]
        for freq in self.freq_bands:  # expect: serial-kernels
            for func in self.funcs:
                out += [func(freq * x)]
        return torch.cat(out, -1)


# case: functions in a list
class Embedder:
    def embed(self, inputs):
        return torch.cat([fn(inputs) for fn in self.embed_fns], -1)  # expect: serial-kernels


# case: heads at once
class Together(nn.Module):
    def forward(self, x):
        return self.heads(x).flatten(1)


# case: branches of several shapes
class Inception(nn.Module):
    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


# case: each has an input of its own
class Scales(nn.Module):
    def forward(self, xs):
        return torch.cat([self.head(x) for x in xs.heads], 1)


# case: layer after layer
class Layers(nn.Module):
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


# case: little work
class Small(nn.Module):
    def forward(self, x):
        for t in range(x.size(1)):
            self.seen.append(x[:, t])


# case: once, when it starts
class Tables(nn.Module):
    def __init__(self, x):
        for t in range(x.size(0)):
            y = torch.sin(x[t]) * 2 + torch.cos(x[t])
            self.parts.append(y)


# case: positions are read by the host
class Decoder(nn.Module):
    def forward(self, x):
        for t in range(x.size(0)):
            n = torch.argmax(x[t]).item() + 2 * 3 + self.start
            self.words.append(self.names[n])


# case: not an axis of a tensor
class Rounds(nn.Module):
    def forward(self, x):
        for i in range(self.rounds):
            y = torch.sin(x[i]) * 2 + torch.cos(x[i])
        return y


# case: an array
class Arrays:
    def smooth(self, x):
        for i in range(x.shape[0]):
            y = x[i] * 2 + 1 - x[i] / 3
            self.out.append(y)


# case: now and then
class Sometimes(nn.Module):
    def forward(self, x, step):
        if step % 100 == 0:
            for t in range(x.size(1)):
                y = torch.sin(x[:, t]) * 2 + 1
                self.seen.append(y)


# case: nothing is picked
class Unpicked(nn.Module):
    def forward(self, x):
        for t in range(x.size(1)):
            y = torch.sin(x) * 2 + torch.cos(x)
        return y


# case: texts of functions
class Texts:
    def describe(self, freqs):
        for freq in self.freqs:
            self.lines.append("f")


# case: kept as a list
class Kept(nn.Module):
    def forward(self, x):
        return [head(x) for head in self.heads]


# case: each sample of a batch
class Matching(nn.Module):
    def forward(self, predictions, targets):
        num = predictions.size(0)
        for index in range(num):  # expect: serial-kernels
            truths = targets[index][:, :-1]
            match(self.threshold, truths, self.variance, index)


# case: each sample by itself
class Own(nn.Module):
    def forward(self, x, y):
        b, c = x.shape
        loss = 0
        for i in range(b):  # expect: serial-kernels
            error = torch.abs(x[i] - y[i])
            loss = loss + error.mean() * self.weight
        return loss


# case: one prediction after the other
def rollout(model, x, rewards, count):
    for _ in range(count):
        for step in range(128):  # expect: serial-kernels
            rewards[step] = model(x[step], x[step])


# case: samples that become pictures
class Shown(nn.Module):
    def forward(self, x):
        for i in range(x.size(0)):
            y = torch.sin(x[i]) * 2 + torch.cos(x[i])
            self.parts.append(y.cpu().numpy())


# case: samples are collected
class Collected(nn.Module):
    def forward(self, x):
        parts = []
        for i in range(x.size(0)):
            parts.append(x[i])
        return parts
# case: picture by picture
def non_max_suppression(prediction, threshold):
    kept = []
    for i, x in enumerate(prediction):  # expect: serial-kernels
        scores = x[:, 4] * x[:, 5]
        boxes = x[:, :4] - x[:, 2:4] / 2
        kept.append(torch.cat((boxes, scores[:, None]), 1))
    return kept


# ---
# case: one decomposition after the other, copies by bounds of the GPU, rows side by side
import torch


def whiten(covariances, device=torch.device("cuda")):
    for k in range(covariances.shape[0]):  # expect: serial-kernels
        rotation[k] = torch.linalg.svd(covariances[k])[0]


def inverse_root(matrix):
    u, s, v = torch.linalg.svd(matrix)
    return (u / s**0.5) @ u.T


def whiten_by_helper(covariances, near, device=torch.device("cuda")):
    for k in range(len(near)):  # expect: serial-kernels
        chosen = near[k]
        rotation[k] = inverse_root(covariances[chosen])


def whiten_both(first, second, device=torch.device("cuda")):
    for k in range(2):
        rotation[k] = torch.linalg.svd(covariances[k])[0]


def one_basis(x, rounds, device=torch.device("cuda")):
    for k in range(len(rounds)):
        basis = torch.linalg.qr(x)[0]


def cut(x, starts, size=4):
    pieces = torch.zeros_like(x[:, :size])
    for k in range(x.size(0)):  # expect: serial-kernels
        start = starts[k]
        pieces[k] = x[k, start : start + size]
    return pieces


class Stretch(torch.nn.Module):
    def forward(self, x, lengths):
        parts = []
        for row, length in zip(x, lengths):  # expect: serial-kernels
            parts.append(self.repeat(row, length))
        return torch.cat(parts)

    def repeat(self, row, length):
        return row.repeat_interleave(length, 0)


class Views(torch.nn.Module):
    def forward(self, x, views):
        return [self.net(x, view) for view in views]


# ---
# case: sample after sample of a wave
import torch


class Wave(torch.nn.Module):
    def generate(self, x, length):
        found = []
        for t in range(length):  # expect: serial-kernels
            for layer in self.layers:
                x = layer.incremental_forward(x)
            found.append(x)
        return torch.cat(found)

    def parallel(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
# ---
# case: iterations that need the one before
import torch
import torch.nn.functional as F


def log_sinkhorn(scores, mu, nu, iters):
    u, v = torch.zeros_like(mu), torch.zeros_like(nu)
    for _ in range(iters):  # expect: serial-kernels
        u = mu - torch.logsumexp(scores + v.unsqueeze(1), dim=2)
        v = nu - torch.logsumexp(scores + u.unsqueeze(2), dim=1)
    return u, v


# case: samples, one after the other
class Vocoder(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = torch.nn.Linear(size, size)
        self.last = torch.nn.Linear(size, size)

    def generate(self, mels, length):
        out, x = [], torch.zeros(1, 8)
        for i in range(length):  # expect: serial-kernels
            x = torch.cat([x, mels[:, i]], dim=1)
            x = F.relu(self.first(x))
            x = torch.tanh(self.last(x))
            out.append(x)
        return torch.stack(out)


# case: layers
class Tower(torch.nn.Module):
    def forward(self, x):
        for i in range(self.num_layers):
            x = F.relu(self.layers[i](x))
            x = torch.sigmoid(x) + torch.tanh(x)
        return x


# case: tokens that make the input longer, which is another fault
class Writer(torch.nn.Module):
    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            logits = F.softmax(self(tokens)[:, -1], dim=-1)
            tokens = torch.cat((tokens, torch.multinomial(logits, 1)), dim=1)
        return tokens


# case: a few rounds
def smoothed(x):
    for _ in range(3):
        x = torch.tanh(torch.relu(torch.sigmoid(x)))
    return x


# case: elements that do not need each other
def resized(planes, count, size):
    for k in range(count):
        planes[k] = F.interpolate(F.relu(torch.tanh(planes[k])), size=size)
    return planes


# case: large networks
def p_sample_loop(unet, x, steps):
    for t in range(steps):
        x = torch.clamp(torch.tanh(torch.relu(unet(x, t))), -1, 1)
    return x


# case: a sum over rounds
def total_loss(outs, target, count):
    total = 0
    for k in range(count):
        total = total + F.l1_loss(outs[k], target)
    return total


# case: a simulator of the host
def rollout(policy, env, x, steps):
    for _ in range(steps):
        x = torch.tanh(torch.relu(torch.sigmoid(policy(x))))
        x = torch.tensor(env.step(x))
    return x
# ---
# case: parts of one tensor, and what each layer gives
import torch


def masks_of(weights, size):
    weights = torch.ones(8, 8, device="cuda")
    parts = torch.split(weights, size)
    masks = []
    for part in parts:
        level = torch.sort(torch.abs(part).view(-1))[0][8]
        masks.append((torch.abs(part) >= level).float())
    return masks


class Loss(torch.nn.Module):
    def forward(self, predictions, targets):
        total = 0
        for layer_index, layer in enumerate(predictions):
            box = torch.sigmoid(layer[..., :4])
            total = total + torch.abs(box - targets[layer_index]).mean() + torch.exp(box).mean()
        return total


# ---
# case: what a round binds at its beginning is of that round
import torch


@torch.no_grad()
def sample(model, rows, out, starts, steps):
    for i in range(steps):
        begin = starts[i]
        part = rows[begin : begin + 8]
        part = part.clone().exp()
        y = torch.matmul(part, model.w).sigmoid()
        out[begin : begin + 8] = torch.tanh(torch.relu(y))
    return out
