# case: grown by a batch in each round
import torch

device = torch.device("cuda")
model = torch.nn.Linear(8, 8).to(device)
outputs = torch.empty(0, device=device)
for x in batches:
    outputs = torch.cat([outputs, model(x)])  # expect: growing-tensors
# case: at its front
for x in batches:
    outputs = torch.cat((model(x), outputs), dim=0)  # expect: growing-tensors
# case: a list, joined once
parts = []
for x in batches:
    parts.append(model(x))
outputs = torch.cat(parts)
# case: two others
for x in batches:
    y = torch.cat([x, x])
# case: under another name
for x in batches:
    longer = torch.cat([outputs, x])
# case: outside a loop
outputs = torch.cat([outputs, x])
# case: few rounds
for i in range(3):
    outputs = torch.cat([outputs, x])
# case: a list of a name
for x in batches:
    outputs = torch.cat(parts)
# case: made anew in each round
for x in batches:
    y = model(x)
    y = torch.cat([y, x])


# case: an attribute
class Memory:
    def read(self, batches):
        for x in batches:
            self.bank = torch.cat([self.bank, x])  # expect: growing-tensors


# case: tokens
def generate(tokens):
    while len(tokens) < 99:
        chosen = model(tokens)
        tokens = torch.cat([tokens, chosen])  # expect: growing-tensors


# case: below a condition
def below(batches, kept):
    for x in batches:
        if x is not None:
            kept = torch.cat([kept, x])  # expect: growing-tensors


# case: upright
def upright(batches, rows):
    for x in batches:
        rows = torch.vstack([rows, x])  # expect: growing-tensors


# case: the name of the loop
def of_loop(batches):
    for x in batches:
        x = torch.cat([x, x])


# case: skips of a network
class Decoder(torch.nn.Module):
    def forward(self, x, skips):
        for up, skip in zip(self.ups, skips):
            x = up(x)
            x = torch.cat([x, skip])
        return x


# case: of NumPy
def of_numpy(batches, rows):
    import numpy

    for x in batches:
        rows = numpy.concatenate([rows, x])


# case: a stack
def stacked(batches):
    for x in batches:
        y = torch.stack([x, x])


# case: once in each epoch
def epochs(history):
    for epoch in range(90):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
        history = torch.cat([history, loss.detach()[None]])


# case: two targets
def two(batches, a):
    for x in batches:
        a = b = torch.cat([a, x])


# case: no list
def no_list(batches, a):
    for x in batches:
        a = torch.cat(list((a, x)))


# case: tokens of a model, beside which the copy is nothing
class Generator(torch.nn.Module):
    def generate(self, tokens):
        for _ in range(99):
            logits = self(tokens)
            tokens = torch.cat((tokens, torch.multinomial(logits, 1)), dim=1)
        return tokens
# case: doubled in each round
def powers(a, x, n):
    while x.size(-1) < n:
        more = x
        more = a @ more
        x = torch.cat([x, more], dim=-1)


# ---
# case: as much room again when it is full
import torch

for part in parts:
    if filled + len(part) > len(room):
        room = torch.cat((room, torch.zeros_like(room)), 0)
    room[filled : filled + len(part)] = part.cuda()
