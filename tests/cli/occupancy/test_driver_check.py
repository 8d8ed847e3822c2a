from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpuadvise.advisor.backends.choose import Choice
from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.gpu import Gpu, Identity
from gpuadvise.cli.occupancy.driver_check import compared, driver_sentence

LIVE = replace(find("h200"), origin=Origin.LIVE)
UUID = "GPU-00000000-0000-0000-0000-000000000000"
# A few attributes as the driver of an H200 tells them.
H200 = {
    "warp_size": 32,
    "max_threads_per_multiprocessor": 2048,
    "max_blocks_per_multiprocessor": 32,
    "max_registers_per_multiprocessor": 65536,
    "max_shared_memory_per_multiprocessor": 233472,
    "reserved_shared_memory_per_block": 1024,
}


def choice(**identity: str) -> Choice:
    return Choice(device=LIVE, gpu=Gpu(device=LIVE, identity=Identity(**identity)))


def report(**more: int) -> DriverReport:
    gpu = DriverGpu(cuda_index=0, uuid=UUID, pci_bus_id="0000:06:00.0", attributes={**H200, **more})
    return DriverReport(gpus=(gpu,))


def test_a_driver_that_agrees() -> None:
    check = compared(choice(uuid=UUID), report())
    assert check["differences"] == []
    assert "agrees with all 7 limits" in driver_sentence(check)


def test_a_driver_that_differs() -> None:
    check = compared(
        choice(pci_bus_id="00000000:06:00.0"), report(max_blocks_per_multiprocessor=24)
    )
    assert check["differences"] == [{"limit": "max_blocks_per_sm", "model": 32, "driver": 24}]
    assert driver_sentence(check).endswith("max_blocks_per_sm is 24, not 32.")


@pytest.mark.parametrize(
    "identity", [{}, {"uuid": UUID.replace("0", "1")}, {"pci_bus_id": "0000:07:00.0"}]
)
def test_a_driver_that_does_not_show_the_gpu(identity: dict[str, str]) -> None:
    with pytest.raises(Unavailable, match="does not show"):
        compared(choice(**identity), report())


def test_a_driver_that_does_not_answer() -> None:
    with pytest.raises(Unavailable, match="no driver here"):
        compared(choice(uuid=UUID), DriverReport(problem="There is no driver here."))


@pytest.mark.gpu
def test_on_a_real_gpu(process) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--driver-check", "--format", "json")
    ran = process(*args)
    assert ran.code == 0
    check = json.loads(ran.out)["result"]["driver_check"]
    assert check["compared"] >= 10
    assert check["differences"] == []
