from __future__ import annotations

import pytest

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.errors import BadInput


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("9.0", Capability(9, 0)),
        ("90", Capability(9, 0)),
        ("sm_90a", Capability(9, 0, "a")),
        ("compute_100f", Capability(10, 0, "f")),
        ("120", Capability(12, 0)),
        ("SM_121A", Capability(12, 1, "a")),
        (" 10.3 ", Capability(10, 3)),
        ("sm90", Capability(9, 0)),
        ("SM-86", Capability(8, 6)),
        ("cc 8.6", Capability(8, 6)),
        ("sm_12", Capability(1, 2)),
    ],
)
def test_every_spelling(text: str, capability: Capability) -> None:
    assert parse_capability(text) == capability


@pytest.mark.parametrize(
    "text", ["", "9", "9.", "9.00", "sm_", "h100", "1234", "90b", "-9.0", "٩.٠"]
)
def test_what_is_no_capability(text: str) -> None:
    with pytest.raises(BadInput, match="is not a compute capability"):
        parse_capability(text)


@pytest.mark.parametrize("text", ["10", "11", "12", "13"])
def test_what_can_be_two_capabilities(text: str) -> None:
    with pytest.raises(BadInput, match=rf"can be compute capability 1\.{text[1]} or {text}\.0"):
        parse_capability(text)


def test_names() -> None:
    assert str(Capability(12, 0)) == "12.0"
    assert Capability(9, 0, "a").target == "sm_90a"
    assert Capability(8, 9) < Capability(9, 0) < Capability(10, 0)
