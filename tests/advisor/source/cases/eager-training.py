# case: a script
import torch

if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()
# ---
# case: a device by name
import torch

if __name__ == "__main__":
    device = torch.device("cuda")
    model = model.to(device)
    for x in loader:
        loss = model(x.to(device)).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()
# ---
# case: a main function
import torch

def main():
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()


if __name__ == "__main__":
    main()
# ---
# case: epochs
import torch

def main():
    for epoch in range(9):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()  # expect: eager-training
            optimizer.step()


if __name__ == "__main__":
    main()
# ---
# case: a device from arguments
import torch

if __name__ == "__main__":
    model = model.to(args.device)
    for x in loader:
        loss = model(x.to(args.device)).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()
# ---
# case: two losses: the first is named
import torch

if __name__ == "__main__":
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()  # expect: eager-training
        other.backward()
        optimizer.step()
# ---
# case: compiled
import torch

if __name__ == "__main__":
    model = torch.compile(model)
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: mixed precision
import torch

if __name__ == "__main__":
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: in BF16
import torch

if __name__ == "__main__":
    model = model.to(torch.bfloat16)
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: by Apex
import torch

if __name__ == "__main__":
    model = amp.initialize(model, opt_level="O1")
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: by Accelerate
import torch

if __name__ == "__main__":
    accelerator = Accelerator()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: precision is chosen
import torch

if __name__ == "__main__":
    torch.set_float32_matmul_precision("high")
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: in double precision on purpose
import torch

if __name__ == "__main__":
    model = model.double()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: traced
import torch

if __name__ == "__main__":
    model = torch.jit.trace(model, x)
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
# ---
# case: on the host
import torch

if __name__ == "__main__":
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
# ---
# case: a trainer that programs call
import torch

def fit(loader):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()  # expect: eager-training
        optimizer.step()
# ---
# case: no training
import torch

if __name__ == "__main__":
    for x in loader:
        print(model(x.cuda()))
# ---
# case: a graph of CUDA
import torch

if __name__ == "__main__":
    graph = torch.cuda.CUDAGraph()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()


# ---
# case: arguments of a trainer
import torch
from transformers import TrainingArguments

arguments = TrainingArguments(output_dir="out", num_train_epochs=3)  # expect: eager-training

# ---
# case: arguments with a precision
import torch
from transformers import TrainingArguments

arguments = TrainingArguments(output_dir="out", bf16=True)


# ---
# case: one step as a method
import torch


class Agent:
    def __init__(self, model):
        self.model = model.to("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def update(self, batch):
        loss = self.model(batch).mean()
        self.optimizer.zero_grad()
        loss.backward()  # expect: eager-training
        self.optimizer.step()
