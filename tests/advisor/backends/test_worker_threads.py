from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from gpuadvise.advisor.backends.worker_threads import WorkerThreads


def refuse_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let *count* threads start, and no more, as a limit of processes and threads does."""
    start, left = threading.Thread.start, iter(range(count))

    def refuse(thread: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.parametrize("allowed", [0, 1, 2, 9])
def test_all_work_is_done_once_however_few_threads_there_are(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_after(allowed, monkeypatch)
    done: list[int] = []
    by: set[str] = set()

    def square(number: int) -> int:
        done.append(number)
        by.add(threading.current_thread().name)
        return number * number

    with WorkerThreads(4) as threads:
        futures = [threads.submit(square, number) for number in range(20)]
        assert [future.result() for future in futures] == [n * n for n in range(20)]
        assert list(threads.map(square, range(3))) == [0, 1, 4]
    assert sorted(done) == sorted([*range(20), *range(3)])
    assert ("MainThread" in by) == (allowed == 0)
    assert len(by) <= max(1, min(allowed, 4))


@pytest.mark.parametrize("allowed", [0, 1])
def test_what_work_raises_comes_with_its_result(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_after(allowed, monkeypatch)
    with WorkerThreads(2) as threads:
        future = threads.submit(int, "no number")
        with pytest.raises(ValueError, match="no number"):
            future.result()
        assert threads.submit(int, "7").result() == 7


def test_what_waits_can_be_cancelled() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> str:
        begun.set()
        go_on.wait(30)
        return "done"

    threads = WorkerThreads(1)
    first, second = threads.submit(wait), threads.submit(wait)
    third = threads.submit(wait)
    assert begun.wait(30)
    assert third.cancel()
    threads.shutdown(wait=False, cancel_futures=True)
    go_on.set()
    threads.shutdown()
    assert first.result() == "done"
    for future in (second, third):
        with pytest.raises(CancelledError):
            future.result()
