"""Results that lint keeps: the same answer, anew where anything that decides changes, and never an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from gpuadvise.advisor.backends import content_cache
from gpuadvise.advisor.backends.content_cache import ContentCache, cache_folder
from gpuadvise.cli.lint import cache, gather

CASES = Path(__file__).parent.parent / "advisor" / "source" / "cases"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results, in which also those of quick files are kept."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("GPUADVISE_CACHE", str(folder))
    monkeypatch.setattr(gather, "_WORTH_KEEPING", 0)
    return folder


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "src"
    shutil.copytree(CASES, folder)
    monkeypatch.chdir(folder)
    return folder


def results(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.usefixtures("sources")
@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_a_second_run_says_the_same_and_reads_no_source(
    cli, kept: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("lint", ".", "--jobs", "1", "--format", form)
    anew = cli(*line, "--no-cache")
    assert not kept.exists()
    assert cli(*line) == anew
    assert len(results(kept)) > 50

    def unread(*_: object, **__: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr("gpuadvise.rules.source.lint.lint_cuda", unread)
    monkeypatch.setattr("gpuadvise.rules.source.lint.lint_python", unread)
    assert cli(*line) == anew


SLOW = """\
#include "a.h"
__global__ void k(float *a, float x, int n) {
  float sum = x * 0.3;
  for (int i = 0; i < n; ++i) sum += expf(a[i]);
  a[threadIdx.x] = sum;
}
"""


def test_what_decides_is_part_of_the_key(cli, kept: Path, sources: Path) -> None:
    source = sources / "new.cu"
    source.write_text(SLOW)
    line = ("lint", "new.cu", "--format", "csv")
    first = cli(*line)
    assert "implicit-double" in first.out
    count = len(results(kept))
    assert cli(*line) == first
    assert len(results(kept)) == count
    source.write_text(SLOW.replace("0.3", "0.3f"))  # content
    assert "implicit-double" not in cli(*line).out
    source.write_text(SLOW)
    assert "implicit-double" not in cli(*line, "--ignore", "implicit-double").out  # rules
    assert cli(*line) == first
    (sources / "gpuadvise.toml").write_text('ignore = ["implicit-double"]')  # settings
    assert "implicit-double" not in cli(*line).out
    (sources / "gpuadvise.toml").unlink()
    source.rename(sources / "other.cu")  # path
    renamed = cli("lint", "other.cu", "--format", "csv").out
    assert renamed.count("other.cu,") == first.out.count("new.cu,") > 0
    assert "new.cu" not in renamed


def test_a_changed_build_is_seen(cli, kept: Path, sources: Path) -> None:
    """What is read beside a source, the files of its build, counts; headers are not read."""
    folder = sources / "program"
    folder.mkdir()
    (folder / "a.cu").write_text(SLOW)
    line = ("lint", str(folder), "--format", "csv", "--select", "slow-math,general-math-functions")
    answers = []
    for flags in ("", "-use_fast_math", ""):
        (folder / "Makefile").write_text(f"NVCCFLAGS = {flags}\n")
        anew = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *line, "--no-cache"], capture_output=True, text=True, check=False
        ).stdout  # fmt: skip
        again = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *line], capture_output=True, text=True, check=False
        ).stdout  # fmt: skip
        assert again == anew
        answers.append(anew)
    assert answers[0] == answers[2] != answers[1]
    (folder / "a.h").write_text("#define other\n")
    assert cli(*line).out == answers[0]


def test_another_program_uses_no_results_of_this_one(
    cli, kept: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("lint", str(sources), "--jobs", "1")
    before = set(results(kept))
    monkeypatch.setattr(cache, "program", lambda: ("another",))
    cli("lint", str(sources), "--jobs", "1")
    assert len(set(results(kept)) - before) == len(before)


def forged(content: bytes) -> bytes:
    return sha256(content).digest() + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"cut",
        os.urandom(300),
        forged(b""),
        forged(b"{"),
        forged(b"[" * 30_000),
        forged(b'{"file": 3, "diagnostics": []}'),
        forged(b'{"file": "elsewhere.cu", "diagnostics": []}'),
        forged(b'{"file": "slow-math.cu", "diagnostics": [{"rule": []}]}'),
        forged(b"cos\nsystem\n(S'touch hacked'\ntR."),
        forged(b"9" * 100_000),
    ],
)
def test_damaged_and_hostile_results_are_none(
    cli, kept: Path, sources: Path, content: bytes
) -> None:
    line = ("lint", "slow-math.cu", "--format", "json")
    right = cli(*line)
    (path,) = results(kept)
    path.write_bytes(content)
    assert cli(*line) == right
    assert cli(*line) == right
    assert not (sources / "hacked").exists()


@pytest.mark.usefixtures("sources")
def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUADVISE_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(gather, "_WORTH_KEEPING", 0)
    assert cli("lint", "slow-math.cu") == cli("lint", "slow-math.cu", "--no-cache")


def test_runs_beside_each_other(kept: Path, sources: Path) -> None:
    line = [sys.executable, "-m", "gpuadvise", "lint", str(sources), "--jobs", "2"]
    runs = [
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)
    ]
    first, second = (run.communicate(timeout=120)[0] for run in runs)
    again = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert first == second == again.stdout
    assert not [path for path in results(kept) if path.name.endswith(".new")]


def test_a_cache_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_cache, "_LARGEST_SHARD", 4000)
    kept = ContentCache(str(tmp_path))
    for number in range(200):
        kept.put(f"ab{number % 16:x}{number:060x}", bytes(100))
        assert sum(path.stat().st_size for path in results(tmp_path)) < 4000 + 16 * 132
    assert kept.get(f"ab{199 % 16:x}{199:060x}") == bytes(100)
    assert kept.get(f"ab0{0:060x}") is None
    kept.put("ff" * 32, bytes(1 << 20))
    assert kept.get("ff" * 32) is None


def test_where_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder({"GPUADVISE_CACHE": "/x"}) == "/x"
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == "/c/gpuadvise"
    assert cache_folder({}).endswith("/.cache/gpuadvise")
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder({"LOCALAPPDATA": "/l"}) == os.path.join("/l", "gpuadvise")
