"""Full disks, homes that cannot be written, and none at all: tried as they are, on file systems made for it.

What was asked for is answered; what cannot be kept is said in a sentence; a user's file stays whole.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import exports
import pytest

RECORDED = Path(__file__).parent / "recorded"
PAGE = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv"
SMALL_PAGE = Path(__file__).parents[1] / "fuzz" / "corpus" / "profile" / "raw.csv"
FAULTY = "__global__ void k(float *a, float x) { a[threadIdx.x] = x * 0.3; }\n"
PROGRAM = f"{sys.executable} -m gpuadvise"
MOUNTS = ["unshare", "-rm", "sh", "-ec"]


def can_mount() -> bool:
    if not shutil.which("unshare"):
        return False
    return (
        subprocess.run([*MOUNTS, "mount -t tmpfs none /mnt"], capture_output=True).returncode == 0
    )


pytestmark = pytest.mark.skipif(not can_mount(), reason="no file systems can be made here")


def ran(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run *script* where *folder*/disk is a file system of 64 KiB of its own."""
    (folder / "disk").mkdir(exist_ok=True)
    mounted = f"mount -t tmpfs -o size=64k none {folder}/disk; cd {folder}/disk; set +e; {script}"
    environ = {name: value for name, value in os.environ.items() if name != "GPUADVISE_GPU"}
    done = subprocess.run(
        [*MOUNTS, mounted], capture_output=True, text=True, timeout=120, cwd=folder,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "itself failed" not in done.stderr
    assert "please report" not in done.stderr
    return done


def test_fixes_on_a_full_disk_leave_the_source_whole(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(FAULTY * 60)  # just below a page: mended it takes one more
    done = ran(
        f"cp ../k.cu . && head -c 60000 /dev/zero > fill; {PROGRAM} lint k.cu --fix; echo code $?;"
        " cmp k.cu ../k.cu && ls -A",
        tmp_path,
    )
    assert done.stdout.split() == ["code", "3", "fill", "k.cu"]
    assert done.stderr == 'error: "k.cu": No space left on device.\n'


def test_a_saved_answer_on_a_full_disk_is_no_answer(tmp_path: Path) -> None:
    done = ran(
        f"head -c 64000 /dev/zero > fill; {PROGRAM} kernels {RECORDED}/small.a --json > saved.json;"
        f" echo code $?; rm fill;"
        f" {PROGRAM} kernels {RECORDED}/spilling.log --fail-on-spills --baseline saved.json; echo $?",
        tmp_path,
    )
    assert done.stdout.split() == ["code", "3", "2"]  # a cut answer is no baseline
    assert "The answer cannot be written: No space left on device." in done.stderr


def test_a_picture_on_a_full_disk_leaves_the_old_one(tmp_path: Path) -> None:
    done = ran(
        "echo old > a.svg; head -c 60000 /dev/zero > fill;"
        f" {PROGRAM} occupancy --regs 32 --block 256 --gpu h200 --plot a.svg; echo code $?;"
        " cat a.svg; ls -A",
        tmp_path,
        HOME=str(tmp_path / "disk"),
    )
    assert done.stdout.splitlines()[:2] == ["code 2", "old"]
    assert 'error: --plot: "a.svg" cannot be written: No space left on device.' in done.stderr
    assert "font" not in done.stderr


@pytest.mark.parametrize("command", ["advise -", "advise {fifo}"])
def test_a_pipe_that_cannot_be_kept_is_said(command: str, tmp_path: Path) -> None:
    feed = f"cat {PAGE} | " if command.endswith("-") else f"mkfifo fifo; cat {PAGE} > fifo & "
    done = ran(
        f"{feed}{PROGRAM} {command.format(fifo='fifo')}; echo code $?; rm -f fifo; ls -A",
        tmp_path,
        TMPDIR=str(tmp_path / "disk"),
    )
    assert done.stdout.split() == ["code", "3"]  # and no copy is left
    assert "cannot be kept: No space left on device.\nhint: Give the file itself" in done.stderr


def test_a_database_through_a_pipe_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    exports.export(tmp_path / "export")
    done = ran(
        f"head -c 30000 /dev/zero > fill; cat ../export | {PROGRAM} timeline -; echo code $?; ls -A",
        tmp_path,
        TMPDIR=str(tmp_path / "disk"),
    )
    assert done.stdout.split() == ["code", "3", "fill"]
    assert "cannot be kept: No space left on device." in done.stderr


READ_ONLY = (
    "cp {recorded}/80.cubin {recorded}/pinned.trace.json {page} .; printf '%s' '{faulty}' > k.cu;"
    " for place in /tmp /var/tmp /usr/tmp; do [ ! -d $place ] || case $PWD in $place/*) ;;"
    " *) mount -t tmpfs -o ro none $place ;; esac; done; mount -o remount,ro .; TMPDIR=$PWD; export TMPDIR;"
)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("compat 80.cubin --gpu a100", 0, ""),
        ("kernels 80.cubin", 0, ""),
        ("timeline pinned.trace.json", 0, ""),
        ("advise raw.csv", 0, ""),
        ("bandwidth --gpu h200", 0, ""),
        ("lint k.cu", 0, ""),
        ("lint k.cu --fix", 3, '"k.cu"'),
        ("occupancy --regs 32 --block 256 --gpu h200 --plot a.svg", 2, "cannot be written"),
    ],
)
def test_places_that_are_read_only(line: str, code: int, said: str, tmp_path: Path) -> None:
    before = READ_ONLY.format(recorded=RECORDED, page=SMALL_PAGE, faulty=FAULTY)
    done = ran(f"{before} {PROGRAM} {line}; echo code $?; rm -f none", tmp_path, HOME="/proc/none")
    assert done.stdout.splitlines()[-1] == f"code {code}", done
    assert said in done.stderr
    assert code or len(done.stdout.splitlines()) > 1


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": ""},
        {"HOME": "/dev/null", "XDG_DATA_HOME": "/dev/null"},
        {"HOME": "/proc/none", "XDG_DATA_HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"},
        {"XDG_DATA_HOME": "relative"},
        {"XDG_DATA_HOME": "\n"},
        {"TMPDIR": "/proc/none"},
        {},
    ],
)
def test_homes_that_are_none(environment: dict[str, str], tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], **environment}
    lines = (
        ["overlap", "--gpu", "h200", "--h2d", "1GiB", "--kernel", "40ms"],
        ["advise", str(PAGE)],
        ["timeline", str(RECORDED / "pinned.trace.json")],
        ["doctor", "--from", str(Path(__file__).parent / "boxes" / "h200.json")],
    )
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *line],
            env=kept, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (line, done.stderr)
        assert done.stdout
    assert os.listdir(tmp_path) == []
