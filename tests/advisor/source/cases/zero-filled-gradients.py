# case: zeros on purpose
import torch

optimizer.zero_grad(set_to_none=False)  # expect: zero-filled-gradients
# ---
# case: of a model
import torch

model.zero_grad(set_to_none=False)  # expect: zero-filled-gradients
# ---
# case: by hand
import torch

for p in model.parameters():
    p.grad.zero_()  # expect: zero-filled-gradients
# ---
# case: by hand, where there is one
import torch

for p in model.parameters():
    if p.grad is not None:
        p.grad.zero_()  # expect: zero-filled-gradients
# ---
# case: in a method
import torch

class Trainer:
    def step(self):
        self.optimizer.zero_grad(set_to_none=False)  # expect: zero-filled-gradients
# ---
# case: twice: the first is named
import torch

first.zero_grad(set_to_none=False)  # expect: zero-filled-gradients
second.zero_grad(set_to_none=False)
# ---
# case: the default
import torch

optimizer.zero_grad()
# ---
# case: said
import torch

optimizer.zero_grad(set_to_none=True)
# ---
# case: as a variable says
import torch

optimizer.zero_grad(set_to_none=flag)
# ---
# case: dropped by hand
import torch

for p in model.parameters():
    p.grad = None
# ---
# case: one tensor, once
import torch

x.grad.zero_()
# ---
# case: no gradient
import torch

for p in model.parameters():
    p.data.zero_()
# ---
# case: a buffer
import torch

for b in buffers:
    b.zero_()
# ---
# case: gradients are scaled
import torch

for p in model.parameters():
    p.grad.mul_(0.5)
# ---
# case: gradients are read
import torch

for p in model.parameters():
    total += p.grad.norm()
# ---
# case: another function's option
import torch

reset(set_to_none=False)
# ---
# case: a function
import torch

zero_grad(set_to_none=False)
# ---
# case: another method's option
import torch

optimizer.reset(set_to_none=False)
