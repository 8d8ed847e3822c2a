# case: a progress bar
import torch
from tqdm import tqdm

model = torch.nn.Linear(8, 8).cuda()
bar = tqdm(loader)
for x, y in bar:
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bar.set_postfix(loss=loss.item())  # expect: synchronizing-reads
# case: a running average
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * float(loss)  # expect: synchronizing-reads
# case: a list of tensors
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
# case: every so often, by a flag
for step, (x, y) in enumerate(loader):
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    log = step % 50 == 0
    if log:
        writer.add_scalar("loss", loss.item(), step)
# case: a value of the host
for x, y in loader:
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    count = len(x)
    print(count)
