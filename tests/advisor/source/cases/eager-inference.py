# case: features
import torch

model = Model().cuda().eval()
with torch.no_grad():
    for images in loader:
        features.append(model(images.cuda(non_blocking=True)))  # expect: eager-inference

# ---
# case: a function
import torch


@torch.no_grad()
def evaluate(model, test_loader, device="cuda"):
    for images, labels in test_loader:
        guesses = model(images.cuda()).argmax(1)  # expect: eager-inference

# ---
# case: inference mode
import torch

net = Net().to("cuda")
with torch.inference_mode():
    for x, y in test_loader:
        out = net(x.to("cuda"))  # expect: eager-inference

# ---
# case: a method of the model
import torch

encoder = Encoder().cuda()


@torch.inference_mode()
def embed(data_loader):
    return [encoder.encode(batch.cuda()) for batch in data_loader]


@torch.inference_mode()
def run(data_loader):
    for batch in data_loader:
        z = encoder(batch.cuda())  # expect: eager-inference

# ---
# case: with a bar
import torch
from tqdm import tqdm

model = Model().cuda()
with torch.no_grad():
    for batch in tqdm(val_loader):
        scores = model(batch.cuda())  # expect: eager-inference

# ---
# case: counted
import torch

model = Model().cuda()
with torch.no_grad():
    for i, batch in enumerate(val_loader):
        scores = model(batch.cuda())  # expect: eager-inference

# ---
# case: halves
import torch

model = Model().cuda().half()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: cast as it goes
import torch

model = Model().cuda()
with torch.no_grad(), torch.autocast("cuda"):
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: compiled
import torch

model = torch.compile(Model().cuda())
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: trains as well
import torch

model = Model().cuda()
for batch in train_loader:
    model(batch.cuda()).mean().backward()
    optimizer.step()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: on the host
import torch

model = Model()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch)

# ---
# case: with gradients, which is another fault
import torch

model = Model().cuda()
for batch in val_loader:
    scores = model(batch.cuda())

# ---
# case: no loader
import torch

model = Model().cuda()
with torch.no_grad():
    for path in paths:
        scores = model(load(path).cuda())

# ---
# case: scripted
import torch

model = torch.jit.script(Model().cuda())
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: in eight bits
import torch

model = load(load_in_8bit=True)
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: loaded as bf16
import torch

model = Model.from_pretrained("x", torch_dtype=torch.bfloat16).cuda()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: doubles are meant
import torch

model = Model().cuda().double()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())

# ---
# case: no model
import torch

with torch.no_grad():
    for batch in val_loader:
        total += batch.cuda().sum()

# ---
# case: TF32 is chosen
import torch

torch.set_float32_matmul_precision("high")
model = Model().cuda()
with torch.no_grad():
    for batch in val_loader:
        scores = model(batch.cuda())
