"""What the catalogue says of GPUs, recomputed, and where it says it from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuadvise.advisor import catalogue
from gpuadvise.advisor.catalogue import entries, find
from gpuadvise.advisor.catalogue.names import key
from gpuadvise.advisor.catalogue.sources import (
    FILES,
    derived_peaks,
    read_capabilities,
    read_documents,
    read_gpus,
)

GPUS = {gpu["id"]: gpu for gpu in read_gpus()}
CAPABILITIES = read_capabilities()
DOCUMENTS = read_documents()

# Published bandwidth that clock x width x rate does not give within 1.5 %, each with its reason.
BANDWIDTH_APART = {
    "h100-pcie": "published rounded to 2 TB/s",
}
# Published FP32 peak that SMs x lanes x 2 x clock does not give within 2 %.
FP32_APART = {
    "h20": "export part: published above what its SMs and clock give",
    "p100-pcie-16": "published for about 1297 MHz, the driver's maximum is 1329",
}
# Published tensor peaks that SMs x rate x 2 x clock does not give within 4 %.
TENSOR_APART = {
    "h20": "export part with cut rates",
    "a10g": "published at half of A10's rates",
    "l40": "published at half of what the same chip gives as L40S",
}


def _off(value: float, reference: float) -> float:
    return abs(value / reference - 1)


def _computed(gpu: dict[str, Any]) -> dict[str, float]:
    alone = {name: value for name, value in gpu.items() if name != "peak_tflops"}
    return derived_peaks(alone | {"derive_peaks": True}, CAPABILITIES[gpu["compute_capability"]])


def test_bandwidth_is_clock_times_width_times_rate() -> None:
    compared = [
        each.device
        for each in entries()
        if each.device.memory_clock_hz and each.device.published_bandwidth
    ]
    assert len(compared) >= 90
    apart = {
        device.id
        for device in compared
        if _off(device.memory_bandwidth or 0, device.published_bandwidth or 1) > 0.015
    }
    assert apart == BANDWIDTH_APART.keys()


def test_bandwidth_is_the_published_one_where_clock_or_width_is_unknown() -> None:
    b300 = find("b300")
    assert (b300.memory_clock_hz, b300.memory_bandwidth) == (None, 8e12)
    assert b300.sources["memory_bandwidth"] == b300.sources["published_bandwidth"]


def _apart(kinds: str, tolerance: float) -> tuple[set[str], int]:
    apart, compared = set(), 0
    for gpu in GPUS.values():
        computed = _computed(gpu)
        for kind, published in gpu.get("peak_tflops", {}).items():
            if kind in computed and (kind == kinds or (kinds in kind and kind != "fp64_tensor")):
                compared += 1
                if _off(computed[kind], published * 1e12) > tolerance:
                    apart.add(gpu["id"])
    return apart, compared


def test_fp32_peak_is_sms_times_lanes_times_two_times_clock() -> None:
    apart, compared = _apart("fp32", 0.02)
    assert compared >= 30
    assert apart == FP32_APART.keys()


def test_dense_tensor_peaks_are_sms_times_rate_times_two_times_clock() -> None:
    apart, compared = _apart("tensor", 0.04)
    assert compared >= 100
    assert apart == TENSOR_APART.keys()


def test_no_tensor_peak_counts_sparsity() -> None:
    for each in entries():
        half, byte = (each.device.peaks.get(f"{kind}_tensor") for kind in ("fp16", "int8"))
        if half and byte and each.id not in ("b300", "gb300"):  # INT8 cut there
            assert 1.9 < byte / half < 2.1, each.id


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_no_published_figure_is_only_recalled(gpu: dict[str, Any]) -> None:
    for fact in ("peak_tflops", "published_bandwidth_gb_s", "nvlink_gb_s"):
        if fact in gpu:
            named = gpu["source"][fact]
            each = [named] if isinstance(named, str) else named
            assert all(DOCUMENTS[id]["status"] == "read" for id in each)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_an_entry_fits_its_capability(gpu: dict[str, Any]) -> None:
    record = CAPABILITIES[gpu["compute_capability"]]
    assert gpu["architecture"] == record["architecture"]
    if "chip" in gpu:
        assert any(chip.startswith(gpu["chip"]) for chip in record["chips"])


def test_every_source_is_a_listed_document_and_every_document_is_used() -> None:
    used = set()
    for gpu in GPUS.values():
        for named in gpu["source"].values():
            used.update([named] if isinstance(named, str) else named)
    assert used == DOCUMENTS.keys()
    statuses = {"read", "measured", "derived", "confirmed", "recalled"}
    assert {document["status"] for document in DOCUMENTS.values()} == statuses


def test_every_known_field_of_a_device_names_its_source() -> None:
    for each in entries():
        device = each.device
        for field in ("sm_count", "sm_clock_hz", "memory_bytes", "memory_bandwidth", "l2_bytes"):
            assert (getattr(device, field) is not None) == (field in device.sources), each.id
        assert all(
            kind in each.device.peaks
            for kind in (name[6:] for name in device.sources if name.startswith("peaks."))
        )


def test_names_of_different_gpus_differ() -> None:
    assert len({key(each.device.name) for each in entries()}) == len(entries())
    assert len({each.id for each in entries()}) == len(entries())


def test_files_of_the_folder_are_the_listed_ones() -> None:
    folder = Path(catalogue.__file__).parent / "gpus"
    assert {path.stem for path in folder.glob("*.toml")} == set(FILES)


def test_h200_is_what_a_real_card_says() -> None:
    h200 = find("h200")
    assert (h200.sm_count, str(h200.capability)) == (132, "9.0")
    assert h200.l2_bytes == 62_914_560
    assert h200.persisting_l2_bytes == 39_321_600
    assert (h200.memory_bus_bits, h200.memory_clock_hz) == (6016, 3_201e6)
    assert h200.memory_data_rate == 2
    assert h200.memory_bandwidth == pytest.approx(4_814e9, rel=1e-4)
    assert (h200.sm_clock_hz, h200.sm_clock_max_hz) == (1_980e6, 1_980e6)
    assert h200.async_engines == 3
    assert (h200.pcie_generation, h200.pcie_lanes) == (5, 16)
    assert (h200.ecc, h200.power_limit_watts) == (True, 700.0)
    assert _off(h200.memory_bytes or 0, 150_754_820_096) < 0.01
    assert h200.sources["l2_bytes"].endswith("a real H200: driver attributes and NVML")


@pytest.mark.parametrize(
    ("name", "kind", "peak", "source"),
    [
        ("h100", "bf16_tensor", 989.4e12, "peaks"),
        ("a100", "tf32_tensor", 156e12, "peaks"),
        ("rtx-3060", "fp32", 12.74e12, "peaks.fp32"),
        ("rtx-3060", "fp16_tensor_fp32_acc", 25.48e12, "peaks.fp16_tensor_fp32_acc"),
        ("gtx-580", "fp64", 0.1976e12, "peaks.fp64"),
        ("t4", "fp16_tensor", 65e12, "peaks"),
    ],
)
def test_peaks_are_published_or_derived(name: str, kind: str, peak: float, source: str) -> None:
    device = find(name)
    assert device.peaks[kind] == pytest.approx(peak, rel=1e-3)
    assert source in device.sources


def test_nothing_is_derived_from_facts_that_contradict_the_published_peak() -> None:
    h20 = find("h20")
    assert set(h20.peaks) == set(GPUS["h20"]["peak_tflops"])
    wrong = {"sm_count": 10, "boost_clock_mhz": 1000, "class": "test", "peak_tflops": {"fp32": 9}}
    assert derived_peaks(wrong, CAPABILITIES["9.0"]) == {}
    assert derived_peaks({"sm_count": 10, "class": "test"}, CAPABILITIES["9.0"]) == {}


def test_chips_without_tensor_cores_have_no_tensor_peaks() -> None:
    assert set(find("gtx-1650").peaks) == {"fp32", "fp64", "fp16"}


def test_a_capability_without_rates_derives_nothing() -> None:
    gpu = {"sm_count": 10, "boost_clock_mhz": 1000, "class": "test", "peak_tflops": {"fp32": 9}}
    assert derived_peaks(gpu, CAPABILITIES["8.8"]) == {}
