import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=8)
for step, (x, y) in enumerate(loader):
    x = x.cuda()
    loss = model(x).sum()
    print(loss.item())
    t = torch.zeros(8).to("cuda")
    torch.cuda.synchronize()
