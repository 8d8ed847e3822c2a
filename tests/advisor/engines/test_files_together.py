"""Small files go to a worker together: each batch starts a process there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.engines.engine import files_together

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("size", "together"), [(100, 400), (1 << 20, 32), (1 << 30, 8)])
def test_as_many_as_are_worth_a_process(tmp_path: Path, size: int, together: int) -> None:
    file = tmp_path / "a.cubin"
    with file.open("wb") as image:
        image.truncate(size)
    files = [str(file), str(tmp_path / "absent")]
    assert files_together(files, 32 << 20, range(8, 401)) == together


def test_of_no_file_the_least_that_fits(tmp_path: Path) -> None:
    assert files_together([str(tmp_path)], 32 << 20, range(1, 101)) == 1
    assert files_together([], 32 << 20, range(8, 401)) == 8
