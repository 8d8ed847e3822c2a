"""Small files made to keep a reader busy: each ends within 2 s and 300 MiB, and is not judged."""

from __future__ import annotations

import csv
import io
import json
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from made_fatbins import fatbin_of

# Of a busy machine the processor's time is counted; starting takes some 0.3 s of it.
MOST_SECONDS = 2.3
MOST_MEMORY = 300 << 20
KERNEL = b"__global__ void k(float *p) {"
FAULTY = b"__global__ void k(float *a, float x) { a[0] = x * 0.3; if (threadIdx.x < 5) __syncthreads(); }\n"
SOURCES = {
    "qualified names": KERNEL + b"A<B>::" * 4000,
    "open templates": b"A<" * 50_000,
    "calls and comparisons": b"f(a<b," * 15_000,
    "definitions on one line": b"#define X(" * 10_000,
    "definitions": b"#define X(\n" * 9_000,
    "nested conditions": b"#if A\n" * 4000 + b"x;\n" + b"#else\ny;\n#endif\n" * 4000,
    "long conditions": b"#if " + b"A" * 50_000 + b"\n" + b"#elif B\n" * 6000 + b"#endif\n",
    "nested loops": KERNEL + b"for(int i=0;i<9;i++)" * 5000 + b"p[0]=1;}",
    "allocations": b"void h(){for(;;){" + b"cudaMalloc(&p,4);cudaFree(p);" * 3400 + b"}}",
    "nested calls": KERNEL + b"p[0]=" + b"pow(p[0]," * 6000 + b"2.0" + b")" * 6000 + b";}",
    "unknown syntax": b"@$`" * 30_000,
    "tables": b"= {" * 30_000,
    "brackets": KERNEL + b"(" * 90_000,
    "braces": KERNEL + b"{" * 90_000,
    "comments": b"/*" * 45_000,
    "backslashes": b"#define A \\\n" + b"\\\n" * 45_000,
}  # fmt: skip


# A process begins with the peak of the one it was forked from, so a small one starts the program.
STARTER = """
import json, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, done.stderr]))
"""


def measured(*args: str) -> tuple[int, float, int, str]:
    """Run the program; return its exit code, seconds of processor, peak bytes, and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", STARTER, sys.executable, "-m", "gpuadvise", *args],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    code, seconds, memory, err = json.loads(done.stdout)
    return code, seconds, memory, err


def hold_to_limits(*args: str) -> tuple[int, str]:
    code, seconds, memory, err = measured(*args)
    assert seconds < MOST_SECONDS, (args, seconds)
    assert memory < MOST_MEMORY, (args, memory)
    assert "Traceback" not in err
    assert "itself failed" not in err
    return code, err


@pytest.mark.skipif(sys.platform != "linux", reason="its limits of memory are Linux's")
@pytest.mark.parametrize("name", SOURCES)
def test_a_hostile_source_ends_soon(name: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_bytes(SOURCES[name])
    code, _ = hold_to_limits("lint", str(source), "--fail-on", "high")
    assert code in (0, 1, 3)


@pytest.mark.parametrize("name", ["qualified names", "nested conditions"])
def test_what_takes_too_long_is_not_judged_and_no_gate_passes(
    name: str, cli, tmp_path: Path
) -> None:
    (tmp_path / "hostile.cu").write_bytes(SOURCES[name])
    (tmp_path / "fine.cu").write_text("__global__ void k(float *a) { a[threadIdx.x] = 0; }\n")
    ran = cli("lint", str(tmp_path), "--json")
    (left,) = json.loads(ran.out)["result"]["not_judged"]
    assert left["path"].endswith("hostile.cu")
    assert "far more than code of its size" in left["reason"]
    assert (ran.code, cli("lint", str(tmp_path), "--fail-on", "high").code) == (0, 3)
    advised = cli("advise", str(tmp_path / "hostile.cu"), "--gpu", "h100", "--fail-on", "high")
    assert advised.code in (2, 3)
    (tmp_path / "faulty.cu").write_bytes(FAULTY)
    assert cli("lint", str(tmp_path), "--fail-on", "high").code == 1


def test_dense_code_is_code(cli, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    lines = b"".join(b"p[%d]=p[%d]*x+p[%d]/y;" % (n, n + 1, n + 2) for n in range(5000))
    source.write_bytes(b"__global__ void k(float*p,float x,float y){" + lines + b"}")
    result = json.loads(cli("lint", str(source), "--json").out)["result"]
    assert result["not_judged"] == []


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("hip.cu", "#include <hip/hip_runtime.h>\nvoid f() { hipMalloc(&p, 4); }\n", (0, 2)),
        ("open.cu", 'const char *s = "\n' + FAULTY.decode(), (0, 3)),
        ("wide.cu", FAULTY.decode().encode("utf-32"), (2, 2)),
        ("notes.ipynb", "{}", (2, 2)),
        ("notes.txt", "some words", (2, 2)),
        ("CAPITALS.CU", FAULTY.decode(), (0, 1)),
    ],
)
def test_what_is_no_cuda_that_is_understood_passes_no_gate(
    name: str, text: str | bytes, codes: tuple[int, int], cli, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = cli("lint", str(path)), cli("lint", str(path), "--fail-on", "high")
    assert tuple(one.code for one in ran) == codes
    assert all(one.err for one in ran if one.code in (2, 3))


def overlapping(count: int) -> bytes:
    """Return a zip file whose table points *count* times at the same member."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.so", fatbin_of("sass:90"))
    data = made.getvalue()
    at = data.index(b"PK\x01\x02")
    entry, end = data[at : data.index(b"PK\x05\x06")], data[data.index(b"PK\x05\x06") :]
    table = entry * count
    tail = struct.pack("<HHII", min(count, 0xFFFF), min(count, 0xFFFF), len(table), at)
    return data[:at] + table + end[:8] + tail + end[20:]


def test_members_that_share_bytes_are_refused(cli, tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(overlapping(1))
    assert cli("compat", str(wheel), "--cc", "9.0").code == 0
    for count in (2, 2000):
        wheel.write_bytes(overlapping(count))
        for command in (("kernels", str(wheel)), ("compat", str(wheel), "--cc", "9.0")):
            began = time.process_time()
            ran = cli(*command)
            assert time.process_time() - began < 2
            assert (ran.code, ran.out) == (2, "")
            assert "shares bytes with another member" in ran.err


def test_keys_of_toml_have_a_bounded_number_of_parts(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("[" + "a." * 20_000 + "b]", "[[" + "a." * 20_000 + "b]]", "a." * 20_000 + "b = 1"):
        (tmp_path / "k.toml").write_text(text)
        began = time.process_time()
        ran = cli("advise", "k.toml")
        assert time.process_time() - began < 2
        assert (ran.code, "line 1: a key has more than 32 parts" in ran.err) == (2, True)
        (tmp_path / "gpuadvise.toml").write_text(text)
        (tmp_path / "k.cu").write_bytes(FAULTY)
        assert "more than 32 parts" in cli("lint", "k.cu").err
        (tmp_path / "gpuadvise.toml").unlink()
    (tmp_path / "k.toml").write_text("[" + "a." * 31 + "b]")
    assert "parts" not in cli("advise", "k.toml").err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.toml", "[[kernel]]\n" * 20_000),
        ("k.toml", "[[kernel]]\nname = 'k'\n"),
        ("k.ndjson", "{}\n"),
        ("k.toml", "[[kernel]]\nregs = " + "9" * 5000 + "\n"),
        ("k.toml", "[[kernel]]\nregs = 1e400\nblock = 1\n"),
        ("k.json", '{"regs": 1e400, "block": 32}'),
        ("k.json", '{"regs": ' + "9" * 400 + ', "block": 32}'),
        ("k.json", '{"time": Infinity}'),
        ("k.json", "[" * 100_000),
        ("k.toml", "a = " + "[" * 100_000),
        ("k.toml", "a = " + "{a=" * 100_000),
    ],
)
def test_a_description_without_a_fact_or_with_an_endless_number_is_refused(
    name: str, text: str, cli, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    began = time.process_time()
    ran = cli("advise", str(path), "--gpu", "h100", "--fail-on", "low")
    assert time.process_time() - began < 2
    assert ran.code == 2, ran
    assert "itself failed" not in ran.err


def changed(answer: str, path: list[object], value: object) -> str:
    document = json.loads(answer)
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(document)


LOG = """\
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 0 bytes smem
"""
KERNELS_BASELINES = [
    (["schema"], "gpuadvise.kernels/2", "gpuadvise.kernels/1"),
    (["schema"], "gpuadvise.compat/1", "is not an answer"),
    (["schema"], None, "is not an answer"),
    (["result", "kernels", 0, "occupancy"], 10**400, "result.kernels.0.occupancy"),
    (["result", "kernels", 0, "spill_stores"], float("inf"), "result.kernels.0.spill_stores"),
    (["result", "kernels", 0, "spill_loads"], -1, "result.kernels.0.spill_loads"),
    (["result", "kernels", 0, "occupancy"], "all", "result.kernels.0.occupancy"),
    (["result", "kernels"], None, "lists no kernels"),
    (["input"], None, "does not say what was asked for"),
    (["input", "gpu"], "h100", "--gpu"),
    (["input", "block"], 128, "--block"),
    (["input", "dynamic_smem"], 1024, "--dynamic-smem"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "said"), KERNELS_BASELINES)
def test_a_kernels_baseline_that_cannot_be_compared_passes_no_gate(
    path: list[object], value: object, said: str, cli, tmp_path: Path
) -> None:
    log, saved = tmp_path / "k.log", tmp_path / "before.json"
    log.write_text(LOG)
    answer = cli("kernels", str(log), "--format", "json").out
    gate = ("kernels", str(log), "--fail-on-spills", "--baseline", str(saved))
    saved.write_text(answer)
    assert cli(*gate).code == 0
    saved.write_text(changed(answer, path, value))
    ran = cli(*gate)
    assert ran.code == 2
    assert said in ran.err
    saved.write_text(answer[:-40])
    assert "broken JSON" in cli(*gate).err


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["schema"], "gpuadvise.advise/2", "gpuadvise.advise/1"),
        (["schema"], None, "is not an answer"),
        (["findings", 0, "gain"], {"upper_bound": 10**400}, "findings.0.gain.upper_bound"),
        (["findings", 0, "gain"], {"upper_bound": float("nan")}, "findings.0.gain.upper_bound"),
        (["findings"], 7, "is not an answer"),
    ],
)
def test_an_advise_baseline_that_cannot_be_compared_passes_no_gate(
    path: list[object], value: object, said: str, cli, tmp_path: Path
) -> None:
    asked = ("advise", "--regs", "72", "--block", "100", "--gpu", "h200")
    saved = tmp_path / "before.json"
    answer = cli(*asked, "--format", "json").out
    saved.write_text(answer)
    gate = (*asked, "--fail-on", "low", "--baseline", str(saved))
    assert cli(*gate).code == 0
    saved.write_text(changed(answer, path, value))
    ran = cli(*gate)
    assert ran.code == 2
    assert said in ran.err


def test_a_size_beyond_a_float_is_not_known(cli, tmp_path: Path) -> None:
    """1e308 is a float, and the same in kilobytes is none."""
    page = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv"
    header, units, *rows = csv.reader(io.StringIO(page.read_text(encoding="utf-8")))
    at = header.index("launch__shared_mem_per_block_static")
    units[at] = "Kbyte/block"
    rows[0][at] = "1e308"
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([header, units, *rows])
    (tmp_path / "page.csv").write_text(text.getvalue(), encoding="utf-8")
    ran = cli("advise", str(tmp_path / "page.csv"), "--json")
    assert ran.code in (0, 3), ran.err
    assert "itself failed" not in ran.err


PYTHON = "import torch\nloader = torch.utils.data.DataLoader(d, batch_size=8)\nfor x in loader:\n    x = x.cuda()\n"
SCRIPTS = {
    "waits": PYTHON + '    t = torch.zeros(8).to("cuda")\n    torch.cuda.synchronize()\n' * 1500,
    "names": PYTHON + "d = e\ne = d\n" * 4000 + "    \nx.to(d)\n" * 4000,
    "loaders": PYTHON + "l = torch.utils.data.DataLoader(d, 8)\nfor x in l: x.cuda\n" * 1700,
    "loaders of a name": PYTHON + "l = torch.utils.data.DataLoader(d, 8)\n" * 400
    + "for x in l: x.cuda()\n" * 800,
    "branches": PYTHON + "if x.cuda(): pass\n" + "elif time.time(): a.step()\n" * 900,
    "classes": PYTHON + "".join(" " * n + "class A:\n" for n in range(80)) + " " * 80 + "f(x.cuda());" * 7000,
    "loops": PYTHON + "".join(" " * n + "for x in loader:\n" for n in range(18))
    + " " * 18 + "opt.step();x.cuda();loss.backward();" * 2700,
    "blocks": PYTHON + "n = 3\nn = 4\n" * 2000 + "import cupy\nk = cupy.RawKernel()\n" + "k(1, n)\n" * 5000,
    "dotted names": PYTHON + "from " + "torch." * 16_000 + "utils import data\n",
    "sums": PYTHON + "x.cuda(" + "a + " * 900 + "b)\n" + "f(" * 150 + ")" * 150,
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="its limits of memory are Linux's")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_hostile_script_ends_soon(name: str, tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    source.write_text(SCRIPTS[name][:100_000])
    code, _ = hold_to_limits("lint", str(source), "--fail-on", "high")
    assert code in (0, 1, 2, 3)


def test_a_script_that_takes_too_long_is_not_judged_and_no_gate_passes(
    cli, monkeypatch, tmp_path: Path
) -> None:
    reader = "gpuadvise.advisor.source.python.module.most_seconds"
    monkeypatch.setattr(reader, lambda size: -1.0)
    source = tmp_path / "k.py"
    source.write_text(SCRIPTS["waits"])
    (left,) = json.loads(cli("lint", str(source), "--json").out)["result"]["not_judged"]
    assert "far more than code of its size" in left["reason"]
    assert cli("lint", str(source), "--fail-on", "high").code == 3
    assert cli("advise", str(source), "--gpu", "h100", "--fail-on", "high").code in (2, 3)


def test_an_assignment_that_the_parser_could_not_follow(cli, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *c, const float *a, const float *b, int n) {\n"
        "  for (int i = 0; i < n; ++i) { c[0] = c[0] = = a[i] * b[i]; c[1] @ = c[1] + a[i]; }\n}\n"
    )
    ran = cli("lint", str(tmp_path / "k.cu"))
    assert "itself failed" not in ran.err
    assert ran.code in (0, 3)


@pytest.mark.parametrize(
    "line", ["advise page.csv --gpu l4 --format ndjson", "page.csv", "kernels page.csv"]
)
@pytest.mark.parametrize("run", ["\n", " \n", "\t", "\x0b"])
def test_a_page_of_empty_lines_ends_soon(
    line: str, run: str, cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.csv").write_text("name,regs\na,1e400\n" + run * (90_000 // len(run)) + "x\n")
    began = time.process_time()
    ran = cli(*line.split())
    assert time.process_time() - began < 1
    assert ran.code == 2, ran


@pytest.mark.parametrize("name", ["CMakeLists.txt", "Makefile"])
def test_build_files_of_empty_lines_are_read_soon(name: str, cli, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\n" * 90_000 + "nvcc --use_fast_math k.cu\n")
    (tmp_path / "k.cu").write_bytes(FAULTY)
    began = time.process_time()
    assert cli("lint", str(tmp_path / "k.cu")).code == 0
    assert time.process_time() - began < 1
