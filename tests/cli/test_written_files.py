"""What the program writes: whole or not at all, never over another's change, gone with a signal."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends import calibration_file
from gpuadvise.advisor.backends.file_replacement import replace_unchanged, replacing
from gpuadvise.advisor.calibration import Calibration
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.gpu import Identity

if TYPE_CHECKING:
    from pathlib import Path

FAULTY = "__global__ void k(float *a, float x) { a[threadIdx.x] = x * 0.3; }\n"
MENDED = FAULTY.replace("0.3", "0.3f")


class FullDisk(OSError):
    def __init__(self) -> None:
        super().__init__(28, "No space left on device")


def test_a_full_disk_leaves_the_source_as_it_was(cli, tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "k.cu"
    source.write_text(FAULTY)

    def full(_: int) -> None:
        raise FullDisk

    monkeypatch.setattr("os.fsync", full)
    ran = cli("lint", str(source), "--fix")
    assert ran.code == 3
    assert "No space left on device" in ran.err
    assert source.read_text() == FAULTY
    assert os.listdir(tmp_path) == ["k.cu"]


def test_a_file_that_may_not_be_written_stays(cli, tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "k.cu"
    source.write_text(FAULTY)
    monkeypatch.setattr("os.access", lambda path, mode: False)  # a superuser may write all
    ran = cli("lint", str(source), "--fix")
    assert (ran.code, source.read_text()) == (3, FAULTY)
    assert "may not write it" in ran.err


def test_a_fix_keeps_the_permissions(cli, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(FAULTY)
    source.chmod(0o750)
    assert cli("lint", str(source), "--fix").code == 0
    assert source.read_text() == MENDED
    assert stat.S_IMODE(source.stat().st_mode) == 0o750


def test_what_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_bytes(b"another's change")
    with pytest.raises(Unavailable, match="changed since it was read"):
        replace_unchanged(str(source), b"ours", b"as it was read")
    assert source.read_bytes() == b"another's change"
    source.unlink()
    with pytest.raises(Unavailable, match="No such file"):
        replace_unchanged(str(source), b"ours", b"as it was read")
    assert not source.exists()


def test_links_are_left_alone(cli, tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside.cu", tmp_path / "tree"
    outside.write_text(FAULTY)
    tree.mkdir()
    (tree / "link.cu").symlink_to(outside)
    (tree / "own.cu").write_text(FAULTY)
    ran = cli("lint", str(tree), "--fix")
    assert ran.code == 0
    assert "a link, left alone" in ran.err
    assert (outside.read_text(), (tree / "own.cu").read_text()) == (FAULTY, MENDED)
    assert (tree / "link.cu").is_symlink()
    with pytest.raises(Unavailable, match="is a link"):
        replace_unchanged(str(tree / "link.cu"), b"", FAULTY.encode())


def test_two_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(FAULTY * 200)
    command = [sys.executable, "-m", "gpuadvise", "lint", str(source), "--fix"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [process.communicate()[1] for process in both]
    assert source.read_text() == MENDED * 200, ended
    assert {process.returncode for process in both} <= {0, 3}
    assert os.listdir(tmp_path) == ["k.cu"]


def test_a_device_is_written_and_not_replaced() -> None:
    with replacing(os.devnull) as file:
        file.write(b"anything")
    assert not os.path.isfile(os.devnull)


def test_calibrations_of_many_at_once_are_all_kept(tmp_path: Path) -> None:
    environ = {calibration_file.VARIABLE: str(tmp_path / "deep" / "saved.json")}
    gpus = [Identity(uuid=f"GPU-{number}") for number in range(16)]

    def save(gpu: Identity) -> str:
        return calibration_file.save(gpu, Calibration(memory_bandwidth=1e12), environ)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, gpus))
    assert all(calibration_file.saved(gpu, environ) for gpu in gpus)
    assert os.listdir(tmp_path / "deep") == ["saved.json"]


def test_a_home_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    environ = {calibration_file.VARIABLE: str(tmp_path / "home" / "saved.json")}
    with pytest.raises(Unavailable, match="cannot be saved"):
        calibration_file.save(Identity(uuid="GPU-1"), Calibration(memory_bandwidth=1e12), environ)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"])
@pytest.mark.parametrize("command", ["advise", "timeline"])
@pytest.mark.usefixtures("default_signals")
def test_the_copy_of_a_pipe_goes_with_a_signal(command: str, name: str, tmp_path: Path) -> None:
    pipe, room = tmp_path / "pipe.json", tmp_path / "tmp"
    os.mkfifo(pipe)
    room.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuadvise", command, str(pipe)],
        env={**os.environ, "TMPDIR": str(room)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with open(pipe, "wb") as writer:
        writer.write(b"SQLite format 3\0" + b"x" * 200_000)
        writer.flush()
        for _ in range(400):
            if any(files for _, _, files in os.walk(room)):
                break
            time.sleep(0.02)
        assert any(files for _, _, files in os.walk(room))
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=30)
    assert process.returncode in (-getattr(signal, name), 130)
    assert os.listdir(room) == []


def test_a_saved_calibration_is_json(tmp_path: Path) -> None:
    environ = {calibration_file.VARIABLE: str(tmp_path / "saved.json")}
    calibration_file.save(Identity(uuid="GPU-1"), Calibration(memory_bandwidth=1e12), environ)
    document = json.loads((tmp_path / "saved.json").read_text())
    assert document["schema"] == "gpuadvise.calibrations/1"
