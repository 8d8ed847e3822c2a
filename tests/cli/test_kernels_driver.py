"""``kernels --driver-check`` on a driver that is simulated, and where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from nvidia_wheels import LIBRARIES, present

from gpuadvise.advisor.backends import choose as chooser
from gpuadvise.advisor.backends import loaded_image
from gpuadvise.advisor.backends.choose import Choice
from gpuadvise.advisor.backends.measure import calls
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.gpu import Gpu, Identity
from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4fillPi(.param .u64 a)
{
  ret;
}
"""
ATTRIBUTES = "NUM_REGS SHARED_SIZE_BYTES LOCAL_SIZE_BYTES MAX_THREADS_PER_BLOCK MAX_DYNAMIC_SHARED_SIZE_BYTES"
Attribute = IntEnum("Attribute", [f"CU_FUNC_ATTRIBUTE_{name}" for name in ATTRIBUTES.split()])


class Error(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_NOT_FOUND = 500


class Driver:
    """As much of a driver as loading an image takes; *known* are the numbers it answers."""

    CUfunction_attribute = Attribute

    def __init__(self) -> None:
        self.known = {"NUM_REGS": 40, "SHARED_SIZE_BYTES": 256, "LOCAL_SIZE_BYTES": 0}
        self.known |= {"MAX_THREADS_PER_BLOCK": 1024}
        self.blocks = 6
        self.functions = {b"_Z4fillPi"}
        self.loads = True
        self.raised: list[int] = []
        self.unloaded = 0

    def __getattr__(self, name: str):
        return lambda *_: (Error.CUDA_SUCCESS, name)

    def cuModuleLoadData(self, image: bytes):
        assert image.endswith(b"\0")
        error = Error.CUDA_SUCCESS if self.loads else Error.CUDA_ERROR_INVALID_IMAGE
        return error, "module"

    def cuModuleUnload(self, module: str):
        self.unloaded += 1
        return (Error.CUDA_SUCCESS,)

    def cuModuleGetFunction(self, module: str, name: bytes):
        found = name in self.functions
        return (Error.CUDA_SUCCESS if found else Error.CUDA_ERROR_NOT_FOUND), name

    def cuFuncGetAttribute(self, attribute: Attribute, function: bytes):
        return Error.CUDA_SUCCESS, self.known[attribute.name.removeprefix("CU_FUNC_ATTRIBUTE_")]

    def cuFuncSetAttribute(self, function: bytes, attribute: Attribute, value: int):
        self.raised.append(value)
        return (Error.CUDA_SUCCESS,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: bytes, threads: int, smem: int):
        return Error.CUDA_SUCCESS, self.blocks


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    simulated = Driver()
    monkeypatch.setattr(calls, "driver", lambda: simulated)
    monkeypatch.setattr(loaded_image, "driver", lambda: simulated)
    device = replace(find("h100-sxm"), origin=Origin.LIVE)
    live = Choice(device=device, gpu=Gpu(device=device, identity=Identity(cuda_index=0)))
    monkeypatch.setattr(chooser, "choose", lambda **given: live)
    return simulated


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A build log: our side of the comparison, with numbers of our choice."""
    path = tmp_path / "build.log"
    path.write_text(
        "ptxas info    : Compiling entry function '_Z4fillPi' for 'sm_90'\n"
        "ptxas info    : Function properties for _Z4fillPi\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem\n"
    )
    return str(path)


def checked(cli, *args: str) -> dict:
    ran = cli("kernels", *args, "--driver-check", "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("kernels"))).validate(document)
    return document["result"]["driver_check"]


def test_agreement(cli, driver: Driver, log: str) -> None:
    found = checked(cli, log, "--block", "256")
    assert (found["compared"], found["differences"]) == (1, [])
    assert found["kernels"][0]["blocks_per_sm"] == 6
    assert driver.unloaded == 1
    assert (
        "The driver says the same of 1 kernel."
        in cli("kernels", log, "--block", "256", "--driver-check").out
    )


def test_differences(cli, driver: Driver, log: str) -> None:
    driver.blocks = 5
    driver.known["NUM_REGS"] = 48
    found = checked(cli, log, "--block", "256")
    assert {(one["field"], one["ours"], one["driver"]) for one in found["differences"]} == {
        ("registers", 40, 48),
        ("blocks_per_sm", 6, 5),
    }
    page = cli("kernels", log, "--block", "256", "--driver-check").out
    assert "_Z4fillPi: registers 40, the driver 48" in page


def test_large_dynamic_memory_is_opted_in(cli, driver: Driver, log: str) -> None:
    driver.blocks = 2
    assert checked(cli, log, "--block", "256", "--dynamic-smem", "100K")["differences"] == []
    assert driver.raised == [102400]


def test_a_kernel_the_driver_does_not_find(cli, driver: Driver, log: str) -> None:
    driver.functions = set()
    found = checked(cli, log)
    assert found["compared"] == 0
    assert found["kernels"][0]["problem"] == "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND."
    assert "NOT_FOUND" in cli("kernels", log, "--driver-check").out


def test_ptx_has_no_numbers_of_ours(cli, driver: Driver, tmp_path: Path) -> None:
    driver.known["SHARED_SIZE_BYTES"] = 0
    path = tmp_path / "k.ptx"
    path.write_text(PTX)
    found = checked(cli, str(path))
    assert found["differences"] == []
    assert found["kernels"][0]["registers"] == 40


def test_an_image_that_does_not_load(cli, driver: Driver, log: str) -> None:
    driver.loads = False
    ran = cli("kernels", log, "--driver-check")
    assert (ran.code, ran.out) == (3, "")
    assert "CUDA_ERROR_INVALID_IMAGE" in ran.err


def test_a_library_is_nothing_a_driver_loads(cli, driver: Driver) -> None:
    library = str(present(LIBRARIES / "libnvjpeg.so.13"))
    ran = cli("kernels", library, "--driver-check")
    assert ran.code == 3
    assert "Give a cubin, fatbin or PTX file" in ran.err


def test_a_gpu_of_the_catalogue_has_no_driver(cli, log: str) -> None:
    ran = cli("kernels", log, "--driver-check", "--gpu", "h100")
    assert (ran.code, ran.out) == (3, "")
    assert "needs a live GPU" in ran.err


def test_rows_have_no_comparison(cli, driver: Driver, log: str) -> None:
    ran = cli("kernels", log, "--driver-check", "--format", "ndjson")
    assert ran.code == 2
    assert "--driver-check has no ndjson form" in ran.err
