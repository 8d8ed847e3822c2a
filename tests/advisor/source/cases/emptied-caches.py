# case: in each step
import gc

import torch

for x, y in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.empty_cache()  # expect: emptied-caches
# case: in each batch of an evaluation
for x, y in test_loader:
    guess = model(x.cuda())
    torch.cuda.empty_cache()  # expect: emptied-caches
# case: once in each epoch
for epoch in range(90):
    for x, y in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
    torch.cuda.empty_cache()
# case: now and then
for i, x in enumerate(loader):
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
    if i % 100 == 0:
        torch.cuda.empty_cache()
# case: garbage in each step
for x, y in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
    gc.collect()  # expect: emptied-caches
# case: once
torch.cuda.empty_cache()
# case: garbage, once
gc.collect()
# case: garbage in each epoch
for epoch in range(90):
    for x, y in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
    gc.collect()
# case: where memory ran out
for x, y in loader:
    try:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()


# case: in a helper of each step
def train_step(x):
    loss = model(x.cuda()).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.empty_cache()  # expect: emptied-caches


def train():
    for x in loader:
        train_step(x)


# case: over a loader, whatever is done
def over_loader(data_loader):
    for batch in data_loader:
        work(batch)
        torch.cuda.empty_cache()  # expect: emptied-caches


# case: over models
def over_models(models):
    for model in models:
        run(model)
        torch.cuda.empty_cache()


# case: garbage over files
def over_files(files):
    for file in files:
        run(file)
        gc.collect()


# case: between two phases
def phases():
    first()
    torch.cuda.empty_cache()
    second()


# case: imported by name
def by_name():
    from torch.cuda import empty_cache

    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        empty_cache()  # expect: emptied-caches


# case: another's method
def others():
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        pool.empty_cache()


# case: few rounds
def few():
    for size in (1, 2, 3):
        work(size)
        torch.cuda.empty_cache()


# case: while the program ends
def end():
    while True:
        if not work():
            torch.cuda.empty_cache()
            break


# case: in the else of a loop
def in_else():
    for x in loader:
        work(x.cuda())
    else:
        torch.cuda.empty_cache()
# case: in what forward calls
class Matcher(torch.nn.Module):
    def forward(self, boxes):
        return self.get_losses(boxes)

    def get_losses(self, boxes):
        for i in range(len(boxes)):
            if len(boxes[i]) > 0:
                match(boxes[i])
                torch.cuda.empty_cache()  # expect: emptied-caches
# ---
# case: in front of an evaluation
import torch


def run_epoch(phase, model, loader):
    if phase == "train":
        model.train()
    else:
        model.eval()
        torch.cuda.empty_cache()  # expect: emptied-caches
    for x in loader:
        model(x.cuda())


# case: when a model is let go
def swap(model):
    if model is not None:
        del model
        torch.cuda.empty_cache()
# ---
# case: each round runs a network on what it draws
import torch


def valid_epoch(self, batches):
    for step in range(count):
        pair = batches.next()
        features = self.model(pair["first"].to("cuda"))
        meter.update(features.shape)
        torch.cuda.empty_cache()  # expect: emptied-caches
# ---
# case: between epochs
import torch


def main(model, loader):
    for epoch in range(epochs):
        train(model.cuda(), loader)
        torch.cuda.empty_cache()
