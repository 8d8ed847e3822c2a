"""When a dump was taken: its own words come before a date in its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.fleet.timestamps import taken_at

XML = b"<nvidia_smi_log>\n<timestamp>%b</timestamp>"


@pytest.mark.parametrize(
    ("content", "name", "taken"),
    [
        (XML % b"Sun Nov 22 07:49:00 2026", "n-2020-01-01.xml", "2026-11-22T07:49:00"),
        (XML % b"Sun Nov  2 07:49:00 2026", "n.xml", "2026-11-02T07:49:00"),
        ((XML % b"Sun Nov 22 07:49:00 2026").decode().encode("utf-16"), "n.xml", "2026-11-22T07:49:00"),
        (XML % b"yesterday", "n-2026-01-31.xml", "2026-01-31T00:00:00"),
        (b"timestamp, name\n2026/11/22 07:49:01.123, NVIDIA H200\n", "n.csv", "2026-11-22T07:49:01"),
        (b"2026/13/42 07:49:01.123, NVIDIA H200\n", "n.csv", None),
        (b"{}", "2026-11-20/n.json", "2026-11-20T00:00:00"),
        (b"{}", "2026-11-20/n-20261121T0830.json", "2026-11-21T08:30:00"),
        (b"{}", "all.tar!20261120_083005/n.json", "2026-11-20T08:30:05"),
        (b"{}", "n-2026-02-30.json", None),
        (b"{}", "n-20261120123.json", None),
        (b"{}", "n.json", None),
    ],
)  # fmt: skip
def test_when_a_dump_was_taken(content: bytes, name: str, taken: str | None) -> None:
    assert taken_at(content, name) == taken


@given(st.binary(max_size=200), st.text(max_size=40))
def test_any_file_has_a_time_or_none(content: bytes, name: str) -> None:
    for text in (content, XML % content):
        taken = taken_at(text, name)
        assert taken is None or len(taken) == len("2026-11-20T08:30:00")
