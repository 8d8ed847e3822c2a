"""The page that plain ncu prints, against the same launches as CSV."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.profiles.ncu_file import read_profiles
from gpuadvise.advisor.profiles.ncu_text import details_of, is_text_page

DETAILS = Path(__file__).parent / "recorded" / "hand_details.csv"


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


def test_the_printed_page_says_what_the_details_page_says(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(printed(DETAILS))
    assert is_text_page(page.read_text())
    as_printed = [profile for profile, _ in read_profiles(str(page))]
    as_csv = [profile for profile, _ in read_profiles(str(DETAILS))]
    assert [replace(each, rules=()) for each in as_printed] == [
        replace(each, rules=()) for each in as_csv
    ]
    for one, other in zip(as_printed, as_csv, strict=True):
        assert sorted((r.name, r.kind, r.estimated_speedup or 0) for r in one.rules) == sorted(
            (r.name, r.kind, r.estimated_speedup or 0) for r in other.rules
        )


def test_a_page_is_advised_on(cli, tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(printed(DETAILS))
    ran = cli("advise", str(page))
    assert ran.code == 0, ran.err
    assert ran.out.startswith("8 kernels: ")


@given(st.text(alphabet="ab(), 1x-\nSection:ContextStream", max_size=200))
def test_any_text_is_no_crash(text: str) -> None:
    assert next(details_of(text.splitlines(keepends=True))).startswith('"ID"')
