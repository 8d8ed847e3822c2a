"""From a name to a GPU: forgiving, but never a guess."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import (
    DEFAULT_GPU,
    CatalogueEntry,
    by_capability,
    candidates,
    entries,
    find,
    identify,
    with_capability,
)
from gpuadvise.advisor.catalogue.entries import names_of
from gpuadvise.advisor.catalogue.files import line_of, text_of
from gpuadvise.advisor.catalogue.generate import name_index
from gpuadvise.advisor.catalogue.lookup import nearest, search
from gpuadvise.advisor.catalogue.names import key, words
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import BadInput

GIB = 2**30
KERNEL_MODULES = tomllib.loads(
    Path(__file__).with_name("kernel_module_names.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("h100", "h100-sxm"),
        ("H100 SXM", "h100-sxm"),
        ("h100-sxm5", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("h100 pcie", "h100-pcie"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("h200", "h200-sxm"),
        ("a100", "a100-sxm4-80"),
        ("A100 40GB", "a100-sxm4-40"),
        ("a100-pcie-40gb", "a100-pcie-40"),
        ("v100", "v100-sxm2-16"),
        ("v100 32 GB", "v100-sxm2-32"),
        ("v100s", "v100s"),
        ("Tesla T4", "t4"),
        ("A10G", "a10g"),
        ("rtx4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("geforce 4070ti", "rtx-4070-ti"),
        ("4070 SUPER", "rtx-4070-super"),
        ("3080 10GB", "rtx-3080-10gb"),
        ("rtx a6000", "rtx-a6000"),
        ("a6000", "rtx-a6000"),
        ("rtx 6000 ada", "rtx-6000-ada"),
        ("quadro rtx 6000", "quadro-rtx-6000"),
        ("p6000", "quadro-p6000"),
        ("gtx1060", "gtx-1060-6gb"),
        ("orin", "jetson-agx-orin-64"),
        ("orin nano", "jetson-orin-nano-8"),
        ("gb10", "dgx-spark"),
        ("m2090", "tesla-m2090"),
        ("fx570", "quadro-fx-570"),
        ("8800gtx", "8800-gtx"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
        ("rtx 4090 mobile", "rtx-4090-laptop"),
        ("4060 Ti 16GB", "rtx-4060-ti-16gb"),
        ("4060 ti", "rtx-4060-ti"),
        ("Quadro RTX 4000", "quadro-rtx-4000"),
        ("4080S", "rtx-4080-super"),
        ("gtx 1660s", "gtx-1660-super"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80"),
        ("V100-SXM2-16GB", "v100-sxm2-16"),
        ("GeForce GTX 1080 Ti", "gtx-1080-ti"),
        ("L40S", "l40s"),
        ("gh200", "gh200-96"),
    ],
)
def test_people_write_names_in_many_ways(name: str, id: str) -> None:
    assert find(name).id == id


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rtx a4", '"rtx a4" is no GPU of the catalogue.'),
        ("rtx 6000", None),
        ("rtx 4000", None),
        ("titan x", '"titan x" can be titan-x-pascal or gtx-titan-x.'),
        ("tegra x1", '"tegra x1" can be jetson-nano, jetson-tx1 or jetson-nano-2gb.'),
        ("hopper", '"hopper" is no GPU of the catalogue.'),
        ("", '"" is no GPU of the catalogue.'),
        ("860", '"860" is no GPU of the catalogue.'),
        ("4.0", '"4.0" is no GPU of the catalogue.'),
        ("h100π", '"h100π" is no GPU of the catalogue.'),
        ("pascal", '"pascal" is no GPU of the catalogue.'),
        ("ampere", '"ampere" is no GPU of the catalogue.'),
        ("NVIDIA H100 80GB HBM3 MIG 1g.12gb", None),
        ("x" * 10_000_000, None),
    ],
)
def test_several_or_none_is_bad_input(name: str, message: str | None) -> None:
    with pytest.raises(BadInput) as error:
        find(name)
    assert message is None or error.value.message == message
    assert len(error.value.message) < 200


def test_a_word_that_many_share_names_some_of_them() -> None:
    with pytest.raises(BadInput) as error:
        find("jetson 8gb")
    assert error.value.message.startswith('"jetson 8gb" can be jetson-')
    with pytest.raises(BadInput, match="among others"):
        find("12gb")


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    with pytest.raises(BadInput) as error:
        find("rtx4099")
    assert error.value.hint is not None
    assert error.value.hint.startswith("Nearest: rtx-4090")
    with pytest.raises(BadInput) as error:
        find("???")
    assert error.value.hint == "gpuadvise gpus lists them all."


@pytest.mark.parametrize(
    ("text", "first"),
    [("hoper", "hopper"), ("blackwel", "blackwell"), ("rtx4009", "rtx-4090")],
)
def test_a_slip_is_answered_with_what_was_meant(text: str, first: str) -> None:
    assert nearest(text).startswith(f"Nearest: {first}")


def test_an_architecture_is_named_only_where_the_word_is_close_to_it() -> None:
    assert "ampere" not in nearest("rtx4099")


def test_a_word_of_the_catalogue_that_is_no_name_is_said_to_describe() -> None:
    with pytest.raises(BadInput) as error:
        find("ampere")
    assert error.value.hint is not None
    assert error.value.hint.startswith("It describes 78 GPUs")
    with pytest.raises(BadInput) as error:
        find("laptop volta")
    assert "describes" not in str(error.value.hint)


@pytest.mark.parametrize("text", ["0", "-1", "³", "24"])
def test_a_bare_number_is_no_size_of_memory(text: str) -> None:
    with pytest.raises(BadInput, match=f'^"{text}" is no GPU'):
        find(text)


def test_a_bare_capability_is_no_part_of_a_driver_name() -> None:
    assert find("120").capability == Capability(12, 0)  # not the GH200 120GB


@pytest.mark.parametrize("text", ["9.0", "90", "sm_90a", "compute_90", "sm90", "SM-90", "cc 9.0"])
def test_a_capability_is_a_gpu_without_product_facts(text: str) -> None:
    device = find(text)
    assert device.capability.major == 9
    assert device.origin is Origin.CAPABILITY
    assert (device.sm_count, device.memory_bandwidth, device.id) == (None, None, None)
    assert device.architecture == "Hopper"
    assert not device.extrapolated


def test_a_newer_capability_is_extrapolated() -> None:
    device = by_capability(Capability(13, 0))
    assert device.extrapolated
    assert device.architecture is None
    assert find("13.0") == device


def test_the_default_is_in_the_catalogue() -> None:
    assert find(DEFAULT_GPU).id == DEFAULT_GPU


def test_a_name_that_stands_in_the_table_is_its_own_key() -> None:
    names = [name for name in json.loads(text_of("names.json")) if not name.startswith("=")]
    assert all(name.isalnum() and key(name) == name for name in names)
    ids = [each.id for each in entries()]
    assert all(line_of("names.json", key(id)) == [id] for id in ids)


@pytest.mark.parametrize("each", entries(), ids=lambda each: each.id)
def test_every_own_name_finds_its_gpu(each: CatalogueEntry) -> None:
    for name in (each.id, *each.aliases):
        assert find(name) == each.device
    assert each in candidates(each.device.name)
    for name in each.driver_names:  # an alias may give a shared one to the commonest part
        assert any(name in found.driver_names for found in candidates(name))


@given(
    st.sampled_from(entries()),
    st.sampled_from(["", "NVIDIA ", "nvidia corporation ", "Tesla "]),
    st.sampled_from([" ", "-", "_", "  ", "/"]),
    st.booleans(),
    st.sampled_from(["", " ", " GPU", " graphics card"]),
)
def test_case_spacing_and_vendor_words_do_not_matter(
    each: CatalogueEntry, prefix: str, gap: str, upper: bool, suffix: str
) -> None:
    name = each.id.replace("-", gap)
    assert find(prefix + (name.upper() if upper else name) + suffix) == each.device


@given(st.text(max_size=90))
def test_any_text_is_found_or_refused(text: str) -> None:
    try:
        device = find(text)
    except BadInput:
        return
    assert device.limits.warp_size == 32


def test_memory_and_sm_count_tell_shared_driver_names_apart() -> None:
    assert identify("Orin") is None
    assert identify("Orin", sm_count=8, memory_bytes=int(7.4 * GIB)) is None
    module = identify("Orin", sm_count=8, memory_bytes=int(15.3 * GIB))
    assert module is not None
    assert module.id == "jetson-orin-nx-16"


def test_a_driver_name_is_found_without_reading_every_entry() -> None:
    entries.cache_clear()
    for each in (identify("NVIDIA H200"), identify("NVIDIA GeForce RTX 2070 Super")):
        assert each is not None
    assert entries.cache_info().currsize == 0


def test_every_name_of_a_driver_leads_to_those_that_bear_it() -> None:
    bearers: dict[str, list[str]] = {}
    for each in entries():
        for name in dict.fromkeys(map(key, each.driver_names)):
            bearers.setdefault(name, []).append(each.id)
    for each in entries():
        for name in each.driver_names:
            found = identify(name)
            alone = len(bearers[key(name)]) == 1
            assert (found is not None and found.id == each.id) or not alone


def test_a_driver_name_that_the_facts_contradict_is_not_identified() -> None:
    whole = identify("NVIDIA H200", sm_count=132, memory_bytes=150_754_820_096)
    assert whole is not None
    assert whole.id == "h200-sxm"
    assert identify("NVIDIA H200", sm_count=16) is None
    assert identify("NVIDIA H200", memory_bytes=16 * GIB) is None
    assert identify("NVIDIA H300") is None


def _named(id: str, *aliases: str) -> dict[str, object]:
    names = {key: [] for key in ("driver_names", "shared_names", "exact_names")}
    return {"id": id, "name": id, "aliases": list(aliases), **names}


def test_an_alias_of_another_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="x1 names both x1 and x2"):
        name_index([_named("x1"), _named("x2", "X-1")])


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


def test_every_name_of_nvidias_open_kernel_modules_is_right_or_refused() -> None:
    assert len(KERNEL_MODULES) == 222
    for name, id in KERNEL_MODULES.items():
        if id:
            assert find(name).id == id, name
            continue
        with pytest.raises(BadInput) as error:
            find(name)
        assert error.value.hint is not None
        assert error.value.hint.startswith("Nearest: "), name


def _is_laptop(entry: CatalogueEntry) -> bool:
    return any(name.endswith("-laptop") for name in (entry.id, *entry.aliases))


@pytest.mark.parametrize("name", [name for name, id in KERNEL_MODULES.items() if id])
def test_what_a_kernel_module_name_finds_is_no_neighbour(name: str) -> None:
    (found,) = candidates(name)
    known = {word for each in names_of(found) for word in words(each)}
    for word in ("ti", "laptop", "d", "sff", "embedded", "maxq", "ada", "server"):
        assert (word in words(name)) == (word in known) or _is_laptop(found), word
    assert set(words(name)) <= known | {"120", "480"}


@pytest.mark.parametrize(
    "name",
    [
        "GTX 560",
        "Quadro 4000",
        "Quadro 5000",
        "Quadro 6000",
        "H100 SXM4",
        "A100 SXM2",
        "RTX 4070 Ti GDDR7",
        "3080 8gb",
        "GTX 1650 Ti SUPER",
        "H200 PCIe",
        "g99.xlarge",
        "nvidia-h300-80gb",
    ],
)
def test_no_word_that_tells_products_apart_is_supplied(name: str) -> None:
    with pytest.raises(BadInput) as error:
        find(name)
    assert error.value.message == f'"{name}" is no GPU of the catalogue.'


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("GeForce GTX 1050", "gtx-1050"),
        ("NVIDIA GeForce GTX 750", "gtx-750"),
        ("RTX 3060 8GB", "rtx-3060-8gb"),
        ("RTX 4070 GDDR6", "rtx-4070-gddr6"),
        ("RTX 4070 GDDR6X", "rtx-4070"),
        ("Tesla V100-SXM3-32GB", "v100-sxm3-32"),
        ("NVIDIA GeForce RTX 2070 Super", "rtx-2070-super-laptop"),
        ("NVIDIA GeForce RTX 2070 SUPER", "rtx-2070-super"),
        ("rtx 2070 super", "rtx-2070-super"),
        ("H100-80GB", "h100-sxm"),
        ("H100 HBM3 80 GB", "h100-sxm"),
        ("b200-192gb", "b200"),
        ("H20 141GB", "h20-3e"),
        ("GH200 Grace Hopper", "gh200-96"),
        ("rtx4090m", "rtx-4090-laptop"),
        ("4070tis", "rtx-4070-ti-super"),
        ("\uff32\uff34\uff38\u3000\uff14\uff10\uff19\uff10", "rtx-4090"),
        ("h\uff11\uff10\uff10", "h100-sxm"),
        ("GPU 0: Tesla T4", "t4"),
        ("GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-0)", "a100-sxm4-40"),
    ],
)
def test_the_names_of_drivers_shops_and_keyboards(name: str, id: str) -> None:
    assert find(name).id == id


@pytest.mark.parametrize(
    ("machine", "id"),
    [
        ("g5.xlarge", "a10g"),
        ("ml.g5.12xlarge", "a10g"),
        ("g5g.metal", "t4g"),
        ("p5.48xlarge", "h100-sxm"),
        ("p6-b200.48xlarge", "b200"),
        ("a2-highgpu-1g", "a100-sxm4-40"),
        ("a3-megagpu-8g", "h100-sxm"),
        ("g4-standard-48", "rtx-pro-6000-blackwell-server"),
        ("nvidia-tesla-a100", "a100-sxm4-40"),
        ("nvidia-a100-80gb", "a100-sxm4-80"),
        ("nvidia-h100-mega-80gb", "h100-sxm"),
        ("nvidia-rtx-pro-6000", "rtx-pro-6000-blackwell-server"),
        ("Standard_NC24ads_A100_v4", "a100-pcie-80"),
        ("Standard_ND96isr_H100_v5", "h100-sxm"),
        ("VM.GPU.A10.1", "a10"),
        ("BM.GPU.H100.8", "h100-sxm"),
    ],
)
def test_a_cloud_machine_is_the_gpu_in_it(machine: str, id: str) -> None:
    assert find(machine).id == id


def test_a_slice_has_its_share_of_the_gpu() -> None:
    whole, part = find("h100"), find("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    assert (part.id, part.name) == (None, "NVIDIA H100 SXM5 80 GB MIG 1g.10gb")
    assert (part.sm_count, part.async_engines, part.memory_bytes) == (16, 1, 10 * GIB)
    assert part.memory_bandwidth == pytest.approx((whole.memory_bandwidth or 0) / 8)
    assert part.peaks["fp32"] == pytest.approx(whole.peaks["fp32"] * 16 / 132)
    assert find("h100 3g.40gb").sm_count == 60
    assert find("a100 1g.10gb+me").sm_count == 14
    seen = {"1g.18gb": 16, "1g.35gb": 26, "2g.35gb": 32, "3g.71gb": 60, "4g.71gb": 64,
            "7g.141gb": 132}  # fmt: skip
    assert {profile: find(f"h200 {profile}").sm_count for profile in seen} == seen
    assert find("h100-pcie 1g.10gb").sm_count is None
    assert find("h100-pcie 1g.10gb").peaks == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MIG 1g.10gb", '"MIG 1g.10gb" is a slice of a GPU.'),
        ("h100 1g.12gb", 'NVIDIA H100 SXM5 80 GB has no MIG profile "1g.12gb".'),
        ("l4 1g.5gb", "No MIG profiles are known of NVIDIA L4."),
        ("zz 1g.5gb", '"zz" is no GPU of the catalogue.'),
    ],
)
def test_a_slice_that_is_none_is_refused(name: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        find(name)
    assert error.value.message == message


def test_a_name_that_counts_letter_by_letter_is_identified() -> None:
    facts = {"sm_count": 40, "memory_bytes": 8 * GIB}
    laptop = identify("NVIDIA GeForce RTX 2070 Super", **facts)
    card = identify("NVIDIA GeForce RTX 2070 SUPER", **facts)
    assert laptop is not None
    assert card is not None
    assert (laptop.id, card.id) == ("rtx-2070-super-laptop", "rtx-2070-super")


@pytest.mark.parametrize("word", ["geforce", "tesla", "quadro", "nvidia"])
def test_a_brand_lists_its_gpus(word: str) -> None:
    found = search(word)
    assert len(found) >= 20
    assert all(word in " ".join(names_of(each)).lower() or word == "tesla" for each in found)


def test_the_gpus_of_a_capability_are_all_that_have_it() -> None:
    found = with_capability(Capability(8, 9))
    assert {"rtx-4090", "l4"} <= {each.id for each in found}
    assert {str(each.device.capability) for each in found} == {"8.9"}
    assert with_capability(Capability(99, 9)) == ()
