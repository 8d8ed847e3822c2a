from __future__ import annotations

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import by_capability, find
from gpuadvise.cli.devices import device_block, device_line


def test_the_block_names_the_source_of_each_fact() -> None:
    block = device_block(find("h200"))
    assert block["compute_capability"] == "9.0"
    assert block["sm_count"] == 132
    known = {"compute_capability", "sm_count", "sm_clock_hz", "memory_bytes", "memory_bandwidth"}
    assert block["sources"].keys() == known
    assert block["reasons"] == {}


def test_a_bare_capability_has_no_product_facts() -> None:
    device = by_capability(Capability(9, 0))
    block = device_block(device)
    assert block["sm_count"] is None
    assert block["sources"] == {"compute_capability": "you"}
    assert device_line(device) == "compute capability 9.0"


def test_the_line_says_where_the_device_comes_from() -> None:
    assert device_line(find("v100s")).endswith("(compute capability 7.0, catalogue)")
