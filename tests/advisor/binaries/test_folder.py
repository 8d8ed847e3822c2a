"""Folders: what is read of them, and what is left alone."""

from __future__ import annotations

import json
import os
import pickle
from typing import TYPE_CHECKING

import pytest
import recordings

from gpuadvise.advisor.binaries import folder as folder_module
from gpuadvise.advisor.binaries.folder import folder_contents, refuse_empty
from gpuadvise.advisor.binaries.model import Damage, Kernel
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


class Trap:
    """Loading its pickle writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack_caches(tmp_path_factory.mktemp("caches"))


def kernels(path: Path) -> list[Kernel]:
    return [item for item in read(str(path)) if isinstance(item, Kernel)]


def test_caches_of_all_three_libraries_are_read(caches: Path) -> None:
    assert [kernel.name for kernel in kernels(caches / "cupy")] == [
        "reverse",
        "cupy_add__float32_float_float32",
        "cupy_multiply__float32_float_float32",
        "cupy_arange__float_float_float32",
    ]
    triton = kernels(caches / "triton")
    assert sorted((k.name, k.triton.num_warps if k.triton else None) for k in triton) == [
        ("add", 2),
        ("add", 4),
        ("add", 8),
        ("matmul", 4),
        ("matmul", 8),
        ("scale", 4),
    ]
    (scale,) = (kernel for kernel in triton if kernel.name == "scale")
    assert (scale.launched_block, scale.launched_dynamic_smem) == ((128, 1, 1), 0)
    assert scale.cluster == (2, 1, 1)
    assert len(kernels(caches / "inductor")) == 3


def test_a_named_cubin_has_its_launch_too(caches: Path) -> None:
    (path,) = (caches / "triton").glob("HXWYQ*/matmul.cubin")
    (kernel,) = kernels(path)
    assert (kernel.launched_block, kernel.launched_dynamic_smem) == ((128, 1, 1), 24_576)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "[]",
        "null",
        '{"name": "add"}',
        '{"name": "add", "num_warps": 4}',
        '{"name": "add", "num_warps": 4, "target": {"backend": "hip"}}',
        '{"name": "add", "num_warps": true, "target": {"backend": "cuda"}}',
        '{"name": "add", "num_warps": 33, "target": {"backend": "cuda"}}',
        '{"name": "add", "num_warps": 0, "target": {"backend": "cuda"}}',
        '{"name": "add", "num_warps": 1e400, "target": {"backend": "cuda"}}',
        '{"name": "other", "num_warps": 4, "target": {"backend": "cuda"}}',
        '{"name": ["add"], "num_warps": 4, "target": {"backend": "cuda"}}',
        '{"name": "add", "num_warps": 4, "target": {"backend": "cuda"}}' + " " * (1 << 18),
    ],
)
def test_json_that_is_not_of_triton_says_nothing(text: str, caches: Path, tmp_path: Path) -> None:
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "add.cubin").write_bytes(cubin.read_bytes())
    (tmp_path / "add.json").write_text(text)
    (kernel,) = kernels(tmp_path)
    assert (kernel.launched_block, kernel.triton) == (None, None)


def test_values_out_of_range_are_not_known(caches: Path, tmp_path: Path) -> None:
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "add.cubin").write_bytes(cubin.read_bytes())
    fields = {
        "name": "add", "num_warps": 8, "num_ctas": -1, "num_stages": "3", "shared": 1 << 40,
        "maxnreg": 0, "target": {"backend": "cuda"},
    }  # fmt: skip
    (tmp_path / "add.json").write_text(json.dumps(fields))
    (kernel,) = kernels(tmp_path)
    assert kernel.triton == (8, 1, None, None)
    assert (kernel.launched_block, kernel.launched_dynamic_smem) == ((256, 1, 1), None)


def test_pickles_are_never_loaded(caches: Path, tmp_path: Path) -> None:
    mark = tmp_path / "loaded"
    held = tmp_path / "held"
    held.mkdir()
    for protocol in range(2, 6):
        data = pickle.dumps(Trap(mark), protocol=protocol)
        (held / f"{protocol}").write_bytes(data)
        (held / f"{protocol}.nbi").write_bytes(data)
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    # A pickle around a cubin is left alone as well: only a file that is named is searched.
    (held / "numba.nbc").write_bytes(pickle.dumps(cubin.read_bytes()))
    (held / "add.cubin").write_bytes(cubin.read_bytes())
    contents = folder_contents(str(held))
    assert (len(contents.files), contents.pickles) == (1, 9)
    assert len(kernels(held)) == 1
    assert not mark.exists()
    assert "9 pickles left unread" in " ".join(contents.notes())


def test_links_pipes_and_other_files_are_not_read(caches: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "link.cubin").symlink_to(cubin)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.cubin").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("nothing")
    contents = folder_contents(str(tmp_path))
    assert (contents.files, contents.links, contents.others) == ([], 2, 3)
    with pytest.raises(BadInput, match="among 5 files"):
        refuse_empty(contents)


def test_a_linked_json_is_not_followed(caches: Path, tmp_path: Path) -> None:
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "add.cubin").write_bytes(cubin.read_bytes())
    (tmp_path / "add.json").symlink_to(cubin.with_suffix(".json"))
    (kernel,) = kernels(tmp_path)
    assert kernel.triton is None


def test_ptx_counts_only_without_its_cubin(caches: Path, tmp_path: Path) -> None:
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add() { ret; }\n"
    (tmp_path / "add.ptx").write_text(text)
    (tmp_path / "alone.ptx").write_text(text)
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "add.cubin").write_bytes(cubin.read_bytes())
    names = [os.path.basename(path) for path in folder_contents(str(tmp_path)).files]
    assert names == ["add.cubin", "alone.ptx"]


def test_a_damaged_file_leaves_the_rest(caches: Path, tmp_path: Path) -> None:
    (cubin,) = (caches / "triton").glob("BPC6*/add.cubin")
    (tmp_path / "a.cubin").write_bytes(cubin.read_bytes()[:2000])
    (tmp_path / "b.cubin").write_bytes(cubin.read_bytes())
    (tmp_path / "c.ptx").write_text("no code")
    items = list(read(str(tmp_path)))
    assert len([item for item in items if isinstance(item, Kernel)]) == 1
    damaged = {os.path.basename(i.place.path) for i in items if isinstance(i, Damage)}
    assert damaged == {"a.cubin", "c.ptx"}


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcd":
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(folder_module, "MOST_FILES", 3)
    contents = folder_contents(str(tmp_path))
    assert (contents.total, contents.complete) == (3, False)
    monkeypatch.setattr(folder_module, "MOST_FILES", 4)
    assert folder_contents(str(tmp_path)).complete
    deep = tmp_path / "/".join(["x"] * 33)
    deep.mkdir(parents=True)
    assert not folder_contents(str(tmp_path)).complete
    deep.rmdir()
    assert folder_contents(str(tmp_path)).complete


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_listed(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert len(folder_contents(str(tmp_path)).unreadable) == 1
    with pytest.raises(BadInput, match="this user may not"):
        folder_contents(str(tmp_path / "closed"))
