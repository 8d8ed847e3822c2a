# case: after each step of training
import torch

model = torch.nn.Linear(8, 8).cuda()


def train(loader, optimizer):
    for x, y in loader:
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()  # expect: synchronizations-in-loops


# ---
# case: with a device, in a while loop
import torch


def serve(queue):
    while True:
        request = queue.get()
        output = model(request)
        torch.cuda.synchronize(0)  # expect: synchronizations-in-loops
        queue.put(output)


# ---
# case: under with
import torch


def generate(prompts):
    for prompt in prompts:
        with torch.no_grad():
            model(prompt)
            torch.cuda.synchronize()  # expect: synchronizations-in-loops


# ---
# case: before memory is looked at
import torch


def watched(loader):
    for i, x in enumerate(loader):
        model(x)
        if i == 10:
            torch.cuda.synchronize()
            print(torch.cuda.memory_allocated())


# ---
# case: a nested function that the loop only defines
import torch


def hooks(layers):
    for layer in layers:

        def wait(*_):
            torch.cuda.synchronize()

        layer.register_forward_hook(wait)
