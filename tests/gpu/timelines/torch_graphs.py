"""PyTorch programs of the kinds of KernelBench, each timed eager and as a CUDA graph, and recorded.

``torch_graphs.py FOLDER`` writes the profiler's trace of 20 calls of each, and to FOLDER/seconds.ndjson
the seconds of a call: in a loop, and alone (``_alone``) between two events. The graph is replayed as it
is (``graph``), and with its inputs copied into its buffers and its output out of them (``copied``).
Without a GPU sizes are tiny and no graph is made: a trial of the programs.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TEST = DEVICE == "cpu"  # tiny sizes, no graphs
BEGAN = time.monotonic()
LIMIT = float(os.environ.get("LIMIT", "225"))


def big(size):
    return max(2, size // 64) if TEST else size


def on(module):
    return module.to(DEVICE).eval()


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).split(width, -1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in (q, k, v))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        seen = scores.softmax(-1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Bottleneck(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outer)
        self.aside = nn.Conv2d(inner, outer, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(y)) + self.aside(x))


def resnet():
    blocks = [nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = 32
    for outer, stride in (
        (32, 1),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
    ):
        blocks.append(Bottleneck(width, outer, stride))
        width = outer
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 100))


def lenet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 120),
        nn.ReLU(),
        nn.Linear(120, 10),
    )


def mlp(width, layers, end=10):
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, end))


def squeeze_net():
    parts = [nn.Conv2d(16, 32, 1), nn.Hardswish()]
    for _ in range(10):
        parts += [
            nn.Conv2d(32, 64, 1),
            nn.BatchNorm2d(64),
            nn.Hardswish(),
            nn.Conv2d(64, 64, 3, 1, 1, groups=64),
            nn.BatchNorm2d(64),
            nn.Hardswish(),
            nn.Conv2d(64, 32, 1),
            nn.BatchNorm2d(32),
        ]
    return nn.Sequential(*parts)


def chain(x):
    y = x * 1.5 + 0.25
    y = torch.tanh(y) - x
    y = y.abs().sqrt() * torch.sigmoid(x)
    y = torch.where(y > 0.5, y, x)
    return (y * y + x).clamp(-1, 4) / 3


def cells(hidden, steps):
    cell, start = on(nn.RNNCell(hidden, hidden)), torch.zeros(8, hidden, device=DEVICE)

    def run(x):
        state, states = start, []
        for at in range(steps):
            state = cell(x[at], state)
            states.append(state)
        return torch.stack(states)

    return run


def scan(steps):
    def run(x, decay):
        state, rows = torch.zeros_like(x[:, 0]), []
        for at in range(steps):
            state = state * decay[:, at] + x[:, at]
            rows.append(state.sum(-1))
        return torch.stack(rows, 1)

    return run


def heads(x, w):
    return torch.cat([F.softmax(x @ part, -1) for part in w.unbind(0)], -1)


def hinge(x, y):
    return torch.mean(torch.clamp(1 - x * y, min=0))


def averages(layers, width):
    slow = [rand(width, width) for _ in range(layers)]

    def run(*fast):
        for one, other in zip(slow, fast, strict=True):
            one.mul_(0.99).add_(other, alpha=0.01)
        return slow[0][:1]

    return run, tuple(rand(width, width) for _ in range(layers))


def accumulator(size):
    total = rand(size)

    def run(x):
        total.mul_(0.9)
        total.add_(x)
        total.clamp_(-5, 5)
        return total[:1]

    return run


def training(width, layers, batch, foreach=True):
    model = mlp(width, layers).to(DEVICE).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=foreach)

    def run(x, y):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return run, (rand(batch, width), torch.randint(10, (batch,), device=DEVICE))


def inference(module):
    module = on(module)

    def run(*inputs):
        with torch.no_grad():
            return module(*inputs)

    return run


def item(value):
    return value.float().mean().item()


def to_host(value):
    return value.cpu()


def pause(value):
    """Work of the host of its own between two calls."""
    end = time.perf_counter() + 0.4e-3
    while time.perf_counter() < end:
        pass


def programs():
    half = torch.bfloat16
    yield "matmul_256", lambda: (torch.matmul, (rand(256, 256), rand(256, 256)))
    yield (
        "matmul_2048",
        lambda: (torch.matmul, (rand(big(2048), big(2048)), rand(big(2048), big(2048)))),
    )
    yield (
        "matmul_bf16_8192",
        lambda: (
            torch.matmul,
            (rand(big(8192), big(8192), dtype=half), rand(big(8192), big(8192), dtype=half)),
        ),
    )
    yield "batched_matmul", lambda: (torch.bmm, (rand(64, 128, 256), rand(64, 256, 128)))
    yield "relu_1mb", lambda: (torch.relu, (rand(16, 16384),))
    yield "relu_1gb", lambda: (torch.relu, (rand(big(16384), 16384),))
    yield "add_two_512mb", lambda: (torch.add, (rand(big(8192), 16384), rand(big(8192), 16384)))
    yield "softmax_rows", lambda: (lambda x: torch.softmax(x, 1), (rand(16, 16384),))
    yield "softmax_large", lambda: (lambda x: torch.softmax(x, 1), (rand(big(4096), 32768),))
    yield "cumsum_large", lambda: (lambda x: torch.cumsum(x, 1), (rand(big(4096), 16384),))
    yield "layer_norm_64mb", lambda: (inference(nn.LayerNorm(1024)), (rand(big(16384), 1024),))
    yield "conv2d_one", lambda: (inference(nn.Conv2d(32, 64, 3)), (rand(16, 32, 64, 64),))
    yield "conv3d_one", lambda: (inference(nn.Conv3d(16, 32, 3)), (rand(8, 16, 24, 48, 48),))
    yield "hinge_loss", lambda: (hinge, (rand(128, 64), rand(128, 64)))
    yield (
        "triplet_margin",
        lambda: (nn.TripletMarginLoss(), (rand(128, 4096), rand(128, 4096), rand(128, 4096))),
    )
    yield (
        "gemm_scale_relu",
        lambda: (
            inference(nn.Sequential(nn.Linear(1024, 512), nn.Hardtanh(), nn.LeakyReLU())),
            (rand(128, 1024),),
        ),
    )
    yield "chain_1mb", lambda: (chain, (rand(256, 1024),))
    yield "chain_256mb", lambda: (chain, (rand(big(65536), 1024),))
    yield (
        "conv_norm_chain",
        lambda: (
            inference(
                nn.Sequential(
                    nn.Conv2d(3, 16, 3),
                    nn.GroupNorm(8, 16),
                    nn.Tanh(),
                    nn.Hardswish(),
                    nn.Conv2d(16, 16, 1),
                    nn.GELU(),
                )
            ),
            (rand(128, 3, 32, 32),),
        ),
    )
    yield "heads_of_products", lambda: (heads, (rand(128, 256), rand(16, 256, 64)))
    yield "mlp_batch_8", lambda: (inference(mlp(512, 6)), (rand(8, 512),))
    yield "mlp_batch_8192", lambda: (inference(mlp(big(4096), 6)), (rand(big(8192), big(4096)),))
    yield "lenet_batch_64", lambda: (inference(lenet()), (rand(64, 3, 32, 32),))
    yield "residual_batch_4", lambda: (inference(resnet()), (rand(4, 3, 128, 128),))
    yield "residual_batch_256", lambda: (inference(resnet()), (rand(big(256), 3, 128, 128),))
    yield "mobile_batch_32", lambda: (inference(squeeze_net()), (rand(32, 16, 28, 28),))
    yield (
        "attention_64",
        lambda: (
            inference(nn.Sequential(*[Attention(256, 8) for _ in range(4)])),
            (rand(4, 64, 256),),
        ),
    )
    yield (
        "attention_1024",
        lambda: (
            inference(nn.Sequential(*[Attention(768, 12) for _ in range(4)])),
            (rand(16, big(1024), 768),),
        ),
    )
    yield "rnn_cells_48", lambda: (inference_of(cells(256, 48)), (rand(48, 8, 256),))
    yield "lstm_layer", lambda: (inference(Lstm(256, 2)), (rand(64, 16, 256),))
    yield (
        "state_scan_64",
        lambda: (scan(64), (rand(16, 64, 512), torch.rand(16, 64, 512, device=DEVICE))),
    )
    yield "moving_averages", lambda: averages(24, 256)
    yield "in_place_256mb", lambda: (accumulator(big(1 << 26)), (rand(big(1 << 26)),))
    yield "training_small", lambda: training(256, 4, 64)
    yield "training_large", lambda: training(big(4096), 4, big(4096))
    yield "mlp_item_each", lambda: (inference(mlp(512, 6)), (rand(8, 512),), item)
    yield "lenet_read_back_each", lambda: (inference(lenet()), (rand(64, 3, 32, 32),), to_host)
    yield "mlp_host_pause", lambda: (inference(mlp(512, 6)), (rand(8, 512),), pause)
    yield "residual_item_each", lambda: (inference(resnet()), (rand(big(128), 3, 128, 128),), item)


class Lstm(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.lstm = nn.LSTM(width, width, layers)

    def forward(self, x):
        return self.lstm(x)[0]


def inference_of(function):
    def run(*inputs):
        with torch.no_grad():
            return function(*inputs)

    return run


def wait():
    if not TEST:
        torch.cuda.synchronize()


def capture(run, inputs):
    """Return the graph of *run*, the buffers it reads and the one it writes."""
    static = tuple(x.clone() for x in inputs)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run(*static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run(*static)
    return graph, static, out


def forms(run, inputs, after):
    """Yield each form of a program: its name and one call of it."""

    def eager():
        return after(run(*inputs))

    yield "eager", eager
    if TEST:
        return
    graph, static, out = capture(run, inputs)

    def replayed():
        graph.replay()
        return after(out)

    def copied():
        for buffer, given in zip(static, inputs, strict=True):
            buffer.copy_(given)
        graph.replay()
        return after(out.clone())

    yield "graph", replayed
    yield "copied", copied


def loop_seconds(call):
    """Return the seconds of a call in a loop that waits at its end, the median of five loops."""
    for _ in range(3):
        call()
    wait()
    began = time.perf_counter()
    for _ in range(5):
        call()
    wait()
    count = max(10, min(300, int(0.06 / ((time.perf_counter() - began) / 5))))
    if TEST:
        count = 2
    times = []
    for _ in range(5):
        wait()
        began = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        times.append((time.perf_counter() - began) / count)
    return statistics.median(times)


def alone_seconds(call):
    """Return the seconds of a call that the GPU is idle before, between two events: the median of 25."""
    if TEST:
        return None
    times = []
    for _ in range(25):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def record(call, path, steps=20):
    activities = [ProfilerActivity.CPU] + ([] if TEST else [ProfilerActivity.CUDA])
    with profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=3, active=steps, repeat=1),
        on_trace_ready=lambda ended: ended.export_chrome_trace(path),
    ) as profiler:
        for at in range(steps + 3):
            call()
            if at == steps + 2:
                wait()
            profiler.step()


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    with open(os.path.join(folder, "seconds.ndjson"), "a") as rows:
        for name, make in programs():
            if time.monotonic() - BEGAN > LIMIT:
                print("left out", name)
                continue
            row = {"case": name}
            try:
                run, inputs, *rest = make()
                after = rest[0] if rest else (lambda value: value)
                row["input_bytes"] = sum(x.numel() * x.element_size() for x in inputs)
                for form, call in forms(run, inputs, after):
                    row[form] = loop_seconds(call)
                    row[f"{form}_alone"] = alone_seconds(call)
                    if form != "graph":
                        record(call, os.path.join(folder, f"{name}-{form}.json.gz"))
            except Exception as error:  # the next program still runs
                row["error"] = f"{type(error).__name__}: {error}"[:200]
                wait()
            print(round(time.monotonic() - BEGAN, 1), json.dumps(row), flush=True)
            rows.write(json.dumps(row) + "\n")
            rows.flush()
            run = inputs = call = None
            if not TEST:
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1])
