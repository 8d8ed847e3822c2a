# case: one batch of a new iterator
import torch

loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=4)
for step in range(9999):
    images, labels = next(iter(loader))  # expect: restarted-workers
# case: by enumerate
for step in range(9999):
    i, batch = next(enumerate(loader, 0))  # expect: restarted-workers
# case: below a condition
for step in range(9999):
    if step % 10 == 0:
        batch = next(iter(loader))  # expect: restarted-workers


# case: epochs
def train(model, data, epochs):
    batches = torch.utils.data.DataLoader(data, num_workers=4)  # expect: restarted-workers
    for epoch in range(epochs):
        for x in batches:
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: as many as an option says
def train_with(model, data, args):
    batches = torch.utils.data.DataLoader(data, num_workers=args.workers)  # expect: restarted-workers
    for epoch in range(args.epochs):
        for i, x in enumerate(batches):
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: with a bar
def train_shown(model, data, epochs):
    batches = torch.utils.data.DataLoader(data, num_workers=8, pin_memory=True)  # expect: restarted-workers
    for epoch in range(epochs):
        for x in tqdm(batches):
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: workers that stay
def train_on(model, data, epochs):
    batches = torch.utils.data.DataLoader(data, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        for x in batches:
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: no workers
def train_alone(model, data, epochs):
    batches = torch.utils.data.DataLoader(data, num_workers=0)
    for epoch in range(epochs):
        for x in batches:
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: no workers by default
def train_by_default(model, data, epochs):
    batches = torch.utils.data.DataLoader(data)
    for epoch in range(epochs):
        for x in batches:
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: options of a name
def train_by_options(model, data, epochs, options):
    batches = torch.utils.data.DataLoader(data, num_workers=4, **options)
    for epoch in range(epochs):
        for x in batches:
            model(x.cuda()).sum().backward()
            optimizer.step()


# case: one epoch
def train_once(model, data):
    batches = torch.utils.data.DataLoader(data, num_workers=4)
    for x in batches:
        model(x.cuda()).sum().backward()
        optimizer.step()


# case: an evaluation
def evaluate(model, data):
    batches = torch.utils.data.DataLoader(data, num_workers=4)
    for x in batches:
        total += model(x.cuda()).sum()


# case: one iterator
batches = iter(loader)
for step in range(9999):
    images, labels = next(batches)
# case: once
images, labels = next(iter(loader))
# case: of a list
for names in table:
    first = next(iter(names))
# case: of parameters
for layer in layers:
    weight = next(iter(layer.parameters()))
# case: with a default
for step in range(9999):
    images = next(iter(loader), None)
# case: a generator
for step in range(9999):
    images = next(make(step))


# ---
# case: made anew in each epoch
import torch
from torch.utils.data import DataLoader

for epoch in range(100):
    loader = DataLoader(sets[epoch], num_workers=4)
    for x in loader:
        optimizer.zero_grad()
        model(x.cuda()).mean().backward()
        optimizer.step()


# ---
# case: given to a trainer elsewhere in each epoch
import torch

loader = torch.utils.data.DataLoader(data, num_workers=4)  # expect: restarted-workers
rare = torch.utils.data.DataLoader(tests, num_workers=4)
for epoch in range(90):
    trainer.train(epoch, loader)
    if epoch % 10 == 0:
        trainer.test(epoch, rare)
# case: made anew in each epoch
for epoch in range(90):
    fresh = torch.utils.data.DataLoader(data, num_workers=4)
    trainer.train(epoch, fresh)
# case: asked for its length
sizes = torch.utils.data.DataLoader(data, num_workers=4)
for epoch in range(90):
    print(epoch, len(sizes))
