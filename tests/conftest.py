"""Golden files, the command line as a function, and the mark for hardware."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

GOLDEN = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(GOLDEN, action="store_true", help="rewrite golden files; read the diff")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path("/dev/nvidiactl").exists():
        return
    no_gpu = pytest.mark.skip(reason="no NVIDIA GPU in this machine")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


@dataclass(frozen=True)
class Ran:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run the command line in this process: ``cli("occupancy", "--regs", "32")``."""
    from gpuadvise.cli.main import main

    monkeypatch.delenv("GPUADVISE_GPU", raising=False)

    def run(*args: str) -> Ran:
        code = main(list(args))
        out, err = capsys.readouterr()
        return Ran(int(code), out, err)

    return run


@pytest.fixture
def process():
    """Run the installed program as a process of its own, as a shell would."""

    def run(*args: str | bytes, **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *args],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **env},
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare a text with ``golden/<name>`` beside the test, or rewrite that file."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption(GOLDEN):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8"), f"rerun with {GOLDEN} and read the diff"

    return check
