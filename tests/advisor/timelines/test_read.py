"""Files told by their content, wherever they come from, and what they hold of people."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sqlite3
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import exports
import pytest
import traces

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.evidence.kinds import content_of
from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.signatures import is_timeline
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

TRACE = traces.kineto([traces.kernel(0, 10), traces.kernel(30, 10)]).encode()


@pytest.mark.parametrize("name", ["trace.json", "trace.sqlite", "trace", "trace.gz"])
def test_the_suffix_says_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(TRACE)
    (recording,) = read_recordings(str(tmp_path / name))
    assert recording.recorder is Recorder.PYTORCH


@pytest.mark.parametrize("kind", ["trace", "export"])
def test_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    content = TRACE if kind == "trace" else exports.export(tmp_path / "report").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    (recording,) = read_recordings("-")
    (line,) = timelines_of(recording)
    assert line.launches.kernels == 2


def test_progress_counts_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(TRACE)
    told: list[int] = []
    list(read_recordings(str(tmp_path / "trace"), progress=told.append))
    assert told == sorted(told)
    assert told[-1] == len(TRACE)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a.nsys-rep", "nsys export"), ("a.ncu-rep", "gpuadvise advise"), ("a.txt", "PyTorch")],
)
def test_what_to_do_with_other_files(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01other")
    with pytest.raises(BadInput) as caught:
        list(read_recordings(str(tmp_path / name)))
    assert caught.value.hint is not None
    assert hint in caught.value.hint


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('loaded')",))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps(Bomb()), "is a pickle"),
        (b"[[1700000000000, 0, 4096, 1], [1700000000001, 1, 8192, 2]]", "memory timeline"),
    ],
)
def test_recordings_of_memory_are_named_and_never_loaded(
    tmp_path: Path, content: bytes, words: str, packed: bool
) -> None:
    (tmp_path / "snapshot").write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(BadInput, match=words) as caught:
        list(read_recordings(str(tmp_path / "snapshot")))
    assert caught.value.hint is not None
    assert "profile_memory" in caught.value.hint
    with pytest.raises(BadInput, match=words):
        content_of(str(tmp_path / "snapshot"))


@pytest.mark.parametrize("schema", ["1.0.1", "1.1.1-chakra.0.0.4"])
def test_execution_traces_are_named(tmp_path: Path, schema: str) -> None:
    trace = tmp_path / "et.json"
    trace.write_text(f'{{\n  "schema": "{schema}", "pid": 1, "time": "now", "nodes": []\n}}\n')
    with pytest.raises(BadInput, match="execution trace of PyTorch") as caught:
        list(read_recordings(str(trace)))
    assert caught.value.hint is not None
    assert "export_chrome_trace" in caught.value.hint
    with pytest.raises(BadInput, match="execution trace of PyTorch"):
        content_of(str(trace))


@pytest.mark.parametrize("path", ["absent", "with\0zero", ""])
def test_paths_that_are_no_file(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadInput):
        list(read_recordings(path and str(tmp_path / path)))


def test_a_folder_without_timelines(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no timeline"):
        list(read_recordings(str(tmp_path)))


def test_nothing_of_people_and_machines_is_kept(tmp_path: Path) -> None:
    secret = "hunter2"
    header = {
        "hostname": secret,
        "username": secret,
        "trace_id": secret,
        "distributedInfo": {"backend": secret},
    }
    function = traces.event(
        "python_function", f"/home/{secret}/train.py(1): f", 0, 1, {"x": secret}
    )
    (tmp_path / "trace").write_text(traces.kineto([traces.kernel(0, 10), function], **header))
    path = exports.export(tmp_path / "report")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value)")
    database.execute(
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', ?)", (secret,)
    )
    database.execute("INSERT INTO StringIds VALUES (77, ?)", (secret,))
    database.commit()
    database.close()
    for file in ("trace", "report"):
        (recording,) = read_recordings(str(tmp_path / file))
        assert secret not in repr(recording)
        assert secret not in repr(timelines_of(recording))


def test_a_folder_is_told_by_the_content_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "kernel.json").write_text('{"name": "add", "num_warps": 4}')
    (tmp_path / "notes.json").write_text("[1, 2]")
    assert not is_timeline(str(tmp_path))
    with pytest.raises(BadInput, match="holds no timeline"):
        list(read_recordings(str(tmp_path)))
    (tmp_path / "rank0.json").write_bytes(TRACE)
    assert is_timeline(str(tmp_path))
    assert len(list(read_recordings(str(tmp_path)))) == 1


@pytest.mark.parametrize("kind", ["trace", "export"])
def test_a_pipe_that_is_named(tmp_path: Path, kind: str) -> None:
    content = TRACE if kind == "trace" else exports.export(tmp_path / "report").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not is_timeline(str(pipe))  # looking would take what is read later
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    (recording,) = read_recordings(str(pipe))
    writer.join()
    assert len(timelines_of(recording)) == 1


def test_files_of_a_folder_without_work_are_left_out(tmp_path: Path) -> None:
    idle = traces.kineto([traces.call(0, 5)]).encode()
    for number in range(5):
        (tmp_path / f"a{number}.json").write_bytes(idle)
    with pytest.raises(BadInput, match="no work of a GPU"):
        list(read_recordings(str(tmp_path)))
    (tmp_path / "b.json").write_bytes(TRACE)
    (recording,) = read_recordings(str(tmp_path))
    assert len(recording.notes) == 4
    assert "no work of a GPU" in recording.notes[0]
    assert recording.notes[-1] == "2 more files left out."


@pytest.mark.parametrize("length", [0, 1, 5, 10, 20])
@pytest.mark.parametrize("kind", ["b.json", "b.json.gz", "b.sqlite"])
def test_files_of_a_folder_that_are_cut_at_once_are_said(
    kind: str, length: int, tmp_path: Path
) -> None:
    whole = {
        "b.json": TRACE,
        "b.json.gz": gzip.compress(TRACE),
        "b.sqlite": exports.export(tmp_path / "export").read_bytes(),
    }
    (tmp_path / kind).write_bytes(whole[kind][:length])
    (tmp_path / "a.json").write_bytes(TRACE)
    recordings = list(read_recordings(str(tmp_path)))
    assert len(recordings) == 1
    assert any(kind in note for note in recordings[0].notes), recordings[0].notes


def test_files_of_a_folder_that_are_no_trace_are_none_of_ours(tmp_path: Path) -> None:
    others = {
        "lines.json": b'{"a": 1}\n{"a": 2}\n', "text.json": b"hello", "large.json": b"[" + b"1," * 50_000,
        "packed.json.gz": gzip.compress(b'{"a": 1}'),
    }  # fmt: skip
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "a.json").write_bytes(TRACE)
    [recording] = read_recordings(str(tmp_path))
    assert recording.notes == []
