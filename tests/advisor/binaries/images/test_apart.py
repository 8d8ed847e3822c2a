from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries import apart, containers
from gpuadvise.advisor.binaries.entries import Packed
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Kernel, Place
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import FileSpan
from gpuadvise.advisor.binaries.want import Want
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TWO = ("-gencode=arch=compute_80,code=[sm_80,compute_80]", "-gencode=arch=compute_90,code=sm_90")


@pytest.fixture
def file(build: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A large file of several containers, one image of them broken."""
    whole = build("apart.fatbin", "-fatbin", "-Xfatbin=-compress-all", *TWO).read_bytes()
    path = tmp_path / "many.fatbin"
    path.write_bytes(whole)
    image = next(item for item in read(str(path)) if item.content is Content.SASS)
    broken = bytearray(whole)
    broken[image.place.offset + 64 : image.place.offset + 200] = bytes(136)
    path.write_bytes((whole * 2 + bytes(broken)) * 4)
    monkeypatch.setattr(containers, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(apart, "_ERRAND", 1 << 18)
    return str(path)


def test_several_processes_read_the_same(file: str) -> None:
    alone = list(read(file))
    together = list(read(file, Want(processes=2)))
    assert any(isinstance(item, Damage) for item in alone)
    for kind in (Kernel, Entry, Damage):
        kept = [item for item in together if isinstance(item, kind)]
        assert kept == [item for item in alone if isinstance(item, kind)]


def test_a_process_with_threads_is_not_copied(file: str) -> None:
    fresh = "from gpuadvise.advisor.binaries import apart; print(apart._start_method())"
    said = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True).stdout
    assert said.strip() == ("fork" if sys.platform == "linux" else "spawn")
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert apart._start_method() == "spawn"
        assert len(list(read(file, Want(processes=2)))) == len(list(read(file)))
    finally:
        over.set()
        other.join()


_INTERRUPTED = """
import sys, time
from gpuadvise.advisor.binaries import containers
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.want import Want
if __name__ == "__main__":
    containers._WORTH_PROCESSES = 1
    try:
        for item in read(sys.argv[1], Want(processes=2)):
            if isinstance(item, Kernel):
                print("reading", flush=True)
                time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def test_an_interrupt_is_for_the_first_process(file: str, tmp_path: Path) -> None:
    """It reaches all of them, and the others say nothing about it."""
    script = tmp_path / "interrupted.py"
    script.write_text(_INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, str(script), file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as reading:
        assert reading.stdout
        assert reading.stdout.readline() == b"reading\n"
        os.killpg(reading.pid, signal.SIGINT)
        _, said = reading.communicate(timeout=30)
        assert said == b""
    assert reading.returncode == 130


def test_what_one_of_them_does(file: str) -> None:
    with open(file, "rb", buffering=0) as handle:
        span = FileSpan(handle, handle.seek(0, 2))
        steps = containers._steps(span, Place(path=file), Want())
        payload = next(step for step in steps if isinstance(step, Packed))
    apart._open(file, instructions=False)
    rows = apart._read([payload])
    apart._Here.file.close()
    kernels = [item for item in read(file) if isinstance(item, Kernel)]
    (columns,) = rows
    found = [Kernel(*row) for row in zip(*columns, strict=True)]
    assert found == kernels[: len(found)]
    assert rows


def test_a_process_that_dies_is_said(file: str) -> None:
    with open(file, "rb", buffering=0) as handle:
        span = FileSpan(handle, handle.seek(0, 2))
        steps = containers._steps(span, Place(path=file), Want())
        with pytest.raises(Unavailable, match="A process that read images died"):
            list(apart.read_apart(steps, file + "-is-not-there", 1, Want(processes=2)))


def test_who_stops_listening_stops_the_processes(file: str) -> None:
    reading = read(file, Want(processes=2))
    assert next(reading)
    reading.close()
