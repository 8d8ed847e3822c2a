"""``gpuadvise roofline``."""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

VALID = Draft202012Validator(json.loads(bundled("roofline"))).validate
RECORDED = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded"
KERNELS = """
[[kernel]]
name = "add $x$ \\u001b[31m"
work = { flops = 1e9, bytes = "12GB", dtype = "fp32", time = "3ms" }
[[kernel]]
name = "gemm"
work = { flops = 2e13, bytes = "1GB", dtype = "bf16" }
[[kernel]]
name = "unknown"
"""


@pytest.fixture
def toml(tmp_path: Path) -> str:
    path = tmp_path / "kernel.toml"
    path.write_text(KERNELS, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", ["--flops", "2e9", "--bytes", "24GB"]),
        ("gemm", ["--flops", "2TFLOP", "--bytes", "1GB", "--dtype", "bf16", "--time", "3ms"]),
        ("far", ["--flops", "2TFLOP", "--bytes", "100GB", "--dtype", "bf16", "--time", "99ms"]),
        (
            "typed",
            ["--flops", "1G", "--bytes", "12GB", "--peak", "80TFLOP/s", "--bandwidth", "8TB/s"],
        ),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("roofline", "--gpu", "h200", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"roofline-{name}.text", ran.out)
    VALID(json.loads(cli("roofline", "--gpu", "h200", *args, "--format", "json").out))


def test_the_documents_vector_add(cli) -> None:
    args = ["--flops", "1", "--bytes", "12", "--peak", "80TFLOP/s", "--bandwidth", "8TB/s"]
    wanted = ["--get", "arithmetic_intensity", "--get", "ridge_point", "--get", "bound"]
    intensity, ridge, bound = cli("roofline", "--gpu", "b200", *args, *wanted).out.split()
    assert float(intensity) == pytest.approx(0.083, abs=5e-4)
    assert (float(ridge), bound) == (10.0, "memory")


@pytest.mark.parametrize(
    ("dtype", "extra", "unit"),
    [
        ("fp32", [], "fp32"),
        ("fp64", ["--tensor"], "fp64_tensor"),
        ("fp16", [], "fp16_tensor"),
        ("fp16", ["--no-tensor"], "fp16"),
        ("tf32", [], "tf32_tensor"),
        ("i8", [], "int8_tensor"),
    ],
)
def test_the_unit_follows_the_type(cli, dtype: str, extra: list[str], unit: str) -> None:
    args = ["--flops", "1", "--bytes", "1", "--dtype", dtype, *extra, "--get", "unit"]
    assert cli("roofline", "--gpu", "h200", *args).out == f"{unit}\n"


def test_described_kernels(cli, golden, toml: str) -> None:
    ran = cli("roofline", "--gpu", "h200", "--describe", toml, "--show")
    assert ran.code == 0
    golden("roofline-described.text", ran.out)
    document = json.loads(
        cli("roofline", "--gpu", "h200", "--describe", toml, "--format", "json").out
    )
    VALID(document)
    assert [kernel["kernel"] for kernel in document["result"]["kernels"]][1] == "gemm"
    rows = cli("roofline", "--gpu", "h200", "--describe", toml, "--format", "csv").out.splitlines()
    assert len(rows) == 3


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture(cli, tmp_path: Path, toml: str, suffix: str) -> None:
    picture = tmp_path / f"roof.{suffix}"
    ran = cli("roofline", "--gpu", "h200", "--describe", toml, "--plot", str(picture))
    assert ran.code == 0
    assert re.fullmatch(rf'note: Drawn into ".*/roof.{suffix}"\.\n', ran.err)
    start = picture.read_bytes()[:200]
    assert (b"<?xml" if suffix == "svg" else b"\x89PNG") in start


def test_a_picture_says_what_is_drawn(cli, tmp_path: Path) -> None:
    picture = tmp_path / "roof.svg"
    call = [
        "roofline",
        "--gpu",
        "h200",
        "--flops",
        "1e9",
        "--bytes",
        "12GB",
        "--plot",
        str(picture),
    ]
    cli(*call, "--time", "4ms")
    timed = picture.read_text()
    cli(*call)
    assert "Roof of fp32: 67 TFLOP/s under 4.81 TB/s" in timed
    assert "kernel: 62.3 % of the roof" in timed
    assert "kernel: no time given, drawn at the roof" in picture.read_text()


def test_a_narrower_type_below_the_ridge_needs_no_other_unit(cli) -> None:
    ran = cli("roofline", "--gpu", "b200", "--flops", "1e9", "--bytes", "12GB")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("bf16_tensor   0.167"))
    assert line.endswith("memory still bounds it, on any unit")


@pytest.mark.parametrize(
    ("option", "module", "install"),
    [
        (["--show"], "plotext", "pip install plotext"),
        (["--plot", "x.png"], "matplotlib.figure", "pip install matplotlib"),
    ],
)
def test_without_the_package(
    cli, monkeypatch, option: list[str], module: str, install: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = cli("roofline", "--gpu", "h200", "--flops", "1", "--bytes", "1", *option)
    assert (ran.code, ran.out) == (3, "")
    assert install in ran.err


@pytest.mark.parametrize(
    ("gpu", "dtype", "units"),
    [
        ("h200", "fp32", ["tf32_tensor", "bf16_tensor", "fp16_tensor", "fp8_tensor"]),
        ("h200", "fp16", ["fp8_tensor"]),
        ("b200", "int8", []),
        ("v100-sxm2-16", "fp64", ["fp32", "fp16_tensor"]),
    ],
)
def test_where_arithmetic_could_move(cli, gpu: str, dtype: str, units: list[str]) -> None:
    args = ["--flops", "1e12", "--bytes", "1GB", "--dtype", dtype, "--gpu", gpu]
    ran = cli("roofline", *args, "--format", "json")
    assert [move["name"] for move in json.loads(ran.out)["result"]["moves"]] == units


def test_the_ordinary_units_can_be_left_for_tensor_cores(cli) -> None:
    args = ["--flops", "1e12", "--bytes", "1GB", "--dtype", "fp64", "--gpu", "h200"]
    ran = cli("roofline", *args, "--format", "json")
    move = json.loads(ran.out)["result"]["moves"][0]
    assert (move["name"], move["how"]) == ("fp64_tensor", "the same bytes on a faster unit")
    assert move["gain"] == pytest.approx(67 / 34, rel=0.02)


@pytest.mark.parametrize(
    ("dtype", "unit"), [("fp64", "fp64"), ("fp64_tensor", "fp64_tensor"), ("bf16", "bf16_tensor")]
)
def test_a_description_names_types_and_units_as_for_advise(
    cli, tmp_path: Path, dtype: str, unit: str
) -> None:
    toml = tmp_path / "kernel.toml"
    toml.write_text(f'[[kernel]]\n[kernel.work]\nflops = 1e9\nbytes = "1GB"\ndtype = "{dtype}"\n')
    given = ["roofline", "--gpu", "h200", "--get", "unit"]
    assert cli(*given, "--describe", str(toml)).out == f"{unit}\n"
    assert cli(*given, "--flops", "1e9", "--bytes", "1GB", "--dtype", dtype).out == f"{unit}\n"


def test_very_many_kernels(cli, tmp_path: Path) -> None:
    toml = tmp_path / "kernels.toml"
    work = 'flops = 1e9\nbytes = "1GB"\ndtype = "fp32"'
    toml.write_text(
        "".join(
            f'[[kernel]]\nname = "k{n}"\n[kernel.work]\n{work}\ntime = "{n + 1}ms"\n'
            for n in range(300)
        )
    )
    args = ["roofline", "--gpu", "h200", "--describe", str(toml)]
    ran = cli(*args, "--plot", str(tmp_path / "many.svg"))
    assert ran.code == 0
    assert re.fullmatch(r'note: Drawn into ".*/many.svg"\.\n', ran.err)
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[3:23]] == [f"k{n}" for n in range(299, 279, -1)]
    assert lines[23] == "The slowest 20, slowest first; 280 more are in --format csv."
    assert len(cli(*args, "--format", "csv").out.splitlines()) == 301
    assert "300 kernels" in (tmp_path / "many.svg").read_text()


def test_more_than_the_roof(cli) -> None:
    args = ["roofline", "--gpu", "h200", "--flops", "1e9", "--bytes", "1GB", "--time"]
    assert "More than the roof: " in cli(*args, "1us").out
    assert "More than the roof: " not in cli(*args, "1ms").out


def test_settings_of_matplotlib_that_are_wrong(process, tmp_path: Path) -> None:
    args = ["--gpu", "h200", "--flops", "1", "--bytes", "1", "--plot", str(tmp_path / "roof.png")]
    ran = process("roofline", *args, MPLBACKEND="no such thing")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: matplotlib cannot start: ")


def test_names_in_any_script(process, tmp_path: Path) -> None:
    toml = tmp_path / "kernel.toml"
    work = '[kernel.work]\nflops = 1e9\nbytes = "1GB"\ndtype = "fp32"\n'
    toml.write_text(f'[[kernel]]\nname = "\ucee4\ub110"\n{work}', encoding="utf-8")
    for suffix in ("svg", "png"):
        path = str(tmp_path / f"roof.{suffix}")
        ran = process("roofline", "--gpu", "h200", "--describe", str(toml), "--plot", path)
        assert re.fullmatch(rf'note: Drawn into ".*/roof.{suffix}"\.\n', ran.err)
    assert "&#52964;&#45328;" in (tmp_path / "roof.svg").read_text()


def test_a_threshold(cli) -> None:
    args = ["roofline", "--gpu", "h200", "--flops", "1e9", "--bytes", "12GB", "--time", "5ms"]
    assert "% of the roof is below --fail-under 80 %" in cli(*args, "--fail-under", "80%").err
    assert cli(*args[:-2], "--fail-under", "80%").code == 2
    assert cli(*args, "--fail-under", "80%").code == 1
    assert cli(*args, "--fail-under", "10%").code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "needs --flops and --bytes"),
        (["--flops", "1"], "needs --flops and --bytes"),
        (["--flops", "0", "--bytes", "1"], "--flops"),
        (["--flops", "1", "--bytes", "0"], "--bytes"),
        (["--flops", "1", "--bytes", "1", "--dtype", "x"], "--dtype"),
        (["--flops", "1", "--bytes", "1", "--dtype", "fp4"], "has no fp4 units"),
        (["--flops", "1", "--bytes", "1", "--tensor"], "on tensor cores"),
        (["--flops", "1", "--bytes", "1", "--peak", "9"], "--peak"),
        (["--flops", "1", "--bytes", "1", "--bandwidth", "9"], "--bandwidth"),
        (["--flops", "1", "--bytes", "1", "--plot", "roof.gif"], "--plot"),
        (
            ["--flops", "1", "--bytes", "1", "--plot", "/no/such/folder/roof.svg"],
            "cannot be written",
        ),
        (["--describe", "x.toml", "--flops", "1"], "leave out --flops"),
        (["--describe", "/no/such.toml"], "cannot be read"),
    ],
)
def test_mistakes(cli, args: list[str], said: str) -> None:
    ran = cli("roofline", "--gpu", "h200", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_files_without_work(cli, tmp_path: Path) -> None:
    path = tmp_path / "kernel.toml"
    path.write_text('[[kernel]]\nname = "k"\n')
    assert "no kernel with a work table" in cli("roofline", "--describe", str(path)).err
    path.write_bytes(b"\xff\xff")
    assert "is not UTF-8" in cli("roofline", "--describe", str(path)).err


def test_a_device_without_bandwidth(cli) -> None:
    ran = cli("roofline", "--cc", "9.0", "--flops", "1", "--bytes", "1", "--peak", "1TFLOP/s")
    assert ran.code == 2
    assert "--bandwidth gives it" in ran.err
    args = ["--peak", "1TFLOP/s", "--bandwidth", "1TB/s", "--get", "ridge_point"]
    assert cli("roofline", "--cc", "9.0", "--flops", "1", "--bytes", "1", *args).out == "1.0\n"


@pytest.mark.parametrize("name", ["hand", "torch"])
def test_profiled_kernels(cli, golden, name: str) -> None:
    report = str(RECORDED / f"{name}_raw.csv")
    ran = cli("roofline", "--ncu", report, "--show")
    assert ran.code == 0
    golden(f"roofline-ncu-{name}.text", ran.out)
    assert ran.err.startswith("note: 1 launch left out") or name == "torch"
    document = json.loads(cli("roofline", "--ncu", report, "--format", "json").out)
    VALID(document)
    assert document["device"]["catalogue_id"] == "h200-sxm"


def test_a_profiled_product_is_under_the_roof_of_its_unit(cli) -> None:
    report = str(RECORDED / "torch_raw.csv")
    kernels = json.loads(cli("roofline", "--ncu", report, "--format", "json").out)["result"][
        "kernels"
    ]
    units = {kernel["kernel"][:20]: (kernel["unit"], kernel["bound"]) for kernel in kernels}
    assert units["sm80_xmma_gemm_f32f3"] == ("fp32", "compute")
    assert units["nvjet_sm90_hsh_256x1"] == ("fp16_tensor", "compute")
    assert all(kernel["share"] < 1 for kernel in kernels)


def test_another_device_than_the_profiles(cli) -> None:
    ran = cli(
        "roofline", "--gpu", "b200", "--ncu", str(RECORDED / "torch_raw.csv"), "--format", "json"
    )
    assert json.loads(ran.out)["device"]["catalogue_id"] == "b200"
    assert (
        "recorded on NVIDIA H200 SXM 141 GB and is judged by the limits of NVIDIA B200" in ran.err
    )


@pytest.mark.parametrize("options", [(), ("--gpu", "h200")])
def test_the_profiles_own_device(cli, options: tuple[str, ...]) -> None:
    ran = cli("roofline", *options, "--ncu", str(RECORDED / "torch_raw.csv"))
    assert "recorded on" not in ran.err


def test_a_profile_of_integer_work(cli, tmp_path: Path) -> None:
    packed = Path(__file__).parents[1] / "truth" / "recorded" / "cub.raw.csv.xz"
    report = tmp_path / "cub.csv"
    report.write_bytes(lzma.decompress(packed.read_bytes()))
    ran = cli("roofline", "--ncu", str(report))
    assert ran.code == 2
    assert "did floating-point work" in ran.err
    assert "--page raw" not in ran.err


def test_a_file_that_is_no_profile(cli, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b'a,"b\rc\n"x"\rfoo\n')
    ran = cli("roofline", "--ncu", str(path))
    assert ran.code == 2
    assert "x.bin: no CSV of Nsight Compute." in ran.err


def test_a_profile_that_counts_nothing(cli, tmp_path: Path) -> None:
    ran = cli("roofline", "--ncu", str(RECORDED / "hand_details.csv"))
    assert ran.code == 2
    assert "--page raw" in ran.err
    assert cli("roofline", "--ncu", "x.csv", "--flops", "1").code == 2
    assert cli("roofline", "--ncu", str(tmp_path / "none.csv")).code == 2


def test_a_profile_of_a_gpu_that_nobody_knows(cli, tmp_path: Path) -> None:
    text = (
        (RECORDED / "hand_raw.csv").read_text(encoding="utf-8").replace("NVIDIA H200", "NVIDIA X")
    )
    report = tmp_path / "x.csv"
    report.write_text(text, encoding="utf-8")
    ran = cli("roofline", "--ncu", str(report))
    assert ran.code == 0
    assert "answered for" in ran.err


@pytest.mark.parametrize(
    ("number_type", "before", "first", "version"),
    [("fp8", "a100-sxm-80gb", "l4", "8.9"), ("bf16", "t4", "a100-sxm-80gb", "8.0")],
)
def test_a_gpu_from_before_a_type_has_no_units_for_it(
    cli, number_type: str, before: str, first: str, version: str
) -> None:
    work = ["roofline", "--flops", "1G", "--bytes", "1GB", "--dtype", number_type, "--gpu"]
    ran = cli(*work, before)
    assert (ran.code, ran.out) == (2, "")
    assert f"has no {number_type} units: they begin with compute capability {version}." in ran.err
    assert cli(*work, first).code == 0


FASTER = ("roofline", "--gpu", "h100", "--flops", "1e12", "--bytes", "1e9", "--dtype", "fp16")


def test_a_time_above_the_roof_is_impossible_in_the_first_sentence(cli) -> None:
    ran = cli(*FASTER, "--time", "100us")
    assert ran.code == 0
    assert ran.out.startswith(
        "Impossible: 10.1 times the most that fp16_tensor and this memory allow."
    )
    assert cli(*FASTER, "--time", "900us").out.startswith("Impossible: 112.3 % of the most")
    assert "What would move it" not in ran.out
    possible = cli(*FASTER, "--time", "2ms").out
    assert possible.startswith("Compute-bound: at most")
    assert "What would move it" in possible


def test_a_gate_on_what_is_impossible(cli) -> None:
    ran = cli(*FASTER, "--time", "100us", "--fail-over", "100%", "--get", "share")
    assert ran.code == 1
    assert "of the roof is above --fail-over 100 %" in ran.err
    assert cli(*FASTER, "--time", "2ms", "--fail-over", "100%").code == 0
    assert cli(*FASTER, "--fail-over", "100%").code == 2
    copied = (
        "bandwidth",
        "--gpu",
        "h200",
        "--read",
        "1GiB",
        "--write",
        "1GiB",
        "--fail-over",
        "100%",
    )
    assert (cli(*copied, "--time", "1us").code, cli(*copied, "--time", "1ms").code) == (1, 0)


def test_several_kernels_say_how_many_are_impossible(cli, tmp_path: Path) -> None:
    path = tmp_path / "k.toml"
    described = KERNELS.replace('time = "3ms"', 'time = "1us"')
    path.write_text(described.rpartition("[[kernel]]")[0])
    ran = cli("roofline", "--gpu", "h200", "--describe", str(path))
    assert "; 1 above the roof, which is impossible." in ran.out.splitlines()[0]
