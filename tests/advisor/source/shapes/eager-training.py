# case: a library
import torch

def adapt(loader):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: Lightning is given a GPU and no precision
from pytorch_lightning import Trainer

trainer = Trainer(gpus=2, max_epochs=9)  # expect: eager-training
trainer.fit(model)
import torch
# ---
# case: Lightning is given a precision
import torch
import lightning as L

trainer = L.Trainer(accelerator="gpu", precision="bf16-mixed")
# ---
# case: Lightning is given what stands elsewhere, or no GPU
import torch
from pytorch_lightning import Trainer

trainer = Trainer(gpus=1, **options)
other = Trainer(max_epochs=3)
# ---
# case: names that hold the letters of a precision
import torch

def train(loader):
    n_samples = 0
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()
