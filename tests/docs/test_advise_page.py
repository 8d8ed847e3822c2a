"""The shell of docs/advise.md runs as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "advise.md"


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell runs the example")
def test_the_baseline_works_as_printed(tmp_path: Path) -> None:
    [script] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    program = tmp_path / "gpuadvise"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuadvise "$@"\n')
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nothing new, 1 finding in the baseline" in done.stdout
    assert "[tiny-blocks]" in done.stdout
