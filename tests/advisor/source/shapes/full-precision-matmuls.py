# case: a transformer
import torch
from torch import nn

model = nn.TransformerEncoderLayer(512, 8).to("cuda")  # expect: full-precision-matmuls
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
# ---
# case: a class of the file, started by main
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(1024, 10)  # expect: full-precision-matmuls


def train():
    net = Net().cuda()
    for x, y in loader:
        net(x).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    train()
# ---
# case: explicit batched products
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
w = torch.randn(4, 64, 64, device=device, requires_grad=True)
for x in batches:
    loss = torch.bmm(x, w).square().mean()  # expect: full-precision-matmuls
    loss.backward()
    optimizer.step()
# ---
# case: half precision by a scaler
import torch

model = torch.nn.Linear(8, 8).cuda()
scaler = torch.cuda.amp.GradScaler()
for x, y in loader:
    with torch.cuda.amp.autocast():
        loss = model(x).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
# ---
# case: a trainer chooses it
import torch

model = torch.nn.Linear(8, 8).cuda()
trainer = Trainer(model, precision="16-mixed")
for x, y in loader:
    model(x).sum().backward()
    optimizer.step()
