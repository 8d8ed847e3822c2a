"""What matters little where it stands: code that checks other code, runs once, or is of a program on the host."""

from __future__ import annotations

import pytest

from gpuadvise.rules.source.lint import lint_python


def rules(source: str, file: str = "a.py") -> list[str]:
    return [d.rule for d in lint_python(source.encode(), file).diagnostics]


ATTENTION = """
import torch
from torch.nn.functional import softmax


def {name}(q, k, v):
    scores = softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1)
    return torch.matmul(scores, v)


"""
TEST = """
def test():
    x = torch.randn(8, 64, 64, device="cuda")
    {check}({name}(x, x, x), kernel(x))
"""


def test_a_reference_that_only_a_test_calls_is_left_alone() -> None:
    check = "assert torch.allclose"
    reference = ATTENTION.format(name="torch_attention") + TEST.format(
        check=check, name="torch_attention"
    )
    assert rules(reference) == []
    assert rules(ATTENTION.format(name="torch_attention")) == ["written-out-attention"]


def test_what_others_may_import_is_no_reference() -> None:
    source = ATTENTION.format(name="attention")
    assert rules(source + TEST.format(check="assert torch.allclose", name="attention")) == [
        "written-out-attention"
    ]


def test_a_function_that_evaluates_checks_no_other_code() -> None:
    source = """
import torch


def test(model, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            total += model(x.cuda(non_blocking=True)).sum().item()
"""
    assert "hidden-synchronizations" in rules(source)


UPLOAD = """
import torch


def weights(rates):
    return torch.arange(64).float().to("cuda") * rates


{use}
"""


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("if __name__ == '__main__':\n    print(weights(3))", False),
        ("def main():\n    print(weights(3))\n\n\nif __name__ == '__main__':\n    main()", False),
        ("if __name__ == '__main__':\n    for i in range(100):\n        print(weights(i))", True),
        ("if __name__ == '__main__':\n    print([weights(i) for i in range(100)])", True),
        ("if __name__ == '__main__':\n    run(weights)", True),
        ("print(weights(3))", True),  # others may import it
    ],
)
def test_what_a_program_calls_once_is_not_repeated(use: str, found: bool) -> None:
    assert ("host-built-tensors" in rules(UPLOAD.format(use=use))) is found


TRAINS = """
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    loss = model(torch.rand(8, 8{place})).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""


def test_a_program_without_a_device_trains_on_the_host() -> None:
    main = "if __name__ == '__main__':\n    pass\n"
    assert rules(TRAINS.format(place="") + main) == []
    assert "synchronizing-reads" in rules(
        TRAINS.format(place="") + "from accelerate import X\n" + main
    )
    assert "synchronizing-reads" in rules(TRAINS.format(place=", device=device") + main)


def test_a_loader_before_which_a_decoder_runs_on_and_on_is_no_bottleneck() -> None:
    source = """
import torch
from torch.utils.data import DataLoader


def evaluate(decoder):
    loader = DataLoader(captions, batch_size=1, num_workers=1, pin_memory=True)
    with torch.no_grad():
        for image in loader:
            words = torch.tensor([1, 2, 3]).cuda()
            while True:
                words = decoder(image.cuda(non_blocking=True), words)
                if done(words):
                    break
"""
    assert "loaders-without-workers" not in rules(source)
    assert "repeated-uploads" not in rules(source)


def test_one_observation_for_one_action_is_told_by_the_environment() -> None:
    source = """
import torch


class Agent:
    def select_action(self, state):
        with torch.no_grad():
            return self.policy(torch.FloatTensor(state).to("cuda")).argmax().item()
"""
    found = lint_python(source.encode(), "a.py", select={"repeated-uploads"}).diagnostics
    assert ["environment" in d.message for d in found] == [True]


@pytest.mark.parametrize(
    ("file", "spared"),
    [
        ("benchmarks/train.py", True),
        ("benchmarking/a/train.py", True),
        ("tests.py", True),
        ("Graveyard/train.py", True),
        ("models/policies_depr.py", True),
        ("train.py", False),
        ("test.py", False),
    ],
)
def test_what_is_set_aside_or_measures_is_spared(file: str, spared: bool) -> None:
    source = TRAINS.format(place=", device='cuda'")
    assert (rules(source, file) == []) is spared


def test_a_tensor_for_each_index_does_not_grow() -> None:
    source = """
import torch


def extend(levels, others):
    for i in range(count):
        levels[i] = torch.cat([levels[i], others[i].cuda()])
"""
    again = source.replace("    for i", "    for j in range(n):\n     for i")
    assert [
        len(lint_python(text.encode(), "a.py", select={"growing-tensors"}).diagnostics)
        for text in (source, again)
    ] == [0, 1]


def test_another_runtime_takes_arrays_of_the_host() -> None:
    source = """
import torch


class Backend(torch.nn.Module):
    def forward(self, im):
        if self.onnx:
            return self.session.run(im.cuda().cpu().numpy())
        return self.model(im)
"""
    assert "hidden-synchronizations" not in rules(source)
    assert "hidden-synchronizations" in rules(source.replace("self.onnx", "self.training"))


def test_what_no_cell_of_a_notebook_calls_is_spared() -> None:
    source = ATTENTION.format(name="attention")
    assert rules(source, "a.ipynb") == []
    assert rules(source + "y = attention(x, x, x)\n", "a.ipynb") == ["written-out-attention"]
    assert rules(source, "a.py") == ["written-out-attention"]
