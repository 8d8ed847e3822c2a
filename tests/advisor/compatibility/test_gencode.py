from __future__ import annotations

import pytest

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.compatibility.gencode import fix_for


def test_machine_code_for_the_gpu_and_ptx_for_later_ones() -> None:
    fix = fix_for(parse_capability("12.0"))
    assert fix.gencode == (
        "-gencode arch=compute_120,code=sm_120",
        "-gencode arch=compute_120,code=compute_120",
    )
    assert fix.cmake == "-DCMAKE_CUDA_ARCHITECTURES=120"
    assert fix.torch == "TORCH_CUDA_ARCH_LIST=12.0+PTX"
    assert (fix.first_toolkit, fix.last_toolkit) == ((12, 8), None)


@pytest.mark.parametrize(("gpu", "last"), [("6.1", (12, 9)), ("3.7", (11, 8)), ("9.0", None)])
def test_old_gpus_need_an_old_toolkit(gpu: str, last: tuple[int, int] | None) -> None:
    assert fix_for(parse_capability(gpu)).last_toolkit == last
