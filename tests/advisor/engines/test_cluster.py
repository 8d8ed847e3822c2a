"""Work on a Dask cluster of real processes, some of which are killed, stopped or of another version."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from cluster_work import logged, printed, slow_squares, squares
from dask_clusters import DaskProcesses, until

from gpuadvise.advisor.engines.cluster import DaskCluster
from gpuadvise.advisor.engines.engine import Lost
from gpuadvise.advisor.errors import BadInput, Unavailable

distributed = pytest.importorskip("distributed", reason="pip install gpuadvise[fleet]")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="processes are looked up in /proc"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    """A scheduler and four workers, with 400 MiB for each."""
    started = DaskProcesses(tmp_path_factory.mktemp("dask"))
    started.scheduler()
    started.workers(4, "--memory-limit", "400MiB")
    ready(started, 4)
    yield started
    started.stop()


def ready(started: DaskProcesses, count: int) -> None:
    """Wait until *count* workers are there."""
    with client_of(started) as client:
        until(lambda: len(client.nthreads()) == count)


def client_of(started: DaskProcesses):
    return distributed.Client(started.address, set_as_default=False)


def engine(started: DaskProcesses, said: list[str], **options) -> DaskCluster:
    return DaskCluster(address=started.address, say=said.append, **options)


def test_results_come_in_order_whatever_is_printed(cluster) -> None:
    said: list[str] = []
    made = engine(cluster, said).map(printed, list(range(50)), batch=7)
    assert list(made) == list(range(50))
    assert said == []


def test_an_error_is_raised_in_its_place(cluster) -> None:
    results = engine(cluster, []).map(squares, [1, 2, "bad", 4], batch=2)
    assert [next(results), next(results)] == [1, 4]
    with pytest.raises(BadInput, match=r"It is bad\.") as raised:
        next(results)
    assert raised.value.hint == "Mend it."


def test_what_is_here_is_never_sent_away(cluster) -> None:
    here: list[int] = []

    def only_here(items):
        for item in items:
            here.append(item)
            yield -item

    made = engine(cluster, []).map(only_here, [1, 2], here=lambda item: True)
    assert list(made) == [-1, -2]
    assert here == [1, 2]


def test_what_ends_its_reader_is_named_and_costs_no_worker(cluster) -> None:
    with client_of(cluster) as client:
        before = client.run(os.getpid)
        said: list[str] = []
        spread = engine(cluster, said, seconds=3.0)
        items = [1, "dies", 2, "hangs", 3, "grows", 4, "breaks", 5]
        results = list(spread.map(squares, items, batch=3))
        assert client.run(os.getpid) == before
    assert [r for r in results if not isinstance(r, Lost)] == [1, 4, 9, 16, 25]
    reasons = [r.reason for r in results if isinstance(r, Lost)]
    assert reasons[0].startswith("Its reader ended with signal 9 on the worker tcp://127.0.0.1:")
    assert reasons[1].startswith("Reading it took more than 3 s on the worker tcp://")
    assert reasons[2].startswith("Reading it needs more than 400 MiB on the worker tcp://")
    assert reasons[3] == "Reading it broke: ValueError: a fault"
    assert sorted(spread.lost) == sorted(reasons)
    tried = [text for text in said if text.endswith("Another worker tries.")]
    assert len(tried) == 3  # once each
    for name, reason in zip(("dies", "hangs", "grows"), reasons, strict=False):
        first = next(text for text in tried if text.startswith(f'"{name}"'))
        assert reason.rpartition(" ")[2].rstrip(".") not in first  # another one


def test_a_killed_worker_is_named_and_loses_nothing(cluster) -> None:
    said: list[str] = []
    with client_of(cluster) as client:
        pids = client.run(os.getpid)
        victim, pid = next(iter(pids.items()))
        results = engine(cluster, said).map(slow_squares, list(range(24)))
        assert next(results) == 0
        os.kill(pid, signal.SIGKILL)
        assert list(results) == [n * n for n in range(1, 24)]
        until(lambda: len(client.nthreads()) == 4)  # its nanny starts another
    assert f"The worker {victim} is gone: others do what it had." in said


def test_a_worker_that_hangs_is_named_and_loses_nothing(cluster) -> None:
    said: list[str] = []
    with client_of(cluster) as client:
        victim, pid = next(iter(client.run(os.getpid).items()))
        os.kill(pid, signal.SIGSTOP)
        try:
            results = list(engine(cluster, said, silence=2.0).map(slow_squares, list(range(12))))
        finally:
            os.kill(pid, signal.SIGCONT)
    assert results == [n * n for n in range(12)]
    assert f"The worker {victim} has said nothing for 2 s: others do what it had." in said


def test_nothing_listens_to_other_machines(cluster) -> None:
    sockets = set()
    for pid in cluster.pids():
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = handle.readlink().name
            except OSError:
                continue
            sockets.add(target.removeprefix("socket:[").removesuffix("]"))
    listening = [
        fields
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        if Path(table).exists()
        for fields in map(str.split, Path(table).read_text().splitlines()[1:])
        if fields[3] == "0A" and fields[9] in sockets
    ]
    assert len(listening) >= 10  # two of the scheduler, and two of each worker
    assert {fields[1].partition(":")[0] for fields in listening} == {"0100007F"}  # 127.0.0.1


@pytest.fixture
def others(tmp_path: Path):
    """Processes of a test's own."""
    started = DaskProcesses(tmp_path)
    yield started
    started.stop()


# An editable install finds parts of the checkout behind any other package of its name.
ALONE = """\
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Editable" not in getattr(f, "__name__", "")]
"""


def old_version(folder: Path) -> Path:
    """Return a folder that holds what an older install would."""
    old = folder / "old"
    (old / "gpuadvise").mkdir(parents=True)
    (old / "gpuadvise" / "__init__.py").write_text("__version__ = '0.0.9'\n")
    (old / "gpuadvise-0.0.9.dist-info").mkdir()
    (old / "gpuadvise-0.0.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gpuadvise\nVersion: 0.0.9\n"
    )
    return old


def test_a_scheduler_of_another_version_is_said(others, tmp_path: Path) -> None:
    old = old_version(tmp_path)
    (old / "sitecustomize.py").write_text(ALONE)
    others.scheduler(PYTHONPATH=str(old))
    others.workers(1)
    ready(others, 1)
    with pytest.raises(
        Unavailable, match=r"The scheduler tcp://.* has gpuadvise 0\.0\.9, and here"
    ):
        list(engine(others, []).map(squares, [1, 2]))


def test_a_worker_of_another_version_gets_no_work(others, tmp_path: Path) -> None:
    old = old_version(tmp_path)
    others.scheduler()
    others.workers(1, PYTHONPATH=str(old))
    ready(others, 1)
    from importlib.metadata import version

    here = version("gpuadvise")
    with pytest.raises(Unavailable, match=rf"has gpuadvise 0\.0\.9, and here is {here}"):
        list(engine(others, []).map(squares, [1, 2]))
    others.workers(1)
    ready(others, 2)
    said: list[str] = []
    assert list(engine(others, said).map(squares, list(range(8)))) == [n * n for n in range(8)]
    assert [text.partition(" has ")[2] for text in said] == [
        f"gpuadvise 0.0.9, and here is {here}: it gets no work."
    ]


def test_a_scheduler_that_comes_back_is_asked_for_the_rest(others, tmp_path: Path) -> None:
    scheduler = others.scheduler()
    port = int(others.address.rpartition(":")[2])
    others.workers(2)
    ready(others, 2)
    log = tmp_path / "asked.txt"
    said: list[str] = []
    results = engine(others, said, patience=30.0).map(logged, [(log, n) for n in range(20)])
    came = [next(results), next(results)]
    os.killpg(scheduler.pid, signal.SIGKILL)

    def again() -> None:
        time.sleep(0.5)
        others.scheduler(port)
        others.workers(2)

    starter = threading.Thread(target=again)
    starter.start()
    came += results
    starter.join()
    assert came == [n * n for n in range(20)]
    assert any("was gone and is back" in text for text in said)
    assert len(log.read_text().splitlines()) < 40  # what had come is not asked once more


def test_a_scheduler_that_is_gone_leaves_what_had_come(others) -> None:
    scheduler = others.scheduler()
    others.workers(1)
    ready(others, 1)
    said: list[str] = []
    spread = engine(others, said, patience=1.0)
    results = spread.map(slow_squares, list(range(20)))
    came = [next(results)]
    address = others.address
    os.killpg(scheduler.pid, signal.SIGKILL)
    came += results
    whole = [result for result in came if not isinstance(result, Lost)]
    assert whole == [n * n for n in range(len(whole))]
    assert 0 < len(whole) < 20
    assert spread.lost == [f"The scheduler {address} is gone."] * (20 - len(whole))
    assert said[-1] == f"The scheduler {address} is gone. What had come until then is kept."


def test_a_scheduler_without_a_worker_is_no_answer(others) -> None:
    others.scheduler()
    with pytest.raises(Unavailable, match=r"No worker of the scheduler .* is there"):
        list(engine(others, [], patience=1.0).map(squares, [1, 2]))
