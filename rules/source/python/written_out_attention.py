"""Attention whose whole matrix of scores goes through memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.attention import written_attention
from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_attention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Call torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=..., dropout_p=..., is_causal=...): it "
    "never stores the scores. Keep this form where the weights themselves are returned."
)
_ACTION_RETURNED = (
    "Call torch.nn.functional.scaled_dot_product_attention(q, k, v, ...) where no caller asks for the weights, which this "
    "function returns too: it never stores the scores."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``softmax(q @ k.transpose(-2, -1) * scale) @ v``; the first in a function."""
    words = module.text.content
    if b"oftmax" not in words or b"scaled_dot_product_attention" in words or is_test(module):
        return
    for found in written_attention(module):
        yield module.diagnostic(
            "written-out-attention", found.softmax,
            "Scores, their softmax and the products with them go through memory one after the other, quadratic in "
            "the length of the sequence.",
            _ACTION_RETURNED if found.returns else _ACTION,
        )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def attend(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) * q.size(-1) ** -0.5, dim=-1)
    return weights @ v""",
        """\
import torch


def attend(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)""",
    ),
)


RULE = source_rule(
    id="written-out-attention",
    title="Call the fused attention",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="The fused kernel keeps scores in shared memory and registers, so that traffic grows with the length, not its square.",
    when="Attention is written as softmax(q k^T) v, by products or by einsum.",
    citations=pytorch_attention(),
    seen="torch.softmax(q @ k.transpose(-2, -1), dim=-1)",
    file="train.py",
    action=_ACTION,
    measured_as="unfused-attention",
)
