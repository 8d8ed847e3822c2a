"""The rules against what an H200 with driver 580.159.04 (CUDA 13.0) did with each image.

Recorded by loading every image through the driver and running its kernel; the kernel writes a
number that tells which image of a fatbin was used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuadvise.advisor.binaries.model import Content, Entry, Place
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.compatibility.drivers import parse_driver
from gpuadvise.advisor.compatibility.survey import survey
from gpuadvise.advisor.compatibility.verdict import judge, loaded, needed_cuda

Notation = Callable[[str], list[Entry]]

SEEN = json.loads((Path(__file__).parent / "data" / "seen-on-h200.json").read_text())
H200 = parse_capability(SEEN["gpu"])
DRIVER = parse_driver(SEEN["driver"])


def image(name: str) -> Entry:
    """Return the entry of ``cubin_13.0_sm_90a`` or ``ptx_8.4_sm_70``."""
    kind, version, target = name.split("_", 2)
    major, minor = (int(part) for part in version.split("."))
    capability = parse_capability(target)
    ptx = kind == "ptx"
    return Entry(
        content=Content.PTX if ptx else Content.SASS,
        place=Place(path=name),
        capability=capability,
        size=1,
        ptx_version=(major, minor) if ptx else None,
        new_abi=None if ptx else (major, minor) >= (13, 0) or capability.major >= 10,
        link_input=kind == "relocatable",
    )


@pytest.mark.parametrize("name", sorted(SEEN["images"]))
def test_each_image_does_what_the_rules_say(name: str) -> None:
    verdict = judge(survey([image(name)]), H200, DRIVER)
    assert (verdict.outcome != "fails") == (SEEN["images"][name] == "OK")
    assert (verdict.outcome == "jit") == (verdict.outcome != "fails" and name.startswith("ptx"))


# What each image of the recorded fatbins writes: sm_90 90, sm_90a 901, PTX 100 more.
FATBINS = {
    "80_only": ("sass:80+", None),
    "80_p80": ("sass:80+ ptx:80@9.0", 180),
    "80_p70_p80_p90": ("sass:80+ ptx:70@9.0 ptx:80@9.0 ptx:90@9.0", 190),
    "p90_p90a": ("ptx:90@9.0 ptx:90a@9.0", 191),
    "90_p90a": ("sass:90+ ptx:90a@9.0", 90),
    "90_then_90a": ("sass:90+ sass:90a+", 901),
    "90a_then_90": ("sass:90a+ sass:90+", 901),
    "p80_p95": ("ptx:80@9.0 ptx:90@9.5", None),
}
WRITES = {
    ("sass", "sm_90"): 90,
    ("sass", "sm_90a"): 901,
    ("ptx", "sm_80"): 180,
    ("ptx", "sm_90"): 190,
    ("ptx", "sm_90a"): 191,
}


def test_every_recorded_fatbin_is_here() -> None:
    assert set(FATBINS) == set(SEEN["fatbins"])


@pytest.mark.parametrize("name", sorted(FATBINS))
def test_the_driver_chooses_as_the_rules_say(entries: Notation, name: str) -> None:
    code, written = FATBINS[name]
    assert SEEN["fatbins"][name][1] == written
    verdict = judge(survey(entries(code)), H200, DRIVER)
    assert (verdict.outcome != "fails") == (written is not None)
    if written is not None:
        (used,) = loaded(entries(code), H200)
        assert used.capability
        assert WRITES[used.content, used.capability.target] == written


# Programs built with -rdc from two sources, linked for sm_80 only.
PROGRAMS = {
    "exe_both_ptx": ("sass:80+ | rptx:80@9.0 rdc:80+ | rptx:80@9.0 rdc:80+", (13, 0)),
    "exe_no_ptx": ("sass:80+ | rdc:80+ | rdc:80+", None),
    "exe_one_ptx": ("sass:80+ | rptx:80@9.0 rdc:80+ | rdc:80+", None),
    "exe_ptx_and_90": ("sass:80+ | rptx:80@9.0 rdc:80+ | rdc:80+ rdc:90+", (13, 0)),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_linked_code_that_does_not_fit_is_linked_again(entries: Notation, name: str) -> None:
    code, needed = PROGRAMS[name]
    found = survey(entries(code))
    verdict = judge(found, H200, DRIVER)
    worked = SEEN["programs"][name] == "cudaSuccess"
    assert verdict.outcome == ("jit" if worked else "fails")
    assert needed_cuda(found, H200) == needed
