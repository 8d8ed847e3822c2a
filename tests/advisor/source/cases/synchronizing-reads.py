# case: the loss of every step
import torch

model = Net().cuda()
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()  # expect: synchronizing-reads
# case: every hundredth step
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if i % 100 == 0:
        print(loss.item())
# case: summed on the device
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.detach()
# case: printed
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
    print(loss)  # expect: synchronizing-reads
# case: evaluation reads what it needs
for x, y in test_loader:
    correct += (model(x) == y).sum().item()
# case: once per epoch
for epoch in range(9):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(loss.item())
# case: another value
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(epoch)
# case: to the host by cpu()
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    history.append(loss.detach().cpu())  # expect: synchronizing-reads
# case: no optimiser
for x in inputs:
    loss = model(x)
    loss.backward()
    grads.append(loss.item())
# case: a scaler steps
for x, y in loader:
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    losses.update(loss.item())  # expect: synchronizing-reads
# case: not a loop
loss = criterion(model(x), y)
loss.backward()
optimizer.step()
print(loss.item())


# case: in a function that is one step, which a loop of another file calls
def step(x, y):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()  # expect: synchronizing-reads


# ---
# case: for another vendor's processor as well
import torch

device = "xpu" if args.xpu else "cuda"
model = Net().to(device)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.item()


# ---
# case: a wrapper of the optimiser steps
import torch

for x, y in loader:
    loss = criterion(model(x.to(dist_util.dev())), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step_and_update_lr()
    total += loss.item()  # expect: synchronizing-reads


# ---
# case: what clears gradients takes a step, whatever it is called
import torch

for x, y in loader:
    trainer.zero_grad()
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    trainer.step()
    total += loss.item()  # expect: synchronizing-reads


# ---
# case: a simulator steps, and nothing is trained
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    env.step()
    total += loss.item()


# ---
# case: a step of a class, in methods, and every other step
import torch


class Agent:
    def update(self, batch, step):
        self.update_critic(batch.cuda())
        if step % 2 == 0:
            loss = self.actor(batch.cuda()).mean()
            self.actor_opt.zero_grad()
            loss.backward()
            self.actor_opt.step()
            self.log("actor", loss.item())  # expect: synchronizing-reads

    def update_critic(self, batch):
        loss = self.critic(batch).mean()
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        self.log("critic", loss.item())  # expect: synchronizing-reads


# ---
# case: a program that takes one step
import torch


def main():
    loss = model(torch.rand(8, 8, device="cuda")).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())


def train():
    loss = model(torch.rand(8, 8, device="cuda")).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())


# ---
# case: training and validation by one function
import torch


def run_step(model, x, phase, optimizer, writer):
    train = phase == "train"
    loss = model(x.cuda()).mean()
    if train:
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if train:
        writer.add_scalar("norm", norm)  # expect: synchronizing-reads
# ---
# case: what JAX has compiled
import jax
import numpy as np


@jax.jit
def train_step(state, batch):
    return state, {"loss": 0.0}


def train(state, batches):
    losses = []
    for batch in batches:
        state, metrics = train_step(state, batch)
        losses.append(float(metrics["loss"]))  # expect: synchronizing-reads
    return losses


# case: read every hundred steps
def train_logged(state, batches):
    for step, batch in enumerate(batches):
        state, metrics = train_step(state, batch)
        if step % 100 == 0:
            print(float(metrics["loss"]))


# case: read behind the loop
def train_quietly(state, batches):
    for batch in batches:
        state, metrics = train_step(state, batch)
    return float(metrics["loss"])


# case: numbers of the host
def train_counted(state, batches):
    for batch in batches:
        state, metrics = train_step(state, batch)
        count = float(len(batch))
    return count


# case: metrics of the host
predict = jax.pmap(apply)


def accuracy(batches):
    right = []
    for batch in batches:
        logits = predict(batch["image"])
        right.append((np.argmax(logits, axis=-1) == batch["label"]).mean())  # expect: synchronizing-reads
    return np.mean(right)
# ---
# case: NumPy looks at what is on the GPU
import numpy as np
import torch


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if np.isnan(norm):  # expect: synchronizing-reads
            report()
        optimizer.step()
