"""Work of recorded launches on a H200; what the kernels do is known from their source."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.profiles.ncu_work import profiled_work

RECORDED = Path(__file__).parent / "recorded"


def launches(name: str) -> dict[str, dict[str, tuple[str, str]]]:
    with (RECORDED / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    first = next(n for n, row in enumerate(rows) if row and row[0] == "ID")
    head, units = rows[first : first + 2]
    return {
        row[head.index("Kernel Name")].split("(")[0].split("<")[0]: {
            column: (value, unit) for column, value, unit in zip(head, row, units, strict=True)
        }
        for row in rows[first + 2 :]
    }


HAND, TORCH = launches("hand_raw.csv"), launches("torch_raw.csv")


def test_a_library_product_of_4096_squared_matrices() -> None:
    gemm = next(metrics for name, metrics in TORCH.items() if "gemm_f32f32" in name)
    work = profiled_work(gemm)
    assert work is not None
    assert (work.number_type, work.tensor) == (NumberType.FP32, False)
    assert work.flops == pytest.approx(2 * 4096**3, rel=0.002)
    assert work.seconds == pytest.approx(2.680896e-3)


def test_the_same_product_on_tensor_cores_is_counted_exactly() -> None:
    work = profiled_work(next(m for name, m in TORCH.items() if name.startswith("nvjet")))
    assert work is not None
    assert (work.number_type, work.tensor) == (NumberType.FP16, True)
    assert work.flops == 2 * 4096**3
    assert work.bytes == pytest.approx(83.435776e6 + 24.977664e6)


def test_an_elementwise_addition_of_floats() -> None:
    work = profiled_work(HAND["elementwise"])
    assert work is not None
    assert work.flops == pytest.approx(2**26, rel=0.002)  # 256 MiB per array
    assert work.flops / work.bytes == pytest.approx(1 / 12, rel=0.05)


def test_a_transposition_has_no_place_under_a_roofline() -> None:
    assert profiled_work(HAND["transpose_conflict"]) is None


@pytest.mark.parametrize(
    "lost",
    ["gpu__time_duration.sum", "dram__bytes_read.sum", "smsp__cycles_elapsed.avg.per_second"],
)
def test_what_is_missing_is_not_guessed(lost: str) -> None:
    metrics = {name: value for name, value in HAND["elementwise"].items() if name != lost}
    if lost == "dram__bytes_read.sum":
        work = profiled_work(metrics)
        assert work is not None
        assert work.bytes == pytest.approx(4.343321e12 * 0.181344e-3)
        del metrics["dram__bytes.sum.per_second"]
    assert profiled_work(metrics) is None


@pytest.mark.parametrize(
    "printed", [("n/a", "ms"), ("1", "fortnight"), ("-1", "ms"), ("inf", "ms")]
)
def test_what_is_no_number_is_not_known(printed: tuple[str, str]) -> None:
    assert profiled_work({**HAND["elementwise"], "gpu__time_duration.sum": printed}) is None
