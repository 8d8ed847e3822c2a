# case: a window
import torch
from torch import nn


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = torch.hann_window(512)  # expect: unregistered-tensors

    def forward(self, sound):
        return torch.stft(sound, 512, window=self.window.to(sound.device))


# case: anchors
class Anchors(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.anchors = torch.tensor(sizes)  # expect: unregistered-tensors

    def forward(self, x):
        return x * self.anchors.to(x.device)


# case: by cuda()
class Table(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.table = torch.arange(n).float()  # expect: unregistered-tensors

    def forward(self, x):
        return x + self.table.cuda()


# case: frequencies one by one
class Embedding(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.freqs = 2 ** torch.linspace(0, n - 1, n)  # expect: unregistered-tensors

    def forward(self, x):
        out = [x]
        for freq in self.freqs:
            out += [torch.sin(freq * x)]
        return torch.cat(out, -1)


# case: in one of two ways
class Chosen(nn.Module):
    def __init__(self, n, log):
        super().__init__()
        if log:
            self.bands = 2 ** torch.linspace(0, n, n)  # expect: unregistered-tensors
        else:
            self.bands = torch.linspace(1, n, n)

    def forward(self, x):
        return x * self.bands.to(x.device)


# case: twice
class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.FloatTensor([0.5, 0.5, 0.5])  # expect: unregistered-tensors

    def forward(self, x):
        x = x - self.mean.to(x.device)
        return x / self.mean.to(x.device)


# case: a buffer
class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(512))

    def forward(self, x):
        return x * self.window.to(x.dtype)


# case: a parameter
class Parameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale.to(x.device)


# case: made on the GPU
class There(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3, device="cuda")

    def forward(self, x):
        return x * self.scale.to(x.device)


# case: moved when it starts
class Moved(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3).cuda()

    def forward(self, x):
        return x * self.scale.to(x.device)


# case: kept when it was moved
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3)

    def forward(self, x):
        self.scale = self.scale.to(x.device)
        return x * self.scale


# case: numbers
class Numbers(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.rates = torch.linspace(0, 1, n).tolist()

    def forward(self, x):
        for rate in self.rates:
            x = x * rate
        return x


# case: layers
class Layers(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n, n) for _ in torch.arange(n)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


# case: given
class Given(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return x + self.table.to(x.device)


# case: an input
class Input(nn.Module):
    def forward(self, x):
        return x.to(self.device)


# case: not a model
class Sampler:
    def __init__(self):
        self.sigmas = torch.linspace(0, 1, 9)

    def start(self, x):
        return x * self.sigmas.to(x.device)


# case: when it is set up
class SetUp(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(9)

    def setup(self, device):
        self.table = self.table.to(device)


# case: another type
class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(9)

    def forward(self, x):
        return x * self.table.to(torch.float16)
