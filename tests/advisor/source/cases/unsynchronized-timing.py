# case: a model
import time

import torch

model = Net().to("cuda")
t = time.time()
y = model(x)
print(1)
t = time.time()
y = model(x)
elapsed = time.time() - t  # expect: unsynchronized-timing
# case: synchronised
t = time.time()
y = model(x)
torch.cuda.synchronize()
elapsed = time.time() - t
# case: a value is read
t = time.time()
y = model(x).sum().item()
elapsed = time.time() - t
# case: unknown callee
t = time.time()
y = other(x)
elapsed = time.time() - t
# case: a product of tensors
a = torch.randn(8, 8, device="cuda")
start = time.perf_counter()
b = a @ a
seconds = time.perf_counter() - start  # expect: unsynchronized-timing
# case: tensors of the host
c = torch.randn(8, 8)
start = time.perf_counter()
b = torch.matmul(c, c)
seconds = time.perf_counter() - start


# case: a function of the file may wait
def helper(x):
    return x


t = time.time()
y = model(x)
helper(y)
elapsed = time.time() - t
# case: matmul by name
start = time.perf_counter()
b = torch.matmul(a, a)
seconds = time.perf_counter() - start  # expect: unsynchronized-timing
# case: nothing between
t = time.time()
elapsed = time.time() - t
# case: printed, which waits
t = time.time()
y = model(x)
print(y)
elapsed = time.time() - t
# case: a loop
t = time.time()
for _ in range(9):
    y = model(x)
elapsed = time.time() - t  # expect: unsynchronized-timing
# case: never subtracted
t = time.time()
y = model(x)
now = time.time()
# case: backward
t = time.time()
loss.backward()
elapsed = time.time() - t  # expect: unsynchronized-timing


# case: each step of training
def train_timed(model, loader, device="cuda"):
    last = time.time()
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        now = time.time()  # expect: unsynchronized-timing
        took = now - last
        last = now


# case: steps that are read
def train_read(model, loader, device="cuda"):
    last = time.time()
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        now = time.time()
        took = now - last
        last = now
# case: a value is read by the statement that reads the clock
t = time.time()
y = model(x)
print(y.sum().item(), time.time() - t)
