"""Loops that generate text and compute the whole prefix anew for each token."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_attention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Keep the keys and values of each layer, and give the model the new token alone; write tokens into a tensor of the "
    "full length. Without a cache, let the last layer see x[:, [-1], :] only."
)
_JOINS = frozenset(("torch.cat", "torch.concat", "torch.concatenate", "torch.hstack"))
_CACHES = re.compile(r"cache|past_key|past\b|start_pos|incremental|hidden|use_cache")
_DRAWS = re.compile(r"multinomial|argmax|topk|categorical|Categorical|sample")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``logits = model(tokens)`` and ``tokens = torch.cat((tokens, next))`` in one loop, with nothing kept."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    for join in module.calls_of(*_JOINS):
        if not join.args:
            continue
        above = module.parents.get(join)
        loop = module.loop_around(join)
        if not isinstance(above, ast.Assign) or loop is None:
            continue
        tokens = ast.unparse(above.targets[0])
        parts = join.args[0]
        if not isinstance(parts, (ast.List, ast.Tuple)) or not parts.elts:
            continue
        if ast.unparse(parts.elts[0]) != tokens or not _is_drawn(module, loop, parts.elts[-1]):
            continue
        run = _model_run(module, loop, tokens)
        if run is None or not _keeps_nothing(loop):
            continue
        yield module.diagnostic(
            "uncached-generation", run,
            where_on_gpu(
                module,
                "For each new token the model computes all tokens before it anew: the work grows with the square of the text.",
            ),
            _ACTION,
        )  # fmt: skip


def _model_run(
    module: PythonModule, loop: ast.For | ast.AsyncFor | ast.While, tokens: str
) -> ast.Call | None:
    """Return the call in *loop* that is given the tokens so far, or their last part."""
    given = {tokens}
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Assign) and len(part.targets) == 1:
                source = ast.unparse(part.value)
                if tokens in source and not isinstance(part.value, ast.Call):
                    given.add(ast.unparse(part.targets[0]))
                call = part.value.value if isinstance(part.value, ast.Subscript) else part.value
                if isinstance(call, ast.Attribute):
                    call = call.value  # model(tokens).logits
                if (
                    isinstance(call, ast.Call)
                    and call.args
                    and ast.unparse(call.args[0]) in given
                    and not module.name_of(call.func).startswith(("torch.", "len"))
                ):
                    return call
    return None


def _is_drawn(
    module: PythonModule, loop: ast.For | ast.AsyncFor | ast.While, added: ast.expr
) -> bool:
    """Whether *added* is a token that *loop* picked."""
    names = {part.id for part in ast.walk(added) if isinstance(part, ast.Name)}
    return any(
        _DRAWS.search(ast.unparse(part.value)) is not None
        for part in module.walk(loop)
        if isinstance(part, ast.Assign)
        and any(
            isinstance(n, ast.Name) and n.id in names for t in part.targets for n in ast.walk(t)
        )
    )


def _keeps_nothing(loop: ast.stmt) -> bool:
    """Whether nothing in *loop* is named for a cache."""
    return _CACHES.search(ast.unparse(loop)) is None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


@torch.inference_mode()
def generate(model, tokens, count):
    for _ in range(count):
        logits = model(tokens)
        following = torch.multinomial(logits[:, -1, :].softmax(-1), 1)
        tokens = torch.cat((tokens, following), dim=1)
    return tokens""",
        """\
import torch


@torch.inference_mode()
def generate(model, tokens, count):
    cache, latest, drawn = None, tokens, [tokens]
    for _ in range(count):
        logits, cache = model(latest, cache)
        latest = torch.multinomial(logits[:, -1, :].softmax(-1), 1)
        drawn.append(latest)
    return torch.cat(drawn, dim=1)""",
    ),
)


RULE = source_rule(
    id="uncached-generation",
    title="Keep keys and values while text is generated",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="With a cache a new token costs one position; without it, all of them.",
    when="A loop runs a model on all tokens so far, picks the next and lengthens the tokens by it, with no cache in sight.",
    citations=pytorch_attention(),
    seen="logits = model(tokens)",
    file="sample.py",
    action=_ACTION,
)
