from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.compatibility.releases import FIRST_CUDA
from gpuadvise.advisor.compatibility.targets import (
    ptx_fits,
    sass_fits,
    why_ptx_fails,
    why_sass_fails,
)

NUMBERS = sorted(FIRST_CUDA)
capabilities = st.sampled_from([Capability(*pair) for pair in NUMBERS])
targets = st.builds(
    lambda pair, variant: Capability(*pair, variant),
    st.sampled_from(NUMBERS),
    st.sampled_from(["", "a", "f"]),
)


@pytest.mark.parametrize(
    ("target", "gpu", "runs"),
    [
        ("sm_80", "8.6", True),  # later minor of the same major
        ("sm_80", "8.9", True),
        ("sm_86", "8.0", False),  # earlier minor
        ("sm_80", "9.0", False),  # other major
        ("sm_70", "7.5", True),
        ("sm_90", "9.0", True),
        ("sm_90a", "9.0", True),
        ("sm_90a", "10.0", False),
        ("sm_100", "10.3", True),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_100f", "10.7", True),
        ("sm_103f", "10.7", True),
        ("sm_103f", "10.0", False),
        ("sm_100f", "12.0", False),
        ("sm_107f", "10.7", True),
        ("sm_120f", "12.1", True),
        ("sm_120", "12.1", True),
        ("sm_121f", "12.0", False),
        ("sm_86", "8.7", False),  # desktop code on a Tegra
        ("sm_87", "8.9", False),  # and the other way round
        ("sm_87", "8.7", True),
        ("sm_53", "6.2", False),
        ("sm_101", "11.0", True),  # renamed
        ("sm_101f", "11.0", True),
        ("sm_110", "11.0", True),
        ("sm_100", "11.0", False),
    ],
)
def test_machine_code(target: str, gpu: str, runs: bool) -> None:
    built, card = parse_capability(target), parse_capability(gpu)
    assert sass_fits(built, card) is runs
    if not runs:
        assert why_sass_fails(built, card)


@pytest.mark.parametrize(
    ("target", "gpu", "compiles"),
    [
        ("compute_50", "12.0", True),
        ("compute_90", "9.0", True),
        ("compute_90", "8.9", False),
        ("compute_80", "8.7", True),  # PTX does not care about Tegra
        ("compute_90a", "9.0", True),
        ("compute_90a", "10.0", False),
        ("compute_100f", "10.3", True),
        ("compute_100f", "12.0", False),
        ("compute_120f", "12.1", True),
    ],
)
def test_ptx(target: str, gpu: str, compiles: bool) -> None:
    built, card = parse_capability(target), parse_capability(gpu)
    assert ptx_fits(built, card) is compiles
    if not compiles:
        assert why_ptx_fails(built, card)


@pytest.mark.parametrize(
    ("target", "gpu", "words"),
    [
        ("sm_90a", "10.0", "sm_90a code runs on 9.0 only"),
        ("sm_100f", "12.0", "sm_100f code runs on 10.0, 10.3 and 10.7 only"),
        ("sm_121f", "12.0", "sm_121f code runs on 12.1 only"),
        ("sm_87", "9.0", "sm_87 code runs on 8.7 only"),
        ("sm_101", "10.0", "sm_101 code runs on 11.0 only"),
        ("sm_80", "9.0", "sm_80 code runs on 8.x only"),
        ("sm_89", "8.6", "sm_89 code needs 8.9 or later"),
        ("sm_86", "8.7", "8.7 is a Tegra part: it does not share machine code with 8.6"),
        ("sm_87", "8.9", "8.7 is a Tegra part: it does not share machine code with 8.9"),
    ],
)
def test_the_reason_names_the_rule(target: str, gpu: str, words: str) -> None:
    assert why_sass_fails(parse_capability(target), parse_capability(gpu)) == words


def test_the_reason_for_ptx_names_the_rule() -> None:
    old = parse_capability("8.6")
    assert why_ptx_fails(parse_capability("sm_90a"), old) == "compute_90a PTX compiles for 9.0 only"
    family = why_ptx_fails(parse_capability("sm_120f"), old)
    assert family == "compute_120f PTX compiles for 12.0 and 12.1 only"
    assert "needs a GPU of 9.0 or later, not 8.6" in why_ptx_fails(parse_capability("90"), old)


@given(targets)
def test_code_runs_on_its_own_target(target: Capability) -> None:
    gpu = Capability(target.major, target.minor)
    assert sass_fits(target, gpu)
    assert ptx_fits(target, gpu)


@given(targets, capabilities)
def test_machine_code_fits_nowhere_that_its_ptx_does_not(
    target: Capability, gpu: Capability
) -> None:
    assert ptx_fits(target, gpu) or not sass_fits(target, gpu)


@given(capabilities, capabilities)
def test_a_narrower_target_never_runs_on_more(target: Capability, gpu: Capability) -> None:
    narrow = Capability(target.major, target.minor, "a")
    family = Capability(target.major, target.minor, "f")
    assert sass_fits(family, gpu) or not sass_fits(narrow, gpu)
    assert sass_fits(target, gpu) or not sass_fits(family, gpu)
