"""Limits and throughput by compute capability."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import (
    known_capabilities,
    limits_of,
    nearest_documented,
    sources,
    throughput_of,
)
from gpuadvise.advisor.catalogue.sources import (
    read_capabilities,
    throughput_table,
)
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.limits import RegisterAllocation, SharedMode
from gpuadvise.advisor.throughput import Throughput

RECORDS = read_capabilities()
CAPABILITIES = Path(sources.__file__).with_name("capabilities.toml")


def test_h200_limits_are_those_of_a_real_card() -> None:
    limits, extrapolated = limits_of(Capability(9, 0))
    assert not extrapolated
    assert (limits.max_threads_per_sm, limits.max_blocks_per_sm) == (2048, 32)
    assert (limits.registers_per_sm, limits.registers_per_block) == (65_536, 65_536)
    assert limits.shared_memory_per_block == 49_152
    assert limits.shared_memory_per_block_optin == 232_448
    assert limits.shared_memory_per_sm == 233_472
    assert limits.shared_memory_reserved_per_block == 1_024
    assert limits.max_cluster_size_nonportable == 16
    assert limits.shared_memory_configs[-1] == 228 * 1024
    assert limits.shared_memory_config_mode is SharedMode.CARVEOUT


@pytest.mark.parametrize(
    ("cc", "blocks"),
    [
        ("3.0", 16),
        ("5.0", 32),
        ("7.2", 32),
        ("7.5", 16),
        ("8.0", 32),
        ("8.6", 16),
        ("8.8", 16),
        ("8.9", 24),
        ("9.0", 32),
        ("10.0", 32),
        ("10.1", 24),
        ("10.3", 32),
        ("11.0", 24),
        ("12.0", 24),
        ("12.1", 24),
    ],
)
def test_blocks_per_sm_do_not_grow_with_the_capability(cc: str, blocks: int) -> None:
    assert limits_of(_parsed(cc))[0].max_blocks_per_sm == blocks


def test_the_oldest_allocates_registers_by_block() -> None:
    limits, _ = limits_of(Capability(1, 0))
    assert limits.register_allocation is RegisterAllocation.BLOCK
    assert limits.shared_memory_configs == (16_384,)
    assert limits.barriers_per_sm is None


def test_a_variant_has_the_limits_of_its_capability() -> None:
    assert limits_of(Capability(9, 0, "a")) == limits_of(Capability(9, 0))


@pytest.mark.parametrize(
    ("unknown", "stand_in"),
    [("10.2", "10.0"), ("10.7", "10.3"), ("11.5", "11.0"), ("12.2", "12.1"), ("13.0", "12.1")],
)
def test_an_unknown_newer_capability_takes_the_nearest_older_limits(
    unknown: str, stand_in: str
) -> None:
    limits, extrapolated = limits_of(_parsed(unknown))
    assert extrapolated
    assert limits == limits_of(_parsed(stand_in))[0]
    assert str(nearest_documented(_parsed(unknown))) == stand_in
    assert throughput_of(_parsed(unknown)) == Throughput()


@pytest.mark.parametrize(
    ("cc", "message"),
    [
        ("0.9", "No GPU has compute capability 0.9; the oldest is 1.0."),
        ("4.0", "No GPU has compute capability 4.0; there is no 4.x."),
        ("2.5", "No GPU has compute capability 2.5; of 2.x only 2.0 and 2.1 exist."),
        ("9.1", "No GPU has compute capability 9.1; of 9.x only 9.0 exists."),
    ],
)
def test_a_capability_that_never_existed_is_refused(cc: str, message: str) -> None:
    for ask in (limits_of, throughput_of, nearest_documented):
        with pytest.raises(BadInput) as error:
            ask(_parsed(cc))
        assert error.value.message == message


@given(st.integers(0, 99), st.integers(0, 9))
def test_every_capability_is_answered_or_refused(major: int, minor: int) -> None:
    capability = Capability(major, minor)
    try:
        limits, extrapolated = limits_of(capability)
    except BadInput:
        assert major <= 9
        return
    assert limits.warp_size * limits.max_warps_per_sm == limits.max_threads_per_sm
    assert extrapolated == (str(capability) not in RECORDS)
    assert nearest_documented(capability) <= capability


def test_known_capabilities_are_in_order_and_leave_out_the_renamed_one() -> None:
    known = known_capabilities()
    assert list(known) == sorted(known)
    assert len(known) == len(RECORDS) - 1
    assert Capability(10, 1) not in known
    assert Capability(12, 1) in known


@pytest.mark.parametrize(
    ("cc", "type_", "rate"),
    [("9.0", "fp16", 2048), ("8.0", "fp16", 1024), ("10.0", "fp8", 8192), ("7.0", "fp16", 512)],
)
def test_dense_tensor_rates(cc: str, type_: str, rate: int) -> None:
    assert throughput_of(_parsed(cc)).tensor_dense_fma[type_] == rate


def test_results_per_clock() -> None:
    hopper = throughput_of(Capability(9, 0))
    assert (hopper.fp32_fma, hopper.fp64_fma, hopper.sfu) == (128, 64, 16)
    assert throughput_of(Capability(8, 8)).fp32_fma is None


@pytest.mark.parametrize("cc", RECORDS)
def test_every_group_of_facts_names_a_listed_document(cc: str) -> None:
    documents = tomllib.loads(CAPABILITIES.read_text(encoding="utf-8"))["sources"]
    source = RECORDS[cc]["source"]
    assert {"limits", "registers", "shared_memory", "barriers"} <= source.keys()
    for group in ("throughput", "tensor_dense_fma"):
        assert (group in RECORDS[cc]) == (group.split("_")[0] in source)
    for text in source.values():
        named = [word.strip("(,;") for word in text.split("(")[0].split(",")]
        assert all(word.strip() in documents for word in named), text


@pytest.mark.parametrize("cc", RECORDS)
def test_limits_agree_with_one_another(cc: str) -> None:
    limits, _ = limits_of(_parsed(cc))
    assert limits.max_warps_per_sm * limits.warp_size == limits.max_threads_per_sm
    assert max(limits.shared_memory_configs) == limits.shared_memory_per_sm
    reserved = limits.shared_memory_reserved_per_block
    assert limits.shared_memory_per_block_optin + reserved <= limits.shared_memory_per_sm
    assert limits.registers_per_block <= limits.registers_per_sm
    assert limits.registers_per_sm % limits.register_subpartitions == 0
    if limits.unified_l1_shared:
        assert limits.unified_l1_shared >= limits.shared_memory_per_sm


def test_a_throughput_that_has_no_field_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown throughput"):
        throughput_table({"9.0": {"throughput": {"fp99_fma": 1}}})


def _parsed(cc: str) -> Capability:
    major, minor = cc.split(".")
    return Capability(int(major), int(minor))
