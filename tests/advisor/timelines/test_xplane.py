"""XLA's own recordings: the same run as in the trace beside it, and the GPU's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import recordings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.signatures import is_timeline
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("jax_loops",)) / "jax_loops"


def line_of(path: Path) -> Timeline:
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


@pytest.mark.parametrize("case", ["loop_waits", "loop_ahead"])
def test_both_files_of_a_run_say_the_same(folder: Path, case: str) -> None:
    plane, trace = (line_of(folder / f"{case}{end}") for end in (".xplane.pb", ".trace.json.gz"))
    assert plane.recorder is Recorder.JAX
    assert trace.device is None
    assert plane.device is not None
    assert plane.device.name == "NVIDIA H100 80GB HBM3"
    assert plane.device.sm_count == 132
    assert plane.span_ns == pytest.approx(trace.span_ns, abs=2)
    assert plane.busy_ns == pytest.approx(trace.busy_ns, abs=100)
    assert [(one.shape.name, one.calls) for one in plane.kernels] == [
        (one.shape.name, one.calls) for one in trace.kernels
    ]
    assert [(one.kind, one.bytes) for one in plane.copies] == [
        (one.kind, one.bytes) for one in trace.copies
    ]
    assert plane.launches == trace.launches


def test_it_is_told_by_its_content(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "recording"
    copy.write_bytes((folder / "loop_ahead.xplane.pb").read_bytes())
    assert is_timeline(str(copy))
    assert line_of(copy).launches.kernels == 19


def test_a_damaged_file_gets_a_sentence(folder: Path, tmp_path: Path) -> None:
    content = (folder / "loop_ahead.xplane.pb").read_bytes()
    (tmp_path / "cut.xplane.pb").write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match=r"damaged|no work of a GPU"):
        list(read_recordings(str(tmp_path / "cut.xplane.pb")))


@given(place=st.integers(40, 30_000), byte=st.integers(0, 255))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_byte_is_read_or_refused(folder: Path, tmp_path: Path, place: int, byte: int) -> None:
    content = bytearray((folder / "loop_ahead.xplane.pb").read_bytes())
    content[place] = byte
    (tmp_path / "changed").write_bytes(content)
    try:
        list(read_recordings(str(tmp_path / "changed")))
    except BadInput as error:
        assert error.message
