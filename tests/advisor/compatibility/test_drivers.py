from __future__ import annotations

import pytest

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.compatibility.drivers import Driver, parse_driver, why_unsupported
from gpuadvise.advisor.errors import BadInput


@pytest.mark.parametrize(
    ("text", "cuda", "version"),
    [
        ("12.4", (12, 4), None),
        (" 13 ", (13, 0), None),
        ("550.54.14", (12, 4), "550.54.14"),
        ("551.61", (12, 4), "551.61"),  # Windows
        ("R570", (12, 8), "570"),
        ("580", (13, 0), "580"),
        ("999", (13, 5), "999"),  # newer than the table: at least its newest known branch
    ],
)
def test_a_driver_is_named_by_cuda_or_by_its_own_version(
    text: str, cuda: tuple[int, int], version: str | None
) -> None:
    assert parse_driver(text) == Driver(cuda=cuda, version=version)


@pytest.mark.parametrize("text", ["", "new", "12.4.1.2", "1234", "-5", "12,4", "12.4\x1b", "300"])
def test_what_is_no_driver_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_driver(text)
    assert caught.value.hint
    assert "\x1b" not in caught.value.message


def test_a_driver_older_than_the_gpu_is_named() -> None:
    why = why_unsupported(parse_capability("12.0"), parse_driver("550.54.14"))
    assert why == (
        "compute capability 12.0 needs a driver for CUDA 12.8 (driver 570 or later); "
        "this is driver 550.54.14, CUDA 12.4"
    )


def test_a_driver_that_dropped_the_gpu_is_named() -> None:
    why = why_unsupported(parse_capability("6.1"), parse_driver("13.1"))
    assert why == "drivers after CUDA 13.0 no longer support 6.1; this is CUDA 13.1"


def test_a_driver_that_knows_the_gpu_is_no_obstacle() -> None:
    assert why_unsupported(parse_capability("9.0"), parse_driver("12.2")) is None
    assert why_unsupported(parse_capability("6.1"), parse_driver("13.0")) is None
    assert why_unsupported(parse_capability("99"), parse_driver("13.0")) is None
