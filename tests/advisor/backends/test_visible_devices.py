"""CUDA_VISIBLE_DEVICES, as the driver reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.backends.readings import NvmlGpu
from gpuadvise.advisor.backends.visible_devices import order_is_known, visible
from gpuadvise.advisor.gpu import MigSlice

BOX = tuple(NvmlGpu(index=n, name="A", uuid=f"GPU-{n}{n}aa-b") for n in range(4))
SLICES = tuple(
    NvmlGpu(index=0, uuid=f"MIG-{n}", mig=MigSlice(parent_uuid="GPU-m", parent_name="A"))
    for n in range(2)
)
MIXED = (NvmlGpu(index=0, name="A", uuid="GPU-m", mig_enabled=True), *SLICES, BOX[1])
MIG_ONLY = MIXED[:3]
LOST = (NvmlGpu(index=0, problem="lost"), *BOX[1:])


@pytest.mark.parametrize(
    ("gpus", "mask", "seen"),
    [
        (BOX, None, (0, 1, 2, 3)),
        (BOX, "", ()),
        (BOX, "2,0", (2, 0)),
        (BOX, "1, 3", (1, 3)),
        (BOX, "0,9,1", (0,)),
        (BOX, "-1", ()),
        (BOX, "0,-1,1", (0,)),
        (BOX, "1,1", ()),
        (BOX, "3x", (3,)),
        (BOX, "none", ()),
        (BOX, "NoDevFiles", ()),
        (BOX, "GPU-11", (1,)),
        (BOX, "GPU-22aa-b,GPU-0", (2, 0)),
        (BOX, "GPU-", ()),
        (BOX, "GPU-77", ()),
        (BOX, "9" * 5000, ()),
        (MIXED, None, (3,)),
        (MIG_ONLY, None, (1,)),
        (MIG_ONLY, "0", (1,)),
        (MIG_ONLY, "MIG-1", (2,)),
        (MIG_ONLY[:1], "0", ()),
        (MIG_ONLY[:1], None, ()),
        (LOST, None, (1, 2, 3)),
        (LOST, "0", (1,)),
        ((), "0", ()),
    ],
)
def test_masks(gpus, mask, seen) -> None:
    environ = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    assert visible(gpus, environ) == seen


@given(st.text(alphabet="0123456789,-GPUMIab ", max_size=40))
def test_any_mask_gives_existing_gpus_once(mask: str) -> None:
    seen = visible(MIXED + BOX[2:], {"CUDA_VISIBLE_DEVICES": mask})
    assert len(set(seen)) == len(seen)
    assert all(0 <= n < 6 for n in seen)


def test_order_is_known_for_equal_products_or_when_asked_for() -> None:
    other = NvmlGpu(index=1, name="B")
    assert order_is_known(BOX, {})
    assert not order_is_known((BOX[0], other), {})
    assert order_is_known((BOX[0], other), {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
