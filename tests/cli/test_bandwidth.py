"""``gpuadvise bandwidth``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

VALID = Draft202012Validator(json.loads(bundled("bandwidth"))).validate
RATES = {"h2d_rate": 1e9, "d2h_rate": 2e9, "pageable_h2d_rate": 3e8, "pageable_d2h_rate": 4e8}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("peak", ["--gpu", "h200"]),
        ("copy", ["--gpu", "h200", "--read", "1GiB", "--write", "1GiB", "--time", "550us"]),
        ("matrix", ["--gpu", "m2090", "--matrix", "2048x2048", "--time", "250us"]),
        ("impossible", ["--gpu", "h200", "--read", "1GiB", "--time", "100us"]),
        ("short", ["--gpu", "h200", "--read", "1MiB", "--time", "3us"]),
        ("slot", ["--gpu", "rtx4090", "--pcie", "3x8"]),
        ("typed", ["--memory-clock", "1.85GHz", "--bus", "384", "--read", "1GB", "--time", "20ms"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("bandwidth", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"bandwidth-{name}.text", ran.out)
    VALID(json.loads(cli("bandwidth", *args, "--format", "json").out))


def test_the_guides_m2090(cli) -> None:
    asked = ["--memory-clock", "1.85GHz", "--bus", "384"]
    assert float(cli("bandwidth", *asked, "--get", "theoretical").out) == pytest.approx(177.6e9)
    assert "165.4 GiB/s" in cli("bandwidth", *asked).out


def test_the_guides_matrix_copy(cli) -> None:
    args = ["--matrix", "2048x2048", "--dtype", "f32", "--copies", "2", "--time", "1ms"]
    found = json.loads(cli("bandwidth", "--gpu", "h200", *args, "--format", "json").out)
    assert found["input"]["read_bytes"] + found["input"]["write_bytes"] == 2048**2 * 4 * 2
    assert found["result"]["effective"] == pytest.approx(33.554432e9)


def test_one_row(cli) -> None:
    ran = cli("bandwidth", "--gpu", "h200", "--read", "1GB", "--time", "1ms", "--format", "csv")
    assert ran.out.splitlines()[0].startswith("theoretical,effective,ratio,band")
    assert len(ran.out.splitlines()) == 2


def test_a_threshold(cli) -> None:
    args = ["bandwidth", "--gpu", "h200", "--read", "1GB", "--time", "1ms", "--fail-under"]
    assert cli(*args, "50%").code == 1
    assert cli(*args, "0.2").code == 0
    assert "20.8 % of the theoretical bandwidth is below --fail-under 50 %" in cli(*args, "50%").err


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_calibration(cli, tmp_path: Path, wrapped: bool) -> None:
    box = tmp_path / "box.json"
    box.write_text(json.dumps({"result": {"calibration": RATES}} if wrapped else RATES))
    ran = cli("bandwidth", "--gpu", "h200", "--calibration", str(box), "--format", "json")
    assert json.loads(ran.out)["result"]["measured"]["d2h_rate"] == 2e9
    assert "device to host" in cli("bandwidth", "--gpu", "h200", "--calibration", str(box)).out


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"h2d_rate": 1}', b"\xff\xfe", b"[" * 10_000])
def test_a_bad_calibration(cli, tmp_path: Path, content: bytes) -> None:
    box = tmp_path / "box.json"
    box.write_bytes(content)
    ran = cli("bandwidth", "--gpu", "h200", "--calibration", str(box))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --calibration: ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--read", "1GB"], "needs bytes and a time"),
        (["--time", "1ms"], "needs bytes and a time"),
        (["--read", "abc", "--time", "1ms"], '--read: "abc"'),
        (["--read", "1GB", "--time", "0s"], '--time: "0s"'),
        (["--read", "0", "--time", "1s"], "bytes that were read or written"),
        (["--matrix", "2048", "--time", "1s"], "is not rows and columns"),
        (["--matrix", "0x5", "--time", "1s"], "--matrix"),
        (["--matrix", "2x2", "--dtype", "quad", "--time", "1s"], "--dtype"),
        (["--matrix", "2x2", "--read", "1", "--time", "1s"], "leave out --read"),
        (["--memory-clock", "1GHz"], "go together"),
        (["--bus", "384"], "go together"),
        (["--memory-clock", "1GHz", "--bus", "4"], "--bus"),
        (["--fail-under", "2"], "--fail-under"),
        (["--fail-under", "50%"], "--fail-under has nothing to compare"),
        (["--data-rate", "4"], "go together"),
        (["--memory-clock", "1GHz", "--bus", "384", "--gpu", "h200"], "name none beside them"),
        (["--matrix", f"{2**40}x{2**40}", "--time", "1s"], "more than 2^63-1 bytes"),
        (["--gpu", "h200", "--calibration", "/no/such/file"], "cannot be read"),
        (["--cc", "9.0"], "is not known"),
    ],
)
def test_mistakes(cli, args: list[str], said: str) -> None:
    ran = cli("bandwidth", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_what_is_far_beyond_the_peak_is_told_in_times(cli) -> None:
    ran = cli("bandwidth", "--gpu", "a100", "--read", "10TB", "--time", "1ms")
    assert ran.out.startswith("Impossible: 4,904 times the theoretical bandwidth. The bytes, ")
    near = cli("bandwidth", "--gpu", "a100", "--read", "10GB", "--time", "1ms")
    assert near.out.startswith("Impossible: 490.4 % of the theoretical bandwidth. ")


def copied(cli, *args: str) -> dict:
    ran = cli("bandwidth", "--gpu", "h200", *args, "--json")
    answer = json.loads(ran.out)
    VALID(answer)
    return answer["result"]


@pytest.mark.parametrize(
    ("args", "band", "said"),
    [
        (["--h2d", "1GiB", "--time", "20ms"], "good", "takes about 19.4 ms here"),
        (["--d2h", "1GiB", "--time", "19.5ms"], "good", "takes about 19.4 ms here"),
        (["--h2d", "1GiB", "--time", "120ms"], "bad", "is it pinned"),
        (["--h2d", "1GiB", "--time", "40ms"], "poor", "may run below its best"),
        (["--d2h", "1GiB", "--time", "60ms", "--pageable"], "bad", "Pinned memory is copied at"),
        (["--h2d", "64KiB", "--time", "8us"], "bad", "3.8 us pass before the first byte"),
        (["--h2d", "1GiB", "--time", "1ms"], "impossible", "More than the link carries"),
        (["--h2d", "1GiB", "--time", "78ms", "--pcie", "4x8"], "good", "about 77.5 ms"),
    ],
)
def test_a_copy_is_judged_by_its_link(cli, args: list[str], band: str, said: str) -> None:
    result = copied(cli, *args)
    assert result["band"] == band
    assert said in " ".join(result["causes"])
    assert result["copy"]["direction"] == args[0].removeprefix("--")
    assert cli("bandwidth", "--gpu", "h200", *args).out.lower().startswith(band)


def test_a_copy_by_its_gates_and_mistakes(cli) -> None:
    slow = ("bandwidth", "--gpu", "h200", "--h2d", "1GiB", "--time", "120ms")
    ran = cli(*slow, "--fail-under", "50%")
    assert (ran.code, "of the link is below" in ran.err) == (1, True)
    assert cli(*slow, "--read", "1GiB").code == 2
    assert cli(*slow, "--d2h", "1GiB").code == 2
    assert cli("bandwidth", "--gpu", "h200", "--h2d", "1GiB").code == 2
    assert cli("bandwidth", "--gpu", "h200", "--h2d", "3ms", "--time", "3ms").code == 2
    assert cli("bandwidth", "--gpu", "h200", "--pageable").code == 2
    assert "shares its memory" in (
        cli("bandwidth", "--gpu", "jetson agx orin 64", "--h2d", "1GiB", "--time", "1s").err
    )
    assert "no known link" in cli("bandwidth", "--cc", "9.0", "--h2d", "1GiB", "--time", "1s").err
