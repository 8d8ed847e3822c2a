"""Make the committed corpus of a recording: `publish.py RECORDED OUTPUT`.

Each group's thinned report and two pages are compressed. Whoever recorded stays unknown: folders in
reports are overwritten in place, which keeps every length, and the columns of pages that name the
process and its host are emptied.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import sys
from pathlib import Path

from thin import thin

FOLDERS = re.compile(rb"/(?:data|home|mnt|opt|root|srv|tmp|usr|var|work)(?:/[\w.+~@=-]+)+")
"""An absolute path: no file of a kernel's source lies elsewhere."""

SOURCE_FILE = re.compile(rb"[\w-]+\.(?:cuh?|h|hpp|inl|py)")

PERSONAL = ("Process ID", "Process Name", "Host Name")
"""Columns of a page that say where it was recorded."""


def without_folders(report: bytes) -> bytes:
    """Return a report of the same size in which source files have names but no folders."""
    return FOLDERS.sub(_file_name, report)


def _file_name(path: re.Match[bytes]) -> bytes:
    """Return a path of the same length of which only a source file's name is left."""
    folder, _, name = path[0].rpartition(b"/")
    if SOURCE_FILE.match(name):
        return b"/" + b"_" * (len(folder) - 1) + b"/" + name
    return b"/" + b"_" * (len(path[0]) - 1)


def anonymous(page: str) -> str:
    """Return a page of Nsight Compute whose personal columns are empty."""
    rows = list(csv.reader(io.StringIO(page)))
    personal = [rows[0].index(column) for column in PERSONAL]
    for row in rows[1:]:
        for column in personal:
            row[column] = ""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return written.getvalue()


def publish(recorded: Path, output: Path) -> None:
    """Write a recording's reports and pages, compressed, and the times of the pairs."""
    output.mkdir(parents=True, exist_ok=True)
    for report in sorted(recorded.glob("*.thin.ncu-rep")):
        group = report.name.removesuffix(".thin.ncu-rep")
        contents = {f"{group}.ncu-rep.xz": without_folders(thin(report.read_bytes()))}
        for page in ("raw", "details"):
            text = (recorded / f"{group}.{page}.csv").read_text(encoding="utf-8")
            contents[f"{group}.{page}.csv.xz"] = anonymous(text).encode()
        for name, content in contents.items():
            (output / name).write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    (output / "times.jsonl").write_bytes((recorded / "times.jsonl").read_bytes())


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]))
