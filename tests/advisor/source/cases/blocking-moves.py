# case: a batch of a loader moved the slow way
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, pin_memory=True)
for x, y in loader:
    x = x.to("cuda")  # expect: blocking-moves
    y = y.to("cuda")
# case: not blocking
for x, y in loader:
    x = x.to("cuda", non_blocking=True)
# case: chosen by a variable
for x, y in loader:
    x = x.cuda(non_blocking=flag)
# case: cuda()
for x, y in loader:
    x = x.cuda()  # expect: blocking-moves
# case: enumerated with progress
for i, (x, y) in enumerate(tqdm(loader)):
    x = x.to("cuda:1")  # expect: blocking-moves
# case: not a loader
for x, y in pairs:
    x = x.to("cuda")
# case: not of the batch
for x, y in loader:
    w = w.to("cuda")
# case: to the host
for x, y in loader:
    x = x.to("cpu")
# case: to an unknown device
for x, y in loader:
    x = x.to(where)
# case: a dtype
for x, y in loader:
    x = x.to(torch.float16)
# case: positional arguments may say it
for x, y in loader:
    x = x.to("cuda", torch.float16, True)
# case: options from elsewhere
for x, y in loader:
    x = x.to("cuda", **options)
# case: an item of a batch
for batch in loader:
    image = batch["image"].to("cuda")  # expect: blocking-moves
# case: outside the loop
first = next(iter(loader)).to("cuda")
# ---
# case: batches of an iterable of another file
import torch

model = make_model().cuda()
for i, (x, y) in enumerate(train_set):
    x, y = x.cuda(), y.cuda()  # expect: blocking-moves
    loss = model(x, y).mean()
    loss.backward()
    optimizer.step()
# case: batches drawn in each step
for step in range(9999):
    pair = next(pairs)
    loss = model(pair["images"].cuda()).mean()  # expect: blocking-moves
    loss.backward()
    optimizer.step()
# case: the number of a step
for step in range(9999):
    loss = model(make(step).cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: by the type of a tensor
import torch

Tensor = torch.cuda.FloatTensor
for images, labels in loader:
    images = images.type(Tensor)  # expect: blocking-moves
