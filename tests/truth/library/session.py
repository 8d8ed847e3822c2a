"""Runs the cases of one Python program and marks one run of each for a profiler."""

from __future__ import annotations

import argparse
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UPS = 2

Case = tuple[str, "Callable[[], object]", "Callable[[], object]"]
"""A case's name, what it runs, and what waits until the device has done it."""


def run(program: str, prepare: Callable[[str], Case], names: list[str]) -> None:
    """Warm up each case, then run it once inside a profiler range; a case that fails is named.

    Arguments: `[--seconds S] [--part K/N] [CASE...]`, where part K of N takes its stretch of *names*.
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--part", default="1/1")
    parser.add_argument("cases", nargs="*", default=names)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    size = -(-len(options.cases) // parts)
    started = time.monotonic()
    for name in options.cases[(part - 1) * size : part * size]:
        if time.monotonic() - started > options.seconds:
            print(f"time is up before {program}/{name}", flush=True)
            return
        try:
            _profile(program, prepare(name))
        except Exception:
            print(f"failed {program}/{name}: {traceback.format_exc(limit=-3)}", flush=True)


def _profile(program: str, case: Case) -> None:
    """Run one case as often as it takes to warm up, and once more marked."""
    from cuda.bindings import driver

    name, body, wait = case
    for _ in range(WARM_UPS):
        body()
        wait()
    print(f"case {program}/{name}", flush=True)
    driver.cuProfilerStart()
    result = body()
    wait()
    driver.cuProfilerStop()
    del result
