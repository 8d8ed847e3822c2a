# case: none
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
loader = DataLoader(images, batch_size=8)  # expect: loaders-without-workers
for x in loader:
    x = x.to(device)
# case: some
busy = DataLoader(images, batch_size=8, num_workers=4)
for x in busy:
    x = x.to(device)
# case: chosen
chosen = DataLoader(images, batch_size=8, num_workers=args.workers)
for x in chosen:
    x = x.to(device)
# case: by place
placed = DataLoader(images, 8, True, None, None, 4)
for x in placed:
    x = x.to(device)
# case: options from elsewhere
elsewhere = DataLoader(images, **options)
for x in elsewhere:
    x = x.to(device)
# case: all in memory
dense = DataLoader(TensorDataset(a, b), batch_size=8)
for x, y in dense:
    x = x.to(device)
# case: all in memory, by a name
tensors = TensorDataset(a, b)
named = DataLoader(tensors, batch_size=8)
for x, y in named:
    x = x.to(device)
# case: zero is written out
zero = DataLoader(images, num_workers=0)  # expect: loaders-without-workers
for x in zero:
    x = x.to(device)
# case: pinned, without workers
pinned = DataLoader(images, pin_memory=True)  # expect: loaders-without-workers
for x in pinned:
    x = x.cuda(non_blocking=True)
# case: never read here
unread = DataLoader(images, batch_size=8)
# case: batches stay on the host
host = DataLoader(images, batch_size=8)
for x in host:
    print(x)
# case: another library's
from other import DataLoader as Other

other = Other(images, batch_size=8)
for x in other:
    x = x.to(device)


# case: a helper makes it
def make_loader(data):
    return DataLoader(data, batch_size=8)  # expect: loaders-without-workers


def use_helper(data):
    for x in make_loader(data):
        x = x.to(device)


# case: two of a helper, by place
def make_two(data):
    first = DataLoader(data, batch_size=8, num_workers=4)
    second = DataLoader(data, batch_size=9)  # expect: loaders-without-workers
    return first, second


def use_two(data):
    first, second = make_two(data)
    for x in second:
        x = x.to(device)


# case: an attribute
class Trainer:
    def __init__(self, data):
        self.batches = DataLoader(data, batch_size=8)  # expect: loaders-without-workers

    def run(self):
        for x in self.batches:
            x = x.to(device)


# case: given to a function
def train(batches):
    for i, x in enumerate(batches):
        x = x.to(device)


train(DataLoader(images, batch_size=8))  # expect: loaders-without-workers


# case: arguments that are unpacked
def unpacked(given):
    for x in DataLoader(*given):
        x = x.to(device)


# case: no data set
def none():
    for x in DataLoader():
        x = x.to(device)
# ---
# case: on the host alone
import torch
from torch.utils.data import DataLoader

device = "cpu"
for x in DataLoader(images, batch_size=8):
    x = x.to(device)
# ---
# case: handed out to a trainer elsewhere
import torch


def train_loader(images):
    return torch.utils.data.DataLoader(images, batch_size=8)  # expect: loaders-without-workers


# case: handed out with workers
def eval_loader(images):
    return torch.utils.data.DataLoader(images, batch_size=8, num_workers=2)


# case: not handed out
def statistics_of(images):
    return sum(x.sum() for x in torch.utils.data.DataLoader(images, batch_size=8))
# ---
# case: a data set is indexed
import torch

for i in tqdm(range(len(dataset))):
    sample = dataset[i]  # expect: loaders-without-workers
    out = model(sample["image"].cuda())


# case: a list of tensors is indexed
for i in range(len(tensors)):
    x = tensors[i]
    out = model(x.cuda())


# case: nothing is moved
for i in range(len(dataset)):
    sample = dataset[i]
    print(sample)


# ---
# case: one worker
import torch
from torch.utils.data import DataLoader
from transformers import TrainingArguments

one = DataLoader(pictures, batch_size=64, num_workers=1)  # expect: loaders-without-workers
for x in one:
    x = x.cuda()


# case: no workers, by the default of a parameter
def without(pictures, workers=0):
    loader = DataLoader(pictures, batch_size=64, num_workers=workers)  # expect: loaders-without-workers
    for x in loader:
        x = x.cuda()


# case: no workers, by the default of an option
parser.add_argument("--num-workers", type=int, default=0)
asked = DataLoader(pictures, batch_size=64, num_workers=args.num_workers)  # expect: loaders-without-workers
for x in asked:
    x = x.cuda()


# case: workers by the default of an option
parser.add_argument("--threads", type=int, default=8)
given = DataLoader(pictures, batch_size=64, num_workers=args.threads)
for x in given:
    x = x.cuda()


# case: a trainer of Transformers
TrainingArguments(output_dir="out", bf16=True)  # expect: loaders-without-workers


# case: a trainer with workers
TrainingArguments(output_dir="out", dataloader_num_workers=4)


# ---
# case: batches that are split once more
import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=64)  # expect: loaders-without-workers
for batches in loader:
    for batch in batches:
        optimizer.zero_grad()
        model(to_device(batch, torch.device("cuda"))).mean().backward()
        optimizer.step()
# ---
# case: batches for a trainer elsewhere
import torch
from torch.utils.data import DataLoader


def load_data(images, batch_size):
    loader = DataLoader(images, batch_size=batch_size, num_workers=1)  # expect: loaders-without-workers
    while True:
        yield from loader
