"""What a child process does for ``probe``: one report as JSON."""

from __future__ import annotations

import json
import sys

from gpuadvise.advisor.json_records import plain


def main(what: str) -> None:
    """Print the report *what*: ``driver``, ``nvml``, ``nvml-live`` or ``nvml-identity``."""
    sys.stdout.write(answer(what))


def answer(what: str) -> str:
    """Return the report *what* as JSON."""
    if what == "driver":
        from gpuadvise.advisor.backends import driver

        report: object = driver.report()
    else:
        from gpuadvise.advisor.backends import nvml_report

        report = nvml_report.report(everything=what != "nvml-identity", live=what == "nvml-live")
    return json.dumps(plain(report))
