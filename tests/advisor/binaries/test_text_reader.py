from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Entry, Kernel, Place, Source
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.binaries.text.reader import read_program
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "source", "kernels"),
    [
        ("nvrtc-12.9-compute_90a.ptx", Source.PTX, 7),
        ("ptxas-13.5-sm_100f.log", Source.PTXAS_LOG, 10),
        ("nvrtc-13.0-sm_90a.log", Source.PTXAS_LOG, 10),
        ("nvlink-13.0-no-target.log", Source.NVLINK_LOG, 8),
        ("cuobjdump-13.2-object.txt", Source.CUOBJDUMP, 24),
    ],
)
def test_text_is_told_by_what_it_says(data: Path, name: str, source: Source, kernels: int) -> None:
    from_file = list(read(str(data / name)))
    found = [item for item in from_file if isinstance(item, Kernel)]
    assert {kernel.source for kernel in found} == {source}
    assert len(found) == kernels
    piped = list(read_stream(io.BytesIO((data / name).read_bytes()), str(data / name)))
    assert piped == from_file


def test_a_log_may_start_with_a_long_build(tmp_path: Path, data: Path) -> None:
    log = tmp_path / "build.log"
    log.write_bytes(b"cc -c x.c\n" * 200_000 + (data / "ptxas-11.8-sm_75.log").read_bytes())
    assert len(list(read(str(log)))) == 10


def test_after_a_device_link_only_its_numbers_are_left(data: Path) -> None:
    found = [k for k in read(str(data / "nvcc-13.0-device-link.log")) if isinstance(k, Kernel)]
    kernels = [k for k in found if k.entry]
    assert {k.source for k in kernels} == {Source.NVLINK_LOG}
    assert len(kernels) == 16
    assert {k.name for k in found if not k.entry} == {"_Z5depthi", "callee"}


def test_a_link_without_targets_replaces_them_all(tmp_path: Path, data: Path) -> None:
    log = tmp_path / "both.log"
    link = (data / "nvlink-13.0-no-target.log").read_bytes()
    log.write_bytes((data / "ptxas-12.4-sm_90.log").read_bytes() + link)
    kernels = [k for k in read(str(log)) if isinstance(k, Kernel) and k.entry]
    assert {k.source for k in kernels} == {Source.NVLINK_LOG}
    assert {k.capability and k.capability.target for k in kernels} == {"sm_90"}


def test_what_is_not_wanted_is_not_given(data: Path) -> None:
    items = list(read(str(data / "nvrtc-12.9-compute_90a.ptx"), ReadOptions(kernels=False)))
    assert [type(item) for item in items] == [Entry]


def test_programs_of_containers_give_their_kernels(data: Path) -> None:
    payload = b"\n" * 3000 + (data / "nvrtc-12.9-compute_90a.ptx").read_bytes() + b"\0"
    kernels = list(read_program(payload, Place(path="lib.so", member="m.o", offset=64)))
    assert len(kernels) == 7
    assert {(k.place.member, k.place.offset) for k in kernels} == {("m.o", 64)}


def test_other_text_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n" * 10)
    with pytest.raises(BadInput, match="no PTX, build log, cuobjdump listing or") as caught:
        list(read(str(path)))
    assert caught.value.hint
    assert "-Xptxas -v" in caught.value.hint
