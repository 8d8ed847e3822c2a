# case: noise of a generator, with a type
import torch

device = "cuda:0"
for step in range(1000):
    noise = torch.randn(64, 100, dtype=torch.float32).to(device)  # expect: host-built-tensors
    fake = generator(noise)
# case: labels in every step
for images, _ in loader:
    real = torch.full((images.size(0),), 1.0).cuda()  # expect: host-built-tensors
# case: positions in a method
device = torch.device("cuda")


class Model:
    def generate(self, n):
        while n:
            position = torch.arange(n).to(device=device)  # expect: host-built-tensors
            n -= 1


# case: made like another tensor
for x in loader:
    mask = torch.zeros_like(x).to(device)
# case: once, before the loop
steps = torch.linspace(0, 1, 100).to(device)
for i in range(100):
    print(steps[i].item())


# ---
# case: for a debugger
import torch


class Debugged(torch.nn.Module):
    def forward(self, x, debug_share=None):
        if debug_share is not None:
            x = x + torch.rand(8).to(x.device)
        return x + torch.rand(8).to(x.device)  # expect: host-built-tensors
