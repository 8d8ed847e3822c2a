# case: a flip
import numpy as np
import torch


def flip(x):
    mirrored = x.detach().cpu().numpy()[..., ::-1].copy()  # expect: numpy-round-trips
    return torch.from_numpy(mirrored).to(x.device)


# case: names behind names
def search(scores):
    device = scores.device
    values = scores.data.cpu().numpy().astype(np.float32)  # expect: numpy-round-trips
    path = np.zeros(values.shape)
    found = walk(values, path)
    return torch.from_numpy(found).to(device=device, dtype=torch.float32)


# case: in one line
def turned(x):
    return torch.from_numpy(np.rot90(x.cpu().numpy()).copy()).cuda()  # expect: numpy-round-trips


# case: with a device
def sorted_rows(x, device):
    rows = np.sort(x.cpu().numpy())  # expect: numpy-round-trips
    return torch.tensor(rows, device=device)


# case: in each round
def evaluate(model, loader):
    for images in loader:
        out = model(images.cuda())
        mirrored = np.copy(images.cuda().cpu().numpy()[..., ::-1])  # expect: numpy-round-trips
        out = out + model(torch.from_numpy(mirrored).float().cuda())


# case: in a model
class Layer(torch.nn.Module):
    def forward(self, x):
        order = x.norm(dim=1).cpu().numpy().argsort()  # expect: numpy-round-trips
        return x[torch.from_numpy(order).to(x.device)]


# case: to the host alone
def shown(x):
    return x.cpu().numpy()[..., ::-1].copy()


# case: from the host alone
def loaded(rows, device):
    return torch.from_numpy(np.sort(rows)).to(device)


# case: back into a tensor of the host
def kept(x):
    return torch.from_numpy(np.sort(x.cpu().numpy()))


# case: back into a type
def typed(x):
    return torch.from_numpy(np.sort(x.cpu().numpy())).to(torch.float16)


# case: to the host by name
def stored(x):
    return torch.from_numpy(np.sort(x.cpu().numpy())).to("cpu")


# case: a tensor of the host
def of_host(x, device):
    return torch.from_numpy(np.sort(x.numpy())).to(device)


# case: what sets up
def build_tables(x, device):
    return torch.from_numpy(np.sort(x.cpu().numpy())).to(device)


# case: another array
def beside(x, rows, device):
    print(x.cpu().numpy())
    return torch.from_numpy(rows).to(device)


# case: an array that is made behind it
def behind(x, device):
    y = torch.from_numpy(rows).to(device)
    rows = x.cpu().numpy()
    return y


# case: at the top
table = torch.from_numpy(np.sort(start.cpu().numpy())).to("cuda")


# case: on the GPU
def on_gpu(x):
    return torch.flip(x, dims=[-1])


# case: a function of another file
def elsewhere(x, device):
    return torch.from_numpy(flipped(x)).to(device)
