# case: an evaluation loop
import torch


def evaluate(model, loader, device):
    right = 0
    for x, y in loader:
        guess = model(x.to(device)).argmax(1)
        right += (guess == y.to(device)).sum().item()  # expect: hidden-synchronizations
    return right


# case: summed on the GPU
def evaluate_together(model, loader, device):
    right = torch.zeros((), device=device)
    for x, y in loader:
        guess = model(x.to(device)).argmax(1)
        right += (guess == y.to(device)).sum()
    return right.item()


# case: predictions to the host
def predict(model, loader):
    guesses = []
    for x in loader:
        guesses.append(model(x.cuda()).cpu())  # expect: hidden-synchronizations
    return guesses


# case: predictions together
def predict_together(model, loader):
    guesses = []
    for x in loader:
        guesses.append(model(x.cuda()))
    return torch.cat(guesses).cpu()


# case: every hundredth batch
def now_and_then(model, loader):
    for i, x in enumerate(loader):
        y = model(x.cuda())
        if i % 100 == 0:
            print(y.mean().item())


# case: in the forward of a model
class Gated(torch.nn.Module):
    def forward(self, x):
        mask = torch.zeros(8, device=x.device)
        if (mask > 0).any():  # expect: hidden-synchronizations
            return x
        return x + mask.cuda().max().item()  # expect: hidden-synchronizations


# case: in the forward, on the GPU
class Masked(torch.nn.Module):
    def forward(self, x):
        mask = torch.zeros(8, device=x.device)
        return torch.where(mask > 0, x, x + mask.max())


# case: a shape in the forward
class Shaped(torch.nn.Module):
    def forward(self, x):
        mask = torch.zeros(8, device=x.device)
        if mask.shape[0] > 4:
            return x
        return x if mask.size(0) else mask


# case: a helper that reads at once
def choose(logits):
    return logits.cuda().argmax().item()  # expect: hidden-synchronizations


# case: a helper of the host
def choose_on_host(logits):
    return torch.tensor(logits).argmax().item()


# case: while tokens are made
def tokens(model, x):
    model = model.cuda()
    while len(x) < 99:
        y = model(x)
        if y.argmax() == 0:  # expect: hidden-synchronizations
            break


# case: arrays of the host
def on_host(values):
    total = 0.0
    for v in values:
        t = torch.tensor(v)
        total += t.sum().item()
    return total


# case: an action of a simulator
def play(model, env):
    model = model.cuda()
    for _ in range(1000):
        state = env.step(model(torch.zeros(8, device="cuda")).cpu().numpy())
    return state


# case: compared with None
def absent(loader, model):
    for x in loader:
        x = x.cuda()
        if x is None:
            return model(x)


# case: once behind a loop
def once(model, loader):
    y = None
    for x in loader:
        y = model(x.cuda())
    return y.mean().item()


# case: over few rounds
def few(model):
    model = model.cuda()
    for size in (1, 2, 3):
        print(model(torch.zeros(size, device="cuda")).sum().item())


# case: of one that a training loop already named
def trained(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())


# case: copied already
def copied(model, loader):
    for x in loader:
        y = model(x.cuda()).cpu()  # expect: hidden-synchronizations
        print(y.sum().item(), float(y.max()), y.tolist())


# case: when something goes wrong
def guarded(model, loader):
    for x in loader:
        try:
            y = model(x.cuda())
        except RuntimeError:
            print(y.sum().item())
# case: an action for a simulator
class Player(torch.nn.Module):
    def act(self, state):
        scores = self.net(state.cuda()).data.cpu()
        return scores.argmax(1)


# case: two copies, one after the other
def gather(model, loader):
    for x, y in loader:
        guesses.append(model(x.cuda()).cpu())  # expect: hidden-synchronizations
        scores.append(y.cuda().cpu())
# case: a loss of another file's step
def discriminator_loss(outputs):
    losses = []
    for output in outputs:
        loss = torch.mean(output**2)
        losses.append(loss.item())  # expect: hidden-synchronizations
    return losses


# case: a helper that copies
def compute_loss(boxes, classes):
    parts = torch.cat((boxes.mean(), classes.mean()))
    return parts.sum(), to_cpu(parts)  # expect: hidden-synchronizations


# case: Python's own all()
class Writer(torch.nn.Module):
    def write(self, tokens):
        done = torch.zeros(8, dtype=torch.bool, device="cuda")
        while True:
            done |= torch.ones(8, device="cuda") == 2
            if all(done):  # expect: hidden-synchronizations
                break


# case: a mask in what forward calls
class Detector(torch.nn.Module):
    def forward(self, boxes):
        return self.get_losses(boxes)

    def get_losses(self, boxes):
        fg_mask = boxes[:, 4] > 0.5
        return boxes[fg_mask].sum()  # expect: hidden-synchronizations


# case: indices in what forward calls
class Picker(torch.nn.Module):
    def forward(self, boxes):
        return self.get_best(boxes)

    def get_best(self, boxes):
        best = boxes[:, 4].argmax(1)
        return boxes[best].sum()


# ---
# case: batches of a generator, and a function at whose default the GPU is
import torch

with torch.no_grad():
    for users in minibatch(everyone, size=64):
        ratings = model(torch.as_tensor(users).cuda())
        found.append(ratings.topk(20).indices.cpu())  # expect: hidden-synchronizations


def peel(x, rounds, device=torch.device("cuda")):
    for _ in range(rounds):
        peaks = torch.nonzero(torch.relu(x) > 1)  # expect: hidden-synchronizations
        x.index_fill_(0, peaks[:, 0], 0)
    return peaks


# ---
# case: sizes and tests that the GPU computes, in functions that a model calls
import math

import torch


def sequence_mask(lengths, longest=None):
    if longest is None:
        longest = lengths.max()
    steps = torch.arange(longest, device=lengths.device)  # expect: hidden-synchronizations
    return steps.unsqueeze(0) < lengths.unsqueeze(1)


def spectrum(y):
    if torch.min(y) < -1.0:  # expect: hidden-synchronizations
        print("too low")
    return torch.stft(y, 512)


def mask_of(lengths, longest):
    steps = torch.arange(longest, device=lengths.device)
    return steps.unsqueeze(0) < lengths.unsqueeze(1)


def wide(y, length):
    if length < 8:
        y = torch.nn.functional.pad(y, (0, 8))
    return torch.stft(y, math.ceil(length / 2))


# ---
# case: slices whose bounds stand on the GPU
import torch


def pieces(x, lengths):
    starts = (torch.rand(8, device="cuda") * lengths).long()
    for k in range(len(starts)):
        start = starts[k]
        x[k, start : start + 4].relu_()  # expect: hidden-synchronizations


def pieces_of_host(x, starts):
    for k in range(len(starts)):
        x.cuda()[k, starts[k] : starts[k] + 4].relu_()
# ---
# case: one value to which a mask of a loss is reduced
import torch


def focal_loss(pred, gt):
    found = gt.eq(1).float()
    count = found.float().sum()
    loss = torch.log(pred) * found
    if count == 0:  # expect: hidden-synchronizations
        return loss.sum()
    return loss.sum() / count


# case: chosen elements in a loss
def masked_loss(pred, gold, pad):
    loss = torch.nn.functional.cross_entropy(pred, gold, reduction="none")
    return loss.masked_select(gold.ne(pad)).sum()  # expect: hidden-synchronizations


# case: an amount of rows, and an array of NumPy
def weighted_loss(rows, weights):
    if weights.sum() == 0:
        return 0
    return len(rows)


# ---
# case: the process that reports
import torch


def evaluate_all(model, loader, device):
    for x in loader:
        out = model(x.to(device))
        if dist.get_rank() == 0:
            print(out.mean().item())  # expect: hidden-synchronizations
# ---
# case: settings asked for by a call
import torch


def evaluate_shown(model, loader, device):
    for x in loader:
        out = model(x.to(device))
        if wants_numbers():
            print(out.mean().item())
# ---
# case: the gradient of each parameter
import torch


def clip_gradients(model, most):
    total = 0.0
    for p in model.parameters():
        norm = p.grad.data.norm(2)
        total += norm.item() ** 2  # expect: hidden-synchronizations
    return total**0.5


# case: any of them
def step_if_finite(model, optimizer):
    if any(not torch.isfinite(p.grad).all() for p in model.parameters()):  # expect: hidden-synchronizations
        return
    optimizer.step()


# case: whether there is one
def has_gradients(model):
    return any(p.grad is not None for p in model.parameters())


# case: shown once
def print_gradients(model):
    for p in model.parameters():
        print(p.grad.norm().item())
# ---
# case: pictures that are saved one by one
import torch


def render(model, poses):
    for i, pose in enumerate(poses):
        picture = model(pose.cuda()).cpu().numpy()
        imageio.imwrite(f"{i}.png", picture)


# case: speech, which a decoder has taken long for
def tts(model, text):
    mel = model(encode(text).cuda())
    return mel[0].cpu().numpy()


# case: numbers of a model
def train(model, loader, optimizer):
    model = model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        step = model.get_step()
        print(step)
# ---
# case: chosen elements that are changed
import torch


class Projection(torch.nn.Module):
    def forward(self, l, u):
        l = l.cuda()
        l[(u > 0) * (l == u)] -= 1  # expect: hidden-synchronizations
        return torch.where(l > u, u, l)
# ---
# case: sound that is written
import torch


def speak(model, mels):
    for i, mel in enumerate(mels):
        sound = model(mel.cuda()).cpu().numpy()
        write(f"{i}.wav", 22050, sound)
# ---
# case: the numbers of a row of tensors
import torch


def update_history(rows, sizes):
    return [x.item() for y, n in zip(rows, sizes) for x in y[:n]]  # expect: hidden-synchronizations


# case: of what a report is made once
def report(rows):
    return [x.item() for x in rows]
