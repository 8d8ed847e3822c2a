# case: a range beside labels
import numpy as np
import torch

device = torch.device("cuda")
model = torch.nn.Linear(8, 8).to(device)
for images, labels in loader:
    targets = torch.zeros(64, 10, device=device)
    targets[range(64), labels] = 1  # expect: host-counted-indices
    model(images.to(device)).sum().backward()
    optimizer.step()
# case: a range alone
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[range(32)]  # expect: host-counted-indices
    model(images.to(device)).sum().backward()
    optimizer.step()
# case: an array
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    order = np.argsort(lengths)
    picked = rows[order]  # expect: host-counted-indices
    model(images.to(device)).sum().backward()
    optimizer.step()
# case: an array for columns
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[:, np.arange(3)]  # expect: host-counted-indices
    model(images.to(device)).sum().backward()
    optimizer.step()


# case: a model
class Picker(torch.nn.Module):
    def forward(self, x):
        x = x.cuda()
        return x[range(len(x)), self.best]  # expect: host-counted-indices


# case: a loss
def picked_loss(logits, labels):
    logits = torch.log_softmax(logits, 1)
    return -logits[range(len(labels)), labels].mean()  # expect: host-counted-indices


# case: counted on the GPU
for images, labels in loader:
    targets = torch.zeros(64, 10, device=device)
    targets[torch.arange(64, device=device), labels] = 1
    model(images.to(device)).sum().backward()
    optimizer.step()
# case: slices
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[:32, 1:5]
# case: a number
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[3]
# case: a tensor of the host
for images, labels in loader:
    rows = torch.zeros(64, 10)
    picked = rows[range(32)]
# case: an array of the host
for images, labels in loader:
    rows = np.zeros((64, 10))
    picked = rows[np.arange(32)]
# case: once
rows = torch.zeros(64, 10, device=device)
picked = rows[range(32)]
# case: few rounds
for size in (1, 2):
    picked = rows[range(32)]


# case: a list of the host
class Names(torch.nn.Module):
    def forward(self, x):
        return [self.names[i] for i in range(9)]


# case: a mask
class Masked(torch.nn.Module):
    def forward(self, x):
        return x[x > 0]


# case: gathered
def gathered_loss(logits, labels):
    logits = torch.log_softmax(logits, 1)
    return -logits.gather(1, labels.unsqueeze(1)).mean()


# case: what sets up
def setup(table):
    table = table.cuda()
    return table[range(9)]


# case: random numbers, of which another rule speaks
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[np.random.permutation(64)]
    model(images.to(device)).sum().backward()
    optimizer.step()
# case: a name
for images, labels in loader:
    rows = torch.zeros(64, 10, device=device)
    picked = rows[labels]


# ---
# case: lists that the host fills, and one number of an array
import numpy as np
import torch

for x in loader:
    scores = model(x.cuda())
    rows = []
    for row in known:
        rows.extend(row)
    scores[rows] = 0  # expect: host-counted-indices
    order = np.argsort(keys)
    for k in range(len(keys)):
        total += scores[order[k]]
        one = order[k]
        total += scores[one]


# ---
# case: a mask that the host draws
import torch


class Edges(torch.nn.Module):
    def drop(self, x, keep_prob):
        values = torch.sigmoid(x)
        chosen = (torch.rand(len(values)) + keep_prob).int().bool()
        return values[chosen]  # expect: host-counted-indices

    def drop_on_device(self, x, keep_prob):
        values = torch.sigmoid(x)
        chosen = (torch.rand(len(values), device=x.device) + keep_prob).int().bool()
        return values[chosen]
# ---
# case: lists of a sampler
import torch
from torch.utils.data import BatchSampler, SubsetRandomSampler


class Storage:
    def batches(self, size):
        sampler = BatchSampler(SubsetRandomSampler(range(512)), size, drop_last=True)
        for indices in sampler:
            states = self.states.view(-1, 8)[indices]  # expect: host-counted-indices
            values = self.values.view(-1, 1)[indices]
            yield states, values


# case: lists of a list
class Kept:
    def batches(self, rows):
        for indices in rows:
            yield self.states.view(-1, 8)[indices]
