"""Containers of every make, row by row against ``cuobjdump --dump-resource-usage``."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from nvidia_wheels import LIBRARIES, present

from gpuadvise.advisor.binaries.model import Compression, Content, Damage, Entry, Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

ALL = tuple(
    f"-gencode=arch=compute_{sm},code=sm_{sm}"
    for sm in ["75", "80", "86", "87", "89", "90", "90a", "100f", "103", "110", "120", "121"]
)
TWO = ("-gencode=arch=compute_80,code=[sm_80,compute_80]", "-gencode=arch=compute_90,code=sm_90")

_ROW = re.compile(r"\s+REG:(\d+) STACK:(\S+) SHARED:(\d+)")
Row = tuple[str, str, int, str, int]


def ours(items: Iterable[object]) -> Counter[Row]:
    """Our functions as the tool would print them, its oddities included."""
    rows: Counter[Row] = Counter()
    for item in items:
        assert not isinstance(item, Damage), item
        if not isinstance(item, Kernel):
            continue
        assert item.capability
        # The tool prints REG:0 for device functions from sm_90 on, and 0 for no stack record.
        registers = item.registers if item.entry or item.capability.major < 9 else 0
        stack = "UNKNOWN" if item.stack_unbounded else str(item.stack or 0)
        smem = item.static_smem + item.reserved_smem
        rows[item.capability.target.rstrip("f"), item.name, registers, stack, smem] += 1
    return rows


def theirs(text: str) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    target = name = ""
    for line in text.splitlines():
        if line.startswith("arch = "):
            target = line.split()[2].rstrip("f")
        elif found := re.match(r" Function (.*):$", line):
            name = found[1]
        elif found := _ROW.match(line):
            rows[target, name, int(found[1]), found[2], int(found[3])] += 1
    return rows


MAKES = {
    "program": ("-DMAIN", *TWO),
    "library": ("-shared", *TWO),
    "lines": ("-c", "-lineinfo", *TWO),
    "debug": ("-c", "-G", "-gencode=arch=compute_90,code=sm_90"),
    "zstd": ("-c", "-Xfatbin=-compress-all", "-Xfatbin=-compress-mode=size", *TWO),
    "lz4": ("-c", "-Xfatbin=-compress-all", "-Xfatbin=-compress-mode=speed", *TWO),
    "stored": ("-c", "-Xfatbin=-compress-mode=none", *TWO),
    "relocatable": ("-dc", *TWO),
    "device-linked": ("-rdc=true", "-DMAIN", *TWO),
    "fatbin": ("-fatbin", *ALL),
}


@pytest.mark.parametrize("make", MAKES)
def test_same_rows(make: str, build: Callable, cuda: Callable) -> None:
    path = build(f"{make}.o", *MAKES[make])
    expected = theirs(cuda("cuobjdump", "--dump-resource-usage", path))
    assert len(expected) >= 2
    assert ours(read(str(path))) == expected


@pytest.mark.parametrize("make", MAKES)
def test_same_entries(make: str, build: Callable, cuda: Callable) -> None:
    path = build(f"{make}.o", *MAKES[make])
    entries = [
        item for item in read(str(path), ReadOptions(kernels=False)) if isinstance(item, Entry)
    ]
    counted = Counter(entry.content for entry in entries)
    listed = cuda("cuobjdump", "-all", "-lelf", "-lptx", path)
    assert counted[Content.SASS] + counted[Content.STUB] == len(
        re.findall(r"^ELF file", listed, re.MULTILINE)
    )
    assert counted[Content.PTX] == len(re.findall(r"^PTX file", listed, re.MULTILINE))
    assert all(entry.ptx_version for entry in entries if entry.content is Content.PTX)


def test_compressions(build: Callable) -> None:
    for make, expected in (
        ("zstd", {Compression.ZSTD}),
        ("lz4", {Compression.LZ4}),
        ("stored", {Compression.NONE}),
    ):
        entries = read(str(build(f"{make}.o", *MAKES[make])), ReadOptions(kernels=False))
        assert {entry.compression for entry in entries} == expected, make


@pytest.mark.parametrize(
    ("options", "debug"), [((), False), (("-G",), True), (("-lineinfo",), False)]
)
def test_debug_builds_of_nvcc(options: tuple[str, ...], debug: bool, build: Callable) -> None:
    """In a container, whose header says it too, and as a cubin alone."""
    for shape in ("-cubin", "-fatbin"):
        path = build(f"{debug}{shape}{len(options)}", shape, "-arch=sm_90", *options)
        kernels = [item for item in read(str(path)) if isinstance(item, Kernel)]
        assert kernels
        assert {kernel.debug for kernel in kernels} == {debug}


def test_targets_with_letters(build: Callable) -> None:
    entries = read(str(build("fatbin.o", *MAKES["fatbin"])), ReadOptions(kernels=False))
    targets = {entry.capability.target for entry in entries}
    assert {"sm_90", "sm_90a", "sm_100f", "sm_121"} <= targets


def test_lto_is_listed_and_not_read(build: Callable) -> None:
    path = build("lto.o", "-dc", "-gencode=arch=compute_90,code=lto_90")
    items = list(read(str(path)))
    assert [item.content for item in items if isinstance(item, Entry)] == [Content.LTO]
    assert len(items) == 1
    assert items[0].capability.target == "sm_90"


def test_device_linked_program_counts_what_runs(build: Callable) -> None:
    items = list(read(str(build("device-linked.o", *MAKES["device-linked"]))))
    entries = [item for item in items if isinstance(item, Entry)]
    inputs = [entry for entry in entries if entry.link_input]
    assert inputs
    assert {entry.place.section for entry in inputs} == {"__nv_relfatbin"}
    kernels = [item for item in items if isinstance(item, Kernel)]
    assert all(kernel.linked for kernel in kernels)


def test_archive(build: Callable, cuda: Callable, tmp_path: Path) -> None:
    objects = []
    for make in ("lz4", "stored"):
        name = tmp_path / f"{make}-with-a-name-longer-than-sixteen-bytes.o"
        name.write_bytes(build(f"{make}.o", *MAKES[make]).read_bytes())
        objects.append(name)
    path = tmp_path / "both.a"
    subprocess.run(["ar", "rcs", path, *objects], check=True)
    items = list(read(str(path)))
    assert ours(items) == theirs(cuda("cuobjdump", "--dump-resource-usage", path))
    assert {item.place.member for item in items} == {name.name for name in objects}


@pytest.mark.parametrize("library", ["libnvjpeg.so.13", "libcurand.so.10"])
def test_shipped_library(library: str, cuda: Callable) -> None:
    path = present(LIBRARIES / library)
    expected = theirs(cuda("cuobjdump", "--dump-resource-usage", path))
    usual = [item for item in read(str(path)) if item.place.section == ".nv_fatbin"]
    assert len(usual) > 100
    assert ours(usual) == expected
