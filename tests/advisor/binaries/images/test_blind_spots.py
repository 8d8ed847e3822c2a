"""Device code that cuobjdump does not show, or shows wrongly."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from nvidia_wheels import LIBRARIES, TOOLS, present

from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

TWO = ("-gencode=arch=compute_80,code=[sm_80,compute_80]", "-gencode=arch=compute_90,code=sm_90")


@pytest.fixture(scope="module")
def fatbin(build: Callable) -> Path:
    return build("two.fatbin", "-fatbin", "-Xfatbin=-compress-all", *TWO)


def kernels(items: Iterable[object]) -> list[tuple[str, str]]:
    return sorted((item.name, item.capability.target) for item in items if isinstance(item, Kernel))


@pytest.mark.parametrize("section", [".data", ".rodata", ".cask_resource", ".ldata"])
def test_containers_in_any_section(
    section: str, fatbin: Path, cuda: Callable, tmp_path: Path
) -> None:
    source = tmp_path / "hidden.s"
    source.write_text(
        f'.section {section},"aw"\n.space 100000, 0x55\n.balign 8\n.incbin "{fatbin}"\n'
    )
    path = tmp_path / "hidden.o"
    subprocess.run(["gcc", "-c", source, "-o", path], check=True)
    assert "Function" not in cuda_output("--dump-resource-usage", path)
    found = list(read(str(path)))
    assert kernels(found) == kernels(read(str(fatbin)))
    assert {item.place.section for item in found} == {section}


def cuda_output(*arguments: object) -> str:
    tool = present(TOOLS / "cuobjdump")
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_libraries_that_keep_containers_in_their_data() -> None:
    found = [
        item
        for item in read(str(present(LIBRARIES / "libcurand.so.10")))
        if isinstance(item, Kernel) and item.place.section == ".data"
    ]
    assert len(found) > 1000
    assert all(kernel.registers for kernel in found if kernel.source == "cubin")


def program(fatbin: bytes, name: bytes) -> bytes:
    """Return a Windows program that holds *fatbin* in the section *name*, and some code."""
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 2, 0, 0, 0, 0, 0)
    table = b"".join(
        struct.pack("<8sIIIIIIHHI", label, 0, 0, size, start, 0, 0, 0, 0, flags)
        for label, size, start, flags in (
            (b".text", 512, 512, 0x60000020),
            (name, len(fatbin), 1024, 0x40000040),
        )
    )
    head = (b"MZ" + bytes(58) + struct.pack("<I", 64) + coff + table).ljust(512, b"\0")
    return head + b"\x90" * 512 + fatbin


def test_windows_programs(fatbin: Path, tmp_path: Path) -> None:
    path = tmp_path / "program.dll"
    path.write_bytes(program(fatbin.read_bytes(), b".nv_fatb"))
    assert "Function" not in cuda_output("--dump-resource-usage", path)
    found = list(read(str(path)))
    assert kernels(found) == kernels(read(str(fatbin)))
    assert {item.place.section for item in found} == {".nv_fatbin"}


def test_a_windows_program_whose_header_lies(fatbin: Path, tmp_path: Path) -> None:
    whole = program(fatbin.read_bytes(), b".rdata")
    path = tmp_path / "program.dll"
    for at, value in ((60, 2**32 - 1), (60, 2), (70, 0xFFFF)):
        path.write_bytes(whole[:at] + struct.pack("<I", value) + whole[at + 4 :])
        found = list(read(str(path)))
        assert isinstance(found[0], Damage)
        assert "section table" in found[0].message
        assert len(kernels(found)) > 10


def test_one_old_target_does_not_end_the_list(fatbin: Path, tmp_path: Path) -> None:
    data = bytearray(fatbin.read_bytes())
    struct.pack_into("<I", data, 16 + 28, 35)  # the first entry's target
    path = tmp_path / "old.fatbin"
    path.write_bytes(data)
    entries = [
        item for item in read(str(path), ReadOptions(kernels=False)) if isinstance(item, Entry)
    ]
    assert [str(entry.capability) for entry in entries] == ["3.5", "8.0", "9.0"] or len(
        entries
    ) == 3
    assert "3.5" in {str(entry.capability) for entry in entries}


def test_families_keep_their_letter(build: Callable) -> None:
    path = build("family.fatbin", "-fatbin", "-gencode=arch=compute_100f,code=sm_100f")
    found = list(read(str(path)))
    assert {item.capability.target for item in found} == {"sm_100f"}


def test_device_functions_have_registers(build: Callable) -> None:
    path = build("functions.o", "-dc", "-gencode=arch=compute_90,code=sm_90")
    functions = [item for item in read(str(path)) if isinstance(item, Kernel) and not item.entry]
    assert functions
    assert all(function.registers for function in functions)


def test_concatenated_images_are_listed_unpacked_or_not(
    assemble: Callable, cuda: Callable, tmp_path: Path
) -> None:
    path = tmp_path / "together.fatbin"
    images = [
        f"--image3=kind=elf,sm={sm},file={assemble(f'sm_{sm}').path}" for sm in ("80", "86", "90")
    ]
    cuda("fatbinary", "-64", "--concat", f"--create={path}", *images)
    data = path.read_bytes()
    assert LAYOUT.unpack_from(data, 16)[0] == 256
    listed = [
        item for item in read(str(path), ReadOptions(kernels=False)) if isinstance(item, Entry)
    ]
    assert [entry.capability.target for entry in listed] == ["sm_80", "sm_86", "sm_90"]
    apart = [
        pair for sm in ("80", "86", "90") for pair in kernels(read(str(assemble(f"sm_{sm}").path)))
    ]
    assert kernels(read(str(path))) == sorted(apart)
    # A table that names the same bytes again and again.
    table = 16 + 64 + 8
    overlapping = bytearray(data)
    for part in (1, 2):
        row = table + 64 * part
        overlapping[row + 4 : row + 12] = struct.pack("<II", 0, LAYOUT.unpack_from(data, 16)[13])
    path.write_bytes(overlapping)
    assert "overlap" in next(item.message for item in read(str(path)) if isinstance(item, Damage))
    # A table that names bytes outside the blob.
    forged = bytearray(data)
    struct.pack_into("<I", forged, 16 + 64 + 8 + 4, 2**31)
    path.write_bytes(forged)
    assert any(
        "An image of it claims bytes" in item.message
        for item in read(str(path))
        if isinstance(item, Damage)
    )


def test_images_without_code_do_not_count() -> None:
    entries = [
        item
        for item in read(str(present(LIBRARIES / "libcurand.so.10")), ReadOptions(kernels=False))
        if isinstance(item, Entry)
    ]
    stubs = [entry for entry in entries if entry.content is Content.STUB]
    assert stubs
    assert all(entry.unpacked_size < 2500 for entry in stubs)


def test_thin_archives_name_files_that_are_elsewhere(build: Callable, tmp_path: Path) -> None:
    member = tmp_path / "member.o"
    member.write_bytes(build("two.o", "-c", *TWO).read_bytes())
    path = tmp_path / "thin.a"
    subprocess.run(["ar", "rcsT", path, member], check=True)
    (damage,) = read(str(path))
    assert isinstance(damage, Damage)
    assert (
        damage.message
        == "A thin archive only names its 1 members. Give the object files themselves."
    )
