"""The table of limits is the one that the readers hold to."""

from __future__ import annotations

import re
from pathlib import Path

from gpuadvise.advisor.backends import nvidia_smi, settings_file, user_files
from gpuadvise.advisor.binaries import folder, wheel
from gpuadvise.advisor.description import files
from gpuadvise.advisor.profiles import ncu_file
from gpuadvise.advisor.source import language, preprocessor, text, tree
from gpuadvise.advisor.source.python import module
from gpuadvise.advisor.timelines import activities, read
from gpuadvise.cli import saved_answer

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
MIB, GIB = 1 << 20, 1 << 30
# By the row: what its cells must say, in order.
ROWS = {
    "source file": (text.LARGEST // MIB, tree.LARGEST_PIECE // MIB),
    "CUDA, parsing": (
        tree.MOST_REPORTS, tree.MOST_REPORTS_PER_KILOBYTE, tree.MOST_SECONDS,
        tree.MOST_SECONDS_PER_BYTE * 1e6, tree.MOST_MEMORY // MIB, tree.MOST_MEMORY_PER_BYTE,
    ),
    "CUDA, rules": (tree.MOST_WORK, tree.MOST_WORK_PER_BYTE),
    "CUDA or Python, all of a file": (
        text.MOST_FILE_SECONDS, text.MOST_FILE_SECONDS / text.MOST_FILE_SECONDS_PER_BYTE / 1000,
        text.MOST_FILE_SECONDS_PER_BYTE * 1e6,
    ),
    "Python": (module.LARGEST // MIB, module._DEEPEST, language.MOST_PARTS),
    "CUDA, conditional compilation": (
        preprocessor.MOST_WORK // MIB, preprocessor.MOST_WORK_PER_BYTE,
    ),
    "kernel description": (
        files.LARGEST_DOCUMENT // MIB, files.LARGEST_LINE // MIB, files.MOST_KEY_PARTS,
    ),
    "settings": (settings_file._LARGEST // MIB,),
    "saved device, `nvidia-smi` XML, calibration": (
        user_files.LARGEST_DUMP // MIB, nvidia_smi._MOST_GPUS,
    ),
    "baseline": (saved_answer.LARGEST // MIB,),
    "pipe": (user_files._LARGEST_PIPE // GIB,),
    "folder": (folder.MOST_FILES, folder._DEEPEST),
    "archive member": (
        wheel._MAX_MEMBER // GIB, wheel._MAX_RATIO, wheel._MAX_TOTAL // GIB,
    ),
    "trace, packed": (read._BOUNDS.most // GIB, read._BOUNDS.times),
    "report or page of Nsight Compute, packed": (
        ncu_file.BOUNDS.most // GIB, ncu_file.BOUNDS.times,
    ),
    "trace": (activities.MOST_ACTIVITIES,),
}  # fmt: skip


def test_the_table_says_what_the_readers_hold_to() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M))
    for name, limits in ROWS.items():
        said = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", rows[name])]
        assert said == [float(limit) for limit in limits], name
