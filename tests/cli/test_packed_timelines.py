"""Traces that are packed with something else than gzip: what packs them, and how to go on."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
from typing import TYPE_CHECKING

import pytest
import traces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRACE = traces.kineto([traces.kernel(0, 10)]).encode()


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.json", data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("suffix", "pack", "kind", "way"),
    [
        ("zst", lambda _: b"\x28\xb5\x2f\xfd" + bytes(600), "with Zstandard", "zstd -d FILE"),
        ("xz", lzma.compress, "with xz", "xz -dk FILE"),
        ("bz2", bz2.compress, "with bzip2", "bzip2 -dk FILE"),
        ("zip", zipped, "in a zip archive", "unzip FILE"),
    ],
)
def test_a_packed_trace_is_told_how_to_unpack(
    cli, tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], kind: str, way: str
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    path = folder / f"rank0.json.{suffix}"
    path.write_bytes(pack(TRACE))
    plain = tmp_path / "plain.json"
    plain.write_bytes(TRACE)
    for line in (
        ("timeline", path),
        ("timeline", folder),
        ("advise", path),
        ("diff", plain, path),
        ("diff", path, plain),
    ):
        ran = cli(*map(str, line))
        assert ran.code == 2
        assert f'rank0.json.{suffix}" is packed {kind}' in ran.err
        assert f"hint: Unpack it: {way}" in ran.err
