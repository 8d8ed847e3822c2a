"""An entry that is not well made is refused with the GPU's name and what is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from gpuadvise.advisor.catalogue.generate import cloud_table, slice_table
from gpuadvise.advisor.catalogue.keys import KEYS, check_entry
from gpuadvise.advisor.catalogue.sources import read_capabilities, read_gpus, record_of
from gpuadvise.advisor.device import Device

ENTRY = {gpu["id"]: gpu for gpu in read_gpus()}["rtx-4090"]
DOCUMENTS = {"page": {"title": "page", "status": "read"}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sm_cuont": 3}, "rtx-4090: there is no key sm_cuont; the keys are id, name, "),
        ({"class": "laptop"}, "rtx-4090: class can be data-centre, .* or embedded, not 'laptop'"),
        ({"memory_type": "GDDR9"}, "rtx-4090: memory_type can be .*, not 'GDDR9'"),
        ({"architecture": "ada"}, "rtx-4090: architecture can be Tesla, .*, not 'ada'"),
        ({"peak_tflops": {"fp31": 1}}, "rtx-4090: peak_tflops can be fp64, .*, not 'fp31'"),
        ({"sm_count": "128"}, "rtx-4090: sm_count is a whole number, not '128'"),
        ({"sm_count": True}, "rtx-4090: sm_count is a whole number, not True"),
        ({"ecc": 1}, "rtx-4090: ecc is a true or false, not 1"),
        ({"aliases": "4090"}, "rtx-4090: aliases is a list of texts, not '4090'"),
    ],
)
def test_a_wrong_key_or_value_names_the_gpu_and_what_is_accepted(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        check_entry({**ENTRY, **change}, "gpus/test.toml")


@pytest.mark.parametrize("key", [key for key, about in KEYS.items() if about.required])
def test_a_missing_key_names_the_gpu_and_the_key(key: str) -> None:
    name = "an entry of gpus/test.toml" if key == "id" else "rtx-4090"
    without = {each: value for each, value in ENTRY.items() if each != key}
    with pytest.raises(ValueError, match=f"^{name}: the key {key} is missing"):
        check_entry(without, "gpus/test.toml")


@pytest.mark.parametrize(
    ("without", "message"),
    [
        (("memory_bus_bits", "published_bandwidth_gb_s"), "an entry needs memory_bandwidth"),
        (("pcie_generation",), "an entry needs a link to the host"),
        (("boost_clock_mhz", "peak_tflops"), "needs the peak bf16_tensor, the peak fp16_tensor, "),
    ],
)
def test_an_entry_without_what_its_users_ask_for_is_refused(
    without: tuple[str, ...], message: str
) -> None:
    gpu = {key: value for key, value in ENTRY.items() if key not in without}
    gpu["source"] = dict.fromkeys(gpu, "page")
    with pytest.raises(ValueError, match=f"^rtx-4090: .*{message}"):
        record_of(gpu, DOCUMENTS, read_capabilities()["8.9"], [])


def test_a_fact_needs_a_source() -> None:
    with pytest.raises(ValueError, match="rtx-4090: architecture has no source"):
        record_of({**ENTRY, "source": {}}, DOCUMENTS, read_capabilities()["8.9"], [])


def test_every_field_of_a_key_is_one_of_device() -> None:
    fields = Device.__dataclass_fields__.keys()
    assert {about.field for about in KEYS.values() if about.field} <= fields


def test_slices_and_clouds_name_gpus_of_the_catalogue() -> None:
    slices = [{"ids": ["x9"], "memory_slices": 8, "profiles": []}]
    with pytest.raises(ValueError, match=r"slices\.toml: no GPU of the catalogue has the id x9"):
        slice_table(slices, {"x1"})
    clouds = [{"pattern": "", "families": {"g9": "x9"}, "size": ""}]
    with pytest.raises(ValueError, match=r"clouds\.toml: no GPU of the catalogue has the id x9"):
        cloud_table(clouds, {"x1"})
