# case: several devices, one per process
import torch
from torch.utils.data import DataLoader

rank = 0
device = torch.device(f"cuda:{rank}")
loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
for epoch in range(3):
    for images, labels in loader:
        images = images.to(device)  # expect: blocking-moves
        labels = labels.to(device)
# case: a dictionary of tensors, by a comprehension
for batch in loader:
    batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
# case: moved with a type, by keyword
for images, labels in loader:
    images = images.to(device=device, dtype=torch.float16)  # expect: blocking-moves
# case: a helper moves it
for batch in loader:
    batch = move_to(batch, device)


# case: in a method
class Trainer:
    def fit(self):
        for step, (images, labels) in enumerate(loader):
            labels = labels.cuda(non_blocking=True)
            self.step(images, labels)


# ---
# case: a helper is given the batch
import torch


def unpack(batch, device):
    images = batch["images"].to(device)  # expect: blocking-moves
    return images, batch["labels"].to(device, non_blocking=True)


# case: a trainer of Lightning has moved it
class Net(LightningModule):
    def shared_step(self, batch):
        return self(batch.to(self.device))


# case: another word for a loader
def fit(train_iter, trainloader):
    for x in train_iter:
        x = x.cuda()  # expect: blocking-moves
    for x in trainloader:
        x = x.cuda()  # expect: blocking-moves
