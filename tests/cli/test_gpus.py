"""``gpuadvise gpus``: list, search, compare."""

from __future__ import annotations

import csv
import io
import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.catalogue import entries
from gpuadvise.cli.schema import bundled


@pytest.fixture
def valid():
    return Draft202012Validator(json.loads(bundled("gpus"))).validate


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("list", ["hopper"]),
        ("search", ["h100"]),
        ("one", ["tesla-m2090"]),
        ("sparse", ["gb300"]),
        ("compare", ["h100", "h200", "rtx4090"]),
        ("compare-words", ["t4", "hopper"]),
    ],
)
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_pages(name: str, query: list[str], form: str, cli, golden) -> None:
    ran = cli("gpus", *query, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    golden(f"gpus-{name}.{form}", ran.out)


def test_without_a_query_every_gpu_is_listed(cli, valid) -> None:
    document = json.loads(cli("gpus", "--format", "json").out)
    valid(document)
    assert document["device"] is None
    ids = [device["catalogue_id"] for device in document["result"]["devices"]]
    assert ids == [each.id for each in entries()]
    *rows, count = cli("gpus").out.splitlines()
    assert count == f"{len(ids)} GPUs. Peaks in TFLOP/s; Tensor is dense FP16 with FP32 sums."
    assert max(map(len, rows)) <= 80


@pytest.mark.parametrize("query", [["h100"], ["h100", "t4"], ["9.0"], ["laptop"], ["rtx", "4090"]])
def test_json_is_valid_and_names_every_source(query: list[str], cli, valid) -> None:
    document = json.loads(cli("gpus", *query, "--format", "json").out)
    valid(document)
    assert document["input"] == {"query": query, "cc": None}
    for device in document["result"]["devices"]:
        for field in ("sm_count", "memory_bandwidth", "l2_bytes"):
            where = "reasons" if device[field] is None else "sources"
            assert device[where][field]


def test_words_are_tried_together_first(cli) -> None:
    together = cli("gpus", "rtx", "4090", "--format", "ndjson").out.splitlines()
    names = [json.loads(line)["catalogue_id"] for line in together]
    assert {"rtx-4090", "rtx-4090-laptop"} <= set(names)
    assert all("4090" in name for name in names)


@pytest.mark.parametrize(
    "query",
    [
        ["h100", "a100"],
        ["h100 a100"],
        ["h100, a100"],
        ["h100,", "a100"],
        ["h100,a100"],
        ["GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1)"],
        [
            "name, memory.total [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA A100-SXM4-80GB, 81920 MiB"
        ],
    ],
)
def test_a_list_has_a_row_for_each_gpu(query: list[str], cli) -> None:
    rows = cli("gpus", *query, "--format", "ndjson").out.splitlines()
    assert [json.loads(row)["catalogue_id"] for row in rows] == ["h100-sxm", "a100-sxm4-80"]
    assert cli("gpus", *query).out.split()[:2] == ["H100", "SXM5"]


def test_gpus_of_one_kind_are_one_page(cli) -> None:
    text = "GPU 0: Tesla T4 (UUID: GPU-0)\nGPU 1: Tesla T4 (UUID: GPU-1)"
    assert cli("gpus", text).out == cli("gpus", "t4").out


def test_a_pasted_chip_or_size_narrows_the_words(cli) -> None:
    ran = cli("gpus", "NVIDIA GeForce RTX 3060, 8192 MiB", "--get", "catalogue_id")
    assert ran.out == "rtx-3060-8gb\n"
    ran = cli("gpus", "GA106 [GeForce RTX 3060]", "--get", "catalogue_id")
    assert ran.out == "rtx-3060\n"


@pytest.mark.parametrize("command", [["gpus"], ["device", "--gpu"]])
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_a_pasted_uuid_is_never_shown(command: list[str], form: str, cli) -> None:
    uuid = "GPU-deadbeef-dead-beef-dead-beefdeadbeef"
    ran = cli(*command, f"GPU 0: Tesla T4 (UUID: {uuid})", "--format", form)
    assert ran.code == 0
    assert "beef" not in ran.out + ran.err
    ran = cli(*command, f"zz9 {uuid}", "--format", form)
    assert ran.code == 2
    assert "beef" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("zz9 h100", '"zz9 h100" describes no GPU of the catalogue.'),
        ("h100,zz9", '"zz9" describes no GPU of the catalogue.'),
        ("h100 1g.10gb", '"h100 1g.10gb" is a slice of a GPU.'),
        ("a100 3g.20gb", 'gpuadvise device --gpu "a100 3g.20gb".'),
        ("CudaDevice(id=0)", '"CudaDevice(id=0)" says which GPU of a machine it is'),
        ("NVIDIA H100 80GB HBM3, 4096 MiB", 'no "NVIDIA H100 80GB HBM3" with 4,096 MiB'),
    ],
)
def test_what_is_no_gpu_says_why(query: str, message: str, cli) -> None:
    ran = cli("gpus", query)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_csv_has_a_column_for_every_peak(cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("gpus", "t4", "h100", "--format", "csv").out)))
    assert [row["catalogue_id"] for row in rows] == ["t4", "h100-sxm"]
    assert float(rows[1]["peaks.fp8_tensor"]) == 1.979e15
    assert rows[0]["peaks.fp8_tensor"] == ""
    assert "sources" not in rows[0]


def test_one_field(cli) -> None:
    assert cli("gpus", "h200", "a100", "--get", "devices.0.sm_count").out == "132\n"


@pytest.mark.parametrize("query", [["zz9"], ["h100", "zz9"], [""], ["4.0"]])
def test_what_describes_nothing_is_bad_input(query: list[str], cli) -> None:
    ran = cli("gpus", *query)
    assert (ran.code, ran.out) == (2, "")
    assert "describes no GPU of the catalogue" in ran.err
    assert "gpuadvise gpus lists them all" in ran.err


def test_a_compute_capability_narrows_the_list(cli) -> None:
    everything = json.loads(cli("gpus", "--cc", "8.9", "--format", "json").out)["result"]["devices"]
    assert {device["compute_capability"] for device in everything} == {"8.9"}
    some = json.loads(cli("gpus", "geforce", "--cc", "sm_89", "--json").out)["result"]["devices"]
    assert 0 < len(some) < len(everything)
    assert {device["product_class"] for device in some} == {"geforce"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--cc 4.0", "--cc: "),
        ("h100 --cc 8.9", '"h100" describes no GPU of compute capability "8.9".'),
        ("--cc x", "--cc: "),
    ],
)
def test_a_compute_capability_that_fits_nothing_is_refused(cli, line: str, words: str) -> None:
    ran = cli("gpus", *line.split())
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
