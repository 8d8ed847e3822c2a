# case: a method
import torch
from torch import nn


class GPT(nn.Module):
    def generate(self, idx, count):
        for _ in range(count):
            idx_cond = idx if idx.size(1) <= self.block else idx[:, -self.block :]
            logits, _ = self(idx_cond)  # expect: uncached-generation
            nxt = torch.multinomial(logits[:, -1, :].softmax(-1), 1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


# case: the best token
def greedy(model, tokens, count):
    for _ in range(count):
        logits = model(tokens)  # expect: uncached-generation
        best = logits[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, best], dim=-1)
    return tokens


# case: until the end
def until_end(model, tokens, end):
    while tokens.size(1) < end:
        logits = model(tokens).logits  # expect: uncached-generation
        token = torch.argmax(logits[:, -1], dim=-1)
        tokens = torch.cat([tokens, token[:, None]], 1)
    return tokens


# case: of the best few
class Few(nn.Module):
    def sample(self, x, steps):
        for k in range(steps):
            logits = self.net(x)  # expect: uncached-generation
            _, best = torch.topk(logits[:, -1], k=1, dim=-1)
            x = torch.cat((x, best), dim=1)
        return x


# case: the last ones
def window(model, ids, block):
    for _ in range(100):
        recent = ids[:, -block:]
        out = model(recent)  # expect: uncached-generation
        drawn = torch.multinomial(out[:, -1], num_samples=1)
        ids = torch.cat((ids, drawn), dim=1)
    return ids


# case: a distribution
def drawn(model, ys, length):
    for i in range(length):
        probs = model(ys)  # expect: uncached-generation
        token = torch.distributions.Categorical(probs[:, -1]).sample()
        ys = torch.cat([ys, token.unsqueeze(1)], dim=1)
    return ys


# case: a cache
def cached(model, tokens, count):
    cache = None
    for _ in range(count):
        logits, cache = model(tokens, cache)
        tokens = torch.cat((tokens, logits.argmax(-1)), 1)
    return tokens


# case: keys of the past
def past(model, tokens, count):
    keys = None
    for _ in range(count):
        out = model(tokens, past_key_values=keys)
        keys = out.past_key_values
        nxt = out.logits[:, -1:].argmax(-1)
        tokens = torch.cat((tokens, nxt), 1)


# case: one token at a time
def single(model, tokens, hidden):
    for i in range(100):
        out, hidden = model(tokens, hidden)
        nxt = out.argmax(-1)
        tokens = torch.cat((tokens, nxt), 0)


# case: places in the cache
def placed(model, tokens, count):
    for start_pos in range(count):
        logits = model(tokens, start_pos)
        tokens = torch.cat((tokens, logits.argmax(-1)), 1)


# case: the way up of a network
class Up(nn.Module):
    def forward(self, x, parts):
        for block, part in zip(self.blocks, parts):
            x = torch.cat((x, part), dim=1)
            x = block(x)
        return x


# case: features that are joined
def joined(model, x, parts):
    for part in parts:
        y = model(x)
        x = torch.cat((x, y), 1)
    return x


# case: nothing is run
def collected(tokens, logits):
    for row in logits:
        tokens = torch.cat((tokens, row.argmax(-1, keepdim=True)))
    return tokens


# case: a library does it
def library(model, tokens):
    return model.generate(tokens, max_new_tokens=100)


# case: a list
def listed(model, tokens, count):
    words = []
    for _ in range(count):
        words.append(model(tokens).argmax(-1))
    return words


# case: another tensor grows
def other(model, x, count):
    y = torch.zeros(1, 0)
    for _ in range(count):
        y = torch.cat((y, model(x).argmax(-1)), 1)
    return y


# case: batches
def batches(model, loader):
    guesses = torch.zeros(0)
    for images in loader:
        guess = model(images).argmax(-1)
        guesses = torch.cat((guesses, guess))


# case: no loop
def once(model, tokens):
    logits = model(tokens)
    best = logits.argmax(-1)
    return torch.cat((tokens, best), 1)
