# case: a progress bar
import torch
from tqdm import tqdm

model = torch.nn.Linear(8, 8).cuda()
bar = tqdm(loader)
for x, y in bar:
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bar.set_postfix(loss=loss.item())  # expect: synchronizing-reads
# case: a running average
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * float(loss)  # expect: synchronizing-reads
# case: a list of tensors
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
# case: every so often, by a flag
for step, (x, y) in enumerate(loader):
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    log = step % 50 == 0
    if log:
        writer.add_scalar("loss", loss.item(), step)
# case: a value of the host
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    count = len(x)
    print(count)
# ---
# case: on a device that the caller chooses
import numpy as np
import torch as th


class Policy:
    def train(self):
        for batch in self.buffer.get(64):
            loss = th.mean(self.policy(batch))
            entropy = -th.mean(th.exp(loss))
            clip_fraction = th.mean((entropy > 1).float()).item()  # expect: synchronizing-reads
            kl = th.mean(entropy).cpu()  # expect: synchronizing-reads
            share = np.mean(self.values)
            used = share.item()
            actions = th.argmax(entropy).item()
            self.policy.optimizer.zero_grad()
            loss.backward()
            self.policy.optimizer.step()


# ---
# case: a step that another file calls
import torch


class Agent:
    def update(self, x):
        loss = self.net(x).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()  # expect: synchronizing-reads


# ---
# case: a step of Lightning
import torch


class Net(LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        print(loss.item())  # expect: synchronizing-reads
        return loss


# ---
# case: an interval of one
import torch

every = 1
rarely = 100
for step, x in enumerate(loader):
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
    if step % every == 0 and main_process:
        print(loss.item())  # expect: synchronizing-reads
    if step % rarely == 0:
        print(loss.item())


# ---
# case: as PyTorch was written first
import math

import torch

for x, y in loader:
    loss = criterion(model(x.cuda(async=True)), y)
    loss.backward()
    optimizer.step()
    losses.update(loss.data[0], x.size(0))  # expect: synchronizing-reads
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if math.isnan(norm):  # expect: synchronizing-reads
        break
