from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuadvise.advisor.binaries.model import Item, Place
from gpuadvise.advisor.binaries.text.build_log import read_log
from gpuadvise.advisor.binaries.text.cuobjdump_listing import read_usage
from gpuadvise.advisor.binaries.text.lines import read_lines, read_pieces
from gpuadvise.advisor.binaries.text.ptx import read_ptx

Reading = Callable[[bytes], list[Item]]
PLACE = Place(path="build.log")


@pytest.fixture
def data() -> Path:
    """Output recorded from NVIDIA's tools."""
    return Path(__file__).parent / "data"


@pytest.fixture
def log() -> Reading:
    return lambda text: list(read_log(read_lines(io.BytesIO(text)), PLACE))


@pytest.fixture
def usage() -> Reading:
    return lambda text: list(read_usage(read_lines(io.BytesIO(text)), PLACE))


@pytest.fixture
def ptx() -> Reading:
    return lambda text: list(read_ptx(read_pieces(io.BytesIO(text)), PLACE))
