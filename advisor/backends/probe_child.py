"""What a child process does for ``probe``: one report as JSON on stdout."""

from __future__ import annotations

import json
import sys

from gpuadvise.advisor.json_records import plain


def main(what: str) -> None:
    """Print the report *what*: ``driver``, ``nvml``, ``nvml-live`` or ``nvml-identity``."""
    if what == "driver":
        from gpuadvise.advisor.backends import driver

        answer: object = driver.report()
    else:
        from gpuadvise.advisor.backends import nvml_report

        answer = nvml_report.report(everything=what != "nvml-identity", live=what == "nvml-live")
    json.dump(plain(answer), sys.stdout)
