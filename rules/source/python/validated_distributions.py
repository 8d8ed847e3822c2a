"""Distributions that check their arguments on the GPU, which lets the host wait."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_demo,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, tensors_of
from gpuadvise.advisor.source.python.training import argument, has_unknown_arguments
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_distributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Pass validate_args=False once the program works, or call "
    "torch.distributions.Distribution.set_default_validate_args(False) at its start; log_prob() checks its samples as well."
)
# Those that wrap others check what these have checked.
_CHECKED = frozenset(
    ("Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Dirichlet", "Exponential", "Gamma", "Geometric", "Gumbel",
     "HalfNormal", "Kumaraswamy", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "Multinomial",
     "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto",
     "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "VonMises", "Weibull")
)  # fmt: skip
_CHOSEN = (b"set_default_validate_args", b"__debug__")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``Categorical(logits=model(x))`` in each step, whose check reads a value of the GPU; once in a file."""
    words = module.text.content
    if b"torch.distributions" not in words or any(word in words for word in _CHOSEN):
        return
    if is_test(module) or is_demo(module) or not may_work_on_gpu(module):
        return
    own = _classes_of_file(module)
    made = [
        call
        for call in module.calls
        if (_is_checked(module.name_of(call.func)) or module.name_of(call.func) in own)
        and argument(call, "validate_args") is None
        and not has_unknown_arguments(call)
        and _is_of_tensors(module, call)
        and _is_repeated(module, call)
    ]
    if made:
        # One switch mends all of them; where a loop makes them it is worth the most.
        told = next((call for call in made if steps_of(module).is_repeated(call)), made[0])
        yield module.diagnostic(
            "validated-distributions", told,
            where_on_gpu(module, "Each distribution checks its arguments when it is made, and the host waits for the GPU to know the answer."),
            _ACTION,
            minor=True,
        )  # fmt: skip


def _is_checked(name: str) -> bool:
    return name.startswith("torch.distributions.") and name.rpartition(".")[2] in _CHECKED


def _classes_of_file(module: PythonModule) -> set[str]:
    """Return the classes of the file that are such distributions and say nothing of the check."""
    return {
        made.name
        for made in module.of(ast.ClassDef)
        if any(_is_checked(module.name_of(base)) for base in made.bases)
        and "validate_args" not in ast.unparse(made)
    }


def _is_of_tensors(module: PythonModule, call: ast.Call) -> bool:
    """Whether some argument of *call* may be a tensor of the GPU."""
    for given in (*call.args, *(k.value for k in call.keywords)):
        value = tensors_of(module)[given]
        if isinstance(given, (ast.Constant, ast.UnaryOp)):
            continue
        if value is None or (
            value.kind is ValueKind.TENSOR and value.place is not TensorMemory.PAGEABLE
        ):
            return True
    return False


def _is_repeated(module: PythonModule, call: ast.Call) -> bool:
    """Whether a step, a model, a loop or a function that is called again and again runs *call*."""
    steps = steps_of(module)
    return (
        steps.training_loop(call) is not None
        or steps.evaluation_loop(call) is not None
        or steps.is_repeated(call)
        or forward_of(module, call) is not None
        or repeated_call_of(module, call) is not None
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for state in loader:
    policy = torch.distributions.Categorical(logits=model(state.to("cuda", non_blocking=True)))
    actions = policy.sample()""",
        """\
import torch

for state in loader:
    logits = model(state.to("cuda", non_blocking=True))
    policy = torch.distributions.Categorical(logits=logits, validate_args=False)
    actions = policy.sample()""",
    ),
)
RULE = source_rule(
    id="validated-distributions",
    title="Check distributions while you debug",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="The check compares all arguments on the GPU and reads whether they are valid, before anything else can be queued.",
    when="A distribution of PyTorch is made of tensors again and again, and nothing switches its check off.",
    citations=pytorch_distributions(),
    seen="torch.distributions.Categorical(logits=logits)",
    file="train.py",
    action=_ACTION,
)
