"""One list of hostile names through every renderer: data everywhere, never a command."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from html_pages import assert_inert
from made_fatbins import fatbin_of

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.render.markdown import escaped
from gpuadvise.cli.render.rows import cell

BOXES = Path(__file__).parent / "boxes"
PAGE = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv"
NAMES = (
    "=1+1",
    "=HYPERLINK(\"https://example.org\",\"x\")",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\uff1d1+1",
    "a;=1+1",
    'a","=1+1',
    "@octocat fix this",
    "see #12, GH-13 and owner/name#14",
    "https://example.org/evil",
    "www.example.org",
    "[click](https://example.org)",
    "![x](https://example.org/p.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- -->",
    "a | b | c",
    "```\n# heading",
    "**bold** _i_ ~~s~~",
    "[red]markup[/red]",
    "\x1b[31mred\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
    "\x9b31m",
    "\u202eright to left",
    "\ud800lone",
    "a\n::error::broken",
    "::error file=x::broken",
    "%0A::error::broken",
    "::set-output name=x::y",
    "::stop-commands::x",
    "##vso[task.setvariable variable=x]y",
    "a ##VSO[task.complete result=Failed] ###[error]x",
    "##teamcity[buildStop comment='x']",
    "section_start:1:x\r\x1b[0Kx",
    "a\x00b",
    "$x^2$",
    "${{ secrets.TOKEN }}",
    "{0} {1}",
    "../../etc/passwd",
    "\u2028line",
    "x" * 5000,
)  # fmt: skip
FORMATS = ("text", "json", "ndjson", "csv", "markdown", "html", "sarif", "github", "gitlab")
OF_FINDINGS = ("sarif", "gitlab")  # formats of the commands that have findings
# Azure Pipelines and TeamCity take commands from anywhere in a line.
ANYWHERE = re.compile(r"##(?:vso|teamcity)?\[", re.IGNORECASE)
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def described(folder: Path, name: str) -> str:
    path = folder / "kernel.json"
    path.write_text(json.dumps({"name": name, "gpu": "h100", "regs": 72, "block": 100, "grid": 96}))
    return str(path)


def traced(folder: Path, name: str) -> str:
    events = [
        {
            "ph": "X", "cat": "kernel", "name": name, "ts": 100 * at, "dur": 50, "pid": 0, "tid": 7,
            "args": {"device": 0, "stream": 7, "grid": [96, 1, 1], "block": [128, 1, 1],
                     "registers per thread": 40},
        }
        for at in range(4)
    ]  # fmt: skip
    path = folder / "run.json"
    path.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": name}], "traceEvents": events})
    )
    return str(path)


def assert_no_formula(page: str) -> None:
    rows = list(csv.reader(io.StringIO(page)))
    assert len({len(row) for row in rows}) <= 1
    for text in (text for row in rows for text in row):
        number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text)
        assert number or not re.match("[=+@\uff1d-]", text), text
        assert not re.search(r";\s*[=+@-]", text), text


def answers(cli, folder: Path, name: str, form: str) -> list[str]:
    """Return what each command that takes foreign names prints in *form*."""
    trace = traced(folder, name)
    calls = [
        ("advise", described(folder, name)),
        ("advise", trace),
        ("diff", trace, trace, "--all"),
    ]
    if form not in OF_FINDINGS:
        calls.append(("timeline", trace, "--gpu", "h100"))
    ran = [
        cli(*call, "--format", form)
        for call in calls
        if not (call[0] == "diff" and form in OF_FINDINGS)
    ]
    for one in ran:
        assert one.code in (0, 2), one.err
        assert not STEERS.search(one.err)
        assert not ANYWHERE.search(one.err)
    return [one.out for one in ran]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_name_is_data(cli, tmp_path: Path, name: str, form: str) -> None:
    for page in answers(cli, tmp_path, name, form):
        assert not STEERS.search(page.replace("\n", "").replace("\t", ""))
        for line in page.splitlines():
            assert form == "github" or not line.lstrip().startswith("::")
            assert not ANYWHERE.search(line), line
        if form == "github":
            assert all(re.match(r"::(error|warning|notice) ", line) for line in page.splitlines())
            assert "::error::broken" not in page.replace("title", "")
        elif form in ("json", *OF_FINDINGS):
            json.loads(page or "{}", parse_constant=pytest.fail)
        elif form == "ndjson":
            for line in page.splitlines():
                json.loads(line, parse_constant=pytest.fail)
        elif form == "csv":
            assert_no_formula(page)
        elif form == "markdown":
            assert not re.search(r"@\w|(?<!\\)#\d|\bGH-\d|https?://|\bwww\.\w", page), page
            assert not re.search(r"(?<!\\)<\w", page)
        elif form == "html":
            assert_inert(page)


PLACES = {
    "kernels": ("text", "json", "ndjson", "csv", "markdown", "html", "github"),
    "kernels --advise": ("text", "markdown", "sarif", "gitlab", "github", "html"),
    "advise": ("text", "json", "ledger", "sarif", "gitlab", "csv", "github"),
    "lint": ("text", "json", "ndjson", "csv", "markdown", "html", "sarif", "gitlab", "github"),
    "doctor --from": ("text", "json", "csv", "markdown", "html", "github"),
    "device --all --telemetry --from": ("text", "json", "csv", "markdown", "html"),
    "occupancy --regs 32 --block 256 --from": ("text", "json", "csv", "markdown", "html", "github"),
    "fleet --all --show-hosts": ("text", "json", "csv", "markdown", "html", "prometheus", "github"),
    "roofline --gpu h200 --describe": ("text", "json", "csv", "markdown", "html", "github"),
    "compat --cc 9.0": ("text", "json", "csv", "markdown", "html", "github"),
}


def hostile_files(folder: Path, command: str) -> list[str]:
    """Return what *command* reads: every hostile name in its content, or as its name."""
    shown = [re.sub(r"[\n\ud800]", " ", name) for name in NAMES]
    if command == "lint":
        (folder / "src").mkdir()
        for name in shown:
            path = folder / "src" / (re.sub(r"[/\0]", "_", name)[:99] + ".cu")
            path.write_text(
                "__global__ void k(float *a) { if (threadIdx.x < 5) __syncthreads(); }\n"
            )
        return [str(folder / "src")]
    if command == "compat --cc 9.0":
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            for name in shown:
                wheel.writestr(name.replace("\0", "_") + ".so", fatbin_of("sass:80"))
        return [str(folder / "a.whl")]
    if command.startswith("kernels"):
        header, units, row, *_ = csv.reader(io.StringIO(PAGE.read_text(encoding="utf-8")))
        at = header.index("Kernel Name")
        with open(folder / "page.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerows([header, units])
            writer.writerows([*row[:at], name.replace("\0", " "), *row[at + 1 :]] for name in shown)
        return [str(folder / "page.csv")]
    if "--from" in command or command.startswith("fleet"):
        machine = json.loads((BOXES / "h200.json").read_text())
        (device,) = machine["result"]["devices"]
        machine["result"]["devices"] = [{**device, "name": name} for name in NAMES]
        if "--from" in command:
            (folder / "box.json").write_text(json.dumps(machine))
            return [str(folder / "box.json")]
        (folder / "fleet").mkdir()
        for at, name in enumerate(shown):
            machine["result"]["devices"] = [{**device, "name": NAMES[at]}]
            path = folder / "fleet" / (re.sub(r"[/\0]", "_", name)[:99] + ".json")
            path.write_text(json.dumps(machine))
        return [str(folder / "fleet")]
    if command.startswith("roofline"):
        kernel = '[[kernel]]\nname = {}\nwork = {{ flops = 1e12, bytes = "1GB", dtype = "fp32", time = "9ms" }}\n'
        (folder / "k.toml").write_text("".join(kernel.format(json.dumps(name)) for name in shown))
        return [str(folder / "k.toml")]
    kernels = [{"name": name, "gpu": "h100", "regs": 72, "block": 100} for name in NAMES]
    (folder / "k.ndjson").write_text("".join(json.dumps(kernel) + "\n" for kernel in kernels))
    return [str(folder / "k.ndjson")]


@pytest.mark.parametrize(
    ("command", "form"), [(c, f) for c, forms in PLACES.items() for f in forms]
)
def test_hostile_names_are_data_wherever_they_come_from(
    command: str, form: str, cli, tmp_path: Path
) -> None:
    ran = cli(*command.split(), *hostile_files(tmp_path, command), "--format", form)
    assert ran.code in (0, 3), ran.err
    for text in (ran.out, ran.err):
        assert not STEERS.search(text.replace("\n", "").replace("\t", ""))
        assert not ANYWHERE.search(text)
    for line in ran.err.splitlines() + ("" if form == "github" else ran.out).splitlines():
        assert not line.lstrip().startswith("::"), line
    if form == "github":
        assert all(re.match("::(error|warning|notice) ", line) for line in ran.out.splitlines())
    if form in ("json", "sarif", "gitlab"):
        json.loads(ran.out, parse_constant=pytest.fail)
    elif form == "csv":
        assert_no_formula(ran.out)
    elif form == "html":
        assert_inert(ran.out)


def test_a_picture_holds_hostile_names_as_text(cli, tmp_path: Path) -> None:
    files, plot = hostile_files(tmp_path, "roofline"), tmp_path / "roofline.svg"
    ran = cli("roofline", "--gpu", "h200", "--describe", *files, "--plot", str(plot))
    assert ran.code == 0, ran.err
    picture = plot.read_text(encoding="utf-8")
    assert not re.search("<script|<img|<a ", picture)
    assert not STEERS.search(picture.replace("\n", ""))


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_errors_and_single_values_repeat_a_hostile_name_as_data(
    name: str, cli, tmp_path: Path
) -> None:
    argument = name.replace("\0", "_").replace("\ud800", "\udcff")[:200]  # as a file can be called
    calls = [
        (command, argument, *form)
        for command in ("lint", "advise", "kernels", "compat", "timeline", "fleet")
        for form in ((), ("--json",))
    ]
    calls += [
        ("occupancy", "--regs", "32", "--block", "64", "--gpu", f"x{argument}"),
        ("lint", "--select", argument, "x.cu"),
    ]
    calls += [("advise", described(tmp_path, name), "--get", "kernels.0.name")]
    for call in calls:
        ran = cli(*call)
        for text in (ran.out, ran.err):
            assert not STEERS.search(text.replace("\n", ""))
            assert not ANYWHERE.search(text)
            assert not re.search(r"^\s*::", text, re.MULTILINE)


def test_the_data_of_json_is_exact(cli, tmp_path: Path) -> None:
    for name in (
        "##vso[x]y",
        "####[",
        "=1+1",
        "@octocat #12",
        "a;=b",
        "[click](https://example.org)",
    ):
        document = json.loads(cli("advise", described(tmp_path, name), "--format", "json").out)
        assert document["result"]["kernels"][0]["name"] == name


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_cell_is_the_text_again_without_its_apostrophe(name: str) -> None:
    shown = cell(name)
    assert shown.removeprefix("'").replace(";'", ";") == inert(name)
    assert cell(["a", name]) == "a " + cell(f"x {name}")[2:]


def test_numbers_stay_numbers() -> None:
    assert [cell(value) for value in (-1, -2.5, None, True, "", "-")] == [
        -1,
        -2.5,
        None,
        "true",
        "",
        "'-",
    ]


def test_markdown_shows_the_name_again() -> None:
    shown = re.sub(r"\\(.)", r"\1", escaped("@octocat #12 [a](https://b.c) www.d.e"))
    assert shown.replace("\u200b", "") == "@octocat #12 [a](https://b.c) www.d.e"
