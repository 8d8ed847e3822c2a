"""Lines of instructions: by hand, and against NVIDIA's disassembler on what NVIDIA's compiler makes."""

from __future__ import annotations

import lzma
import re
import subprocess
import sysconfig
from io import BytesIO
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.cubin.line_table import (
    LineTable,
    SourceLine,
    has_lines,
    line_tables,
)
from gpuadvise.advisor.profiles.ncu_report import ReportedCode, read_ncu_report

NVDISASM = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", "nvdisasm")
RECORDED = Path(__file__).parents[2] / "truth" / "recorded"


def uleb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


SET_ADDRESS = b"\0\x09\x02" + bytes(8)
END = b"\0\x01\x01"


def program(steps: bytes, version: int = 2, files: bytes | None = None) -> bytes:
    """A line program with one file, one-byte steps, line_base -5, line_range 14, opcode_base 13."""
    standard = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
    sizes = b"\x01" if version < 4 else b"\x01\x01"
    tables = files or b"/home/somebody\0\0" + b"k.cu\0\x01\0\0" + b"../inc/h.cuh\0\0\0\0" + b"\0"
    header = sizes + b"\x01\xfb\x0e\x0d" + standard + tables
    before = pack("<H", version) + (b"\x08\0" if version == 5 else b"")
    unit = before + pack("<I", len(header)) + header + steps
    return pack("<I", len(unit)) + unit


def cubin(debug_line: bytes, strings: bytes = b"", places: tuple[int, ...] = ()) -> bytes:
    """An image with a table of lines whose addresses at *places* are those of function ``f``."""
    if not places:
        places = (debug_line.index(SET_ADDRESS) + 3,)
    symbols = bytes(24) + pack("<IBBHQQ", 0, 0x12, 0, 5, 0, 64)
    symbols += pack("<IBBHQQ", 1, 0x22, 0, 5, 48, 16)  # begins at 48, under the first of *strings*
    relocated = b"".join(pack("<QQq", place, 1 << 32 | 2, 0) for place in places)
    contents = {
        "": b"",
        ".debug_line": debug_line,
        ".rela.debug_line": relocated,
        ".symtab": symbols,
        ".debug_line_str": strings,
        ".text.f": bytes(64),
        ".shstrtab": b"",
    }
    names = b"\0".join(name.encode() for name in contents) + b"\0"
    contents[".shstrtab"] = names
    links = {".rela.debug_line": (3, 1), ".symtab": (4, 0)}
    body, rows = b"", b""
    for name, content in contents.items():
        link, info = links.get(name, (0, 0))
        at = names.index(name.encode() + b"\0") if name else 0
        kind = 1 if name else 0
        rows += pack("<IIQQQQIIQQ", at, kind, 0, 0, 64 + len(body), len(content), link, info, 1, 0)
        body += content
    header = pack(
        "<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 65, 8, 2, 190, 1, 0, 0, 64 + len(body), 0,
        64, 0, 0, 64, len(contents), 6,
    )  # fmt: skip
    return header + body + rows


def rows(debug_line: bytes, **more: object) -> list[SourceLine | None]:
    table = line_tables(cubin(debug_line, **more))["f"]  # type: ignore[arg-type]
    return [table.at(offset) for offset in range(0, 64, 16)]


# advance_line to 10 and copy; 16 bytes on with file 2 and line + 2; 16 bytes on, end.
STEPS = (
    SET_ADDRESS
    + b"\x03\x09\x01"
    + b"\x04\x02" + b"\x02\x10" + b"\x03\x02" + b"\x01"
    + b"\0\x03\x90\x08\0" + b"\x04\x01" + b"\x09" + pack("<H", 16) + b"\x03\x7d" + b"\x01"
    + b"\x02\x10" + END
)  # fmt: skip


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_program_by_hand(version: int) -> None:
    assert rows(program(STEPS, version)) == [("k.cu", 10), ("h.cuh", 12), ("k.cu", 9), None]


def test_special_operations_move_both() -> None:
    # 13 + (5 + 1) + 14 * 15: line + 1, address + 15; the operation after it moves the address alone
    steps = SET_ADDRESS + b"\x01" + bytes([13 + 6 + 14 * 15]) + b"\x08" + END
    table = line_tables(cubin(program(steps)))["f"]
    assert [table.at(offset) for offset in (0, 14, 15, 16, 33)] == [
        ("k.cu", 1), ("k.cu", 1), ("k.cu", 2), ("k.cu", 2), None,
    ]  # fmt: skip


def test_version_5_names_files_in_a_table_of_strings() -> None:
    strings = b"/home/somebody/k.cu\0"
    form = bytes([2, 1, 0x1F, 2, 0x0B])
    tables = form + b"\x01" + pack("<I", 0) + b"\0" + form + b"\x02" + (pack("<I", 0) + b"\0") * 2
    debug_line = program(SET_ADDRESS + b"\x03\x04\x01\x02\x40" + END, 5, tables)
    assert rows(debug_line, strings=strings) == [("k.cu", 5)] * 4


def test_a_form_that_is_not_known_gives_no_lines() -> None:
    debug_line = program(SET_ADDRESS + b"\x01" + END, 5, bytes([1, 1, 0x2C]) + b"\x01" + bytes(9))
    assert line_tables(cubin(debug_line)) == {}


def test_line_zero_and_unknown_files_are_no_lines() -> None:
    steps = SET_ADDRESS + b"\x03\x7f\x01" + b"\x02\x10\x03\x05\x04\x09\x01" + b"\x02\x10" + END
    assert rows(program(steps))[:2] == [None, None]


TOOLKIT = b"/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include"
INLINED = (
    SET_ADDRESS
    + b"\x03\x09\x01"  # row 1: k.cu, line 10
    + b"\0\x03\x90\x01\0" + b"\x04\x02" + b"\x02\x10" + b"\x01"  # inlined there: the header
    + b"\0\x03\x90\x00\0" + b"\x02\x10" + b"\x01"  # the header, called from nowhere
    + b"\0\x03\x90\x63\0" + b"\x02\x10" + b"\x01" + END  # a row that there is not
)  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "second"),
    [
        (TOOLKIT, ("k.cu", 10)),
        (b"/venv/site-packages/nvidia/cu13/include/cccl", ("k.cu", 10)),
        (b"/usr/include/c++/13", ("k.cu", 10)),
        (b"/home/somebody/include", ("h.cuh", 10)),
    ],
)
def test_a_header_of_the_toolkit_is_told_by_the_line_that_calls_it(
    folder: bytes, second: tuple[str, int]
) -> None:
    files = folder + b"\0\0" + b"k.cu\0\0\0\0" + b"h.cuh\0\x01\0\0" + b"\0"
    header = ("h.cuh", 10)
    assert rows(program(INLINED, 2, files)) == [("k.cu", 10), second, header, header]


def test_subroutines_of_the_assembler_have_no_line() -> None:
    steps = SET_ADDRESS + b"\x01" + b"\x02\x40" + END
    assert rows(program(steps)) == [("k.cu", 1)] * 4
    strings = b"\0$__internal_0_$__cuda_sm20_div_rn_f64_full\0"
    assert rows(program(steps), strings=strings) == [*[("k.cu", 1)] * 3, None]


def test_the_first_line_and_what_stands_before_it() -> None:
    table = LineTable([(32, None), (16, SourceLine("k.cu", 4)), (16, None)])
    assert (table.at(0), table.at(16), table.at(40)) == (None, ("k.cu", 4), None)
    assert table.first == ("k.cu", 4)
    assert LineTable([]).first is None


def test_an_image_without_lines_has_none() -> None:
    image = cubin(program(STEPS)).replace(b".debug_line", b".other_line")
    assert not has_lines(image)
    assert line_tables(image) == {}
    assert line_tables(b"no image") == {}


@given(st.integers(0, 2000), st.integers(0, 255), st.integers(1, 400))
def test_damage_ends_the_table_and_nothing_else(at: int, byte: int, kept: int) -> None:
    image = bytearray(cubin(program(STEPS)))
    image[at % len(image)] = byte
    for content in (bytes(image), bytes(image[: kept % len(image)])):
        for table in line_tables(content).values():
            assert table.at(16) is None or table.at(16)


def recorded_code(report: str) -> list[bytes]:
    with lzma.open(RECORDED / report) as file:
        entries = read_ncu_report(BytesIO(file.read()), report)
        code = [each.cubin for each in entries if isinstance(each, ReportedCode) and each.cubin]
        return sorted(code, key=len)[:4]


@pytest.mark.parametrize("report", ["pairs-2.ncu-rep.xz", "triton.ncu-rep.xz"])
def test_every_instruction_of_recorded_code_has_nvdisasms_line(report: str, tmp_path: Path) -> None:
    if not NVDISASM.exists():
        pytest.skip("NVIDIA's disassembler is not installed")
    compared = 0
    for image in recorded_code(report):
        (tmp_path / "k.cubin").write_bytes(image)
        call = [NVDISASM, "-gi", "-c", tmp_path / "k.cubin"]  # each place with its callers
        listing = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        tables = line_tables(image)
        function, line, places = "", None, []
        for row in map(str.strip, listing.splitlines()):
            if section := re.match(r"\.text\.(\S+):", row):
                function, line, places = section[1], None, []
            elif row.startswith("$__internal_") and row.endswith(":"):
                line = None  # a subroutine of the assembler's
            elif place := re.search(r'//## File "([^"]*)", line (\d+)', row):
                places.append((place[1], int(place[2])))
            elif instruction := re.match(r"/\*([0-9a-f]{4,})\*/\s", row):
                if places:
                    own = [(path, at) for path, at in places if "/include" not in path]
                    path, at = (own or places)[0]
                    line, places = (path.rpartition("/")[2], at), []
                table = tables.get(function)
                assert (table and table.at(int(instruction[1], 16))) == line, (function, row)
                compared += 1
    assert compared > 500
