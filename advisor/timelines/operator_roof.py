"""What a GPU attains for an operator's work: the lower of its arithmetic and its memory's roof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.peaks import peak

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.modules import TracedModule
    from gpuadvise.advisor.timelines.traced_operator import TracedOperator

_TYPES = {
    "double": NumberType.FP64,
    "float": NumberType.FP32,
    "half": NumberType.FP16,
    "bfloat16": NumberType.BF16,
}


def share_of_roof(operator: TracedOperator, device: Device) -> float | None:
    """Return the rate of *operator* as a share of what *device* attains; None where it is not known."""
    work = operator.work
    seconds = operator.seconds / operator.calls if operator.calls else 0.0
    if not seconds:
        return None
    least = []
    if work.bytes and device.memory_bandwidth:
        least.append(work.bytes / device.memory_bandwidth)
    if work.flops and (rate := _peak(operator, device)):
        least.append(work.flops / rate)
    return max(least) / seconds if least else None


def module_share_of_roof(module: TracedModule, device: Device) -> float | None:
    """Return the share of the roof of the operators of *module* that have one, by their time."""
    known = [(share_of_roof(one, device), one.total_ns) for one in module.operators]
    shares = [(share, total_ns) for share, total_ns in known if share is not None]
    total = sum(total_ns for _, total_ns in shares)
    return sum(share * total_ns for share, total_ns in shares) / total if total else None


def _peak(operator: TracedOperator, device: Device) -> float | None:
    dtype = (operator.call.dtype or "").lower().removeprefix("c10::")
    number_type = _TYPES.get(dtype)
    if number_type is None:
        return None
    # An operator's kernels are seldom all of one kind: cuDNN converts layouts beside its products.
    tensor = operator.tensor_ns > 0
    if tensor and number_type is NumberType.FP32:
        number_type = NumberType.TF32
    try:
        return peak(device, number_type, tensor=tensor).rate
    except BadInput:
        return None
