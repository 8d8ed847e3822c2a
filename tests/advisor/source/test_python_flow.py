"""Where the tensors of a Python file are said to be, and files that are made to take long."""

from __future__ import annotations

import ast
import time

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.source.python.module import read_python
from gpuadvise.advisor.source.python.tensors import TensorMemory, Tensors, tensors_of
from gpuadvise.advisor.source.text import source_text
from gpuadvise.rules.source.lint import lint_python


def place(code: str, name: str = "x") -> TensorMemory | None:
    """Return where the last read of *name* in *code* finds its tensor."""
    module = read_python(source_text(f"import torch\n{code}\n".encode(), "flow.py"))
    tensors = tensors_of(module)
    reads = [
        node
        for node in module.nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    value = tensors[reads[-1]]
    return value.place if value is not None else None


@pytest.mark.parametrize(("name", "sure"), [("T", True), ("data", True), ("offsets", False)])
def test_what_only_an_object_around_tensors_has_need_not_lie_beside_them(
    name: str, sure: bool
) -> None:
    module = read_python(
        source_text(f"import torch\nx = torch.zeros(3).cuda()\ny = x.{name}\n".encode(), "flow.py")
    )
    (read,) = (
        node for node in module.nodes if isinstance(node, ast.Attribute) and node.attr == name
    )
    value = tensors_of(module)[read]
    assert value is not None
    assert value.sure is sure


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = torch.zeros(3)\nx.cuda()", TensorMemory.PAGEABLE),
        ("x = torch.zeros(3).cuda()\nx", TensorMemory.GPU),
        ("x = torch.zeros(3, device='cuda:1')\nx", TensorMemory.GPU),
        ("x = torch.zeros(3, pin_memory=True)\nx.cuda()", TensorMemory.PINNED),
        ("x = torch.zeros(3, pin_memory=p).cuda\nx", None),
        ("x = torch.zeros(3).pin_memory() + 0\nx.cuda()", TensorMemory.PAGEABLE),
        ("d = 'cuda' if a else 'cpu'\nx = torch.ones(3, device=d)\nx", TensorMemory.GPU),
        ("d = 0 if torch.cuda.is_available() else 'cpu'\nx = y.to(d)\nx", TensorMemory.GPU),
        ("d = r % torch.cuda.device_count()\nx = y.to(d)\nx", TensorMemory.GPU),
        ("d = torch.device(f'cuda:{r}')\nx = y.to(d)\nx", TensorMemory.GPU),
        ("d = torch.cuda.current_device()\nx = y.to(d)\nx", TensorMemory.GPU),
        ("x = y.to('cpu')\nx.cuda()", TensorMemory.PAGEABLE),
        ("x = y.to(torch.float16)\nx.cuda()", None),
        ("x = torch.zeros(3).to(torch.float16)\nx.cuda()", TensorMemory.PAGEABLE),
        ("g = torch.zeros(3).cuda()\nx = y.to(g)\nx", TensorMemory.GPU),
        ("g = torch.zeros(3).cuda()\nx = torch.ones_like(g)\nx", TensorMemory.GPU),
        (
            "g = torch.zeros(3).cuda()\nx = torch.empty_like(g, device='cpu')\nx",
            TensorMemory.PAGEABLE,
        ),
        ("x, y = torch.ones(3), torch.ones(3).cuda()\nx", TensorMemory.PAGEABLE),
        ("x, *y = torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("x = y = torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("x: object = torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("x = torch.ones(3)\nx += torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("x = torch.ones(3)\nif a:\n    x = x.cuda()\nx", None),
        (
            "x = torch.ones(3)\nif a:\n    x = x.cuda()\nelse:\n    x = x.cuda()\nx",
            TensorMemory.GPU,
        ),
        ("x = torch.ones(3)\nif a:\n    x = x.cuda()\n    raise b\nx", TensorMemory.PAGEABLE),
        ("if a:\n    x = 1\nelif b:\n    x = torch.ones(3).cuda()\nx", None),
        ("x = torch.ones(3)\nfor i in a:\n    x = x.cuda()\n    b(x)", TensorMemory.GPU),
        ("x = torch.ones(3)\nfor i in a:\n    b(x)\n    x = x.cuda()", None),
        ("while a:\n    x = torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("try:\n    x = torch.ones(3).cuda()\nexcept E:\n    raise\nx", TensorMemory.GPU),
        (
            "match a:\n    case 1:\n        x = torch.ones(3).cuda()\n    case _:\n        b()\nx",
            TensorMemory.GPU,  # the other case leaves x without a value
        ),
        ("with a as b:\n    x = torch.ones(3).cuda()\nx", TensorMemory.GPU),
        ("def f(x):\n    return x\nf(torch.ones(3).cuda())", TensorMemory.GPU),
        ("def f(x):\n    return x\nf(torch.ones(3).cuda())\nf(torch.ones(3))", None),
        ("def f(a, x=None):\n    return x\nf(1, x=torch.ones(3).cuda())", TensorMemory.GPU),
        ("def f():\n    return torch.ones(3).cuda()\nx = f()\nx", TensorMemory.GPU),
        ("def f():\n    return 1, torch.ones(3).cuda()\na, x = f()\nx", TensorMemory.GPU),
        ("x = [torch.ones(3).cuda() for _ in a]\nx", TensorMemory.GPU),
        ("x = torch.stack([torch.ones(3).cuda()])\nx", TensorMemory.GPU),
        ("x = {'a': torch.ones(3).cuda()}['a']\nx", TensorMemory.GPU),
        ("x = (y := torch.ones(3).cuda())\nx", TensorMemory.GPU),
        ("m = torch.nn.Linear(3, 3).cuda()\nx = m(y)\nx", TensorMemory.GPU),
        ("class M(torch.nn.Module): ...\nm = M().to('cuda')\nx = m(y)\nx", TensorMemory.GPU),
        ("torch.set_default_device('cuda')\nx = torch.ones(3)\nx", TensorMemory.GPU),
        ("x = torch.as_tensor(y)\nx.cuda()", None),
        ("x = torch.ones(3, **o)\nx.cuda()", None),
        ("T = torch.cuda.FloatTensor\nx = T(3, 3)\nx", TensorMemory.GPU),
        ("x = y.cuda().cpu()\nx", TensorMemory.PAGEABLE),
        ("x = torch.nn.functional.relu(torch.ones(3).cuda())\nx", TensorMemory.GPU),
        ("x = torch.autograd.Variable(torch.ones(3).cuda())\nx", TensorMemory.GPU),
        ("x = torch.ones(3).cuda()[1:2, a]\nx", TensorMemory.GPU),
        ("x = -torch.ones(3).cuda()\nx", TensorMemory.GPU),
    ],
)
def test_where_a_tensor_is(code: str, expected: TensorMemory | None) -> None:
    assert place(code) == expected


def test_an_attribute_keeps_what_the_constructor_gave_it() -> None:
    code = """
class A:
    def __init__(self):
        self.device = torch.device("cuda")
        self.kept = torch.zeros(3).to(self.device)

    def use(self):
        x = self.kept
        return x
"""
    assert place(code) is TensorMemory.GPU


def test_a_device_by_its_name_is_a_gpu_unless_the_file_says_cpu() -> None:
    loop = "for y in loader:\n    x = y.to(args.device)\n    model(x).backward()\n    opt.step()"
    assert place(loop) is TensorMemory.GPU
    assert place(f"device = 'cpu'\n{loop}") is None


@pytest.mark.parametrize(
    "code",
    [
        "if a:\n    x = 1\n" + "elif a:\n    x = 2\n" * 3000,
        "x = " + "+".join(["a"] * 2000),
        "x = torch.ones(3).cuda()\n" + "if x:\n    x = x + 1\n" * 5000,
        "x = torch.ones(3).cuda()\n" + "".join(f"x{i} = [y for y in x]\n" for i in range(5000)),
        "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(3000)),
        "for x in loader:\n" + "    loss.backward()\n    opt.step()\n    total += loss\n" * 2000,
        "x = a" + ".cuda()" * 900,
    ],
    ids=["elif", "sums", "ifs", "comprehensions", "helpers", "losses", "methods"],
)
def test_no_file_takes_long(code: str) -> None:
    text = f"import torch\n{code}\n".encode()
    began = time.process_time()
    try:
        lint_python(text, "long.py")
    except BadInput as refused:
        assert "nested too deeply" in refused.message
    assert time.process_time() - began < 1 + len(text) / 20_000


_TOLD_BY_OTHERS = """
import torch

device = torch.device("cuda")


class Model(torch.nn.Module):
    def early(self):
        return self.late_table + self.steady

    def __init__(self):
        self.steady = torch.zeros(3)
        self.steady = self.steady.to(device)
        self.register_buffer("mask", torch.ones(3))

    def late(self):
        self.late_table = made_below(3).to(device)
        return self.late_table

    def alone(self, rows):
        kept = torch.ones(3)
        return kept.cuda()


def caller(n):
    x = made_below(n)
    y, z = pair_below(n)
    return takes(x.cuda()), y


def takes(given):
    return given + 1


def made_below(n):
    return torch.zeros(n)


def pair_below(n):
    return torch.zeros(n).cuda(), torch.ones(n)
"""


def test_a_function_that_is_not_walked_again_has_the_values_of_a_second_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    skipped: list[str] = []

    def values() -> list[tuple[object, ...] | None]:
        module = read_python(source_text(_TOLD_BY_OTHERS.encode(), "flow.py"))
        tensors = tensors_of(module)
        return [
            None
            if (value := tensors[node]) is None
            else (
                value.kind,
                value.place,
                value.data,
                value.sure,
                value.maker and value.maker.lineno,
            )
            for node in module.nodes
        ]

    would_be = Tensors._would_be_the_same

    def noted(self: Tensors, function: ast.AST) -> bool:
        same = would_be(self, function)
        if same:
            skipped.append(getattr(function, "name", ""))
        return same

    monkeypatch.setattr(Tensors, "_would_be_the_same", noted)
    once = values()
    monkeypatch.setattr(Tensors, "_would_be_the_same", lambda *_: False)
    assert values() == once
    assert "alone" in skipped
    assert not {"early", "caller", "takes"} & set(skipped)


def test_nodes_and_calls_come_in_the_order_of_the_text() -> None:
    code = b"import torch as t\nwhile b(a()):\n    t.stack(t.cat(x))\nfor i in c(t.stack(y)):\n    a()\n"
    module = read_python(source_text(code, "order.py"))
    loops: list[ast.For | ast.While] = module.of_any(ast.For, ast.While)
    assert [loop.lineno for loop in loops] == [2, 4]
    assert [call.lineno for call in module.calls_of("torch.cat", "torch.stack")] == [3, 3, 4]
    assert module.calls_of("torch.stack")[0] is module.calls_of("torch.cat", "torch.stack")[0]
    assert [call.lineno for call in module.calls_named("a", "c")] == [2, 4, 5]
    assert len(module.calls_like(lambda name: name.startswith("torch."))) == 3


def test_the_first_of_several_loops_that_evaluate_is_reported() -> None:
    loop = "with torch.no_grad():\n    for batch in loader:\n        model(batch.cuda())\n"
    code = "import torch\nmodel.eval()\n" + loop * 8
    lines = [
        d.where.line
        for d in lint_python(code.encode(), "evaluate.py").diagnostics
        if d.rule == "eager-inference"
    ]
    assert lines == [5]
