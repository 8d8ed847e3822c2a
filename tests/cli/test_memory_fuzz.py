"""No text in any option of the memory and transfer commands ends in a traceback."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpuadvise.cli.main import main
from gpuadvise.cli.schema import bundled

EXTREMES = ["0", "1", "2", "31", "32", "33", "1e300", "1e-300", "-1", "nan", "99999999999"]
NUMBER = st.one_of(
    st.sampled_from(EXTREMES), st.integers(0, 200).map(str), st.floats(1e-12, 1e30).map(str)
)
WILD = st.text(max_size=20).filter(lambda text: not text.startswith("-"))


def with_units(*units: str) -> st.SearchStrategy[str]:
    return st.one_of(WILD, *[st.builds(str.__add__, NUMBER, st.sampled_from(units))] * 4)


COUNT = st.one_of(WILD, NUMBER, *[st.integers(1, 64).map(str)] * 3)
SIZE = with_units("", "B", "K", "KiB", "GB", "KB")
TIME = with_units("s", "ms", "us", "ns")
RATE = with_units("GB/s", "B/s", "TiB/s")
PAIR = st.one_of(WILD, st.builds("{}x{}".format, NUMBER, NUMBER))
LIST = st.lists(st.one_of(st.integers(0, 10**13).map(str), NUMBER), max_size=70).map(",".join)
NAME = st.one_of(
    WILD,
    st.sampled_from(["fp32", "f64", "fp8", "i4", "bf16", "row", "l1", "l2", "stride", "offset"]),
)
WARP = {"word": COUNT, "stride": SIZE, "threads": COUNT, "mask": COUNT, "indices": LIST}
DEVICE = ["--gpu", "h200"]
COMMANDS = {
    "bandwidth": (
        DEVICE,
        {"read": SIZE, "write": SIZE, "time": TIME, "matrix": PAIR, "dtype": NAME, "copies": COUNT,
         "memory-clock": with_units("GHz", "Hz"), "bus": COUNT, "data-rate": COUNT},
    ),
    "access": (
        DEVICE,
        {**WARP, "offset": SIZE, "align": COUNT, "row-threads": COUNT, "pitch": SIZE, "path": NAME,
         "sweep": NAME},
    ),
    "banks": (DEVICE, {**WARP, "pad": COUNT, "tile": PAIR, "walk": NAME, "bank-size": COUNT}),
    "overlap": (
        [*DEVICE, "--kernel", "1ms", "--h2d", "3ms", "--max-streams", "4"],
        {"h2d": st.one_of(SIZE, TIME), "d2h": st.one_of(SIZE, TIME), "kernel": TIME, "streams": COUNT,
         "granularity": SIZE, "rate": RATE, "per-op": TIME, "copy-latency": TIME, "duplex": COUNT,
         "engines": COUNT},
    ),
    "roofline": (
        [*DEVICE, "--flops", "1e9", "--bytes", "1GB"],
        {"flops": with_units("", "T", "FLOP", "E"), "bytes": SIZE, "time": TIME, "dtype": NAME,
         "peak": with_units("TFLOP/s", "FLOP/s"), "bandwidth": RATE},
    ),
    "scaling": (
        ["--parallel", "0.9", "--processors", "8"],
        {"parallel": with_units("", "%"), "processors": COUNT, "target": with_units("", "x")},
    ),
    "latency": (
        DEVICE,
        {"latency": COUNT, "ilp": COUNT, "memory-latency": st.one_of(COUNT, TIME), "word": COUNT,
         "loads": COUNT, "warps": COUNT},
    ),
}  # fmt: skip
VALID = {name: Draft202012Validator(json.loads(bundled(name))).validate for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_answer_is_valid_or_one_sentence(name: str, data: st.DataObject) -> None:
    fixed, options = COMMANDS[name]
    chosen = data.draw(st.lists(st.sampled_from(sorted(options)), unique=True, max_size=4))
    args = [part for option in chosen for part in (f"--{option}", data.draw(options[option]))]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([name, "--format", "json", *fixed, *args])
    if code == 0:
        VALID[name](json.loads(out.getvalue()))
    else:
        assert code == 2
        assert set(json.loads(err.getvalue())) == {"error"}
        assert out.getvalue() == ""
