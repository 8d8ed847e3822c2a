from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from made_fatbins import fatbin_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def fatbin(tmp_path: Path) -> Callable[[str], str]:
    def make(text: str, name: str = "lib.fatbin") -> str:
        path = tmp_path / name
        path.write_bytes(fatbin_of(text))
        return str(path)

    return make
