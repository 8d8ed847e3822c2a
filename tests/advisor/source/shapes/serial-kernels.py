# case: a cell until the end is predicted
import torch
from torch import nn


class Decoder(nn.Module):
    def forward(self, x):
        frames = []
        while len(frames) < x.size(0):  # expect: serial-kernels
            frame = self.decode(x[len(frames)])
            frames += [frame]
        return torch.stack(frames)


# case: segment after segment
class Segments(nn.Module):
    def forward(self, x, starts):
        outputs = []
        for i in range(len(starts) - 1):  # expect: serial-kernels
            y, h = self.gru(x[starts[i] : starts[i + 1]], h)
            outputs.append(y)
        return torch.cat(outputs)


# case: whole sequences
class Stacked(nn.Module):
    def forward(self, x):
        for _ in range(3):
            x, _ = self.lstm(x)
        return x


# case: a cell outside a model
def walk(cells, x):
    outputs = []
    for cell in cells:
        outputs.append(cell.decode(x))
    return outputs
