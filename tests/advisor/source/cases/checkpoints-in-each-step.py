# case: every batch
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    torch.save(model.state_dict(), path)  # expect: checkpoints-in-each-step
# ---
# case: by number
import torch

for i, (x, y) in enumerate(loader):
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    torch.save(model.state_dict(), f"{i}.pt")  # expect: checkpoints-in-each-step
# ---
# case: in a function
import torch

def fit(model, loader):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y)
        loss.backward()
        optimizer.step()
        torch.save({"model": model.state_dict()}, path)  # expect: checkpoints-in-each-step
# ---
# case: a helper takes the step
import torch

def step(x, y):
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    return loss


for epoch in range(10000):
    losses.append(step(x, y))
    torch.save(model.state_dict(), f"{epoch}.pkl")  # expect: checkpoints-in-each-step
# ---
# case: before the step
import torch

for x, y in loader:
    torch.save(model.state_dict(), path)  # expect: checkpoints-in-each-step
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
# ---
# case: where settings ask for it
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    if args.keep_all:
        torch.save(model.state_dict(), path)  # expect: checkpoints-in-each-step
# ---
# case: every thousand steps
import torch

for i, (x, y) in enumerate(loader):
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    if i % 1000 == 0:
        torch.save(model.state_dict(), path)
# ---
# case: the best
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    if loss < best:
        torch.save(model.state_dict(), path)
# ---
# case: after an epoch
import torch

for epoch in range(9):
    for x, y in loader:
        loss = criterion(model(x.cuda()), y)
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), path)
# ---
# case: behind the loop
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), path)
# ---
# case: no training
import torch

for name in names:
    torch.save(parts[name], name)
# ---
# case: another library
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    numpy.save(path, array)
# ---
# case: when it is over
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
else:
    torch.save(model.state_dict(), path)
# ---
# case: evaluation
import torch

for x, y in loader:
    torch.save(model(x.cuda()), path)
# ---
# case: a helper of an epoch
import torch

def epoch():
    for x, y in loader:
        loss = criterion(model(x.cuda()), y)
        loss.backward()
        optimizer.step()


for i in range(9):
    epoch()
    torch.save(model.state_dict(), path)
# ---
# case: when an error ends it
import torch

for x, y in loader:
    try:
        loss = criterion(model(x.cuda()), y)
        loss.backward()
        optimizer.step()
    except RuntimeError:
        torch.save(model.state_dict(), path)
# ---
# case: on the host
import torch

device = "cpu"
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    torch.save(model.state_dict(), path)
# ---
# case: a method of another name
import torch

for x, y in loader:
    loss = criterion(model(x.cuda()), y)
    loss.backward()
    optimizer.step()
    saver.save(model)
