"""What the Python files of one folder say of one another, and what rules see by it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.source.python.project import ModuleUse, uses_of
from gpuadvise.rules.source.lint import lint_python

UTILS = """
import torch


def hashed(x, size):
    return helper(x) % torch.tensor((1 << size) - 1).to(x.device)


def helper(x):
    return x * 2


def load(path):
    return torch.load(path)


def plotted(x):
    return x.cpu().numpy()
"""
MODEL = """
import torch
from utils import hashed, load


class Encoder(torch.nn.Module):
    def __init__(self, path):
        self.table = load(path)

    def forward(self, x):
        return self.table[hashed(x, 19)]
"""
TRAIN = """
from model import Encoder
from utils import plotted

model = Encoder("table").cuda()
for step, x in enumerate(loader):
    loss = criterion(model(x.cuda()))
    loss.backward()
    if step % 100 == 0:
        plotted(loss)
"""


def uses(**files: str) -> dict[str, ModuleUse]:
    return uses_of({f"{name}.py": text.encode() for name, text in files.items()})


def test_a_model_calls_a_function_of_another_file_and_what_that_calls() -> None:
    use = uses(utils=UTILS, model=MODEL, train=TRAIN)["utils.py"]
    assert use.each_step == {"hashed", "helper"}
    assert use.named == {"hashed", "load", "plotted"}
    assert use.on_gpu


def test_one_file_says_nothing_of_itself() -> None:
    assert uses(utils=UTILS) == {}


def test_what_another_file_calls_in_each_step_is_repeated() -> None:
    found = uses(utils=UTILS, model=MODEL, train=TRAIN)["utils.py"]
    select = {"repeated-uploads"}
    alone = lint_python(UTILS.encode(), "utils.py", select=select).diagnostics
    together = lint_python(UTILS.encode(), "utils.py", select=select, use=found).diagnostics
    assert [d.rule for d in alone] == []
    assert [(d.rule, d.kernel) for d in together] == [("repeated-uploads", "hashed")]


@pytest.mark.parametrize(
    ("condition", "reached"),
    [("if step % 100 == 0", False), ("if args.use_mask", True), ("with torch.no_grad()", True)],
)
def test_a_condition_on_steps_makes_a_call_rare(condition: str, reached: bool) -> None:
    text = f"""
from utils import hashed

for step, x in enumerate(loader):
    model(x).backward()
    {condition}:
        y = hashed(
            x, 3)
"""
    assert ("hashed" in uses(utils=UTILS, train=text)["utils.py"].each_step) is reached


def test_what_stands_before_the_loop_is_no_part_of_it() -> None:
    text = """
from utils import hashed

y = hashed(x, 3)
for step, x in enumerate(loader):
    model(x).backward()
"""
    assert uses(utils=UTILS, train=text)["utils.py"].each_step == frozenset()


def test_a_method_that_only_one_class_has_is_meant_without_an_import() -> None:
    store = "class Store:\n    def gather_rows(self, n):\n        return n\n"
    text = "class M(Module):\n    def forward(self, x):\n        return self.store.gather_rows(3)\n"
    assert uses(store=store, model=text)["store.py"].each_step == {"gather_rows"}
    text = text.replace("self.store", "self.kept")
    twice = uses(store=store, other=store, model=text)
    assert not twice["store.py"].each_step
    assert not twice["other.py"].each_step


LOADER = "from torch.utils.data import DataLoader\n\n\nclass Loader(DataLoader):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n{more}"


def test_a_class_that_is_a_loader_is_one_where_it_is_made() -> None:
    text = """
import torch
from data import Loader


def train(model, rows):
    loader = Loader(rows, batch_size=8)
    for x in loader:
        loss = model(x.cuda())
        loss.backward()
        optimizer.step()
"""
    use = uses(data=LOADER.format(more=""), train=text)["train.py"]
    assert use.loaders == {"Loader"}
    rules = {d.rule for d in lint_python(text.encode(), "train.py", use=use).diagnostics}
    assert {"loaders-without-workers", "unpinned-loaders"} <= rules
    chosen = uses(data=LOADER.format(more="        self.num_workers = 4\n"), train=text)
    assert chosen["train.py"].loaders == frozenset()


def test_a_notebook_names_functions_of_files() -> None:
    files = {"utils.py": UTILS.encode(), "a.ipynb": b'{"source": ["from utils import load\\n"]}'}
    found = uses_of(files)
    assert found.keys() == {"utils.py"}
    assert found["utils.py"].named == {"load"}


@pytest.mark.parametrize(
    "line",
    [
        b"import (",
        b"f(",
        b"def f(",
        b" def f():",
        b"class A(DataLoader):",
        b".backward(",
        b"\tif x: f(",
    ],
)
def test_files_that_no_person_wrote_are_read_in_time(line: bytes) -> None:
    for between in (b"\n", b" "):
        data = between.join([line] * 20_000)
        began = time.process_time()
        uses_of({"a.py": data, "b.py": b"from a import f\n" + data})
        assert time.process_time() - began < 20


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_are_read(first: bytes, second: bytes) -> None:
    assert uses_of({"a.py": first, "b.py": second}).keys() == {"a.py", "b.py"}


def test_a_method_of_another_object_is_not_meant_by_a_common_name() -> None:
    stats = "def update(x):\n    return x.cpu()\n"
    text = "import stats\n\n\nclass M(Module):\n    def forward(self, x):\n        {call}\n"
    other = uses(stats=stats, model=text.format(call="self.meter.update(x)"))
    assert other["stats.py"].each_step == frozenset()
    own = uses(stats=stats, model=text.format(call="stats.update(x)"))
    assert own["stats.py"].each_step == {"update"}
