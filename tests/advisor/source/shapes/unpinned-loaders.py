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
