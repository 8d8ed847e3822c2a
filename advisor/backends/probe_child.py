"""What a child process does for ``probe``: one report as JSON."""

from __future__ import annotations

import json
import sys

from gpuadvise.advisor.json_records import plain


def main(what: str, *question: str) -> None:
    """Print the report *what*: ``driver``, ``launch``, ``nvml``, ``nvml-live`` or ``nvml-identity``."""
    sys.stdout.write(answer(what, *question))


def answer(what: str, *question: str) -> str:
    """Return the report *what*, about a JSON *question* where it takes one, as JSON."""
    if what == "launch":
        from gpuadvise.advisor.backends import driver_launch

        return json.dumps(plain(driver_launch.report(json.loads(*question))))
    if what == "driver":
        from gpuadvise.advisor.backends import driver

        report: object = driver.report()
    else:
        from gpuadvise.advisor.backends import nvml_report

        report = nvml_report.report(everything=what != "nvml-identity", live=what == "nvml-live")
    return json.dumps(plain(report))
