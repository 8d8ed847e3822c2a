"""The JSON that the program reads is what the TOML says."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuadvise.advisor import catalogue
from gpuadvise.advisor.catalogue.generate import generated, main

FOLDER = Path(catalogue.__file__).parent
GENERATED = generated()


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_up_to_date(name: str) -> None:
    committed = (FOLDER / name).read_text(encoding="utf-8")
    assert committed == GENERATED[name], "run python -m gpuadvise.advisor.catalogue.generate"


def test_generating_writes_every_file(tmp_path: Path) -> None:
    main(tmp_path)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == GENERATED


def test_no_generated_file_is_left_over() -> None:
    data = {path.name for path in FOLDER.iterdir() if path.suffix in (".json", ".jsonl")}
    assert data == GENERATED.keys()
