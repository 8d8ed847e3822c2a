"""Recorded pages of Nsight Compute with counters that hold no number, as some versions write them."""

from __future__ import annotations

import csv
import io
import lzma
import re
from pathlib import Path

_RECORDED = Path(__file__).parents[1] / "truth" / "recorded"


def page(group: str, form: str, launch: int | None = None) -> str:
    """Return the page of a recorded *group*, raw or details, of all launches or one."""
    content = lzma.decompress((_RECORDED / f"{group}.{form}.csv.xz").read_bytes()).decode()
    if launch is None:
        return content
    rows = list(csv.reader(io.StringIO(content)))
    return _text([row for row in rows if row[0] in ("ID", "", str(launch))])


def masked(content: str, counters: str, word: str = "nan") -> str:
    """Return the page *content* with *word* in place of the *counters* whose names have the pattern.

    What a launch is known to have beforehand stays: its sizes, and what fits an SM.
    """
    header, *rows = list(csv.reader(io.StringIO(content)))
    if "Metric Value" in header:
        section, name, value = map(header.index, ("Section Name", "Metric Name", "Metric Value"))
        for row in rows:
            metric = f"{row[section]}: {row[name]}"
            if row[name] and _counts(metric) and re.search(counters, metric):
                row[value] = word
    else:
        columns = [
            at for at, name in enumerate(header) if _counts(name) and re.search(counters, name)
        ]
        for row in rows[1:]:  # below that of the units
            for at in columns:
                row[at] = word
    return _text([header, *rows])


def _counts(name: str) -> bool:
    if "__" in name:
        return not name.startswith(("launch__", "device__"))
    return ": " in name and "Launch Statistics" not in name


def _text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()
