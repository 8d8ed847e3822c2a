"""``lint --runtime`` on PyTorch with a GPU: which lines wait, how often, and that the program stays as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gpu

TRAINING = """\
import sys
import warnings
import torch

warnings.simplefilter("error")
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [torch.rand(32, 64, device="cuda") for _ in range(10)]

def step(batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss

kept = torch.zeros((), device="cuda")
for batch in data:
    loss = step(batch)
    kept += loss.detach()
    value = loss.item()
    picked = batch[batch > 0.5]
    flag = bool(loss > 1e9)
    there = torch.rand(8).pin_memory().to("cuda", non_blocking=True)
host = kept.cpu()  # gpuadvise: ignore[synchronizing-reads] once, at the end
torch.cuda.synchronize()
print("trained", value == value)
sys.exit(6)
"""
TEN_WAITS = {"value = loss.item()", "picked = batch[batch > 0.5]", "flag = bool(loss > 1e9)"}


def test_each_wait_is_counted_at_its_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program, saved = tmp_path / "train.py", tmp_path / "waits.json"
    program.write_text(TRAINING)
    line = [sys.executable, "-m", "gpuadvise", "lint", "--runtime", "--format", "json"]
    done = subprocess.run(
        [*line, "--output", str(saved), "--", sys.executable, str(program)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    print(done.stderr)
    assert (done.returncode, done.stdout) == (6, "trained True\n")
    assert "synchronizing CUDA operation" not in done.stderr
    answer = json.loads(saved.read_text())
    said = {f["evidence"][0]["value"]: f for f in answer["findings"]}
    print(*(f"{text}: {f['priority']}: {f['message']}" for text, f in said.items()), sep="\n")
    assert said.keys() >= TEN_WAITS
    for text in TEN_WAITS:
        assert " 10 times " in said[text]["message"]
        assert said[text]["priority"] == "medium"
    quiet = ("loss = model(batch)", "loss.backward()", "optimizer.step()", "kept += ", "there = ")
    assert not [text for text in said if text.startswith(quiet)]
    assert answer["result"]["accepted"] == 1
