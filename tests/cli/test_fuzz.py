"""A short run of the fuzzer over every target: the same files each time."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

PATH = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
FILES = 12  # of each target


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", PATH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module
    spec.loader.exec_module(module)
    return module


def targets() -> list[str]:
    return sorted(folder.name for folder in (PATH.parents[1] / "tests/fuzz/corpus").iterdir())


def test_every_target_has_files_and_commands(fuzzer: ModuleType) -> None:
    assert targets() == sorted(fuzzer.TARGETS)
    assert sum(path.stat().st_size for path in fuzzer.CORPUS.rglob("*")) < 450_000


@pytest.mark.parametrize("target", targets())
def test_each_kind_of_file_is_answered_before_it_is_mutated(
    target: str, fuzzer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("GPUADVISE_CALIBRATIONS", str(tmp_path / "none.json"))
    room = fuzzer.Room(tmp_path)
    for path in fuzzer.seeds(target):
        if len(path.stem) < 40:  # longer ones are finds of the fuzzer, refused as they should be
            name = room.file(target, path.read_bytes(), path.suffix)
            lines = fuzzer.TARGETS[target]
            assert {fuzzer.run(fuzzer.words_of(line, name))[0] for line in lines} & {0, 1}, path


@pytest.mark.parametrize("target", targets())
def test_mutated_files_are_answered_or_refused(
    target: str, fuzzer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUADVISE_CALIBRATIONS", str(tmp_path / "none.json"))
    monkeypatch.syspath_prepend(str(tmp_path))
    room, rng = fuzzer.Room(tmp_path), random.Random(target)
    for path in fuzzer.seeds(target):
        assert list(room.faults(target, path.read_bytes(), path.suffix, twice=True)) == []
    for number in range(FILES):
        path = rng.choice(fuzzer.seeds(target))
        data = fuzzer.mutated(path.read_bytes(), rng)
        assert list(room.faults(target, data, path.suffix, twice=number == 0)) == [], data[:500]


def test_a_fault_is_seen(fuzzer: ModuleType, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    room = fuzzer.Room(tmp_path)
    monkeypatch.setattr(fuzzer, "run", lambda words: (0, "\x1b[31m", "gpuadvise itself failed"))
    seen = [fault.what for fault in room.faults("batch", b"regs,block\n", ".csv")]
    assert set(seen) == {"gpuadvise itself failed", "it printed a control character"}
    monkeypatch.setattr(fuzzer, "run", lambda words: (7, "", ""))
    assert "exit code 7" in [f.what for f in room.faults("batch", b"regs,block\n", ".csv")]
