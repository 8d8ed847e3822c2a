"""The tutorials: their code ran, their commands answer that, their times were measured."""

from __future__ import annotations

import io
import json
import lzma
import re
import shlex
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
TRUTH = ROOT / "tests" / "truth"
REPORTS = {
    "transpose.ncu-rep": "pairs-5",
    "reduction.ncu-rep": "textbook",
    "product.ncu-rep": "pairs-2",
    "sgemm.ncu-rep": "textbook",
}
ARCHIVES = ("loops", "torch")
# The source of each page's code.
SOURCES = {
    "transpose": ("truth/pairs/transpose.cu",),
    "reduction": ("truth/textbook/elementary.cu",),
    "matrix-product": ("truth/pairs/matrix_product.cu", "truth/textbook/numeric.cu"),
    "training-loop": ("gpu/timelines/torch_loops.py",),
}
PICTURES = {
    "banks-32x32.svg": "banks --tile 32x32 --gpu h200",
    "banks-32x33.svg": "banks --tile 32x33 --gpu h200",
    "resize-on-host.svg": "timeline resize_on_host.json.gz",
    "resize-on-gpu.svg": "timeline resize_on_gpu.json.gz",
}
CONSOLE = re.compile(r"```console\n\$ (gpuadvise [^\n]*)\n(.*?)```", re.DOTALL)


def pages() -> list[tuple[str, str, str]]:
    return [
        (path.stem, *shown)
        for path in sorted(TUTORIALS.glob("*.md"))
        for shown in CONSOLE.findall(path.read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the recordings under the names that the pages give them."""
    folder = tmp_path_factory.mktemp("tutorials")
    for name, group in REPORTS.items():
        packed = (TRUTH / "recorded" / f"{group}.ncu-rep.xz").read_bytes()
        (folder / name).write_bytes(lzma.decompress(packed))
    wanted = set(re.findall(r"\w+\.json\.gz", (TUTORIALS / "training-loop.md").read_text()))
    wanted |= set(re.findall(r"\w+\.json\.gz", " ".join(PICTURES.values())))
    for archive in ARCHIVES:
        with tarfile.open(ROOT / "tests" / "recordings" / f"{archive}.tar.xz") as tar:
            for member in tar:
                name = Path(member.name).name
                if name in wanted:
                    source = tar.extractfile(member)
                    assert source
                    (folder / name).write_bytes(source.read())
    return folder


@pytest.mark.parametrize(("page", "command", "output"), pages())
def test_a_command_of_a_tutorial_says_that(
    page: str, command: str, output: str, cli, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recorded)
    monkeypatch.setenv("COLUMNS", "100")
    ran = cli(*shlex.split(command)[1:])
    at = 0
    for part in output.split("...\n"):
        text = part.rstrip("\n")  # the page may end a long line early
        found = ran.out.find(text, at)
        assert found >= 0, f"docs/tutorials/{page}.md shows:\n{text}\nit says:\n{ran.out}"
        at = found + len(text)


@pytest.mark.parametrize("page", SOURCES)
def test_the_code_of_a_tutorial_is_what_ran(page: str) -> None:
    """Its lines stand in the source, one behind the other."""
    sources = [
        "\n".join((ROOT / "tests" / name).read_text().splitlines()) for name in SOURCES[page]
    ]
    text = (TUTORIALS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:cuda|python)\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        assert any(block.rstrip("\n") in source for source in sources), block


def median_times() -> dict[str, float]:
    """Return the measured seconds of each kernel and program."""
    times = {}
    for line in (TRUTH / "recorded" / "times.jsonl").read_text().splitlines():
        measured = json.loads(line)
        times[measured["kernel"]] = measured["median_us"] * 1e-6
    for archive in ARCHIVES:
        with tarfile.open(ROOT / "tests" / "recordings" / f"{archive}.tar.xz") as tar:
            member = next(one for one in tar if one.name.endswith("seconds.ndjson"))
            source = tar.extractfile(member)
            assert source
            for line in io.TextIOWrapper(source, "utf-8"):
                measured = json.loads(line)
                times[measured["case"]] = measured["median"]
    return times


UNITS = {"µs": 1e-6, "ms": 1e-3}


@pytest.mark.parametrize("page", SOURCES)
def test_the_times_of_a_tutorial_were_measured(page: str) -> None:
    times = median_times()
    text = (TUTORIALS / f"{page}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)?) \|(.*)\|$", text, re.MULTILINE)
    assert len(rows) >= 3
    for names, cells in rows:
        said = re.findall(r"([\d.,]+) (µs|ms)", cells)
        cases = re.findall(r"`(\w+)`", names)
        assert len(said) == len(cases), names
        for case, (number, unit) in zip(cases, said, strict=True):
            digits = number.replace(",", "")
            places = len(digits.partition(".")[2])
            assert round(times[case] / UNITS[unit], places) == float(digits), case


def test_times_in_the_text_are_those_of_the_table() -> None:
    for path in TUTORIALS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        table = text[text.index("## What was won") :]
        prose = re.sub(r"```.*?```", "", text[: text.index("## What was won")], flags=re.DOTALL)
        times = {number for number, _ in re.findall(r"\b([\d.,]*\d) (µs|ms)\b", prose)}
        assert times - {"30", "1.2"} <= set(re.findall(r"[\d.,]*\d", table)) | {"345"}, path.name


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_a_tutorial_is_what_the_command_draws(
    name: str,
    cli,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(recorded)
    drawn = tmp_path / name
    assert cli(*PICTURES[name].split(), "--plot", str(drawn)).code == 0
    if request.config.getoption("--update-golden"):
        (TUTORIALS / name).write_bytes(drawn.read_bytes())
    assert drawn.read_bytes() == (TUTORIALS / name).read_bytes(), "run with --update-golden"
