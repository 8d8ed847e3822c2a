"""Looking around the catalogue with a few words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.catalogue.search import search


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("h100", {"h100-nvl", "h100-pcie", "h100-sxm"}),
        ("rtx 4090", {"rtx-4090", "rtx-4090-laptop"}),
        ("hopper hbm3e", {"gh200-144", "h200-nvl", "h200-sxm"}),
        ("v100 32gb", {"v100-pcie-32", "v100-sxm2-32"}),
        ("9.0", {"h100-sxm", "h20"}),
        ("sm_120", {"rtx-5090"}),
        ("GK110", {"tesla-k20c"}),
        ("data-centre volta", {"v100s"}),
        ("jetson", {"jetson-tk1", "jetson-thor"}),
    ],
)
def test_words_find_what_they_describe(text: str, some: set[str]) -> None:
    assert some <= {each.id for each in search(text)}


@pytest.mark.parametrize(
    "text", ["", "zz", "h100 laptop", "4.0", "sm_", "ünknown", "a " * 5_000_000]
)
def test_nothing_is_an_empty_answer(text: str) -> None:
    assert search(text) == ()


@given(st.sampled_from(entries()), st.text(max_size=20))
def test_every_id_finds_its_gpu_and_no_text_breaks(each, text) -> None:
    assert each in search(each.id)
    search(text)
