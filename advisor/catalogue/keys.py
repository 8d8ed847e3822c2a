"""The keys that an entry of ``gpus/*.toml`` may have, and what each takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MHZ, _KIB, _GIB, _GB = 1e6, 2**10, 2**30, 1e9
CLASSES = ("data-centre", "workstation", "geforce", "titan", "desktop", "embedded")
ARCHITECTURES = (
    "Tesla",
    "Fermi",
    "Kepler",
    "Maxwell",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Ada",
    "Hopper",
    "Blackwell",
)
MEMORIES = (
    "DDR2",
    "DDR3",
    "DDR3L",
    "GDDR3",
    "GDDR5",
    "GDDR5X",
    "GDDR6",
    "GDDR6X",
    "GDDR7",
    "HBM2",
    "HBM2e",
    "HBM3",
    "HBM3e",
    "LPDDR4",
    "LPDDR4X",
    "LPDDR5",
    "LPDDR5X",
)
PEAKS = (
    "fp64",
    "fp32",
    "fp16",
    "fp64_tensor",
    "tf32_tensor",
    "bf16_tensor",
    "fp16_tensor",
    "fp16_tensor_fp16_acc",
    "fp8_tensor",
    "fp8_tensor_fp16_acc",
    "fp6_tensor",
    "fp4_tensor",
    "int8_tensor",
    "int4_tensor",
    "int1_tensor",
)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and text for text in value)


def _is_sources(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _is_texts([named] if isinstance(named, str) else named) for named in value.values()
    )


def _is_peaks(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(peak) for peak in value.values())


# What a value may be -> how people are told so, and the test.
_TAKES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value),
    "whole number": _is_count,
    "number": _is_number,
    "true or false": lambda value: isinstance(value, bool),
    "list of texts": _is_texts,
    "table of numbers": _is_peaks,
    "table of document ids": _is_sources,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryKey:
    """One key: what it *takes* and means, and where its value goes.

    *field* is the one of ``Device`` (None: the entry's own), *scale* takes the value to its base
    unit, *group* is the key of ``[gpu.source]`` that stands for it where it has none of its own.
    """

    takes: str
    meaning: str
    field: str | None = None
    scale: float | None = None
    group: str = "product"
    required: bool = False
    accepted: tuple[str, ...] = ()


def _fact(field: str, takes: str, meaning: str, **more: Any) -> EntryKey:
    return EntryKey(field=field, takes=takes, meaning=meaning, **more)


KEYS: dict[str, EntryKey] = {
    "id": EntryKey(takes="text", required=True, meaning="its own name in the catalogue"),
    "name": EntryKey(takes="text", required=True, meaning="the product's full name"),
    "aliases": EntryKey(
        takes="list of texts", required=True, meaning="other names that belong to this GPU alone"
    ),
    "shared_names": EntryKey(
        takes="list of texts",
        meaning="words that mean several GPUs (`TITAN X`): asking for them is an error that "
        "names all",
    ),
    "driver_names": EntryKey(
        takes="list of texts",
        required=True,
        meaning="what NVML and CUDA call it; several GPUs may share one",
    ),
    "exact_names": EntryKey(
        takes="list of texts",
        meaning="driver names that count letter by letter, because in another case they are "
        "another GPU's (`RTX 2070 Super` is the laptop's, `RTX 2070 SUPER` the card's)",
    ),
    "class": EntryKey(takes="text", required=True, accepted=CLASSES, meaning="the line it is in"),
    "architecture": _fact(
        "architecture", "text", "the generation", required=True, accepted=ARCHITECTURES
    ),
    "chip": _fact("chip", "text", "NVIDIA's name of the chip, such as `GA102`"),
    "compute_capability": _fact("capability", "text", "such as `8.9`", required=True),
    "integrated": _fact("integrated", "true or false", "it shares the host's memory"),
    "coherent_host_memory": _fact(
        "coherent_host_memory", "true or false", "it reads pageable host memory by itself"
    ),
    "sm_count": _fact("sm_count", "whole number", "streaming multiprocessors", required=True),
    "boost_clock_mhz": _fact(
        "sm_clock_hz",
        "number",
        "the SM clock behind published peaks; up to Fermi the shader clock; for laptops the "
        "highest that NVIDIA allows",
        scale=_MHZ,
    ),
    "lowest_boost_clock_mhz": EntryKey(
        takes="number",
        meaning="for laptops: the boost clock at the lowest power that NVIDIA allows; the page "
        "says the range",
    ),
    "driver_max_clock_mhz": _fact(
        "sm_clock_max_hz",
        "number",
        "the driver's own maximum, where a listing was seen",
        scale=_MHZ,
        group="driver",
    ),
    "tensor_peak_clock_mhz": _fact(
        "tensor_clock_hz",
        "number",
        "the lower clock behind the published tensor peaks of Hopper and B200",
        scale=_MHZ,
        group="tensor_clock",
    ),
    "memory_type": _fact("memory_type", "text", "such as `HBM3`", accepted=MEMORIES),
    "memory_gib": _fact(
        "memory_bytes",
        "number",
        "nominal size; a driver shows a little less, with ECC on GDDR about 1/16 less",
        scale=_GIB,
        required=True,
    ),
    "memory_bus_bits": _fact("memory_bus_bits", "whole number", "width of the memory bus"),
    "memory_clock_mhz": _fact(
        "memory_clock_hz",
        "number",
        "the driver's clock: bandwidth = clock x bus / 8 x data rate",
        scale=_MHZ,
    ),
    "memory_data_rate": _fact(
        "memory_data_rate", "whole number", "transfers per clock of the driver"
    ),
    "published_bandwidth_gb_s": _fact(
        "published_bandwidth",
        "number",
        "the document's figure, in 10^9 bytes per second",
        scale=_GB,
        group="published",
    ),
    "l2_kib": _fact("l2_bytes", "number", "size of the L2 cache", scale=_KIB),
    "persisting_l2_kib": _fact(
        "persisting_l2_bytes",
        "number",
        "the part of L2 that accesses can be set to persist in",
        scale=_KIB,
        group="driver",
    ),
    "async_engines": _fact(
        "async_engines", "whole number", "copy engines, the driver's asyncEngineCount"
    ),
    "pcie_generation": _fact("pcie_generation", "whole number", "of its own connector"),
    "pcie_lanes": _fact("pcie_lanes", "whole number", "of its own connector"),
    "nvlink_gb_s": _fact(
        "nvlink_bandwidth",
        "number",
        "NVLink, both directions together; 0: it has none",
        scale=_GB,
        group="published",
    ),
    "ecc": _fact("ecc", "true or false", "its memory has ECC"),
    "power_w": _fact(
        "power_limit_watts",
        "number",
        "power limit of one GPU, also where several share a board; of a laptop the highest",
        scale=1.0,
    ),
    "peak_tflops": EntryKey(
        takes="table of numbers",
        accepted=PEAKS,
        group="published",
        meaning='dense peaks that a document prints; never the figure "with sparsity". Tensor '
        "peaks accumulate in FP32 (integers in INT32); `_fp16_acc`: FP16 accumulation, where it "
        "is faster",
    ),
    "tensor_cores": EntryKey(
        takes="true or false",
        meaning="false: chips of a capability that has them, but not here (GTX 16)",
    ),
    "derive_peaks": EntryKey(
        takes="true or false",
        meaning="false: the capability's rates do not hold for this product (H20)",
    ),
    "without_peaks": EntryKey(
        takes="list of texts",
        accepted=PEAKS,
        meaning="peaks that are cut by an amount that no document gives",
    ),
    "notes": EntryKey(takes="list of texts", meaning="what the reader of its page should know"),
    "source": EntryKey(
        takes="table of document ids",
        required=True,
        meaning="the document of each key, or of the group `product`, by its id in "
        "`sources.toml`; several that agree are a list",
    ),
}


def check_entry(gpu: Mapping[str, Any], where: str) -> None:
    """Raise ValueError that names the GPU, the key and what it takes, unless *gpu* is well made.

    *where* says in which file an entry without an id stands.
    """
    name = gpu.get("id", f"an entry of {where}")
    for key in gpu:
        if key not in KEYS:
            raise ValueError(f"{name}: there is no key {key}; the keys are {and_list([*KEYS])}")
    for key, about in KEYS.items():
        if key not in gpu:
            if about.required:
                raise ValueError(f"{name}: the key {key} is missing ({about.meaning})")
        elif not _TAKES[about.takes](gpu[key]):
            raise ValueError(f"{name}: {key} is a {about.takes}, not {gpu[key]!r}")
        elif about.accepted:
            _check_accepted(name, key, gpu[key], about.accepted)


def _check_accepted(name: str, key: str, value: Any, accepted: tuple[str, ...]) -> None:
    for word in [value] if isinstance(value, str) else value:
        if word not in accepted:
            raise ValueError(f"{name}: {key} can be {and_list(accepted, 'or')}, not {word!r}")


def table() -> str:
    """Return the keys as a Markdown table, as docs/catalogue.md shows them."""
    lines = ["| key | takes | meaning |", "| --- | --- | --- |"]
    for key, about in KEYS.items():
        takes = about.takes + (", required" if about.required else "")
        accepted = ", ".join(f"`{word}`" for word in about.accepted)
        meaning = f"{about.meaning}: {accepted}" if accepted else about.meaning
        lines.append(f"| `{key}` | {takes} | {meaning} |")
    return "\n".join(lines) + "\n"
