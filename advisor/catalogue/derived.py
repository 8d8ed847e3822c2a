"""Peaks that follow from SMs, clock and rates where no document was found to print them."""

from __future__ import annotations

from typing import Any

# A published FP32 peak further than this from SMs x rate x 2 x clock speaks of another clock
# or of cut rates: then nothing is derived for that GPU.
AGREES = 0.02
_PLAIN = {"fp32": "fp32_fma", "fp64": "fp64_fma", "fp16": "fp16_fma"}
_MHZ = 1e6


def derived_peaks(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, float]:
    """Return dense FLOP/s by kind (``fp32``, ``bf16_tensor``) of one TOML entry.

    *capability* is the record of its compute capability. Empty where SM count or clock is not
    known, or where the published FP32 peak contradicts them.
    """
    if "sm_count" not in gpu or "boost_clock_mhz" not in gpu:
        return {}
    if not gpu.get("derive_peaks", True) or _contradicted(gpu, capability):
        return {}
    rates = _rates(gpu, capability)
    return {kind: _peak(gpu, kind, rate) for kind, rate in rates.items()}


def _contradicted(gpu: dict[str, Any], capability: dict[str, Any]) -> bool:
    published: float | None = gpu.get("peak_tflops", {}).get("fp32")
    rate: int | None = capability.get("throughput", {}).get("fp32_fma")
    if published is None or rate is None:
        return False
    return abs(_peak(gpu, "fp32", rate) / (published * 1e12) - 1) > AGREES


def _peak(gpu: dict[str, Any], kind: str, rate: int) -> float:
    clock = gpu["boost_clock_mhz"]
    if "tensor" in kind:
        clock = gpu.get("tensor_peak_clock_mhz", clock)
    return float(2 * rate * gpu["sm_count"] * clock * _MHZ)


def _rates(gpu: dict[str, Any], capability: dict[str, Any]) -> dict[str, int]:
    plain = capability.get("throughput", {})
    rates = {kind: _rate(gpu, plain, name) for kind, name in _PLAIN.items() if name in plain}
    if not gpu.get("tensor_cores", True):
        return rates
    tensor = capability.get("tensor_dense_fma", {})
    for name in tensor:
        base, geforce, _ = name.partition("_acc32_geforce")
        if geforce and gpu["class"] == "geforce":
            rates[f"{base}_tensor_fp32_acc"] = tensor[name]
        elif not name.endswith("_geforce"):
            rates[f"{name}_tensor"] = _rate(gpu, tensor, name)
    return rates


def _rate(gpu: dict[str, Any], rates: dict[str, int], name: str) -> int:
    geforce = f"{name}_geforce" if gpu["class"] == "geforce" else name
    return rates.get(geforce, rates[name])
