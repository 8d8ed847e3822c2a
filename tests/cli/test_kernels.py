from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from nvidia_wheels import LIBRARIES, TOOLS, present

from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from collections.abc import Callable


PTX = """\
.version 8.7
.target sm_80
.address_size 64

.visible .entry _Z5scalePfi(.param .u64 a, .param .u32 n)
.maxntid 256, 1, 1
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %rd1, [a];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd2, %rd2, %rd3;
  mov.u32 %r2, tile;
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [%r2];
  st.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry _Z4fillIiEvPT_(.param .u64 a)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [a];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""


def tool(name: str, *arguments: object) -> None:
    subprocess.run([str(present(TOOLS / name)), *map(str, arguments)], check=True)


@pytest.fixture(scope="module")
def fatbin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two images, one program: sm_80, sm_90a and compute_80."""
    folder = tmp_path_factory.mktemp("fatbin")
    source = folder / "two.ptx"
    source.write_text(PTX)
    images = []
    for target in ("80", "90a"):
        tool("ptxas", f"-arch=sm_{target}", source, "-o", folder / f"{target}.cubin")
        images.append(f"--image3=kind=elf,sm={target},file={folder / f'{target}.cubin'}")
    images.append(f"--image3=kind=ptx,sm=80,file={source}")
    tool("fatbinary", "-64", f"--create={folder / 'two.fatbin'}", *images)
    return folder / "two.fatbin"


@pytest.fixture
def library() -> str:
    return str(present(LIBRARIES / "libnvjpeg.so.13"))


@pytest.fixture
def inside(fatbin: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(fatbin.parent)
    return fatbin


def result(ran) -> dict:
    envelope = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("kernels"))).validate(envelope)
    return envelope["result"]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("own", ()),
        ("h100", ("--gpu", "h100", "--block", "128")),
        ("list", ("--list",)),
        ("jit", ("--gpu", "rtx5090")),
    ],
)
def test_pages(name: str, args: tuple[str, ...], cli, inside: Path, golden: Callable) -> None:
    ran = cli("kernels", "two.fatbin", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"kernels-{name}.txt", ran.out)


def test_json(cli, inside: Path) -> None:
    found = result(cli("kernels", "two.fatbin", "--format", "json"))
    assert found["entries"] is None
    assert found["entry_count"] == 3
    assert found["damage"] == []
    assert [(kernel["demangled"], kernel["arch"]) for kernel in found["kernels"]] == [
        ("scale(float*, int)", "sm_90a"),
        ("void fill<int>(int*)", "sm_80"),
        ("void fill<int>(int*)", "sm_90a"),
        ("scale(float*, int)", "sm_80"),
    ]
    scale = found["kernels"][0]
    assert scale["static_smem"] == 4096
    assert scale["reserved_smem"] == 1024
    assert (scale["block_threads"], scale["block_from"]) == (256, "launch bounds")
    assert scale["occupancy"] == 1


def test_list_as_json(cli, inside: Path) -> None:
    found = result(cli("kernels", "two.fatbin", "--list", "--format", "json"))
    assert found["kernels"] is None
    assert [(entry["content"], entry["arch"]) for entry in found["entries"]] == [
        ("sass", "sm_80"),
        ("sass", "sm_90a"),
        ("ptx", "sm_80"),
    ]


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        (("--gpu", "h100"), {"sm_90a"}),
        (("--cc", "8.6"), {"sm_80"}),
        (("--cc", "12.0"), {"sm_80"}),  # the PTX
        (("--cc", "7.5"), set()),
        (("--arch", "90"), {"sm_90a"}),
        (("--arch", "sm_80,sm_90a"), {"sm_80", "sm_90a"}),
        (("--arch", "90f"), set()),
    ],
)
def test_only_the_code_asked_for(options, targets: set[str], cli, inside: Path) -> None:
    found = result(cli("kernels", "two.fatbin", *options, "--format", "json"))
    assert {kernel["arch"] for kernel in found["kernels"]} == targets


def test_filter(cli, inside: Path) -> None:
    for pattern in ("FILL<int>", "_Z4fill", "fill|nothing"):
        found = result(cli("kernels", "two.fatbin", "--filter", pattern, "--format", "json"))
        assert {kernel["name"] for kernel in found["kernels"]} == {"_Z4fillIiEvPT_"}


def test_launch_parameters_of_the_user(cli, inside: Path) -> None:
    args = (
        "kernels",
        "two.fatbin",
        "--gpu",
        "h100",
        "--filter",
        "fill",
        "--get",
        "kernels.0.occupancy",
    )
    assert cli(*args, "--block", "32").out == "0.5\n"
    assert cli(*args, "--block", "16x16", "--dynamic-smem", "100K").out == "0.25\n"


def test_a_launch_that_cannot_start_comes_first(cli, inside: Path) -> None:
    ran = cli("kernels", "two.fatbin", "--gpu", "h100", "--block", "512")
    assert ran.out.splitlines()[3].split()[:2] == ["cannot", "start"]
    assert "compiled with __launch_bounds__ for 256" in ran.out


@pytest.mark.parametrize(
    "sort", ["name", "registers", "smem", "code", "occupancy", "stack", "spills"]
)
def test_orders(sort: str, cli, inside: Path) -> None:
    rows = cli("kernels", "two.fatbin", "--sort", sort, "--format", "ndjson").out.splitlines()
    first = cli("kernels", "two.fatbin", "--sort", sort, "--limit", "1", "-f", "ndjson").out
    assert first.splitlines() == rows[:1]
    kernels = [json.loads(row) for row in rows]
    assert len(kernels) == 4
    field = {"smem": "static_smem", "code": "code_bytes", "name": "demangled"}.get(sort, sort)
    values = [kernel.get(field, 0) for kernel in kernels]
    assert values == sorted(values, reverse=sort not in ("name", "occupancy"))


def test_streams(cli, inside: Path) -> None:
    whole = result(cli("kernels", "two.fatbin", "--format", "json"))["kernels"]
    lines = cli("kernels", "two.fatbin", "--format", "ndjson").out.splitlines()
    assert sorted(map(str, map(json.loads, lines))) == sorted(map(str, whole))
    table = list(csv.DictReader(io.StringIO(cli("kernels", "two.fatbin", "--format", "csv").out)))
    assert [row["arch"] for row in table] == ["sm_80", "sm_80", "sm_90a", "sm_90a"]
    assert list(table[0]) == list(whole[0])


def test_limit(cli, inside: Path) -> None:
    assert (
        len(result(cli("kernels", "two.fatbin", "--limit", "1", "--format", "json"))["kernels"])
        == 1
    )
    assert (
        len(cli("kernels", "two.fatbin", "--limit", "3", "--format", "ndjson").out.splitlines())
        == 3
    )
    assert "2 more kernels: --limit 0" in cli("kernels", "two.fatbin", "--limit", "2").out


def test_a_shipped_library(cli, library: str) -> None:
    found = result(cli("kernels", library, "--gpu", "h100", "--format", "json"))
    assert len(found["kernels"]) == 249
    assert {kernel["arch"] for kernel in found["kernels"]} == {"sm_90"}
    page = cli("kernels", library, "--gpu", "h100").out
    assert page.splitlines()[0].startswith("249 kernels for sm_90: ")
    assert "209 more kernels" in page


def test_device_functions_on_request(cli, inside: Path, tmp_path: Path) -> None:
    source = tmp_path / "f.ptx"
    source.write_text(
        PTX.replace(
            ".visible .entry _Z4fillIiEvPT_(.param .u64 a)",
            ".func helper(.param .b64 a) { ret; }\n.visible .entry _Z4fillIiEvPT_(.param .u64 a)",
        )
    )
    tool("ptxas", "-c", "-arch=sm_80", source, "-o", tmp_path / "f.cubin")
    path = str(tmp_path / "f.cubin")
    assert "helper" not in cli("kernels", path).out
    ran = cli("kernels", path, "--functions")
    assert "helper" in ran.out
    assert "a device function runs as part of the kernels that call it" in ran.out


def test_several_files_and_standard_input(cli, inside: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PTX.encode())))
    found = result(cli("kernels", "80.cubin", "-", "--format", "json"))
    assert {kernel["file"] for kernel in found["kernels"]} == {"80.cubin", "standard input"}
    listed = cli("kernels", "80.cubin", "90a.cubin", "--list").out
    assert "80.cubin" in listed
    assert "90a.cubin" in listed


def test_a_build_log_is_filtered_by_its_targets(cli, tmp_path: Path) -> None:
    log = "".join(
        f"ptxas info    : Compiling entry function 'k' for '{target}'\n"
        "ptxas info    : Function properties for k\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 40 registers\n"
        for target in ("sm_80", "sm_90")
    )
    path = tmp_path / "build.log"
    path.write_text(log)
    for options, targets in (
        ((), {"sm_80", "sm_90"}),
        (("--gpu", "h100"), {"sm_90"}),
        (("--arch", "80"), {"sm_80"}),
    ):
        found = result(cli("kernels", str(path), *options, "--format", "json"))
        assert {kernel["arch"] for kernel in found["kernels"]} == targets


def test_a_damaged_wheel_lists_the_rest(cli, inside: Path, tmp_path: Path) -> None:
    whole = inside.read_bytes()
    path = tmp_path / "some.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("good.fatbin", whole)
        wheel.writestr("cut.fatbin", whole[:-200])
    for form in ("json", "text", "ndjson"):
        ran = cli("kernels", str(path), "--format", form)
        assert ran.code == 3
        assert "note: " in ran.err
        assert "cut.fatbin at byte 0" in ran.err
    damage = result(cli("kernels", str(path), "--format", "json"))["damage"]
    assert {part["member"] for part in damage} == {"cut.fatbin"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--arch 70", "--arch leaves none of this code, which is for sm_80."),
        ("--filter nosuch", "--filter leaves none of 2 kernels."),
        ("--filter nosuch --gpu a100-sxm-80gb", "--filter leaves none of 2 kernels."),
        (
            "--filter nosuch --cc 7.5",
            "compute capability 7.5 would load none of this code: gpuadvise",
        ),
        ("--cc 7.5", "compute capability 7.5 would load none of this code: gpuadvise compat says"),
    ],
)
def test_an_empty_list_says_why(options: str, sentence: str, cli, inside: Path) -> None:
    ran = cli("kernels", "80.cubin", *options.split())
    assert ran.code == 0
    assert ran.out.startswith(sentence)
    assert ran.out.count("\n") == 1
    for form in ("csv", "ndjson", "json"):
        assert f"note: {sentence}" in cli("kernels", "80.cubin", *options.split(), "-f", form).err


@pytest.mark.parametrize(
    ("program", "options", "sentence"),
    [
        ("two.ptx", "--arch 70,90", "--arch leaves none of this code, which is for compute_80."),
        ("two.ptx", "--cc 7.5", "compute capability 7.5 would load none of this code: gpuadvise"),
        ("two.ptx", "--cc 9.0 --filter nosuch", "--filter leaves none of 2 kernels."),
        ("bare.ptx", "--cc 9.0", "The code that compute capability 9.0 would load has no kernel."),
        ("bare.ptx", "", "The code has no kernel."),
        (
            "two.fatbin",
            "--arch 70",
            "--arch leaves none of this code, which is for compute_80, sm_80 and",
        ),
    ],
)
def test_an_empty_list_of_ptx_says_why(
    program: str, options: str, sentence: str, cli, inside: Path
) -> None:
    (inside.parent / "bare.ptx").write_text(PTX.partition(".visible")[0])
    ran = cli("kernels", program, *options.split())
    assert (ran.code, ran.out.count("\n")) == (0, 1)
    assert ran.out.startswith(sentence)


@pytest.mark.parametrize("options", [(), ("--list",), ("--sort", "name")])
def test_an_empty_table_has_its_header(options: tuple[str, ...], cli, inside: Path) -> None:
    whole = cli("kernels", "80.cubin", *options, "-f", "csv").out
    empty = cli("kernels", "80.cubin", *options, "--arch", "70", "-f", "csv")
    assert (empty.code, empty.out) == (0, whole.partition("\n")[0] + "\n")
    assert cli("kernels", "80.cubin", *options, "--arch", "70", "-f", "ndjson").out == ""


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_file_that_cannot_be_read_costs_no_row_of_the_others(form, cli, inside: Path) -> None:
    alone = cli("kernels", "two.fatbin", "-f", form)
    ran = cli("kernels", "two.fatbin", "nosuch.cubin", "-f", form)
    assert ran.code == 2
    assert ran.out == alone.out


def test_a_log_for_another_gpu_and_device_functions_alone(cli, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(
        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
        "ptxas info    : Used 40 registers\n"
    )
    assert (
        cli("kernels", str(log), "--cc", "9.0").out
        == "--cc leaves none of 1 kernel: 9.0 cannot run sm_80.\n"
    )
    assert (
        cli("kernels", str(log), "--arch", "70").out
        == "--arch leaves none of 1 kernel, built for sm_80.\n"
    )
    source = tmp_path / "f.ptx"
    source.write_text(".version 8.7\n.target sm_80\n.address_size 64\n.func helper() { ret; }\n")
    tool("ptxas", "-c", "-arch=sm_80", source, "-o", tmp_path / "f.cubin")
    ran = cli("kernels", str(tmp_path / "f.cubin"))
    assert ran.out == "No kernel, but 1 device function: --functions lists them.\n"
    assert cli("kernels", str(tmp_path / "f.cubin"), "--cc", "8.0").out == ran.out


@pytest.mark.parametrize("form", ["text", "csv", "ndjson", "json"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"#include <x>\n", "is text"),
        (b"\x7fELF" + bytes(200), "no device code"),
        (b"PK\x03\x04" + bytes(200), "cannot be read"),
        (bytes(5000), "no device code"),
        (b"\x1f\x8b\x08\0" + bytes(500), "its gzip data are damaged"),
        (b"BZh9" + bytes(500), "is packed as a whole"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
    ],
)
def test_files_that_hold_nothing(content: bytes, sentence: str, form: str, cli, tmp_path) -> None:
    path = tmp_path / "libfoo.so"
    path.write_bytes(content)
    ran = cli("kernels", str(path), "--format", form)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "libfoo.so" in ran.err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--filter", "("), "regular expression"),
        (("--filter", "x" * 2000), "longer than"),
        (("--arch", "banana"), "--arch"),
        (("--block", "0"), "--block"),
        (("--dynamic-smem", "1KB"), "--dynamic-smem"),
        (("--sort", "size"), "--sort"),
        (("--limit", "-1"), "--limit"),
        (("--jobs", "0"), "--jobs"),
        (("--gpu", "h100", "--cc", "9.0"), "two devices"),
        (("-", "-"), "only once"),
        (("--format", "xml"), "Use text, json, csv, ndjson, markdown, html or github.\n"),
    ],
)
def test_mistakes(args: tuple[str, ...], sentence: str, cli, inside: Path) -> None:
    ran = cli("kernels", "two.fatbin", *args)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err


def test_names_that_steer_a_terminal_are_shown_inert(cli, inside: Path, tmp_path: Path) -> None:
    image = (inside.parent / "80.cubin").read_bytes()
    path = tmp_path / "evil.cubin"
    path.write_bytes(image.replace(b"_Z5scalePfi", b"\x1b[2J[red]\xff!"))
    for form in ("text", "csv", "json", "markdown"):
        ran = cli("kernels", str(path), "--format", form)
        assert ran.code == 0
        assert "\x1b" not in ran.out
    assert r"\x1b[2J[red]" in cli("kernels", str(path)).out


def test_without_the_demangler_names_stay(cli, inside: Path, monkeypatch) -> None:
    from gpuadvise.advisor.binaries import names

    monkeypatch.setattr(names, "_demangler", lambda: None)
    ran = cli("kernels", "two.fatbin")
    assert "_Z5scalePfi" in ran.out
    assert "Names stay mangled" in ran.err


def spilling(tmp_path: Path) -> str:
    """Return a cubin whose one kernel spills under its register cap."""
    loads = "".join(f"  ld.global.u32 %r{n}, [%rd2+{4 * n}];\n" for n in range(1, 60))
    mixes = "".join(f"  mul.lo.u32 %r{n}, %r{n}, %r{60 - n};\n" for n in range(1, 60))
    stores = "".join(f"  st.global.u32 [%rd2+{4 * n}], %r{n};\n" for n in range(1, 60))
    body = f"  ld.param.u64 %rd1, [a];\n  cvta.to.global.u64 %rd2, %rd1;\n{loads}  bar.sync 0;\n{mixes}{stores}  ret;"
    source = tmp_path / "spills.ptx"
    source.write_text(
        ".version 8.7\n.target sm_90\n.address_size 64\n"
        ".visible .entry _Z6spillsPi(.param .u64 a)\n.maxntid 1024, 1, 1\n.maxnreg 24\n{\n"
        f"  .reg .b32 %r<61>;\n  .reg .b64 %rd<3>;\n{body}\n}}\n"
    )
    tool("ptxas", "-arch=sm_90", source, "-o", tmp_path / "spills.cubin")
    return str(tmp_path / "spills.cubin")


def test_advice(cli, tmp_path: Path) -> None:
    path = spilling(tmp_path)
    envelope = json.loads(cli("kernels", path, "--advise", "--format", "json").out)
    Draft202012Validator(json.loads(bundled("kernels"))).validate(envelope)
    (finding,) = (one for one in envelope["findings"] if one["rule"] == "register-spills")
    kernel = envelope["result"]["kernels"][0]
    spilled = kernel["spill_stores"] + kernel["spill_loads"]
    assert spilled
    assert finding["evidence"][0]["value"] == spilled
    assert finding["location"]["kernel"] == "spills(int*)"
    page = cli("kernels", path, "--advise", "--gpu", "h100").out
    assert "HIGH  Keep values in registers  [register-spills]: 1 kernel\n   spills(int*)\n" in page


def test_advice_on_a_kernel_that_needs_none(cli, inside: Path) -> None:
    ran = cli("kernels", "two.fatbin", "--advise", "--gpu", "h100")
    assert "No fault found; " in ran.out


def test_the_same_advice_in_every_format(cli) -> None:
    log = str(Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "ptxas.log")
    call = ("kernels", log, "--gpu", "h200", "--advise")
    findings = json.loads(cli(*call, "--json").out)["findings"]
    wanted = [(finding["rule"], finding["location"]["kernel"]) for finding in findings]
    assert wanted
    assert {finding["location"]["file"] for finding in findings} == {log}
    rows = list(csv.DictReader(io.StringIO(cli(*call, "--format", "csv").out)))
    assert [(row["rule"], row["kernel"], row["file"]) for row in rows] == [
        (*w, log) for w in wanted
    ]
    lines = [json.loads(line) for line in cli(*call, "--format", "ndjson").out.splitlines()]
    assert [(line["rule"], line["kernel"], line["file"]) for line in lines] == [
        (*w, log) for w in wanted
    ]
    run = json.loads(cli(*call, "--format", "sarif").out)["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == [rule for rule, _ in wanted]
    annotations = cli(*call, "--format", "github").out.splitlines()
    assert len(annotations) == len(wanted)
    assert all(f"file={log}," in line for line in annotations)
    header = cli(
        "kernels", log, "--gpu", "h200", "--advise", "--filter", "strided", "--format", "csv"
    )
    assert header.out.startswith("kernel,rule,topic")


def test_no_bounds_for_a_block_that_nobody_gave(cli) -> None:
    log = str(Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "ptxas.log")
    for command in (("kernels", log, "--advise"), ("advise", log, "--all")):
        out = cli(*command, "--gpu", "h200").out
        assert "__launch_bounds__(" not in out
        assert "-maxrregcount=" not in out
        assert "a block of 1,024 starts with 64 registers at the most" in out
    given = cli("kernels", log, "--gpu", "h200", "--advise", "--block", "256").out
    assert "__launch_bounds__(256," in given


def test_advice_on_a_binary_is_about_the_code_that_the_gpu_loads(cli, inside: Path) -> None:
    call = ("advise", "two.fatbin", "--gpu", "h200", "--json")
    kernels = json.loads(cli(*call).out)["result"]["kernels"]
    assert sorted(kernel["name"] for kernel in kernels) == [
        "scale(float*, int)",
        "void fill<int>(int*)",
    ]
    every = json.loads(cli("advise", "two.fatbin", "--json").out)["result"]["kernels"]
    assert len(every) > len(kernels)
    none = cli("advise", "two.fatbin", "--gpu", "v100")
    assert none.code == 2
    ran = cli("advise", "two.fatbin", "--gpu", "h200", "--format", "github")
    assert "unprofiled-workload" not in ran.out
    document = json.loads(cli(*call).out)
    assert [f["rule"] for f in document["findings"]].count("unprofiled-workload") == 1
    assert {item["source"] for f in document["findings"] for item in f["evidence"]} <= {
        "derived", "two.fatbin", "compiler", "assumed"
    }  # fmt: skip


def test_advice_on_a_library_is_said_once_in_the_same_words(cli, library: str) -> None:
    out = cli("kernels", library, "--gpu", "h100", "--advise").out
    heads = [line.partition("]")[0] for line in out.splitlines() if "  [" in line]
    actions = [re.sub(r"\d[\d,.]*", "#", line) for line in out.splitlines() if "   Do: " in line]
    assert any("register-spills" in head for head in heads)
    assert len(set(zip(heads, actions, strict=True))) == len(heads)


def test_advice_on_each_kernel_is_true_of_it(cli, tmp_path: Path) -> None:
    path = tmp_path / "ptxas.log"
    path.write_text(
        "".join(
            f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
            f"ptxas info    : Function properties for {name}\n"
            f"    {stack} bytes stack frame, {spill} bytes spill stores, {spill} bytes spill loads\n"
            f"ptxas info    : Used {registers} registers, used 1 barriers, {stack} bytes cumulative stack size\n"
            for name, stack, spill, registers in (
                ("spilling", 900, 1000, 255),
                ("spilling_less", 800, 900, 255),
                ("indexing", 256, 0, 32),
                ("calling", 40, 0, 32),
            )
        )
    )
    out = cli("kernels", str(path), "--advise", "--gpu", "h200").out
    advice = out[out.index("\nAdvice") :]
    assert advice.count("The compiler spills") == 1
    assert "[register-spills]: 2 kernels\n   spilling and spilling_less\n" in advice
    assert "   spilling: The compiler spills: 2,000 bytes" in advice
    assert (
        "HIGH  Index local arrays by constants  [local-arrays]: 1 kernel\n   indexing\n" in advice
    )
    assert "LOW  Index local arrays by constants  [local-arrays]: 1 kernel\n   calling\n" in advice
    assert advice.count("all 255 registers") == 1


def test_several_processes(cli, inside: Path) -> None:
    alone = cli("kernels", "two.fatbin", "--format", "ndjson").out
    assert cli("kernels", "two.fatbin", "--format", "ndjson", "--jobs", "2").out == alone


def test_scarce_double_precision_is_seen_in_the_code(cli, tmp_path: Path) -> None:
    source = tmp_path / "double.ptx"
    source.write_text(
        ".version 8.7\n.target sm_80\n.address_size 64\n"
        ".visible .entry _Z6doublePd(.param .u64 a)\n.maxntid 256, 1, 1\n{\n"
        "  .reg .f64 %d<4>;\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [a];\n"
        "  ld.global.f64 %d1, [%rd1];\n"
        + "  fma.rn.f64 %d1, %d1, %d1, %d1;\n" * 20
        + "  st.global.f64 [%rd1], %d1;\n  ret;\n}\n"
    )
    path = str(tmp_path / "double.cubin")
    tool("ptxas", "-arch=sm_80", source, "-o", path)
    for gpu, expected in (("rtx4090", True), ("a100", False)):
        out = cli("kernels", path, "--gpu", gpu, "--advise").out
        assert ("[scarce-fp64]" in out) is expected, gpu


def test_a_field_of_each_kernel_is_told_where_it_lies(cli, inside: Path) -> None:
    ran = cli("kernels", "80.cubin", "--get", "registers")
    assert ran.code == 2
    assert "hint: It is in each of kernels: --get kernels.registers." in ran.err
    assert len(cli("kernels", "80.cubin", "--get", "kernels.registers").out.split()) == 2


def test_pipes_of_the_shell_are_read_like_files() -> None:
    log = Path(__file__).parent.parent / "advisor" / "profiles" / "recorded" / "ptxas.log"
    program = f'"{sys.executable}" -m gpuadvise'
    lines = [
        f'{program} kernels <(cat "{log}") --format csv',
        f'{program} diff <(cat "{log}") <(cat "{log}") --fail-on-regression',
    ]
    for line in lines:
        ran = subprocess.run(["bash", "-c", line], capture_output=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr
        assert b"spilling" in ran.stdout or b"8 unchanged" in ran.stdout


def test_groups_of_a_build_log_have_no_size_rather_than_none_of_code(cli) -> None:
    path = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "ptxas.log"
    ran = cli("kernels", str(path), "--group-by", "prefix", "--json")
    groups = json.loads(ran.out)["result"]["groups"]
    assert {group["code_bytes"] for group in groups} == {None}
    head = cli("kernels", str(path), "--group-by", "prefix").out.splitlines()[0]
    assert "of code" not in head


def test_what_instructions_ask_for_is_in_the_answer(cli, inside: Path) -> None:
    ran = cli("kernels", "two.fatbin", "--gpu", "h200", "--advise", "--json")
    kernels = {row["demangled"]: row for row in json.loads(ran.out)["result"]["kernels"]}
    fill = kernels["void fill<int>(int*)"]
    assert (fill["global_loads"], fill["global_stores"]) == ({}, {"4": 1})
    assert (fill["local_loads"], fill["atomics"], fill["divisions"]) == (0, 0, 0)
    plain = cli("kernels", "two.fatbin", "--gpu", "h200", "--json")
    assert {row["global_loads"] for row in json.loads(plain.out)["result"]["kernels"]} == {None}


def test_ptx_alone_is_not_called_fine(cli) -> None:
    path = (
        Path(__file__).parents[1] / "advisor" / "binaries" / "data" / "nvrtc-12.9-compute_90a.ptx"
    )
    out = cli("kernels", str(path), "--advise", "--gpu", "h200").out
    assert "Nothing could be judged: the registers of PTX" in out
    assert "Nothing to change" not in out
