# case: workers, but pageable memory
import torch
import torch.utils.data as data

device = "cuda"
train = data.DataLoader(dataset, batch_size=64, shuffle=True, num_workers=8)  # expect: unpinned-loaders
for epoch in range(10):
    for images, labels in train:
        images, labels = images.to(device), labels.to(device)
# case: made in the head of the loop
for x in data.DataLoader(dataset, batch_size=4):  # expect: unpinned-loaders
    x = x.cuda()
# case: pinned when there is a GPU
pinned = data.DataLoader(dataset, batch_size=64, pin_memory=torch.cuda.is_available())
for x in pinned:
    x = x.to(device)
# case: moved by a collate function
collated = data.DataLoader(dataset, collate_fn=to_device)
for x in collated:
    loss = model(x)
# case: only counted
counted = data.DataLoader(dataset, batch_size=4)
print(len(counted))
# ---
# case: handed out to a trainer of Lightning
import torch
from torch.utils.data import DataLoader


class Images(Module):
    def train_dataloader(self):
        return DataLoader(self.images, batch_size=8, num_workers=4)  # expect: unpinned-loaders

    def val_dataloader(self):
        return DataLoader(self.images, batch_size=8, num_workers=4, pin_memory=True)


# case: nothing says where the batches go
def mean_of(images):
    loader = DataLoader(images, batch_size=8)
    return sum(x.sum() for x in loader)
# ---
# case: a function of another file trains
import torch
from engine import train_one_epoch

loader = torch.utils.data.DataLoader(images, batch_size=8, num_workers=4)  # expect: unpinned-loaders
model.cuda()
train_one_epoch(model, loader)
# ---
# case: batches are made on the GPU
import torch


class Rays:
    def collate(self, index):
        return self.rays[index].to(self.device)

    def dataloader(self):
        return torch.utils.data.DataLoader(self.index, collate_fn=self.collate)


# case: by the name of a function
def device_loader(images):
    return torch.utils.data.DataLoader(images, collate_fn=collate_to_gpu)
