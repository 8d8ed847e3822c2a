# case: a loader without pinned memory whose batches go to the GPU
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(data, batch_size=8)  # expect: unpinned-loaders
for x, y in loader:
    x = x.to(device)
# case: pinned
pinned = DataLoader(data, batch_size=8, pin_memory=True)
for x, y in pinned:
    x = x.to(device)
# case: chosen by a variable
chosen = DataLoader(data, batch_size=8, pin_memory=use_cuda)
for x, y in chosen:
    x = x.to(device)
# case: options from elsewhere
elsewhere = DataLoader(data, **options)
for x, y in elsewhere:
    x = x.to(device)
# case: explicitly not pinned
unpinned = torch.utils.data.DataLoader(data, pin_memory=False)  # expect: unpinned-loaders
for batch in unpinned:
    batch["image"].cuda()
# case: batches stay on the host
host = DataLoader(data, batch_size=8)
for x, y in host:
    print(x.mean())
# case: never iterated here
unused = DataLoader(data, batch_size=8)
# case: another library's loader
from other import DataLoader as Other

other = Other(data)
for x, y in other:
    x = x.to(device)
# case: enumerated
enumerated = DataLoader(data, shuffle=True)  # expect: unpinned-loaders
for i, (x, y) in enumerate(enumerated):
    y = y.cuda()
# case: moved to the host
back = DataLoader(data, shuffle=True)
for x, y in back:
    x = x.to("cpu")
# case: another tensor is moved
foreign = DataLoader(data, shuffle=True)
for x, y in foreign:
    z = z.to(device)


# case: a dtype is no device
def run():
    typed = DataLoader(data, shuffle=True)
    for x, y in typed:
        x = x.to(torch.float32)


# case: an attribute holds the loader
class Trainer:
    def __init__(self):
        self.batches = DataLoader(data, num_workers=4)  # expect: unpinned-loaders

    def fit(self):
        for x, y in self.batches:
            x = x.to("cuda:0")


# ---
# case: one batch, once
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64)
batch = next(iter(loader))
guess = model(batch.to("cuda"))
