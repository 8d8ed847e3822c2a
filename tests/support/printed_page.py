"""A recorded details page as plain ncu prints it."""

from __future__ import annotations

import csv
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def printed(path: Path) -> str:
    """The recorded details page as ncu prints it without --csv: tables as wide as they need."""
    text = ["==PROF== Connected to process 674\n", "done\n", "[674] kernels@127.0.0.1\n"]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for _, launch in groupby(rows, key=lambda row: row["ID"]):
        metrics = list(launch)
        first = metrics[0]
        text.append(
            f"  {first['Kernel Name']} {first['Grid Size']}x{first['Block Size']}, "
            f"Context {first['Context']}, Stream {first['Stream']}, Device 0, CC {first['CC']}\n"
        )
        for section, group in groupby(metrics, key=lambda row: row["Section Name"]):
            rows_there = list(group)
            table = [("Metric Name", "Metric Unit", "Metric Value")]
            table += [
                (r["Metric Name"], r["Metric Unit"], r["Metric Value"])
                for r in rows_there
                if r["Metric Name"]
            ]
            names, units, values = (max(map(len, column)) for column in zip(*table, strict=True))
            dashes = f"    {'-' * names} {'-' * units} {'-' * values}\n"
            lines = [f"    {n:{names}} {u:>{units}} {v:>{values}}\n" for n, u, v in table]
            text += [
                f"    Section: {section}\n",
                dashes,
                lines[0],
                dashes,
                *lines[1:],
                dashes,
                "\n",
            ]
            for row in rows_there:
                if row["Rule Name"]:
                    local = "Local " if row["Estimated Speedup Type"] == "local" else ""
                    gain = row["Estimated Speedup"]
                    words = [f"Est. {local}Speedup: {gain}%"] if gain else []
                    words += wrap(row["Rule Description"], 100, break_on_hyphens=False)
                    text.append(f"    {row['Rule Type']:5} {words[0]}\n")
                    text += [f"          {line}\n" for line in words[1:]]
                    text.append("\n")
    return "".join(text)
