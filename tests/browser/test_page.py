"""The page that runs the program, in Chromium: its answers are the command's, and nothing leaves it."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
# Enters a launch as a person would, and waits until the page has answered just that.
ENTER = """
(values) => new Promise((resolve, reject) => {
  const form = document.getElementById("launch");
  const wanted = new URLSearchParams(values).toString();
  const look = () => {
    if ((form.dataset.answers ?? "").slice(1) !== wanted) return;
    watch.disconnect();
    resolve({
      json: document.getElementById("json").textContent,
      verdict: document.getElementById("verdict").textContent,
      command: document.getElementById("command").textContent,
    });
  };
  const watch = new MutationObserver(look);
  watch.observe(form, { attributes: true });
  setTimeout(() => reject(new Error(`${wanted} was not answered`)), 20000);
  delete form.dataset.answers;
  for (const input of form.elements) {
    if (input.name) input.value = values[input.name] ?? "";
  }
  form.elements.regs.dispatchEvent(new Event("input", { bubbles: true }));
})
"""


def launches(gpus: list[str]) -> list[dict[str, str]]:
    """Return 500 launches on any GPU; some are impossible, some no launch at all."""
    chance = random.Random(33)
    cases = []
    for _ in range(500):
        block = chance.choice((chance.randint(1, 1100), 32 * chance.randint(1, 32), 256))
        case = {
            "gpu": chance.choice(gpus),
            "block": chance.choice(
                (str(block), f"{chance.randint(1, 40)}x{chance.randint(1, 40)}")
            ),
            "regs": str(chance.randint(1, 260)),
            "smem": str(chance.choice((0, chance.randint(0, 50_000)))),
            "dynamic-smem": str(chance.choice((0, 1024 * chance.randint(0, 240)))),
        }
        more = {
            "grid": str(chance.randint(1, 100_000)),
            "launch-bounds": f"{32 * chance.randint(1, 32)},{chance.randint(1, 8)}",
            "cluster": str(chance.choice((2, 3, 4, 8, 16))),
            "carveout": f"{chance.randint(0, 100)}%",
            "barriers": str(chance.randint(1, 17)),
        }
        case |= {name: text for name, text in more.items() if chance.random() < 0.2}
        cases.append(case)
    return cases


def test_the_calculator_answers_500_launches_as_the_command_does(page: Page, cli) -> None:
    impossible = 0
    gpus = page.eval_on_selector_all("#gpu option", "all => all.map((one) => one.value)")
    assert len(gpus) > 300
    for case in launches(gpus):
        shown: dict[str, str] = page.evaluate(ENTER, case)
        args = ["occupancy"]
        for name, text in case.items():
            args += [] if text == "0" and name.endswith("smem") else [f"--{name}", text]
        ran = cli(*args, "--format", "json")
        assert shown["json"] == (ran.out or ran.err), args
        assert shown["command"] == " ".join(["gpuadvise", *args])
        impossible += not json.loads(ran.out)["result"]["launchable"]
        text = cli(*args).out.splitlines()
        assert shown["verdict"].startswith(text[1].split(":")[0]), args
    assert 50 < impossible < 450


def test_a_link_holds_what_was_entered(page: Page, context: BrowserContext, address: str) -> None:
    case = {
        "gpu": "a100-sxm4-80",
        "block": "16x16",
        "regs": "48",
        "smem": "16K",
        "dynamic-smem": "0",
    }
    page.evaluate(ENTER, case)
    link = page.inner_text("#link")
    assert link.startswith(f"{address}#gpu=")
    other = context.new_page()
    other.goto(link)
    other.wait_for_selector("form[data-answers]", timeout=60_000)
    assert other.input_value("#block") == "16x16"
    assert other.input_value("#gpu") == "a100-sxm4-80"
    assert other.inner_text("#verdict") == page.inner_text("#verdict")
    assert "dim3(16, 16)" in other.inner_text("#code")
    other.close()


def test_the_launch_names_what_it_needs_before_it(page: Page) -> None:
    case = {
        "gpu": "h100-sxm", "block": "256", "regs": "40", "smem": "0", "dynamic-smem": "100K",
        "grid": "1000", "launch-bounds": "256,4", "cluster": "2",
    }  # fmt: skip
    page.evaluate(ENTER, case)
    assert page.inner_text("#code").splitlines() == [
        "__global__ void __launch_bounds__(256, 4) __cluster_dims__(2, 1, 1) kernel(...);",
        "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 102400);",
        "kernel<<<1000, 256, 102400>>>(...);",
    ]
    assert page.frame_locator("#answer").locator("svg").count() == 3


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of each kind that the program reads."""
    folder = tmp_path_factory.mktemp("evidence")
    recorded = TESTS / "cli" / "recorded"
    for name in ("libsmall.so", "small-1.0-py3-none-any.whl", "90a.cubin", "old.log", "new.log",
                 "pageable.trace.json", "kernel.toml", "two.ptx", "truncated.cubin"):  # fmt: skip
        shutil.copy(recorded / name, folder / name)
    for path in (ROOT / "cli" / "demo").glob("*.*"):
        shutil.copy(path, folder / path.name)
    report = lzma.decompress((TESTS / "truth" / "recorded" / "cub.ncu-rep.xz").read_bytes())
    (folder / "cub.ncu-rep").write_bytes(report)
    with tarfile.open(TESTS / "recordings" / "nsys.tar.xz") as tar:
        member = next(one for one in tar if one.name.endswith(".sqlite"))
        source = tar.extractfile(member)
        assert source
        (folder / "nsys.sqlite").write_bytes(source.read())
    shutil.copy(TESTS / "cli" / "boxes" / "h200.json", folder / "box.json")
    (folder / "größe 中.cu").write_text(
        "__global__ void k(float *x) { x[threadIdx.x] = 1.0; } // 😀\n"
    )
    return folder


def command(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    environment.pop("GPUADVISE_GPU", None)
    return subprocess.run(
        [sys.executable, "-m", "gpuadvise", *args],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


FORGET = "() => { delete document.getElementById('told').dataset.code }"


def prepare(page: Page, words: str, form: str) -> None:
    """Enter how the next files are to be answered, and wait for answers about those before."""
    page.fill("#words", words)
    page.set_input_files("#chosen", [])  # else the same files again are no change
    page.evaluate(FORGET)
    if page.input_value("#format") != form:
        page.select_option("#format", form)
        if page.is_enabled("#again"):
            page.wait_for_selector("#told[data-code]", timeout=60_000)
            page.evaluate(FORGET)


def ask(page: Page, words: str, form: str, *paths: Path) -> dict[str, Any]:
    """Drop *paths* on the page and return what it shows."""
    prepare(page, words, form)
    page.set_input_files("#chosen", paths)
    page.wait_for_selector("#told[data-code]", timeout=60_000)
    out = page.evaluate("() => document.getElementById('text').textContent")
    err = page.evaluate("() => document.getElementById('notes').textContent")
    return {"code": page.get_attribute("#told", "data-code"), "out": out, "err": err}


def same(text: str) -> str:
    """Return *text* as every Python writes it: before 3.12 ``sum`` rounds floats after each step."""
    if sys.version_info >= (3, 12):
        return text
    return re.sub(r"\d+\.\d{9,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.12g}", text)


QUESTIONS = {
    "a trace": ("", ["pageable.trace.json"]),
    "a packed trace": ("timeline", ["copies.trace.json.gz"]),
    "a profile": ("", ["cub.ncu-rep"]),
    "a table of a profile": ("advise", ["report.csv"]),
    "a timeline of nsys": ("timeline", ["nsys.sqlite"]),
    "a library": ("kernels", ["libsmall.so"]),
    "a library and a GPU": ("compat --gpu t4", ["libsmall.so"]),
    "a wheel": ("", ["small-1.0-py3-none-any.whl"]),
    "a device image": ("", ["90a.cubin"]),
    "a damaged image": ("", ["truncated.cubin"]),
    "two builds": ("diff", ["old.log", "new.log"]),
    "PTX": ("kernels", ["two.ptx"]),
    "a description": ("", ["kernel.toml"]),
    "CUDA": ("", ["kernels.cu"]),
    "CUDA in another alphabet": ("", ["größe 中.cu"]),
    "a notebook": ("lint", ["train.ipynb"]),
    "a report with its source": ("", ["report.csv", "kernels.cu"]),
    "a machine": ("", ["box.json"]),
}


@pytest.mark.parametrize(("words", "names"), QUESTIONS.values(), ids=QUESTIONS)
def test_dropped_files_are_answered_as_the_command_answers(
    page: Page, evidence: Path, words: str, names: list[str]
) -> None:
    first, *options = words.split() or [""]
    args = [*([first] if first else []), *names, *options, "--format", "json"]
    ran = command(evidence, *args)
    shown = ask(page, words, "json", *(evidence / name for name in names))
    assert same(shown["out"]) == same(ran.stdout)
    assert (shown["code"], shown["err"]) == (str(ran.returncode), ran.stderr)
    assert ran.returncode == 0 or "truncated.cubin" in names


def test_every_cuda_source_of_the_tests_is_read_alike(page: Page, tmp_path: Path) -> None:
    for at, path in enumerate(sorted((TESTS / "advisor" / "source").rglob("*.cu"))):
        shutil.copy(path, tmp_path / f"{at:03}-{path.name}")
    names = sorted(path.name for path in tmp_path.iterdir())
    ran = command(tmp_path, "lint", *names, "--format", "json")
    shown = ask(page, "lint", "json", *(tmp_path / name for name in names))
    assert json.loads(shown["out"])["findings"]
    assert shown == {"code": str(ran.returncode), "out": ran.stdout, "err": ran.stderr}


def test_a_saved_page_is_the_one_that_the_command_writes(page: Page, evidence: Path) -> None:
    ask(page, "timeline", "html", evidence / "copies.trace.json.gz")
    with page.expect_download() as download:
        page.click("#save")
    ran = command(evidence, "timeline", "copies.trace.json.gz", "--format", "html")
    assert Path(download.value.path()).read_text(encoding="utf-8") == ran.stdout
    shown = page.frame_locator("#page")
    assert shown.locator("svg").count() == 2
    assert "Account of time" in shown.locator("main").inner_text()


def test_text_that_is_pasted_is_answered(page: Page) -> None:
    prepare(page, "", "text")
    page.click("#drop summary")
    page.fill("#pasted", "__global__ void k(float *x) { x[threadIdx.x] *= 1.5; }\n")
    page.click("#paste")
    page.wait_for_selector("#told[data-code='0']", timeout=60_000)
    assert "1 file" in page.inner_text("#text")
    page.click("#drop summary")


def test_what_is_refused_is_said_in_the_commands_words(page: Page, evidence: Path) -> None:
    shown = ask(page, "timeline --gpu nothing", "text", evidence / "pageable.trace.json")
    ran = command(evidence, "timeline", "pageable.trace.json", "--gpu", "nothing")
    assert (shown["code"], shown["err"]) == (str(ran.returncode), ran.stderr) == ("2", ran.stderr)
    assert "Exit code 2" in page.inner_text("#told")


def test_a_long_answer_can_be_stopped(page: Page, evidence: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    lines = (evidence / "report.csv").read_text().splitlines(keepends=True)
    large.write_text("".join([*lines[:-1], *(lines[-1:] * 200_000)]))
    page.fill("#words", "advise")
    page.evaluate(FORGET)
    page.set_input_files("#chosen", large)
    page.click("#stop")
    page.wait_for_selector("#told[data-code='stopped']")
    assert page.inner_text("#told") == "Stopped."
    assert ask(page, "timeline", "json", evidence / "pageable.trace.json")["code"] == "0"
    page.evaluate(
        ENTER, {"gpu": "h100-sxm", "block": "64", "regs": "32", "smem": "0", "dynamic-smem": "0"}
    )


@pytest.fixture
def asked(page: Page) -> Iterator[list[str]]:
    """Return the addresses that the page asks for during the test."""
    addresses: list[str] = []

    def note(request: Any) -> None:
        addresses.append(request.url)

    page.on("request", note)
    yield addresses
    page.remove_listener("request", note)


def test_nothing_is_asked_of_any_server_after_loading(
    page: Page, context: BrowserContext, evidence: Path, asked: list[str]
) -> None:
    ask(page, "", "json", evidence / "kernels.cu")  # brings the grammar
    asked.clear()
    context.set_offline(True)
    try:
        page.evaluate(
            ENTER, {"gpu": "b200", "block": "96", "regs": "33", "smem": "0", "dynamic-smem": "0"}
        )
        for name in ("cub.ncu-rep", "libsmall.so", "kernels.cu"):
            assert ask(page, "", "json", evidence / name)["code"] == "0"
        assert ask(page, "", "html", evidence / "copies.trace.json.gz")["code"] == "0"
    finally:
        context.set_offline(False)
    assert not [
        address for address in asked if not address.startswith(("blob:", "data:", "about:"))
    ]


def test_the_page_loads_from_its_own_server_only(context: BrowserContext, address: str) -> None:
    page = context.new_page()
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(address)
    page.wait_for_selector("form[data-answers]", timeout=60_000)
    origin = address.removesuffix("browser/")
    assert len(addresses) > 10
    assert all(one.startswith((origin, f"blob:{origin}", "data:")) for one in addresses), addresses
    page.close()


def test_the_policy_binds_page_and_worker(page: Page, address: str) -> None:
    elsewhere = address.replace("127.0.0.1", "localhost")
    reach = (
        f"() => fetch('{elsewhere}', {{mode: 'no-cors'}}).then(() => 'reached', () => 'refused')"
    )
    assert page.evaluate(reach) == "refused"
    (worker,) = page.workers
    assert worker.evaluate(reach) == "refused"


def test_a_second_visit_needs_no_network(chromium: Browser, address: str, evidence: Path) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("form[data-answers]", timeout=120_000)
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    context.set_offline(True)
    again = context.new_page()
    again.goto(f"{address}#gpu=t4&block=128&regs=80&smem=0&dynamic-smem=0")
    again.wait_for_selector("form[data-answers]", timeout=120_000)
    assert "--gpu t4 --block 128 --regs 80" in again.inner_text("#command")
    assert ask(again, "", "json", evidence / "pageable.trace.json")["code"] == "0"
    context.close()


@pytest.mark.parametrize("name", ["a run of PyTorch", "a profile with its source", "a notebook"])
def test_an_example_is_answered(page: Page, name: str) -> None:
    prepare(page, "", "html")
    page.click(f"#examples >> text={name}")
    page.wait_for_selector("#told[data-code='0']", timeout=60_000)
    assert page.frame_locator("#page").locator("h1").inner_text().startswith("gpuadvise ")


HOSTILE = "<img src=x onerror='document.title=\"run\"'><script>top.ran=1</script>"


def test_a_link_opens_files_of_another_server_after_a_click(
    context: BrowserContext, address: str
) -> None:
    trace = (ROOT / "cli" / "demo" / "copies.trace.json.gz").read_bytes()
    page = context.new_page()
    asked: list[dict[str, str]] = []

    def serve(route: Any) -> None:
        asked.append(route.request.headers)
        route.fulfill(body=trace, headers={"Access-Control-Allow-Origin": "*"})

    page.route("https://evidence.example/**", serve)
    page.goto(f"{address}?url=https://evidence.example/runs/a%20b.json.gz&command=timeline")
    page.wait_for_selector("#open")
    assert page.locator("#files li").all_text_contents() == [
        "https://evidence.example/runs/a%20b.json.gz"
    ]
    assert not asked, "nothing is fetched before the click"
    page.click("#open")
    page.wait_for_selector("#told[data-code]", timeout=120_000)
    assert page.locator("#told").text_content() == "a b.json.gz: answered."
    assert page.input_value("#words") == "timeline"
    assert "opened" not in page.url
    (headers,) = asked
    assert not {"cookie", "referer"} & headers.keys()
    page.close()


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("open.html", "names no file"),
        ("open.html?url=http://evidence.example/a", "no address that begins with https://"),
        ("open.html?url=javascript:alert(1)", "no address that begins with https://"),
        ("open.html?url=https://user@%3Cb%3E", "no address that begins with https://"),
    ],
)
def test_a_link_to_no_file_is_refused(
    context: BrowserContext, address: str, link: str, words: str
) -> None:
    page = context.new_page()
    page.goto(address + link)
    page.wait_for_selector("#open:disabled")
    assert words in (page.locator("#told").text_content() or "")
    page.close()


def test_names_in_dropped_files_are_text(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    path.write_text(
        json.dumps({"name": HOSTILE, "gpu": "h100", "regs": 72, "block": 100, "grid": 96})
    )
    odd = tmp_path / "<img src=x onerror=top.ran=1>.json"
    shutil.copy(path, odd)
    title = page.title()
    for form in ("html", "text", "json"):
        assert ask(page, "advise", form, path, odd)["code"] == "0"
        page.wait_for_timeout(200)
        assert page.title() == title
        assert page.evaluate("() => window.ran") is None
    assert page.locator("#told img, #notes img, #text img").count() == 0
    ask(page, "advise", "html", path)
    assert page.frame_locator("#page").locator("img, script").count() == 0
    assert "onerror" in page.frame_locator("#page").locator("main").inner_text()


def test_the_keyboard_reaches_every_control(page: Page) -> None:
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0) }")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "() => document.activeElement.id || document.activeElement.dataset.for || ''"
            )
        )
    for control in (
        "gpu",
        "block",
        "regs",
        "smem",
        "dynamic-smem",
        "grid",
        "chosen",
        "words",
        "format",
    ):
        assert control in seen, (control, seen)
    page.focus("[data-for=regs]")
    before = page.input_value("#regs")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#regs") == str(int(before) + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.emulate_media(color_scheme=scheme)
    assert not violations(axe, page)


def test_axe_finds_nothing_on_the_page_that_opens_links(
    context: BrowserContext, address: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = context.new_page()
    page.goto(f"{address}open.html?url=https://evidence.example/a")
    assert not violations(axe, page)
    page.close()


def violations(axe: Any, page: Page) -> list[tuple[str, list[str]]]:
    """Return what axe finds, with the elements where it does."""
    broken = axe.run(page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in broken]


def test_a_telephone_needs_no_sideways_scroll(page: Page, evidence: Path) -> None:
    ask(page, "advise", "html", evidence / "report.csv")
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        page.wait_for_timeout(300)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        frame = page.query_selector("#page").content_frame()
        assert frame.evaluate("() => document.documentElement.scrollWidth") <= 390
        # The frame is as high as what it shows: one page scrolls, not a frame within it.
        inner = frame.evaluate("() => document.body.getBoundingClientRect().height")
        assert page.query_selector("#page").bounding_box()["height"] >= inner
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("snapshot", ["none", "another"])
def test_without_the_memory_of_a_first_answer_it_answers_the_same(
    chromium, address: str, page, snapshot: str
) -> None:
    """A snapshot that is not there, or of another build, costs time and nothing else."""
    window = chromium.new_context(service_workers="block")
    body = gzip.compress(bytes(31 << 20))
    asked = []

    def answer(route) -> None:
        asked.append(route.request.url)
        if snapshot == "none":
            route.fulfill(status=404)
        else:
            route.fulfill(status=200, body=body)

    window.route("**/snapshot.bin", answer)
    other = window.new_page()
    other.goto(f"{address}#gpu=l4&block=192&regs=64")
    other.wait_for_selector("form[data-answers]", timeout=120_000)
    page.goto(f"{address}#gpu=l4&block=192&regs=64")
    page.wait_for_selector("form[data-answers*=l4]", timeout=120_000)
    assert asked
    assert other.inner_text("#json") == page.inner_text("#json")
    assert other.inner_text("#verdict") == page.inner_text("#verdict") != ""
    window.close()
