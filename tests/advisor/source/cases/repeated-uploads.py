# case: a list in each round
import numpy as np
import torch

device = torch.device("cuda")
for i in range(99):
    t = torch.tensor([i, i + 1], device=device)  # expect: repeated-uploads
# case: made, then moved
for label in labels:
    t = torch.tensor(label).to(device)  # expect: repeated-uploads
# case: an array
for a in arrays:
    t = torch.from_numpy(a).cuda()  # expect: repeated-uploads
# case: once
t = torch.tensor([1, 2], device=device)
# case: on the host
for i in range(99):
    t = torch.tensor([i])
# case: to the host
for i in range(99):
    t = torch.tensor([i], device="cpu")
# case: without data
for i in range(99):
    t = torch.zeros(8, device=device)
# case: few rounds
for i in range(4):
    t = torch.tensor([i], device=device)
# case: now and then
for i in range(99):
    if i % 10 == 0:
        t = torch.tensor([i], device=device)
# case: it does not wait, and says so
for a in arrays:
    t = torch.from_numpy(a).pin_memory().to(device, non_blocking=True)
# case: pinned
for a in arrays:
    t = torch.from_numpy(a).pin_memory().to(device)


# case: in the forward of a model
class Shifted(torch.nn.Module):
    def forward(self, x):
        return x + torch.tensor([1.0, 2.0], device=x.device)  # expect: repeated-uploads


# case: as a buffer
class Buffered(torch.nn.Module):
    def __init__(self):
        self.register_buffer("shift", torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return x + self.shift


# case: in each training step
def train():
    for x in loader:
        rate = torch.tensor(next_rate(), device=device)  # expect: repeated-uploads
        loss = (model(x.cuda()) * rate).mean()
        loss.backward()
        optimizer.step()


# case: once in each epoch
def epochs():
    for epoch in range(90):
        rate = torch.tensor([rate_now], device=device)
        for x in loader:
            loss = (model(x.cuda()) * rate).mean()
            loss.backward()
            optimizer.step()


# case: by a constructor of the old kind
def old(values):
    for v in values:
        t = torch.FloatTensor([v]).to(device)  # expect: repeated-uploads


# case: of sizes alone
def sizes():
    for i in range(99):
        t = torch.FloatTensor(8, 8).to(device)


# case: of a tensor
def of_tensor():
    x = torch.zeros(8, device=device)
    for i in range(99):
        t = torch.as_tensor(x)


# case: a helper without a loop
def helper(values):
    return torch.tensor(values, device=device)


# case: in an else
def in_else():
    for i in range(99):
        work(i)
    else:
        t = torch.tensor([n], device=device)


# case: a function of each step
class Runner:
    def prepare_inputs(self, lengths):
        return torch.tensor(lengths, device=self.device)  # expect: repeated-uploads

    # case: when it starts
    def __init__(self, lengths):
        self.lengths = torch.tensor(lengths, device=self.device)

    # case: a constant of each step
    def step(self):
        return torch.tensor(0.5, device=self.device)


# case: a number that a kernel computes
def psnr(x):
    return -10.0 * torch.log(x) / torch.log(torch.tensor([10.0]))  # expect: repeated-uploads


# case: a function of what changes
def logs(x, y):
    return torch.log(x) / torch.log(torch.tensor([y]))
# ---
# case: many arrays by a helper
import torch


class Buffer:
    def to_torch(self, array):
        return torch.tensor(array, device="cuda")  # expect: repeated-uploads

    def samples_of(self, rows):
        return (
            self.to_torch(self.states[rows]),  # expect: repeated-uploads
            self.to_torch(self.actions[rows]),
            self.to_torch(self.rewards[rows]),
        )

    def pair_of(self, rows):
        return self.to_torch(self.states[rows]), self.to_torch(self.actions[rows])
# case: kept from the first call on
class Nodes(torch.nn.Module):
    def forward(self, length):
        if hasattr(self, "omega") and self.omega.size(-1) == length:
            return self.omega
        omega = torch.tensor(np.exp(-2j * np.pi / length), device="cuda")
        self.omega = omega
        return omega


# case: prompts, before a text is generated
def generate(prompts, tokens):
    for row, prompt in enumerate(prompts):
        tokens[row, : len(prompt)] = torch.tensor(prompt, device="cuda")
    return tokens


# case: what a simulator says in an evaluation
def evaluate_policy(policy, envs):
    done = []
    while len(done) < 10:
        state, _, done, _ = envs.step(policy.act())
        masks = torch.tensor([0.0 if d else 1.0 for d in done], device="cuda")


# ---
# case: a helper for batches, a function of a loop, and one that runs once
import torch


def to_device(arrays, device):
    texts = torch.from_numpy(arrays[0]).long().to(device)  # expect: repeated-uploads
    lengths = torch.from_numpy(arrays[1]).to(device)
    return texts, lengths


def weigh(x, places, device=torch.device("cuda")):
    return x * torch.from_numpy(places).to(device)  # expect: repeated-uploads


def set_up(places, device=torch.device("cuda")):
    return torch.from_numpy(places).to(device)


table = set_up(all_places)
for x in recordings:
    total += weigh(x, all_places)
# ---
# case: numbers beside a tensor
import torch


class Matcher(torch.nn.Module):
    def forward(self, scores, size):
        zero = scores.new_tensor(0)  # expect: repeated-uploads
        none = scores.new_tensor(-1)
        scale = torch.tensor([640.0, 480.0]).to(scores)  # expect: repeated-uploads
        return torch.where(scores > 0, scores / scale, zero + none)


# case: what another tensor holds
class Copier(torch.nn.Module):
    def forward(self, scores, other):
        return scores.new_tensor(other.shape)
# ---
# case: numbers beside a tensor, in a function that models call
import torch


def transport(scores, count):
    one = scores.new_tensor(1)  # expect: repeated-uploads
    return torch.log(one * count) + scores


# case: in what sets up
def build_scale(scores):
    return scores.new_tensor([1.0, 2.0])
