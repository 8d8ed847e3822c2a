"""What of a Python file is reported as low, or not at all, because little is won there."""

from gpuadvise.rules.source.lint import lint_python

STEP = """
import torch
model = Model().cuda()
for images in loader:
    loss = model(images.cuda(non_blocking=True)).mean()
    loss.backward()
    optimizer.step()
    total += loss.item()
    {again}
"""
COPY = """
import torch

def forward_step(n):
    features = None
    for batch in range(n):
        {copy}
"""
EVALUATION = """
import torch
model = Model().cuda()
with torch.no_grad():
    for prompt in loader:
        out = model{run}(prompt.cuda(non_blocking=True))
        shown.append(out.cpu())
"""


def minor(source: str, rule: str) -> list[bool]:
    """Whether each finding of *rule* is a minor one."""
    return [d.minor for d in lint_python(source.encode(), "a.py", select={rule}).diagnostics]


def test_a_second_read_of_the_same_value_is_minor() -> None:
    assert minor(STEP.format(again="seen.append(loss.item())"), "synchronizing-reads") == [
        False,
        True,
    ]


def test_a_read_of_a_value_made_anew_is_not() -> None:
    again = "loss = model(images.cuda()).mean(); seen.append(loss.item())"
    assert minor(STEP.format(again=again), "synchronizing-reads") == [False, False]


def test_a_copy_that_fills_what_is_missing_is_minor() -> None:
    copy = "torch.zeros(n).cuda(non_blocking=True)"
    assert minor(COPY.format(copy=copy), "pageable-async-copies") == [False]
    filled = f"features = {copy} if features is None else features"
    assert minor(COPY.format(copy=filled), "pageable-async-copies") == [False]
    below = f"if features is None:\n            features = {copy}"
    assert minor(COPY.format(copy=below), "pageable-async-copies") == [True]


def test_a_copy_beside_a_generated_text_is_left_alone() -> None:
    rule = "hidden-synchronizations"
    assert minor(EVALUATION.format(run=""), rule) == [False]
    assert minor(EVALUATION.format(run=".generate"), rule) == []


def test_a_loader_of_an_evaluation_is_minor() -> None:
    loader = "loader = torch.utils.data.DataLoader(data, batch_size=64)\n"
    training = STEP.replace("model =", f"{loader}model =", 1).format(again="")
    assert minor(training, "loaders-without-workers") == [False]
    evaluation = EVALUATION.replace("model =", f"{loader}model =", 1).format(run="")
    assert minor(evaluation, "loaders-without-workers") == [True]


def test_a_read_beside_a_simulator_is_minor() -> None:
    again = "state, reward, done, _ = env.step(0)"
    assert minor(STEP.format(again=again), "synchronizing-reads") == [True]


def test_a_loop_of_one_step_trains_nothing() -> None:
    once = """
import torch
def recover(model, batches, steps={steps}):
    for step in range(steps):
        loss = model(next(batches).cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
"""
    assert minor(once.format(steps=1), "synchronizing-reads") == []
    assert minor(once.format(steps=1000), "synchronizing-reads") == [False]


def test_a_single_launch_of_a_script_is_minor() -> None:
    script = """
import numpy as np
from numba import cuda
@cuda.jit
def kernel(x):
    x[cuda.grid(1)] += 1
x = np.zeros(1 << 20)
{launch}
"""
    rule = "implicit-kernel-copies"
    assert minor(script.format(launch="kernel[4096, 256](x)"), rule) == [True]
    repeated = "for i in range(99):\n    kernel[4096, 256](x)"
    assert minor(script.format(launch=repeated), rule) == [False]
