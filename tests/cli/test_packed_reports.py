"""Reports and pages packed as a whole are read wherever a report is, whatever they are called."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from gpuadvise.advisor.profiles.signatures import MAGIC

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = Path(__file__).parents[1] / "truth" / "recorded"
ZSTD = zstandard.ZstdCompressor().compress
# What a report or a page may be called, and how it is packed then.
FORMS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "x.ncu-repz": ("ncu-rep", ZSTD),
    "x.ncu-rep.zst": ("ncu-rep", ZSTD),
    "x.ncu-rep.gz": ("ncu-rep", gzip.compress),
    "x.csv.gz": ("raw.csv", gzip.compress),
    "x.csv.zst": ("raw.csv", ZSTD),
}
COMMANDS = (
    ("advise", "{file}"),
    ("advise", "--ncu", "{file}"),
    ("kernels", "{file}"),
    ("roofline", "--ncu", "{file}", "--gpu", "h200"),
)


def content(form: str, group: str = "jax-1") -> bytes:
    return lzma.decompress((RECORDED / f"{group}.{form}.xz").read_bytes())


def result(text: str, *names: str) -> object:
    """Return the JSON answer *text* without the names of its files."""
    for name in names:
        text = text.replace(name, "FILE")
    answer = json.loads(text)
    return {key: answer[key] for key in ("result", "findings")}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_packed_file_is_answered_as_what_is_in_it(
    name: str, command: tuple[str, ...], cli, tmp_path: Path
) -> None:
    form, pack = FORMS[name]
    plain, packed = tmp_path / f"x.{form.rpartition('.')[2]}", tmp_path / name
    plain.write_bytes(content(form))
    packed.write_bytes(pack(plain.read_bytes()))
    answers = []
    for path in (plain, packed):
        ran = cli(*(word.format(file=path) for word in command), "--format", "json")
        assert ran.code == 0, ran.err
        answers.append(result(ran.out, str(path)))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("form", ["ncu-rep", "raw.csv"])
@pytest.mark.parametrize("pack", [ZSTD, gzip.compress], ids=["zstd", "gzip"])
def test_content_tells_not_the_name_also_through_a_pipe(
    form: str, pack: Callable[[bytes], bytes], cli, tmp_path: Path
) -> None:
    path = tmp_path / "nameless"
    path.write_bytes(pack(content(form)))
    plain = tmp_path / "plain"
    plain.write_bytes(content(form))
    for command in ("advise", "kernels"):
        alone = cli(command, str(plain), "--format", "json")
        named = cli(command, str(path), "--format", "json")
        assert (named.code, alone.code) == (0, 0), named.err
        assert result(named.out, str(path)) == result(alone.out, str(plain))
        piped = subprocess.run(
            [sys.executable, "-m", "gpuadvise", command, "-", "--format", "json"],
            input=path.read_bytes(),
            capture_output=True,
            check=True,
        )
        kernels = json.loads(piped.stdout)["result"]["kernels"]
        assert len(kernels) == len(json.loads(alone.out)["result"]["kernels"])


def test_two_runs_of_packed_reports_are_compared(cli, tmp_path: Path) -> None:
    old, new = tmp_path / "old.ncu-rep", tmp_path / "new.ncu-repz"
    old.write_bytes(content("ncu-rep"))
    new.write_bytes(ZSTD(old.read_bytes()))
    ran = cli("diff", str(old), str(new), "--fail-on-regression", "--get", "result.counts")
    assert (ran.code, ran.err) == (0, "")
    counts = json.loads(ran.out)
    assert counts["unchanged"] == sum(counts.values()) > 0


def test_a_folder_of_reports_may_hold_packed_ones(cli, tmp_path: Path) -> None:
    (tmp_path / "a.ncu-repz").write_bytes(ZSTD(content("ncu-rep")))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(content("raw.csv", "cub-2")))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    (tmp_path / "d.csv.gz").write_bytes(b"no gzip")
    ran = cli("advise", str(tmp_path))
    assert ran.code == 0
    assert "2 reports judged, 2 other files left out." in ran.err
    both = cli("advise", *(str(tmp_path / name) for name in ("a.ncu-repz", "b.csv.gz")))
    assert ran.out.replace(str(tmp_path), "") == both.out.replace(str(tmp_path), "")


def test_what_a_packed_report_names_has_no_code_for_compat(cli, tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-repz"
    path.write_bytes(ZSTD(content("ncu-rep")))
    ran = cli("compat", str(path), "--gpu", "h100")
    assert (ran.code, "names kernels but holds no device code" in ran.err) == (2, True)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("left", [0.6, 0.02])
def test_a_packed_file_that_ends_early_is_said(name: str, left: float, cli, tmp_path: Path) -> None:
    """Beside what it holds up to there; where that is nothing it is an error."""
    form, pack = FORMS[name]
    path = tmp_path / name
    packed = pack(content(form, "cub"))
    path.write_bytes(packed[: int(left * len(packed))])
    ran = cli("advise", str(path))
    assert ran.code in (2, 3), ran.err
    assert bool(ran.out) == (ran.code == 3)
    assert "data end early." in ran.err
    ran = cli("kernels", str(path))
    assert (ran.code, "data end early." in ran.err) == (2, True), ran.err


def test_a_damaged_one_is_said(cli, tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-repz"
    packed = bytearray(ZSTD(content("ncu-rep")))
    middle = len(packed) // 2
    packed[middle : middle + 200] = b"\xaa" * 200
    path.write_bytes(packed)
    ran = cli("advise", str(path))
    assert ran.code in (2, 3)
    assert "Zstandard data are damaged." in ran.err
    path.write_bytes(b"\x1f\x8b, and no gzip behind it")
    for command in ("advise", "kernels"):
        ran = cli(command, str(path))
        assert (ran.code, "gzip data are damaged." in ran.err) == (2, True)


@pytest.mark.parametrize("command", ["advise", "kernels", "compat"])
def test_a_bomb_is_refused(command: str, cli, tmp_path: Path) -> None:
    """One that is a report, and claims a block of what unpacks to gigabytes."""
    header, block = b"\x02\0\0\0\x08\x07", b"\x28" + b"\x80" * 5 + b"\x10"
    packer = zstandard.ZstdCompressor().compressobj()
    parts = [packer.compress(MAGIC + header + len(block).to_bytes(4, "little") + block)]
    parts += [packer.compress(bytes(1 << 20)) for _ in range(600)]
    path = tmp_path / "x.ncu-repz"
    path.write_bytes(b"".join([*parts, packer.flush()]))
    ran = cli(command, str(path))
    assert ran.code == 2
    assert "it unpacks to more than 1,000 times its size, as no profiler writes." in ran.err


OTHERS = {
    "elf": ZSTD(b"\x7fELF" + bytes(500)),
    "nothing": gzip.compress(b""),
    "bzip2": b"BZh9",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_else_is_packed_as_a_whole_is_refused(name: str, cli, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(OTHERS[name])
    for command in ("kernels", "advise"):
        ran = cli(command, str(path))
        assert (ran.code, "is packed as a whole." in ran.err) == (2, True), ran.err


def test_a_packed_build_log_is_read(cli, tmp_path: Path) -> None:
    log = Path(__file__).parents[1] / "advisor/profiles/recorded/ptxas.log"
    path = tmp_path / "build.log.gz"
    path.write_bytes(gzip.compress(log.read_bytes()))
    answers = [cli("kernels", str(at), "--format", "csv") for at in (log, path)]
    assert [ran.code for ran in answers] == [0, 0]
    assert answers[0].out.replace(str(log), "") == answers[1].out.replace(str(path), "")
