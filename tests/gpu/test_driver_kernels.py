"""Kernels compiled here against the driver of this machine's GPU: 0 differences."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).parents[1] / "advisor" / "binaries" / "images" / "kernels.cu"


@pytest.fixture(scope="module", params=["-cubin", "-fatbin"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc on this machine")
    path = tmp_path_factory.mktemp("image") / "kernels"
    subprocess.run(
        [nvcc, "-w", request.param, "-arch=native", "-o", path, SOURCE],
        check=True,
        capture_output=True,
    )
    return str(path)


@pytest.mark.parametrize(
    "launch",
    [(), ("--block", "96"), ("--block", "1024"), ("--block", "128", "--dynamic-smem", "60K")],
)
def test_the_driver_says_the_same(image: str, launch: tuple[str, ...], cli) -> None:
    ran = cli("kernels", image, "--driver-check", "--format", "json", *launch)
    assert ran.code == 0, ran.err
    check = json.loads(ran.out)["result"]["driver_check"]
    assert check["compared"] >= 14
    assert check["differences"] == []
