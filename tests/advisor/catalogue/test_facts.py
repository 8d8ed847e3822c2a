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
    computed_peaks,
    derived_peaks,
    read_capabilities,
    read_documents,
    read_families,
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
    "h20-3e": "export part with cut rates",
    "a10g": "published at half of A10's rates",
    "l40": "published at half of what the same chip gives as L40S",
    "l20": "export part: published at half of what its SMs and clock give",
}
# Peaks of one entry that stand to one another as the rates of their types do, each with the
# ratio; fp16 and fp8 with FP32 accumulation.
RATIOS = (
    ("bf16_tensor", "fp16_tensor", 1),
    ("tf32_tensor", "bf16_tensor", 0.5),
    ("fp8_tensor", "fp16_tensor", 2),
    ("int4_tensor", "int8_tensor", 2),
    ("int1_tensor", "int8_tensor", 8),
    ("fp64_tensor", "fp64", 2),
)
RATIOS_APART = {
    ("b200", "fp64_tensor"): "Blackwell's tensor cores run fp64 at the ordinary rate",
    ("gb200", "fp64_tensor"): "Blackwell's tensor cores run fp64 at the ordinary rate",
    ("h20", "fp64_tensor"): "cut to 1 TFLOP/s both",
    ("h20-3e", "fp64_tensor"): "cut to 1 TFLOP/s both",
    ("h800-sxm", "fp64_tensor"): "cut to 1 TFLOP/s both",
}
# GPUs of one chip and bus width whose L2 differs, each with its reason.
L2_APART = {
    ("AD102", 384): "RTX 4090 and RTX 5880 Ada have 72 MiB of 96",
    ("AD103", 256): "RTX 4070 Ti SUPER has 48 MiB of 64",
    ("AD104", 192): "RTX 4070 has 36 MiB of 48",
    ("AD107", 128): "RTX 4060 has 24 MiB of 32, its laptop part all",
    ("GB202", 512): "RTX 5090 has 96 MiB of 128",
    ("GB203", 256): "RTX 5070 Ti has 48 MiB of 64",
    ("GB207", 128): "RTX 5050 has 24 MiB of 32, its laptop part all",
    ("GM204", 256): "GTX 970 has 1.75 MiB of 2",
}


def _off(value: float, reference: float) -> float:
    return abs(value / reference - 1)


def _computed(gpu: dict[str, Any]) -> dict[str, float]:
    if "boost_clock_mhz" not in gpu:
        return {}
    return computed_peaks(gpu, CAPABILITIES[gpu["compute_capability"]])


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
    assert apart == TENSOR_APART.keys() - {"h20-3e"}  # of which no clock is known


def test_peaks_of_one_entry_stand_to_one_another_as_their_rates_do() -> None:
    apart = {
        (each.id, kind)
        for each in entries()
        for kind, base, ratio in RATIOS
        if {kind, base} <= each.device.peaks.keys()
        and _off(each.device.peaks[kind], ratio * each.device.peaks[base]) > 0.03
    }
    assert apart == RATIOS_APART.keys()


def test_every_peak_is_sms_times_rate_times_clock_unless_published_otherwise() -> None:
    for each in entries():
        computed = _computed(GPUS[each.id])
        published = GPUS[each.id].get("peak_tflops", {})
        for kind, peak in each.device.peaks.items():
            if kind not in published:
                assert _off(peak, computed[kind]) < 1e-9, (each.id, kind)
        if published and each.id in TENSOR_APART:
            assert {kind for kind in each.device.peaks if "tensor" in kind} <= published.keys()


def test_no_tensor_peak_counts_sparsity() -> None:
    for each in entries():
        half, byte = (each.device.peaks.get(f"{kind}_tensor") for kind in ("fp16", "int8"))
        half = each.device.peaks.get("fp16_tensor_fp16_acc", half)
        if half and byte and each.id not in ("b300", "gb300"):  # INT8 cut there
            assert 1.9 < byte / half < 2.1, each.id


def test_faster_peaks_with_fp16_accumulation_are_twice_those_with_fp32() -> None:
    faster = {
        each.id: each.device.peaks["fp16_tensor_fp16_acc"] / each.device.peaks["fp16_tensor"]
        for each in entries()
        if "fp16_tensor_fp16_acc" in each.device.peaks
    }
    assert faster == pytest.approx(dict.fromkeys(faster, 2.0), rel=1e-2)
    assert find("rtx-4090").peaks["fp16_tensor"] == 165.2e12
    assert all(find(id).product_class == "geforce" for id in faster)


def test_l2_of_gpus_with_one_chip_and_bus_width_is_the_same() -> None:
    sizes: dict[tuple[str | None, int | None], set[int]] = {}
    for each in entries():
        device = each.device
        if device.chip and device.l2_bytes:
            sizes.setdefault((device.chip, device.memory_bus_bits), set()).add(device.l2_bytes)
    apart = {twins for twins, some in sizes.items() if len(some) > 1}
    assert apart == L2_APART.keys()


def test_every_entry_has_what_its_users_ask_for_first() -> None:
    for each in entries():
        device = each.device
        assert device.sm_count, each.id
        assert device.memory_bandwidth, each.id
        assert device.integrated or device.pcie_generation, each.id
        engines = "copy engines are not known: give async_engines, or the chip a family"
        assert device.async_engines is not None, f"{each.id}: {engines}"
        assert "fp32" in device.peaks, each.id


def test_what_is_assumed_says_so() -> None:
    t4, g80 = find("t4"), find("8800-gtx")
    assert (t4.async_engines, g80.async_engines) == (3, 0)
    assert t4.sources["async_engines"].startswith("assumed: as other GPUs of the chip TU104")
    assert find("rtx-4090").nvlink_bandwidth == 0
    assert find("a30").nvlink_bandwidth == 200e9
    assert find("rtx-3090").nvlink_bandwidth == 112.5e9
    assert find("rtx-3090").sources["nvlink_bandwidth"].startswith("catalogue: ")


def test_a_gpu_whose_nvlink_is_not_known_says_that_it_has_one() -> None:
    unknown = [each.device for each in entries() if each.device.nvlink_bandwidth is None]
    assert {device.id for device in unknown} == {"a100-sxm-64", "a100x", "a30x", "quadro-gv100"}
    assert all(any("It has NVLink" in note for note in device.notes) for device in unknown)


@pytest.mark.parametrize("gpu", [g for g in GPUS.values() if "lowest_boost_clock_mhz" in g])
def test_a_laptop_says_the_range_of_its_clock(gpu: dict[str, Any]) -> None:
    assert gpu["lowest_boost_clock_mhz"] < gpu["boost_clock_mhz"]
    note = find(gpu["id"]).notes[0]
    assert f"{gpu['lowest_boost_clock_mhz']} and {gpu['boost_clock_mhz']} MHz" in note


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_no_published_figure_is_only_recalled(gpu: dict[str, Any]) -> None:
    for fact in ("peak_tflops", "published_bandwidth_gb_s", "nvlink_gb_s"):
        if fact in gpu:
            named = gpu["source"][fact]
            each = [named] if isinstance(named, str) else named
            assert all(DOCUMENTS[id]["status"] in ("read", "derived") for id in each)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_an_entry_fits_its_capability(gpu: dict[str, Any]) -> None:
    record = CAPABILITIES[gpu["compute_capability"]]
    assert gpu["architecture"] == record["architecture"]
    if "chip" in gpu:
        assert any(chip.startswith(gpu["chip"]) for chip in record["chips"])


def test_every_source_is_a_listed_document_and_every_document_is_used() -> None:
    used = set()
    for record in (*GPUS.values(), *read_families()):
        for named in record["source"].values():
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
        ("rtx-3060", "fp16_tensor", 25.48e12, "peaks.fp16_tensor"),
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
    assert all("tensor" in kind for kind in derived_peaks(wrong, CAPABILITIES["9.0"]))
    wrong["peak_tflops"] = {"int8_tensor": 9}
    assert set(derived_peaks(wrong, CAPABILITIES["9.0"])) == {"fp32", "fp64", "fp16"}
    assert derived_peaks({"sm_count": 10, "class": "test"}, CAPABILITIES["9.0"]) == {}


def test_chips_without_tensor_cores_have_no_tensor_peaks() -> None:
    assert set(find("gtx-1650").peaks) == {"fp32", "fp64", "fp16"}


def test_a_capability_without_rates_derives_nothing() -> None:
    gpu = {"sm_count": 10, "boost_clock_mhz": 1000, "class": "test", "peak_tflops": {"fp32": 9}}
    assert derived_peaks(gpu, CAPABILITIES["8.8"]) == {}
