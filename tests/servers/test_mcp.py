"""The server as a client of the SDK sees it: tools, answers, errors, files, cancelling, many at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import traces

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from gpuadvise.servers.mcp import tools
from gpuadvise.servers.mcp.markdown import ASKED_BYTES, USUAL_BYTES
from gpuadvise.servers.mcp.server import server
from gpuadvise.servers.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "cli" / "demo"
RECORDED = ROOT / "tests" / "cli" / "recorded"
PTX = ".version 8.0\n.target sm_90\n.address_size 64\n"
# One call of each tool, and what its answer says.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "judge": ({"files": ["report.csv", "kernels.cu"]}, "yes: bank-conflicts"),
    "advise": ({"regs": 72, "block": "100", "grid": "96", "gpu": "h200"}, "underfilled-device"),
    "next_command": ({"program": "python train.py"}, "gpuadvise run --keep trace.json -- python"),
    "compare": ({"before": "report.csv", "after": "report.csv"}, "Same within 2 %"),
    "plausible": ({"time": "3ms", "bytes": "24GB", "gpu": "h200"}, "Impossible"),
    "timeline": ({"files": ["copies.trace.json.gz"]}, "91.7 % of 20.5 ms are copies"),
    "kernels": ({"files": ["libsmall.so"], "gpu": "h100"}, "tile(float\\*)"),
    "compat": ({"files": ["libsmall.so"], "gpu": "h100"}, "NVIDIA H100"),
    "diff": ({"old": "80.cubin", "new": "90a.cubin"}, "2 new and 2 removed"),
    "lint": ({"files": ["kernels.cu"]}, "bank-conflicts"),
    "occupancy": ({"regs": 72, "block": "256", "gpu": "h100"}, "37.5 % occupancy"),
    "roofline": ({"flops": "2e9", "bytes": "24GB", "gpu": "h200"}, "Memory-bound"),
    "overlap": ({"h2d": "64MiB", "kernel": "3ms", "gpu": "h200"}, "1.37x"),
    "gpus": ({"query": "h100-sxm h200"}, "H200 SXM 141 GB"),
    "explain": ({"word": "bank-conflicts"}, "Avoid bank conflicts"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the calls name."""
    root = tmp_path / "root"
    root.mkdir()
    for source in (*DEMO.iterdir(), *RECORDED.iterdir()):
        if source.suffix in (".csv", ".cu", ".gz", ".so", ".cubin"):
            (root / source.name).write_bytes(source.read_bytes())
    return root


def asked(root: Path, questions: Callable[[Client], Awaitable[None]], mode: str = "auto") -> None:
    """Let *questions* ask a server in this process."""

    async def run() -> None:
        async with Client(server(root), mode=mode) as client:
            await questions(client)

    anyio.run(run)


async def text_of(client: Client, tool: str, error: bool = False, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert bool(answer.is_error) is error, answer.content
    assert answer.structured_content is None
    (content,) = answer.content
    return str(content.text)


def test_definitions_are_short_and_say_that_nothing_is_changed(folder: Path) -> None:
    async def questions(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.__name__ for tool in TOOLS]
        assert set(CALLS) == {tool.name for tool in listed}
        for tool in listed:
            fields = tool.model_dump(by_alias=True, exclude_none=True)
            assert len(json.dumps(fields, separators=(",", ":"))) / 4 <= 200, tool.name
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert "title" not in json.dumps(tool.input_schema)

    asked(folder, questions)


@pytest.mark.parametrize("name", CALLS)
def test_each_tool_answers_in_500_tokens(name: str, folder: Path) -> None:
    arguments, wanted = CALLS[name]

    async def questions(client: Client) -> None:
        text = await text_of(client, name, **arguments)
        assert wanted in text
        assert len(text.encode()) <= USUAL_BYTES

    asked(folder, questions)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_process_answers_in_both_versions_of_the_protocol(mode: str, folder: Path) -> None:
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "gpuadvise", "mcp", "--root", str(folder)]
    )

    async def run() -> None:
        async with Client(stdio_client(started), mode=mode) as client:
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
            assert "judge" in (client.instructions or "")
            assert len((await client.list_tools()).tools) == len(TOOLS)
            assert "37.5 %" in await text_of(client, "occupancy", **CALLS["occupancy"][0])
            assert "yes: bank" in await text_of(client, "judge", **CALLS["judge"][0])
            said = await text_of(client, "occupancy", error=True, regs=1, gpu="h1000")
            assert '"h1000" is no GPU of the catalogue' in said
            assert "Did you mean" in said or "gpus" in said

    anyio.run(run)


def test_hostile_paths_are_refused_in_a_sentence(folder: Path) -> None:
    secret = folder.parent / "secret.cu"
    secret.write_text("__global__ void k(float *x) { x[threadIdx.x] = 0; }\n")
    (folder / "link.cu").symlink_to(secret)
    (folder / "sub").mkdir()
    (folder / "sub" / "inner.cu").symlink_to(secret)
    os.mkfifo(folder / "pipe.json")
    (folder / "loop").symlink_to("loop")
    refused = {
        "../secret.cu": "is not below the root",
        str(secret): "is not below the root",
        "link.cu": "is not below the root",
        "sub": "holds a link that leads out of the root",
        "pipe.json": "is neither a file nor a folder",
        "-": "No such file",
        "--format": "No such file",
        "loop": "is no path",
        "a\0b": "is no path",
        "/etc/passwd": "is not below the root",
    }

    async def questions(client: Client) -> None:
        for path, why in refused.items():
            said = await text_of(client, "lint", error=True, files=[path])
            assert why in said or "symbolic links" in said, (path, said)
            assert "__global__" not in said
        said = await text_of(client, "compare", error=True, before="report.csv", after="../x")
        assert "x" in said
        assert "No file is named" in await text_of(client, "lint", error=True, files=[])

    asked(folder, questions)


def test_headers_elsewhere_are_not_read(tmp_path: Path, monkeypatch) -> None:
    from gpuadvise.advisor.backends import cuda_sources
    from gpuadvise.advisor.backends.compiler_options import CompilerOptions

    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outer.h").write_text("// outer\n")
    (root / "inner.h").write_text("// inner\n")
    source = root / "k.cu"
    names = ["inner.h", "../outer.h", str(tmp_path / "outer.h")]
    source.write_text(
        "".join(f'#include "{name}"\n' for name in names) + "__global__ void k() {}\n"
    )
    options = CompilerOptions()
    assert {*names} <= {*cuda_sources.read_cuda_source(str(source), options).headers}
    monkeypatch.setattr(cuda_sources, "_headers_below", None)
    cuda_sources.confine_headers(root)
    headers = cuda_sources.read_cuda_source(str(source), options).headers
    assert [name for name in names if name in headers] == ["inner.h"]


def test_modules_below_the_root_are_not_imported(folder: Path) -> None:
    (folder / "json.py").write_text("raise SystemExit('taken')\n")
    (folder / "gpuadvise.py").write_text("raise SystemExit('taken')\n")

    async def questions(client: Client) -> None:
        assert "yes: bank" in await text_of(client, "judge", **CALLS["judge"][0])

    asked(folder, questions)


def test_errors_have_the_sentence_and_its_hint(folder: Path) -> None:
    (folder / "noise.bin").write_bytes(b"\x00\x01" * 50)

    async def questions(client: Client) -> None:
        said = await text_of(client, "kernels", error=True, files=["noise.bin"])
        assert said.startswith("Error executing tool kernels: ")
        assert "noise.bin" in said
        said = await text_of(
            client, "kernels", error=True, files=["libsmall.so"], fields=["kernels.nome"]
        )
        assert "Did you mean name" in said
        assert "--get" not in said.replace("--get list", "")
        said = await text_of(client, "plausible", error=True, time="1ms")
        assert "Give flops, bytes, or both" in said
        said = await text_of(client, "occupancy", error=True, regs="many")
        assert 'regs: "many" is not a whole number.\nIt takes regs, block' in said
        said = await text_of(client, "occupancy", error=True, block="256")
        assert "occupancy: regs is missing.\n" in said
        said = await text_of(client, "occupancy", error=True, regs=72, shared="48K")
        assert 'occupancy takes no "shared".\n' in said
        said = await text_of(client, "explain", error=True, word="wafe")
        assert "Did you mean" in said

    asked(folder, questions)


def test_what_models_write_for_a_type_is_taken(folder: Path) -> None:
    async def questions(client: Client) -> None:
        asked_so = await text_of(client, "occupancy", regs=72, block="16x16", gpu="h100")
        assert await text_of(client, "occupancy", regs="72", block=[16, 16], gpu="h100") == asked_so
        assert await text_of(client, "occupancy", regs=72, block=256, gpu="h100") == asked_so
        named = await text_of(client, "gpus", query="h100-sxm h200")
        assert await text_of(client, "gpus", query=["h100-sxm", "h200"]) == named
        files = CALLS["judge"][0]["files"]
        one = await text_of(client, "judge", files=[files[0]])
        assert await text_of(client, "judge", files=files[0]) == one

    asked(folder, questions)


def test_fields_and_limit_ask_for_more(folder: Path) -> None:
    (folder / "many.ptx").write_text(PTX + "".join(entries(300)))

    async def questions(client: Client) -> None:
        names = await text_of(client, "kernels", files=["libsmall.so"], fields=["kernels.name"])
        assert names == "kernels.name: _Z4tilePf, _Z5scalePfi"
        few = await text_of(client, "kernels", files=["many.ptx"], gpu="h100")
        more = await text_of(client, "kernels", files=["many.ptx"], gpu="h100", limit=100)
        assert USUAL_BYTES < len(more.encode()) <= ASKED_BYTES
        assert len(few.encode()) <= USUAL_BYTES
        assert "290 more" in few

    asked(folder, questions)


def entries(count: int) -> list[str]:
    return [f".visible .entry kernel_{i}(.param .u64 p) {{ ret; }}\n" for i in range(count)]


def test_a_file_of_very_many_kernels_answers_in_two_kilobytes(folder: Path) -> None:
    (folder / "many.ptx").write_text(PTX + "".join(entries(100_000)))

    async def questions(client: Client) -> None:
        text = await text_of(client, "kernels", files=["many.ptx"], gpu="h100")
        assert "100,000 kernels" in text
        assert len(text.encode()) <= 2_000

    asked(folder, questions)


def workers() -> list[str]:
    """Return the processes of readers that this process started."""
    table = subprocess.check_output(["ps", "-o", "pid=,ppid=,args=", "-A"], text=True)
    mine = [line.split(None, 2) for line in table.splitlines()]
    return [
        pid for pid, parent, *args in mine if parent == str(os.getpid()) and "mcp.worker" in args[0]
    ]


def test_a_cancelled_call_ends_its_process_and_the_next_one_answers(folder: Path) -> None:
    (folder / "many.ptx").write_text(PTX + "".join(entries(400_000)))

    async def questions(client: Client) -> None:
        with anyio.move_on_after(1.0) as scope:
            await client.call_tool("kernels", {"files": ["many.ptx"], "gpu": "h100"})
        assert scope.cancelled_caught
        with anyio.fail_after(10):
            assert "37.5 %" in await text_of(client, "occupancy", **CALLS["occupancy"][0])
            while await anyio.to_thread.run_sync(workers):
                await anyio.sleep(0.05)

    asked(folder, questions)


def test_300_calls_at_once_each_get_their_own_answer(folder: Path) -> None:
    questions_asked = [
        {"regs": 16 + i % 100, "block": str(32 * (1 + i // 100)), "gpu": "h100"} for i in range(300)
    ]
    expected = [tools.occupancy(**each) for each in questions_asked]
    answers: dict[int, str] = {}

    async def questions(client: Client) -> None:
        async def ask(number: int) -> None:
            answers[number] = await text_of(client, "occupancy", **questions_asked[number])

        async with anyio.create_task_group() as group:
            for number in range(300):
                group.start_soon(ask, number)

    asked(folder, questions)
    assert [answers[number] for number in range(300)] == expected
    assert len(set(expected)) > 150


def test_rules_and_glossary_are_resources_and_flows_are_prompts(folder: Path) -> None:
    async def questions(client: Client) -> None:
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        assert listed == {"gpuadvise://rules", "gpuadvise://glossary"}
        pages = {
            "gpuadvise://rules": "bank-conflicts",
            "gpuadvise://rules/bank-conflicts": "Avoid bank conflicts",
            "gpuadvise://glossary": "carveout",
            "gpuadvise://glossary/tail-effect": "wave",
        }
        for uri, wanted in pages.items():
            (content,) = (await client.read_resource(uri)).contents
            assert wanted in content.text
        with pytest.raises(Exception, match=r"is not a rule|no rule"):
            await client.read_resource("gpuadvise://rules/nonsense")
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["why_is_it_slow", "is_it_true"]
        told = await client.get_prompt("why_is_it_slow", {"file": "report.csv"})
        assert "judge with report.csv" in told.messages[0].content.text
        told = await client.get_prompt("why_is_it_slow", {"program": "python a.py"})
        assert "next_command with program python a.py" in told.messages[0].content.text
        told = await client.get_prompt("is_it_true", {"claim": "2x"})
        assert "plausible" in told.messages[0].content.text

    asked(folder, questions)


def test_without_the_package_the_command_says_what_to_install(cli, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gpuadvise.servers.mcp.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    ran = cli("mcp")
    assert (ran.code, ran.out) == (3, "")
    assert 'pip install "gpuadvise[mcp]"' in ran.err


def test_a_root_that_is_no_folder_is_refused(cli, tmp_path: Path) -> None:
    ran = cli("mcp", "--root", str(tmp_path / "none"))
    assert ran.code == 2
    assert "is no folder" in ran.err


def test_a_trace_leads_to_a_profile_of_its_hot_kernels(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    events = [traces.kernel(10 * i, 9 - 4 * (i % 2), f"k{i % 2}") for i in range(80)]
    trace.write_text(traces.kineto(events))
    said = tools.next_command([str(trace)], program="./a.out  -n\n5")
    assert (
        "ncu --set full --kernel-name 'regex:^(k0|k1)$' --launch-skip 20 --launch-count 6" in said
    )
    assert "-o report ./a.out -n 5" in said
    assert "ERR_NVGPUCTRPERM" in said
    named = tools.next_command(kernel="gemm", goal="kernel")
    assert "--kernel-name 'regex:^(gemm)$' --launch-count 3" in named


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("run", "nsys profile --trace=cuda,nvtx,osrt"),
        ("memory", "--cuda-memory-usage=true"),
        ("lines", "--import-source yes"),
        ("compare", "mv report.ncu-rep before.ncu-rep"),
    ],
)
def test_a_goal_has_its_command(goal: Any, wanted: str) -> None:
    assert wanted in tools.next_command(goal=goal)


def test_what_a_report_lacks_is_asked_for() -> None:
    report, source = str(DEMO / "report.csv"), str(DEMO / "kernels.cu")
    assert "--import-source yes" in tools.next_command([report])
    assert "Nothing is missing" in tools.next_command([report, source])
    assert "First record the run" in tools.next_command([source])


@pytest.mark.parametrize(
    ("time", "word"), [("4ms", "Impossible"), ("5.5ms", "At the roof"), ("9ms", "Plausible"), ("50ms", "Slow")]
)  # fmt: skip
def test_a_claimed_time_is_held_against_the_roof(time: str, word: str) -> None:
    assert tools.plausible(time=time, bytes="24GB", gpu="h200").startswith(f"{word}: the roof of")


def test_times_are_compared_and_not_shares_of_a_roof(tmp_path: Path) -> None:
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    before.write_text(traces.kineto([traces.kernel(0, 400), traces.kernel(400, 100, "old")]))
    after.write_text(traces.kineto([traces.kernel(0, 200), traces.kernel(200, 50)]))
    said = tools.compare(str(before), str(after))
    assert said.startswith("Faster, 2x: all kernels took 500 us before and 250 us after.")
    assert "1 kernels were launched another number of times" in said
    assert "| old | 100 us | not there | null | null |" in said
    assert tools.compare(str(after), str(before)).startswith("Slower, 2x the time")
    page = (DEMO / "report.csv").read_text()
    quicker = tmp_path / "c.csv"
    quicker.write_text(page.replace('"180.77"', '"90.00"').replace('"91.05"', '"70.05"'))
    said = tools.compare(str(DEMO / "report.csv"), str(quicker))
    assert "| 180.8 us | 90 us | -90.8 us | 2.01x |" in said
    assert "fell from 91 % to 70 %: the time is what counts" in said
