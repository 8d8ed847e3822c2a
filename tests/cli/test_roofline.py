"""``gpuadvise roofline``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.commands.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

VALID = Draft202012Validator(json.loads(bundled("roofline"))).validate
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
    assert cli("roofline", "--gpu", "h200", "--describe", toml, "--plot", str(picture)).code == 0
    start = picture.read_bytes()[:200]
    assert (b"<?xml" if suffix == "svg" else b"\x89PNG") in start


@pytest.mark.parametrize(
    ("option", "module"), [(["--show"], "plotext"), (["--plot", "x.svg"], "matplotlib.figure")]
)
def test_without_the_package(cli, monkeypatch, option: list[str], module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = cli("roofline", "--gpu", "h200", "--flops", "1", "--bytes", "1", *option)
    assert (ran.code, ran.out) == (3, "")
    assert "pip install 'gpuadvise[plot]'" in ran.err


def test_a_threshold(cli) -> None:
    args = ["roofline", "--gpu", "h200", "--flops", "1e9", "--bytes", "12GB", "--time", "5ms"]
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
        (["--flops", "1", "--bytes", "1", "--dtype", "fp4"], "No fp4 peak"),
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
