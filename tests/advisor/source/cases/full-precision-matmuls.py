# case: a program that trains in FP32
import torch

model = torch.nn.Linear(4096, 4096).cuda()  # expect: full-precision-matmuls
for x, y in loader:
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
# ---
# case: precision is chosen
import torch

torch.set_float32_matmul_precision("high")
model = torch.nn.Linear(4096, 4096).cuda()
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: the old switch
import torch

torch.backends.cuda.matmul.allow_tf32 = True
model = torch.nn.Linear(4096, 4096).cuda()
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: automatic mixed precision
import torch

model = torch.nn.Linear(4096, 4096).cuda()
for x, y in loader:
    with torch.autocast("cuda"):
        loss = model(x).sum()
    loss.backward()
    optimizer.step()
# ---
# case: on the host
import torch

model = torch.nn.Linear(4096, 4096)
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: a library
import torch


class Block(torch.nn.Module):
    def __init__(self):
        self.f = torch.nn.Linear(8, 8).cuda()


# ---
# case: inference only
import torch

model = torch.nn.Linear(4096, 4096).cuda()
for x in loader:
    print(model(x))
# ---
# case: another precision
import torch

model = torch.nn.Linear(4096, 4096).to("cuda", torch.bfloat16)
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: no matrix products
import torch

model = torch.nn.Conv2d(3, 8, 3).cuda()
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: main with imports from nn
import torch
from torch import nn


def main():
    model = nn.Sequential(nn.Linear(784, 512)).to("cuda")  # expect: full-precision-matmuls
    for x, y in loader:
        model(x).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
# ---
# case: reproducible on purpose
import torch

torch.use_deterministic_algorithms(True)
model = torch.nn.Linear(4096, 4096).cuda()
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
# ---
# case: explicit products
import torch

device = "cuda"
weights = torch.randn(8, 8, device=device, requires_grad=True)
for x, y in loader:
    loss = torch.matmul(x, weights).sum()  # expect: full-precision-matmuls
    loss.backward()
    optimizer.step()
# ---
# case: nothing of PyTorch
print("cuda")
