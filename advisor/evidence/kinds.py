"""What a file of evidence is, told by its content."""

from __future__ import annotations

import codecs
import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import is_kept, opened, unreadable
from gpuadvise.advisor.compression.packed_file import first_bytes
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted_path
from gpuadvise.advisor.source.observations import CUDA_SUFFIXES, OTHER_SUFFIXES, holds_device_code
from gpuadvise.advisor.timelines.foreign_files import is_no_timeline, way_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO


class EvidenceKind(StrEnum):
    """What a file says something of."""

    PROFILE = "profile"
    CODE = "code"  # a binary, or what a compiler printed
    DESCRIPTION = "description"


_SNIFFED = 1 << 16
_DESCRIBED = (".toml", ".json", ".ndjson", ".jsonl", ".ipynb")
_CODE_TEXT = r"ptxas info|^\s{0,8}Resource usage:|^[ \t]*\.version\s+\d"
# What a description or a trace in JSON begins with; a program's own output before a page may begin with a bracket.
_JSON = rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*(?:\{|\]|$)|\{\s*(?:\"|\}|$)|$)"
_PACKED = (".gz", ".zst")
_REPORTS = (".ncu-rep", ".ncu-repz", *(f".ncu-rep{suffix}" for suffix in _PACKED))
_PAGES = (".csv", *(f".csv{suffix}" for suffix in _PACKED))
PROFILE_SUFFIXES = (*_REPORTS, *_PAGES)
_MOST_REPORTS = 1_000


def is_json(stream: IO[bytes]) -> bool:
    """Return whether what waits in *stream* begins as JSON does, or is nothing; nothing is taken."""
    head = stream.peek(_SNIFFED) if hasattr(stream, "peek") else b""
    return not head or (bool(head.strip()) and re.match(_JSON, head) is not None)


def reports_in(folder: str, say: Callable[[list[str]], None]) -> list[str]:
    """Return the reports and pages of Nsight Compute in *folder* and its folders.

    *say* is told where it holds other files beside them. Raises BadInput.
    """
    reports: list[str] = []
    if not os.path.isdir(folder):  # os.walk would break on a name that holds a zero byte
        return reports
    others = 0

    def say_unread(error: OSError) -> None:
        say([unreadable(error, quoted_path(str(error.filename))).message])

    for here, folders, files in os.walk(folder, onerror=say_unread):
        folders.sort()
        paths = sorted(os.path.join(here, name) for name in files)
        found = [path for path in paths if _is_report(path)]
        reports += found
        others += len(paths) - len(found)
        if len(reports) > _MOST_REPORTS:
            raise BadInput(f"{quoted_path(folder)} holds more than {_MOST_REPORTS:,} reports.")
    if reports and others:
        left = plural(others, "other file")
        say([f"{quoted_path(folder)}: {plural(len(reports), 'report')} judged, {left} left out."])
    return reports


def _is_report(path: str) -> bool:
    """Return whether the file *path* of a folder is a report or a page; of pipes and broken links nothing is read."""
    if not os.path.isfile(path) or not path.endswith(PROFILE_SUFFIXES):
        return False
    if path.endswith(_REPORTS):
        return True
    try:
        with opened(path) as file:
            head = first_bytes(file, _SNIFFED, quoted_path(path))
            return _kind_of_text(head) is EvidenceKind.PROFILE
    except BadInput:
        return False


def evidence_kind(path: str) -> EvidenceKind:
    """Return what the file or folder *path* holds (``-``: stdin); raises BadInput."""
    if path == "-" and not is_kept(path):
        return EvidenceKind.DESCRIPTION
    if path.endswith(_DESCRIBED):
        with opened(path) as file:
            head = file.read(_SNIFFED)
        _refuse_own_answer(path, head)
        refuse_foreign(path, head)
        return EvidenceKind.DESCRIPTION
    if os.path.isdir(path):
        return EvidenceKind.CODE
    from gpuadvise.advisor.binaries.file_type import FileType, file_type_of

    with opened(path) as file:
        head = b"" if path.endswith(_REPORTS) else first_bytes(file, _SNIFFED, quoted_path(path))
    refuse_foreign(path, head)
    if path.endswith(_REPORTS):
        return EvidenceKind.PROFILE
    match file_type_of(head):
        case FileType.REPORT:
            return EvidenceKind.PROFILE
        case FileType.TEXT:
            return _kind_of_text(head)
        case _:
            return EvidenceKind.CODE


def _kind_of_text(head: bytes) -> EvidenceKind:
    from gpuadvise.advisor.profiles.ncu_csv import is_header
    from gpuadvise.advisor.profiles.ncu_text import is_text_page

    utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
    if any(map(is_header, text.splitlines())) or is_text_page(text):
        return EvidenceKind.PROFILE
    if re.search(_CODE_TEXT, text, flags=re.MULTILINE):
        return EvidenceKind.CODE
    return EvidenceKind.DESCRIPTION


class FileContent(StrEnum):
    """What a file is, finer than by what is said of a kernel: which command it is for."""

    TRACE = "trace"
    REPORT = "report"
    BUILD_LOG = "build log"
    DESCRIPTION = "description"
    CUDA = "cuda"
    PYTHON = "python"
    LIBRARY = "library"  # host file, archive or wheel
    IMAGE = "image"  # cubin, fatbin or PTX
    MACHINE = "machine"
    FOLDER = "folder"


_SMI = rb"<nvidia_smi_log"
_SNAPSHOT = rb'"schema"\s*:\s*"gpuadvise\.device/'
# An answer of this program that was saved, and what reads it again.
_ANSWER = rb'\s*\{\s*"schema"\s*:\s*"gpuadvise\.([a-z]+)/'
_READ_AGAIN = {
    "device": "gpuadvise doctor --from {}",
    "advise": "As a baseline: gpuadvise advise FILE --baseline {}",
    "kernels": "As a baseline: gpuadvise kernels FILE --baseline {}",
    "measure": "Its figures are used by: gpuadvise roofline --calibration {}",
}
_PTX = r"^[ \t]*\.version\s+\d"


def content_of(path: str) -> FileContent:
    """Return what the file or folder *path* is (``-``: stdin).

    Raises BadInput for what cannot be opened, and for what no command is for, with a hint where
    another program can turn it into evidence.
    """
    from gpuadvise.advisor.timelines.signatures import is_timeline

    if path == "-":
        return FileContent.TRACE if is_timeline(path) else FileContent.DESCRIPTION
    if os.path.isdir(path):
        return FileContent.FOLDER
    with opened(path):  # what cannot be opened is nothing at all
        if is_timeline(path):
            return FileContent.TRACE
    if path.endswith(_REPORTS):
        return FileContent.REPORT
    with opened(path) as file:
        head = first_bytes(file, _SNIFFED, quoted_path(path))
    if path.endswith((".py", ".ipynb")):
        return FileContent.PYTHON
    if path.lower().endswith(CUDA_SUFFIXES):
        return FileContent.CUDA
    if _SMI in head or (head.lstrip()[:1] == b"{" and re.search(_SNAPSHOT, head)):
        return FileContent.MACHINE
    _refuse_own_answer(path, head)
    refuse_foreign(path, head)
    if path.endswith(_DESCRIBED):
        return FileContent.DESCRIPTION
    return _by_head(path, head)


# What a description says of a kernel, and settings of other programs do not.
_KERNEL_KEYS = rb"""(?m)^\s*\[{1,2}kernel[\].]|["{,\s](?:regs|block|grid)["]?\s*[=:]"""


def is_evidence(path: str, content: FileContent) -> bool:
    """Return whether a file that nobody named, of *content* by its suffix, is that by what it holds."""
    if content is FileContent.DESCRIPTION:
        pattern: Callable[[bytes], object] = re.compile(_KERNEL_KEYS).search
    elif content is FileContent.CUDA and not path.endswith((".cu", ".cuh")):
        pattern = holds_device_code
    else:
        return True
    with opened(path) as file:
        return bool(pattern(first_bytes(file, _SNIFFED, quoted_path(path))))


def _by_head(path: str, head: bytes) -> FileContent:
    if not head:
        raise BadInput(f"{quoted_path(path)} is empty.")
    from gpuadvise.advisor.binaries.file_type import FileType, file_type_of

    match file_type_of(head):
        case FileType.REPORT:
            return FileContent.REPORT
        case FileType.CUBIN | FileType.FATBIN:
            return FileContent.IMAGE
        case FileType.HOST | FileType.ARCHIVE | FileType.ZIP | FileType.TAR:
            return FileContent.LIBRARY
        case FileType.TEXT:
            return _by_text(path, head)
        case _:
            raise _unknown(path)


def _by_text(path: str, head: bytes) -> FileContent:
    kind = _kind_of_text(head)
    if kind is EvidenceKind.PROFILE:
        return FileContent.REPORT
    if kind is EvidenceKind.CODE:
        text = head.decode("utf-8", "replace")
        ptx = re.search(_PTX, text, flags=re.MULTILINE)
        return FileContent.IMAGE if ptx else FileContent.BUILD_LOG
    if path.lower().endswith(OTHER_SUFFIXES):
        raise _unknown(path)  # a page about code
    if re.search(rb"__global__|<<<", head):
        return FileContent.CUDA
    from gpuadvise.advisor.source.language import is_python

    if is_python(head):
        return FileContent.PYTHON
    raise _unknown(path)


def _unknown(path: str) -> BadInput:
    return BadInput(
        f"{quoted_path(path)}: nothing tells what this file is.",
        hint="Reports, traces, sources, libraries, build logs and saved machines are told by content.",
    )


def _refuse_own_answer(path: str, head: bytes) -> None:
    """Raise BadInput where the file that begins with *head* is a saved answer, with what reads it."""
    answer = re.match(_ANSWER, head)
    if answer is None:
        return
    command = answer[1].decode()
    name = quoted_path(path)
    raise BadInput(
        f"{name} is an answer of gpuadvise {command}, and no evidence.",
        hint=_READ_AGAIN.get(command, "Give what that answer was made from.").format(name),
    )


# What people have in hand and no command reads, and how it becomes evidence.
_NSYS_REPORT = (".nsys-rep", ".qdrep")
_NSYS_STATS = rb'^"?Time \(%\)"?,"?Total Time \(ns\)"?'
_RECORDING = b"==PROF== "
_SMI_PAGE = rb"==============NVSMI LOG|\+-+\+\s*\|\s*NVIDIA-SMI "


def refuse_foreign(path: str, head: bytes) -> None:
    """Raise BadInput, with what to export, where the file *path* that begins with *head* is another tool's."""
    name = quoted_path(path)
    if path.endswith(_NSYS_REPORT):
        raise BadInput(
            f"{name} is a report of Nsight Systems, which only its own tools read.",
            hint="Export it: nsys export --type sqlite --output report.sqlite FILE",
        )
    if re.search(_NSYS_STATS, head, flags=re.MULTILINE):
        raise BadInput(
            f"{name} is a table of nsys stats: sums, without the order of what ran.",
            hint="Export the report itself: nsys export --type sqlite --output report.sqlite FILE",
        )
    if is_no_timeline(head):
        kind, hint = way_on(path, head)
        raise BadInput(f"{name} {kind}.", hint=hint)
    if _RECORDING in head and _kind_of_text(head) is EvidenceKind.DESCRIPTION:
        raise BadInput(
            f"{name} is what ncu prints while it records, and has no numbers.",
            hint="Give the report that its line `==PROF== Report:` names; without -o, ncu prints the page itself.",
        )
    if re.search(_SMI_PAGE, head):
        raise BadInput(
            f"{name} is a page of nvidia-smi for people.", hint="Save: nvidia-smi -q -x > box.xml"
        )
    if _SMI in head:
        raise BadInput(
            f"{name} describes a machine, and no kernel.", hint=f"gpuadvise doctor --from {name}."
        )
