from __future__ import annotations

import errno
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.model import (
    Compression,
    Content,
    Damage,
    Entry,
    Kernel,
    Place,
)
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.parallel import pool, worker
from gpuadvise.advisor.binaries.parallel.batches import batches
from gpuadvise.advisor.binaries.parallel.worker import END, Task, run_worker
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import FileSpan
from gpuadvise.advisor.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.binaries.model import Item
    from gpuadvise.advisor.binaries.parallel.worker import Rows

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
    monkeypatch.setattr(pool, "_MAX_ITEM_BYTES", 1 << 18)
    return str(path)


def test_several_processes_read_the_same(file: str) -> None:
    serial = list(read(file))
    parallel = list(read(file, ReadOptions(processes=2)))
    assert any(isinstance(item, Damage) for item in serial)
    for kind in (Kernel, Entry, Damage):
        kept = [item for item in parallel if isinstance(item, kind)]
        assert kept == [item for item in serial if isinstance(item, kind)]


def test_damage_of_containers_comes_among_that_of_images(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Path(file).read_bytes()
    headless = whole[:20] + b"\xff" * 4 + whole[24:]  # the size of its first entry's header
    path = tmp_path / "headless.fatbin"
    path.write_bytes((whole + headless) * 2)
    monkeypatch.setattr(pool, "_MAX_ITEM_BYTES", 1 << 30)
    serial, parallel = (
        [
            item
            for item in read(str(path), ReadOptions(processes=count))
            if not isinstance(item, Entry)
        ]
        for count in (1, 2)
    )
    assert any("entry is damaged" in item.message for item in serial if isinstance(item, Damage))
    assert parallel == serial


def test_a_process_with_threads_is_not_copied(file: str) -> None:
    fresh = "from gpuadvise.advisor.binaries.parallel import pool; print(pool.start_context().get_start_method())"
    results = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True).stdout
    assert results.strip() == ("fork" if sys.platform == "linux" else "spawn")
    over = threading.Event()
    connection = threading.Thread(target=over.wait)
    connection.start()
    try:
        assert pool.start_context().get_start_method() == "spawn"
        assert len(list(read(file, ReadOptions(processes=2)))) == len(list(read(file)))
    finally:
        over.set()
        connection.join()


_READING = """
import sys, time
from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.options import ReadOptions
if __name__ == "__main__":
    containers._WORTH_PROCESSES = 1
    try:
        for item in read(sys.argv[1], ReadOptions(processes=2)):
            if isinstance(item, Kernel):
                print("reading", flush=True)
                time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@contextmanager
def reading(file: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that reads *file* with two others, in a group of their own."""
    script = folder / "reading.py"
    script.write_text(_READING)
    with subprocess.Popen(
        [sys.executable, str(script), file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"reading\n"
        yield process


@pytest.mark.usefixtures("default_signals")
def test_an_interrupt_is_for_the_first_process(file: str, tmp_path: Path) -> None:
    """It reaches all of them, and the others say nothing about it."""
    with reading(file, tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        _, results = process.communicate(timeout=30)
        assert results == b""
    assert process.returncode == 130


_STARTING = """
import os, signal, sys
from multiprocessing import active_children, get_context
from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.parallel import pool
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.options import ReadOptions
started = []
class Interrupted(pool.WorkerHandle):
    def __init__(self, *arguments):
        os.killpg(0, signal.SIGINT)
        super().__init__(*arguments)
        os.killpg(0, signal.SIGINT)
        started.append(self)
if __name__ == "__main__":
    pool.WorkerHandle, containers._WORTH_PROCESSES = Interrupted, 1
    pool.start_context = lambda: get_context(sys.argv[2])
    try:
        list(read(sys.argv[1], ReadOptions(processes=2)))
    except KeyboardInterrupt:
        print(len(started), active_children())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals do not wait there")
@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.usefixtures("default_signals")
def test_an_interrupt_waits_until_all_have_started(file: str, tmp_path: Path, start: str) -> None:
    script = tmp_path / "starting.py"
    script.write_text(_STARTING)
    command = [sys.executable, str(script), file, start]
    ran = subprocess.run(command, capture_output=True, start_new_session=True, timeout=60)
    assert (ran.stdout, ran.stderr) == (b"2 []\n", b"")


def test_no_process_outlives_the_first(file: str, tmp_path: Path) -> None:
    with reading(file, tmp_path) as process:
        process.kill()
        _, results = process.communicate(timeout=30)  # the others hold its output open
        assert results == b""


@pytest.fixture
def payloads(file: str) -> list[Packed]:
    with open(file, "rb", buffering=0) as handle:
        span = FileSpan(handle, handle.seek(0, 2))
        steps = containers._items(span, Place(path=file), ReadOptions())
        return [step for step in steps if isinstance(step, Packed)]


def file_id(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def answers(path: str, file: str, work_items: list[list[Packed]]) -> list[object]:
    """Return what one worker answers to *work_items* about *file* at *path*, run here."""
    ours, theirs = Pipe()
    inherited = Pipe()
    before = signal.getsignal(signal.SIGINT)
    # The pipe may be too short for all of it: another thread is the first process.
    with ThreadPoolExecutor() as pool:
        listening = pool.submit(_first_process, ours, work_items)
        try:
            run_worker(theirs, Task(path, file_id(file), instructions=False), inherited)
        finally:
            signal.signal(signal.SIGINT, before)
        assert all(connection.closed for connection in inherited)
        return listening.result()


def _first_process(connection: Connection, work_items: list[list[Packed]]) -> list[object]:
    for work_item in work_items:
        connection.send(work_item)
    results: list[object] = []
    for _ in work_items:
        while (message := connection.recv_bytes()) != END:
            results.append(pickle.loads(message))
            if isinstance(results[-1], Exception):
                break
    connection.close()
    return results


def test_a_worker_answers_its_work_items(file: str, payloads: list[Packed]) -> None:
    results = answers(file, file, [payloads[:1], payloads[1:7]])
    items = [
        item
        for answer in results
        for item in (
            [answer]
            if isinstance(answer, Damage)
            else map(Kernel._make, zip(*cast("Rows", answer), strict=True))
        )
    ]
    whole = [item for item in read(file) if not isinstance(item, Entry)]
    assert len(results) > 2
    assert items == whole[: len(items)]
    assert any(isinstance(item, Damage) for item in items)


def test_an_error_of_a_worker_is_raised_by_the_pool(file: str, payloads: list[Packed]) -> None:
    (results,) = answers(file + "-is-not-there", file, [payloads[:1]])
    assert "there is no such file" in str(results)
    with open(file, "rb", buffering=0) as handle:
        reading = pool.read_in_parallel(
            payloads,
            file + "-is-not-there",
            FileSpan(handle, 1),
            ReadOptions(processes=2),
            lambda _: iter(()),
        )
        with pytest.raises(BadInput, match="there is no such file"):
            list(reading)


def test_another_file_in_its_place_is_not_read(
    file: str, payloads: list[Packed], tmp_path: Path
) -> None:
    connection = tmp_path / "other.fatbin"
    connection.write_bytes(b"another")
    (results,) = answers(str(connection), file, [payloads[:1]])
    assert isinstance(results, Unavailable)
    assert "was replaced while it was read" in str(results)


def test_a_worker_ends_when_the_parent_is_gone(file: str, payloads: list[Packed]) -> None:
    ours, theirs = Pipe()
    ours.send(payloads[:1])
    ours.close()
    before = signal.getsignal(signal.SIGINT)
    try:
        run_worker(theirs, Task(file, file_id(file), instructions=False), ())
    finally:
        signal.signal(signal.SIGINT, before)


def _die(*_: object) -> None:
    os._exit(9)


def _die_speaking(connection: Connection, *_: object) -> None:
    os.write(connection.fileno(), struct.pack("!i", 1000) + b"cut off")
    os._exit(9)


@pytest.mark.parametrize("work", [_die, _die_speaking])
def test_a_worker_that_dies_is_reported(
    file: str, work: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "run_worker", work)
    with pytest.raises(Unavailable, match="A process that read images died"):
        list(read(file, ReadOptions(processes=2)))


def test_answers_that_wait_are_bounded(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast some of the processes are."""
    in_flight: list[int] = [0]

    class Counted(pool.WorkerHandle):
        def submit(self, work_item: list[Packed | Damage]) -> None:
            in_flight.append(in_flight[-1] + 1)
            super().submit(work_item)

        def results(self, workers: Sequence[pool.WorkerHandle]) -> Iterator[Rows | Damage]:
            in_flight.append(in_flight[-1] - 1)
            return super().results(workers)

    monkeypatch.setattr(pool, "WorkerHandle", Counted)
    monkeypatch.setattr(pool, "_ITEMS_PER_WORKER", 2)
    monkeypatch.setattr(pool, "_MIN_ITEM_BYTES", 1)
    monkeypatch.setattr(pool, "_MAX_ITEM_BYTES", 1)
    assert len(list(read(file, ReadOptions(processes=3)))) == len(list(read(file)))
    assert max(in_flight) == 6


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes as copies of this one, with what a test has put into it."""
    if sys.platform == "win32":
        pytest.skip("processes are not copied there")
    monkeypatch.setattr(pool, "start_context", lambda: get_context("fork"))


@pytest.mark.usefixtures("copied")
def test_answers_come_in_pieces(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that wait for their turn are few, whoever else has to wait then."""
    monkeypatch.setattr(worker, "_MAX_ROWS", 1)
    monkeypatch.setattr(pool, "_MAX_PENDING_BYTES", 1)
    serial, parallel = (
        [item for item in read(file, ReadOptions(processes=count)) if not isinstance(item, Entry)]
        for count in (1, 3)
    )
    assert parallel == serial


def test_work_items_are_bounded_without_payloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_MAX_ITEM_PAYLOADS", 10)
    damage = Damage(place=Place(path="all.broken"), message="It is broken.")
    items_of_damage = list(pool._work_items([damage] * 25, 1))
    assert items_of_damage == [[damage] * 10, [damage] * 10, [damage] * 5]


def read_alone(file: str) -> list[Item]:
    return [item for item in read(file) if not isinstance(item, Entry)]


def read_with_workers(file: str, processes: int = 2) -> list[Item]:
    items = read(file, ReadOptions(processes=processes))
    return [item for item in items if not isinstance(item, Entry)]


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("started", [0, 1])
def test_where_the_system_refuses_processes_this_one_reads(
    file: str, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, or together with those that could be started."""
    fork, left = os.fork, iter(range(started))

    def refuse() -> int:
        if next(left, None) is None:
            raise BlockingIOError(errno.EAGAIN, "Too many are there")
        return fork()

    alone = read_alone(file)
    monkeypatch.setattr(os, "fork", refuse)
    assert read_with_workers(file) == alone


@pytest.mark.usefixtures("copied")
def test_without_the_module_of_processes_this_one_reads(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = read_alone(file)
    monkeypatch.setitem(sys.modules, "multiprocessing.connection", None)
    assert read_with_workers(file) == alone


def _send_read(connection: Connection, file: str) -> None:
    connection.send(read_with_workers(file))


@pytest.mark.usefixtures("copied")
def test_a_daemonic_process_reads_alone(file: str) -> None:
    """Such as a worker of Dask under a nanny, which may have no processes of its own."""
    receiver, sender = Pipe(duplex=False)
    child = get_context("fork").Process(target=_send_read, args=(sender, file), daemon=True)
    child.start()
    sender.close()
    assert receiver.recv() == read_alone(file)
    child.join()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("processes", [1, 2])
def test_where_no_thread_can_be_started_this_one_unpacks(
    file: str, processes: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = read_alone(file)

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(pool, "_MIN_ITEM_BYTES", 1)
    monkeypatch.setattr(pool, "_MAX_ITEM_BYTES", 1)
    assert read_with_workers(file, processes) == alone
    assert capfd.readouterr().err == ""


def _without_threads_in_one(connection: Connection, task: Task, inherited: Sequence[Connection]):
    if inherited[:-1]:  # the second one
        connection.send(worker.WithoutThreads())
        return
    run_worker(connection, task, inherited)


@pytest.mark.usefixtures("copied")
def test_what_a_worker_without_threads_was_sent_is_read_here(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_MIN_ITEM_BYTES", 1)
    monkeypatch.setattr(pool, "_MAX_ITEM_BYTES", 1)
    monkeypatch.setattr(pool, "run_worker", _without_threads_in_one)
    assert read_with_workers(file) == read_alone(file)


@pytest.mark.usefixtures("copied")
def test_memory_ends_in_one_of_them(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker, "array_reader", _no_memory)
    with pytest.raises((MemoryError, Unavailable)):
        list(read(file, ReadOptions(processes=2)))
    assert capfd.readouterr().err == ""


def test_memory_ends_while_a_work_item_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no more work items then, and the process ends: nobody waits for ever."""
    monkeypatch.setattr(Connection, "recv", _no_memory)
    queue = worker._TaskQueue()
    worker._receive(Pipe()[0], queue)
    assert queue.received.get_nowait() is None


def _no_memory(*_: object) -> None:
    raise MemoryError


def test_closing_the_reader_stops_the_workers(file: str) -> None:
    reading = read(file, ReadOptions(processes=2))
    assert next(reading)
    reading.close()


@pytest.mark.parametrize(
    ("compression", "size", "part", "counted"),
    [
        (Compression.LZ4, 200 << 20, None, 200 << 20),
        # Its package unpacks into memory of its own what several images share.
        (Compression.LZ4, 200 << 20, (0, 1 << 20), 400 << 20),
        (Compression.LZ4, 8 << 20, (0, 1 << 20), 8 << 20),
        (Compression.ZSTD, 200 << 20, (0, 1 << 20), 200 << 20),
    ],
)
def test_what_a_large_image_takes(
    compression: Compression, size: int, part: tuple[int, int] | None, counted: int
) -> None:
    entry = Entry(Content.SASS, Place("x"), None, 5 << 20, compression, size)
    packed = Packed(entry, 100, 5 << 20, size, part)
    (batch,) = (batch for batch in batches([packed], 1 << 30, 1.0) if batch)
    assert batch.size == counted
