"""The standard streams where they are closed, full, or cannot show a character."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(("args", "code"), [(f"{PLAIN} --get occupancy", 0), (BATCH, 2)])
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


MANY = "occupancy --regs 32 --block 256 --all-cc --format json"
BUFFERING = [{}, {"PYTHONUNBUFFERED": "1"}]


@pytest.mark.parametrize("env", BUFFERING)
@pytest.mark.parametrize("args", ["gpus --format json", MANY, "schema kernels"])
def test_output_is_complete_or_the_exit_code_says_so(
    args: str, env: dict[str, str], tmp_path: Path
) -> None:
    whole = shell(f"gpuadvise {args}").stdout
    out = tmp_path / "out"
    limit = len(whole.encode()) // 2048  # KiB: half of it
    cut = shell(f"trap '' XFSZ; ulimit -f {limit}; gpuadvise {args} > {out}", **env)
    assert out.stat().st_size < len(whole.encode())
    assert cut.returncode == 3
    assert "The answer cannot be written: " in cut.stderr.splitlines()[0]


@pytest.mark.parametrize("env", BUFFERING)
def test_a_stopped_process_loses_nothing(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "gpuadvise", "gpus", "--format", "json"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(whole) > 2 * 65536  # more than a pipe holds
    running = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **env})
    assert running.stdout
    start = running.stdout.read(1)  # now it waits for the full pipe
    time.sleep(0.2)
    running.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    running.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    assert start + running.stdout.read() == whole
    running.stdout.close()
    assert running.wait() == 0


@pytest.mark.parametrize("env", BUFFERING)
def test_a_pipe_that_does_not_block_gets_everything(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "gpuadvise", "gpus", "--format", "json"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(command, stdout=writer, env={**os.environ, **env}) as running:
        os.close(writer)
        time.sleep(0.5)
        with os.fdopen(reader, "rb") as file:
            assert file.read() == whole
    assert running.returncode == 0


@pytest.mark.parametrize("env", BUFFERING)
def test_a_reader_that_leaves_midway_is_quiet(env: dict[str, str]) -> None:
    done = shell("gpuadvise gpus --format json | head -c 1", **env)
    assert (done.returncode, done.stdout, done.stderr) == (141, "{", "")


@pytest.mark.parametrize(
    "args",
    [
        "advise --regs 32 --block 256 --gpu h100",
        PLAIN,
        "rules",
        "gpus",
        "kernels no.cubin",
        "compat no.so --gpu l4",
        "diff a.cubin b.cubin",
        "advise kernel.toml",
        "completion bash",
        "lint no.cu",
        "timeline no.json",
        "whatif no.cu --arch sm_90",
        "scaling --parallel 75%",
    ],
)
def test_a_deleted_working_directory_is_no_traceback(args: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    done = shell(f"mkdir {gone}; cd {gone}; rmdir {gone}; gpuadvise {args}")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("option", "env", "colour"),
    [
        ("", {}, False),
        ("", {"FORCE_COLOR": "1"}, True),
        ("", {"FORCE_COLOR": "0"}, False),
        ("", {"CLICOLOR_FORCE": "1"}, True),
        ("", {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ("--color always", {"NO_COLOR": "1"}, True),
        ("--color never", {"FORCE_COLOR": "1"}, False),
        ("--color auto", {}, False),
    ],
)
def test_colour_in_a_pipe(option: str, env: dict[str, str], colour: bool) -> None:
    quiet = {"FORCE_COLOR": "", "CLICOLOR_FORCE": "", "NO_COLOR": "", "COLUMNS": ""}
    done = shell(f"gpuadvise {PLAIN} {option}", **{**quiet, **env})
    assert done.returncode == 0
    assert (ESCAPE in done.stdout) is colour
    bare = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert "100 % occupancy: 8 blocks and 64 of 64 warps per SM." in bare


def test_an_unknown_colour_is_a_sentence() -> None:
    done = shell(f"gpuadvise {PLAIN} --color blue")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        'error: --color: "blue" is not a choice.',
    )
