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


# case: in a function that the loop calls
def step(x, y):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


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
