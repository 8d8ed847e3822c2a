"""The tail of a grid in clusters: judged where the size of a wave is known."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.engine import judge
from gpuadvise.rules.guide.execution.tail_effect import RULE
from gpuadvise.rules.model import Advice

LAUNCH = {"regs": 32, "block": 1024, "dynamic_smem": "200K", "nonportable_cluster": True}


@pytest.mark.parametrize(
    ("gpu", "cluster", "grid", "waves"),
    [
        ("h200", 16, 112, None),  # seven clusters: one wave
        ("h200", 16, 128, "1.14 waves of 112"),
        ("h100-sxm", 16, 128, None),  # one wave if the bound holds, two if it does not
        ("h100-sxm", 16, 160, None),
        ("h100-sxm", 1, 160, "1.21 waves of 132"),
    ],
)
def test_a_tail_that_is_only_a_bound_is_no_finding(
    gpu: str, cluster: int, grid: int, waves: str | None
) -> None:
    given = {**LAUNCH, "gpu": gpu, "cluster": cluster, "grid": grid}
    (outcome,) = judge(RULE, described(given, from_catalogue).facts)
    assert isinstance(outcome, Advice) == (waves is not None)
    if isinstance(outcome, Advice):
        assert f"{grid} blocks run in {waves}" in outcome.message
