"""The standard streams where they are closed, full, or cannot show a character."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell redirects")
NO_SPACE = "error: The answer cannot be written: No space left on device.\n"
PLAIN = "occupancy --regs 32 --block 256 --gpu h100"
WRITERS = [PLAIN, "--help", "--version", "occupancy --help", "gpus", "schema occupancy"]
BATCH = "occupancy --batch - --gpu h100"


def shell(line: str, feed: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run *line* in bash with ``gpuadvise`` as a command."""
    script = f'set -o pipefail; gpuadvise() {{ "{sys.executable}" -m gpuadvise "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        encoding="utf-8",
        input=feed,
        env={**os.environ, "GPUADVISE_GPU": "h100", **env},
        timeout=120,
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full disk to offer")
@pytest.mark.parametrize("args", WRITERS)
def test_a_full_disk_is_a_sentence(args: str) -> None:
    done = shell(f"gpuadvise {args} > /dev/full")
    assert (done.returncode, done.stderr) == (3, NO_SPACE)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full disk to offer")
def test_a_full_disk_ends_a_batch() -> None:
    done = shell(f"gpuadvise {BATCH} > /dev/full", "regs,block\n32,256\n")
    assert (done.returncode, done.stderr) == (3, NO_SPACE)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full disk to offer")
def test_notes_that_cannot_be_written_do_not_cost_the_answer() -> None:
    done = shell(f"gpuadvise {PLAIN.replace(' --gpu h100', '')} --get occupancy 2> /dev/full")
    assert (done.returncode, done.stdout) == (0, "1.0\n")
    assert shell("gpuadvise occupancy --regs x --block 1 2> /dev/full").returncode == 2


@pytest.mark.parametrize("args", WRITERS)
def test_a_closed_output_is_a_sentence(args: str) -> None:
    done = shell(f"gpuadvise {args} >&-")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "error: The answer cannot be written: not writable.\n"


def test_notes_never_take_the_place_of_the_answer() -> None:
    done = shell(f"gpuadvise {PLAIN} --cc 9.0 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(("args", "code"), [(f"{PLAIN} --get occupancy", 0), (BATCH, 0)])
def test_a_closed_input_is_an_empty_one(args: str, code: int) -> None:
    done = shell(f"gpuadvise {args} <&-")
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", WRITERS)
def test_a_closed_pipe_is_quiet(args: str) -> None:
    done = shell(f"(sleep 0.3; gpuadvise {args}) | true")
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_character_that_the_output_lacks_is_escaped(encoding: str) -> None:
    done = shell(f"gpuadvise {BATCH}", "regs,block,kernel\n32,256,a→b\n", PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert ("\\u2192" in done.stdout) is (encoding != "utf-8")
