"""Many described kernels judged by several processes: the same answer, and nobody left behind."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.backends import description_file, worker_processes
from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.cli.advise import stream
from gpuadvise.cli.advise.gather import GatheredEvidence
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.judge import BaselineFinding, Judge, new_among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINES = 3 * description_file.BATCH_LINES + 50
FORMS = ("ndjson", "csv")


def kernels() -> list[str]:
    """Return lines of kernels on several GPUs, some with a note on an offset without a unit."""
    return [
        json.dumps(
            {
                "name": f"kernel_{number}",
                "gpu": ("h200", "rtx-4090", "a100-sxm4-80")[number % 3],
                "regs": 16 + number % 200,
                "block": (33, 64, 100, 256, 1024)[number % 5],
                "grid": 1 + 17 * number,
            }
            | (
                {"accesses": [{"name": "a", "word": 4, "offset": number}]}
                if not number % 60
                else {}
            )
        )
        for number in range(LINES)
    ]


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of kernels among lines that describe none, in every batch."""
    monkeypatch.chdir(tmp_path)
    lines = kernels()
    for start in range(3, LINES, 97):
        lines[start : start + 5] = [
            "{",
            '{"gpu": "h999", "block": 32}',
            "  ",
            '{"blok": 3}',
            '{"name": "k", "gpu": "h200", "block": 33, "select": ["nothing"]}',
        ]
    (tmp_path / "k.ndjson").write_text("\n".join(lines))
    return "k.ndjson"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How processes started, once for each time; two are worth it for every file."""
    ways: list[str] = []

    def context() -> Any:
        ways.append("fork")
        return get_context("fork")

    if sys.platform == "win32":
        pytest.skip("processes are not copied there")
    monkeypatch.setattr(stream, "WORTH_PROCESSES", 1)
    monkeypatch.setattr(worker_processes, "usable_cores", lambda: 2)
    monkeypatch.setattr(worker_processes, "start_context", context)
    return ways


def with_one(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    """Return what *call* returns on one core."""
    with monkeypatch.context() as patch:
        patch.setattr(worker_processes, "usable_cores", lambda: 1)
        return call()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("more", [(), ("--fail-on", "high"), ("--gpu", "h100", "--select", "low")])
def test_two_processes_answer_as_one(
    form: str,
    more: tuple[str, ...],
    mixed: str,
    started: list[str],
    cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    args = ("advise", mixed, "--format", form, *more)
    serial = with_one(monkeypatch, lambda: cli(*args))
    assert not started
    assert "k.ndjson:4: not JSON" in serial.err
    assert "k.ndjson:5:9: gpu" in serial.err
    assert "offset = 60 counts elements" in serial.err
    assert cli(*args) == serial
    assert started == ["fork"]
    monkeypatch.setattr(worker_processes, "usable_cores", lambda: 3)
    assert cli(*args) == serial


def test_processes_that_are_no_copies_answer_alike(
    mixed: str, started: list[str], cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("advise", mixed, "--format", "ndjson", "--ignore", "low", "--fail-on", "medium")
    serial = with_one(monkeypatch, lambda: cli(*args))
    monkeypatch.setattr(worker_processes, "start_context", lambda: get_context("spawn"))
    assert cli(*args) == serial


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("at", [0, 200, LINES])
def test_what_ends_the_reading_comes_after_the_lines_before(
    at: int, mixed: str, tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(description_file, "LARGEST_LINE", 1000)
    lines = kernels()
    lines.insert(at + 1, "x" * 1500)
    (tmp_path / mixed).write_text("\n".join(lines))
    args = ("advise", mixed, "--format", "ndjson")
    serial = with_one(monkeypatch, lambda: cli(*args))
    assert "k.ndjson: a line is longer than 1,000 bytes." in serial.err
    assert f'"kernel_{at}"' in serial.out or at != 200
    assert f'"kernel_{at + 1}"' not in serial.out
    assert cli(*args) == serial


@pytest.mark.usefixtures("started")
def test_what_breaks_in_another_process_is_raised_in_its_place(
    mixed: str, cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(self: GatheredEvidence) -> None:
        raise Unavailable("No GPU can be asked.")

    monkeypatch.setattr(GatheredEvidence, "chosen", property(chosen))
    lines = kernels()
    lines[200] = '{"block": 33}'
    with open(mixed, "w") as file:
        file.write("\n".join(lines))
    serial = with_one(monkeypatch, lambda: cli("advise", mixed, "--format", "ndjson"))
    assert serial.code == 3
    assert serial.err == "error: No GPU can be asked.\n"
    assert '"kernel_199"' in serial.out
    assert cli("advise", mixed, "--format", "ndjson") == serial


@pytest.mark.parametrize(
    "more",
    [
        ("--all",),
        ("--environment",),
        ("--block", "32"),
        ("second.ndjson",),
        ("--rules", "own"),
        ("--format", "json"),
    ],
)
def test_what_is_more_than_one_file_is_for_one_process(
    more: tuple[str, ...], mixed: str, started: list[str], tmp_path: Path, cli
) -> None:
    (tmp_path / "second.ndjson").write_text('{"gpu": "h200", "block": 32}\n')
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from gpuadvise.rules.guide.execution.partial_warp import RULE as GUIDES\n"
        "RULE = replace(GUIDES, id='mine')\n"
    )
    cli("advise", mixed, "--gpu", "h200", "--format", "ndjson", *more)
    assert not started


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("k.toml", '[[kernel]]\ngpu = "h200"\nblock = 33\n'),
        ("k.json", '{"kernel": [\n{"gpu": "h200", "block": 33}]}'),
        ("k.ndjson", "\n  \n"),
    ],
)
def test_what_is_not_described_line_by_line_is_for_one_process(
    name: str, content: str, started: list[str], tmp_path: Path, cli
) -> None:
    path = tmp_path / name
    path.write_text(content)
    cli("advise", str(path), "--format", "ndjson")
    assert not started


def test_a_small_file_starts_no_process(
    mixed: str, started: list[str], cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "WORTH_PROCESSES", 1 << 19)
    cli("advise", mixed, "--format", "ndjson")
    assert not started


@pytest.mark.usefixtures("started")
def test_where_no_process_can_be_started_one_is_enough(
    mixed: str, cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, "Too many are there")

    args = ("advise", mixed, "--format", "ndjson")
    serial = with_one(monkeypatch, lambda: cli(*args))
    monkeypatch.setattr(os, "fork", refuse)
    assert cli(*args) == serial


@pytest.mark.usefixtures("started")
def test_a_process_that_dies_is_reported(mixed: str, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "judge_batches", lambda send, task: os._exit(9))
    ran = cli("advise", mixed, "--format", "ndjson")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: A process that judged kernels died.\n")


def test_a_judge_goes_to_another_process_by_the_names_of_its_rules() -> None:
    known = {("low-occupancy", "k", None): BaselineFinding(count=1, messages={"m"}, bound=2.0)}
    judge = Judge(rules=RULES[3:9], all_rules=RULES, baseline=known)
    assert pickle.loads(pickle.dumps(judge)) == judge


def task(path: str, *, processes: int, remainder: int) -> stream.JudgingTask:
    """Return the part of the file *path* that one of several processes has."""
    file = description_file.ndjson_file(path)
    assert file is not None
    judge = stream.RowJudge(Judge(rules=RULES, all_rules=RULES), None, "ndjson")
    return stream.JudgingTask(GatheredEvidence({}, (path,)), judge, file, processes, remainder)


def test_a_process_reads_no_further_than_what_it_has_sent(
    mixed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sending waits for the first process, so that memory does not grow with the file."""
    batches, ahead = [], []

    def counted(file: description_file.FileState) -> Iterator[list[tuple[int, str]]]:
        for lines in read(file):
            batches.append(len(lines))
            yield lines

    read = description_file.line_batches
    monkeypatch.setattr(description_file, "line_batches", counted)
    sent: list[stream.JudgedBatch] = []

    def send(batch: stream.JudgedBatch) -> None:
        sent.append(batch)
        ahead.append(len(batches) - 2 * len(sent))

    stream.judge_batches(send, task(mixed, processes=2, remainder=0))
    assert batches == [description_file.BATCH_LINES] * 3 + [50]
    assert [batch.last for batch in sent] == [False, False, True]
    assert max(ahead) <= 0
    assert max(len(batch.kernels) for batch in sent) <= description_file.BATCH_LINES


class Connection:
    """What a process has sent, received one at a time."""

    def __init__(self, *batches: stream.JudgedBatch) -> None:
        self.waiting = list(batches)

    def recv(self) -> stream.JudgedBatch:
        return self.waiting.pop(0)


def test_a_batch_is_received_when_the_one_before_is_written() -> None:
    kernel = stream.JudgedKernel(stream.Exit.RAN, ())
    batches = [stream.JudgedBatch([kernel] * 2, []) for _ in range(3)]
    first = Connection(batches[0], batches[2])
    second = Connection(batches[1], stream.JudgedBatch([], ["a note"], last=True))
    evidence = GatheredEvidence({})
    received = stream._received([first, second], evidence)  # type: ignore[list-item]
    waiting = [len(first.waiting) + len(second.waiting) for _ in received]
    assert waiting == [3, 3, 2, 2, 1, 1]
    assert evidence.notes == ["a note"]


def test_lines_written_since_are_left_out(mixed: str) -> None:
    file = description_file.ndjson_file(mixed)
    assert file is not None
    with open(mixed, "a") as growing:
        growing.write("\n" + "\n".join(kernels()))
    (*_, (number, _)) = [line for lines in description_file.line_batches(file) for line in lines]
    assert number == LINES


def test_another_file_in_its_place_is_not_read(mixed: str) -> None:
    file = description_file.ndjson_file(mixed)
    assert file is not None
    with open("other", "w") as other:
        other.write("{}\n")
    os.replace("other", mixed)
    with pytest.raises(Unavailable, match=r'"k\.ndjson" was replaced while it was read\.'):
        list(description_file.line_batches(file))


def test_a_file_that_is_gone_cannot_be_read(mixed: str) -> None:
    file = description_file.ndjson_file(mixed)
    assert file is not None
    os.remove(mixed)
    with pytest.raises(BadInput, match="there is no such file"):
        list(description_file.line_batches(file))


_RUN = """
import sys
from gpuadvise.advisor.backends import worker_processes
from gpuadvise.cli.main import run
if __name__ == "__main__":
    worker_processes.usable_cores = lambda: 2
    sys.exit(run())
"""


@pytest.fixture
def streaming(tmp_path: Path, default_signals: None) -> Iterator[subprocess.Popen[bytes]]:
    """The program with two others, in a group of their own, once it writes; nobody reads on."""
    script, file = tmp_path / "streaming.py", tmp_path / "k.ndjson"
    script.write_text(_RUN)
    padded = [line.replace("kernel_", "k" * 3000) for line in kernels()]
    file.write_text("\n".join(padded))
    assert file.stat().st_size > stream.WORTH_PROCESSES
    with subprocess.Popen(
        [sys.executable, str(script), "advise", str(file), "--format", "ndjson"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith(b'{"kernel"')
        yield process


def gone(group: int) -> bool:
    """Return whether no process of *group* is left; one that ended is listed for a moment."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_reader_that_goes_away_ends_all(streaming: subprocess.Popen[bytes]) -> None:
    assert streaming.stdout
    assert streaming.stderr
    streaming.stdout.close()
    assert streaming.wait(timeout=60) == 141
    assert streaming.stderr.read() == b""
    assert gone(streaming.pid)


def test_an_interrupt_ends_all(streaming: subprocess.Popen[bytes]) -> None:
    """It reaches all of them, and none says anything about it."""
    os.killpg(streaming.pid, signal.SIGINT)
    _, said = streaming.communicate(timeout=60)
    assert (streaming.returncode, said) == (130, b"")
    assert gone(streaming.pid)


def test_no_process_outlives_the_first(streaming: subprocess.Popen[bytes]) -> None:
    streaming.kill()
    _, said = streaming.communicate(timeout=60)  # the others hold its output open
    assert said == b""


def test_a_baseline_knows_a_finding_by_the_former_id_of_its_rule() -> None:
    kernel = {
        "gpu": "h100-sxm",
        "timeline": {"span": "97ms", "busy": "97ms", "double_precision": "87ms"},
    }
    findings = run(RULES, described(kernel, from_catalogue).facts).findings
    [double] = [finding for finding in findings if finding.rule.id == "fp64-products"]
    saved = BaselineFinding(count=1, messages={"other words"}, bound=double.bound)
    assert new_among([double], {("unused-tensor-cores", None, None): saved}) == ()
    assert new_among([double], {("odd-gemm-shape", None, None): saved}) == (double,)
