# case: a program that trains convolutions
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))  # expect: unsearched-convolutions
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: three dimensions
import torch

model = torch.nn.Conv3d(3, 64, 3)  # expect: unsearched-convolutions
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: backwards
import torch

model = torch.nn.ConvTranspose2d(3, 64, 3)  # expect: unsearched-convolutions
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: imported
import torch
from torch import nn

model = nn.Conv2d(3, 64, 3)  # expect: unsearched-convolutions
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: in a class
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        self.first = nn.Conv2d(3, 64, 3)  # expect: unsearched-convolutions
        self.second = nn.Conv2d(64, 64, 3)


model = Net()
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: one dimension
import torch

model = torch.nn.Conv1d(3, 64, 3)  # expect: unsearched-convolutions
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: timed
import torch

torch.backends.cudnn.benchmark = True
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: not timed on purpose
import torch

torch.backends.cudnn.benchmark = False
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: repeated bit for bit
import torch

torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: cuDNN by another name
import torch
from torch.backends import cudnn

cudnn.benchmark = True
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: on the host
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
# ---
# case: no training
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    print(model(x.cuda()))
# ---
# case: no convolution
import torch

model = torch.nn.Linear(64, 64)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: a model alone
import torch

class Net(torch.nn.Module):
    def __init__(self):
        self.first = torch.nn.Conv2d(3, 64, 3)
# ---
# case: of another library
import torch
from other import Conv2d

model = Conv2d(3, 64, 3)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: a function
import torch

def model(x):
    return torch.nn.functional.conv2d(x, w)


for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: named alone
import torch

# Conv2d is not used here
model = torch.nn.Linear(64, 64)
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: deterministic by a flag
import torch

torch.backends.cudnn.deterministic = True
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3))
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: images for a model of another file
import torch

model = make_model().cuda()
for images, labels in loader:  # expect: unsearched-convolutions
    loss = model(images.cuda()).mean()
    loss.backward()
    optimizer.step()
# ---
# case: cuDNN is to be used, and nothing said of how it picks
import torch

torch.backends.cudnn.enabled = True
model = torch.nn.Conv2d(3, 8, 3).cuda()  # expect: unsearched-convolutions
for x in loader:
    model(x.cuda()).mean().backward()
    optimizer.step()
# ---
# case: cuDNN is told not to look
import torch

torch.backends.cudnn.enabled = True
torch.backends.cudnn.benchmark = False
model = torch.nn.Conv2d(3, 8, 3).cuda()
for x in loader:
    model(x.cuda()).mean().backward()
    optimizer.step()
