"""Loops of a PyTorch program with a common fault, each beside its repair: timed, then profiled.

``torch_loops.py FOLDER [CASE...]`` writes CASE.json (the profiler's Chrome trace of a few steps)
for each case and adds a line to FOLDER/seconds.ndjson: the seconds of one step without a profiler.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

CASES = {}
STEPS = 5


def case(stacks=False, memory=False, steps=STEPS):
    """Register a function that prepares a loop and returns what one step calls."""

    def register(build):
        CASES[build.__name__] = (build, {"stacks": stacks, "memory": memory, "steps": steps})
        return build

    return register


def perceptron(width=1024, depth=4):
    """Return a stack of dense layers on the GPU."""
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers).cuda()


def training(model, **options):
    """Return a function that takes one training step on a batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, **options)

    def step(batch):
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


class Signals(Dataset):
    """Noise that is read sample by sample."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return numpy.full(1024, index % 251, dtype=numpy.float32)


def slow_collate(samples):
    """Return a batch, each sample normalised by itself in numpy."""
    batch = []
    for sample in samples:
        values = sample + numpy.sin(sample)
        batch.append((values - values.mean()) / (values.std() + 1e-6))
    return torch.from_numpy(numpy.stack(batch))


def loader(**options):
    """Return a step that takes its batch from a loader whose collate_fn is slow."""
    batches = iter(DataLoader(Signals(), batch_size=96, collate_fn=slow_collate, **options))
    train = training(perceptron())
    return lambda: train(next(batches).to("cuda", non_blocking=True))


@case(stacks=True, steps=2)
def loader_slow_collate():
    return loader(num_workers=0)


@case(stacks=True, steps=2)
def loader_workers():
    return loader(num_workers=6, pin_memory=True, persistent_workers=True)


def resized_on_host(images):
    """Return images of half the size, made by numpy."""
    return (
        images[:, :, ::2, ::2] + images[:, :, 1::2, ::2] + images[:, :, ::2, 1::2]
    ) * numpy.float32(1 / 3)


def convolutions():
    """Return a small network of convolutions on the GPU."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()
    ).cuda()


@case(stacks=True, steps=3)
def resize_on_host():
    images = numpy.random.default_rng(0).random((16, 3, 448, 448), dtype=numpy.float32)
    train = training(convolutions())
    return lambda: train(torch.from_numpy(resized_on_host(images)).to("cuda"))


@case(stacks=True, steps=3)
def resize_on_gpu():
    images = torch.rand(16, 3, 448, 448, pin_memory=True)
    train = training(convolutions())

    def step():
        large = images.to("cuda", non_blocking=True)
        train(nn.functional.avg_pool2d(large, 2))

    return step


@case(stacks=True, steps=2)
def loss_item_each_batch():
    train, batch = training(perceptron(512, 3)), torch.rand(128, 512, device="cuda")

    def step():
        total = 0.0
        for _ in range(8):
            total += train(batch).item()
        return total

    return step


@case(stacks=True, steps=2)
def loss_item_once():
    train, batch = training(perceptron(512, 3)), torch.rand(128, 512, device="cuda")

    def step():
        total = torch.zeros((), device="cuda")
        for _ in range(8):
            total += train(batch).detach()
        return total.item()

    return step


def decoding():
    """Return a small network at batch size 1, and its input."""
    layer = nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True, device="cuda")
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).half().eval()
    return model, torch.rand(1, 16, 512, device="cuda", dtype=torch.half)


@case()
def decode_eager():
    model, token = decoding()

    @torch.no_grad()
    def step():
        model(token)

    return step


@case()
def decode_graph():
    model, token = decoding()
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            model(token)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(token)
    return graph.replay


def many_parameters(**options):
    """Return a step of AdamW over many small layers."""
    model = perceptron(256, 24)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)
    batch = torch.rand(64, 256, device="cuda")

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@case(steps=2)
def adamw_loop():
    return many_parameters(foreach=False, fused=False)


@case(steps=2)
def adamw_fused():
    return many_parameters(fused=True)


def attention(fused):
    """Return a step of attention over 2,048 tokens."""
    shape = (4, 16, 2048, 64)
    query, key, value = (
        torch.rand(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in "qkv"
    )

    def step():
        if fused:
            out = nn.functional.scaled_dot_product_attention(query, key, value)
        else:
            weights = (query @ key.transpose(-2, -1) / 8.0).softmax(dim=-1)
            out = weights @ value
        out.sum().backward()

    return step


@case()
def attention_plain():
    return attention(False)


@case()
def attention_fused():
    return attention(True)


def normalised(fused):
    """Return a step of root-mean-square norms and gates over a large activation."""
    values = torch.rand(16384, 4096, device="cuda", dtype=torch.bfloat16)
    gate, weight = torch.rand_like(values), torch.rand(4096, device="cuda", dtype=torch.bfloat16)

    def compute(x):
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
        x = (x.float() * scale).to(torch.bfloat16) * weight
        return x * torch.sigmoid(gate) + gate

    call = torch.compile(compute) if fused else compute

    @torch.no_grad()
    def step():
        call(values)

    return step


@case()
def norm_eager():
    return normalised(False)


@case()
def norm_compiled():
    return normalised(True)


def kept_losses(detached):
    """Return a step that keeps its loss for later."""
    model, kept = perceptron(1024, 4), []
    batch = torch.rand(1024, 1024, device="cuda")

    def step():
        loss = model(batch).square().mean()
        kept.append(loss.detach() if detached else loss)

    return step


@case(memory=True)
def losses_kept():
    return kept_losses(False)


@case(memory=True)
def losses_detached():
    return kept_losses(True)


def checkpointed(every):
    """Return a step that saves the model now and then."""
    model = perceptron(2048, 6)
    train, batch, count = training(model), torch.rand(1024, 2048, device="cuda"), [0]

    def save_checkpoint():
        torch.save(model.state_dict(), "/dev/shm/checkpoint.pt")

    def step():
        train(batch)
        count[0] += 1
        if count[0] % every == 0:
            save_checkpoint()

    return step


@case(stacks=True, steps=4)
def checkpoint_each_second_step():
    return checkpointed(2)


@case(stacks=True, steps=4)
def checkpoint_seldom():
    return checkpointed(10_000)


def language_model():
    """Return a small decoder of random weights, whose first passes are behind it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=4,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=2048,
    )
    return LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()


@case(steps=3)
def generate():
    """A prompt of 1,024 tokens for each of 4 requests, and 12 tokens more, one after another."""
    model = language_model()
    prompt = torch.randint(0, 32000, (4, 1024), device="cuda")
    mask = torch.ones_like(prompt)

    @torch.inference_mode()
    def step():
        model.generate(
            prompt, attention_mask=mask, max_new_tokens=12, do_sample=False, pad_token_id=0
        )

    return step


class Block(nn.Module):
    """A layer of a decoder with keys and values in fixed places, as graphs need them."""

    def __init__(self, width=2048, heads=16, longest=1088):
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.norm = nn.LayerNorm(width)
        shape = (4, heads, longest, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x, places, mask):
        batch, length, width = x.shape
        parts = self.attend(self.norm(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, places, key)
        self.values.index_copy_(2, places, value)
        seen = nn.functional.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=mask
        )
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


@case(steps=3)
def generate_graph():
    """The same in a decoder of our own, whose single tokens are a graph."""
    blocks = nn.ModuleList(Block() for _ in range(4)).to("cuda", torch.bfloat16).eval()
    head = nn.Linear(2048, 32000, bias=False).to("cuda", torch.bfloat16)
    prompt = torch.randn(4, 1024, 2048, device="cuda", dtype=torch.bfloat16)
    places = torch.arange(1088, device="cuda")
    token, place = prompt[:, -1:].clone(), torch.tensor([1024], device="cuda")

    def passes(x, at):
        mask = places[None, :] <= at[:, None]
        for block in blocks:
            x = block(x, at, mask)
        return head(x[:, -1:]).argmax(-1)

    with torch.inference_mode():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            passes(token, place)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            passes(token, place)

    @torch.inference_mode()
    def step():
        passes(prompt, places[:1024])
        place.fill_(1024)
        for _ in range(12):
            graph.replay()
            place.add_(1)
        torch.cuda.synchronize()

    return step


def timed(step, steps):
    """Return the seconds of one step, of *steps* run together."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps


def record(name, folder):
    """Time a loop, profile a few of its steps, and return its line."""
    build, options = CASES[name]
    step = build()
    timed(step, 4)
    seconds = [timed(step, 10) for _ in range(5)]
    active = options["steps"]
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=2, active=active, repeat=1),
        record_shapes=True,
        profile_memory=options["memory"],
        with_stack=options["stacks"],
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(folder / f"{name}.json")),
    ) as profiler:
        for _ in range(active + 2):
            step()
            torch.cuda.synchronize() if profiler.step_num == active + 1 else None
            profiler.step()
    return {"case": name, "seconds": seconds, "median": statistics.median(seconds), "steps": active}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):  # its start-up cost
        torch.zeros(1, device="cuda").add_(1)
        torch.cuda.synchronize()
    with (folder / "seconds.ndjson").open("a") as log:
        for name in sys.argv[2:] or list(CASES):
            begin = time.perf_counter()
            try:
                line = record(name, folder)
            except Exception as error:
                line = {"case": name, "error": f"{type(error).__name__}: {error}"[:300]}
            log.write(json.dumps(line) + "\n")
            log.flush()
            print(
                f"{name}: {time.perf_counter() - begin:.1f} s",
                line.get("median"),
                line.get("error", ""),
                flush=True,
            )
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
