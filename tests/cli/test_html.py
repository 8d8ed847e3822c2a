"""Answers as HTML: pages in which nothing runs, their pictures, and what does not fit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from html_pages import LARGEST, Page, assert_inert

from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import (
    Cell,
    Column,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
)
from gpuadvise.cli.render import html, svg

DEMO = Path(__file__).parents[2] / "cli" / "demo"
TRACE = str(DEMO / "copies.trace.json.gz")
DESCRIBED = """
[[kernel]]
name = "axpy"
gpu = "h200"
work = { flops = 1e9, bytes = "12GB", dtype = "fp32", time = "3ms" }
[[kernel]]
name = "gemm<b>"
gpu = "h200"
work = { flops = 2e13, bytes = "1GB", dtype = "bf16" }
"""


def answer(*blocks, **more) -> Answer:
    fields = {"device": None, "input": {}, "result": {}} | more
    return Answer(command="advise", blocks=lambda: blocks, **fields)


def page_of(cli, *line: str) -> Page:
    ran = cli(*line, "--format", "html")
    assert ran.code in (0, 3), ran.err
    return assert_inert(ran.out)


def titles(page: Page) -> list[str]:
    return [text for text in page.texts if text.startswith(("Occupancy by", "Roofline", "Account"))]


def test_occupancy_shows_three_curves_with_the_launch(cli) -> None:
    page = page_of(cli, "occupancy", "--regs", "72", "--block", "256", "--gpu", "h100")
    assert len(page.of("svg")) == 3
    assert "this launch: 256" in page.texts
    assert "At most 43.8 %, first at 32. This launch: 256." in page.texts
    assert len([line for line in page.of("path") if line["class"] == "mark"]) == 3


def test_a_sweep_shows_its_curve(cli) -> None:
    line = ("occupancy", "--regs", "72", "--block", "256", "--gpu", "h100", "--sweep")
    for by in ("block", "regs", "smem", "barriers"):
        assert len(page_of(cli, *line, by).of("svg")) == 1
    page = page_of(cli, "occupancy", "--regs", "72", "--gpu", "h100", "--sweep", "block")
    assert not [line for line in page.of("path") if line["class"] == "mark"]
    assert not page_of(cli, "occupancy", "--regs", "72", "--block", "256", "--all-cc").of("svg")


def test_a_launch_that_cannot_be_has_a_page(cli) -> None:
    ran = cli("occupancy", "--regs", "255", "--block", "1024", "--gpu", "h100", "--format", "html")
    assert "too many resources requested" in ran.out or "impossible" in ran.out.lower()
    assert_inert(ran.out)


def test_a_timeline_shows_its_account_and_lanes(cli) -> None:
    page = page_of(cli, "timeline", TRACE)
    assert "Account of time" in page.texts
    assert "copies that no kernel hides: 91.7 %, 18.8 ms" in page.texts
    assert "copies" in page.texts
    assert len(page.of("svg")) == 2


def test_advice_on_a_run_shows_its_account(cli) -> None:
    page = page_of(cli, "advise", TRACE)
    assert len(page.of("svg")) == 2
    assert "Evidence" in page.texts
    assert page.of("details")
    assert page.of("a")


def test_the_roofline_has_its_kernels(cli, tmp_path: Path) -> None:
    path = tmp_path / "kernels.toml"
    path.write_text(DESCRIBED)
    for line in (("roofline", "--describe", str(path), "--gpu", "h200"), ("advise", str(path))):
        page = page_of(cli, *line)
        assert len(page.of("circle")) == 2
        assert "1. axpy: 83.1 % of the roof" in page.texts
        assert "2. gemm<b>: no time given, drawn at the roof" in page.texts
        assert len([line for line in page.of("path") if line["class"] == "roof"]) == 2


def test_work_without_a_known_roof_is_not_drawn(cli, tmp_path: Path) -> None:
    path = tmp_path / "kernels.toml"
    path.write_text(DESCRIBED.replace('gpu = "h200"', 'cc = "9.0"'))
    assert not page_of(cli, "advise", str(path)).of("svg")


def test_a_diff_shows_before_and_after(cli) -> None:
    page = page_of(cli, "diff", TRACE, TRACE)
    assert "Time before and after" in page.texts
    assert "span: before 20.5 ms, after 20.5 ms" in " ".join(page.texts)


def test_the_occupancy_of_two_builds_is_drawn(cli, tmp_path: Path) -> None:
    report = "ptxas info    : Compiling entry function 'k{}' for 'sm_90'\nptxas info    : Used {} registers\n"
    for name, regs in (("old", 32), ("new", 96)):
        text = "".join(report.format(n, regs) for n in range(14))
        (tmp_path / f"{name}.log").write_text(text)
    page = page_of(
        cli, "diff", str(tmp_path / "old.log"), str(tmp_path / "new.log"), "--block", "256"
    )
    assert "Occupancy before and after: 12 of 14 kernels" in page.texts
    same = page_of(cli, "diff", str(tmp_path / "old.log"), str(tmp_path / "old.log"))
    assert not same.of("svg")


@pytest.mark.parametrize(
    "line",
    [("lint", str(DEMO / "kernels.cu")), ("kernels", "80.cubin"), ("gpus", "h100"), ("rules",)],
)
def test_other_answers_have_pages_too(cli, line: tuple[str, ...]) -> None:
    recorded = Path(__file__).parent / "recorded"
    line = tuple(str(recorded / word) if word.endswith(".cubin") else word for word in line)
    page_of(cli, *line)


def test_a_page_has_the_words_of_the_text() -> None:
    page = assert_inert(
        html.page(
            answer(
                Line("verdict", Tone.STRONG),
                Line(""),
                Line("1. HIGH", Tone.BAD),
                Drawing("a < b"),
                Line("Do it", indent=3),
                Heading("Part"),
                LabelledFacts((Fact("label", Cell("value", Tone.GOOD), "why", "a source"),)),
                Table(
                    (Column("n", right=True), Column("name", below=True)), ((Cell("1"), Cell("k")),)
                ),
                Drawing("grid"),
                Line("from here", source=True),
                device={"name": "GPU & co"},
            )
        )
    )
    assert page.texts.count("gpuadvise advise: GPU & co") == 2
    entry = next(each for each in page.of("div") if (each["class"] or "").startswith("entry"))
    assert entry["class"] == "entry bad"
    assert {"a < b", "why; a source", "grid", "k"} <= set(page.texts)
    assert {each.get("class") for each in page.of("p")} >= {"strong", "faint"}


def test_a_long_table_is_folded_and_one_without_end_is_cut() -> None:
    def table(rows: int) -> Table:
        return Table((Column("kernel"),), tuple((Cell(f"k{n} \u00e9"),) for n in range(rows)))

    folded = assert_inert(html.page(answer(table(100))))
    assert "60 more rows" in folded.texts
    assert len(folded.of("tr")) == 102
    cut = assert_inert(html.page(answer(table(100_000), Heading("never seen"))))
    assert any("some of the answer is left out" in text for text in cut.texts)
    assert "never seen" not in cut.texts
    lines = html.page(answer(*(Line("x" * 900) for _ in range(1000))))
    assert LARGEST * 0.9 < len(lines) <= LARGEST
    assert "left out" in lines


def test_a_long_name_is_cut_and_says_so() -> None:
    page = html.page(answer(Line("x" * 5000)))
    assert (
        "x\u2026 (4,000 more characters)" in Page(page).texts[-3] or "4,000 more characters" in page
    )


def test_evidence_is_folded_and_only_our_guides_are_linked() -> None:
    def finding(url: str, **more: object) -> dict[str, object]:
        return {
            "title": "<b>", "rule": "r", "message": "m", "location": {"kernel": "k", "file": None},
            "evidence": [
                {"label": "rate", "value": 0.123456789, "unit": "B/s", "source": "profile"},
                {"label": "none", "value": None, "unit": "", "source": ""},
            ],
            "citation": {"document": "Guide", "section": "1", "url": url},
        } | more  # fmt: skip

    findings = [
        finding("https://docs.nvidia.com/cuda/"),
        finding("https://example.org/"),
        finding("", evidence=[], citation=None),
    ]
    page = assert_inert(html.page(answer(Line("v"), findings=findings)))
    assert len(page.of("details")) == 2
    assert [link["href"] for link in page.of("a")] == ["https://docs.nvidia.com/cuda/"]
    assert "0.123457 B/s" in page.texts


@pytest.mark.parametrize(
    ("line", "titles"),
    [
        ("access --stride 2 --gpu h100", ["Bytes moved and used"]),
        ("banks --tile 32x32 --gpu h100", ["Lanes and banks"]),
        (
            "overlap --gpu h200 --h2d 3ms --kernel 5ms --d2h 3ms --streams 2",
            ["2 pieces in 2 streams"],
        ),
        ("doctor --from {boxes}/h200-busy.json", ["GPU 0: NVIDIA H200"]),
        ("fleet {boxes}", ["Machines"]),
        ("lint {cases}", ["Findings by rule", "Findings by file"]),
        ("lint {demo}", []),
    ],
)
def test_answers_of_other_commands_are_drawn(cli, line: str, titles: list[str]) -> None:
    here = Path(__file__).parent
    cases = here.parent / "advisor" / "source" / "cases"
    line = line.format(boxes=here / "boxes", cases=cases, demo=DEMO / "kernels.cu")
    page = page_of(cli, *line.split())
    assert len(page.of("svg")) == len(titles)
    assert set(titles) <= set(page.texts)


def test_levels_of_a_gpu_stand_on_a_track_of_their_own(cli) -> None:
    boxes = Path(__file__).parent / "boxes"
    page = page_of(cli, "doctor", "--from", str(boxes / "h200-busy.json"))
    assert "56 \u00b0C; clocks fall at 89 \u00b0C" in page.texts
    bars = [bar for bar in page.of("rect") if bar["class"] == "c0"]
    assert float(bars[0]["width"] or 0) == pytest.approx(480 * 56 / 89, abs=0.1)


def test_faults_of_a_fleet_are_drawn_by_their_number(cli, tmp_path: Path) -> None:
    box = json.loads((Path(__file__).parent / "boxes" / "h200.json").read_text())
    telemetry = box["result"]["devices"][0]["telemetry"]
    telemetry["ecc_uncorrected"] = 7
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(box))
    page = page_of(cli, "fleet", str(tmp_path))
    assert "Faults, by the GPUs and machines that have them" in page.texts
    assert "2 places" in page.texts


PLOTTED = {
    "occupancy --regs 96 --block 256 --gpu a100 --sweep regs": "Registers per thread on NVIDIA A100",
    "roofline --flops 1e9 --bytes 12GB --time 4ms --gpu h100": "NVIDIA H100 SXM5 80 GB",
    "access --stride 20 --word 8 --gpu h100": "Bytes that a warp moves on NVIDIA H100 SXM5 80 GB",
    "banks --tile 32x32 --gpu h100": "Banks that a warp reads on NVIDIA H100 SXM5 80 GB",
    "overlap --h2d 3ms --kernel 5ms --gpu h200": "streams on NVIDIA H200 SXM 141 GB",
    f"timeline {TRACE}": "NVIDIA H200: kernels and copies over 20.5 ms",
}


@pytest.mark.parametrize("line", PLOTTED)
def test_a_picture_is_a_file_of_its_own_without_matplotlib(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "chart.svg"
    assert cli(*line.split(), "--plot", str(path)).code == 0
    text = path.read_text(encoding="ascii")
    assert "var(" not in text  # few programs but browsers know variables
    drawn = ElementTree.fromstring(text)
    names = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in drawn.iter()}
    assert names <= {"svg", "title", "desc", "style", "rect", "path", "circle", "text"}
    assert PLOTTED[line] in (drawn[0].text or "")
    assert drawn[1].text
    left, top, width, height = map(float, (drawn.get("viewBox") or "").split())
    for mark in drawn.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(mark.get("x") or 0) + float(mark.get("width") or 0) <= left + width + 0.5
        assert float(mark.get("y") or 0) + float(mark.get("height") or 0) <= top + height + 0.5


def test_a_hostile_title_of_a_picture_is_text() -> None:
    name = "</title><script>alert(1)</script>\x00\ud800 \u202e" + "x" * 200
    drawn = ElementTree.fromstring(svg.document(svg.meters(name, [svg.Part(name, 1, name)])))
    assert not [element for element in drawn.iter() if element.tag.endswith("script")]
    assert "<script>" in (drawn[0].text or "")


def test_parts_of_nothing_are_not_drawn() -> None:
    picture = svg.account("<title>", [svg.Part("a", 1, "50 %"), svg.Part("b", 0, "0 %")])
    text = svg.inline(picture, 3)
    assert "&lt;title&gt;" in text
    assert 'id="picture3-title"' in text
    assert "b: 0 %" not in text
    Page(text)


def test_json_and_html_say_the_same_occupancy(cli) -> None:
    line = ("occupancy", "--regs", "40", "--block", "128", "--gpu", "l4")
    share = json.loads(cli(*line, "--format", "json").out)["result"]["occupancy"]
    page = page_of(cli, *line)
    assert any(f"{100 * share:g} %" in text for text in page.texts)
