"""Pack a recording into few files of bounded size: `pack.py RECORDED OUTPUT`.

`pages.tar.xz` holds the pages, logs, times and thinned reports. The reports themselves go, each
compressed, into `reports-N.tar`, the smallest first, as far as there is room; what did not fit is
named, and its thinned report is in `pages.tar.xz` all the same.
"""

from __future__ import annotations

import lzma
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from thin import thin

LARGEST_FILE = 15 << 20
MOST_REPORT_FILES = 3
PRESET = 4  # of xz: a report shrinks twentyfold already


def compressed(report: Path) -> Path:
    """Write a report compressed, and thinned, beside itself; return the compressed one."""
    content = report.read_bytes()
    try:
        report.with_suffix(".thin.ncu-rep").write_bytes(thin(content))
    except (ValueError, IndexError) as error:
        print(f"cannot thin {report.name}: {error}", flush=True)
    path = report.with_suffix(".ncu-rep.xz")
    path.write_bytes(lzma.compress(content, preset=PRESET))
    return path


def bundled(files: list[Path]) -> tuple[list[list[Path]], list[Path]]:
    """Return files in bundles of bounded size, the smallest first, and those left over."""
    bundles: list[list[Path]] = []
    left: list[Path] = []
    room = 0
    for file in sorted(files, key=lambda file: file.stat().st_size):
        size = file.stat().st_size + 2048
        if size > room and len(bundles) < MOST_REPORT_FILES and size <= LARGEST_FILE:
            bundles.append([])
            room = LARGEST_FILE
        if size > room:
            left.append(file)
            continue
        bundles[-1].append(file)
        room -= size
    return bundles, left


def pack(recorded: Path, output: Path) -> None:
    """Pack what was recorded, and say what each file weighs."""
    reports = [
        p for p in sorted(recorded.glob("*.ncu-rep")) if not p.name.endswith(".thin.ncu-rep")
    ]
    with ProcessPoolExecutor() as pool:
        packed = list(pool.map(compressed, reports))
    for report, file in zip(reports, packed, strict=True):
        print(f"{report.name}: {report.stat().st_size:,} bytes, {file.stat().st_size:,} compressed")
    with tarfile.open(output / "pages.tar.xz", "w:xz", preset=PRESET) as archive:
        for file in sorted(recorded.iterdir()):
            if file not in reports and file not in packed:
                archive.add(file, file.name)
    bundles, left = bundled(packed)
    for number, bundle in enumerate(bundles, 1):
        with tarfile.open(output / f"reports-{number}.tar", "w") as archive:
            for file in bundle:
                archive.add(file, file.name)
    for file in left:
        print(f"left out: {file.name}, {file.stat().st_size:,} bytes")
    for file in sorted(output.iterdir()):
        print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
