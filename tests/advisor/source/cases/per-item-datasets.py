# case: rays of pictures
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Rays(Dataset):
    def __init__(self, parts):
        self.rays = torch.cat(parts)

    def __len__(self):
        return len(self.rays)

    def __getitem__(self, index):
        return self.rays[index]  # expect: per-item-datasets


# case: pairs
class Pairs(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x = torch.from_numpy(x)
        self.y = torch.from_numpy(y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]  # expect: per-item-datasets


# case: a dictionary, in a branch
class Named(Dataset):
    def __init__(self, parts):
        self.all_rays = torch.cat(parts, 0)

    def __getitem__(self, idx):
        if self.split == "train":
            sample = {"rays": self.all_rays[idx]}  # expect: per-item-datasets
        else:
            sample = {"rays": load(self.paths[idx])}
        return sample


# case: numbers that became a tensor
class Numbers(Dataset):
    def __init__(self, rows):
        self.rows = torch.tensor(rows)

    def __getitem__(self, index):
        row = self.rows[index]  # expect: per-item-datasets
        return row


# case: a loader over tensors
model = Model().cuda()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)  # expect: per-item-datasets
for a, b in loader:
    loss = model(a.cuda()).mean()
    loss.backward()
    optimizer.step()

# case: by a name
data = TensorDataset(images, labels)
batches = DataLoader(data, batch_size=256)  # expect: per-item-datasets
for a, b in batches:
    loss = model(a.cuda()).mean()
    loss.backward()
    optimizer.step()


# case: pictures of files
class Files(Dataset):
    def __getitem__(self, index):
        return load(self.paths[index])


# case: with a transform
class Transformed(Dataset):
    def __init__(self, images):
        self.images = torch.stack(images)

    def __getitem__(self, index):
        return self.transform(self.images[index])


# case: a list
class Listed(Dataset):
    def __init__(self, rows):
        self.rows = list(rows)

    def __getitem__(self, index):
        return self.rows[index]


# case: not a data set
class Store:
    def __init__(self, parts):
        self.rays = torch.cat(parts)

    def __getitem__(self, index):
        return self.rays[index]


# case: windows
class Windows(Dataset):
    def __init__(self, tokens):
        self.tokens = torch.tensor(tokens)

    def __getitem__(self, index):
        return self.tokens[index : index + 128]


# case: whole batches
for part in TensorDataset(torch.zeros(9)):
    print(part)


# case: batches sliced
slices = DataLoader(TensorDataset(x), batch_size=None)
for (a,) in slices:
    loss = model(a.cuda()).mean()
    loss.backward()
    optimizer.step()


# case: on the host
def host(x):
    return DataLoader(TensorDataset(x), batch_size=64)


# case: another set
others = DataLoader(Files(), batch_size=64)
for a in others:
    loss = model(a.cuda()).mean()
    loss.backward()
    optimizer.step()


# case: arrays
class Arrays(Dataset):
    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return self.array[index]


# case: joined with others
class Joined(Dataset):
    def __init__(self, parts):
        self.parts = torch.cat(parts)

    def __getitem__(self, index):
        return torch.cat([self.parts[index], self.other(index)])


# case: a row of another
class Mapped(Dataset):
    def __init__(self, parts):
        self.parts = torch.cat(parts)

    def __getitem__(self, index):
        return self.parts[self.order[index]]


# case: no index
class Iterated(Dataset):
    def __init__(self, parts):
        self.parts = torch.cat(parts)

    def __iter__(self):
        return iter(self.parts)
