"""An answer begins with its verdict, on a terminal and in a pipe."""

from __future__ import annotations

import shlex

import pytest

VERDICTS = [
    ("access --stride 2", "Not coalesced: 50 % of the bytes that are moved are used, 8 sectors"),
    ("access --offset 1", "Nearly coalesced: 80 % of the bytes that are moved are used, 5 sectors"),
    ("access", "Coalesced: these bytes take no fewer sectors; 100 %"),
    ("access --threads 1", "Coalesced: these bytes take no fewer sectors; 12.5 %"),
    ("access --sweep stride", "Between 100 % (stride 1) and 12.5 % (stride 8) of the bytes"),
    ("banks --tile 32x32", "A 32-way bank conflict: 32 passes instead of 1; 1 element of padding"),
    ("banks --stride 8", "An 8-way bank conflict: 8 passes instead of 1"),
    ("banks --stride 1", "No bank conflict."),
    ("bandwidth", "At most 3.35 TB/s."),
    ("bandwidth --read 1GB --write 1GB --time 800us", "Fair: 74.6 % of the theoretical bandwidth."),
    ("bandwidth --read 9GB --write 1GB --time 800us", "Impossible: 372.9 % of"),
    ("latency", "16 warps per SM, of 64, hide the latency of arithmetic; 9 bytes under way"),
    ("overlap --h2d 3ms --kernel 5ms", "Worth it, 1.55x: "),
    ("overlap --h2d 3us --kernel 5ms", "Not worth it: "),
]


@pytest.mark.parametrize(("line", "verdict"), VERDICTS, ids=[line for line, _ in VERDICTS])
def test_the_first_words_are_the_answer(cli, line: str, verdict: str) -> None:
    ran = cli(*shlex.split(line), "--gpu", "h100")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(verdict)


def test_scaling_has_no_gpu(cli) -> None:
    line = ("scaling", "--parallel", "75%", "--processors", "8")
    assert cli(*line).out.startswith("2.909x with 8 processors, at most 4x with any number.\n")
    assert cli("scaling", "--parallel", "1", "--processors", "8").out.startswith(
        "8x with 8 processors.\n"
    )
